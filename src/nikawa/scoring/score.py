"""`nikawa score`: answers to scores, the official numbers with intervals, over all items and over slices.

`score` takes a file of answers; `score_versions` scores the same answers against every available version of a dataset;
`score_examples` scores predictions that are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from nikawa.datasets.compact import Compactor
from nikawa.datasets.custom import is_custom
from nikawa.datasets.keys import LabelKeys, refuse_closed_keys, sort_as_before
from nikawa.datasets.load import load
from nikawa.datasets.locate import matching_files, path_version, repository_folder
from nikawa.datasets.names import benchmarks
from nikawa.datasets.task_lookup import find_tasks, typed_name
from nikawa.errors import BadInput
from nikawa.io.answers.base import ShownReading
from nikawa.io.answers.read import looks_at_texts
from nikawa.metrics import Evaluation, Items, Metric, Mode, metrics
from nikawa.metrics.confusion import count_confusion
from nikawa.metrics.units import convert_table
from nikawa.records import LABELLED_KINDS, Example, Prediction, Record, Score, Task
from nikawa.scoring.match import (
    AnswerSource,
    MatchedAnswers,
    ReadDataset,
    drop_hidden_items,
    match_answers,
    open_answers,
    open_with_keys,
    read_run_limit,
    refuse_gaps,
)
from nikawa.spec import name_and_split
from nikawa.stats.resample import (
    SCORE_RESAMPLES,
    Ints,
    bootstrap_all,
    number_groups,
    score_interval,
)
from nikawa.stats.slices import LENGTH, list_slice_keys, slice_examples
from nikawa.tables import ResultTable, ShownAsTables

GROUPED_KINDS = ("inference", "similarity", "dialogue")
"""Kinds whose items share a premise, an image or a dialogue: there the group is the unit of resampling."""
MAX_READINGS = 10_000
"""Maximum readings of answers in a report."""
SLOW_RESAMPLES = 1_000
"""Resamples of a metric that is slow under weights."""

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the work, the amount that is done, and the total."""


@dataclass(frozen=True)
class ScoreOptions:
    """How to score."""

    by: tuple[str, ...] = ()
    """What to slice by: `tag`, `gold`, `bin` (of similarity), or a key of the examples' meta."""
    partial: bool = False
    """Score only answered items; otherwise an item without an answer is an error."""
    resamples: int = SCORE_RESAMPLES
    seed: int = 0
    metrics: tuple[str, ...] = ()
    """Metrics instead of the task's own."""
    form: str | None = None
    """The form of the answer file, if it cannot be detected from its content."""
    extract: tuple[str, ...] = ()
    """Regular expressions that extract the answer from a longer text, tried in order."""
    readings: bool = False
    """Report the text that each answer was read from."""
    hidden: bool = False
    """Also score items with hidden labels: for the owner of the labels."""
    keys: Path | LabelKeys | None = None
    """The key file with the labels that `nikawa data hide` removed from the dataset; needs `hidden`."""
    on_progress: OnProgress = lambda *_: None
    """Called with the progress of a comparison, and with the number of files that are scored."""
    read: ReadDataset | None = None
    """The loader of a custom dataset, if it should not be read again each time."""
    keep_texts: bool = True
    """Whether the examples of the result need their texts."""
    lenient: bool = False
    """Set a metric that cannot be computed to NaN instead of raising."""


class MetricNote(Record, frozen=True, kw_only=True):
    """A difference between the official code and the paper."""

    metric: str
    difference: str


class Unparsed(Record, frozen=True, kw_only=True):
    """An answer that could not be read."""

    example: str
    raw: str
    """The answer as given."""
    why: str


class ScoreReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The scores of one file of answers."""

    main_table: ClassVar[str] = "scores"
    headline_fields: ClassVar[tuple[str, ...]] = (
        "task",
        "split",
        "version",
        "n",
        "answered",
        "missing",
        "unparsed",
        "unknown",
        "hidden",
    )
    plots_by: ClassVar[str] = "nikawa.reporting.notebook:draw_scores"

    task: str
    split: str
    version: str
    n: int
    """Items of the split that are scored."""
    hidden: int = 0
    """Items left out because their labels are hidden."""
    answered: int
    """Items with an answer that could be read."""
    missing: int
    """Items without an answer."""
    unparsed: int
    """Answers that could not be read: they count as wrong, or a metric such as a correlation skips them."""
    unknown: int
    """Answers whose id is in no example of the split."""
    duplicates: int
    partial: bool
    """Whether items without an answer were left out on request."""
    limit: int | msgspec.UnsetType = msgspec.UNSET
    """The limit of the run that gave the answers; absent without a limit or a run."""
    form: str
    """The form the answer file was recognised as."""
    scores: tuple[Score, ...]
    notes: tuple[MetricNote, ...] = ()
    confusion: dict[str, dict[str, int]]
    """Gold label to answer to count, for tasks with labels."""
    missing_ids: tuple[str, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    duplicate_ids: tuple[str, ...] = ()
    """Ids answered again in the same words, once for each repetition."""
    unparsed_items: tuple[Unparsed, ...] = ()
    readings: tuple[ShownReading, ...] | msgspec.UnsetType = msgspec.UNSET
    """The text that each answer was read from, up to `MAX_READINGS`; unset unless the options request it."""

    def shown_tables(self) -> list[ResultTable]:
        """The tables with scores in percent."""
        return [convert_table(table) for table in ShownAsTables.shown_tables(self)]


@dataclass(frozen=True, repr=False)
class ScoreResult(ShownAsTables):
    """A report and what it was computed from. Its repr is that of the report."""

    plots_by: ClassVar[str] = ScoreReport.plots_by

    report: ScoreReport
    task: Task
    examples: tuple[Example, ...]
    predictions: Mapping[str, Prediction]
    metrics: tuple[str, ...] = ()
    """Metrics that were named instead of the task's own."""

    def headline(self) -> str:
        """That of the report."""
        return self.report.headline()

    def list_tables(self) -> list[ResultTable]:
        """Those of the report."""
        return self.report.list_tables()

    def shown_tables(self) -> list[ResultTable]:
        """Those of the report."""
        return self.report.shown_tables()


def score(
    name: str,
    answers: Path | AnswerSource,
    *,
    split: str | None = None,
    data: Path | None = None,
    version: str | None = None,
    options: ScoreOptions | None = None,
) -> ScoreResult:
    """Score the answers of a file (or folder) to a task such as `jnli` or `jnli:dev`.

        result = score("jnli:dev", Path("answers.jsonl"), options=ScoreOptions(by=("gold",)))
        result.report.scores[0].value

    Without a split, the split that shares most ids with the answers is used. Raises `BadInput` for missing answers (see
    `ScoreOptions.partial`) and if no answer can be read.
    """
    options = options or ScoreOptions()
    read = read_answers(name, answers, split, data, version, options)
    return finish_score(read, compute_scores(read.to_work(options)), options)


class ComputedScores(NamedTuple):
    """What is computed from answers that were read."""

    scores: list[Score]
    confusion: dict[str, dict[str, int]]


class ScoreWork(NamedTuple):
    """What `compute_scores` needs; it can be pickled, and reads no file."""

    task: Task
    path: Path | None
    examples: tuple[Example, ...]
    predictions: Mapping[str, Prediction]
    options: ScoreOptions


@dataclass(frozen=True)
class ReadAnswers:
    """Answers that were read and matched with the items they are to."""

    task: Task
    path: Path | None
    matched: MatchedAnswers
    hidden: int
    """Items left out because their labels are hidden."""
    examples: tuple[Example, ...]
    """The items to score."""

    def to_work(self, options: ScoreOptions) -> ScoreWork:
        """What is left to compute."""
        predictions = self.matched.answers.predictions
        return ScoreWork(self.task, self.path, self.examples, predictions, options)


