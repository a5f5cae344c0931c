"""Agreement about spans: F1 between workers, and Krippendorff's alpha of characters.

A pair of workers a, b who answered about an item shares s spans; over all items and pairs

    F1 = sum 2 s / (m - 1) / sum (n_a + n_b) / (m - 1)

with m the answers about the item, n the spans of an answer, so that every answer weighs alike however many others
there are; of two workers it is the F1 of one held against the other. Shared is what is equal (start, end, label), or
what overlaps under the same label, one to one. No chance is taken off: spans that nobody marked are not countable
(Hripcsak and Rothschild 2005, https://doi.org/10.1197/jamia.M1733). Alpha is nominal (see `agreement_alpha`), its units
the characters of the texts, its values the labels that cover a character.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from msgspec.structs import replace

from nikawa.aggregation.alpha import finish_nominal
from nikawa.aggregation.measure import Measure, ratio
from nikawa.aggregation.table import Floats, Numbering, Table
from nikawa.errors import BadInput
from nikawa.records import Judgement, Span

Mark = tuple[int, int, str]
"""Start, end and label of a span."""
Marks = tuple[Mark, ...]
"""The spans of one answer, in order."""
Shared = Callable[[Marks, Marks], int]


def with_marks(judgements: Iterable[Judgement], question: str | None = None) -> Iterator[Judgement]:
    """The judgements with spans as tuples, which a table can hold; other lists stay, and are refused there."""
    for judgement in judgements:
        found = None
        if type(judgement.answer) in (list, dict) and question in (None, judgement.question):
            found = _marks(judgement)
        yield judgement if found is None else replace(judgement, answer=found)


def spans_in(judgement: Judgement) -> list[Span]:
    """The spans of an answer to a question of tagging; anything else is refused."""
    found = _marks(judgement)
    if found is None:
        what = f"{judgement.worker}'s answer about {judgement.example} is no list of spans"
        raise BadInput(what, cure="an answer is a list of {start, end, label}")
    return [Span(*mark) for mark in found]


def _marks(judgement: Judgement) -> Marks | None:
    found = marks_in(judgement.answer)
    for start, end, _ in found or ():
        if type(start) is not int or type(end) is not int or not 0 <= start < end:
            raise BadInput(
                f"worker {judgement.worker} marks characters {start!r} to {end!r} of {judgement.example}",
                cure="a span starts at 0 or later, and ends after its start",
            )
    return None if found is None else tuple(sorted(set(found)))


def marks_in(value: Any) -> Marks | None:
    """The spans that a list of them, or one, holds; None where it holds something else."""
    given = value if isinstance(value, list | tuple) else [value]
    return tuple(map(_mark, given)) if all(map(_is_span, given)) else None


def _is_span(part: Any) -> bool:
    return isinstance(part, Span) or (isinstance(part, dict) and {"start", "end"} <= part.keys())


def _mark(part: Any) -> Mark:
    if isinstance(part, Span):
        return part.start, part.end, part.label
    return part["start"], part["end"], str(part.get("label") or "")


def are_spans(table: Table) -> bool:
    """Whether the answers are spans; some that are and some that are not are refused."""
    count = sum(isinstance(answer, tuple) for answer in table.categories)
    if 0 < count < len(table.categories):
        odd = next(answer for answer in table.categories if not isinstance(answer, tuple))
        raise BadInput(
            f"some answers to {table.question!r} are spans, some are not (such as {odd!r})",
            cure="ask two questions, or leave out what is no span",
        )
    return count > 0


def spans_by_label(table: Table) -> dict[str, int]:
    """How many spans of each label were marked, by all workers together."""
    times = np.bincount(table.answer, minlength=len(table.categories)).tolist()
    found: Counter[str] = Counter()
    for marks, count in zip(table.categories, times, strict=True):
        for _, _, label in marks:
            found[label] += count
    return dict(sorted(found.items()))


def span_measures(table: Table, lengths: Mapping[str, int] | None = None) -> Iterator[Measure]:
    """F1 of equal and of overlapping spans; alpha of characters where the lengths of the texts are known."""
    answers = by_item(table)
    yield _f1("span-f1", answers, equal)
    yield _f1("span-f1-overlap", answers, overlapping)
    if lengths is not None:
        yield alpha_of_characters(answers, [lengths[item] for item in table.items], table)


def by_item(table: Table) -> list[list[Marks]]:
    """The answers about each item."""
    found: list[list[Marks]] = [[] for _ in table.items]
    for item, answer in zip(table.item.tolist(), table.answer.tolist(), strict=True):
        found[item].append(table.categories[answer])
    return found


def _f1(name: str, answers: list[list[Marks]], shared: Shared) -> Measure:
    statistics = np.zeros((len(answers), 2))
    for row, given in enumerate(answers):
        if len(given) > 1:
            both = sum(shared(one, other) for one, other in combinations(given, 2))
            statistics[row] = 2 * both / (len(given) - 1), sum(map(len, given))
    return Measure(name, "nominal", statistics, lambda sums: ratio(sums[..., 0], sums[..., 1]))


def equal(one: Marks, other: Marks) -> int:
    """How many spans two answers have in common."""
    return len(one) if one == other else len(set(one) & set(other))


def overlapping(one: Marks, other: Marks) -> int:
    """How many spans of one answer overlap one of the other with the same label, each taken once, from the left.

    That is the most there can be, unless spans of one label overlap within an answer.
    """
    if one == other:
        return len(one)
    labels = {label for _, _, label in one} & {label for _, _, label in other}
    sides = ([mark for mark in side if mark[2] in labels] for side in (one, other))
    left, right = (sorted(side, key=lambda mark: (mark[2], *mark)) for side in sides)
    i = j = found = 0
    while i < len(left) and j < len(right):
        (start, end, label), (begin, stop, name) = left[i], right[j]
        if label == name and start < stop and begin < end:
            i, j, found = i + 1, j + 1, found + 1
        elif (label, end) <= (name, stop):
            i += 1
        else:
            j += 1
    return found


def alpha_of_characters(answers: list[list[Marks]], lengths: list[int], table: Table) -> Measure:
    """Krippendorff's alpha with characters as units; resamples draw whole items."""
    columns, found = Numbering(), _Stretches()
    for row, (given, length) in enumerate(zip(answers, lengths, strict=True)):
        _refuse_beyond(table.items[row], given, length)
        for long, covers in _stretches(given, length, columns) if len(given) > 1 else ():
            found.add(row, long, covers)
    return Measure(
        "alpha-characters", "nominal", found.statistics(len(answers), len(columns)), finish_nominal
    )


