"""Several runs of a system: items and seeds are both samples.

One system, its mean over runs: the variance has two parts. Over items it is the bootstrap's, of the mean over runs. Over
seeds it is s²/k: but s², the variance of k runs' scores, also contains the random differences of runs per item, which the first part
has already. That share is estimated from the bootstrap (the variance of one run's score less that of their mean) and taken
off. Few seeds estimate s² badly, and a bootstrap that draws two or three of them is too narrow: the ends are Student's t with
Satterthwaite's degrees of freedom, in which only what the seeds add is uncertain.

Two systems, the difference of their means: the same with the paired bootstrap over items and a seeds' part a side, with Welch and
Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Protocol

import numpy as np

from nikawa.stats.distributions import t_p, t_quantile
from nikawa.stats.resample import (
    TEST_RESAMPLES,
    Difference,
    Floats,
    Ints,
    Resampleable,
    count_units,
    draw_kept_weights,
    percentile_interval,
)
from nikawa.stats.results import LEAST_UNITS

ENOUGH_RESAMPLES = 2_000
"""Resamples that estimate a standard deviation to 2%; the quantiles come from Student's t."""
MAX_DF = 1e6
"""Degrees of freedom that stand for a known variance."""

Limits = tuple[float, float]
"""The least and the greatest value that can be."""
NO_LIMITS: Limits = (-inf, inf)
SHARE_LIMITS: Limits = (0.0, 1.0)


@dataclass(frozen=True)
class Spread:
    """How a side's score varies over seeds."""

    variance: float
    """Of one run's score over seeds, chance item by item left out; not below 0."""
    error: float
    """Of s², the variance of the runs' scores without correction, over its degrees of freedom: its uncertainty."""
    runs: int


def spread_over_seeds(resampled: Floats, values: Sequence[float]) -> Spread | None:
    """How the scores of runs vary over seeds, from `resampled`, runs by resamples of items; None for a single run."""
    k = len(values)
    if k < 2:
        return None
    seen = float(np.var(values, ddof=1))
    single = float(np.var(resampled, axis=1, ddof=1).mean())
    of_mean = float(np.var(resampled.mean(axis=0), ddof=1))
    chance = (single - of_mean) * k / (k - 1)
    return Spread(max(0.0, seen - max(0.0, chance)), seen, k)


def find_limits(*details: Floats | None) -> Limits:
    """What a mean of scores per item can be: a share where every score is one."""
    for detail in details:
        if detail is None or not bool(((detail >= 0) & (detail <= 1)).all()):
            return NO_LIMITS
    return SHARE_LIMITS


def mean_interval(
    values: Floats, drawn: Floats, units: int | None, limits: Limits = NO_LIMITS
) -> tuple[float, float]:
    """The 95% interval of the mean of `values`, one a run, from `drawn`, runs by resamples of the same items.

    NaN where it is not defined, and where fewer than `LEAST_UNITS` units were drawn from: None takes any number.
    """
    known = drawn[:, ~np.isnan(drawn).any(axis=0)]
    few = units is not None and units < LEAST_UNITS
    if few or known.shape[1] < 2 or np.isnan(values).any():
        return nan, nan
    error, df = mean_error(values, known)
    reach = t_quantile(0.975, df) * error
    mean = float(values.mean())
    return max(limits[0], mean - reach), min(limits[1], mean + reach)


def mean_p(values: Floats, drawn: Floats) -> float:
    """Two-sided p that the mean of `values` is 0, by the same model; NaN where it is not defined."""
    known = drawn[:, ~np.isnan(drawn).any(axis=0)]
    if known.shape[1] < 2 or np.isnan(values).any():
        return nan
    error, df = mean_error(values, known)
    seen = float(values.mean())
    return t_p(seen / error, df) if error else float(seen == 0)


def mean_error(values: Floats, drawn: Floats) -> tuple[float, float]:
    """The standard error of the mean of two or more runs, and its degrees of freedom."""
    k = len(values)
    items = float(np.var(drawn.mean(axis=0), ddof=1))
    seeds = spread_over_seeds(drawn, values.tolist())
    if seeds is None:
        return sqrt(items), MAX_DF
    variance = items + seeds.variance / k
    uncertain = (seeds.error / k) ** 2 / (k - 1)
    return sqrt(variance), _degrees_of_freedom(variance, uncertain)