def read_answers(
    name: str,
    answers: Path | AnswerSource,
    split: str | None,
    data: Path | None,
    version: str | None,
    options: ScoreOptions,
) -> ReadAnswers:
    """Read answers, and find the split and the items they are to; see `score`."""
    read = options.read or open_examples([answers], options, data)
    keys = None
    refuse_closed_keys(options.keys, options.hidden)
    if options.keys is not None:
        read, keys = open_with_keys(read, options.keys)
    task, split = find_task_and_split(name, split, read)
    if options.read is None and any(metrics()[each].needs_inputs for each in task.metrics):
        read = cache(partial(load, data=data, hidden=True))
        if options.keys is not None:
            read, keys = open_with_keys(read, options.keys)
    if keys is not None and not is_custom(task.dataset):
        cure = "pass the folder that nikawa data hide wrote"
        raise BadInput(f"{task.dataset} has no key file", cure=cure)
    source = open_answers(
        answers,
        task,
        options.form,
        keep_rows=split is None,
        extract=options.extract,
        keep_readings=options.readings,
    )
    every = match_answers(task, source, read, split=split, data=data, version=version)
    if keys is not None:
        every = replace(every, examples=sort_as_before(every.examples, keys, every.split))
    matched = every if options.hidden else drop_hidden_items(every, task.dataset)
    refuse_gaps(matched, task, options.partial, source.path)
    examples = matched.examples
    if options.partial:
        examples = tuple(item for item in examples if item.id in matched.answers.predictions)
    hidden = len(every.examples) - len(matched.examples)
    return ReadAnswers(task, source.path, matched, hidden, examples)


def open_examples(
    answers: Iterable[Path | AnswerSource], options: ScoreOptions, data: Path | None
) -> ReadDataset:
    """A loader of datasets that reads each once, with hidden labels: items that have one are counted and left out later.

    Without `options.keep_texts`, the texts of pairs are left out where nothing looks at them.
    """
    keeps_texts = (
        options.keep_texts
        or options.keys is not None
        or LENGTH in options.by
        or any(metrics()[name].needs_inputs for name in options.metrics)
        or any(not isinstance(each, Path) or looks_at_texts(each, options.form) for each in answers)
    )
    compactor = Compactor(drop_texts=not keeps_texts)
    return cache(partial(load, data=data, hidden=True, compactor=compactor))


def compute_scores(work: ScoreWork) -> ComputedScores:
    """The scores of all items and of each slice, and the confusion of a task with labels."""
    task, path, examples, predictions, options = work
    scores: list[Score] = []
    for where, part in cut_slices(examples, options.by, task):
        try:
            scores += score_examples(task, part, predictions, options, where)
        except BadInput as problem:
            if problem.file is not None or type(problem) is not BadInput:
                raise
            raise BadInput(problem.what, file=path, cure=problem.cure) from None
    counts = {}
    if task.kind in LABELLED_KINDS:
        counts = count_confusion(build_items(task, examples, predictions))
    return ComputedScores(scores, counts)


def finish_score(read: ReadAnswers, computed: ComputedScores, options: ScoreOptions) -> ScoreResult:
    """The result with its report."""
    task, matched = read.task, read.matched
    report = msgspec.structs.replace(
        make_report(task, matched, read.hidden, options.partial, *computed),
        limit=read_run_limit(read.path) or msgspec.UNSET,
    )
    if options.readings:
        readings = tuple(matched.answers.readings.values())[:MAX_READINGS]
        report = msgspec.structs.replace(report, readings=readings)
    predictions = matched.answers.predictions
    return ScoreResult(report, task, read.examples, predictions, options.metrics)


def with_keys(options: ScoreOptions | None, keys: Path | None) -> ScoreOptions | None:
    """The options with a key file, whose labels are then scored; None changes nothing."""
    return options if keys is None else replace(options or ScoreOptions(), keys=keys, hidden=True)


