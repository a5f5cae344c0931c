"""Long runs first: the end of a sweep must not wait for one that was begun last. What comes out does not depend on it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nikawa.models import named
from nikawa.runs.material import task_of
from nikawa.runs.value import RunSpec


def longest_first(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """Runs by what they read, as far as that is known without reading it; of equals the first stays first."""
    return sorted(runs, key=size_of, reverse=True)


def size_of(run: RunSpec) -> tuple[float, int]:
    """Examples learned from, each as often as it is met; then examples that are answered."""
    rows = {part.name: part.n for part in run.data}
    learned = _varied(run, sum(rows.get(name, 0) for name in run.protocol.train))
    models = run.protocol.folds - 1 if run.protocol.folds and run.stage == "result" else 1
    asked = run.protocol.evaluate if run.stage == "result" else (run.protocol.select,)
    return learned * max(1, models) * _epochs(run), sum(rows.get(name, 0) for name in asked)


def _varied(run: RunSpec, rows: int) -> float:
    """Rows without those that are chosen on, and of them the share or the shots that are learned from."""
    kept = rows * (1 - run.protocol.select_share) * run.variation.share
    shots = run.variation.shots * max(1, len(task_of(run).labels))
    return min(kept, shots) if shots else kept


def _epochs(run: RunSpec) -> float:
    """How often each is met; once by models that have no word for it."""
    kind = named(run.predictor)[0].settings
    usual = {f.encode_name: f.default for f in msgspec.structs.fields(kind)} if kind else {}
    told = run.settings.get("epochs", usual.get("epochs", 1))
    return float(told) if isinstance(told, int | float) else 1.0
