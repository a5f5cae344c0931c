"""Paired tests over units of few kinds: what is drawn is how often each kind occurs, not each unit.

Right-or-wrong answers to labels make a handful of kinds of item (gold, answer of A, answer of B), however many items
there are. All metrics of a pair share one set of draws. Up to `EXACT` units these are the draws of the units
themselves, summed by kind, so that the figures are those of drawing units; above, the kinds' numbers are drawn as
what they are, multinomial and binomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nikawa.stats.resample import Floats, Ints, coins, picks

EXACT = 1 << 14
"""Units above which kinds are drawn: no published test set has as many."""
MOST = 250
"""Kinds above which units are no longer few kinds."""
WIDEST = 1 << 16
"""Values a statistic may range over."""
STEP = 1_000
"""Rounds drawn at once where kinds are drawn."""

Tell = Callable[[int], None]
Sides = tuple[Floats, Floats]


@dataclass(frozen=True)
class Kinds:
    """Units by kind."""

    place: Ints
    """The kind of each unit."""
    counts: Ints
    """How many units each kind has."""
    rows: list[Sides]
    """For each metric, the statistics of each kind under A and under B."""

    def drawn(self, rounds: int, seed: int) -> Iterator[Floats]:
        """How often each kind is drawn in bootstrap resamples, a row a resample."""
        units, size = len(self.place), len(self.counts)
        if units > EXACT:
            generator = np.random.default_rng((seed, 2))
            for start in range(0, rounds, STEP):
                many = min(STEP, rounds - start)
                yield generator.multinomial(units, self.counts / units, size=many).astype(
                    np.float64
                )
            return
        table = self.place.astype(np.uint8)
        for block in picks(units, rounds, seed):
            yield np.stack([np.bincount(row, minlength=size) for row in table[block]]).astype(
                np.float64
            )

    def exchanged(self, rounds: int, seed: int) -> Iterator[Floats]:
        """How many units of each kind have their answers exchanged by a coin each, a row a round."""
        units, size = len(self.place), len(self.counts)
        if units > EXACT:
            generator = np.random.default_rng((seed, 3))
            for start in range(0, rounds, STEP):
                shape = (min(STEP, rounds - start), size)
                yield generator.binomial(self.counts, 0.5, size=shape).astype(np.float64)
            return
        table = np.eye(size, dtype=np.float32)[self.place]  # sums of ones stay exact far past EXACT
        for coin in coins(units, rounds, seed):
            yield (coin.astype(np.float32) @ table).astype(np.float64)


def kinds_of(sides: Sequence[Sides]) -> Kinds | None:
    """The kinds of units by their statistics under every metric; None where they are many or no whole numbers."""
    code = np.zeros(len(sides[0][0]), dtype=np.int64)
    if not len(code):
        return None
    for column in (column for pair in sides for side in pair for column in side.T):
        least, most = column.min(), column.max()
        if least == most and np.isfinite(least):
            continue
        if not most - least < WIDEST or (np.floor(column) != column).any():
            return None
        code = _compact(code * int(most - least + 1) + (column - least).astype(np.int64))
        if code.max() >= MOST:
            return None
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return Kinds(code, counts, [(a[first], b[first]) for a, b in sides])


def _compact(code: Ints) -> Ints:
    """The same classes, numbered without gaps."""
    used = np.bincount(code) > 0
    return (np.cumsum(used) - 1)[code]