def find_task_and_split(
    name: str, split: str | None = None, read: ReadDataset = load
) -> tuple[Task, str | None]:
    """The task of a name, and the split that it or `split` names."""
    base, part = name_and_split(name)
    tasks = find_tasks(base, read)
    if len(tasks) > 1:
        raise BadInput(
            f"{base} has {len(tasks)} tasks",
            cure=f"choose one: {', '.join(map(typed_name, tasks))}",
        )
    return tasks[0], split or part or None


def cut_slices(
    examples: Sequence[Example], by: Iterable[str], task: Task
) -> Iterator[tuple[str, Sequence[Example]]]:
    """Everything, then each value of each key to slice by."""
    yield "", examples
    for key in by:
        groups = slice_examples(key, examples, task)
        if not groups:
            raise BadInput(
                f"no example has the field {key!r} to slice by",
                cure=f"use one of: {', '.join(list_slice_keys(examples))}",
            )
        for value, places in groups.items():
            yield f"{key}={value}", [examples[i] for i in places]


def make_report(
    task: Task,
    matched: MatchedAnswers,
    hidden: int,
    is_partial: bool,
    scores: Sequence[Score],
    counts: dict[str, dict[str, int]],
) -> ScoreReport:
    """The report of matched answers: `counts` is the confusion, `hidden` how many items were left out."""
    answers = matched.answers
    notes = []
    for name in dict.fromkeys(score.metric for score in scores):
        values = [score.value for score in scores if score.metric == name and not score.where]
        if len(values) < 2:  # the metric has one mode
            continue
        if not np.isclose(values[0], values[1], rtol=0, atol=1e-9, equal_nan=True):
            notes.append(MetricNote(metric=name, difference=metrics()[name].difference))
    return ScoreReport(
        task=task.name,
        split=matched.split,
        version=matched.version,
        n=len(matched.examples),
        hidden=hidden,
        answered=sum(p.answer is not None for p in answers.predictions.values()),
        missing=len(answers.missing),
        unparsed=len(answers.unparsed),
        unknown=len(answers.unknown),
        duplicates=len(answers.duplicates),
        partial=is_partial and bool(answers.missing),
        form=answers.form,
        scores=tuple(scores),
        notes=tuple(notes),
        confusion=counts,
        missing_ids=tuple(answers.missing),
        unknown_ids=tuple(answers.unknown),
        duplicate_ids=tuple(name for name, _ in answers.duplicates),
        unparsed_items=tuple(
            Unparsed(example=name, raw=raw, why=why) for name, raw, why in answers.unparsed
        ),
    )


# Metrics over examples and predictions


def build_items(
    task: Task,
    examples: Sequence[Example],
    predictions: Mapping[str, Prediction] | Sequence[Prediction],
) -> Items:
    """Gold and answers side by side; an item without a prediction has the answer None.

    `predictions` are by the ids of examples, or one for each example in their order.
    """
    by_item: Iterable[Prediction | None] = (
        (predictions.get(example.id) for example in examples)
        if isinstance(predictions, Mapping)
        else predictions
    )
    answers: list[Any] = []
    scores: list[Mapping[str, float] | None] = []
    for prediction in by_item:
        answers.append(None if prediction is None else prediction.answer)
        scores.append(None if prediction is None else prediction.scores)
    return Items(
        gold=[example.gold[task.question] for example in examples],
        answers=answers,
        inputs=[example.inputs for example in examples],
        labels=task.labels,
        scores=scores,
    )


def resampling_units(
    task: Task, examples: Sequence[Example], answered: Sequence[bool] | None = None
) -> Ints:
    """The unit of resampling each item belongs to; with `answered`, of the answered items alone."""
    shared = task.kind in GROUPED_KINDS
    names = [(e.group or e.id) if shared else e.id for e in examples]
    if answered is not None:
        names = [name for name, kept in zip(names, answered, strict=True) if kept]
    return number_groups(names)


