"""Two systems, or several runs of each, on the same items: how sure is the difference?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.analyse.resample import (
    RESAMPLES,
    Difference,
    Evaluation,
    Floats,
    Ints,
    bootstrap_p,
    draws,
    interval,
    swaps,
    two_sided_p,
)

POWER = 1.959963984540054 + 0.8416212335729143
"""Normal quantiles of a two-sided test at 5% and of 80% power: times the standard error, the least
difference the test would find four times in five."""


@dataclass(frozen=True)
class Paired:
    """B against A under one metric."""

    difference: Difference
    smallest: float
    """The least true difference this test set would detect (5%, power 80%)."""
    effect: float
    """The difference in standard errors."""


Swap = Callable[[Ints], tuple[float, float]]
"""Both systems' values with the answers of the chosen units exchanged, for metrics that are no sums."""


def compare_pair(
    a: Evaluation,
    b: Evaluation,
    groups: Ints,
    *,
    swap: Swap | None = None,
    rounds: int = RESAMPLES,
    seed: int = 0,
) -> Paired:
    """Interval, randomisation and bootstrap p of B minus A; `swap` serves metrics without statistics."""
    ga, gb = a.grouped(groups), b.grouped(groups)
    units = int(groups.max()) + 1 if len(groups) else 0
    seen = b.value - a.value
    resampled = np.concatenate([gb.under(w) - ga.under(w) for w in draws(units, rounds, seed)])
    null = (
        randomised(ga, gb, units, rounds, seed) if swap is None else swapped(swap, units, rounds // 10, seed)
    )
    low, high = interval(resampled)
    error = float(np.nanstd(resampled))
    difference = Difference(seen, low, high, two_sided_p(null, seen), bootstrap_p(resampled))
    return Paired(difference, POWER * error, seen / error if error else 0.0)


def randomised(a: Any, b: Any, units: int, rounds: int, seed: int) -> Floats:
    """Differences when each unit's two answers are exchanged or not by a coin."""
    left, right = aligned(a.statistics, b.statistics)
    both = left.sum(axis=0) + right.sum(axis=0)
    parts = []
    for coin in swaps(units, rounds, seed):
        first = coin @ (left - right) + right.sum(axis=0)
        parts.append(b.finish(both - first) - a.finish(first))
    return np.concatenate(parts)


def aligned(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Statistics of class metrics hold three blocks of classes; the shorter is filled up with unused ones."""
    if left.shape[1] == right.shape[1]:
        return left, right
    most = max(left.shape[1], right.shape[1]) // 3

    def filled(x: Floats) -> Floats:
        blocks = x.reshape(len(x), 3, -1)
        return np.pad(blocks, ((0, 0), (0, 0), (0, most - blocks.shape[2]))).reshape(len(x), 3 * most)

    return filled(left), filled(right)


def swapped(swap: Swap, units: int, rounds: int, seed: int) -> Floats:
    """The same for metrics that must be computed anew each round."""
    values = [swap(np.flatnonzero(row)) for coin in swaps(units, rounds, seed) for row in coin]
    return np.array([b - a for a, b in values])


def compare_seeds(
    a: Sequence[Evaluation], b: Sequence[Evaluation], groups: Ints, *, rounds: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Means over seeds, with items and seeds both resampled: a lucky seed widens the interval."""
    ga, gb = [x.grouped(groups) for x in a], [x.grouped(groups) for x in b]
    units = int(groups.max()) + 1 if len(groups) else 0
    generator = np.random.default_rng((seed, 2))
    parts = []
    for weights in draws(units, rounds, seed):
        left = _mean_of_drawn(np.stack([x.under(weights) for x in ga]), generator)
        parts.append(_mean_of_drawn(np.stack([x.under(weights) for x in gb]), generator) - left)
    resampled = np.concatenate(parts)
    low, high = interval(resampled)
    seen = float(np.mean([x.value for x in b]) - np.mean([x.value for x in a]))
    p = bootstrap_p(resampled)
    return Difference(seen, low, high, p, p)


def _mean_of_drawn(values: Floats, generator: np.random.Generator) -> Floats:
    """Mean over seeds drawn with replacement, anew in each resample."""
    picks = generator.integers(0, len(values), size=values.shape)
    mean: Floats = np.take_along_axis(values, picks, axis=0).mean(axis=0)
    return mean


def tie_groups(scores: Sequence[float], apart: Callable[[int, int], bool]) -> list[str]:
    """A letter or more a system, in the order given: systems that share a letter cannot be told apart."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    cliques: list[list[int]] = []
    for start in range(len(order)):
        clique = [order[start]]
        for other in order[start + 1 :]:
            if all(not apart(member, other) for member in clique):
                clique.append(other)
        if not any(set(clique) <= set(known) for known in cliques):
            cliques.append(clique)
    return [
        "".join(chr(97 + k) for k, clique in enumerate(cliques) if i in clique) for i in range(len(scores))
    ]
