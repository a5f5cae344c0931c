"""Answers to originals against answers to their perturbed versions: how often they stay, by operation, case and gold.

Classes: the share of equal answers (Table 16 pools the cases, Table 17 keeps them apart). Scores: Pearson's r between the
two. Intervals: percentile bootstrap over premises. If people judged the perturbed version, the same figure is given for
people, and for the model on those items only.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from nikawa.analysis.results import StressFigure
from nikawa.datasets import benchmarks, load
from nikawa.datasets.task_lookup import has_numbered_labels
from nikawa.errors import BadInput, list_names, name_faulty_file
from nikawa.io.answers import read_answers
from nikawa.metrics import Items
from nikawa.metrics.accuracy import mark_right
from nikawa.metrics.base import mean
from nikawa.metrics.correlation import pearson
from nikawa.perturbation.selection import CASES, FAMILIES, case_of, family_of
from nikawa.records import Dataset, Example, Prediction, Record, Task
from nikawa.scoring.score import find_task_and_split
from nikawa.spec import name_and_split
from nikawa.stats.masks import finite_or_none
from nikawa.stats.resample import (
    TEST_RESAMPLES,
    Resampleable,
    bootstrap,
    count_units,
    number_groups,
    percentile_interval,
)

__all__ = [
    "MEASURES",
    "Sets",
    "StressOptions",
    "StressReport",
    "Unread",
    "parent_id",
    "parent_of",
    "perturbed_sets",
    "stress",
    "stress_item",
]

NEUTRAL = "neutral"

AnswerMeasure = Callable[[Sequence[Any], Sequence[Any]], Resampleable]
"""The agreement of answers before and after, as a fraction."""


@dataclass(frozen=True)
class StressItem:
    """One perturbed example with the answers around it."""

    operation: str
    case: str
    """"" for an operation without cases."""
    gold: str
    """The label of the original; "" if the answers are not labels."""
    unit: str
    """The unit of resampling: the original premise."""
    before: Any
    after: Any
    human: tuple[Any, Any] | None = None
    """Gold of the original and of the perturbed version, where people judged that."""


class StressCount(StressFigure, frozen=True, kw_only=True):
    """The figure of one file of answers, or of one run."""

    to_neutral: float | None
    """Of the items first answered otherwise, how many became neutral; None for scores."""
    human: float | None
    """The same of people, on the items that they judged."""
    judged: float | None
    """The model's value on the items that people judged."""
    human_n: int


def stress_cells(
    items: Sequence[StressItem],
    measure: AnswerMeasure,
    *,
    neutral: bool = False,
    resamples: int = TEST_RESAMPLES,
    seed: int = 0,
) -> list[StressCount]:
    """Every cell: each operation over all cases, then case by case, over all labels and label by label.

    `neutral` says whether an answer can be neutral.
    """
    parts: dict[tuple[str, str, str], list[StressItem]] = {}
    for item in items:
        for case in dict.fromkeys(("", item.case)):
            for gold in dict.fromkeys(("", item.gold)):
                parts.setdefault((item.operation, case, gold), []).append(item)
    cells = []
    for where, part in parts.items():
        cell = measure_cell(where, part, measure, resamples, seed)
        if neutral:
            moved = [item.after == NEUTRAL for item in part if item.before not in (None, NEUTRAL)]
            share = 100 * sum(moved) / len(moved) if moved else None
            cell = replace(cell, to_neutral=share)
        cells.append(cell)
    return cells


def measure_cell(
    where: tuple[str, str, str],
    items: Sequence[StressItem],
    measure: AnswerMeasure,
    resamples: int,
    seed: int,
) -> StressCount:
    """The cell of some items, the share that became neutral left open; `where` is operation, case and gold."""

    def evaluate(pairs: Sequence[tuple[Any, Any]]) -> Resampleable | None:
        """The measure; None for no items, and for a correlation of fewer than two."""
        are_scores = any(isinstance(answer, float) for pair in pairs for answer in pair)
        if len(pairs) < (2 if are_scores else 1):
            return None
        return measure([before for before, _ in pairs], [after for _, after in pairs])

    def to_percent(evaluation: Resampleable | None) -> float | None:
        return None if evaluation is None else finite_or_none(100 * evaluation.value)

    evaluation = evaluate([(item.before, item.after) for item in items])
    low = high = nan
    if evaluation is not None:
        groups = number_groups([item.unit for item in items])
        drawn = bootstrap(evaluation, groups, resamples=resamples, seed=seed)
        low, high = percentile_interval(drawn, count_units(groups))
    judged = [(item, item.human) for item in items if item.human is not None]
    operation, case, gold = where
    return StressCount(
        operation=operation,
        case=case,
        gold=gold,
        n=len(items),
        value=to_percent(evaluation),
        low=finite_or_none(100 * low),
        high=finite_or_none(100 * high),
        to_neutral=None,
        human=to_percent(evaluate([human for _, human in judged])),
        judged=to_percent(evaluate([(item.before, item.after) for item, _ in judged])),
        human_n=len(judged),
    )


