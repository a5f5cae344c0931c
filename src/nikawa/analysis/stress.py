"""Answers to originals against answers to their perturbed versions: how often they stay, by operation, case and gold.

Classes: the share of equal answers (Table 16 pools the cases, Table 17 keeps them apart). Scores: Pearson's r between the
two. Intervals: percentile bootstrap over premises. Beside them, where people judged the perturbed version, the same
of people, and of the model on those items alone.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nikawa.datasets import benchmarks, load
from nikawa.datasets.custom import has_numbered_labels
from nikawa.datasets.hidden import load_and_hide
from nikawa.errors import BadInput
from nikawa.io.answers import Answers, read_answers
from nikawa.metrics import Items, metrics
from nikawa.metrics.accuracy import mark_right
from nikawa.metrics.base import mean
from nikawa.perturbation.selection import CASES, FAMILIES, case_of, family_of
from nikawa.records import Dataset, Example, Prediction, Record, Task
from nikawa.scoring.score import find_task_and_split
from nikawa.spec import name_and_split
from nikawa.stats.resample import (
    TEST_RESAMPLES,
    Evaluation,
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

Measure = Callable[[Sequence[Any], Sequence[Any]], Evaluation]
"""Answers before and after to how alike they are, as a fraction."""


@dataclass(frozen=True)
class StressItem:
    """One perturbed example with the answers around it."""

    operation: str
    case: str
    """"" for an operation without cases."""
    gold: str
    """The label of the original; "" where the answers are no labels."""
    unit: str
    """The unit of resampling: the original premise."""
    before: Any
    after: Any
    human: tuple[Any, Any] | None = None
    """Gold of the original and of the perturbed version, where people judged that."""


class StressCount(Record, frozen=True, kw_only=True):
    """One number of a table; values are percent, None where there is nothing to compute."""

    operation: str
    case: str
    """"" for all cases together."""
    gold: str
    """"" for all labels together."""
    n: int
    value: float | None
    low: float | None
    high: float | None
    to_neutral: float | None
    """Of the items first answered otherwise, how many became neutral; None for scores."""
    human: float | None
    judged: float | None
    """The model's value on the items that people judged."""
    human_n: int


def stress_cells(
    items: Sequence[StressItem],
    measure: Measure,
    *,
    neutral: bool = False,
    resamples: int = TEST_RESAMPLES,
    seed: int = 0,
) -> list[StressCount]:
    """Every cell: each operation over all cases, then case by case, over all labels and label by label.

    `neutral` says that an answer may be so.
    """
    parts: dict[tuple[str, str, str], list[StressItem]] = {}
    for item in items:
        for case in dict.fromkeys(("", item.case)):
            for gold in dict.fromkeys(("", item.gold)):
                parts.setdefault((item.operation, case, gold), []).append(item)
    cells = []
    for where, part in parts.items():
        cell = _measure_cell(where, part, measure, resamples, seed)
        if neutral:
            moved = [item.after == NEUTRAL for item in part if item.before not in (None, NEUTRAL)]
            share = 100 * sum(moved) / len(moved) if moved else None
            cell = replace(cell, to_neutral=share)
        cells.append(cell)
    return cells


def _measure_cell(
    where: tuple[str, str, str],
    items: Sequence[StressItem],
    measure: Measure,
    resamples: int,
    seed: int,
) -> StressCount:
    answered = [(item.before, item.after) for item in items]
    value, low, high = _measured(answered, [item.unit for item in items], measure, resamples, seed)
    judged = [item for item in items if item.human is not None]
    human = _value([item.human for item in judged if item.human is not None], measure)
    own = _value([(item.before, item.after) for item in judged], measure)
    operation, case, gold = where
    return StressCount(
        operation=operation,
        case=case,
        gold=gold,
        n=len(items),
        value=value,
        low=low,
        high=high,
        to_neutral=None,
        human=human,
        judged=own,
        human_n=len(judged),
    )


def _measured(
    pairs: Sequence[tuple[Any, Any]],
    units: Sequence[str],
    measure: Measure,
    resamples: int,
    seed: int,
) -> tuple[float | None, float | None, float | None]:
    found = _evaluated(pairs, measure)
    if found is None:
        return None, None, None
    groups = number_groups(units)
    low, high = percentile_interval(
        bootstrap(found, groups, resamples=resamples, seed=seed), count_units(groups)
    )
    return _percent(found.value), _percent(low), _percent(high)


def _value(pairs: Sequence[tuple[Any, Any]], measure: Measure) -> float | None:
    found = _evaluated(pairs, measure)
    return None if found is None else _percent(found.value)


def _evaluated(pairs: Sequence[tuple[Any, Any]], measure: Measure) -> Evaluation | None:
    """The measure; None for no items, and for a correlation of fewer than two."""
    scores = any(isinstance(answer, float) for pair in pairs for answer in pair)
    if len(pairs) < (2 if scores else 1):
        return None
    return measure([before for before, _ in pairs], [after for _, after in pairs])


