"""Distributions that tests and intervals need: Student's t, the binomial tail, the normal tail, Wilson's interval.

Both t and the binomial rest on the regularised incomplete beta function I_x(a, b), computed by its continued fraction with
Lentz's method (Press et al., Numerical Recipes, 6.4). This is the one implementation, whether scipy is installed or not: stored
results must not change their last digits with what happens to be installed, and scipy's differ in the 13th (it also takes half
a second to load). The scalar form serves t, where one value is wanted at a time; the vector form serves the binomial, where
one call takes all tokens of a dataset and only logarithms of tails stay in range.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, erfc, exp, inf, isnan, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95% interval."""
TINY = 1e-300
"""Stands for 0 in a denominator, as Lentz's method asks."""
CONVERGED = 1e-15
MAX_T_STEPS = 10_000
MAX_BINOMIAL_STEPS = 100_000
NEAR_THRESHOLD = 1e-6
"""Relative distance from a threshold within which integers decide; the tail's own error is far smaller."""


def normal_p(difference: float, error: float) -> float:
    """Two-sided p of a normal difference; an error of 0 shows nothing unless there is a difference."""
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return erfc(abs(difference) / error / sqrt(2))


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n (Wilson 1927); 0 to 1 where n is 0.

    >>> low, high = wilson_interval(0.8, 10)
    >>> f"{low:.3f} {high:.3f}"
    '0.490 0.943'
    """
    if not n:
        return 0.0, 1.0
    scale = 1 + Z_95 * Z_95 / n
    centre = (share + Z_95 * Z_95 / (2 * n)) / scale
    half = Z_95 / scale * sqrt(share * (1 - share) / n + Z_95 * Z_95 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def t_p(t: float, df: float) -> float:
    """The two-sided p of a value of Student's t, for any real number of degrees of freedom; NaN for NaN.

    P(|T| > t) = I_x(df/2, 1/2) at x = df / (df + t²).
    """
    if isnan(t) or isnan(df):
        return float("nan")
    square = t * t
    if square == inf:
        return 0.0
    return _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square))


def t_below(t: float, df: float) -> float:
    """The one-sided p of a value of Student's t: the probability of a lower one. NaN for NaN and without degrees of freedom.

    >>> round(t_below(-2.0, 10), 4), t_below(0.0, 10)
    (0.0367, 0.5)
    """
    if df <= 0:
        return float("nan")
    tail = t_p(t, df) / 2
    return tail if t < 0 else 1 - tail


@lru_cache(4096)
def t_quantile(share: float, df: float) -> float:
    """The quantile of Student's t for `share` (above 0.5)."""
    low, high = 0.0, 1.0
    while t_p(high, df) > 2 * (1 - share):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # neighbouring floats: nothing is between them
            break
        if t_p(middle, df) > 2 * (1 - share):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b), with `rest` = 1 - x given apart, for its digits; from the side where the fraction converges fast."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    log_x = log1p(-rest) if rest < 0.5 else log(x)
    log_rest = log1p(-x) if x < 0.5 else log(rest)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest)
    fraction, c, d = 1.0, 1.0, 0.0  # 1 + d1/(1 + d2/(1 + …))
    for step in range(1, MAX_T_STEPS):
        m = step // 2
        if step % 2 == 0:
            term = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + term * x * d or TINY)
        c = 1 + term * x / c or TINY
        fraction *= c * d
        if abs(c * d - 1) < CONVERGED:
            break
    return front / (a * fraction)


def binomial_log_tail(n: Ints, k: Ints, p: float) -> Floats:
    """ln P(X ≥ k | n, p) = ln I_p(k, n-k+1), for 0 < k ≤ n above the mean; the farther above, the faster."""
    a, b = k.astype(np.float64), (n - k + 1).astype(np.float64)
    front = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    power: Floats = a * log(p) + b * np.log1p(-p)
    return front + power - np.log(a) + np.log(beta_fractions(a, b, p))


def critical_counts(n: Ints, labels: int, threshold: Fraction) -> Ints:
    """For each n the least k with P(X ≥ k | n, 1/labels) < threshold; n + 1 where even k = n is not enough.

    So the exact one-sided test is one number for each n. If floating point cannot separate tail and threshold, integers decide.
    """
    sizes, places = np.unique(n, return_inverse=True)
    low = sizes // labels  # a tail at the mean or below it is never under a threshold below 1/2
    high = sizes + 1
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_] + high[open_]) // 2
        under = are_tails_under(sizes[open_], middle, labels, threshold)
        high[open_[under]] = middle[under]
        low[open_[~under]] = middle[~under]
    return high[places]


def are_tails_under(n: Ints, k: Ints, labels: int, threshold: Fraction) -> NDArray[np.bool_]:
    """Whether each tail P(X ≥ k | n, 1/labels), k above the mean, is below the threshold."""
    log_threshold = log(threshold.numerator) - log(threshold.denominator)
    distance = binomial_log_tail(n, k, 1 / labels) - log_threshold
    under = distance < 0
    for i in np.flatnonzero(np.abs(distance) < NEAR_THRESHOLD):
        under[i] = exact_tail(int(n[i]), int(k[i]), labels) < threshold
    return under


def exact_tail(n: int, k: int, labels: int) -> Fraction:
    """P(X ≥ k | n, 1/labels) as a fraction."""
    term, total = comb(n, k) * (labels - 1) ** (n - k), 0
    for i in range(k, n + 1):
        total += term
        term = term * (n - i) // ((i + 1) * (labels - 1))
    return Fraction(total, labels**n)


def _log_gamma(x: Floats) -> Floats:
    values, places = np.unique(x, return_inverse=True)
    return np.array([lgamma(value) for value in values.tolist()], dtype=np.float64)[places]


def beta_fractions(a: Floats, b: Floats, x: float) -> Floats:
    """The continued fraction of the incomplete beta function for many a and b; entries that have settled drop out."""
    result, live = np.ones_like(a), np.arange(len(a))
    c, d = np.ones_like(a), 1 / _off_zero(1 - (a + b) * x / (a + 1))
    h = d.copy()
    for m in range(1, MAX_BINOMIAL_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d, c = 1 / _off_zero(1 + step * d), _off_zero(1 + step / c)
            change = c * d
            h = h * change
        result[live] = h
        going = np.abs(change - 1) > CONVERGED
        if not going.any():
            break
        live, (a, b, c, d, h) = live[going], (each[going] for each in (a, b, c, d, h))
    return result


def _off_zero(x: Floats) -> Floats:
    return np.where(np.abs(x) < TINY, TINY, x)
