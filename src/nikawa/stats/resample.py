"""Bootstrap intervals and paired tests, for any metric that can compute its value under item weights.

Interval: the percentile bootstrap (Efron 1979) over groups of items, fixed seed. Paired tests
between two systems on the same items: approximate randomisation (Noreen 1989; swaps the two answers of a group at
random) and the paired bootstrap; exact McNemar for right-or-wrong metrics. Multiplicity: Holm (1979), and the false discovery rate of Benjamini and Yekutieli (2001), which holds
however the tests depend on each other (https://doi.org/10.1214/aos/1013699998).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nikawa.stats.results import LEAST_UNITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TEST_RESAMPLES = 10_000
"""Of paired tests and of stress tests, which are made once."""
SCORE_RESAMPLES = 2_000
"""Of the interval of a score, wherever a set is scored: more take over half a second for rank correlations of 2,000 items."""
MAX_WEIGHTS_AT_ONCE = 800_000
"""Weights in memory at once: few enough to stay in the processor's cache."""
MAX_PRODUCTS_AT_ONCE = 1_000_000
"""Products that are summed by group at a time."""
MAX_WEIGHTS_KEPT = 40_000_000
"""Weights that are cached, one byte each; further ones are drawn again each time."""
MAX_WEIGHTS_KEPT_AS_FLOATS = 4_000_000
"""Weights that are remembered as they are used, eight bytes each."""
EXACT_SUM = 1 << 24
"""Whole numbers below this are exact in float32, and so are their sums."""
PLACES, RESERVE = 256, 96
"""Binary places that binomial coefficients are computed to, and how many of the last ones rounding may change: each of n terms loses
less than one unit of the last place, and with it at most as much in each of the terms that follow."""
MIN_UNITS_PER_KIND = 16
"""Units a kind from which drawing kinds is cheaper than drawing units."""


class Resampleable(Protocol):
    """What a metric returns, as far as resampling needs it: see `nikawa.metrics`."""

    @property
    def value(self) -> float:
        """The metric."""

    def under(self, weights: Floats) -> Floats:
        """The metric for each row of item weights."""

    def grouped(self, groups: Ints) -> Any:
        """The same metric over groups of items (`groups[i]` is item i's, counted from 0) as the unit."""


def number_groups(names: Sequence[object]) -> Ints:
    """Groups numbered from 0 in order of first appearance."""
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.int64)


def count_units(groups: Ints) -> int:
    """How many groups there are."""
    return int(groups.max()) + 1 if len(groups) else 0


def split_groups(units: Ints, width: int) -> Iterator[tuple[slice, Any, Ints]]:
    """A few groups at a time: which they are, their items, and where among these each group begins.

    `width` are the numbers of an item that are looked at together.
    """
    starts = np.concatenate([[0], np.cumsum(np.bincount(units))]).astype(np.int64)
    is_sorted = bool((units[1:] >= units[:-1]).all())
    order = None if is_sorted else np.argsort(units, kind="stable")
    step = max(1, MAX_PRODUCTS_AT_ONCE // max(1, width))
    begin = 0
    while begin < len(starts) - 1:
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + step)) - 1)
        items = slice(starts[begin], starts[end])
        rows = items if order is None else order[items]
        yield slice(begin, end), rows, starts[begin:end] - starts[begin]
        begin = end


def sum_groups(matrix: NDArray[Any], units: Ints) -> Floats:
    """Sums over the items of each group."""
    sums = np.empty((count_units(units), matrix.shape[1]))
    for groups, rows, first in split_groups(units, matrix.shape[1]):
        sums[groups] = np.add.reduceat(matrix[rows], first, axis=0, dtype=np.float64)
    return sums


