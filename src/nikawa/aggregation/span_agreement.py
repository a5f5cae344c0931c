"""Agreement about spans: F1 between workers, and Krippendorff's alpha of characters.

A pair of workers a, b who answered about an item shares s spans; over all items and pairs

    F1 = sum 2 s / (m - 1) / sum (n_a + n_b) / (m - 1)

with m the answers about the item, n the spans of an answer, so that every answer weighs alike however many others
there are; of two workers it is the F1 of one compared with the other. Shared is what is equal (start, end, label), or
what overlaps under the same label, one to one. There is no correction for chance: spans that no worker marked are not countable
(Hripcsak and Rothschild 2005, https://doi.org/10.1197/jamia.M1733). Alpha is nominal (see `alpha`), its units
the characters of the texts, its values the labels that cover a character.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np

from nikawa.aggregation.alpha import finish_nominal
from nikawa.aggregation.measure import NOMINAL, SummedMeasure, ratio_of_sums
from nikawa.aggregation.spans import Marks, answers_by_item, count_equal
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput
from nikawa.io.coding import Numbering


def span_measures(
    table: Table, lengths: Mapping[str, int] | None = None
) -> Iterator[SummedMeasure]:
    """F1 of equal and of overlapping spans; alpha of characters where the lengths of the texts are known."""
    answers = answers_by_item(table)
    yield span_f1("span-f1", answers, count_equal)
    yield span_f1("span-f1-overlap", answers, count_overlapping)
    if lengths is not None:
        yield alpha_of_characters(answers, [lengths[item] for item in table.items], table)


def span_f1(
    name: str, answers: list[list[Marks]], count_shared: Callable[[Marks, Marks], int]
) -> SummedMeasure:
    """F1 between workers as a measure; `count_shared` counts the spans that two answers share."""
    statistics = np.zeros((len(answers), 2))
    for row, item_answers in enumerate(answers):
        if len(item_answers) > 1:
            pairs = combinations(item_answers, 2)
            shared = sum(count_shared(one, other) for one, other in pairs)
            marked = sum(map(len, item_answers))
            statistics[row] = 2 * shared / (len(item_answers) - 1), marked
    return SummedMeasure(name, NOMINAL, statistics, ratio_of_sums)


def count_overlapping(one: Marks, other: Marks) -> int:
    """How many spans of one answer overlap one of the other with the same label, each taken once, from the left.

    That is the most there can be, unless spans of one label overlap within an answer.
    """
    if one == other:
        return len(one)
    labels = {label for _, _, label in one} & {label for _, _, label in other}
    left, right = (
        sorted(
            (mark for mark in side if mark[2] in labels),
            key=lambda mark: (mark[2], *mark),
        )
        for side in (one, other)
    )
    i = j = count = 0
    while i < len(left) and j < len(right):
        start, end, label = left[i]
        other_start, other_end, other_label = right[j]
        if label == other_label and start < other_end and other_start < end:
            i = i + 1
            j = j + 1
            count = count + 1
        elif (label, end) <= (other_label, other_end):
            i += 1
        else:
            j += 1
    return count


def alpha_of_characters(
    answers: list[list[Marks]], lengths: list[int], table: Table
) -> SummedMeasure:
    """Krippendorff's alpha with characters as units; resamples draw whole items."""
    covers, stretches = Numbering(), _Stretches()
    for row, (item_answers, length) in enumerate(zip(answers, lengths, strict=True)):
        last = max((end for marks in item_answers for _, end, _ in marks), default=0)
        if last > length:
            what = f"a span ends at character {last} of {table.items[row]}, whose text has {length}"
            raise BadInput(what, cure="pass the examples that were judged")
        if len(item_answers) > 1:
            for size, by_worker in find_stretches(item_answers, length, covers):
                stretches.add(row, size, by_worker)
    statistics = stretches.statistics(len(answers), len(covers))
    return SummedMeasure("alpha-characters", NOMINAL, statistics, finish_nominal)


def find_stretches(
    answers: list[Marks], length: int, covers: Numbering
) -> Iterator[tuple[int, list[int]]]:
    """How long each stretch is over which no worker's labels change, and the labels that cover it, by worker.

    Sets of labels are numbered in `covers`.
    """
    turns = [
        (place, worker, label, step)
        for worker, marks in enumerate(answers)
        for start, end, label in marks
        for place, step in ((start, 1), (end, -1))
    ]
    active: list[list[str]] = [[] for _ in answers]
    by_worker = [covers[()]] * len(answers)
    at = 0
    for place, worker, label, step in sorted(turns):
        if place > at:
            yield place - at, by_worker
            at = place
        labels = active[worker]
        if step > 0:
            labels.append(label)
        else:
            labels.remove(label)
        by_worker[worker] = covers[tuple(sorted(set(labels)))]
    if length > at:
        yield length - at, by_worker


class _Stretches:
    """Stretches of all items, and the statistics of nominal alpha made from them."""

    def __init__(self) -> None:
        self._item = array("i")
        self._size = array("i")
        self._workers = array("i")
        self._covers = array("i")

    def add(self, item: int, size: int, covers: list[int]) -> None:
        """One more stretch: its length, and what covers it, by worker."""
        self._item.append(item)
        self._size.append(size)
        self._workers.append(len(covers))
        self._covers.extend(covers)

    def statistics(self, items: int, columns: int) -> Floats:
        """Items by weighed unlike pairs, then by characters under each cover."""
        item, size, m, cover = (
            np.frombuffer(part, dtype=np.int32).astype(np.int64)
            for part in (self._item, self._size, self._workers, self._covers)
        )
        stretch = np.repeat(np.arange(len(m)), m)
        cells, times = np.unique(stretch * columns + cover, return_counts=True)
        squares = times.astype(np.float64) ** 2
        alike = np.bincount(cells // columns, squares, minlength=len(m))
        unlike_pairs = size * (m**2 - alike) / (m - 1)
        unlike = np.bincount(item, unlike_pairs, minlength=items)
        place = item[stretch] * columns + cover
        counts = np.bincount(place, size[stretch], minlength=items * columns)
        return np.column_stack([unlike, counts.reshape(items, columns)])
