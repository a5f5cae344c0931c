"""Paired tests between systems of stored runs: only the pairs that a study compares, corrected together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

from nikawa.metrics import metrics
from nikawa.reporting.scores import compare_tasks
from nikawa.reporting.systems import SystemRuns, TaskRuns, load_task_runs
from studies._place import Place
from studies._stored import told_runs

ROUNDS, FEW = 10_000, 500


@dataclass(frozen=True)
class Contest:
    """Two systems on one set under one metric; a positive difference favours the second."""

    task: str
    variation: str
    set: str
    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    """Corrected by Holm's method for all contests."""

    @property
    def text(self) -> str:
        """The difference with its interval and p, with as many digits as figures of the metric have."""
        digits = 2 if metrics()[self.metric].scaled else 4
        low, high = (f"{value:+.{digits}f}" for value in (self.low, self.high))
        between = "too few for an interval" if isnan(self.low) else f"{low} to {high}"
        p = "not defined" if isnan(self.p) else "<0.001" if self.p < 0.001 else f"{self.p:.3f}"
        return f"{self.difference:+.{digits}f} ({between}), p {p}"


def contests(runs: Path, pairs: Sequence[tuple[str, str]], place: Place) -> list[Contest]:
    """Every pair of models wherever both answered the same examples after the same training."""
    parts = [
        found
        for part in load_task_runs(told_runs(runs), place.data)
        for found in _asked(part, pairs)
    ]
    if not parts:
        return []
    compared = compare_tasks(parts, FEW if place.tiny else ROUNDS)
    results = {(r.task, r.metric, r.first, r.second): r for r in compared.comparison.pairs}
    made = []
    for part in parts:
        first, second = part.systems
        for metric in part.task.metrics:
            if (found := results.get((part.name, metric, first.name, second.name))) is None:
                continue
            sign = _hundred(metric, first)
            spec = second.spec
            made.append(
                Contest(
                    part.task.name,
                    spec.variation.title,
                    part.main,
                    metric,
                    first.spec.model,
                    spec.model,
                    found.difference * sign,
                    found.low * sign,
                    found.high * sign,
                    found.p_holm,
                )
            )
    return made


def _asked(part: TaskRuns, pairs: Sequence[tuple[str, str]]) -> Iterator[TaskRuns]:
    by_name: dict[tuple[str, str], SystemRuns] = {
        (s.spec.model, s.spec.variation.title): s for s in part.systems
    }
    for first, second in pairs:
        for (model, variation), system in by_name.items():
            if model == second and (other := by_name.get((first, variation))) is not None:
                yield replace(part, systems=(other, system))


def _hundred(metric: str, system: SystemRuns) -> float:
    """The factor that converts a difference to the unit of the tables: percent, except for metrics without a unit."""
    units = {
        s.unit
        for run in system.runs
        for part in run.scores
        for s in part.scores
        if s.metric == metric
    }
    return 100.0 if units == {"fraction"} and metrics()[metric].scaled else 1.0
