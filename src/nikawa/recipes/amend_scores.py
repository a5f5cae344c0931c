"""The scores of systems under the gold of two versions, and their ranks among each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from nikawa.datasets.reader import digest_examples
from nikawa.recipes.amend_check import Corrected
from nikawa.recipes.changelog import ScoreMove
from nikawa.records import Dataset, Example, Prediction, Task, Unit
from nikawa.scoring.score import Part, chosen, items_of

SAME = 1e-9
"""Scores nearer than this are equal."""
Key = tuple[str, str, str]
"""Task, set, metric."""


@dataclass(frozen=True)
class System:
    """Answers to one set."""

    name: str
    """What seeds of one model share."""
    task: Task
    split: str
    answers: Mapping[str, Prediction]


@dataclass(frozen=True)
class Versions:
    """A dataset before and after its corrections."""

    before: Dataset
    after: Dataset
    corrected: Corrected
    tasks: tuple[Task, ...]

    @cached_property
    def contents(self) -> set[str]:
        """The digest of each split as it was."""
        return {digest_examples(examples) for examples in self.before.splits.values()}

    def asked(self) -> list[Task]:
        """The tasks that some correction concerns."""
        splits = self.before.splits
        return [
            t
            for t in self.tasks
            if any(self.corrected.count(split, t.question) for split in splits)
        ]

    def examples(self, task: Task, split: str, *, after: bool) -> list[Example]:
        """The examples of a split that a task asks about."""
        dataset = self.after if after else self.before
        return [e for e in dataset.splits[split] if task.asks(e) and task.question in e.gold]


def values_of(
    task: Task, examples: Sequence[Example], answers: Mapping[str, Prediction]
) -> dict[str, tuple[float, Unit]]:
    """Every official metric of a task, items whose labels are hidden left out; NaN where it is not defined."""
    shown = [example for example in examples if not example.hidden]
    part = Part(task, shown, items_of(task, shown, answers))
    found: dict[str, tuple[float, Unit]] = {}
    for metric in chosen(task, (), part.items):
        value = float(part.under(metric, "official")[0].value) * metric.scale(task)
        found[metric.name] = (value, metric.unit(task))
    return found


def equal(one: float, other: float) -> bool:
    """Whether two scores are the same but for rounding; two undefined ones are."""
    return (math.isnan(one) and math.isnan(other)) or math.isclose(
        one, other, rel_tol=0, abs_tol=SAME
    )


@dataclass
class _Sum:
    """The scores of one system, over its seeds."""

    unit: Unit
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    gained: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)


def moves_of(systems: Sequence[System], versions: Versions) -> list[ScoreMove]:
    """The scores of every system under the gold of both versions."""
    table: dict[Key, dict[str, _Sum]] = {}
    for system in systems:
        task, split = system.task, system.split
        old, new = (versions.examples(task, split, after=after) for after in (False, True))
        before, after = values_of(task, old, system.answers), values_of(task, new, system.answers)
        gained, lost = _turned(system, old, new)
        for metric, (value, unit) in before.items():
            row = table.setdefault((task.name, split, metric), {}).setdefault(
                system.name, _Sum(unit)
            )
            row.before.append(value)
            row.after.append(after[metric][0])
            row.gained.append(gained)
            row.lost.append(lost)
    return [move for key, rows in table.items() for move in _ranked(key, rows)]


def _turned(system: System, old: Sequence[Example], new: Sequence[Example]) -> tuple[int, int]:
    """How many corrected items became right, and how many wrong."""
    question, gained, lost = system.task.question, 0, 0
    for one, other in zip(old, new, strict=True):
        before, after = one.gold[question], other.gold[question]
        if before != after:
            answer = system.answers[one.id].answer
            gained, lost = gained + (answer == after), lost + (answer == before)
    return gained, lost


def _ranked(key: Key, rows: Mapping[str, _Sum]) -> Iterator[ScoreMove]:
    task, split, metric = key
    means = {name: (fmean(row.before), fmean(row.after)) for name, row in rows.items()}
    ranks = [_ranks({name: pair[side] for name, pair in means.items()}, metric) for side in (0, 1)]
    for name in sorted(rows, key=lambda name: (ranks[1][name], ranks[0][name], name)):
        row, (before, after) = rows[name], means[name]
        yield ScoreMove(
            task=task,
            set=split,
            metric=metric,
            system=name,
            seeds=len(row.before),
            unit=row.unit,
            before=_defined(before),
            after=_defined(before if equal(before, after) else after),
            rank_before=ranks[0][name],
            rank_after=ranks[1][name],
            gained=fmean(row.gained),
            lost=fmean(row.lost),
        )


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _ranks(values: Mapping[str, float], metric: str) -> dict[str, int]:
    """1 for the best; what is undefined comes last, equals share a rank."""
    from nikawa.metrics import metrics

    sign = 1 if metrics()[metric].better == "higher" else -1
    worth = {name: -math.inf if math.isnan(v) else sign * v for name, v in values.items()}
    return {
        name: 1 + sum(other > value + SAME for other in worth.values())
        for name, value in worth.items()
    }
