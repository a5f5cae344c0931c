"""Read 200,000 records from JSON lines: Nikawa (typed, checked, unique ids) against peers that check less."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nikawa.io.records import read_examples, write_records
from nikawa.records import Example

N = 200_000


def records() -> list[Example]:
    """Pairs with running numbers, so that no line repeats."""
    return [
        Example(
            id=str(i),
            inputs={"premise": f"駅の前に{i}番の店がある。", "hypothesis": f"店は{i % 97}番だ。"},
            gold={"label": ("entailment", "contradiction", "neutral")[i % 3]},
            tags=frozenset({"numeral"}),
            meta={"source": "bench", "length": i % 50},
        )
        for i in range(N)
    ]


def plain(path: Path) -> int:
    """The standard library, no checks."""
    with path.open(encoding="utf-8") as lines:
        return sum(1 for line in lines if json.loads(line)["id"])


def hub(path: Path) -> int:
    """The `datasets` library, cold cache."""
    import datasets

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as cache:
        loaded = datasets.load_dataset("json", data_files=str(path), cache_dir=cache)
        return sum(1 for row in loaded["train"] if row["id"])


def seconds(run: Callable[[], Any]) -> float:
    """CPU seconds, best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        assert run() == N
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        write_records(path, records())
        own = seconds(lambda: sum(1 for _ in read_examples(path)))
        for name, run in {"json (stdlib)": plain, "datasets": hub}.items():
            peer = seconds(lambda run=run: run(path))  # type: ignore[misc]
            print(f"{name:16} {peer:6.2f} s   nikawa {own:5.2f} s   ratio {peer / own:.1f}")