class ResampledRuns:
    """The scores of runs under resamples of the same groups of items; each run is resampled once, however often it is used.

    Runs are distinguished by identity: runs with the same answers may share one evaluation. The resamples are the same for all runs,
    so that their scores can be paired.
    """

    def __init__(self, groups: Ints, rounds: int, seed: int = 0) -> None:
        self.groups, self.rounds, self.seed = groups, rounds, seed
        self._blocks: dict[int, list[Floats]] = {}
        self._runs: list[Resampleable] = []
        """The runs that were resampled: while they are kept, no other object has their identity."""

    def blocks(
        self,
        runs: Sequence[Resampleable],
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> list[Floats]:
        """Runs by resamples, in blocks as they are drawn; `on_progress` is called with the resamples of each block."""
        new = {id(run): run for run in runs if id(run) not in self._blocks}
        grouped = {name: run.grouped(self.groups) for name, run in new.items()}
        self._runs += new.values()
        self._blocks |= {name: [] for name in new}
        if new:
            for weights in draw_kept_weights(count_units(self.groups), self.rounds, self.seed):
                for name, run in grouped.items():
                    self._blocks[name].append(run.under(weights))
                on_progress(len(weights))
        else:
            on_progress(self.rounds)
        each = zip(*(self._blocks[id(run)] for run in runs), strict=True)
        return [np.stack(block) for block in each]


def compare_runs(
    a: Sequence[Resampleable],
    b: Sequence[Resampleable],
    groups: Ints,
    *,
    rounds: int = TEST_RESAMPLES,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
    resampled: ResampledRuns | None = None,
) -> tuple[Difference, float]:
    """Difference of the means over runs, and the least one that would be found (5%, power 80%).

    A side with one run is taken to vary over seeds as the other does. `on_progress` is called with rounds as they are
    done, twice `rounds` in all. `resampled` caches the resamples of other pairs of the same runs.
    """
    units = count_units(groups)
    enough, done = min(rounds, ENOUGH_RESAMPLES), 0

    def count_rounds(drawn: int) -> None:
        nonlocal done
        before, done = done, done + drawn
        on_progress(2 * rounds * done // enough - 2 * rounds * before // enough)

    resampled = resampled or ResampledRuns(groups, enough, seed)
    both = np.concatenate(resampled.blocks([*a, *b], count_rounds), axis=1)
    left, right = both[: len(a)], both[len(a) :]
    values_a, values_b = [run.value for run in a], [run.value for run in b]
    seen = float(np.mean(values_b) - np.mean(values_a))
    error, df = difference_error(left, right, values_a, values_b)
    if np.isnan(seen) or np.isnan(error) or units < LEAST_UNITS:
        p = t_p(seen / error, df) if error > 0 else nan
        return Difference(seen, nan, nan, p, p), nan
    reach = t_quantile(0.975, df)
    p = t_p(seen / error, df) if error else float(seen == 0)
    difference = Difference(seen, seen - reach * error, seen + reach * error, p, p)
    return difference, (reach + t_quantile(0.8, df)) * error


def difference_error(
    left: Floats, right: Floats, a: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    """The standard error of the difference of means, and its degrees of freedom."""
    undefined = np.isnan(left).any(axis=0) | np.isnan(right).any(axis=0)
    if (~undefined).sum() < 2:
        return nan, MAX_DF
    left, right = left[:, ~undefined], right[:, ~undefined]
    gaps = right.mean(axis=0) - left.mean(axis=0)
    items = float(np.var(gaps, ddof=1))
    spreads = (spread_over_seeds(left, a), spread_over_seeds(right, b))
    sides = [spread for spread in spreads if spread is not None]
    one, two = sides if len(sides) == 2 else (sides[0], sides[0])
    seeds = one.variance / len(a) + two.variance / len(b)
    if len(sides) == 2:
        uncertain = (one.error / len(a)) ** 2 / (len(a) - 1)
        uncertain += (two.error / len(b)) ** 2 / (len(b) - 1)
    else:
        uncertain = (one.error * (1 / len(a) + 1 / len(b))) ** 2 / (one.runs - 1)
    variance = items + seeds
    return sqrt(variance), _degrees_of_freedom(variance, uncertain)


def _degrees_of_freedom(variance: float, uncertain: float) -> float:
    """Satterthwaite's, from a variance and the uncertain part of its square."""
    return min(MAX_DF, max(1.0, variance**2 / uncertain)) if uncertain else MAX_DF


class ScoredRun(Resampleable, Protocol):
    """What a metric returns for one run, with its scores per item."""

    @property
    def itemwise(self) -> bool:
        """Whether the metric is a mean over items."""

    @property
    def detail(self) -> Floats | None:
        """One score per item."""


def interval_over_seeds(
    runs: Sequence[ScoredRun], units: Ints, rounds: int, resample: Callable[[int], ResampledRuns]
) -> tuple[float, float, bool]:
    """The 95% interval of the mean of runs over items and seeds, and whether it is Student's t.

    Metrics that are means over items have t; for others, items and seeds are resampled. `resample` gives the resamples of the units
    for a number of rounds. NaN where the interval is not defined.
    """
    if all(run.itemwise for run in runs):
        drawn = np.concatenate(resample(min(rounds, ENOUGH_RESAMPLES)).blocks(runs), axis=1)
        values = np.array([run.value for run in runs])
        limits = find_limits(*(run.detail for run in runs))
        low, high = mean_interval(values, drawn, count_units(units), limits)
        return low, high, True
    generator, means = np.random.default_rng((0, 3)), []
    for block in resample(rounds).blocks(runs):
        picks = generator.integers(0, len(block), size=block.shape)
        means.append(np.take_along_axis(block, picks, axis=0).mean(axis=0))
    low, high = percentile_interval(np.concatenate(means), count_units(units))
    return low, high, False