ORIGINAL = "original"


class Unread(Record, frozen=True, kw_only=True):
    """An answer that could not be read."""

    set: str
    """The set it answers, or `original`."""
    example: str
    raw: str
    why: str


class StressReport(Record, frozen=True, kw_only=True):
    """How the answers changed."""

    task: str
    measure: str
    """`same` (share of equal answers) or `pearson` (between the two sets of scores)."""
    sets: dict[str, int]
    """Set to its number of examples."""
    absent: tuple[str, ...]
    """Sets without an answer file."""
    unread: int
    """Answers, to either version, that could not be read: they count as changed, and are left out of correlations."""
    left_out: int
    """Examples without an answer to either version, left out as asked."""
    cells: tuple[StressCount, ...]
    unread_items: tuple[Unread, ...] = ()
    """Those that could not be read; one of an original is named once, however many examples were made from it."""


Sets = dict[str, tuple[Example, ...]]
"""Operation (`swap-o`) to the examples it made."""


@dataclass(frozen=True)
class StressOptions:
    """How to compare."""

    sets: str | None = None
    """Where the perturbed examples are, as `load` takes it; by default the dataset of the task."""
    partial: bool = False
    """Compare what is answered; otherwise an example without an answer is an error."""
    resamples: int = TEST_RESAMPLES
    seed: int = 0
    form: str | None = None
    """The form of the answer files, if it cannot be detected from their content."""


def stress(
    original: Path,
    perturbed: Path,
    *,
    task: str,
    data: Path | None = None,
    options: StressOptions | None = None,
) -> StressReport:
    """Compare answers to the originals with those to the perturbed examples: a file of one set, or a folder with one file per set.

    Raises `BadInput` where an example or its original has no answer (see `StressOptions.partial`).
    """
    options = options or StressOptions()
    for path in (original, perturbed):
        if not path.exists():
            raise BadInput("no such file or folder", file=path, cure="check the path")
    of_task, split = find_task_and_split(task)
    where = options.sets or (f"{of_task.dataset}:{split}" if split else of_task.dataset)
    dataset = load(where, data=data)
    sets = perturbed_sets(dataset, of_task, where)
    with name_faulty_file(where):
        originals = find_originals(sets, of_task, data)
    before = read_predictions(original, originals.task, originals.examples, options.form)
    after, absent = read_sets(perturbed, of_task, sets, dataset.name, options.form)
    pairs = [
        AnsweredPair(name, example, before.get(parent_id(example)), answers.get(example.id))
        for name, answers in after.items()
        for example in sets[name]
    ]
    refuse_unanswered(pairs, options.partial, original, perturbed)
    complete = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    items = [stress_item(of_task, *pair) for pair in complete]
    unread = sum((item.before is None) + (item.after is None) for item in items)
    measure = choose_measure(of_task)
    cells = stress_cells(
        keep_comparable(items, measure),
        MEASURES[measure],
        neutral=NEUTRAL in of_task.labels,
        resamples=options.resamples,
        seed=options.seed,
    )
    return StressReport(
        task=of_task.name,
        measure=measure,
        sets={name: len(sets[name]) for name in after},
        absent=tuple(absent),
        unread=unread,
        left_out=len(pairs) - len(complete),
        cells=tuple(cells),
        unread_items=list_unread(complete),
    )


def share_same(before: Sequence[Any], after: Sequence[Any]) -> Resampleable:
    """Share of equal answers; one that could not be read equals nothing."""
    comparable = [object() if answer is None else answer for answer in before]
    return mean(mark_right(comparable, after))


def correlate(before: Sequence[Any], after: Sequence[Any]) -> Resampleable:
    """Pearson's r between two sets of scores."""
    return pearson(Items(gold=before, answers=after), "documented")


MeasureName = Literal["same", "pearson"]
MEASURES: dict[MeasureName, AnswerMeasure] = {"same": share_same, "pearson": correlate}
"""The agreement of two sets of answers: of labels, and of scores."""


def choose_measure(task: Task) -> MeasureName:
    """The measure for the answers of a task."""
    return "pearson" if task.kind == "similarity" else "same"


