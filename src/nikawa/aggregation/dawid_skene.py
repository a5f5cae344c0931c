"""Dawid and Skene's model: every worker has a confusion matrix, every item a hidden true label.

    log p(answers) = Σ_i log Σ_t prior[t] Π_{j on i} error[worker_j, answer_j, t]

is climbed by EM (Dawid, Skene 1979, https://doi.org/10.2307/2346806), from the shares of votes, and EM stops when
this marginal likelihood gains less than `tolerance` an answer. Matrices are kept off 0 by a tiny floor, not smoothed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.table import Floats, Table, sum_weights

BLOCK_SIZE = 1 << 20
"""Judgements added up at a time from which on memory is spared: what is between fits the processor's cache better."""
MIN_CELL_MASS = 1e-10
"""Least mass of a cell of a confusion matrix before it is normalised."""
TOLERANCE = 1e-7
MAX_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model of workers and items."""

    posterior: Floats
    """Items by categories: how probable each answer is."""
    prior: Floats
    """How probable each answer is before any judgement is seen."""
    skill: Floats
    """Of each worker: Dawid-Skene, how often right on the labels as they occur; MACE, how often not guessing."""
    errors: Floats
    """Workers by answers by true labels (for MACE, workers by answers: what a guess would be)."""
    likelihood: tuple[float, ...]
    """The marginal log-likelihood after each iteration; it never falls."""
    converged: bool
    """Whether the likelihood stopped rising before the limit of iterations."""


def sum_gathered(places: NDArray[Any], values: Floats, which: NDArray[Any], size: int) -> Floats:
    """Sum over judgements of `values[which]` at each of `size` places, a block at a time where there are many."""
    if len(places) <= 4 * BLOCK_SIZE:
        return sum_weights(places, values[which], size)
    total = np.zeros(size)
    for start in range(0, len(places), BLOCK_SIZE):
        part = slice(start, start + BLOCK_SIZE)
        here = places[part]
        low = int(here.min())
        high = int(here.max()) + 1
        total[low:high] += sum_weights(here - low, values[which[part]], high - low)
    return total


class JudgementSums:
    """The judgements as places to add to: sums over items and over (worker, answer), without loops."""

    def __init__(self, table: Table) -> None:
        self.items = len(table.items)
        self.workers = len(table.workers)
        self.width = len(table.categories)
        # native integers are faster, narrow ones smaller
        kind = np.intp if len(table) <= 4 * BLOCK_SIZE else np.int32
        self.item: NDArray[Any] = table.item.astype(kind, copy=False)
        self.cell: NDArray[Any] = table.worker.astype(kind)
        self.cell *= self.width
        self.cell += table.answer

    def per_item(self, by_cell: Floats) -> Floats:
        """Sum over each item's answers of what `by_cell` says of (worker, answer)."""
        return sum_gathered(self.item, by_cell, self.cell, self.items)

    def per_cell(self, by_item: Floats) -> Floats:
        """Sum over the answers in each cell of what `by_item` says of the item."""
        return sum_gathered(self.cell, by_item, self.item, self.workers * self.width)


def dawid_skene(
    table: Table, *, tolerance: float = TOLERANCE, iterations: int = MAX_ITERATIONS
) -> Fit:
    """Fit the model; items without judgements get the prior.

    >>> table = Table.from_columns("aaabbb", "xyzxyz", ["yes", "yes", "no", "no", "no", "no"])
    >>> [table.categories[code] for code in dawid_skene(table).posterior.argmax(axis=1)]
    ['yes', 'no']
    """
    sums = JudgementSums(table)

    def improve(posterior: Floats) -> tuple[Floats, float]:
        return _expected_labels(sums, posterior.mean(axis=1), _error_shares(sums, posterior))

    posterior, likelihood, converged = climb(improve, table, tolerance, iterations)
    errors = _error_shares(sums, posterior)
    prior = posterior.mean(axis=1)
    skill = np.einsum("wtt,t->w", errors, prior)
    return Fit(posterior.T, prior, skill, errors, likelihood, converged)


def climb(
    improve: Callable[[Floats], tuple[Floats, float]],
    table: Table,
    tolerance: float,
    iterations: int,
) -> tuple[Floats, tuple[float, ...], bool]:
    """Climb the likelihood by EM, from the shares of the votes.

    `improve` does an M and an E step: from a posterior (categories by items) to the next and its log-likelihood.
    Returns the last posterior, the likelihood after each iteration, and whether it stopped by itself.
    """
    posterior = initial_posterior(table)
    least_gain = tolerance * max(1, len(table))
    likelihood: list[float] = []
    while len(likelihood) < iterations:
        posterior, now = improve(posterior)
        likelihood.append(now)
        if len(likelihood) > 1 and now - likelihood[-2] < least_gain:
            return posterior, tuple(likelihood), True
    return posterior, tuple(likelihood), False


def initial_posterior(table: Table) -> Floats:
    """Categories by items: the shares of the votes; equal shares for items without votes."""
    counts = table.counts().T.astype(np.float64)
    total = counts.sum(axis=0)
    empty = total == 0
    counts[:, empty], total[empty] = 1.0, float(len(counts))
    counts /= total
    return np.ascontiguousarray(counts)


def _error_shares(sums: JudgementSums, posterior: Floats) -> Floats:
    """M step: workers by answers by true labels."""
    by_label = [sums.per_cell(row) for row in posterior]
    shape = (sums.workers, sums.width, sums.width)
    mass = np.maximum(np.stack(by_label, axis=-1).reshape(shape), MIN_CELL_MASS)
    shares: Floats = mass / mass.sum(axis=1, keepdims=True)
    return shares


def _expected_labels(sums: JudgementSums, prior: Floats, errors: Floats) -> tuple[Floats, float]:
    """E step: the posterior (categories by items) and the marginal log-likelihood."""
    logs = np.log(errors).reshape(-1, sums.width)
    columns = (np.ascontiguousarray(logs[:, label]) for label in range(sums.width))
    joint = np.stack([sums.per_item(column) for column in columns])
    with np.errstate(divide="ignore"):
        joint += np.log(prior)[:, None]
    return normalise_joint(joint)


def normalise_joint(joint: Floats) -> tuple[Floats, float]:
    """The posterior from log joint probabilities (categories by items), and the log of what they sum to."""
    top = joint.max(axis=0)
    joint = np.exp(joint - top)
    total = joint.sum(axis=0)
    joint /= total
    return joint, float(top.sum() + np.log(total).sum())
