"""One system with several runs: the interval of its mean over items and seeds, both of which are samples.

For a metric that is a mean over items. The variance is that of one side of `paired_seeds`: over items the bootstrap's,
of the mean over runs; over seeds s²/k, less what of s² is chance item by item and so in the first part already. Few
seeds tell s² badly, and a bootstrap that draws two or three of them is too narrow: the ends are Student's t with
Satterthwaite's degrees of freedom, in which only what the seeds add is uncertain.
"""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np

from nikawa.stats.paired_seeds import MANY, spread
from nikawa.stats.resample import Floats
from nikawa.stats.results import LEAST_UNITS
from nikawa.stats.student import t_p, t_quantile

Limits = tuple[float, float]
"""The least and the greatest value that can be."""
ANY: Limits = (-inf, inf)
SHARE: Limits = (0.0, 1.0)


def limits_of(*details: Floats | None) -> Limits:
    """What a mean of scores an item can be: a share where every score is one."""
    inside = all(
        detail is not None and bool(((detail >= 0) & (detail <= 1)).all()) for detail in details
    )
    return SHARE if inside else ANY


def mean_interval(
    values: Floats, drawn: Floats, units: int | None, limits: Limits = ANY
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
    own = spread(drawn, values.tolist())
    if own is None:
        return sqrt(items), MANY
    variance = items + own.variance / k
    uncertain = (own.error / k) ** 2 / (k - 1)
    return sqrt(variance), min(MANY, max(1.0, variance**2 / uncertain)) if uncertain else MANY