def _refuse_beyond(item: str, given: list[Marks], length: int) -> None:
    last = max((end for marks in given for _, end, _ in marks), default=0)
    if last > length:
        what = f"a span ends at character {last} of {item}, whose text has {length}"
        raise BadInput(what, cure="name the examples that were judged")


def _stretches(
    given: list[Marks], length: int, columns: Numbering
) -> Iterator[tuple[int, list[int]]]:
    """How long each stretch is over which nobody's labels change, and the labels that cover it, by worker."""
    turns = [
        (place, worker, label, step)
        for worker, marks in enumerate(given)
        for start, end, label in marks
        for place, step in ((start, 1), (end, -1))
    ]
    active: list[list[str]] = [[] for _ in given]
    covers, at = [columns[()]] * len(given), 0
    for place, worker, label, step in sorted(turns):
        if place > at:
            yield place - at, covers
            at = place
        (active[worker].append if step > 0 else active[worker].remove)(label)
        covers[worker] = columns[tuple(sorted(set(active[worker])))]
    if length > at:
        yield length - at, covers


class _Stretches:
    """Stretches of all items, and the statistics of nominal alpha made from them."""

    def __init__(self) -> None:
        self.item, self.long, self.workers, self.covers = (
            array("i"),
            array("i"),
            array("i"),
            array("i"),
        )

    def add(self, item: int, long: int, covers: list[int]) -> None:
        """One more stretch."""
        self.item.append(item)
        self.long.append(long)
        self.workers.append(len(covers))
        self.covers.extend(covers)

    def statistics(self, items: int, columns: int) -> Floats:
        """Items by weighed unlike pairs, then by characters under each cover."""
        item, long, m, cover = (
            np.frombuffer(part, dtype=np.int32).astype(np.int64)
            for part in (self.item, self.long, self.workers, self.covers)
        )
        stretch = np.repeat(np.arange(len(m)), m)
        cells, times = np.unique(stretch * columns + cover, return_counts=True)
        alike = np.bincount(cells // columns, times.astype(np.float64) ** 2, minlength=len(m))
        unlike = np.bincount(item, long * (m**2 - alike) / (m - 1), minlength=items)
        place = item[stretch] * columns + cover
        counts = np.bincount(place, long[stretch], minlength=items * columns).reshape(
            items, columns
        )
        return np.column_stack([unlike, counts])
