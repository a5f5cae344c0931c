"""Many items at once: the same numbers as `engine_chance` gives one by one, worked out for whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from nikawa.generation.randomness import (
    FIRST,
    FOURTH,
    FRACTION,
    MASK,
    ODD,
    OTHER,
    SECOND,
    SHORT,
    STEP,
    THIRD,
    KeyedRandom,
    rectangle,
)
from nikawa.generation.time_spans import RandomSource
from nikawa.generation.times import Value

Numbers = NDArray[np.uint64]
LEAST = 24
"""Items below which arrays do not pay."""
MOST = 1 << 62
"""Numbers from which on arrays cannot hold them."""
_SHORT, _STEP = np.uint64(SHORT), np.uint64(STEP)


def shuffled(places: Numbers, sizes: Numbers, seeds: Numbers) -> Numbers:
    """`engine_chance.shuffled` of each place, with a size and a seed of its own."""
    known, where = np.unique(sizes, return_inverse=True)
    sides = np.array([rectangle(int(size)) for size in known], dtype=np.uint64).reshape(-1, 2)[
        where
    ]
    found, left = _passed(places, sides, seeds), None
    while (left := np.flatnonzero(found >= sizes)).size:
        found[left] = _passed(found[left], sides[left], seeds[left])
    return found


def _passed(places: Numbers, sides: Numbers, seeds: Numbers) -> Numbers:
    """One pass over the rectangle."""
    wide, high = sides[:, 0], sides[:, 1]
    left, right = np.divmod(places, wide)
    left = (left + _mixed(right, seeds, FIRST)) % high
    right = (right + _mixed(left, seeds, SECOND)) % wide
    left = (left + _mixed(right, seeds, THIRD)) % high
    right = (right + _mixed(left, seeds, FOURTH)) % wide
    return left * wide + right


def _mixed(half: Numbers, seeds: Numbers, factor: int) -> Numbers:
    return ((half ^ seeds) * np.uint64(factor) & _SHORT) >> np.uint64(11)


def seeds_from(numbers: Numbers) -> Numbers:
    """The 32 bits of each number that a permutation is named by."""
    return numbers >> np.uint64(16) & _SHORT


def steps(numbers: Numbers) -> Numbers:
    """Each number times the step of `Dice`, modulo 64 bits."""
    return numbers * _STEP


def drawn(
    draw: Callable[[RandomSource], Mapping[str, Value]], seed: int, start: int, stop: int
) -> Iterator[Mapping[str, Value]]:
    """What `draw` makes of the dice of items `start` to `stop`."""
    counted = _Counted(seed, start)
    draw(counted)
    chance = _Row()
    for i, row in enumerate(_rows(seed, start, stop, counted.count), start=start):
        chance.random = iter(row).__next__
        try:
            values = draw(chance)
        except StopIteration:  # this item needs more numbers than the first
            values = draw(KeyedRandom(seed, i))
        yield values


class _Row:
    """Chance that has its numbers already."""

    __slots__ = ("random",)
    random: Callable[[], float]


class _Counted(KeyedRandom):
    """Dice that count how often they are thrown."""

    __slots__ = ("count",)

    def __init__(self, seed: int, item: int) -> None:
        super().__init__(seed, item)
        self.count = 0

    def random(self) -> float:
        self.count += 1
        return super().random()


def _rows(seed: int, start: int, stop: int, width: int) -> list[list[float]]:
    """The first numbers of the dice of each item."""
    items = np.arange(start, stop, dtype=np.uint64)
    state = _scrambled(items * _STEP + np.uint64(seed & MASK))
    state = state[:, None] + np.arange(1, width + 1, dtype=np.uint64) * _STEP
    state = _scrambled(state)
    rows: list[list[float]] = (
        ((state ^ (state >> np.uint64(31))) >> np.uint64(11)) * FRACTION
    ).tolist()
    return rows


def _scrambled(state: Numbers) -> Numbers:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(ODD)
    return (state ^ (state >> np.uint64(27))) * np.uint64(OTHER)
