"""MinHash signatures of sentences, many at a time.

A sentence is the set of its character trigrams (letters and digits only, in NFC, case folded). Of
each of 64 hash functions the smallest value over the set is kept; two sentences agree in a share of
them that estimates their Jaccard similarity (Broder 1997, doi:10.1109/SEQUEN.1997.666900). Rows of
4 values form 16 bands; those that share a band are compared. All hashing is spelled
out here: the same on every machine and with every version of numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from unicodedata import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes: TypeAlias = NDArray[np.uint8]
    Words: TypeAlias = NDArray[np.uint32]

GRAM, HASHES, BANDS = 3, 64, 16
_M32 = 0xFFFFFFFF


class Signatures(NamedTuple):
    """One row per sentence."""

    values: Bytes
    """The low byte of each of the 64 smallest values."""
    bands: Words
    """A hash of each of the 16 bands."""


def compute_signatures(texts: Sequence[str]) -> Signatures:
    """The signatures of the texts."""
    import numpy as np

    if not texts:
        return Signatures(np.empty((0, HASHES), np.uint8), np.empty((0, BANDS), np.uint32))
    grams, starts = hash_grams(texts)
    least = np.empty((HASHES, len(texts)), np.uint32)
    for row, (times, plus) in zip(least, draw_functions(), strict=True):
        np.minimum.reduceat(_mix(grams * np.uint32(times) + np.uint32(plus)), starts, out=row)
    values = np.ascontiguousarray((least & np.uint32(255)).astype(np.uint8).T)
    step = HASHES // BANDS
    bands = np.zeros((BANDS, len(texts)), np.uint32)
    for first in range(step):
        bands = _mix(bands * np.uint32(0x9E3779B1) + least[first::step] + np.uint32(first + 1))
    return Signatures(values, np.ascontiguousarray(bands.T))


def hash_grams(texts: Sequence[str]) -> tuple[Words, NDArray[np.int64]]:
    """Hashes of all trigrams one after the other, and where each text's begin.

    Every text has at least one.
    """
    import numpy as np

    composed = (normalize("NFC", text) for text in texts)
    folded = ["".join(filter(str.isalnum, text.casefold())) or text for text in composed]
    padded = "".join(f"{text}{chr(0) * max(GRAM - len(text), 0)}" for text in folded)
    codes = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = np.fromiter((max(len(text), GRAM) for text in folded), np.int64, len(folded))
    counts = sizes - (GRAM - 1)
    ends = np.cumsum(sizes)
    whole = np.ones(len(codes), bool)
    for back in range(1, GRAM):  # a trigram may not begin in the last two characters of a text
        whole[ends - back] = False
    hashes = codes[: len(codes) - 2] * np.uint32(0x9E3779B1)
    hashes = _mix(hashes ^ (codes[1:-1] * np.uint32(0x85EBCA77)))
    hashes = _mix(hashes + codes[2:] * np.uint32(0xC2B2AE3D))
    return hashes[whole[:-2]], np.cumsum(counts) - counts


def _mix(values: Words) -> Words:
    """Spread every bit over the word."""
    import numpy as np

    values = values ^ (values >> np.uint32(15))
    values *= np.uint32(0x2C1B3C6D)
    values ^= values >> np.uint32(13)
    return values


@cache
def draw_functions() -> tuple[tuple[int, int], ...]:
    """(Odd factor, summand) of each hash function, from splitmix64."""
    state, drawn = 0, []
    for _ in range(HASHES):
        pair = []
        for _ in range(2):
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) % 2**64
            z = ((z ^ z >> 27) * 0x94D049BB133111EB) % 2**64
            pair.append((z ^ z >> 31) & _M32)
        drawn.append((pair[0] | 1, pair[1]))
    return tuple(drawn)
