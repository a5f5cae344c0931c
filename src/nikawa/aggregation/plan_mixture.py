"""What an item's workers would answer, beyond those who did: a mixture over points of the simplex, fitted by EM.

Each item has hidden shares of answers, drawn from a distribution on a grid of shares whose weights maximise the
likelihood of the pilot's counts (the nonparametric maximum likelihood of Kiefer and Wolfowitz 1956, on a grid). It needs
no shape: clear items and split ones may both be there, which a Dirichlet with one hump cannot say.
"""

from __future__ import annotations

import numpy as np

from nikawa.aggregation.table import Floats

STEPS = {2: 40, 3: 16}
"""Steps of the full grid; with more categories only mixtures of two leading answers and the rest are on it."""
PAIRED = 8
"""Categories up to which a second answer may stand out."""
LEVELS = np.linspace(0.4, 1.0, 13)
ROUNDS = 200
LEAST = 1e-4
"""Share that any answer has everywhere on the grid: no answer is impossible."""


def grid(categories: int) -> Floats:
    """Points of the simplex, one a row."""
    if categories == 1:
        return np.ones((1, 1))
    if categories in STEPS:
        steps = STEPS[categories]
        cuts = np.indices((steps + 1,) * (categories - 1)).reshape(categories - 1, -1).T
        cuts = cuts[cuts.sum(axis=1) <= steps]
        points = np.column_stack([cuts, steps - cuts.sum(axis=1)]) / steps
    else:
        every = range(categories)
        pairs: list[tuple[int, int | None]] = [(first, None) for first in every]
        if categories <= PAIRED:
            pairs = [(first, second) for first in every for second in every if first != second]
        points = np.array(
            [_leading(categories, first, second, p) for first, second in pairs for p in LEVELS]
        )
    points = np.unique(np.maximum(points, LEAST), axis=0)
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def _leading(categories: int, first: int, second: int | None, share: float) -> Floats:
    """One answer leads, a second has two thirds of what is left (or none does), the others share the rest."""
    left = 1 - share
    point = np.full(
        categories, left / (categories - 1) if second is None else left / 3 / (categories - 2)
    )
    if second is not None:
        point[second] = left * 2 / 3
    point[first] = share
    return point


def posterior(counts: Floats) -> tuple[Floats, Floats]:
    """The grid, and for each item (a row of counts) how probable each of its points is."""
    points = grid(counts.shape[1])
    patterns, which, often = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    logs = patterns @ np.log(points).T
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(len(points), 1 / len(points))
    for _ in range(ROUNDS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = often @ shares / often.sum()
    shares = likelihood * weights
    return points, (shares / shares.sum(axis=1, keepdims=True))[which]