def _percent(value: float) -> float | None:
    return None if isnan(value) else 100 * value


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
    """Where the perturbed examples are, as `load` takes it; the task's own dataset when left out."""
    partial: bool = False
    resamples: int = TEST_RESAMPLES
    seed: int = 0
    form: str | None = None


def stress(
    original: Path,
    perturbed: Path,
    *,
    task: str,
    data: Path | None = None,
    options: StressOptions | None = None,
) -> StressReport:
    """Compare answers to the originals with those to the perturbed examples: a file of one set, or a folder with a file a set."""
    how = options or StressOptions()
    for path in (original, perturbed):
        if not path.exists():
            raise BadInput("no such file or folder", file=path, cure="check the path")
    asked, split = find_task_and_split(task)
    where = how.sets or (f"{asked.dataset}:{split}" if split else asked.dataset)
    dataset = load_and_hide(where, data=data)
    sets = perturbed_sets(dataset, asked, where)
    parents = _originals(sets, asked, data)
    before = read_answers(
        original,
        parents.task,
        parents.examples,
        form=how.form,
        numbered_labels=has_numbered_labels(parents.task),
    )
    after, absent = _read_sets(perturbed, asked, sets, dataset.name, how.form)
    kept = {name: sets[name] for name in after}
    pairs = [
        (name, example, before.predictions.get(parent_id(example)), after[name].get(example.id))
        for name, examples in kept.items()
        for example in examples
    ]
    complete = [pair for pair in pairs if pair[2] is not None and pair[3] is not None]
    _refuse_gaps(pairs, how.partial, original, perturbed)
    items = [stress_item(asked, *pair) for pair in complete]
    scored = asked.kind == "similarity"
    unread = sum((item.before is None) + (item.after is None) for item in items)
    if scored:
        items = [item for item in items if item.before is not None and item.after is not None]
    found = stress_cells(
        items,
        MEASURES[scored],
        neutral="neutral" in asked.labels,
        resamples=how.resamples,
        seed=how.seed,
    )
    return StressReport(
        task=asked.name,
        measure="pearson" if scored else "same",
        sets={n: len(e) for n, e in kept.items()},
        absent=tuple(absent),
        unread=unread,
        left_out=len(pairs) - len(complete),
        cells=tuple(found),
        unread_items=_unread(complete),
    )


def _same(before: Sequence[Any], after: Sequence[Any]) -> Evaluation:
    """Share of equal answers; one that could not be read equals nothing."""
    told = [object() if answer is None else answer for answer in before]
    return mean(mark_right(told, after))


def _pearson(before: Sequence[Any], after: Sequence[Any]) -> Evaluation:
    return metrics()["pearson"].evaluate(Items(gold=before, answers=after), "documented")


MEASURES = {False: _same, True: _pearson}
"""Whether the answers are scores to how alike two sets of them are."""


def perturbed_sets(dataset: Dataset, task: Task, where: str) -> Sets:
    """The perturbed examples by operation, which each carries in its origin."""
    found: dict[str, list[Example]] = {}
    for examples in dataset.splits.values():
        for example in examples:
            if example.origin is None or not example.origin.parents or not example.origin.step:
                what = (
                    f"{where} holds examples that were not made from others, such as {example.id!r}"
                )
                raise BadInput(what, cure="say --sets FILE or FOLDER that nikawa perturb wrote")
            if task.asks(example):
                found.setdefault(example.origin.step, []).append(example)
    if not found:
        raise BadInput(f"{where} holds no example of {task.name}", cure="check --task and --sets")
    for name, made in found.items():
        if len({e.id for e in made}) < len(made):
            raise BadInput(f"{where} holds ids of {name} twice", cure="name one split: NAME:SPLIT")
    return {name: tuple(found[name]) for name in sorted(found, key=_reading_order)}


def _reading_order(name: str) -> tuple[int, int]:
    """As the paper's tables have it; sorting keeps the others behind them, as they come."""
    cases = [case for pair in CASES.items() for case in pair]
    family, case = family_of(name), case_of(name)
    return (
        FAMILIES.index(family) if family in FAMILIES else len(FAMILIES),
        cases.index(case) if case in cases else 0,
    )


def parent_of(example: Example) -> tuple[str, str]:
    """Dataset and split (`jsick:test`, "" where they are not told) and id of the original."""
    assert example.origin is not None
    whole = example.origin.parents[0]
    source, slash, name = whole.partition("/")
    return (source, name) if slash and ":" in source else ("", whole)


def parent_id(example: Example) -> str:
    """The id of the original."""
    return parent_of(example)[1]


@dataclass(frozen=True)
class _Parents:
    task: Task
    examples: tuple[Example, ...]


