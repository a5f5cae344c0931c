"""Score answers to a task: the official numbers, with intervals, over all items and over slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.datasets.custom import named_tasks, typed
from nikawa.datasets.hidden import load_veiled
from nikawa.errors import BadInput
from nikawa.metrics import Evaluation, Items, Metric, Mode, metrics
from nikawa.metrics.confusion import confusion
from nikawa.records import Dataset, Example, Prediction, Score, Task
from nikawa.scoring.match import LABELLED, Read, Wanted, matched, opened, refuse_gaps
from nikawa.scoring.report import MetricNote, ScoreReport, Unparsed
from nikawa.spec import name_and_split
from nikawa.stats.resample import SCORE_RESAMPLES, Ints, bootstrap_all, bounds, group_numbers
from nikawa.stats.slices import list_slice_keys, slice_examples

GROUPED = ("inference", "similarity", "dialogue")
"""Kinds whose items share a premise, an image or a dialogue: there the group is the unit of resampling."""
SLOW_RESAMPLES = 1_000
"""Resamples of a metric that takes long under weights."""


Tell = Callable[[str, int, int], None]
"""Hears what is being done, how much of it is done, and how much it is in all."""


@dataclass(frozen=True)
class Options:
    """How to score."""

    by: tuple[str, ...] = ()
    """What to slice by: `tag`, `gold`, `bin` (of similarity), or a key of the examples' meta."""
    partial: bool = False
    resamples: int = SCORE_RESAMPLES
    seed: int = 0
    metrics: tuple[str, ...] = ()
    """Metrics instead of the task's own."""
    form: str | None = None
    """The form of the answer file, where its content does not tell."""
    hidden: bool = False
    """Score items whose labels are hidden too: for whoever holds the labels."""
    tell: Tell = lambda *_: None
    """Told how far a comparison is."""
    read: Read = load_veiled
    """How a dataset of one's own is read."""
    lenient: bool = False
    """Tell a metric that the answers do not define as no number, and go on."""


@dataclass(frozen=True)
class Scored:
    """A report and what it was computed from."""

    report: ScoreReport
    task: Task
    examples: tuple[Example, ...]
    predictions: Mapping[str, Prediction]
    metrics: tuple[str, ...] = ()
    """Metrics that were asked for instead of the task's own."""


def score(
    name: str,
    answers: Path,
    *,
    split: str | None = None,
    data: Path | None = None,
    version: str | None = None,
    options: Options | None = None,
) -> Scored:
    """Score the answers of a file (or folder) to a task such as `jnli` or `jnli:dev`."""
    how = options or Options()
    task, split = task_and_split(name, split, lambda spec: how.read(spec, data=data))
    wanted = Wanted(split, data, version, how.form, how.read)
    found, every, answered, loaded = matched(task, answers, wanted)
    examples, answered = (
        (every, answered) if how.hidden else opened(every, answered, f"{task.dataset}:{found}")
    )
    refuse_gaps(answered, task, len(examples), how.partial, answers)
    kept = tuple(e for e in examples if not how.partial or e.id in answered.predictions)
    predictions = answered.predictions
    scores = [
        s
        for where, part in slices(kept, how.by, task)
        for s in evaluate(task, part, predictions, how, where)
    ]
    report = ScoreReport(
        task=task.name,
        split=found,
        version=loaded,
        n=len(examples),
        hidden=len(every) - len(examples),
        answered=sum(p.answer is not None for p in predictions.values()),
        missing=len(answered.missing),
        unparsed=len(answered.unparsed),
        unknown=len(answered.unknown),
        duplicates=len(answered.duplicates),
        partial=how.partial and bool(answered.missing),
        form=answered.form,
        scores=tuple(scores),
        notes=tuple(_notes(scores)),
        confusion=confusion(items_of(task, kept, predictions)) if task.kind in LABELLED else {},
        missing_ids=tuple(answered.missing),
        unknown_ids=tuple(answered.unknown),
        duplicate_ids=tuple(name for name, _ in answered.duplicates),
        unparsed_items=tuple(
            Unparsed(example=i, raw=raw, why=why) for i, raw, why in answered.unparsed
        ),
    )
    return Scored(report, task, kept, predictions, how.metrics)


def task_and_split(
    name: str, split: str | None = None, read: Callable[[str], Dataset] = load_veiled
) -> tuple[Task, str | None]:
    """The one task a name stands for, and the split it or `split` names."""
    base, part = name_and_split(name)
    named = named_tasks(base, read)
    if len(named) > 1:
        raise BadInput(
            f"{base} has {len(named)} tasks", cure=f"name one: {', '.join(map(typed, named))}"
        )
    return named[0], split or part or None


def slices(
    examples: Sequence[Example], by: Iterable[str], task: Task
) -> Iterable[tuple[str, Sequence[Example]]]:
    """Everything, then each value of each thing to slice by."""
    yield "", examples
    for key in by:
        groups = slice_examples(key, examples, task)
        if not groups:
            raise BadInput(
                f"no example has a {key!r} to slice by",
                cure=f"these do: {', '.join(list_slice_keys(examples))}",
            )
        for value, places in groups.items():
            yield f"{key}={value}", [examples[i] for i in places]


def items_of(
    task: Task, examples: Sequence[Example], predictions: Mapping[str, Prediction]
) -> Items:
    """Gold and answers side by side; an item without a prediction has the answer None."""
    found = [predictions.get(example.id) for example in examples]
    return Items(
        gold=[example.gold[task.question] for example in examples],
        answers=[None if p is None else p.answer for p in found],
        inputs=[example.inputs for example in examples],
        labels=task.labels,
        scores=[None if p is None else p.scores for p in found],
    )