def keep_comparable(items: list[StressItem], measure: MeasureName) -> list[StressItem]:
    """The items a measure can take: a correlation has no place for an answer that could not be read."""
    if measure == "same":
        return items
    return [item for item in items if item.before is not None and item.after is not None]


def perturbed_sets(dataset: Dataset, task: Task, where: str) -> Sets:
    """The perturbed examples by operation, which each carries in its origin."""
    by_operation: dict[str, list[Example]] = {}
    for examples in dataset.splits.values():
        for example in examples:
            operation = operation_of(example)
            if not operation:
                what = f"{where} contains examples that were not made from other examples, such as {example.id!r}"
                raise BadInput(
                    what, cure="pass --sets with the FILE or FOLDER that nikawa perturb wrote"
                )
            if task.asks(example):
                by_operation.setdefault(operation, []).append(example)
    if not by_operation:
        raise BadInput(
            f"{where} contains no example of {task.name}", cure="check --task and --sets"
        )
    for name, made in by_operation.items():
        if len({e.id for e in made}) < len(made):
            raise BadInput(
                f"{where} contains ids of {name} twice", cure="name one split: NAME:SPLIT"
            )
    return {name: tuple(by_operation[name]) for name in sorted(by_operation, key=reading_order)}


def reading_order(name: str) -> tuple[int, int]:
    """The place of an operation in the paper's tables; sorting keeps the others behind them, as they come."""
    cases = [case for pair in CASES.items() for case in pair]
    family, case = family_of(name), case_of(name)
    return (
        FAMILIES.index(family) if family in FAMILIES else len(FAMILIES),
        cases.index(case) if case in cases else 0,
    )


def operation_of(example: Example) -> str:
    """The operation that made an example from another one; "" where it was not made so."""
    origin = example.origin
    return origin.step if origin is not None and origin.parents else ""


def parent_of(example: Example) -> tuple[str, str]:
    """Dataset and split (`jsick:test`, "" if they are not known) and id of the original."""
    assert example.origin is not None
    whole = example.origin.parents[0]
    source, slash, name = whole.partition("/")
    return (source, name) if slash and ":" in source else ("", whole)


def parent_id(example: Example) -> str:
    """The id of the original."""
    return parent_of(example)[1]


@dataclass(frozen=True)
class Originals:
    """The examples that perturbed ones were made from, and the task that asks the same of them."""

    task: Task
    examples: tuple[Example, ...]


def find_originals(sets: Sets, task: Task, data: Path | None) -> Originals:
    """The originals, whole where their dataset is known here, so that answers without ids can be placed."""
    children = [example for examples in sets.values() for example in examples]
    sources: dict[str, str] = {}
    for name, examples in sets.items():
        for child in examples:
            sources.setdefault(parent_of(child)[0], f"{name}/{child.id}")
    if len(sources) > 1:
        parts = [
            f"{source or 'no named dataset'} ({sources[source]})" for source in sorted(sources)
        ]
        what = f"the examples come from {' and '.join(parts)}"
        raise BadInput(what, cure="compare one split at a time")
    (source,) = sources
    name, split = name_and_split(source)
    own = replace(task, dataset=name or task.dataset)
    if name in benchmarks():
        same_question = (task.kind, task.question)
        tasks = [
            each for each in benchmarks()[name].tasks if (each.kind, each.question) == same_question
        ]
        own = tasks[0] if tasks else task
        try:
            examples = load(source, data=data).splits[split]
            return Originals(own, tuple(example for example in examples if own.asks(example)))
        except BadInput:  # the published file is not here; the ids alone will do
            pass
    restored = {parent_id(child): restore_original(child) for child in children}
    return Originals(own, tuple(restored.values()))


def restore_original(child: Example) -> Example:
    """The original, as far as its perturbed version describes it."""
    inputs = {
        name: child.meta.get(f"original_{name}", value) for name, value in child.inputs.items()
    }
    return replace(child, id=parent_id(child), inputs=inputs)


Predictions = Mapping[str, Prediction]
"""Id of an example to what was answered."""


def read_predictions(
    path: Path, task: Task, examples: Sequence[Example], form: str | None
) -> Predictions:
    """The answers of a file to some examples."""
    numbered = has_numbered_labels(task)
    return read_answers(path, task, examples, form=form, numbered_labels=numbered).predictions


