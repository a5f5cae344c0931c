"""Two systems, or several runs of each, on the same items: how sure is the difference?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.stats.paired_kinds import Sides, Tell, kinds_of
from nikawa.stats.paired_seeds import compare_runs
from nikawa.stats.resample import (
    RESAMPLES,
    Difference,
    Evaluation,
    Floats,
    Ints,
    bootstrap_p,
    count_units,
    draws,
    interval,
    swaps,
    two_sided_p,
)

POWER = 1.959963984540054 + 0.8416212335729143
"""Normal quantiles of a two-sided test at 5% and of 80% power: times the standard error, the least
difference the test would find four times in five."""


@dataclass(frozen=True)
class Paired:
    """B against A under one metric."""

    difference: Difference
    smallest: float
    """The least true difference this test set would detect (5%, power 80%)."""


Swap = Callable[[Ints], tuple[float, float]]
"""Both systems' values with the answers of the chosen units exchanged, for metrics that are no sums."""


def compare_pair(
    a: Evaluation,
    b: Evaluation,
    groups: Ints,
    *,
    swap: Swap | None = None,
    rounds: int = RESAMPLES,
    tell: Tell = lambda _: None,
) -> Paired:
    """Interval, randomisation and bootstrap p of B minus A; `swap` serves metrics without statistics.

    `tell` hears of rounds as they are done, twice `rounds` in all.
    """
    if swap is None:
        return compare_pairs([(a, b)], groups, rounds=rounds, tell=tell)[0]
    units, (resampled,) = (
        count_units(groups),
        _resampled([(a.grouped(groups), b.grouped(groups))], groups, rounds, 0, tell),
    )
    null = swapped(swap, units, rounds // 10, 0, tell)
    return _paired(b.value - a.value, resampled, null, units)


def compare_pairs(
    pairs: Sequence[tuple[Evaluation, Evaluation]],
    groups: Ints,
    *,
    rounds: int = RESAMPLES,
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> list[Paired]:
    """The same for several metrics of the same items, which share the draws; all must have statistics."""
    grouped = [(a.grouped(groups), b.grouped(groups)) for a, b in pairs]
    sides = [aligned(a.statistics, b.statistics) for a, b in grouped]
    units = count_units(groups)
    kinds = kinds_of(sides)
    if kinds is None:
        resampled = _resampled(grouped, groups, rounds, seed, tell)
        nulls = randomised(grouped, sides, swaps(units, rounds, seed), tell)
    else:
        parts = []
        for drawn in kinds.drawn(rounds, seed):
            each = zip(grouped, kinds.rows, strict=True)
            parts.append(
                [b.finish(drawn @ right) - a.finish(drawn @ left) for (a, b), (left, right) in each]
            )
            tell(len(drawn))
        resampled = _columns(parts)
        nulls = randomised(grouped, kinds.rows, kinds.exchanged(rounds, seed), tell, kinds.counts)
    seen = [b.value - a.value for a, b in pairs]
    return [_paired(*each, units) for each in zip(seen, resampled, nulls, strict=True)]


def _paired(seen: float, resampled: Floats, null: Floats, units: int) -> Paired:
    low, high = interval(resampled, units)
    difference = Difference(seen, low, high, two_sided_p(null, seen), bootstrap_p(resampled))
    return Paired(difference, POWER * spread(resampled))


def _columns(parts: Sequence[Sequence[Floats]]) -> list[Floats]:
    """Blocks of metrics as a vector a metric."""
    return [np.concatenate(blocks) for blocks in zip(*parts, strict=True)]


def _resampled(
    grouped: Sequence[tuple[Any, Any]], groups: Ints, rounds: int, seed: int, tell: Tell
) -> list[Floats]:
    """Differences under bootstrap weights of units, the same for all metrics."""
    parts = []
    for weights in draws(count_units(groups), rounds, seed):
        parts.append([b.under(weights) - a.under(weights) for a, b in grouped])
        tell(len(weights))
    return _columns(parts)


def spread(resampled: Floats) -> float:
    """Standard deviation of the resamples that are defined; NaN where none is."""
    known = resampled[~np.isnan(resampled)]
    return float(known.std()) if len(known) else float("nan")


def randomised(
    grouped: Sequence[tuple[Any, Any]],
    sides: Sequence[Sides],
    exchanged: Iterator[Floats],
    tell: Tell,
    counts: Ints | None = None,
) -> list[Floats]:
    """Differences when each unit's two answers are exchanged or not by a coin.

    With `counts` the rows of `sides` and `exchanged` are kinds of so many units.
    """
    many = 1 if counts is None else counts[:, None]
    totals = [((left * many).sum(axis=0), (right * many).sum(axis=0)) for left, right in sides]
    parts = []
    for coin in exchanged:
        row = []
        for (a, b), (left, right), (all_left, all_right) in zip(
            grouped, sides, totals, strict=True
        ):
            first = coin @ (left - right) + all_right
            row.append(b.finish(all_left + all_right - first) - a.finish(first))
        parts.append(row)
        tell(len(coin))
    return _columns(parts)


def aligned(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Statistics of class metrics hold three blocks of classes; the shorter is filled up with unused ones."""
    if left.shape[1] == right.shape[1]:
        return left, right
    most = max(left.shape[1], right.shape[1]) // 3

    def filled(x: Floats) -> Floats:
        blocks = x.reshape(len(x), 3, -1)
        return np.pad(blocks, ((0, 0), (0, 0), (0, most - blocks.shape[2]))).reshape(
            len(x), 3 * most
        )

    return filled(left), filled(right)


def swapped(swap: Swap, units: int, rounds: int, seed: int, tell: Tell = lambda _: None) -> Floats:
    """The same for metrics that must be computed anew each round; a round counts for ten."""
    gaps = []
    for row in (row for coin in swaps(units, rounds, seed) for row in coin):
        a, b = swap(np.flatnonzero(row))
        gaps.append(b - a)
        tell(10)
    return np.array(gaps)


def compare_seeds(
    a: Sequence[Evaluation],
    b: Sequence[Evaluation],
    groups: Ints,
    *,
    rounds: int = RESAMPLES,
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> Paired:
    """Means over several runs a side: items and seeds are both samples (see `paired_seeds`)."""
    return Paired(*compare_runs(a, b, groups, rounds=rounds, seed=seed, tell=tell))


def tie_groups(scores: Sequence[float], apart: Callable[[int, int], bool]) -> list[str]:
    """A letter or more a system, in the order given: systems share a letter exactly where they are not apart."""
    order = sorted(range(len(scores)), key=lambda i: (np.isnan(scores[i]), -scores[i]))
    near = {i: {j for j in order if j != i and not apart(i, j)} for i in order}
    groups = sorted(_cliques(near), key=lambda clique: sorted(order.index(i) for i in clique))
    return [
        "".join(_letter(k) for k, group in enumerate(groups) if i in group)
        for i in range(len(scores))
    ]


def _cliques(near: Mapping[int, set[int]]) -> list[set[int]]:
    """All largest sets of systems none of which is apart from another (Bron and Kerbosch 1973)."""
    found: list[set[int]] = []

    def grow(chosen: set[int], open_: set[int], closed: set[int]) -> None:
        if not open_ and not closed:
            found.append(chosen)
        for i in sorted(open_):
            grow(chosen | {i}, open_ & near[i], closed & near[i])
            open_, closed = open_ - {i}, closed | {i}

    grow(set(), set(near), set())
    return found


def _letter(k: int) -> str:
    """a to z, then A to Z, then a number in brackets."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[k] if k < len(letters) else f"({k})"