def choose_metrics(task: Task, names: Sequence[str], items: Items) -> list[Metric]:
    """The metrics to compute: those named, or the task's own metrics that the answers support."""
    chosen = [metrics()[name] for name in names or task.metrics]
    for metric in chosen:
        if task.kind not in metric.kinds:
            raise BadInput(
                f"{metric.name} does not score {task.kind} tasks",
                cure=f"use one of: {', '.join(task.metrics)}",
            )
    if names or all(scores is not None for scores in items.scores):
        return chosen
    return [metric for metric in chosen if not metric.needs_scores]


@dataclass(frozen=True)
class AnsweredTask:
    """Some examples of a task with the answers to them."""

    task: Task
    examples: Sequence[Example]
    items: Items

    @classmethod
    def pair(
        cls, task: Task, examples: Sequence[Example], predictions: Mapping[str, Prediction]
    ) -> AnsweredTask:
        """Examples with the predictions for them, by id."""
        return cls(task, examples, build_items(task, examples, predictions))

    def evaluate(self, metric: Metric, mode: Mode) -> tuple[Evaluation, Ints]:
        """The metric, and the unit of each item it saw (a correlation sees the answered ones only)."""
        units = self._answered_units if metric.skips_unanswered else self._units
        return metric.evaluate(self.items, mode), units

    @cached_property
    def _units(self) -> Ints:
        return resampling_units(self.task, self.examples)

    @cached_property
    def _answered_units(self) -> Ints:
        answered = [answer is not None for answer in self.items.answers]
        return resampling_units(self.task, self.examples, answered)


def score_examples(
    task: Task,
    examples: Sequence[Example],
    predictions: Mapping[str, Prediction],
    options: ScoreOptions,
    where: str = "",
) -> Iterator[Score]:
    """The scores of some examples under every metric and mode, with intervals from the same resamples.

    Where the answers do not define a metric (a correlation of one item), a slice, named by `where`, gets a score of NaN;
    the whole raises `BadInput`, unless `options.lenient`.
    """
    part = AnsweredTask.pair(task, examples, predictions)
    evaluated: list[tuple[Metric, Mode, Evaluation, Ints]] = []
    for metric in choose_metrics(task, options.metrics, part.items):
        for mode in metric.modes:
            try:
                evaluated.append((metric, mode, *part.evaluate(metric, mode)))
            except BadInput:
                if not where and not options.lenient:
                    raise
                yield Score(
                    metric=metric.name,
                    mode=mode,
                    value=float("nan"),
                    unit=metric.unit(task),
                    n=len(examples),
                    where=where,
                )
    same_draws: dict[tuple[bool, bytes], list[tuple[Metric, Mode, Evaluation, Ints]]] = {}
    for entry in evaluated:
        metric, _, _, units = entry
        same_draws.setdefault((metric.slow, units.tobytes()), []).append(entry)
    for slow, key in sorted(same_draws, key=lambda group: group[0]):
        entries = same_draws[slow, key]
        units = entries[0][3]
        resamples = min(options.resamples, SLOW_RESAMPLES) if slow else options.resamples
        evaluations = [evaluation for _, _, evaluation, _ in entries]
        drawn = bootstrap_all(evaluations, units, resamples=resamples, seed=options.seed)
        for (metric, mode, evaluation, _), values in zip(entries, drawn, strict=True):
            scale = metric.scale(task)
            low, high = score_interval(values, units, scale)
            yield Score(
                metric=metric.name,
                mode=mode,
                value=evaluation.value * scale,
                unit=metric.unit(task),
                low=low,
                high=high,
                n=len(units),
                where=where,
            )


# Items one by one


