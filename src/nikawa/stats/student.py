"""Student's t distribution: its tails and quantiles, for any real number of degrees of freedom.

P(|T| > t) is the regularised incomplete beta function I_x(df/2, 1/2) at x = df / (df + t²), computed by its continued
fraction (Lentz's method), from the side where that converges fast.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, isnan, lgamma, log, log1p

STEPS = 10_000
TINY = 1e-300
CLOSE = 1e-15


def t_p(t: float, df: float) -> float:
    """The two-sided p of a value of t; NaN for NaN."""
    if isnan(t) or isnan(df):
        return float("nan")
    square = t * t
    return _beta(df / 2, 0.5, df / (df + square), square / (df + square)) if square < inf else 0.0


@lru_cache(4096)
def t_quantile(share: float, df: float) -> float:
    """The value below which `share` (over a half) of the distribution lies."""
    low, high = 0.0, 1.0
    while t_p(high, df) > 2 * (1 - share):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # neighbours: nothing lies between
            break
        low, high = (middle, high) if t_p(middle, df) > 2 * (1 - share) else (low, middle)
    return (low + high) / 2


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b), with `rest` = 1 - x given apart, for its digits."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, rest, x)
    log_x = log1p(-rest) if rest < 0.5 else log(x)
    log_rest = log1p(-x) if x < 0.5 else log(rest)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest)
    return front / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1 + d1/(1 + d2/(1 + …)) of the incomplete beta function."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, STEPS):
        m = step // 2
        term = (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))
            if step % 2 == 0
            else -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))
        )
        d = 1 / (1 + term * x * d or TINY)
        c = 1 + term * x / c or TINY
        value *= c * d
        if abs(c * d - 1) < CLOSE:
            break
    return value
