"""`nikawa data shift`: how gold shifts between two datasets that share ids, such as a language and
its translation.

Every shared example is one row of a table from answer to answer, for the whole and for each part
(split, tag, a key of the meta). Numbers are tabled by whole steps, with the mean shift and the
correlation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import StatisticsError, correlation, fmean
from typing import Any

import msgspec

from nikawa.datasets import load
from nikawa.errors import BadInput, list_names, name_faulty_file, suggest
from nikawa.records import Dataset, Example, Record, reference
from nikawa.stats.distributions import wilson_interval
from nikawa.stats.slices import slice_examples

SPLIT, TAG, LABEL = "split", "tag", "label"


class NumberShift(Record, frozen=True, kw_only=True):
    """What numbers add to the table."""

    mean_before: float
    mean_after: float
    shift: float
    """Mean of after minus before."""
    distance: float
    """Mean of the absolute difference."""
    pearson: float | None
    """None where one side is constant."""


class ShiftPart(Record, frozen=True, kw_only=True):
    """The shift of all rows, or of a part of them."""

    where: str
    """`split=dev`, `tag=Negation`; empty for all."""
    n: int
    changed: int
    """Examples whose gold differs."""
    low: float
    high: float
    """The 95% Wilson interval of the share that changed."""
    kappa: float | None
    """Cohen's kappa of the two sides; None where chance alone explains everything, and for numbers.
    """
    table: dict[str, dict[str, int]]
    """Answer before to answer after to count."""
    numbers: NumberShift | None = None
    """For gold that is numbers; else None."""

    @property
    def share(self) -> float:
        """The share that changed."""
        return self.changed / self.n


class MovedExample(Record, frozen=True, kw_only=True):
    """An example whose gold differs."""

    example: str
    """Full reference in the second dataset."""
    before: Any
    after: Any
    tags: tuple[str, ...] = ()
    """Those of both sides."""


class ShiftReport(Record, frozen=True, kw_only=True):
    """How the gold of one question differs between two datasets."""

    before: str
    after: str
    question: str
    n: int
    changed: int
    into: dict[str, int]
    """Answer to how many rows changed to it."""
    only_before: int
    """Examples that the second dataset lacks."""
    only_after: int
    """Examples that the first dataset lacks."""
    without_gold: int
    """Shared examples that lack gold on either side."""
    parts: tuple[ShiftPart, ...]
    """All rows first, then part by part."""
    moved: tuple[MovedExample, ...]


def shift(
    before: str,
    after: str,
    *,
    question: str | None = None,
    by: Sequence[str] = (SPLIT, TAG),
    data: Path | None = None,
) -> ShiftReport:
    """Compare the gold of two datasets, given as `load` takes them, example by example.

    Without `question` it is `label`, or the only one that both have gold for. `by` are the keys
    that parts are made by: `split`, `tag`, or a key of the meta.

    >>> report = shift("mini-ja:dev", "mini-ja:dev", question="label")
    >>> summarise_shift(report)
    'label of mini-ja 1.0 -> mini-ja 1.0: 0 of 9 rows differ'
    """
    one, other = load(before, data=data), load(after, data=data)
    with name_faulty_file(f"{before}, {after}"):
        return compare_gold(one, other, question=question, by=by)


@dataclass(frozen=True)
class SharedExample:
    """A shared example with its gold on both sides."""

    split: str
    before: Any
    after: Any
    example: Example
    """As it is in the second dataset."""
    tags: tuple[str, ...]


def compare_gold(
    one: Dataset, other: Dataset, *, question: str | None = None, by: Sequence[str] = (SPLIT, TAG)
) -> ShiftReport:
    """The same of loaded datasets."""
    pairs = pair_examples(one, other)
    question = choose_question(pairs, one.name, other.name, question)
    rows = list(rows_with_gold(pairs, question))
    if not rows:
        raise BadInput(
            f"no shared example has gold for {question!r} on both sides",
            cure="check whether the labels are hidden",
        )
    moved = [row for row in rows if row.before != row.after]
    is_same = one.name == other.name
    return ShiftReport(
        before=f"{one.name} {one.version}" if is_same else one.name,
        after=f"{other.name} {other.version}" if is_same else other.name,
        question=question,
        n=len(rows),
        changed=len(moved),
        into=dict(sorted(Counter(name_answer(row.after) for row in moved).items())),
        only_before=len(one) - len(pairs),
        only_after=len(other) - len(pairs),
        without_gold=len(pairs) - len(rows),
        parts=tuple(measure_part(where, part) for where, part in cut_parts(rows, by)),
        moved=tuple(
            MovedExample(
                example=reference(other.name, row.split, row.example.id),
                before=row.before,
                after=row.after,
                tags=row.tags,
            )
            for row in moved
        ),
    )


Pair = tuple[str, Example, Example]
"""The split in the second dataset, and an example in the first and in the second."""


def pair_examples(one: Dataset, other: Dataset) -> list[Pair]:
    """Shared examples by id, within the split where an id alone does not tell them."""
    ids_suffice = all(
        len({e.id for examples in dataset.splits.values() for e in examples}) == len(dataset)
        for dataset in (one, other)
    )

    def key(split: str, example: Example) -> tuple[str, str]:
        return ("", example.id) if ids_suffice else (split, example.id)

    left = {key(split, e): e for split, examples in one.splits.items() for e in examples}
    pairs = [
        (split, left[key(split, example)], example)
        for split, examples in other.splits.items()
        for example in examples
        if key(split, example) in left
    ]
    if not pairs:
        what = f"{one.name} and {other.name} share no id"
        raise BadInput(
            what, cure="pass two versions of one dataset, or a dataset and its translation"
        )
    return pairs


def choose_question(pairs: Sequence[Pair], one: str, other: str, question: str | None) -> str:
    """The question that is named, else `label`, else the only one both have gold for."""
    before = {name for _, example, _ in pairs for name in example.gold}
    after = {name for _, _, example in pairs for name in example.gold}
    shared = sorted(before & after)
    if question is not None:
        if question not in shared:
            what = f"{one} and {other} do not both have gold for {question!r}"
            raise BadInput(what, cure=suggest(question, shared))
        return question
    if LABEL in shared:
        return LABEL
    if len(shared) != 1:
        cure = f"pass --question with one of: {list_names(shared)}"
        raise BadInput(
            f"{one} and {other} share {len(shared)} questions",
            cure=cure if shared else "nothing can be compared",
        )
    return shared[0]


def rows_with_gold(pairs: Sequence[Pair], question: str) -> Iterator[SharedExample]:
    """The shared examples that have gold on both sides, a label or a number."""
    for split, one, other in pairs:
        before, after = one.gold.get(question), other.gold.get(question)
        if before is None or after is None:
            continue
        if isinstance(before, list | dict) or isinstance(after, list | dict):
            what = f"the gold of {question!r} is a structure, not a label or a number"
            raise BadInput(what, cure="choose another question")
        tags = tuple(sorted(one.tags | other.tags))
        yield SharedExample(split, before, after, other, tags)


def cut_parts(
    rows: Sequence[SharedExample], by: Sequence[str]
) -> Iterator[tuple[str, Sequence[SharedExample]]]:
    """The rows as a whole, then the rows of each value of each key."""
    yield "", rows
    for key in by:
        if key in (SPLIT, TAG):
            parts: dict[str, list[SharedExample]] = {}
            for row in rows:
                for name in [row.split] if key == SPLIT else row.tags:
                    parts.setdefault(name, []).append(row)
            if key == TAG:
                parts = dict(sorted(parts.items()))
        else:
            groups = slice_examples(key, [row.example for row in rows])
            parts = {name: [rows[i] for i in places] for name, places in groups.items()}
            if not parts:
                known = {SPLIT, TAG, *(name for row in rows[:100] for name in row.example.meta)}
                raise BadInput(f"no example has the field {key!r}", cure=suggest(key, known))
        for name, part in parts.items():
            yield f"{key}={name}", part


def name_answer(value: Any) -> str:
    """Return a label as it is, and a number as its whole step; the maximum of a scale to 5 is in the
    last step.

    >>> name_answer("neutral"), name_answer(3.4), name_answer(5.0)
    ('neutral', '3-4', '4-5')
    """
    if isinstance(value, float):
        low = 4 if value == 5 else math.floor(value)
        return f"{low}-{low + 1}"
    return str(value)


def measure_part(where: str, rows: Sequence[SharedExample]) -> ShiftPart:
    """Counts, interval and agreement of one part of the rows."""
    counts = Counter((name_answer(row.before), name_answer(row.after)) for row in rows)
    names = sorted({name for pair in counts for name in pair})
    table = {one: {other: counts[one, other] for other in names} for one in names}
    changed = sum(row.before != row.after for row in rows)
    low, high = wilson_interval(changed / len(rows), len(rows))
    answers = [answer for row in rows for answer in (row.before, row.after)]
    numeric = all(isinstance(a, float | int) and not isinstance(a, bool) for a in answers)
    return ShiftPart(
        where=where,
        n=len(rows),
        changed=changed,
        low=low,
        high=high,
        kappa=None if numeric else cohen_kappa(table, len(rows)),
        table=table,
        numbers=measure_numbers(rows) if numeric else None,
    )


def cohen_kappa(table: Mapping[str, Mapping[str, int]], n: int) -> float | None:
    """Cohen's kappa of a square table; None where chance explains everything.

    Agreement beyond chance: (observed - chance) / (1 - chance), where chance multiplies the shares
    of each answer on both sides.

    >>> round(cohen_kappa({"a": {"a": 4, "b": 1}, "b": {"a": 1, "b": 4}}, 10), 2)
    0.6
    """
    observed = sum(table[name][name] for name in table) / n
    products = 0
    for name in table:
        products += sum(table[name].values()) * sum(row[name] for row in table.values())
    chance = products / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def measure_numbers(rows: Sequence[SharedExample]) -> NumberShift:
    """Means, mean difference and correlation of scores."""
    before, after = [float(row.before) for row in rows], [float(row.after) for row in rows]
    try:
        pearson: float | None = correlation(before, after)
    except StatisticsError:
        pearson = None
    return NumberShift(
        mean_before=fmean(before),
        mean_after=fmean(after),
        shift=fmean(after) - fmean(before),
        distance=fmean(abs(a - b) for a, b in zip(after, before, strict=True)),
        pearson=pearson,
    )


def summarise_shift(report: ShiftReport) -> str:
    """The shift in one sentence."""
    text = f"{report.question} of {report.before} -> {report.after}: {report.changed:,} of {report.n:,} rows differ"
    if not report.into or report.parts[0].numbers is not None:
        return text
    into = sorted(report.into.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{text} ({', '.join(f'{count:,} to {name}' for name, count in into)})"


def shift_to_json(report: ShiftReport) -> Any:
    """The report in plain values, the share of each part with it."""
    plain = msgspec.to_builtins(report)
    for values, part in zip(plain["parts"], report.parts, strict=True):
        values["share"] = part.share
    return plain