def units_of(
    task: Task, examples: Sequence[Example], answered: Sequence[bool] | None = None
) -> Ints:
    """The unit of resampling each item belongs to."""
    shared = task.kind in GROUPED
    names = [(e.group or e.id) if shared else e.id for e in examples]
    kept = names if answered is None else [n for n, a in zip(names, answered, strict=True) if a]
    return group_numbers(kept)


def chosen(task: Task, names: Sequence[str], items: Items) -> list[Metric]:
    """The metrics to compute: those named, or the task's own less what the answers cannot give."""
    wanted = [metrics()[name] for name in names or task.metrics]
    for metric in wanted:
        if task.kind not in metric.kinds:
            raise BadInput(
                f"{metric.name} does not score {task.kind} tasks",
                cure=f"{task.name} has: {', '.join(task.metrics)}",
            )
    ranked = all(s is not None for s in items.scores)
    return wanted if names else [m for m in wanted if ranked or not m.needs_scores]


@dataclass(frozen=True)
class Part:
    """Some examples of a task with the answers to them."""

    task: Task
    examples: Sequence[Example]
    items: Items

    def under(self, metric: Metric, mode: Mode) -> tuple[Evaluation, Ints]:
        """The metric, and the unit of each item it saw (a correlation sees the answered ones only)."""
        answered = [a is not None for a in self.items.answers] if metric.skips_unanswered else None
        return metric.evaluate(self.items, mode), units_of(self.task, self.examples, answered)


def evaluate(
    task: Task,
    examples: Sequence[Example],
    predictions: Mapping[str, Prediction],
    how: Options,
    where: str,
) -> Iterable[Score]:
    """The scores of some examples under every metric and mode, with intervals from the same resamples."""
    part = Part(task, examples, items_of(task, examples, predictions))
    found = []
    for metric in chosen(task, how.metrics, part.items):
        for mode in metric.modes:
            try:
                found.append((metric, mode, *part.under(metric, mode)))
            except BadInput:
                if not where and not how.lenient:
                    raise
                yield _undefined(part, metric, mode, where)
    for slow in (False, True):
        some = [(m, mode, e, units) for m, mode, e, units in found if m.slow == slow]
        yield from _with_intervals(part, some, how, where, slow)


def _undefined(part: Part, metric: Metric, mode: Mode, where: str) -> Score:
    """Too little for the metric, such as a correlation of one item, or of none that was answered."""
    return Score(
        metric=metric.name,
        mode=mode,
        value=float("nan"),
        unit=metric.unit(part.task),
        n=len(part.examples),
        where=where,
    )


def _with_intervals(
    part: Part,
    found: Sequence[tuple[Metric, Mode, Evaluation, Ints]],
    how: Options,
    where: str,
    slow: bool,
) -> Iterable[Score]:
    by_units: dict[bytes, list[tuple[Metric, Mode, Evaluation, Ints]]] = {}
    for entry in found:
        by_units.setdefault(entry[3].tobytes(), []).append(entry)
    resamples = min(how.resamples, SLOW_RESAMPLES) if slow else how.resamples
    for entries in by_units.values():
        units = entries[0][3]
        drawn = bootstrap_all(
            [e for _, _, e, _ in entries], units, resamples=resamples, seed=how.seed
        )
        for (metric, mode, evaluation, _), values in zip(entries, drawn, strict=True):
            scale = metric.scale(part.task)
            low, high = bounds(values, units, scale)
            yield Score(
                metric=metric.name,
                mode=mode,
                value=evaluation.value * scale,
                unit=metric.unit(part.task),
                low=low,
                high=high,
                n=len(units),
                where=where,
            )


def _notes(scores: Sequence[Score]) -> Iterable[MetricNote]:
    """A line for each metric whose two modes give different values here."""
    for name in dict.fromkeys(s.metric for s in scores):
        pair = [s.value for s in scores if s.metric == name and not s.where]
        if len(pair) == 2 and not np.isclose(pair[0], pair[1], rtol=0, atol=1e-9, equal_nan=True):
            yield MetricNote(metric=name, difference=metrics()[name].difference)


def per_item(scored: Scored) -> Iterable[dict[str, Any]]:
    """The detail of every item: its answer and its score under each metric that is a mean over items.

    Where none is, how `right` the item was; a correlation adds the squared error, None for an unread answer.
    """
    items = items_of(scored.task, scored.examples, scored.predictions)
    details = dict(_details(scored, items))
    for i, example in enumerate(scored.examples):
        prediction = scored.predictions.get(example.id)
        yield {
            "example": example.id,
            "answer": None if prediction is None else prediction.answer,
            "why": None if prediction is None else prediction.why,
            "detail": {name: values[i] for name, values in details.items()},
        }


def _details(scored: Scored, items: Items) -> Iterable[tuple[str, list[float | None]]]:
    wanted = chosen(scored.task, scored.metrics, items)
    answered = [a is not None for a in items.answers]
    evaluations = [(metric, metric.evaluate(items, "official")) for metric in wanted]
    details = [
        (metric.name, e.itemwise, e.detail.tolist())
        for metric, e in evaluations
        if e.detail is not None
    ]
    own = [(name, values) for name, itemwise, values in details if itemwise]
    for name, values in own or [("right", values) for _, _, values in details[:1]]:
        each = iter(values)
        yield (
            name,
            values
            if len(values) == len(answered)
            else [next(each) if a else None for a in answered],
        )
    averaged = {metric.item_form for metric, e in evaluations if e.itemwise}
    for form in dict.fromkeys(metric.item_form for metric, e in evaluations if not e.itemwise):
        if form is not None and form not in averaged:
            yield form.name, form.compute(items)
