"""The reliability of numbers: the intraclass correlation of one answer, and Spearman and Brown's step up to several."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nikawa.aggregation.table import Floats, Table

RESAMPLES = 1_000


def stepped_up(single: float, k: int) -> float:
    """Spearman and Brown's prophecy (1910): the reliability of the mean of k answers."""
    single = max(0.0, single)
    return k * single / (1 + (k - 1) * single)


def needed(single: float, wished: float) -> int | None:
    """The fewest answers whose mean has the wished reliability; None where one answer has none."""
    if single <= 0:
        return None
    return max(1, math.ceil(wished * (1 - single) / (single * (1 - wished)) - 1e-9))


def icc(table: Table) -> float:
    """Intraclass correlation of one answer, from items with several; NaN where nothing varies."""
    return float(_icc_of(_icc_statistics(table).sum(axis=0)))


def icc_interval(table: Table) -> tuple[float, float]:
    """Its 95% bootstrap interval over items."""
    kept: dict[str, Any] = table._kept
    if "icc_interval" not in kept:
        kept["icc_interval"] = resampled(_icc_statistics(table), _icc_of)
    found: tuple[float, float] = kept["icc_interval"]
    return found


def _icc_statistics(table: Table) -> Floats:
    """Of each item with several answers: 1, n, n², Σx, (Σx)²/n, Σx². Numbers are taken from their mean for precision."""
    numbers = table.numbers - table.numbers.mean()
    n = table.per_item().astype(np.float64)
    total = np.bincount(table.item, numbers, len(n))
    squares = np.bincount(table.item, numbers * numbers, len(n))
    found = np.column_stack(
        [np.ones_like(n), n, n * n, total, total**2 / np.maximum(1, n), squares]
    )
    return np.asarray(found[n > 1])


def _icc_of(sums: Floats) -> Floats:
    items, n, squared, total, between, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = (n - squared / n) / (items - 1)
        mean_between = (between - total * total / n) / (items - 1)
        mean_within = (squares - between) / (n - items)
        return np.asarray((mean_between - mean_within) / (mean_between + (size - 1) * mean_within))


def resampled(statistics: Floats, finish: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The 95% percentile interval of a function of sums over items: how often each kind of item is drawn varies."""
    kinds, counts = np.unique(statistics, axis=0, return_counts=True)
    n = len(statistics)
    drawn = np.random.default_rng(0).multinomial(n, counts / n, size=RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = finish(drawn.astype(np.float64) @ kinds)
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (math.nan, math.nan)
    return float(low), float(high)
