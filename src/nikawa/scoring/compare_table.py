"""The systems of a comparison on one task: their items side by side, and what each metric says of them, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from nikawa.metrics import Evaluation, Items, Metric
from nikawa.metrics.base import Weighted
from nikawa.records import Task
from nikawa.scoring.score import Part, Scored, chosen, items_of
from nikawa.stats.resample import Ints, mcnemar


@dataclass(frozen=True)
class Side:
    """A system's runs on one task."""

    name: str
    runs: tuple[Scored, ...]


Job = tuple[str, str, list[Metric]]
"""Two systems, and metrics that can be tested on the same draws."""


@dataclass
class Table:
    """Systems on one task, over the same items and with the same set of labels, so that their statistics line up."""

    sides: Sequence[Side]
    metrics: list[Metric]
    parts: dict[str, list[Part]]
    _seen: dict[tuple[str, str], list[tuple[Evaluation, Ints]]] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """The task."""
        return self.sides[0].runs[0].task

    def runs(self, system: str, metric: Metric) -> list[Evaluation]:
        """The metric for each run of a system."""
        return [evaluation for evaluation, _ in self._under(system, metric)]

    def units(self, metric: Metric) -> Ints:
        """The unit of resampling of each item the metric sees."""
        return self._under(self.sides[0].name, metric)[0][1]

    def _under(self, system: str, metric: Metric) -> list[tuple[Evaluation, Ints]]:
        key = (system, metric.name)
        if key not in self._seen:
            self._seen[key] = [part.under(metric, "official") for part in self.parts[system]]
        return self._seen[key]

    def itemwise(self, metric: Metric) -> bool:
        """Whether the metric is a mean over items."""
        return self.runs(self.sides[0].name, metric)[0].itemwise

    @cached_property
    def any_itemwise(self) -> bool:
        """Whether any metric is."""
        return any(map(self.itemwise, self.metrics))

    def jobs(self) -> list[Job]:
        """What is to be tested: for each pair, metrics that share their draws together."""
        pairs = [(a, b) for a, b in combinations(self.sides, 2)]
        return [(a.name, b.name, metrics) for a, b in pairs for metrics in self._together(a, b)]

    def _together(self, a: Side, b: Side) -> list[list[Metric]]:
        several = len(a.runs) > 1 or len(b.runs) > 1
        found: dict[object, list[Metric]] = {}
        for metric in self.metrics:
            key = metric.name if several or alone(self, metric) else self.units(metric).tobytes()
            found.setdefault(key, []).append(metric)
        return list(found.values())

    def detail(self, system: str, metric: Metric) -> Any:
        """A score an item, averaged over runs; its item form where the metric has none, turned so that better is better."""
        details = [run.detail for run in self.runs(system, metric)]
        form = metric.item_form
        if form is not None and any(detail is None for detail in details):
            sign = 1 if form.better == metric.better else -1
            details = [
                sign * np.array(form.compute(part.items), dtype=np.float64)
                for part in self.parts[system]
            ]
        known = [d for d in details if d is not None]
        return np.mean(known, axis=0) if len(known) == len(details) else None


def alone(table: Table, metric: Metric) -> bool:
    """Whether the metric needs draws of its own: a correlation, or one without statistics."""
    return metric.standardise is not None or isinstance(
        table.runs(table.sides[0].name, metric)[0], Weighted
    )


def table_of(sides: Sequence[Side]) -> Table:
    """The systems side by side."""
    raw = {
        side.name: [(run, items_of(run.task, run.examples, run.predictions)) for run in side.runs]
        for side in sides
    }
    every = [items for runs in raw.values() for _, items in runs]
    task = sides[0].runs[0].task
    kept, labels = _common(every, task), _labels(every)
    parts = {
        name: [
            Part(run.task, _taken(run.examples, kept), _only(items, kept, labels))
            for run, items in runs
        ]
        for name, runs in raw.items()
    }
    wanted = [chosen(task, (), items) for items in every]
    return Table(sides, [m for m in wanted[0] if all(m in others for others in wanted)], parts)


def _common(every: Sequence[Items], task: Task) -> list[int] | None:
    """Items to compare on: all, but for similarity those every run answered (a correlation has no other place)."""
    if task.kind != "similarity":
        return None
    return [
        i for i in range(len(every[0].gold)) if all(items.answers[i] is not None for items in every)
    ]


def _labels(every: Sequence[Items]) -> tuple[Any, ...]:
    """The declared labels, then whatever else occurs; only label and choice answers form classes."""
    seen = {
        x
        for items in every
        for side in (items.gold, items.answers)
        for x in side
        if isinstance(x, str | int)
    }
    return (*every[0].labels, *sorted(seen - set(every[0].labels), key=str))


def _taken(values: Sequence[Any], kept: Sequence[int] | None) -> Sequence[Any]:
    return values if kept is None else [values[i] for i in kept]


def _only(items: Items, kept: Sequence[int] | None, labels: tuple[Any, ...]) -> Items:
    sides = (_taken(side, kept) for side in (items.gold, items.answers, items.inputs, items.scores))
    gold, answers, inputs, scores = sides
    return Items(gold, answers, inputs, labels, scores)


def effect_size(a: Any, b: Any, metric: Metric) -> float:
    """Cohen's d of the paired differences an item: their mean over their standard deviation; 0 where undefined."""
    if a is None or b is None or len(a) < 2:
        return 0.0
    gaps = (b - a) if metric.better == "higher" else (a - b)
    spread = float(np.std(gaps, ddof=1))
    return float(np.mean(gaps)) / spread if spread else 0.0


def tally(a: Any, b: Any, metric: Metric) -> tuple[int, int, int]:
    """Items the second did better on, worse on, and as well."""
    if a is None or b is None or len(a) != len(b):
        return 0, 0, 0
    ahead, behind = int((b > a).sum()), int((a > b).sum())
    wins, losses = (ahead, behind) if metric.better == "higher" else (behind, ahead)
    return wins, losses, len(a) - wins - losses


def exact_mcnemar(a: Any, b: Any) -> float | None:
    """Exact McNemar, where every item is right or wrong."""
    if (
        a is None
        or b is None
        or len(a) != len(b)
        or not np.isin(np.concatenate([a, b]), (0.0, 1.0)).all()
    ):
        return None
    return mcnemar(a, b)[2]


def item_gaps(table: Table, first: str, second: str) -> dict[str, float]:
    """How much better the second did on each item, by the first metric that has a score an item."""
    for metric in table.metrics:
        a, b = (table.detail(name, metric) for name in (first, second))
        if a is not None and b is not None and len(a) == len(b):
            ids = [example.id for example in table.parts[first][0].examples]
            sign = 1 if metric.better == "higher" else -1
            return dict(zip(ids, (sign * (b - a)).tolist(), strict=True))
    return {}
