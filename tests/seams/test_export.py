"""Walks from an exported task over the tool's own log into `nikawa score`.

The logs are those of the real tools (`make interop` makes them again), which ran the exports of `tests/interop/export_items.py`
with a scripted model. Three figures must agree: what the tool printed, what `nikawa score` finds in its log, and the official
metric of the answers that the model gave.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.interop.export_items import (
    WALKS,
    compute_expected,
    plan_replies,
    read_dataset,
    read_rows,
    write_dataset,
)

import nikawa as nk

Nikawa = Callable[..., CompletedProcess[str]]
DATA = Path(__file__).parent / "data"
FIGURES = {
    path.parent.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(DATA.glob("*/export_figures.json"))
}
LOGS = [(tool, name) for tool, figures in FIGURES.items() for name in figures]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The dataset folder of each kind."""
    folder = tmp_path_factory.mktemp("datasets")
    return {kind: write_dataset(kind, folder) for kind in WALKS}


@pytest.mark.parametrize(("tool", "name"), LOGS)
def test_the_log_has_the_figures_of_the_tool(
    nikawa: Nikawa, datasets: dict[str, Path], tool: str, name: str, tmp_path: Path
) -> None:
    kept, log = FIGURES[tool][name], DATA / tool / name
    if not log.exists():  # Parquet is kept packed
        packed = log.with_name(f"{name}.gz").read_bytes()
        log = tmp_path / name
        log.write_bytes(gzip.decompress(packed))
    done = nikawa("score", f"{datasets[kept['kind']]}:test", str(log), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    scored = {row["metric"]: row["value"] for row in report["scores"] if row["mode"] == "official"}
    scored["unread"] = report["unparsed"] / report["n"]
    assert (report["missing"], report["unknown"], report["duplicates"]) == (0, 0, 0)
    printed = {key: value for key, value in kept["figures"].items() if key in scored}
    assert set(printed) == set(scored)
    assert scored == pytest.approx(printed, rel=1e-9)


@pytest.mark.parametrize("kind", WALKS)
def test_the_tools_printed_the_official_figures(
    datasets: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    nk.export(str(datasets[kind]), "inspect", tmp_path / "out", split="test", shots=2)
    (data,) = (tmp_path / "out" / "data").glob("*_test.jsonl")
    rows = read_rows(tmp_path / "out", data.stem)
    task, examples = read_dataset(datasets[kind])
    expected = compute_expected(task, examples, rows, plan_replies(task, examples, rows))
    count = 0
    for figures in FIGURES.values():
        for name, kept in figures.items():
            if kept["kind"] == kind and "loglik" not in name:
                shared = {key: kept["figures"][key] for key in expected}
                assert shared == pytest.approx(expected, rel=1e-9)
                count += 1
    assert count >= 2
