"""Percent agreement, Fleiss' kappa and Cohen's kappa.

Percent: the share of equal pairs of answers an item, P_i = sum_c n_ic (n_ic - 1) / (m_i (m_i - 1)), averaged over
items with two answers or more. Fleiss (1971): (P - sum p_c^2) / (1 - sum p_c^2), p_c the share of answers c; where
items have unequally many answers P and p_c are taken as they are. Cohen (1960): the same for two workers with
each worker's own shares; for more workers the mean over pairs of workers, each over the items both answered.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregate.agreement_measure import Agreement, Floats, Level, Measure, Reweighed, mean_of, ratio
from nikawa.aggregate.table import Table

MANY_WORKERS = 20
"""Workers above which Cohen's kappa, a mean over pairs of workers, is left out."""
MANY_CELLS = 1 << 24
"""Items times workers times categories above which it is left out too."""
WIDE = 40
"""Categories above which kappas are left out: chance agreement of free answers says nothing."""
NOMINAL: Level = "nominal"


def kappas(table: Table) -> Iterator[Agreement]:
    """Percent agreement, and the kappas the table allows."""
    if len(table.categories) > WIDE:
        return
    yield percent(table)
    if comparable(table):
        yield cohen(table)
    yield fleiss(table)


def alike(counts: Floats) -> Floats:
    """The share of equal pairs in each row of counts; 0 where there is no pair."""
    m = counts.sum(axis=1)
    return np.nan_to_num(ratio((counts * (counts - 1)).sum(axis=1), m * (m - 1)))


def percent(table: Table) -> Measure:
    """The share of equal pairs of answers, averaged over items."""
    return mean_of("percent", NOMINAL, alike(table.counts().astype(np.float64)), table.per_item() > 1)


def fleiss(table: Table, name: str = "fleiss") -> Measure:
    """Fleiss' kappa."""
    return fleiss_of_counts(table.counts().astype(np.float64), name)


def fleiss_of_counts(counts: Floats, name: str = "fleiss") -> Measure:
    """Fleiss' kappa from counts of items by categories; items with a single answer are left out."""
    paired = counts.sum(axis=1) > 1
    kept = np.where(paired[:, None], counts, 0.0)
    return Measure(name, NOMINAL, np.column_stack([paired, alike(kept), kept]), _finish_fleiss)


def _finish_fleiss(sums: Floats) -> Floats:
    observed = ratio(sums[..., 1], sums[..., 0])
    shares = ratio(sums[..., 2:], sums[..., 2:].sum(axis=-1, keepdims=True))
    chance = (shares**2).sum(axis=-1)
    return ratio(observed - chance, 1 - chance)


def comparable(table: Table) -> bool:
    """Whether there are few enough workers and items to compare each worker with each."""
    few = 2 <= len(table.workers) <= MANY_WORKERS and len(table.categories) <= WIDE
    return few and len(table.items) * len(table.workers) * len(table.categories) <= MANY_CELLS


def cohen(table: Table) -> Reweighed:
    """Cohen's kappa, the mean over pairs of workers who share items."""
    hot = _one_hot(table)

    def weigh(weights: Floats) -> float:
        return _mean_kappa(_confusions(table, hot, hot * weights[:, None].astype(np.float32)))

    return Reweighed("cohen", NOMINAL, len(table.items), weigh)


def confusions(table: Table) -> Floats:
    """Workers by workers by categories by categories: how often one said this where the other said that."""
    hot = _one_hot(table)
    return _confusions(table, hot, hot)


def _one_hot(table: Table) -> NDArray[np.float32]:
    """Items by workers and answers: 1 where the worker gave the answer. Counts below 2^24 are exact."""
    wide = len(table.categories)
    hot = np.zeros((len(table.items), len(table.workers) * wide), dtype=np.float32)
    hot[table.item, table.worker * wide + table.answer] = 1
    return hot


def _confusions(table: Table, left: NDArray[np.float32], right: NDArray[np.float32]) -> Floats:
    workers, wide = len(table.workers), len(table.categories)
    together = (left.T @ right).astype(np.float64)
    return together.reshape(workers, wide, workers, wide).swapaxes(1, 2)


def pair_kappas(confusion: Floats) -> Floats:
    """Cohen's kappa of each pair of workers; NaN where they share no item or chance explains all."""
    n = confusion.sum(axis=(2, 3))
    observed = ratio(np.trace(confusion, axis1=2, axis2=3), n)
    chance = ratio((confusion.sum(axis=3) * confusion.sum(axis=2)).sum(axis=-1), n**2)
    return ratio(observed - chance, 1 - chance)


def _mean_kappa(confusion: Floats) -> float:
    found = pair_kappas(confusion)[np.triu_indices(len(confusion), k=1)]
    known = found[~np.isnan(found)]
    return float(known.mean()) if len(known) else float("nan")
