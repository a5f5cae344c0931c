"""Majority vote and Dawid-Skene over 1,000,000 labels against crowd-kit, and the memory at 10,000,000; one run.

crowd-kit needs pandas and transformers, which Nikawa does not depend on: install it in a separate environment and name
its Python in NIKAWA_BENCH_CROWDKIT (`pip install --no-deps crowd-kit && pip install pandas scikit-learn nltk tqdm attrs` will
do). Both get the same columns: items and workers as integers, labels as strings; ours includes building the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

LABELS = ("entailment", "neutral", "contradiction")
ITEMS, ANSWERS, WORKERS = 200_000, 5, 1_000
REPEATS = 5
LIMIT = 500
"""MB that 10,000,000 judgements may take."""


def judged(items: int = ITEMS) -> tuple[Any, Any, Any]:
    """Items, workers and label codes: five different workers per item, of unequal skill."""
    random = np.random.default_rng(0)
    true = random.choice(3, items, p=[0.5, 0.3, 0.2])
    first, stride = (
        random.integers(0, WORKERS, items),
        random.integers(1, WORKERS // ANSWERS, items),
    )
    worker = ((first[:, None] + np.arange(ANSWERS) * stride[:, None]) % WORKERS).ravel()
    item = np.repeat(np.arange(items), ANSWERS)
    knows = random.random(len(item)) < random.beta(6, 2, WORKERS)[worker]
    return item, worker, np.where(knows, true[item], random.integers(0, 3, len(item)))


def aggregate_columns(item: Any, worker: Any, labels: Any, rule: str) -> Any:
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.verdicts import apply_rule

    return apply_rule(Table.from_columns(item, worker, labels), rule)


def timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall and CPU seconds, the best of a few, and the result."""
    walls, cpus, result = [], [], None
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        result = run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus), result


PEER = """
import json, sys, time
import numpy as np, pandas as pd
from crowdkit.aggregation import DawidSkene, MajorityVote
with np.load(sys.argv[1]) as given:
    frame = pd.DataFrame({"task": given["item"], "worker": given["worker"],
                          "label": np.array(json.loads(sys.argv[2]), dtype=object)[given["answer"]]})
results = {}
for name, make, repeats in (("majority", MajorityVote, 5), ("dawid-skene", lambda: DawidSkene(100), 2)):
    walls, cpus = [], []
    for _ in range(repeats):
        model = make()
        wall, cpu = time.perf_counter(), time.process_time()
        found = model.fit_predict(frame)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    results[name] = [min(walls), min(cpus), len(getattr(model, "loss_history_", []))]
    np.save(sys.argv[3] + name, found.sort_index().to_numpy().astype(str))
print(json.dumps(results))
"""


def peer(columns: tuple[Any, Any, Any], folder: Path) -> dict[str, list[float]] | None:
    """crowd-kit's seconds and iterations, its labels in files; None if it is not installed."""
    python = os.environ.get("NIKAWA_BENCH_CROWDKIT")
    if not python:
        return None
    np.savez(folder / "given.npz", item=columns[0], worker=columns[1], answer=columns[2])
    words = [python, "-c", PEER, str(folder / "given.npz"), json.dumps(LABELS), f"{folder}/"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def memory(rule: str) -> float:
    """Peak MB of aggregating 10,000,000 labels in a separate process, minus the imports."""
    code = (
        "import resource; from bench.aggregation import judged; from nikawa.aggregation.table import Table\n"
        "from nikawa.aggregation.verdicts import apply_rule; import numpy as np\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = peak(); n = 2_000_000; item = np.repeat(np.arange(n, dtype=np.int32), 5)\n"
        "worker = (item * 7 + np.tile(np.arange(5, dtype=np.int32) * 31, n)) % 1000\n"
        "answer = ((item + worker // 7) % 3).astype(np.int8)\n"
        f"apply_rule(Table.from_columns(item, worker, answer), {rule!r}); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:

    columns = judged()
    item, worker, answer = columns
    labels = np.array(LABELS, dtype=object)[answer].tolist()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = peer(columns, folder)
        if theirs is None:
            print("crowd-kit is not installed: set NIKAWA_BENCH_CROWDKIT to a Python that has it")
        for rule in ("majority", "dawid-skene", "mace"):
            wall, cpu, found = timed(partial(aggregate_columns, item, worker, labels, rule))
            print(f"{rule:<14}{wall:>8.3f} s wall{cpu:>8.3f} s CPU  ({len(item):,} labels)")
            if theirs and rule in theirs:
                _against(found, (wall, cpu), theirs[rule], folder / f"{rule}.npy")
    for rule in ("majority", "dawid-skene"):
        print(f"{rule:<14}{memory(rule):>8.0f} MB at 10,000,000 labels (limit {LIMIT})")


def _against(found: Any, ours: tuple[float, float], theirs: list[float], file: Path) -> None:
    """crowd-kit's time, how many times ours it is, and on how many items the labels are the same."""
    from nikawa.aggregation.dawid_skene import dawid_skene

    own = np.array([str(answer) for answer in found.answers()])
    other = np.load(file)
    settled = own != "None"
    same = int((own == other)[settled].sum())
    wall, cpu, steps = theirs
    times = f"{wall / ours[0]:.1f}x wall, {cpu / ours[1]:.1f}x CPU"
    print(f"{'  crowd-kit':<14}{wall:>8.3f} s wall{cpu:>8.3f} s CPU  ({times})")
    print(f"{'':<14}the same label on {same:,} of {int(settled.sum()):,} items without a tie")
    if steps:
        fit = dawid_skene(found.table, tolerance=-1.0, iterations=int(steps))
        own = np.array(found.table.categories)[fit.posterior.argmax(axis=1)]
        print(
            f"{'':<14}and on {int((own == other).sum()):,} of {len(own):,} after its {int(steps)} iterations"
        )


if __name__ == "__main__":
    main()
