"""Krippendorff's alpha: one minus observed over expected disagreement, blanks allowed, any number of workers.

    alpha = 1 - (n - 1) * sum_i D_i / sum_ck n_c n_k d(c, k)
    D_i = sum_ck n_ic (n_ik - [c = k]) d(c, k) / (m_i - 1)

over items with m_i >= 2 answers; n_c counts answers c among them, n all of them. d is 1 for unequal labels
(nominal), (c - k)^2 (interval), ((c - k) / (c + k))^2 (ratio), and the square of the difference of mid-ranks
(ordinal: sum_{g=c..k} n_g - (n_c + n_k) / 2 is just that), so nothing ever needs workers times items.

Krippendorff (2011), Computing Krippendorff's Alpha-Reliability. https://repository.upenn.edu/asc_papers/43
"""

from __future__ import annotations

import numpy as np

from nikawa.aggregation.measure import (
    MAX_CATEGORIES,
    AnswerPatterns,
    AnyMeasure,
    Level,
    SummedMeasure,
    WeighedMeasure,
    ratio,
)
from nikawa.aggregation.table import Counts, Floats, Table
from nikawa.errors import BadInput

MAX_BLOCK_CELLS = 1 << 24
"""Cells of a block of items by categories."""
MAX_RATIO_CATEGORIES = 4096
"""Categories above which the distances of the ratio level are refused: there is one for each pair of them."""


def alpha(table: Table, level: Level = "nominal") -> AnyMeasure:
    """Krippendorff's alpha of a table at a level of measurement; NaN where only one answer occurs.

    >>> table = Table.from_columns([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "x"])
    >>> alpha(table).value
    0.0
    """
    if len(table.categories) <= MAX_CATEGORIES:
        return alpha_of_counts(table, level)
    if level in ("nominal", "ratio"):
        return alpha_of_many_categories(table, level)
    if level == "interval":
        return _interval(table, table.values, level)
    paired = table.paired()[table.item].astype(np.float64)
    marginals = np.bincount(table.answer, paired, minlength=len(table.categories))
    # resamples keep the ranks of the whole
    return _interval(table, _mid_ranks(marginals.astype(np.float64)), level)


def alpha_of_counts(source: Table | AnswerPatterns, level: Level = "nominal") -> SummedMeasure:
    """The same from counts of few categories: of items, or of kinds of items."""
    if level == "nominal":
        return nominal_alpha(source)
    if level == "ordinal":
        return ordinal_alpha(source)
    return ratio_alpha(source) if level == "ratio" else _interval_of_counts(source)


def _alpha(n: Floats, observed: Floats, expected: Floats) -> Floats:
    """Alpha from the number of answers and the two disagreements; NaN where none is expected."""
    return 1 - ratio((n - 1) * observed, expected)


def _pair_weights(table: Table | AnswerPatterns) -> Floats:
    """One over m - 1 for each item, 0 where it has a single answer: what weighs its pairs."""
    m = table.per_item().astype(np.float64)
    return np.divide(1.0, m - 1, out=np.zeros_like(m), where=m > 1)


def _paired_counts(table: Table | AnswerPatterns) -> Floats:
    """Counts of items by categories, items with a single answer emptied."""
    counts = table.counts().astype(np.float64)
    single = table.per_item() < 2
    if single.any():
        counts[single] = 0
    return counts


def _mid_ranks(marginals: Floats) -> Floats:
    ranks: Floats = np.cumsum(marginals, axis=-1) - marginals / 2
    return ranks


def nominal_alpha(table: Table | AnswerPatterns) -> SummedMeasure:
    """Nominal alpha, from counts of items or of kinds of them."""
    statistics = np.empty((len(table.counts()), 1 + len(table.categories)))
    counts = statistics[:, 1:]
    counts[:] = table.counts()
    m = table.per_item()
    counts[m < 2] = 0
    alike = np.einsum("ij,ij->i", counts, counts)
    pairs = m.astype(np.float64) ** 2
    statistics[:, 0] = (pairs - alike) * _pair_weights(table)
    return SummedMeasure("alpha", "nominal", statistics, finish_nominal)


def finish_nominal(sums: Floats) -> Floats:
    """Nominal alpha from sums over items: weighed unlike pairs, then how often each answer occurs."""
    marginals = sums[..., 1:]
    n = marginals.sum(axis=-1)
    expected = n**2 - (marginals**2).sum(axis=-1)
    return _alpha(n, sums[..., 0], expected)


def _interval(table: Table, values: Floats, level: Level) -> SummedMeasure:
    """Sums of values and of squares suffice; values are centred, so that no digits cancel."""
    m = table.per_item()
    paired = table.paired()
    times = table.per_category()
    mean = np.average(values, weights=times)
    centred = (values - mean)[table.answer]
    first = table.sum_by_item(centred) * paired
    second = table.sum_by_item(centred**2) * paired
    return _interval_measure(level, m * paired, first, second, _pair_weights(table))


def _interval_of_counts(table: Table | AnswerPatterns) -> SummedMeasure:
    counts, values = _paired_counts(table), table.values
    centred = values - values.mean()
    first, second = counts @ centred, counts @ centred**2
    weights = _pair_weights(table)
    return _interval_measure("interval", counts.sum(axis=1), first, second, weights)


