"""Two systems with several runs each: a difference of means over items and seeds, both of which are samples.

The variance of the difference has two parts. Over items it is the paired bootstrap's, of the means over runs. Over
seeds it is s²/k a side: but s², the variance of k runs' scores, also holds how runs differ by chance item by item,
which the first part has already. That share is estimated from the bootstrap (the variance of one run's score less
that of their mean) and taken off. Few seeds tell s² badly: the difference is held against Student's t with Welch and
Satterthwaite's degrees of freedom, in which only what the seeds add is uncertain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from nikawa.stats.resample import (
    RESAMPLES,
    Difference,
    Evaluation,
    Floats,
    Ints,
    count_units,
    draws,
)
from nikawa.stats.results import LEAST_UNITS
from nikawa.stats.student import t_p, t_quantile

ENOUGH = 2_000
"""Resamples that tell a standard deviation to 2%; the quantiles come from Student's t."""
MANY = 1e6
"""Degrees of freedom that stand for a known variance."""


@dataclass(frozen=True)
class Spread:
    """How a side's mean varies over seeds."""

    variance: float
    """Of one run's score over seeds, chance item by item left out; not below 0."""
    error: float
    """Of s², the variance of the runs' scores as it stands, over its degrees of freedom: its uncertainty."""
    runs: int


def compare_runs(
    a: Sequence[Evaluation],
    b: Sequence[Evaluation],
    groups: Ints,
    *,
    rounds: int = RESAMPLES,
    seed: int = 0,
    tell: Callable[[int], None] = lambda _: None,
) -> tuple[Difference, float]:
    """Difference of the means over runs, and the least one that would be found (5%, power 80%).

    A side with one run is taken to vary over seeds as the other does. `tell` hears of twice `rounds` in all.
    """
    units = count_units(groups)
    both = _resampled([*a, *b], groups, rounds, seed, tell)
    left, right = both[: len(a)], both[len(a) :]
    seen = float(np.mean([x.value for x in b]) - np.mean([x.value for x in a]))
    error, df = _error(left, right, [x.value for x in a], [x.value for x in b])
    if np.isnan(seen) or np.isnan(error) or units < LEAST_UNITS:
        p = t_p(seen / error, df) if error > 0 else float("nan")
        return Difference(seen, float("nan"), float("nan"), p, p), float("nan")
    reach = t_quantile(0.975, df)
    p = t_p(seen / error, df) if error else float(seen == 0)
    difference = Difference(seen, seen - reach * error, seen + reach * error, p, p)
    return difference, (reach + t_quantile(0.8, df)) * error


def _resampled(
    runs: Sequence[Evaluation], groups: Ints, rounds: int, seed: int, tell: Callable[[int], None]
) -> Floats:
    """Runs by resamples: each run's score under the same weights of items."""
    grouped = [run.grouped(groups) for run in runs]
    enough, done, parts = min(rounds, ENOUGH), 0, []
    for weights in draws(count_units(groups), enough, seed):
        parts.append(np.stack([run.under(weights) for run in grouped]))
        before, done = done, done + len(weights)
        tell(2 * rounds * done // enough - 2 * rounds * before // enough)
    return np.concatenate(parts, axis=1)


def _error(
    left: Floats, right: Floats, a: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    """The standard error of the difference of means, and its degrees of freedom."""
    defined = ~(np.isnan(left).any(axis=0) | np.isnan(right).any(axis=0))
    if defined.sum() < 2:
        return float("nan"), MANY
    left, right = left[:, defined], right[:, defined]
    items = float(np.var(right.mean(axis=0) - left.mean(axis=0), ddof=1))
    sides = [s for s in (spread(left, a), spread(right, b)) if s is not None]
    one, two = sides if len(sides) == 2 else (sides[0], sides[0])
    shares = (one.variance / len(a), two.variance / len(b))
    if len(sides) == 2:
        uncertain = (one.error / len(a)) ** 2 / (len(a) - 1) + (two.error / len(b)) ** 2 / (
            len(b) - 1
        )
    else:
        uncertain = (one.error * (1 / len(a) + 1 / len(b))) ** 2 / (one.runs - 1)
    variance = items + sum(shares)
    return sqrt(variance), min(MANY, max(1.0, variance**2 / uncertain)) if uncertain else MANY


def spread(resampled: Floats, values: Sequence[float]) -> Spread | None:
    """How the scores of runs vary over seeds, from `resampled`, runs by resamples of items; None for a single run."""
    k = len(values)
    if k < 2:
        return None
    seen = float(np.var(values, ddof=1))
    single = float(np.var(resampled, axis=1, ddof=1).mean())
    chance = (single - float(np.var(resampled.mean(axis=0), ddof=1))) * k / (k - 1)
    return Spread(max(0.0, seen - max(0.0, chance)), seen, k)