def _originals(sets: Sets, task: Task, data: Path | None) -> _Parents:
    """The originals, whole where their dataset is known here, so that answers without ids can be placed."""
    children = [example for examples in sets.values() for example in examples]
    sources = {parent_of(child)[0] for child in children}
    if len(sources) > 1:
        raise BadInput(
            f"the examples come from {' and '.join(sorted(sources))}",
            cure="compare one split at a time",
        )
    source = sources.pop()
    name, split = name_and_split(source)
    if name not in benchmarks():
        made = {parent_id(child): _restored(child) for child in children}
        return _Parents(replace(task, dataset=name or task.dataset), tuple(made.values()))
    own = next(
        (t for t in benchmarks()[name].tasks if (t.kind, t.question) == (task.kind, task.question)),
        task,
    )
    try:
        examples = load(source, data=data).splits[split]
    except BadInput:  # the published file is not here; the ids alone will do
        return _Parents(
            own, tuple({parent_id(child): _restored(child) for child in children}.values())
        )
    return _Parents(own, tuple(example for example in examples if own.asks(example)))


def _restored(child: Example) -> Example:
    """The original as far as its child tells."""
    inputs = {
        name: child.meta.get(f"original_{name}", value) for name, value in child.inputs.items()
    }
    return replace(child, id=parent_id(child), inputs=inputs)


def _read_sets(
    path: Path, task: Task, sets: Sets, dataset: str, form: str | None
) -> tuple[dict[str, Mapping[str, Prediction]], list[str]]:
    """The answers of each set that has some, and the sets that have none."""
    aliases = benchmarks()[task.dataset].aliases if task.dataset in benchmarks() else {}
    entries = sorted(path.iterdir()) if path.is_dir() else [path]
    files: dict[str, Path] = {}
    for entry in entries:
        stem = entry.name if entry.is_dir() else entry.name.partition(".")[0]
        files.setdefault(aliases.get(stem, stem), entry)
    named = {name: files[name] for name in sets if name in files}
    if not named and len(sets) == 1:
        named = dict.fromkeys(sets, path)
    if not named and path.is_file():
        return _read_together(path, task, sets, dataset, form), []
    if not named:
        cure = f"call them {', '.join(f'{name}.jsonl' for name in list(sets)[:3])}, …"
        raise BadInput("holds no file named after a set", file=path, cure=cure)
    numbered = has_numbered_labels(task)
    read = {
        name: read_answers(file, task, sets[name], form=form, numbered_labels=numbered).predictions
        for name, file in named.items()
    }
    return dict(read), [name for name in sets if name not in named]


def _read_together(
    path: Path, task: Task, sets: Sets, dataset: str, form: str | None
) -> dict[str, Mapping[str, Prediction]]:
    """One file with the answers to several sets, whose ids are full references: `jsick-stress:swap-o/33`."""
    whole = {
        f"{dataset}:{name}/{e.id}": (name, e) for name, examples in sets.items() for e in examples
    }
    asked = [replace(example, id=key) for key, (_, example) in whole.items()]
    answers: Answers = read_answers(path, replace(task, dataset=""), asked, form=form)
    if not answers.predictions:
        what = f"none of its ids is that of an example; {len(sets)} sets share ids"
        cure = f"give a folder with a file a set, or ids such as {next(iter(whole))}"
        raise BadInput(what, file=path, cure=cure)
    found: dict[str, dict[str, Prediction]] = {name: {} for name in sets}
    for key, prediction in answers.predictions.items():
        name, example = whole[key]
        found[name][example.id] = prediction
    return {name: predictions for name, predictions in found.items() if predictions}


_Pair = tuple[str, Example, Prediction | None, Prediction | None]


def _refuse_gaps(pairs: Iterable[_Pair], partial: bool, original: Path, perturbed: Path) -> None:
    for place, path in ((2, original), (3, perturbed)):
        missing = [pair for pair in pairs if pair[place] is None]
        if missing and len(missing) == len(list(pairs)):
            raise BadInput(
                "answers none of the examples",
                file=path,
                cure="check the task, and which file is which",
            )
        if missing and not partial:
            ids = ", ".join(f"{name}/{example.id}" for name, example, *_ in missing[:3])
            what = f"{len(missing)} of {len(list(pairs))} examples have no answer, such as {ids}"
            raise BadInput(what, file=path, cure="add them, or say --partial to compare the rest")


def _unread(pairs: Iterable[_Pair]) -> tuple[Unread, ...]:
    found: dict[tuple[str, str], Prediction] = {}
    for name, example, before, after in pairs:
        if before is not None and before.answer is None:
            found.setdefault((ORIGINAL, parent_id(example)), before)
        if after is not None and after.answer is None:
            found[name, example.id] = after
    return tuple(
        Unread(set=name, example=key, raw=told.raw or "", why=told.why or "")
        for (name, key), told in sorted(found.items(), key=lambda item: item[0][0] != ORIGINAL)
    )


def stress_item(
    task: Task, name: str, example: Example, before: Prediction | None, after: Prediction | None
) -> StressItem:
    """A perturbed example of the set `name` with the answers to the original and to it."""
    assert before is not None
    assert after is not None
    assert example.origin is not None
    told = example.meta.get(f"inherited_{task.question}", example.gold.get(task.question))
    inherited = (
        None if example.hidden else told
    )  # answers may be counted, but not by a label that is hidden
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
