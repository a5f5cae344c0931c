"""Answers on a scale: how far persons scatter, and how much the answers of machines tell about the mean of persons.

Answers are normal around the item's mean, with the item's own variance v_i, and the item means are normal around what is expected of
them: the mean of all, or with machines the linear regression on the mean answer of the machines, so that machines weigh as much as they
turned out to predict. Copies of a model are averaged before models are.

    v_i   = (NU v + SS_i) / (NU + n - 1)                            v: the variance within items, SS_i: squares around the item's mean
    mu_i  ~ Normal(m_i, s2_i),  1/s2_i = 1/tau2 + n/v_i,  m_i = s2_i (expected_i/tau2 + n mean_i/v_i)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.weighing import Flags, MachineVotes

SHARED_DEGREES = 4.0
"""Answers by which the variance within an item leans on that of all items."""
MIN_ITEMS_FOR_SLOPE = 10
"""Items with answers of persons and machines below which numbers of machines say nothing."""


@dataclass(frozen=True)
class ScaleModel:
    """How numbers scatter: within an item, between items, and around what machines let expect."""

    within: float
    """The variance of persons' answers to an item."""
    between: float
    """The variance of items' means around `mean`."""
    mean: float
    slope: float = 0.0
    """Of the persons' mean on the machines' mean answer; 0 where there are too few items with both."""
    machine_mean: float = 0.0
    unexplained: float | None = None
    """The variance of items' means around what the machines let expect; None where machines tell nothing."""

    @classmethod
    def fit(cls, table: Table, is_machine: Flags) -> ScaleModel:
        """Estimate the variances by moments; `is_machine` has a flag for each worker."""
        persons = table.select(~is_machine[table.worker])
        if not table.categories:
            return cls(1.0, 1.0, 0.0)
        reach = float(max(table.categories)) - float(min(table.categories))
        expected = max(reach / 4, 1e-6) ** 2
        n, means, squares = _describe(persons)
        some = n > 0
        within = (expected + squares.sum()) / (1 + np.maximum(0, n - 1).sum())
        if not some.any():
            return cls(float(within), expected, (reach / 2) + float(min(table.categories)))
        mean = float(means[some].mean())
        between = _find_variance((means - mean)[some], n[some], within, expected)
        guess = average_machines(table, is_machine)
        both = some & ~np.isnan(guess)
        if both.sum() < MIN_ITEMS_FOR_SLOPE or guess[both].std() == 0:
            return cls(float(within), between, mean)
        x, y, weights = guess[both], means[both], n[both]
        x0, y0 = float(np.average(x, weights=weights)), float(np.average(y, weights=weights))
        slope = float((weights * (x - x0) * (y - y0)).sum() / (weights * (x - x0) ** 2).sum())
        rest = y - y0 - slope * (x - x0)
        unexplained = _find_variance(rest, weights, within, expected)
        return cls(float(within), between, y0, slope, x0, unexplained)

    def predict(self, table: Table, is_machine: Flags) -> Floats:
        """What the machines let expect of each item's mean; NaN where none answered, or where they tell nothing."""
        if self.unexplained is None:
            return np.full(len(table.items), np.nan)
        guess: Floats = average_machines(table, is_machine) - self.machine_mean
        return self.mean + self.slope * guess

    def weigh(self, table: Table, is_machine: Flags) -> tuple[Floats, Floats]:
        """The mean of each item's persons, weighed with what machines let expect; and the machines' share in it."""
        n, means, squares = _describe(table.select(~is_machine[table.worker]))
        guess = self.predict(table, is_machine)
        told = ~np.isnan(guess) & (n > 0)
        share = np.zeros(len(n))
        if self.unexplained is not None:
            own, _ = self._own_variance(n, squares)
            share[told] = (1 / self.unexplained) / (1 / self.unexplained + n / own)[told]
        return np.where(told, share * guess + (1 - share) * means, means), share

    def _own_variance(self, n: Floats, squares: Floats) -> tuple[Floats, Floats]:
        """The variance within each item, and the degrees of freedom it has."""
        freedom = SHARED_DEGREES + np.maximum(0, n - 1)
        return (SHARED_DEGREES * self.within + squares) / freedom, freedom


def _describe(persons: Table) -> tuple[Floats, Floats, Floats]:
    """Of each item the number of answers, their mean (0 without answers), and the sum of squares around it."""
    n = persons.per_item().astype(np.float64)
    if not persons.categories:
        return n, np.zeros(len(n)), np.zeros(len(n))
    numbers = persons.numbers
    means = persons.sum_by_item(numbers) / np.maximum(1, n)
    return n, means, persons.sum_by_item((numbers - means[persons.item]) ** 2)


def _find_variance(rest: Floats, n: Floats, within: float, expected: float) -> float:
    """The variance of items' means, less the share that the scatter of few answers explains."""
    sum_ = float((rest**2 - within / n).sum())
    return max((expected + sum_) / (1 + len(rest)), 0.01 * expected)


def average_machines(table: Table, is_machine: Flags) -> Floats:
    """The mean answer of the models to each item, of the copies of a model their mean; NaN without machines."""
    items = len(table.items)
    total, models = np.zeros(items), np.zeros(items)
    if is_machine.any():
        votes = MachineVotes(table, is_machine)
        for code in range(len(votes.models)):
            shares = votes.shares(code)
            total += shares @ table.values
            models += shares.sum(axis=1) > 0
    means: Floats = np.divide(total, models, out=np.full(items, np.nan), where=models > 0)
    return means
