"""MACE: a worker either knows the answer, or guesses from habits of their own.

    p(answer a | true t) = know[w] · [a = t] + (1 - know[w]) · guess[w, a]

fitted by EM from the shares of votes (Hovy, Berg-Kirkpatrick, Vaswani, Hovy 2013, https://aclanthology.org/N13-1132).
Fewer numbers a worker than Dawid-Skene (K instead of K²), so better where workers judged little. A small count is added
to each, so that nobody with three answers is held for perfect; the start is fixed, so the outcome is too.
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
    initial_posterior,
    normalise_joint,
    sum_weights,
)
from nikawa.aggregation.table import Floats, Table

SMOOTHING = 0.1
"""Answers added to each count, in all."""


def mace(table: Table, *, tolerance: float = TOLERANCE, iterations: int = MAX_ITERATIONS) -> Fit:
    """Fit the model; the labels are taken as equally probable beforehand, as in the paper."""
    sums, answers = JudgementSums(table), max(1, len(table))
    cell = table.item.astype(np.intp) * sums.width + table.answer
    prior = np.full(sums.width, 1 / sums.width)
    know = np.full(sums.workers, 0.5)
    guess = np.full((sums.workers, sums.width), 1 / sums.width)
    posterior = initial_posterior(table)
    likelihood: list[float] = []
    converged = False
    while not converged and len(likelihood) < iterations:
        know, guess = _estimate_workers(sums, posterior.T.ravel()[cell], know, guess)
        posterior, now = _expected_labels(sums, cell, know, guess)
        converged = bool(likelihood) and now - likelihood[-1] < tolerance * answers
        likelihood.append(now)
    return Fit(posterior.T, prior, know, guess, tuple(likelihood), converged)


def _estimate_workers(
    sums: JudgementSums, right: Floats, know: Floats, guess: Floats
) -> tuple[Floats, Floats]:
    """M step; `right` is how probable it is that each answer is the true label."""
    habit = (1 - know)[:, None] * guess
    known = right * (know[:, None] / (know[:, None] + habit)).ravel()[sums.cell]
    shape = (sums.workers, sums.width)
    by_knowing = sum_weights(sums.cell, known, sums.workers * sums.width).reshape(shape)
    all_of = np.bincount(sums.cell, minlength=sums.workers * sums.width).reshape(shape)
    guessed = all_of - by_knowing + SMOOTHING / sums.width
    knows = (by_knowing.sum(axis=1) + SMOOTHING / 2) / (all_of.sum(axis=1) + SMOOTHING)
    return knows, guessed / guessed.sum(axis=1, keepdims=True)


def _expected_labels(
    sums: JudgementSums, cell: NDArray[Any], know: Floats, guess: Floats
) -> tuple[Floats, float]:
    """E step: only the answer itself gains from knowing, so one sum over (item, answer) does."""
    habit = ((1 - know)[:, None] * guess).ravel()
    gain = np.log1p(np.repeat(know, sums.width) / habit)[sums.cell]
    joint = sum_weights(cell, gain, sums.items * sums.width).reshape(sums.items, sums.width)
    joint += (sums.per_item(np.log(habit)) - np.log(sums.width))[:, None]
    return normalise_joint(np.ascontiguousarray(joint.T))
