"""Chance that is keyed, not consumed: every item has numbers of its own, whoever asks first.

`Dice` is SplitMix64 (Steele, Lea and Flood 2014). `shuffled` is a keyed permutation of 0 … n-1 that needs no memory: an
unbalanced Feistel network on a rectangle just larger than n (Black and Rogaway 2002), walked until it lands below n.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from math import isqrt

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
ODD, OTHER = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SHORT = (1 << 32) - 1
FIRST, SECOND, THIRD, FOURTH = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F
FRACTION = 2.0**-53


def hash_key(*parts: object) -> int:
    """64 bits that tell these parts from any others."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


class KeyedRandom:
    """Random numbers of one item."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, item: int) -> None:
        number = (seed + item * STEP) & MASK
        number = ((number ^ (number >> 30)) * ODD) & MASK
        self._state = ((number ^ (number >> 27)) * OTHER) & MASK

    def random(self) -> float:
        """The next number from 0 to below 1."""
        self._state = state = (self._state + STEP) & MASK
        state = ((state ^ (state >> 30)) * ODD) & MASK
        state = ((state ^ (state >> 27)) * OTHER) & MASK
        return ((state ^ (state >> 31)) >> 11) * FRACTION


@lru_cache(maxsize=1 << 14)
def rectangle(n: int) -> tuple[int, int]:
    """Sides of the smallest near-square that holds n places."""
    wide = isqrt(n - 1) + 1
    return wide, (n + wide - 1) // wide


def shuffled(place: int, n: int, seed: int) -> int:
    """Where the permutation of 0 … n-1 that `seed` (32 bits of it) names puts `place`."""
    if n == 1:
        return 0
    wide, high = rectangle(n)
    while True:
        # One pass over the rectangle: each half is moved by a function of the other, written out for speed.
        left, right = divmod(place, wide)
        left = (left + (((right ^ seed) * FIRST & SHORT) >> 11)) % high
        right = (right + (((left ^ seed) * SECOND & SHORT) >> 11)) % wide
        left = (left + (((right ^ seed) * THIRD & SHORT) >> 11)) % high
        right = (right + (((left ^ seed) * FOURTH & SHORT) >> 11)) % wide
        place = left * wide + right
        if place < n:
            return place
