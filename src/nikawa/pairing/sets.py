"""Sentences as sets: the second time a unit stands in a sentence it is another element, the third time yet another.

So two sentences have in common as many units as their sets have elements, each unit as often as both have it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nikawa.pairing.units import Coded, Ints

CHUNK = 1 << 21
"""Units sorted at a time, so that sorting needs little room."""


class Sets(NamedTuple):
    """The elements of sentence i are `elements[starts[i] : starts[i + 1]]`."""

    starts: Ints
    elements: Ints
    size: int
    """How many different elements there are."""


class Lists(NamedTuple):
    """The sentences with element e, in order, are `sentences[starts[e] : starts[e + 1]]`."""

    starts: Ints
    sentences: Ints


def sets_of(coded: Coded, order: Ints) -> Sets:
    """The sets of the sentences in `order`; an element of one sentence alone is left out."""
    elements, again = _elements(coded, order)
    repeated = np.flatnonzero(again)
    kinds, codes = np.unique(
        elements[repeated].astype(np.int64) << 32 | again[repeated], return_inverse=True
    )
    elements[repeated] = coded.size + codes
    size = coded.size + len(kinds)
    shared = np.bincount(elements, minlength=size)[elements] > 1
    starts = starts_of(coded.lengths[order])
    return Sets(sums_at(shared, starts), elements[shared], size)


def lists_of(sets: Sets) -> Lists:
    """Element to the sentences that have it."""
    count = len(sets.starts) - 1
    keys = np.repeat(np.arange(count, dtype=np.int64), np.diff(sets.starts))
    keys += sets.elements * np.int64(count)
    keys.sort()
    keys %= max(count, 1)
    return Lists(starts_of(np.bincount(sets.elements, minlength=sets.size)), keys.astype(np.int32))


def starts_of(lengths: Ints) -> Ints:
    """Where each of several stretches begins, and where the last ends."""
    return np.concatenate(([0], np.cumsum(lengths)))


def sums_at(flags: Ints, places: Ints) -> Ints:
    """How many flags are set before each place; places are in order."""
    found, total, begin = np.empty(len(places), np.int64), 0, 0
    for start in range(0, len(flags) + 1, CHUNK):
        before = starts_of(flags[start : start + CHUNK])
        last = start + len(before) - 1
        end = int(np.searchsorted(places, last, "right" if last >= len(flags) else "left"))
        found[begin:end] = total + before[places[begin:end] - start]
        total, begin = total + int(before[-1]), end
    return found


def ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of several ranges, one after the other, and where each range begins in them."""
    lengths = ends - begins
    opens = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    return np.arange(total) + np.repeat(begins - opens, lengths), opens


def _elements(coded: Coded, order: Ints) -> tuple[Ints, Ints]:
    """Unit and how many of the same come before it in the sentence, sentence by sentence."""
    elements = np.empty(len(coded.ids), np.int32)
    again = np.empty(len(coded.ids), np.int32)
    starts = starts_of(coded.lengths[order])
    for first, last in _chunks(starts):
        begins = coded.starts[order[first:last]]
        places, _ = ranges(begins, begins + np.diff(starts[first : last + 1]))
        keys = np.repeat(
            np.arange(last - first, dtype=np.int64) << 32, np.diff(starts[first : last + 1])
        )
        keys |= coded.ids[places]
        keys.sort()
        new = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        stretch = slice(starts[first], starts[last])
        elements[stretch] = keys & 0xFFFFFFFF
        again[stretch] = np.arange(len(keys)) - np.repeat(new, np.diff(np.append(new, len(keys))))
    return elements, again


def _chunks(starts: Ints) -> list[tuple[int, int]]:
    """Ranges of sentences with about so many units together; none of them without a unit."""
    steps = np.arange(0, int(starts[-1]) + CHUNK, CHUNK)
    cuts = np.unique(np.append(np.searchsorted(starts[:-1], steps), len(starts) - 1))
    cuts = np.unique(np.append(cuts, 0))
    pairs = zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    return [(first, last) for first, last in pairs if starts[last] > starts[first]]
