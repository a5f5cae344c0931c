"""Many items at once: the same numbers as `randomness` gives one by one, computed for whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from nikawa.generation.randomness import (
    FACTOR_1,
    FACTOR_2,
    FACTOR_3,
    FACTOR_4,
    FIRST_MIX,
    FLOAT_STEP,
    MASK_32,
    MASK_64,
    SECOND_MIX,
    STEP,
    KeyedRandom,
    RandomSource,
    rectangle,
)
from nikawa.generation.times import Values

Numbers = NDArray[np.uint64]
MIN_ITEMS = 24
"""Items below which arrays do not pay."""
MAX_NUMBER = 1 << 62
"""Numbers from which on arrays cannot hold them."""


def permute_places(places: Numbers, sizes: Numbers, seeds: Numbers) -> Numbers:
    """`randomness.permute_place` of each place, with a size and a seed of its own."""
    unique_sizes, which = np.unique(sizes, return_inverse=True)
    rectangles = np.array([rectangle(int(size)) for size in unique_sizes], dtype=np.uint64)
    sides = rectangles.reshape(-1, 2)[which]
    result = _pass_once(places, sides, seeds)
    while (outside := np.flatnonzero(result >= sizes)).size:
        result[outside] = _pass_once(result[outside], sides[outside], seeds[outside])
    return result


def _pass_once(places: Numbers, sides: Numbers, seeds: Numbers) -> Numbers:
    """One pass over the rectangle of each place."""

    def mix(half: Numbers, factor: int) -> Numbers:
        return ((half ^ seeds) * np.uint64(factor) & np.uint64(MASK_32)) >> np.uint64(11)

    wide, high = sides[:, 0], sides[:, 1]
    left, right = np.divmod(places, wide)
    left = (left + mix(right, FACTOR_1)) % high
    right = (right + mix(left, FACTOR_2)) % wide
    left = (left + mix(right, FACTOR_3)) % high
    right = (right + mix(left, FACTOR_4)) % wide
    return left * wide + right


def permutation_seeds(numbers: Numbers) -> Numbers:
    """The 32 bits of each number that name a permutation."""
    return numbers >> np.uint64(16) & np.uint64(MASK_32)


def step_multiples(numbers: Numbers) -> Numbers:
    """Each number times the step of `KeyedRandom`, modulo 64 bits."""
    return numbers * np.uint64(STEP)


def draw_items(
    draw: Callable[[RandomSource], Values], seed: int, start: int, stop: int
) -> Iterator[Values]:
    """What `draw` makes of the random numbers of items `start` to `stop`.

    The numbers are computed together, as many for each item as the first item needs.
    """
    counter = _CountingRandom(seed, start)
    draw(counter)
    rng = _ListedRandom()
    for item, numbers in enumerate(first_numbers(seed, start, stop, counter.count), start=start):
        rng.random = iter(numbers).__next__
        try:
            values = draw(rng)
        except StopIteration:  # this item needs more numbers than the first
            values = draw(KeyedRandom(seed, item))
        yield values


class _ListedRandom:
    """A random source that has its numbers already."""

    __slots__ = ("random",)
    random: Callable[[], float]


class _CountingRandom(KeyedRandom):
    """Keyed random numbers that count how often they are drawn."""

    __slots__ = ("count",)

    def __init__(self, seed: int, item: int) -> None:
        super().__init__(seed, item)
        self.count = 0

    def random(self) -> float:
        self.count += 1
        return super().random()


def first_numbers(seed: int, start: int, stop: int, width: int) -> list[list[float]]:
    """The first `width` random numbers of each item."""

    def scramble(state: Numbers) -> Numbers:
        state = (state ^ (state >> np.uint64(30))) * np.uint64(FIRST_MIX)
        return (state ^ (state >> np.uint64(27))) * np.uint64(SECOND_MIX)

    items = np.arange(start, stop, dtype=np.uint64)
    state = scramble(items * np.uint64(STEP) + np.uint64(seed & MASK_64))
    state = state[:, None] + np.arange(1, width + 1, dtype=np.uint64) * np.uint64(STEP)
    state = scramble(state)
    numbers = ((state ^ (state >> np.uint64(31))) >> np.uint64(11)) * FLOAT_STEP
    rows: list[list[float]] = numbers.tolist()
    return rows
