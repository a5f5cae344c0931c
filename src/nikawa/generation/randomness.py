"""Random numbers that are keyed, not consumed: every item has numbers of its own, in whatever order
items are made.

`KeyedRandom` is SplitMix64 (Steele, Lea and Flood 2014. Fast Splittable Pseudorandom Number
Generators). `permute_place` is a keyed permutation of 0 … n-1 that needs no memory: an unbalanced
Feistel network on a rectangle just larger than n (Black and Rogaway 2002. Ciphers with Arbitrary
Finite Domains), repeated until it lands below n. `randomness_arrays` computes the same numbers for
many items at once.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from math import isqrt
from typing import Protocol

MASK_64 = (1 << 64) - 1
MASK_32 = (1 << 32) - 1
STEP = 0x9E3779B97F4A7C15
"""What the state of `KeyedRandom` grows by: 2^64 divided by the golden ratio."""
FIRST_MIX, SECOND_MIX = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
FACTOR_1, FACTOR_2, FACTOR_3, FACTOR_4 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F
"""Odd factors of the four rounds of `permute_place`."""
FLOAT_STEP = 2.0**-53
"""The distance of two neighbouring random numbers."""


class RandomSource(Protocol):
    """Anything that gives random numbers from 0 to below 1, such as `random.Random`."""

    def random(self) -> float:
        """The next number."""


def draw_below(rng: RandomSource, n: int) -> int:
    """A whole number from 0 to below n."""
    return int(rng.random() * n)


def hash_key(*parts: object) -> int:
    """64 bits that tell these parts from any others."""
    text = "\0".join(map(str, parts))
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class KeyedRandom:
    """The random numbers of one item; `seed` has 64 bits."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, item: int) -> None:
        number = (seed + item * STEP) & MASK_64
        number = ((number ^ (number >> 30)) * FIRST_MIX) & MASK_64
        self._state = ((number ^ (number >> 27)) * SECOND_MIX) & MASK_64

    def random(self) -> float:
        """The next number from 0 to below 1."""
        self._state = state = (self._state + STEP) & MASK_64
        state = ((state ^ (state >> 30)) * FIRST_MIX) & MASK_64
        state = ((state ^ (state >> 27)) * SECOND_MIX) & MASK_64
        return ((state ^ (state >> 31)) >> 11) * FLOAT_STEP


@lru_cache(maxsize=1 << 14)
def rectangle(n: int) -> tuple[int, int]:
    """Width and height of the smallest near-square that holds n places."""
    wide = isqrt(n - 1) + 1
    return wide, (n + wide - 1) // wide


def permute_place(place: int, n: int, seed: int) -> int:
    """Where the permutation of 0 … n-1 that `seed` (32 bits of it) names puts `place`.

    >>> sorted(permute_place(place, 5, seed=1) for place in range(5))
    [0, 1, 2, 3, 4]
    """
    if n == 1:
        return 0
    wide, high = rectangle(n)
    while True:
        # One pass over the rectangle: each half is moved by a function of the other, written out for speed.
        left, right = divmod(place, wide)
        left = (left + (((right ^ seed) * FACTOR_1 & MASK_32) >> 11)) % high
        right = (right + (((left ^ seed) * FACTOR_2 & MASK_32) >> 11)) % wide
        left = (left + (((right ^ seed) * FACTOR_3 & MASK_32) >> 11)) % high
        right = (right + (((left ^ seed) * FACTOR_4 & MASK_32) >> 11)) % wide
        place = left * wide + right
        if place < n:
            return place
