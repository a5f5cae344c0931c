"""The ladder: when a new score is shown, so that a leaderboard cannot be climbed by what it says.

Blum and Hardt (2015), "The Ladder: A Reliable Leaderboard for Machine Learning Competitions", ICML. An account that sees the score of
every submission can combine submissions that were lucky into one that seems good and is not. The ladder shows a score only when it
beats the best one shown so far by more than chance; otherwise the account learns only that it did not. R is the shown best:

- The ladder: R(t) = [v(t)] if v(t) > R(t-1) + step, else R(t-1), where [v] is v rounded to a multiple of the step (`climb_fixed`).
- The parameter-free ladder takes the noise of this very difference in place of a fixed step: R(t) = [v(t)] if
  v(t) > R(t-1) + s / sqrt(n), where s is the standard deviation, over the n items, of the difference between the item scores of
  submission t and those of the submission that set R(t-1) (`climb`).

The paper rounds to 1/n in the second form. Here it rounds to the step as well, and the rounded value must be above R: so shown values
are few and rise strictly, which `leakage` counts. The paper has losses, which fall; here higher is better.

One more rule is not in the paper. Somebody who starts at 0 on purpose, with answers left out, could be shown a hundred new bests
on the way to the score of guessing, and each says which of many random files was lucky. So the rise that is needed grows: after each
`BESTS_PER_STEP` shown bests, a new one must be one more step above the old.

A metric that is no mean over items has no item scores. Its noise is the standard deviation of the difference under paired
bootstrap resamples of items; for a mean this is s / sqrt(n) again. Where items come in groups (a premise, a dialogue), the
group is the unit in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor, isnan, log10, sqrt

import numpy as np

from nikawa.metrics.base import Evaluation
from nikawa.stats.resample import Floats, Ints, bootstrap, count_units

NOISE_RESAMPLES = 1_000
"""Resamples for the noise of a metric that is no mean over items."""
BESTS_PER_STEP = 5
"""After so many shown bests, the next must rise by one more step."""
NICE = (5, 2, 1)
"""A step is one of these times a power of ten."""


@dataclass(frozen=True)
class Rung:
    """What an account sees after a submission."""

    shown: float | None
    """The shown best; None before the first submission with a defined value."""
    is_new_best: bool


def choose_step(n: int) -> float:
    """The step for a test of n items, in percent points: about the standard error of a score of 50%.

    The largest of 1, 2, 5, 10, … times a power of ten that is not above 50 / sqrt(n).

    >>> choose_step(2_000), choose_step(5_000), choose_step(100)
    (1.0, 0.5, 5.0)
    """
    error = 50 / sqrt(max(1, n))
    power = floor(log10(error))
    for digit in NICE:
        if (step := float(Decimal(digit).scaleb(power))) <= error:
            return step
    return float(Decimal(1).scaleb(power))


def round_to_step(value: float, step: float) -> float:
    """The nearest multiple of a step; halves go up. A step of 0 changes nothing.

    >>> round_to_step(83.74, 0.5), round_to_step(0.15, 0.1)
    (83.5, 0.2)
    """
    if not step or isnan(value):
        return value
    # the product is exact in decimals: 3 * 0.1 is 0.30000000000000004
    steps = floor(Decimal(repr(value)) / Decimal(repr(step)) + Decimal("0.5"))
    return float(Decimal(repr(step)) * steps)


def climb_fixed(shown: float | None, value: float, step: float) -> Rung:
    """The ladder with a fixed step (Algorithm 1 of the paper).

    >>> climb_fixed(80.0, 80.9, 1.0).is_new_best, climb_fixed(80.0, 81.2, 1.0).shown
    (False, 81.0)
    """
    return climb(shown, value, step, step)


def climb(shown: float | None, value: float, noise: float, step: float, bests: int = 1) -> Rung:
    """The parameter-free ladder (Algorithm 2 of the paper), rounded to a step; higher is better.

    `shown` is the shown best, `noise` the standard error of the difference from the submission that set it, and `bests` counts the bests
    that were shown before. A value or a noise that is not defined never climbs.

    >>> climb(80.0, 81.2, 0.4, 1.0)
    Rung(shown=81.0, is_new_best=True)
    >>> climb(80.0, 81.2, 1.3, 1.0)  # within the noise
    Rung(shown=80.0, is_new_best=False)
    >>> climb(80.0, 80.4, 0.1, 1.0)  # above the noise, yet nothing that the step shows
    Rung(shown=80.0, is_new_best=False)
    >>> climb(80.0, 81.2, 0.4, 1.0, bests=5)  # the sixth best must rise by two steps
    Rung(shown=80.0, is_new_best=False)
    """
    if isnan(value):
        return Rung(shown, False)
    rounded = round_to_step(value, step)
    if shown is None:
        return Rung(rounded, True)
    # half a step of slack: sums of decimals are not exact
    if value > shown + noise and rounded > shown + step * (needed_steps(bests) - 0.5):
        return Rung(rounded, True)
    return Rung(shown, False)


def needed_steps(bests: int) -> int:
    """By how many steps a new best must be above the old, after so many.

    >>> [needed_steps(bests) for bests in (1, 4, 5, 10)]
    [1, 1, 2, 3]
    """
    return 1 + bests // BESTS_PER_STEP


def count_most_bests(levels: int) -> int:
    """The most bests that a ladder with so many levels can show to one account.

    >>> count_most_bests(101), count_most_bests(1)
    (29, 1)
    """
    bests, left = 1, levels - 1
    while (left := left - needed_steps(bests)) >= 0:
        bests += 1
    return bests


def measure_noise(first: Sequence[Evaluation], second: Sequence[Evaluation], groups: Ints) -> float:
    """The standard error of the difference between two submissions, each with one evaluation a seed, in the unit of the metric.

    `groups[i]` is the group of item i, counted from 0. The mean over seeds is what is compared.
    """
    details = [
        [one.detail for one in side if one.itemwise and one.detail is not None]
        for side in (first, second)
    ]
    if len(details[0]) == len(first) and len(details[1]) == len(second):
        left, right = (np.mean(side, axis=0) for side in details)
        return mean_noise(right - left, groups)
    left, right = (
        np.mean([bootstrap(one, groups, resamples=NOISE_RESAMPLES) for one in side], axis=0)
        for side in (first, second)
    )
    differences = right - left
    differences = differences[~np.isnan(differences)]
    return float(differences.std(ddof=1)) if len(differences) > 1 else float("nan")


def mean_noise(differences: Floats, groups: Ints | None = None) -> float:
    """The standard error of the mean of item differences: s / sqrt(n), and with groups that of the sums of groups.

    With d(g) the sum over group g of (difference - mean), and G groups: sqrt(G / (G - 1) * sum of d(g)^2) / n.

    >>> float(round(mean_noise(np.array([1.0, 0.0, 0.0, -1.0])), 4))
    0.4082
    """
    n = len(differences)
    centred = differences - differences.mean() if n else differences
    sums = centred if groups is None else np.bincount(groups, weights=centred)
    units = n if groups is None else count_units(groups)
    if units < 2:
        return float("nan")
    return float(sqrt(units / (units - 1) * float((sums**2).sum())) / n)
