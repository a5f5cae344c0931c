"""The answers of a system to a set, side by side with gold, as the analyses take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.analysis.systems import Loaded
from nikawa.metrics import Evaluation, Items, Metric
from nikawa.records import Example, Task
from nikawa.scoring.score import chosen, items_of, units_of
from nikawa.stats.masks import Sample
from nikawa.stats.resample import Floats, Ints

OFF = 1e-3
"""How far the sum of an item's probabilities may be from 1."""


@dataclass(frozen=True)
class Sitting:
    """One system on one set under one metric."""

    loaded: Loaded
    set: str
    task: Task
    examples: Sequence[Example]
    """Those that count: all, or for scores those that every run answered."""
    runs: tuple[Items, ...]
    """The items of each seed, in the order of `examples`."""
    metric: Metric
    sample: Sample
    total: int
    """Examples of the set, answered or not."""
    unanswered: float
    """Items without an answer that could be read, mean over seeds."""

    @property
    def scale(self) -> float:
        """100 where the official scorer reports percent."""
        return self.metric.scale(self.task)

    @property
    def unit(self) -> Any:
        """The unit of the metric's values."""
        return self.metric.unit(self.task)

    @property
    def official(self) -> Floats:
        """The metric of each seed as the official scorer computes it."""
        return np.array([run.value for run in self.sample.runs])


def sit(loaded: Loaded, name: str, metric: str = "") -> Sitting | None:
    """The system on a set, under a metric of the task; None where no item counts."""
    task, examples = loaded.task, loaded.sets[name]
    every = [items_of(task, examples, answers) for answers in loaded.answers[name]]
    lost = (
        float(np.mean([sum(a is None for a in items.answers) for items in every]))
        if examples
        else 0.0
    )
    kept = _common(task, every)
    if len(kept) < (2 if task.kind == "similarity" else 1):
        return None
    if len(kept) < len(examples):
        examples, every = [examples[i] for i in kept], [_only(items, kept) for items in every]
    found = chosen(task, (metric,) if metric else task.metrics[:1], every[0])[0]
    runs = tuple(every)
    sample = _sample(
        [found.evaluate(items, "official") for items in runs], units_of(task, examples)
    )
    return Sitting(loaded, name, task, examples, runs, found, sample, len(loaded.sets[name]), lost)


def _common(task: Task, every: Sequence[Items]) -> list[int]:
    size = range(len(every[0].gold))
    if task.kind != "similarity":
        return list(size)
    return [i for i in size if all(items.answers[i] is not None for items in every)]


def _only(items: Items, kept: Sequence[int]) -> Items:
    def taken(side: Sequence[Any]) -> list[Any]:
        return [side[i] for i in kept]

    return Items(
        taken(items.gold),
        taken(items.answers),
        taken(items.inputs),
        items.labels,
        taken(items.scores),
    )


def _sample(found: Sequence[Evaluation], units: Ints) -> Sample:
    details = [evaluation.detail for evaluation in found]
    means = [
        d is not None and len(d) == len(units) and abs(float(d.mean()) - e.value) < 1e-9
        for d, e in zip(details, found, strict=True)
    ]
    if not all(means):
        return Sample(found, units)
    mean = np.mean([d for d in details if d is not None], axis=0)
    return Sample(
        found, units, mean, binary=len(found) == 1 and bool(np.isin(mean, (0.0, 1.0)).all())
    )


def labels_of(task: Task, runs: Sequence[Items]) -> list[str]:
    """The closed set of answers, as texts: the task's labels, or the places of choices."""
    if task.labels:
        return [str(label) for label in task.labels]
    if task.kind == "choice":
        most = max((len(inputs.get("choices", ())) for inputs in runs[0].inputs), default=0)
        return [str(i) for i in range(most)]
    return []


def probabilities(items: Items, labels: Sequence[str]) -> Floats | str:
    """Items by labels, NaN rows where an item has none; or why there are no probabilities."""
    if not labels:
        return "answers are no labels"
    table = np.full((len(items.gold), len(labels)), np.nan)
    given = [i for i, scores in enumerate(items.scores) if scores and items.answers[i] is not None]
    for i in given:
        scores = items.scores[i] or {}
        table[i] = [scores.get(label, 0.0) for label in labels]
    if not given:
        return "the model gives no probabilities"
    some = table[given]
    if (some < -OFF).any() or (np.abs(some.sum(axis=1) - 1) > OFF).any():
        return "the model's scores are no probabilities: they do not add up to 1"
    table[given] = np.clip(some, 0.0, 1.0)
    return table


def places(values: Sequence[Any], labels: Sequence[str]) -> Ints:
    """The place of each value among the labels; -1 for what is none of them."""
    place = {label: i for i, label in enumerate(labels)}
    return np.array([-1 if v is None else place.get(str(v), -1) for v in values], dtype=np.int64)
