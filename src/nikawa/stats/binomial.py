"""The exact one-sided binomial test with 1/m as the null, for many counts at once and without scipy.

P(X ≥ k | n, p) is the regularised incomplete beta function I_p(k, n-k+1), computed by its continued fraction
(modified Lentz; Numerical Recipes, 6.4). For each n the test is one number, the critical count: the least k whose
tail lies below the threshold. Where floating point cannot tell the two apart, integers decide.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, lgamma, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 100_000
TINY = 1e-300
NEAR = 1e-6
"""Relative distance from the threshold within which integers decide; the tail's own error is far smaller."""


def log_tail(n: Ints, k: Ints, p: float) -> Floats:
    """ln P(X ≥ k | n, p), for 0 < k ≤ n above the mean; the farther above, the faster."""
    a, b = k.astype(np.float64), (n - k + 1).astype(np.float64)
    front = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    power: Floats = a * log(p) + b * np.log1p(-p)
    return front + power - np.log(a) + np.log(_fraction(a, b, p))


def _log_gamma(x: Floats) -> Floats:
    values, places = np.unique(x, return_inverse=True)
    return np.array([lgamma(value) for value in values.tolist()], dtype=np.float64)[places]


def _fraction(a: Floats, b: Floats, x: float) -> Floats:
    """The continued fraction of the incomplete beta function; entries that have settled drop out."""
    result, live = np.ones_like(a), np.arange(len(a))
    c, d = np.ones_like(a), 1 / _away(1 - (a + b) * x / (a + 1))
    h = d.copy()
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d, c = 1 / _away(1 + step * d), _away(1 + step / c)
            change = c * d
            h = h * change
        result[live] = h
        going = np.abs(change - 1) > 1e-15
        if not going.any():
            break
        live, (a, b, c, d, h) = live[going], (each[going] for each in (a, b, c, d, h))
    return result


def _away(x: Floats) -> Floats:
    """`x` with zeros moved off zero, as Lentz's method asks."""
    return np.where(np.abs(x) < TINY, TINY, x)


def critical_counts(n: Ints, labels: int, threshold: Fraction) -> Ints:
    """For each n the least k with P(X ≥ k | n, 1/labels) < threshold; n + 1 where even k = n is not enough."""
    sizes, places = np.unique(n, return_inverse=True)
    low, high = (
        sizes // labels,
        sizes + 1,
    )  # a tail at the mean or below it is never under a threshold below 1/2
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_] + high[open_]) // 2
        under = is_under(sizes[open_], middle, labels, threshold)
        high[open_[under]] = middle[under]
        low[open_[~under]] = middle[~under]
    return high[places]


def is_under(n: Ints, k: Ints, labels: int, threshold: Fraction) -> NDArray[np.bool_]:
    """Whether each tail, k above the mean, lies below the threshold."""
    distance = log_tail(n, k, 1 / labels) - (log(threshold.numerator) - log(threshold.denominator))
    under = distance < 0
    for i in np.flatnonzero(np.abs(distance) < NEAR):
        under[i] = exact_tail(int(n[i]), int(k[i]), labels) < threshold
    return under


def exact_tail(n: int, k: int, labels: int) -> Fraction:
    """P(X ≥ k | n, 1/labels) as a fraction."""
    term, total = comb(n, k) * (labels - 1) ** (n - k), 0
    for i in range(k, n + 1):
        total += term
        term = term * (n - i) // ((i + 1) * (labels - 1))
    return Fraction(total, labels**n)