def list_item_details(result: ScoreResult) -> Iterator[dict[str, Any]]:
    """The detail of every item: its answer and its score under each metric that is a mean over items.

    If no metric is, the item's `right`. A metric that is not a mean over items adds its item form, such as the squared
    error of a correlation.
    """
    items = build_items(result.task, result.examples, result.predictions)
    details = score_items(choose_metrics(result.task, result.metrics, items), items)
    for place, example in enumerate(result.examples):
        prediction = result.predictions.get(example.id)
        yield {
            "example": example.id,
            "answer": None if prediction is None else prediction.answer,
            "why": None if prediction is None else prediction.why,
            "detail": {name: values[place] for name, values in details.items()},
        }


def score_items(chosen: Sequence[Metric], items: Items) -> dict[str, list[float | None]]:
    """By name one number per item; None for an answer that a metric skips."""
    evaluated = [(metric, metric.evaluate(items, "official")) for metric in chosen]
    details = {m.name: e.detail for m, e in evaluated if e.itemwise and e.detail is not None}
    known = [e.detail for _, e in evaluated if e.detail is not None]
    if known and not details:
        details = {"right": known[0]}
    scores: dict[str, list[float | None]] = {}
    for name, detail in details.items():
        values = iter(detail.tolist())
        skips = len(detail) != len(items.answers)
        scores[name] = [
            None if skips and answer is None else next(values) for answer in items.answers
        ]
    averaged = {metric.item_form for metric, e in evaluated if e.itemwise}
    for metric, evaluation in evaluated:
        form = metric.item_form
        if form is not None and not evaluation.itemwise and form not in averaged:
            scores[form.name] = form.compute(items)
    return scores


# Versions


class MovedItem(Record, frozen=True, kw_only=True):
    """An item whose gold differs between the oldest and the newest version."""

    example: str
    older: Any
    newer: Any
    answer: Any


class VersionReport(Record, frozen=True, kw_only=True):
    """Scores by version, oldest first, and what moved."""

    versions: tuple[str, ...]
    reports: tuple[ScoreReport, ...]
    moved: tuple[MovedItem, ...]


def list_versions(dataset: str, data: Path | None = None) -> list[str]:
    """The versions whose files are here, oldest first."""
    benchmark = benchmarks()[dataset]
    folder = repository_folder(benchmark, data)
    patterns = [pattern for source in benchmark.sources for pattern in source.patterns]
    versions = {
        path_version(path.relative_to(folder))
        for pattern in patterns
        for path in matching_files(pattern, folder)
    }
    return [".".join(map(str, version)) for version in sorted(versions) if version]


def score_versions(
    name: str,
    answers: Path,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
) -> VersionReport:
    """Score the same answers against every version that has the split.

    Raises `BadInput` if fewer than two versions are available.
    """
    options = options or ScoreOptions()
    task, split = find_task_and_split(name, split)
    versions = list_versions(task.dataset, data)
    if len(versions) < 2:
        raise BadInput(
            f"only {len(versions)} version of {task.dataset} is available",
            cure="put the folder of another release next to it",
        )
    source = open_answers(
        answers,
        task,
        options.form,
        keep_rows=True,
        extract=options.extract,
        keep_readings=options.readings,
    )
    results = [
        score(task.name, source, split=split, data=data, version=version, options=options)
        for version in versions
    ]
    return VersionReport(
        versions=tuple(versions),
        reports=tuple(result.report for result in results),
        moved=tuple(find_moved(results[0], results[-1])),
    )


def find_moved(older: ScoreResult, newer: ScoreResult) -> list[MovedItem]:
    """Items of both versions whose gold is not the same."""
    question = older.task.question
    before = {example.id: example.gold[question] for example in older.examples}
    moved = []
    for example in newer.examples:
        gold = example.gold[question]
        if example.id in before and before[example.id] != gold:
            prediction = newer.predictions.get(example.id)
            moved.append(
                MovedItem(
                    example=example.id,
                    older=before[example.id],
                    newer=gold,
                    answer=None if prediction is None else prediction.answer,
                )
            )
    return moved
