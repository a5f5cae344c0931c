"""The answers of a system to a set, side by side with gold, as the analyses take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nikawa.metrics import Evaluation, Items, Metric
from nikawa.records import Example, Task, Unit
from nikawa.runs.load import LoadedSystem
from nikawa.runs.records import RunSpec
from nikawa.scoring.score import build_items, choose_metrics, resampling_units
from nikawa.stats.masks import Sample
from nikawa.stats.resample import Floats, Ints
from nikawa.stats.slices import (
    SliceMask,
    bin_similarities,
    find_slices,
    slice_examples,
    to_masks,
)

MAX_PROBABILITY_ERROR = 1e-3
"""How far the sum of an item's probabilities may be from 1."""
USUAL_LABEL_ORDER = ("entailment", "contradiction", "neutral")
"""How tables of inference list the labels."""

FoundSlices = tuple[list[SliceMask], dict[str, str]]
"""Slices, and keys that were skipped with the reason."""


@dataclass(frozen=True)
class ItemSet:
    """The items of a set, and what does not depend on who answered them: computed once for all systems."""

    task: Task
    examples: Sequence[Example]
    _slices: dict[tuple[str, ...], FoundSlices] = field(default_factory=dict)

    @cached_property
    def units(self) -> Ints:
        """The unit of resampling each item belongs to."""
        return resampling_units(self.task, self.examples)

    @cached_property
    def similarity_bins(self) -> list[SliceMask]:
        """Items by gold similarity; empty where they have none."""
        return bin_similarities(self.examples)

    @cached_property
    def label_question(self) -> str | None:
        """The question whose gold is a label on every item."""
        for name, value in self.examples[0].gold.items():
            if isinstance(value, str) and all(
                isinstance(example.gold.get(name), str) for example in self.examples
            ):
                return name
        return None

    @cached_property
    def label_slices(self) -> list[SliceMask]:
        """Items by the label of `label_question`, the labels of inference in their usual order."""
        question = self.label_question
        if question is None:
            return []
        places = slice_examples(question, self.examples, self.task)
        order: list[str] = [label for label in USUAL_LABEL_ORDER if label in places]
        places = {name: places[name] for name in order or sorted(places)}
        return to_masks(question, places, len(self.examples))

    def find_slices(self, keys: tuple[str, ...]) -> FoundSlices:
        """Every slice by every key that fits, or by the `keys` given; and why keys were skipped."""
        if keys not in self._slices:
            self._slices[keys] = find_slices(self.task, self.examples, keys)
        return self._slices[keys]


class ItemSets:
    """The item sets of an analysis: systems that answered the same examples share one."""

    def __init__(self) -> None:
        self._by_list: dict[tuple[str, int], ItemSet] = {}
        self._first: dict[int, Items] = {}
        """List of examples to the first answers to them."""

    def share(self, task: Task, examples: Sequence[Example]) -> ItemSet:
        """The item set of a list that several systems share."""
        return self._by_list.setdefault((task.name, id(examples)), ItemSet(task, examples))

    def share_columns(self, examples: Sequence[Example], items: Items) -> Items:
        """The items of such a list with the columns of the answers before where these say the same."""
        first = self._first.setdefault(id(examples), items)
        kept = {name: getattr(first, name) for name in ("gold", "inputs", "scores")}
        return replace(
            items, **{name: each for name, each in kept.items() if each == getattr(items, name)}
        )


@dataclass(frozen=True)
class SystemAnswers:
    """One system on one set under one metric."""

    loaded: LoadedSystem
    set: str
    items: ItemSet
    """The items that count: all, or for scores those that every run answered."""
    runs: tuple[Items, ...]
    """Gold and answers of each seed, in the order of the items."""
    metric: Metric
    sample: Sample
    total: int
    """Items of the set, answered or not."""
    unanswered: float
    """Items without a readable answer, mean over seeds."""

    @property
    def task(self) -> Task:
        """As published."""
        return self.items.task

    @property
    def spec(self) -> RunSpec:
        """That of the first seed."""
        return self.loaded.spec

    @property
    def examples(self) -> Sequence[Example]:
        """The items that count."""
        return self.items.examples

    @property
    def full_name(self) -> str:
        """The full name of the set: `jsick:test`."""
        return self.loaded.full_names[self.set]

    @property
    def scale(self) -> float:
        """100 where the official scorer reports percent."""
        return self.metric.scale(self.task)

    @property
    def unit(self) -> Unit:
        """The unit of the metric's values."""
        return self.metric.unit(self.task)

    @property
    def official(self) -> Floats:
        """The metric of each seed as the official scorer computes it."""
        return np.array([run.value for run in self.sample.runs])

    @cached_property
    def labels(self) -> list[str]:
        """The closed set of answers, as texts: the task's labels, or the places of choices; empty for open answers."""
        if self.task.labels:
            return [str(label) for label in self.task.labels]
        if self.task.kind == "choice":
            counts = (len(inputs.get("choices", ())) for inputs in self.runs[0].inputs)
            return [str(i) for i in range(max(counts, default=0))]
        return []

    @cached_property
    def gold_indices(self) -> Ints:
        """The place of each gold label among the labels; -1 for anything else."""
        return label_indices(self.runs[0].gold, self.labels)

    @cached_property
    def answer_indices(self) -> Ints:
        """The same of the answers: runs by items."""
        return np.stack([label_indices(items.answers, self.labels) for items in self.runs])

    @cached_property
    def probabilities(self) -> Floats | str:
        """Runs by items by labels, NaN where an item has none; or the reason for missing probabilities."""
        tables = [probability_table(items, self.labels) for items in self.runs]
        reasons = [table for table in tables if isinstance(table, str)]
        if reasons:
            return reasons[0]
        return np.stack([table for table in tables if not isinstance(table, str)])


