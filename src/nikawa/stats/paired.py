"""Two systems, or several runs of each, on the same items: how sure is the difference?

The interval of B minus A is the paired bootstrap's; p values are those of approximate randomisation (a coin exchanges
the two answers of a unit) and of the bootstrap. `compare_seeds` is for several runs per side (see `seeds`).

Right-or-wrong answers to labels make a handful of kinds of unit (gold, answer of A, answer of B), however many there are.
Then what is drawn is how often each kind occurs, and all metrics of a pair share one set of draws. Up to `MAX_UNITS_DRAWN`
units these are the draws of the units themselves, summed by kind, so that the figures are those of drawing units; above,
the numbers of kinds are drawn as what they are, multinomial and binomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.stats.distributions import Z_95
from nikawa.stats.resample import (
    TEST_RESAMPLES,
    Difference,
    Floats,
    Ints,
    Resampleable,
    bootstrap_p,
    count_units,
    draw_coins,
    draw_swap_weights,
    draw_units,
    draw_weights,
    percentile_interval,
    two_sided_p,
)
from nikawa.stats.seeds import ResampledRuns, compare_runs

NO_SPREAD = 1e-9
"""A standard error below this is zero but for rounding."""
ERRORS_TO_DETECT = Z_95 + 0.8416212335729143
"""Normal quantiles of a two-sided test at 5% and of 80% power: times the standard error, the least
difference the test would find four times in five."""
MAX_UNITS_DRAWN = 1 << 14
"""Units above which kinds are drawn: no published test set has as many."""
MAX_KINDS = 250
"""Kinds above which units are no longer few kinds."""
MAX_STATISTIC_RANGE = 1 << 16
"""The maximum range of a statistic that can define kinds."""
ROUNDS_PER_TEST = 60
"""Rounds for each test that is corrected: r rounds show no p below 1 / (r + 1), and Holm's correction multiplies the least p by
the number of tests. With so many it can fall to 1 / 60, well below 5%."""
ROUNDS_PER_SWAP = 10
"""Rounds per exchange for a metric that is recomputed, because that is slow."""
ROUNDS_AT_ONCE = 1_000
"""Rounds drawn at once where kinds are drawn."""

OnProgress = Callable[[int], None]
"""Called with rounds as they are done."""
Sides = tuple[Floats, Floats]
"""The statistics of units, or of kinds of them, under A and under B."""
Swap = Callable[[NDArray[np.int8]], tuple[Floats, Floats]]
"""Both systems' values for each row of coins, a coin a unit: the answers of units with a 1 are exchanged. For metrics that
are not sums."""
SWAPS_AT_ONCE = 64
"""Exchanges whose answers are in memory at once."""


@dataclass(frozen=True)
class PairedDifference:
    """B against A under one metric."""

    difference: Difference
    smallest: float
    """The least true difference this test set would detect (5%, power 80%); NaN where few units do not differ at all."""


def compare_pair(
    a: Resampleable,
    b: Resampleable,
    groups: Ints,
    *,
    swap: Swap | None = None,
    rounds: int = TEST_RESAMPLES,
    tests: int = 1,
    on_progress: OnProgress = lambda _: None,
    resampled: ResampledRuns | None = None,
) -> PairedDifference:
    """Interval, randomisation and bootstrap p of B minus A; `swap` serves metrics without statistics.

    `groups` is the unit of each item. `tests` is the number of tests that are corrected together: with `swap`, `count_swaps` exchanges
    are drawn instead of `rounds`. `on_progress` is called for twice `rounds` in total. With `swap`, `resampled` caches the
    resamples of other pairs of the same runs.
    """
    if swap is None:
        return compare_pairs([(a, b)], groups, rounds=rounds, on_progress=on_progress)[0]
    runs = resampled or ResampledRuns(groups, rounds)
    drawn = np.concatenate([row[1] - row[0] for row in runs.blocks((a, b), on_progress)])
    null: list[Floats] = []
    swaps, done = count_swaps(rounds, tests), 0
    units = count_units(groups)
    for coins in draw_coins(units, swaps, 0):
        for start in range(0, len(coins), SWAPS_AT_ONCE):
            value_a, value_b = swap(coins[start : start + SWAPS_AT_ONCE])
            null.append(value_b - value_a)
            before, done = done, done + len(value_a)
            on_progress(rounds * done // swaps - rounds * before // swaps)
    seen = b.value - a.value
    return assess_difference(seen, seen, drawn, np.concatenate(null), units)


def count_swaps(rounds: int, tests: int) -> int:
    """The number of exchanges of answers for a metric that is recomputed for each.

    A tenth of the rounds, but as many as the correction of `tests` tests needs, and never more than `rounds`.

    >>> count_swaps(10_000, tests=1), count_swaps(2_000, tests=12), count_swaps(100, tests=12)
    (1000, 720, 100)
    """
    return max(rounds // ROUNDS_PER_SWAP, min(rounds, ROUNDS_PER_TEST * tests))


def compare_pairs(
    pairs: Sequence[tuple[Resampleable, Resampleable]],
    groups: Ints,
    *,
    rounds: int = TEST_RESAMPLES,
    seed: int = 0,
    on_progress: OnProgress = lambda _: None,
) -> list[PairedDifference]:
    """The same for several metrics of the same items, which share the draws; all must have statistics."""
    grouped = [(a.grouped(groups), b.grouped(groups)) for a, b in pairs]
    sides = [align_classes(a.statistics, b.statistics) for a, b in grouped]
    units = count_units(groups)
    kinds = find_unit_kinds(sides)
    if kinds is None:
        resampled = _resample_differences(grouped, groups, rounds, seed, on_progress)
        nulls = _randomise(grouped, sides, draw_swap_weights(units, rounds, seed), on_progress)
    else:
        parts = []
        for drawn in kinds.draw(rounds, seed):
            row = []
            for (a, b), (left, right) in zip(grouped, kinds.sides, strict=True):
                row.append(b.finish(drawn @ right) - a.finish(drawn @ left))
            parts.append(row)
            on_progress(len(drawn))
        resampled = _by_metric(parts)
        exchanged = kinds.exchange(rounds, seed)
        nulls = _randomise(grouped, kinds.sides, exchanged, on_progress, kinds.counts)
    seen = [b.value - a.value for a, b in pairs]
    summed = [
        float((b.finish(right.sum(axis=0)[None]) - a.finish(left.sum(axis=0)[None]))[0])
        for (a, b), (left, right) in zip(grouped, sides, strict=True)
    ]
    every = zip(seen, summed, resampled, nulls, strict=True)
    return [assess_difference(*each, units) for each in every]


def compare_seeds(
    a: Sequence[Resampleable],
    b: Sequence[Resampleable],
    groups: Ints,
    *,
    rounds: int = TEST_RESAMPLES,
    seed: int = 0,
    on_progress: OnProgress = lambda _: None,
    resampled: ResampledRuns | None = None,
) -> PairedDifference:
    """Means over several runs per side: items and seeds are both samples (see `seeds`)."""
    difference = compare_runs(
        a, b, groups, rounds=rounds, seed=seed, on_progress=on_progress, resampled=resampled
    )
    return PairedDifference(*difference)


def assess_difference(
    seen: float, summed: float, resampled: Floats, null: Floats, units: int
) -> PairedDifference:
    """The test of a difference; `summed` is the one seen, computed as those of `null` are.

    The official code may round (Pearson's r in float32). Compared with exact sums, a difference that was rounded upwards is larger than that of
    any exchange, even the empty one, and a few items would give a p of 0.
    """
    low, high = percentile_interval(resampled, units)
    compared = seen if np.isnan(seen) or np.isnan(summed) else summed
    difference = Difference(seen, low, high, two_sided_p(null, compared), bootstrap_p(resampled))
    known = resampled[~np.isnan(resampled)]
    error = float(known.std()) if len(known) else float("nan")
    if np.isnan(low) and error < NO_SPREAD:
        error = float("nan")  # three equal groups would seem to detect any difference
    return PairedDifference(difference, ERRORS_TO_DETECT * error)


def _by_metric(parts: Sequence[Sequence[Floats]]) -> list[Floats]:
    """Blocks of rounds, each with one vector per metric, as one vector per metric."""
    return [np.concatenate(blocks) for blocks in zip(*parts, strict=True)]


def _resample_differences(
    grouped: Sequence[tuple[Any, Any]],
    groups: Ints,
    rounds: int,
    seed: int,
    on_progress: OnProgress,
) -> list[Floats]:
    """Differences under bootstrap weights of units, the same for all metrics."""
    parts = []
    for weights in draw_weights(count_units(groups), rounds, seed):
        parts.append([b.under(weights) - a.under(weights) for a, b in grouped])
        on_progress(len(weights))
    return _by_metric(parts)


def _randomise(
    grouped: Sequence[tuple[Any, Any]],
    sides: Sequence[Sides],
    exchanged: Iterator[Floats],
    on_progress: OnProgress,
    counts: Ints | None = None,
) -> list[Floats]:
    """Differences when each unit's two answers are exchanged or not by a coin.

    With `counts` the rows of `sides` and `exchanged` are kinds of so many units.
    """
    many = 1 if counts is None else counts[:, None]
    tables = []
    for left, right in sides:
        tables.append((left - right, (left * many).sum(axis=0), (right * many).sum(axis=0)))
    parts = []
    for coin in exchanged:
        row = []
        for (a, b), (gaps, all_left, all_right) in zip(grouped, tables, strict=True):
            first = coin @ gaps + all_right
            row.append(b.finish(all_left + all_right - first) - a.finish(first))
        parts.append(row)
        on_progress(len(coin))
    return _by_metric(parts)


def align_classes(left: Floats, right: Floats) -> Sides:
    """Statistics of class metrics have three blocks of classes; the shorter one is padded with unused classes."""
    if left.shape[1] == right.shape[1]:
        return left, right
    most = max(left.shape[1], right.shape[1]) // 3

    def fill(x: Floats) -> Floats:
        blocks = x.reshape(len(x), 3, -1)
        padded = np.pad(blocks, ((0, 0), (0, 0), (0, most - blocks.shape[2])))
        return padded.reshape(len(x), 3 * most)

    return fill(left), fill(right)


@dataclass(frozen=True)
class UnitKinds:
    """Units by kind."""

    kind_of_unit: Ints
    counts: Ints
    """How many units each kind has."""
    sides: list[Sides]
    """For each metric, the statistics of each kind under A and under B."""

    def draw(self, rounds: int, seed: int) -> Iterator[Floats]:
        """How often each kind is drawn in bootstrap resamples, one row per resample."""
        units, size = len(self.kind_of_unit), len(self.counts)
        if units > MAX_UNITS_DRAWN:
            generator = np.random.default_rng((seed, 2))
            for start in range(0, rounds, ROUNDS_AT_ONCE):
                many = min(ROUNDS_AT_ONCE, rounds - start)
                drawn = generator.multinomial(units, self.counts / units, size=many)
                yield drawn.astype(np.float64)
            return
        table = self.kind_of_unit.astype(np.uint8)
        for block in draw_units(units, rounds, seed):
            counts = [np.bincount(row, minlength=size) for row in table[block]]
            yield np.stack(counts).astype(np.float64)

    def exchange(self, rounds: int, seed: int) -> Iterator[Floats]:
        """How many units of each kind have their answers exchanged by a coin each, one row per round."""
        units, size = len(self.kind_of_unit), len(self.counts)
        if units > MAX_UNITS_DRAWN:
            generator = np.random.default_rng((seed, 3))
            for start in range(0, rounds, ROUNDS_AT_ONCE):
                shape = (min(ROUNDS_AT_ONCE, rounds - start), size)
                yield generator.binomial(self.counts, 0.5, size=shape).astype(np.float64)
            return
        # sums of ones stay exact in float32 far past MAX_UNITS_DRAWN
        table = np.eye(size, dtype=np.float32)[self.kind_of_unit]
        for coin in draw_coins(units, rounds, seed):
            yield (coin.astype(np.float32) @ table).astype(np.float64)


def find_unit_kinds(sides: Sequence[Sides]) -> UnitKinds | None:
    """The kinds of units by their statistics under every metric; None where they are many or no whole numbers."""
    code = np.zeros(len(sides[0][0]), dtype=np.int64)
    if not len(code):
        return None
    for column in (column for pair in sides for side in pair for column in side.T):
        least, most = column.min(), column.max()
        if least == most and np.isfinite(least):
            continue
        if not most - least < MAX_STATISTIC_RANGE or (np.floor(column) != column).any():
            return None
        code = code * int(most - least + 1) + (column - least).astype(np.int64)
        used = np.bincount(code) > 0
        code = (np.cumsum(used) - 1)[code]  # the same classes, numbered without gaps
        if code.max() >= MAX_KINDS:
            return None
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return UnitKinds(code, counts, [(a[first], b[first]) for a, b in sides])


def tie_groups(scores: Sequence[float], apart: Callable[[int, int], bool]) -> list[str]:
    """A letter or more a system, in the order given: systems share a letter exactly where they are not apart."""
    order = sorted(range(len(scores)), key=lambda i: (np.isnan(scores[i]), -scores[i]))
    near = {i: {j for j in order if j != i and not apart(i, j)} for i in order}

    def best_ranks(clique: set[int]) -> list[int]:
        return sorted(order.index(i) for i in clique)

    groups = sorted(find_cliques(near), key=best_ranks)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    marks = [""] * len(scores)
    for number, group in enumerate(groups):
        for i in group:
            marks[i] += letters[number] if number < len(letters) else f"({number})"
    return marks


def find_cliques(near: Mapping[int, set[int]]) -> list[set[int]]:
    """All largest sets of systems none of which is apart from another (Bron and Kerbosch 1973)."""
    cliques: list[set[int]] = []

    def grow(chosen: set[int], open_: set[int], closed: set[int]) -> None:
        if not open_ and not closed:
            cliques.append(chosen)
            return
        # any clique left has a system that is apart from the pivot, or the pivot itself (Tomita et al. 2006)
        pivot = max(sorted(open_ | closed), key=lambda i: len(open_ & near[i]))
        for i in sorted(open_ - near[pivot]):
            grow(chosen | {i}, open_ & near[i], closed & near[i])
            open_, closed = open_ - {i}, closed | {i}

    grow(set(), set(near), set())
    return cliques
