"""Two systems, or several runs of each, on the same items: how sure is the difference?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    count_units,
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
    units = count_units(groups)
    seen = b.value - a.value
    resampled = np.concatenate([gb.under(w) - ga.under(w) for w in draws(units, rounds, seed)])
    null = (
        randomised(ga, gb, units, rounds, seed) if swap is None else swapped(swap, units, rounds // 10, seed)
    )
    low, high = interval(resampled, units)
    difference = Difference(seen, low, high, two_sided_p(null, seen), bootstrap_p(resampled))
    return Paired(difference, POWER * spread(resampled))


def spread(resampled: Floats) -> float:
    """Standard deviation of the resamples that are defined; NaN where none is."""
    known = resampled[~np.isnan(resampled)]
    return float(known.std()) if len(known) else float("nan")


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
) -> Paired:
    """Means over seeds, with items and seeds both resampled: a lucky seed widens the interval.

    A side with a single run has no spread over seeds to resample: its interval is over items alone.
    """
    ga, gb = [x.grouped(groups) for x in a], [x.grouped(groups) for x in b]
    units = count_units(groups)
    generator = np.random.default_rng((seed, 2))
    parts = []
    for weights in draws(units, rounds, seed):
        left = _mean_of_drawn(np.stack([x.under(weights) for x in ga]), generator)
        parts.append(_mean_of_drawn(np.stack([x.under(weights) for x in gb]), generator) - left)
    resampled = np.concatenate(parts)
    low, high = interval(resampled, units)
    seen = float(np.mean([x.value for x in b]) - np.mean([x.value for x in a]))
    p = bootstrap_p(resampled)
    return Paired(Difference(seen, low, high, p, p), POWER * spread(resampled))


def _mean_of_drawn(values: Floats, generator: np.random.Generator) -> Floats:
    """Mean over seeds drawn with replacement, anew in each resample."""
    picks = generator.integers(0, len(values), size=values.shape)
    mean: Floats = np.take_along_axis(values, picks, axis=0).mean(axis=0)
    return mean


def tie_groups(scores: Sequence[float], apart: Callable[[int, int], bool]) -> list[str]:
    """A letter or more a system, in the order given: systems share a letter exactly where they are not apart."""
    order = sorted(range(len(scores)), key=lambda i: (np.isnan(scores[i]), -scores[i]))
    near = {i: {j for j in order if j != i and not apart(i, j)} for i in order}
    groups = sorted(_cliques(near), key=lambda clique: sorted(order.index(i) for i in clique))
    return ["".join(_letter(k) for k, group in enumerate(groups) if i in group) for i in range(len(scores))]


def _cliques(near: Mapping[int, set[int]]) -> list[set[int]]:
    """All largest sets of systems none of which is apart from another (Bron and Kerbosch 1973)."""
    found: list[set[int]] = []

    def grow(chosen: set[int], open_: set[int], closed: set[int]) -> None:
        if not open_ and not closed:
            found.append(chosen)
        for i in sorted(open_):
            grow(chosen | {i}, open_ & near[i], closed & near[i])
            open_, closed = open_ - {i}, closed | {i}

    grow(set(), set(near), set())
    return found


def _letter(k: int) -> str:
    """a to z, then A to Z, then a number in brackets."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[k] if k < len(letters) else f"({k})"
