"""Suspected label errors: where models are confident that another label is right.

Confident learning (Northcutt, Jiang, Chuang 2021, https://doi.org/10.1613/jair.1.12125): the threshold of a label is the mean
probability it gets where it is gold; an item is suspect where another label reaches its own threshold and beats gold. The
likeliest errors come first, by how far that label is ahead. Probabilities are the mean over systems, so what several agree on
comes before the whim of one. Models must not have learned from the items: probabilities are of items held out, or cross-validated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nikawa.stats.resample import Floats, Ints


@dataclass(frozen=True)
class Doubt:
    """An item whose gold is doubted."""

    item: int
    suggested: int
    margin: float
    """Probability of the suggested label less that of gold."""


def thresholds(probabilities: Floats, gold: Ints) -> Floats:
    """For each label, its mean probability where it is gold; infinite where it never is."""
    k = probabilities.shape[1]
    return np.array(
        [
            probabilities[gold == label, label].mean() if (gold == label).any() else np.inf
            for label in range(k)
        ]
    )


def doubts(probabilities: Floats, gold: Ints) -> list[Doubt]:
    """Items whose gold another label beats with confidence, the likeliest errors first."""
    n = len(gold)
    rows = np.arange(n)
    of_gold = np.where(gold < 0, 0.0, probabilities[rows, gold])
    able = (probabilities >= thresholds(probabilities, gold)) & (probabilities > of_gold[:, None])
    able[rows[gold >= 0], gold[gold >= 0]] = False
    best = np.where(able, probabilities, -1.0).argmax(axis=1)
    margin = probabilities[rows, best] - of_gold
    found = np.flatnonzero(able.any(axis=1))
    order = found[np.argsort(-margin[found], kind="stable")]
    return [Doubt(int(i), int(best[i]), float(margin[i])) for i in order]
