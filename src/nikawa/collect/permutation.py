"""Draws that no one can guess, and a separate order for each worker, without a stored list.

A draw is a hash of its parts under a key that only the project's secret gives (`Project.draw_key`): names, seed and
source code do not tell which request brings a control item. The empty key is the rule of projects that were made
before draws were keyed; they go on as they began.

An order is a keyed permutation of 0 … n-1 (Feistel, cycle walking): Luby and Rackoff, "How to construct pseudorandom
permutations from pseudorandom functions", SIAM J. Comput. 17 (1988). Position t of worker w is the same on every machine
and needs no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from hashlib import blake2b

ROUNDS = 4
_MASK = (1 << 64) - 1


def draw_number(*parts: object, key: bytes = b"") -> int:
    """64 bits that depend on every part, and on a key of up to 64 bytes."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8, key=key).digest())


def draw_share(*parts: object, key: bytes = b"") -> float:
    """A number from 0 to below 1 that depends on every part and on the key."""
    return (draw_number(*parts, key=key) >> 11) / (1 << 53)


def draw_index_start(*parts: object, key: bytes = b"") -> int:
    """A place on a ring of 2^53 places that depends on every part and on the key.

    Each item has one (`items.spot`, which is indexed), and each search of a worker starts to read the index at one.
    """
    return draw_number(*parts, key=key) >> 11


def draw_order(turns: Iterable[int], size: int, *parts: object, key: bytes = b"") -> list[int]:
    """Which of `size` things come at these turns, in an order that depends on every part and on the key.

    Under a key the rounds are hashes: who has seen the beginning of their order cannot work out the rest, and so
    cannot tell a control item by its not being the next.
    """
    number = draw_number(*parts, key=key)
    return permute(turns, size, blake2b(number.to_bytes(8), key=key).digest() if key else number)


def permute(turns: Iterable[int], size: int, key: int | bytes) -> list[int]:
    """Which of `size` things come at these turns (0 … size-1) in the order of `key`; each comes at one turn.

    A key of bytes (64 at most) mixes by hashing, a number by multiplications, which can be undone.

    >>> sorted(permute(range(5), 5, key=7)), sorted(permute(range(5), 5, key=b"key"))
    ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    mix = mix_bits
    keys = list(range(ROUNDS))
    if isinstance(key, bytes):
        mix = partial(hash_bits, key=key)
    else:
        keys = [mix_bits(key, step + 1) for step in range(ROUNDS)]
    positions = []
    for turn in turns:
        value = turn
        while True:  # a value beyond the size walks on: the cycle comes back below it
            left, right = value >> half, value & low
            for round_key in keys:
                left, right = right, left ^ mix(right, round_key) & low
            value = left << half | right
            if value < size:
                break
        positions.append(value)
    return positions


def mix_bits(value: int, key: int) -> int:
    """64 bits in which every bit of a value and a key has a part: the round function of the permutation."""
    value = (value ^ key) * 0x9E3779B97F4A7C15 & _MASK
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93 & _MASK
    return value ^ value >> 32


def hash_bits(value: int, step: int, *, key: bytes) -> int:
    """64 bits of a value at a step that only the key gives: the round function of an order that must stay secret."""
    return int.from_bytes(blake2b(b"%d %d" % (step, value), digest_size=8, key=key).digest())