def sum_products(
    left: NDArray[np.bool_],
    right: NDArray[Any],
    units: Ints,
    kind: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """The same of every column of `left` times every column of `right`, a few groups at a time: all products may be many."""
    sums = np.empty((count_units(units), left.shape[1] * right.shape[1]), dtype=kind)
    for groups, rows, first in split_groups(units, sums.shape[1]):
        products = left[rows][:, :, None] * right[rows][:, None, :]
        matrix = products.reshape(-1, sums.shape[1])
        sums[groups] = np.add.reduceat(matrix, first, axis=0, dtype=np.float64)
    return sums


def has_exact_sums(sums: NDArray[Any]) -> bool:
    """Whether sums of groups, and of as many groups drawn from them, are exact in float32 and so in any order."""
    if not np.isfinite(sums).all() or (np.floor(sums) != sums).any():
        return False
    return float(np.abs(sums).max(initial=0)) * len(sums) < EXACT_SUM


def draw_units(units: int, resamples: int, seed: int) -> Iterator[Ints]:
    """Blocks of bootstrap resamples: the units drawn, one row per resample.

    Resample i depends on (seed, block) alone, never on the number of resamples.
    """
    rows = max(1, MAX_WEIGHTS_AT_ONCE // max(1, units))
    kind = np.uint16 if units <= 1 << 16 else np.uint32
    for number, start in enumerate(range(0, resamples, rows)):
        generator = np.random.Generator(np.random.SFC64((seed, number)))
        size = min(rows, resamples - start)  # fewer rows are the first ones of a whole block
        yield generator.integers(0, units, size=(size, units), dtype=kind).astype(np.int64)


def draw_weights(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of bootstrap weights: how often each unit was drawn, one row per resample."""
    for block in draw_units(units, resamples, seed):
        size = len(block)
        np.add(block, (np.arange(size) * units)[:, None], out=block)
        yield (
            np.bincount(block.ravel(), minlength=size * units)
            .reshape(size, units)
            .astype(np.float64)
        )


def draw_kept_weights(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """The blocks of `draw_weights`, to be read only: an analysis asks for the same ones many times, so the last ones are kept."""
    weights = units * resamples
    if weights > MAX_WEIGHTS_KEPT:
        yield from draw_weights(units, resamples, seed)
    elif weights > MAX_WEIGHTS_KEPT_AS_FLOATS:
        for block in _draw_packed(units, resamples, seed):
            yield block.astype(np.float64)
    else:
        yield from _draw_floats(units, resamples, seed)


@lru_cache(2)
def _draw_floats(units: int, resamples: int, seed: int) -> list[Floats]:
    return list(draw_weights(units, resamples, seed))


@lru_cache(2)
def _draw_packed(units: int, resamples: int, seed: int) -> list[NDArray[Any]]:
    return [
        block.astype(np.uint8 if block.max(initial=0) < 256 else np.uint16)
        for block in draw_weights(units, resamples, seed)
    ]


def bootstrap(
    evaluation: Resampleable, groups: Ints, *, resamples: int = TEST_RESAMPLES, seed: int = 0
) -> Floats:
    """The metric under each resample of groups."""
    return bootstrap_all([evaluation], groups, resamples=resamples, seed=seed)[0]


def bootstrap_all(
    evaluations: Sequence[Resampleable],
    groups: Ints,
    *,
    resamples: int = TEST_RESAMPLES,
    seed: int = 0,
) -> list[Floats]:
    """Several metrics of the same items under the same resamples, which are drawn once."""
    if not len(groups):
        return [np.full(resamples, np.nan) for _ in evaluations]
    units = count_units(groups)
    targets = [evaluation.grouped(groups) for evaluation in evaluations]
    blocks: list[list[Floats]] = []
    by_unit = []
    for target in targets:
        values = bootstrap_by_kind(target, units, resamples, seed)
        blocks.append([] if values is None else [values])
        if values is None:
            by_unit.append((target, blocks[-1]))
    for weights in draw_weights(units, resamples, seed) if by_unit else ():
        for target, values_so_far in by_unit:
            values_so_far.append(target.under(weights))
    return [np.concatenate(each) for each in blocks]


def bootstrap_by_kind(target: Any, units: int, resamples: int, seed: int) -> Floats | None:
    """The resampled metric where units are of few kinds; None where they are not.

    Units with the same statistics are exchangeable: how often each kind is drawn is multinomial.
    """
    if not hasattr(target, "statistics"):
        return None
    kinds, counts = np.unique(target.statistics, axis=0, return_counts=True)
    if len(kinds) * MIN_UNITS_PER_KIND > units:
        return None
    drawn = np.random.default_rng((seed, 2)).multinomial(units, counts / units, size=resamples)
    values: Floats = target.finish(drawn.astype(np.float64) @ kinds)
    return values


def percentile_interval(
    values: Floats, units: int | None, level: float = 0.95
) -> tuple[float, float]:
    """The middle `level` of resampled values, those left out that are undefined.

    NaN where all are, and where fewer than `LEAST_UNITS` units were drawn from: None takes any number of them.
    """
    known = values[~np.isnan(values)]
    if not len(known) or (units is not None and units < LEAST_UNITS):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def score_interval(
    values: Floats, groups: Ints, scale: float = 1.0
) -> tuple[float | None, float | None]:
    """The interval of a score, times `scale`; None without one."""
    low, high = percentile_interval(values, count_units(groups))
    return None if np.isnan(low) else low * scale, None if np.isnan(high) else high * scale


@dataclass(frozen=True)
class Difference:
    """B minus A on the same items."""

    value: float
    low: float
    high: float
    p: float
    """Approximate randomisation for one run per side; Welch's t over items and seeds for several."""
    p_bootstrap: float
    """Paired bootstrap; the same as `p` for several runs per side."""


def two_sided_p(null: Floats, seen: float) -> float:
    """Share of null values at least as far from 0 as the one seen, the seen one counted in."""
    if np.isnan(seen):
        return float("nan")
    far = np.abs(null[~np.isnan(null)]) >= abs(seen) - 1e-12
    return float((far.sum() + 1) / (len(far) + 1))


def bootstrap_p(differences: Floats) -> float:
    """Two-sided p of the paired bootstrap: the share of it on the other side of 0."""
    known = differences[~np.isnan(differences)]
    if not len(known):
        return float("nan")
    below, above = (known <= 0).sum(), (known >= 0).sum()
    return float(min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1)))


def draw_coins(units: int, rounds: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """Blocks of random choices, 0 or 1 a unit, one row per round."""
    rows = max(1, MAX_WEIGHTS_AT_ONCE // max(1, units))
    for number, start in enumerate(range(0, rounds, rows)):
        generator = np.random.default_rng((seed, 1, number))
        size = min(rows, rounds - start)
        yield generator.integers(0, 2, size=(size, units), dtype=np.int8)


def draw_swap_weights(units: int, rounds: int, seed: int) -> Iterator[Floats]:
    """The same as weights."""
    return (coin.astype(np.float64) for coin in draw_coins(units, rounds, seed))


def mcnemar(a: Floats, b: Floats) -> tuple[int, int, float]:
    """Items only A has right, only B has right, and the exact two-sided p (binomial with 1/2)."""
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    n, k = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 0, 0, 1.0
    return only_a, only_b, min(1.0, both_tails(n, k))


def both_tails(n: int, k: int) -> float:
    """Twice the probability of at most k heads of n coins: the float next to the exact value.

    The coefficient of k, and the sum of the smaller ones relative to it, are computed to so many binary places, always rounded down,
    which gives two bounds. Where both are the same float, it is the value; else all coefficients are added exactly, which takes time
    that grows with the square of k.

    >>> both_tails(10, 2)
    0.109375
    """
    largest, exponent = 1, 0
    for i in range(1, k + 1):
        largest = largest * (n - k + i) // i
        if largest.bit_length() > 2 * PLACES:
            largest, exponent = largest >> PLACES, exponent + PLACES
    total = term = 1 << PLACES
    for i in range(k, 0, -1):
        term = term * i // (n - i + 1)
        total += term
        if not term:  # those that are left are as small
            break
    shift = n + PLACES - 1 - exponent
    more = largest + (largest >> PLACES - RESERVE) + 1, total + (1 << RESERVE)
    low, high = (
        (a * b << max(0, -shift)) / (1 << max(0, shift)) for a, b in ((largest, total), more)
    )
    if low == high:
        return low
    tail = term = 1
    for i in range(k):  # each binomial coefficient from the one before
        term = term * (n - i) // (i + 1)
        tail += term
    return 2 * tail / (1 << n)


def correct_holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down correction of several p values, in their own order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = highest
    return adjusted


def reject_benjamini_yekutieli(values: Sequence[float], level: float) -> list[bool]:
    """Which of several p values are significant at a false discovery rate of `level`, in their own order.

    The step-up procedure: all up to the largest p(i) <= i / m * level / (1 + 1/2 + ... + 1/m). An undefined p (NaN) counts as
    a test, and is never significant.

    >>> reject_benjamini_yekutieli([0.001, 0.3, 0.01], 0.05)
    [True, False, True]
    """
    p = np.asarray(values, dtype=np.float64)
    order = np.argsort(p)
    under = np.flatnonzero(p[order] <= benjamini_yekutieli_limits(len(p), level))
    rejected = np.zeros(len(p), dtype=bool)
    if len(under):
        rejected[order[: under[-1] + 1]] = True
    return [bool(each) for each in rejected]


def benjamini_yekutieli_limits(tests: int, level: float) -> Floats:
    """The limit of the smallest p value, of the second smallest, and so on."""
    ranks = np.arange(1, tests + 1)
    limits: Floats = ranks / max(1, tests) * (level / max(1.0, np.sum(1.0 / ranks)))
    return limits


def correct_benjamini_yekutieli(values: Sequence[float]) -> list[float]:
    """The p values as adjusted by Benjamini and Yekutieli, in their own order; an undefined one stays undefined.

    >>> correct_benjamini_yekutieli([0.01, 0.04])
    [0.03, 0.06]
    """
    p = np.asarray(values, dtype=np.float64)
    order = np.argsort(p)
    ranks = np.arange(1, len(p) + 1)
    raised = p[order] * len(p) / ranks * np.sum(1.0 / ranks)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.fmin.accumulate(raised[::-1])[::-1])
    adjusted[np.isnan(p)] = np.nan
    return [float(each) for each in adjusted]
