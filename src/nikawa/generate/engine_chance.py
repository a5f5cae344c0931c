"""Chance that is keyed, not consumed: every item has numbers of its own, whoever asks first.

`Dice` is SplitMix64 (Steele, Lea and Flood 2014). `shuffled` is a keyed permutation of 0 … n-1 that needs no memory: an
unbalanced Feistel network on a rectangle just larger than n (Black and Rogaway 2002), walked until it lands below n.
"""

from __future__ import annotations

from hashlib import blake2b
from math import isqrt

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_ROUNDS = 4
_FRACTION = 2.0**-53


def key(*parts: object) -> int:
    """64 bits that tell these parts from any others."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mixed(number: int) -> int:
    """64 bits that look unlike those of any neighbour."""
    number &= _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


class Dice:
    """Random numbers of one item."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, item: int) -> None:
        self._state = mixed(seed + item * _STEP)

    def random(self) -> float:
        """The next number from 0 to below 1."""
        self._state = state = (self._state + _STEP) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((state ^ (state >> 31)) >> 11) * _FRACTION


def shuffled(place: int, n: int, seed: int) -> int:
    """Where the permutation of 0 … n-1 that `seed` names puts `place`."""
    if n == 1:
        return 0
    wide = isqrt(n - 1) + 1
    high = (n + wide - 1) // wide
    while True:
        place = _network(place, wide, high, seed)
        if place < n:
            return place


def _network(place: int, wide: int, high: int, seed: int) -> int:
    """One pass over the rectangle: each half is moved by a function of the other."""
    left, right = divmod(place, wide)
    for turn in range(_ROUNDS):
        seed = (seed + _STEP) & _MASK
        if turn % 2:
            right = (right + (((left ^ seed) * 0x94D049BB133111EB & _MASK) >> 33)) % wide
        else:
            left = (left + (((right ^ seed) * 0xBF58476D1CE4E5B9 & _MASK) >> 33)) % high
    return left * wide + right
