"""Walks from an exported task over the tool's own log into `nikawa score`.

The logs are those of the real tools (`make interop` makes them again), which ran the exports of `tests/interop/export_items.py`
with a scripted model. Three figures must agree: what the tool printed, what `nikawa score` finds in its log, and the official
metric of the answers that the model gave.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.interop.export_items import (
    KINDS,
    compute_expected,
    plan_replies,
    read_dataset,
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
    return {kind: write_dataset(kind, folder) for kind in KINDS}


@pytest.mark.parametrize(("tool", "name"), LOGS)
def test_the_log_has_the_figures_of_the_tool(
    nikawa: Nikawa, datasets: dict[str, Path], tool: str, name: str
) -> None:
    kept = FIGURES[tool][name]
    log = str(DATA / tool / name)
    done = nikawa("score", f"{datasets[kept['kind']]}:test", log, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    scored = {row["metric"]: row["value"] for row in report["scores"] if row["mode"] == "official"}
    scored["unread"] = report["unparsed"] / report["n"]
    assert (report["missing"], report["unknown"], report["duplicates"]) == (0, 0, 0)
    printed = {key: value for key, value in kept["figures"].items() if key in scored}
    assert set(printed) == set(scored)
    assert scored == pytest.approx(printed, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tools_printed_the_official_figures(
    datasets: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    nk.export(str(datasets[kind]), "inspect", tmp_path / "out", split="test", shots=2)
    (data,) = (tmp_path / "out" / "data").glob("*_test.jsonl")
    rows: list[dict[str, Any]] = list(map(json.loads, data.read_text().splitlines()))
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
