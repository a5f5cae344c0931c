"""An order of its own for each worker, without a list: a keyed permutation of 0 … n-1 (Feistel, cycle walking).

Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions", SIAM J. Comput. 17 (1988).
Position t of worker w is the same on every machine, costs a few multiplications and needs no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

ROUNDS = 4
_MASK = (1 << 64) - 1


def draw_number(*parts: object) -> int:
    """64 bits that depend on every part."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def draw_share(*parts: object) -> float:
    """A number from 0 to below 1 that depends on every part."""
    return (draw_number(*parts) >> 11) / (1 << 53)


def draw_index_start(*parts: object) -> int:
    """A place on a ring of 2^53 places that depends on every part.

    Each item has one (`items.spot`, which is indexed), and each search of a worker starts to read the index at one.
    """
    return draw_number(*parts) >> 11


def permute(turns: Iterable[int], size: int, key: int) -> list[int]:
    """Which of `size` things come at these turns (0 … size-1) in the order of `key`; each comes at one turn.

    >>> sorted(permute(range(5), 5, key=7))
    [0, 1, 2, 3, 4]
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    keys = [mix_bits(key, step + 1) for step in range(ROUNDS)]
    positions = []
    for turn in turns:
        value = turn
        while True:  # a value beyond the size walks on: the cycle comes back below it
            left, right = value >> half, value & low
            for round_key in keys:
                left, right = right, left ^ mix_bits(right, round_key) & low
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
