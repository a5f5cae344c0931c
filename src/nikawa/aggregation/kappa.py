"""Percent agreement, Fleiss' kappa and Cohen's kappa.

Percent: the share of equal pairs of answers per item, P_i = sum_c n_ic (n_ic - 1) / (m_i (m_i - 1)), averaged over
items with two answers or more. Fleiss (1971, https://doi.org/10.1037/h0031619): (P - sum p_c^2) / (1 - sum p_c^2), p_c the
share of answers c; where items have unequally many answers P and p_c are taken as they are. Cohen (1960,
https://doi.org/10.1177/001316446002000104): the same for two workers with each worker's own shares; for more workers the
mean over pairs of workers, each over the items both answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.measure import (
    MAX_CATEGORIES,
    NOMINAL,
    AnswerPatterns,
    AnyMeasure,
    SummedMeasure,
    WeighedMeasure,
    mean_measure,
    ratio,
)
from nikawa.aggregation.table import Floats, Table, pair_answers, sum_weights
from nikawa.io.coding import Codes

MAX_COHEN_WORKERS = 20
"""Workers above which Cohen's kappa, a mean over pairs of workers, is left out."""
MAX_COHEN_PAIRS = 1 << 20
"""Pairs of answers above which it is left out too."""


def kappas(table: Table, source: Table | AnswerPatterns) -> Iterator[AnyMeasure]:
    """Percent agreement, and the kappas the table allows; counts are taken from `source`."""
    if len(table.categories) > MAX_CATEGORIES:
        return
    yield percent(source)
    if has_few_pairs(table):
        yield cohen(table)
    yield fleiss(source)


def alike_shares(counts: Floats) -> Floats:
    """The share of equal pairs in each row of counts; 0 where there is no pair."""
    m = counts.sum(axis=1)
    equal_pairs = (counts * (counts - 1)).sum(axis=1)
    return np.nan_to_num(ratio(equal_pairs, m * (m - 1)))


def percent(table: Table | AnswerPatterns) -> SummedMeasure:
    """The share of equal pairs of answers, averaged over items."""
    alike = alike_shares(table.counts().astype(np.float64))
    return mean_measure("percent", NOMINAL, alike, table.paired())


def fleiss(table: Table | AnswerPatterns, name: str = "fleiss") -> SummedMeasure:
    """Fleiss' kappa."""
    return fleiss_of_counts(table.counts().astype(np.float64), name)


def fleiss_of_counts(counts: Floats, name: str = "fleiss") -> SummedMeasure:
    """Fleiss' kappa from counts of items by categories; items with a single answer are left out."""
    paired = counts.sum(axis=1) > 1
    kept = np.where(paired[:, None], counts, 0.0)

    def finish(sums: Floats) -> Floats:
        observed = ratio(sums[..., 1], sums[..., 0])
        counts = sums[..., 2:]
        shares = ratio(counts, counts.sum(axis=-1, keepdims=True))
        chance = (shares**2).sum(axis=-1)
        return ratio(observed - chance, 1 - chance)

    statistics = np.column_stack([paired, alike_shares(kept), kept])
    return SummedMeasure(name, NOMINAL, statistics, finish)


def has_few_pairs(table: Table) -> bool:
    """Whether there are few enough workers and answers to compare each worker with each."""
    if len(table.categories) > MAX_CATEGORIES or not 2 <= len(table.workers) <= MAX_COHEN_WORKERS:
        return False
    m = table.per_item()
    return int((m * (m - 1)).sum()) // 2 <= MAX_COHEN_PAIRS


def cohen(table: Table) -> WeighedMeasure:
    """Cohen's kappa, the mean over pairs of workers who share items."""
    item, cell, shape = _pair_cells(table)
    cells = int(np.prod(shape))

    def weigh(weights: Floats) -> float:
        confusion = sum_weights(cell, weights[item], cells)
        kappa = pair_kappas(confusion.reshape(shape))
        defined = kappa[~np.isnan(kappa)]
        return float(defined.mean()) if len(defined) else float("nan")

    return WeighedMeasure("cohen", NOMINAL, len(table.items), weigh)


def confusion_by_pair(table: Table) -> Floats:
    """Workers by workers by categories by categories: how often one gave this answer where the other gave that."""
    workers = len(table.workers)
    _, cell, shape = _pair_cells(table)
    counts = np.bincount(cell, minlength=int(np.prod(shape)))
    half = counts.reshape(shape).astype(np.float64)
    confusion = np.zeros((workers, workers, *shape[1:]))
    low, high = np.triu_indices(workers, k=1)
    confusion[low, high] = half
    confusion[high, low] = half.swapaxes(1, 2)
    return confusion


def _pair_cells(table: Table) -> tuple[Codes, NDArray[Any], tuple[int, int, int]]:
    """Item and cell of each pair of answers about an item; cells count pairs of workers by answers by answers."""
    width = len(table.categories)
    workers = len(table.workers)
    count = workers * (workers - 1) // 2
    number = np.zeros((workers, workers), dtype=np.int32)
    number[np.triu_indices(workers, k=1)] = np.arange(count)
    pairs = pair_answers(table)
    pair = number[pairs.first, pairs.second]
    cells = (pair * width + pairs.first_answer) * width + pairs.second_answer
    return pairs.item, cells, (count, width, width)


def pair_kappas(confusion: Floats) -> Floats:
    """Cohen's kappa of each matrix of answers by answers; NaN where it is empty or chance explains all."""
    one = confusion.sum(axis=-1)
    other = confusion.sum(axis=-2)
    n = one.sum(axis=-1)
    observed = ratio(np.trace(confusion, axis1=-2, axis2=-1), n)
    chance = ratio((one * other).sum(axis=-1), n**2)
    return ratio(observed - chance, 1 - chance)