def _interval_measure(
    level: Level, m: Counts | Floats, first: Floats, second: Floats, weights: Floats
) -> SummedMeasure:
    """The measure from the number, the sum and the sum of squares of each item's values."""
    apart = 2 * (m * second - first**2) * weights
    statistics: Floats = np.column_stack([apart, m.astype(np.float64), first, second])
    return SummedMeasure("alpha", level, statistics, _finish_interval)


def _finish_interval(sums: Floats) -> Floats:
    apart, n, first, second = np.moveaxis(sums, -1, 0)
    spread = 2 * (n * second - first**2)
    is_spread = spread > 1e-12 * n * second
    return _alpha(n, apart, np.where(is_spread, spread, 0.0))


def _ratio_distances(table: Table | AnswerPatterns) -> Floats:
    values = table.values
    if (values < 0).any():
        raise BadInput("the ratio level needs numbers of 0 or more", cure="use the interval level")
    squares = np.subtract.outer(values, values) ** 2
    sums = np.add.outer(values, values)
    return np.nan_to_num(ratio(squares, sums**2))


def ratio_alpha(table: Table | AnswerPatterns) -> SummedMeasure:
    """Alpha at the ratio level, from counts of items or of kinds of them."""
    distances = _ratio_distances(table)
    counts = _paired_counts(table)
    apart = np.einsum("ij,ij->i", counts @ distances, counts) * _pair_weights(table)

    def finish(sums: Floats) -> Floats:
        marginals = sums[..., 1:]
        n = marginals.sum(axis=-1)
        expected = ((marginals @ distances) * marginals).sum(axis=-1)
        return _alpha(n, sums[..., 0], expected)

    statistics = np.column_stack([apart, counts])
    return SummedMeasure("alpha", "ratio", statistics, finish)


def ordinal_alpha(table: Table | AnswerPatterns) -> SummedMeasure:
    """The coincidences themselves are the statistics: ranks change with the items drawn."""
    counts = _paired_counts(table)
    width = counts.shape[1]
    low, high = np.triu_indices(width, k=1)
    weights = _pair_weights(table)[:, None]
    together = 2 * counts[:, low] * counts[:, high] * weights

    def finish(sums: Floats) -> Floats:
        marginals = sums[..., :width]
        pairs = sums[..., width:]
        ranks = _mid_ranks(marginals)
        distances = (ranks[..., low] - ranks[..., high]) ** 2
        observed = (pairs * distances).sum(axis=-1)
        by_chance = marginals[..., low] * marginals[..., high]
        expected = 2 * (by_chance * distances).sum(axis=-1)
        n = marginals.sum(axis=-1)
        return _alpha(n, observed, expected)

    statistics = np.column_stack([counts, together])
    return SummedMeasure("alpha", "ordinal", statistics, finish)


def alpha_of_many_categories(table: Table, level: Level) -> WeighedMeasure:
    """Very many categories, such as free numbers or texts: count them again for each resample."""
    width = len(table.categories)
    distances = None if level == "nominal" else _wide_ratio_distances(table)
    apart = _unlike_pairs(table) if distances is None else _ratio_pairs(table, distances)
    paired = table.paired()[table.item].astype(np.float64)

    def weigh(weights: Floats) -> float:
        marginals = np.bincount(table.answer, weights[table.item] * paired, width)
        n = marginals.sum()
        if distances is None:
            expected = n**2 - (marginals**2).sum()
        else:
            expected = marginals @ distances @ marginals
        if not expected:
            return float("nan")
        return float(1 - (n - 1) * (weights @ apart) / expected)

    return WeighedMeasure("alpha", level, len(table.items), weigh)


def _unlike_pairs(table: Table) -> Floats:
    """Weighted pairs of unequal answers per item, from the cells that are not empty."""
    width = len(table.categories)
    cell = table.item * np.int64(width) + table.answer
    cells, counts = np.unique(cell, return_counts=True)
    squares = counts.astype(np.float64) ** 2
    alike = np.bincount(cells // width, squares, minlength=len(table.items))
    pairs: Floats = (table.per_item() ** 2 - alike) * _pair_weights(table)
    return pairs


def _wide_ratio_distances(table: Table) -> Floats:
    if len(table.categories) > MAX_RATIO_CATEGORIES:
        raise BadInput(
            f"{len(table.categories):,} different numbers are too many for the ratio level",
            cure="use the interval level, or round the answers",
        )
    return _ratio_distances(table)


def _ratio_pairs(table: Table, distances: Floats) -> Floats:
    """Weighed ratio distances an item, a block of items at a time."""
    width = len(table.categories)
    items = len(table.items)
    apart = np.zeros(items)
    item, _, answer = table.by_item()
    step = max(1, MAX_BLOCK_CELLS // width)
    for start in range(0, items, step):
        part = slice(*np.searchsorted(item, [start, start + step]))
        cell = (item[part] - start) * np.int64(width) + answer[part]
        rows = min(step, items - start)
        counts = np.bincount(cell, minlength=rows * width).reshape(rows, -1)
        apart[start : start + rows] = np.einsum("ij,ij->i", counts @ distances, counts)
    return apart * _pair_weights(table)