def match_system(
    loaded: LoadedSystem, name: str, item_sets: ItemSets, metric: str = ""
) -> SystemAnswers | None:
    """The system on a set, under a metric of the task; None where no item counts."""
    task, examples = loaded.task, loaded.sets.shown[name]
    runs = [
        item_sets.share_columns(examples, build_items(task, examples, run.answers_to_shown(name)))
        for run in loaded.runs
    ]
    unanswered = 0.0
    if examples:
        counts = [sum(answer is None for answer in items.answers) for items in runs]
        unanswered = float(np.mean(counts))
    is_similarity = task.kind == "similarity"
    kept = list(range(len(examples)))
    if is_similarity:
        kept = [i for i in kept if all(items.answers[i] is not None for items in runs)]
    if len(kept) < (2 if is_similarity else 1):
        return None
    item_set = item_sets.share(task, examples)
    if len(kept) < len(examples):
        item_set = ItemSet(task, [examples[i] for i in kept])
        runs = [items.take(kept) for items in runs]
    names = (metric,) if metric else task.metrics[:1]
    used = choose_metrics(task, names, runs[0])[0]
    for i, items in enumerate(
        runs
    ):  # seeds of a deterministic model give the same answers: one is enough
        runs[i] = next((other for other in runs[:i] if other == items), items)
    by_items = {id(items): used.evaluate(items, "official") for items in runs}
    evaluations = [by_items[id(items)] for items in runs]
    sample = make_sample(evaluations, item_set.units)
    return SystemAnswers(
        loaded, name, item_set, tuple(runs), used, sample, len(examples), unanswered
    )


def make_sample(evaluations: Sequence[Evaluation], units: Ints) -> Sample:
    """The runs under a metric; where it is the mean of one score per item, with that score averaged over runs."""
    details = []
    for evaluation in evaluations:
        detail = evaluation.detail
        if detail is None or len(detail) != len(units):
            return Sample(evaluations, units)
        if abs(float(detail.mean()) - evaluation.value) >= 1e-9:
            return Sample(evaluations, units)
        details.append(detail)
    mean = details[0] if len(details) == 1 else np.mean(details, axis=0)
    is_binary = len(evaluations) == 1 and bool(np.isin(mean, (0.0, 1.0)).all())
    return Sample(evaluations, units, mean, binary=is_binary)


def probability_table(items: Items, labels: Sequence[str]) -> Floats | str:
    """Items by labels, NaN rows where an item has none; or the reason for missing probabilities."""
    if not labels:
        return "answers are not labels"
    pairs = enumerate(zip(items.scores, items.answers, strict=True))
    scored = [i for i, (scores, answer) in pairs if scores and answer is not None]
    if not scored:
        return "the model returns no probabilities"
    table = np.full((len(items.gold), len(labels)), np.nan)
    for i in scored:
        scores = items.scores[i] or {}
        table[i] = [scores.get(label, 0.0) for label in labels]
    known = table[scored]
    is_negative = (known < -MAX_PROBABILITY_ERROR).any()
    if is_negative or (np.abs(known.sum(axis=1) - 1) > MAX_PROBABILITY_ERROR).any():
        return "the model's scores are not probabilities: they do not add up to 1"
    table[scored] = np.clip(known, 0.0, 1.0)
    return table


def label_indices(values: Sequence[Any], labels: Sequence[str], *, unread: str = "") -> Ints:
    """The place of each value among the labels, by its text; -1 for anything else. `unread` is the text of None."""
    place = {label: i for i, label in enumerate(labels)}
    blank = place.get(unread, -1) if unread else -1
    codes = (blank if value is None else place.get(str(value), -1) for value in values)
    return np.fromiter(codes, np.int64, len(values))