def read_sets(
    path: Path, task: Task, sets: Sets, dataset: str, form: str | None
) -> tuple[dict[str, Predictions], list[str]]:
    """The answers to each set that has some, and the sets without a file."""
    aliases = benchmarks()[task.dataset].aliases if task.dataset in benchmarks() else {}
    files: dict[str, Path] = {}
    for entry in sorted(path.iterdir()) if path.is_dir() else [path]:
        stem = entry.name if entry.is_dir() else entry.name.partition(".")[0]
        files.setdefault(aliases.get(stem, stem), entry)
    by_set = {name: files[name] for name in sets if name in files}
    if not by_set and len(sets) == 1:
        by_set = dict.fromkeys(sets, path)
    if not by_set and path.is_file():
        return read_together(path, task, sets, dataset, form), []
    if not by_set:
        cure = f"name them {', '.join(f'{name}.jsonl' for name in list(sets)[:3])}, …"
        raise BadInput("contains no file named after a set", file=path, cure=cure)
    answers = {
        name: read_predictions(file, task, sets[name], form) for name, file in by_set.items()
    }
    return answers, [name for name in sets if name not in by_set]


def read_together(
    path: Path, task: Task, sets: Sets, dataset: str, form: str | None
) -> dict[str, Predictions]:
    """One file with the answers to several sets, whose ids are full references: `jsick-stress:swap-o/33`."""
    by_reference = {
        f"{dataset}:{name}/{e.id}": (name, e) for name, examples in sets.items() for e in examples
    }
    examples = [replace(example, id=key) for key, (_, example) in by_reference.items()]
    answers = read_answers(path, replace(task, dataset=""), examples, form=form)
    if not answers.predictions:
        what = f"none of its ids is the id of an example; {len(sets)} sets share ids"
        cure = f"pass a folder with one file per set, or use ids such as {next(iter(by_reference))}"
        raise BadInput(what, file=path, cure=cure)
    by_set: dict[str, dict[str, Prediction]] = {name: {} for name in sets}
    for key, prediction in answers.predictions.items():
        name, example = by_reference[key]
        by_set[name][example.id] = prediction
    return {name: predictions for name, predictions in by_set.items() if predictions}


class AnsweredPair(NamedTuple):
    """A perturbed example of a set with what was answered to its original and to it; None where nothing was."""

    set: str
    example: Example
    before: Prediction | None
    after: Prediction | None


def refuse_unanswered(
    pairs: Sequence[AnsweredPair], partial: bool, original: Path, perturbed: Path
) -> None:
    """Refuse files that answer none of the examples, or not all of them unless `partial`."""
    sides = (
        (original, [pair for pair in pairs if pair.before is None]),
        (perturbed, [pair for pair in pairs if pair.after is None]),
    )
    for path, missing in sides:
        if missing and len(missing) == len(pairs):
            raise BadInput(
                "contains no answer to any of the examples",
                file=path,
                cure="check the task, and which file is which",
            )
        if missing and not partial:
            ids = list_names(f"{pair.set}/{pair.example.id}" for pair in missing[:3])
            what = f"{len(missing)} of {len(pairs)} examples have no answer, such as {ids}"
            raise BadInput(
                what,
                file=path,
                cure="add the missing answers, or pass --partial to compare only the answered items",
            )


def list_unread(pairs: Iterable[AnsweredPair]) -> tuple[Unread, ...]:
    """The answers that could not be read, those to originals first and once each."""
    of_originals: dict[str, Unread] = {}
    of_sets: list[Unread] = []

    def describe(name: str, example: str, prediction: Prediction) -> Unread:
        raw, why = prediction.raw or "", prediction.why or ""
        return Unread(set=name, example=example, raw=raw, why=why)

    for name, example, before, after in pairs:
        if before is not None and before.answer is None:
            parent = parent_id(example)
            of_originals.setdefault(parent, describe(ORIGINAL, parent, before))
        if after is not None and after.answer is None:
            of_sets.append(describe(name, example.id, after))
    return (*of_originals.values(), *of_sets)


def stress_item(
    task: Task, name: str, example: Example, before: Prediction | None, after: Prediction | None
) -> StressItem:
    """A perturbed example of the set `name` with the answers to the original and to it."""
    assert before is not None
    assert after is not None
    assert example.origin is not None
    inherited = None
    if not example.hidden:  # answers may be counted, but not by a label that is hidden
        own = example.gold.get(task.question)
        inherited = example.meta.get(f"inherited_{task.question}", own)
    judged = example.origin.gold == "annotated" and f"inherited_{task.question}" in example.meta
    return StressItem(
        operation=family_of(name),
        case=case_of(name),
        gold=inherited if isinstance(inherited, str) and task.labels else "",
        unit=example.group or parent_id(example),
        before=before.answer,
        after=after.answer,
        human=(inherited, example.gold[task.question]) if judged else None,
    )
