"""Measures of agreement: a value, and how to recompute it when items are resampled.

Every interval resamples items, that is, puts whole-number weights on them; from sums over items a thousand
resamples cost one product of matrices.

Items that were answered alike are counted once where that saves work (`Kinds`): most measures need no more, and a
million items are a few dozen kinds. Two items are of one kind where each answer was given equally often. Items are drawn
again by drawing kinds: how often each is drawn is multinomial. No table of items by categories is ever made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.table import BLOCK_SIZE, Counts, Floats, Table, category_values

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
NOMINAL: Level = "nominal"
MAX_CATEGORIES = 40
"""Categories above which no row of counts per item is kept, and kappas are left out.

Chance agreement of free answers says nothing.
"""
MAX_EXACT_KEY = 1 << 53
"""Keys of kinds below which sums of floats are exact."""
MAX_KIND_CATEGORIES = 64
"""Categories above which kinds are not looked for."""
MIN_ITEMS_PER_KIND = 16
"""Items a kind from which kinds are worth their while."""


@dataclass(frozen=True, eq=False)
class SummedMeasure:
    """A measure that is a function of sums over items."""

    name: str
    """As reports name it."""
    level: Level
    statistics: Floats
    """Items by statistics."""
    finish: Callable[[Floats], Floats]
    """The measure from summed statistics; works on the last axis, so on many sums at once."""
    times: Floats | None = None
    """How many items each row stands for; None where one."""

    @property
    def value(self) -> float:
        """The measure over all items; NaN where it is undefined."""
        if self.times is None:
            return float(self.finish(self.statistics.sum(axis=0)))
        return float(self.finish(self.times @ self.statistics))

    def draw(self, resamples: int, seed: int) -> Floats | None:
        """The measure of resampled items if each row is a kind of item; None otherwise."""
        if self.times is None:
            return None
        n = int(self.times.sum())
        generator = np.random.default_rng((seed, 2))
        times = generator.multinomial(n, self.times / n, size=resamples)
        return self.finish(times.astype(np.float64) @ self.statistics)

    def under(self, weights: Floats) -> Floats:
        """The measure for each row of item weights; not where rows stand for several items."""
        self._refuse_times("weighed")
        return self.finish(weights @ self.statistics)

    def grouped(self, groups: NDArray[np.int64]) -> SummedMeasure:
        """The same over groups of items as the unit; not where rows stand for several items."""
        self._refuse_times("grouped")
        count = int(groups.max()) + 1
        summed = np.zeros((count, self.statistics.shape[1]))
        for column, values in enumerate(self.statistics.T):
            summed[:, column] = np.bincount(groups, values, minlength=len(summed))
        return SummedMeasure(self.name, self.level, summed, self.finish)

    def _refuse_times(self, action: str) -> None:
        if self.times is not None:
            raise ValueError(
                f"rows of {self.name} stand for several items each: they cannot be {action}"
            )


@dataclass(frozen=True, eq=False)
class WeighedMeasure:
    """A measure that reads the judgements again for each weighting."""

    name: str
    level: Level
    items: int
    """How many items there are."""
    weigh: Callable[[Floats], float]
    """The measure under one weight per item."""
    groups: NDArray[np.int64] | None = None
    """The group of each item, where groups are drawn instead of items."""

    @property
    def value(self) -> float:
        """The measure over all items; NaN where it is undefined."""
        return self.weigh(np.ones(self.items))

    def under(self, weights: Floats) -> Floats:
        """The measure for each row of weights, spread from groups to items where there are groups."""
        rows = weights if self.groups is None else weights[:, self.groups]
        return np.array([self.weigh(row) for row in rows])

    def grouped(self, groups: NDArray[np.int64]) -> WeighedMeasure:
        """Keep the items, remember whose weight each takes; groups may be grouped again."""
        chain = groups if self.groups is None else groups[self.groups]
        return WeighedMeasure(self.name, self.level, self.items, self.weigh, chain)


AnyMeasure = SummedMeasure | WeighedMeasure


def ratio(top: NDArray[Any], bottom: NDArray[Any]) -> Floats:
    """`top / bottom`, NaN where the bottom is 0."""
    is_zero = bottom == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.where(is_zero, np.nan, top / np.where(is_zero, 1, bottom))
    return quotient


def ratio_of_sums(sums: Floats) -> Floats:
    """The first of two summed statistics over the second."""
    return ratio(sums[..., 0], sums[..., 1])


def mean_measure(
    name: str, level: Level, values: Floats, counted: NDArray[np.bool_]
) -> SummedMeasure:
    """The mean of a value per item over the items that count."""
    kept = np.where(counted, values, 0.0)
    statistics = np.column_stack([kept, counted.astype(np.float64)])
    return SummedMeasure(name, level, statistics, ratio_of_sums)


@dataclass(frozen=True, eq=False)
class AnswerPatterns:
    """The kinds of items of a table; stands for the table where only counts are needed."""

    question: str
    categories: tuple[Any, ...]
    """The distinct answers, as in the table."""
    workers: Sequence[str]
    rows: Counts
    """Kinds by categories: how many workers gave each answer."""
    times: Floats
    """How many items are of each kind."""
    each: int | None = None
    """The number of answers planned per item, if known."""

    @property
    def values(self) -> Floats:
        """The number of each category; labels are refused."""
        return category_values(self.categories, self.question)

    def counts(self) -> Counts:
        """Kinds by categories."""
        return self.rows

    def per_item(self) -> Counts:
        """The number of answers per item of each kind."""
        sums: Counts = self.rows.sum(axis=1)
        return sums

    def paired(self) -> NDArray[np.bool_]:
        """The kinds of items with two answers or more."""
        return self.per_item() > 1


def find_answer_patterns(table: Table) -> AnswerPatterns | None:
    """The kinds of a table; None where they are nearly as many as its items."""
    base = int(table.per_item().max()) + 1
    width = len(table.categories)
    if width > MAX_KIND_CATEGORIES or base**width >= MAX_EXACT_KEY:
        return None
    powers = float(base) ** np.arange(width)
    keys = np.zeros(len(table.items))  # the counts of an item as digits of one number
    for start in range(0, len(table), BLOCK_SIZE):
        part = slice(start, start + BLOCK_SIZE)
        digits = powers[table.answer[part]]
        keys += np.bincount(table.item[part], digits, minlength=len(keys))
    kinds, times = np.unique(keys.astype(np.int64), return_counts=True)
    if len(kinds) * MIN_ITEMS_PER_KIND > len(keys):
        return None
    rows = kinds[:, None] // base ** np.arange(width, dtype=np.int64) % base
    return AnswerPatterns(
        question=table.question,
        categories=table.categories,
        workers=table.workers,
        rows=rows,
        times=times.astype(np.float64),
        each=table.each,
    )
