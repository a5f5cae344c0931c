"""MACE: a worker either knows the answer, or guesses by their own habits.

    p(answer a | true t) = know[w] · [a = t] + (1 - know[w]) · guess[w, a]

fitted by EM from the shares of votes (Hovy, Berg-Kirkpatrick, Vaswani, Hovy 2013, https://aclanthology.org/N13-1132).
Fewer numbers a worker than Dawid-Skene (K instead of K²), so better where workers judged little. A small count is added
to each, so that a worker with three answers does not count as perfect; the start is fixed, so the result is too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import (
    MAX_ITERATIONS,
    TOLERANCE,
    Fit,
    JudgementSums,
    climb,
    normalise_joint,
)
from nikawa.aggregation.table import Floats, Table, sum_weights

SMOOTHING = 0.1
"""Answers added to each count, in all."""


def mace(table: Table, *, tolerance: float = TOLERANCE, iterations: int = MAX_ITERATIONS) -> Fit:
    """Fit the model; the labels are taken as equally probable beforehand, as in the paper."""
    sums = JudgementSums(table)
    cell = table.item.astype(np.intp) * sums.width + table.answer
    know = np.full(sums.workers, 0.5)
    guess = np.full((sums.workers, sums.width), 1 / sums.width)

    def improve(posterior: Floats) -> tuple[Floats, float]:
        nonlocal know, guess
        know, guess = _estimate_workers(sums, posterior.T.ravel()[cell], know, guess)
        return _expected_labels(sums, cell, know, guess)

    posterior, likelihood, converged = climb(improve, table, tolerance, iterations)
    prior = np.full(sums.width, 1 / sums.width)
    return Fit(posterior.T, prior, know, guess, likelihood, converged)


def _estimate_workers(
    sums: JudgementSums, right: Floats, know: Floats, guess: Floats
) -> tuple[Floats, Floats]:
    """M step; `right` is how probable it is that each answer is the true label."""
    habit = (1 - know)[:, None] * guess
    share_known = know[:, None] / (know[:, None] + habit)
    known = right * share_known.ravel()[sums.cell]
    shape = (sums.workers, sums.width)
    size = sums.workers * sums.width
    by_knowing = sum_weights(sums.cell, known, size).reshape(shape)
    all_of = np.bincount(sums.cell, minlength=size).reshape(shape)
    guessed = all_of - by_knowing + SMOOTHING / sums.width
    smoothed = by_knowing.sum(axis=1) + SMOOTHING / 2
    knows = smoothed / (all_of.sum(axis=1) + SMOOTHING)
    return knows, guessed / guessed.sum(axis=1, keepdims=True)


def _expected_labels(
    sums: JudgementSums, cell: NDArray[Any], know: Floats, guess: Floats
) -> tuple[Floats, float]:
    """E step: only the answer itself gains from knowing, so one sum over (item, answer) does."""
    habit = ((1 - know)[:, None] * guess).ravel()
    odds = np.repeat(know, sums.width) / habit
    gain = np.log1p(odds)[sums.cell]
    shape = (sums.items, sums.width)
    joint = sum_weights(cell, gain, sums.items * sums.width).reshape(shape)
    by_guessing = sums.per_item(np.log(habit)) - np.log(sums.width)
    joint += by_guessing[:, None]
    return normalise_joint(np.ascontiguousarray(joint.T))
