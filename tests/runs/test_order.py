"""Which of two runs is the longer one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nikawa.runs import RunSpec
from nikawa.runs.job import estimate_work, order_longest_first
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest


def runs(published: Path | None = None, **asked: Any) -> list[RunSpec]:
    request = RunRequest(**{"tasks": ("mini-ja-nli",), "models": ("majority",), **asked})
    return [
        run
        for family in plan_runs(request, published).families
        for settings in family.options
        for run in (*family.selection_runs()[:1], *family.runs(settings))
    ]


def test_epochs_count_and_equals_keep_their_order() -> None:
    made = runs(models=("encoder:none/such",), grid={"epochs": (1, 5, 3)}, seeds=(0, 1))
    told = [run for run in made if run.stage == "result"]
    assert [(r.settings.get("epochs", 3), r.seed) for r in order_longest_first(told)] == [
        (5.0, 0),
        (5.0, 1),
        (3, 0),
        (3, 1),
        (1.0, 0),
        (1.0, 1),
    ]


def test_rows_count_as_often_as_they_are_learned_from(published: Path) -> None:
    (folds,) = runs(published, tasks=("jnli",))
    assert estimate_work(folds) == (30 * 4, 30)
    (held,) = runs(published, tasks=("jsts",))
    assert estimate_work(held) == (60 * 0.9, 12)
    (shown,) = runs(published, tasks=("jsts",), models=("char-linear",), shots=2)
    assert estimate_work(shown)[0] == 2
