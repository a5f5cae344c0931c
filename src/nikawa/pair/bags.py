"""An inverted index of sentences that finds, for one of them, those it shares the most with.

With h units in common (each counted as often as both have it), m and n units, ROUGE is F = 2pr / (p + r), p = h / n,
r = h / m, computed in the very steps of rouge-score, so that even what rounding parts or joins is the same. Rare units
are looked up first: once the units left could not lift an unmet sentence to the best score so far, 2R / (m + R) at
most with R of them left, the long lists of the frequent ones are never read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nikawa.pair.units import Coded, Ints

LONG = 256
"""Length of a list before which it is worth asking whether it must be read."""
SLACK = 1e-9
"""Bounds are trusted beyond rounding only."""
REBUILD = 0.75
"""Share of living sentences at which the lists are cleared of the others."""
CHUNK = 1 << 21

Floor = Callable[["Found"], float]
"""A score that the wanted sentences reach for certain, from what was found so far."""


class Found(NamedTuple):
    """Sentences that share something with the one asked about."""

    sentences: Ints
    common: Ints
    """How many units they share, at least."""
    scores: Ints
    """ROUGE of that."""


def rouge(common: Ints, own: float, others: Ints) -> Ints:
    """F-measure, the steps of rouge-score; where a length is infinite, 0."""
    precision, recall = common / others, common / own
    return 2 * precision * recall / (precision + recall)


class Bags:
    """Sentences as bags of units, which leave one by one."""

    def __init__(self, coded: Coded) -> None:
        self.sizes = coded.lengths.astype(np.float64)
        self.lengths = self.sizes.copy()
        """Infinite for those that left: they score 0."""
        self.starts, self.units, self.counts = _bags(coded)
        self.kinds = coded.size
        self.living = self.indexed = len(coded)
        owners = np.repeat(np.arange(len(coded), dtype=np.int32), np.diff(self.starts))
        order = np.argsort(self.units, kind="stable")
        self.posts, self.post_counts = owners[order], self.counts[order]
        self.post_starts = _starts(self.units, self.kinds)
        self._common = np.zeros(len(coded), dtype=np.int32)
        self._asked = np.zeros(coded.size, dtype=np.int32)

    def alive(self, sentence: int) -> bool:
        """Whether it has not left yet."""
        return bool(self.lengths[sentence] != np.inf)

    def remove(self, sentence: int) -> None:
        """Let a sentence leave."""
        self.lengths[sentence] = np.inf
        self.living -= 1
        if self.living < REBUILD * self.indexed:
            self._clear()

    def _clear(self) -> None:
        """Drop the sentences that left from the lists."""
        kept = self.lengths[self.posts] != np.inf
        before = np.concatenate(([0], np.cumsum(kept)))
        self.post_starts = before[self.post_starts]
        self.posts, self.post_counts = self.posts[kept], self.post_counts[kept]
        self.indexed = self.living

    def near(self, sentence: int, floor: Floor) -> Found:
        """The living sentences that may score what `floor` says or more, with all they share."""
        first, last = self.starts[sentence], self.starts[sentence + 1]
        units, counts = self.units[first:last], self.counts[first:last]
        begins, ends = self.post_starts[units], self.post_starts[units + 1]
        lists = sorted(zip((ends - begins).tolist(), begins.tolist(), counts.tolist(), strict=True))
        left, size, low = int(counts.sum()), float(self.sizes[sentence]), 0.0
        parts: list[Ints] = []
        for length, begin, count in lists:
            if length > LONG and parts:
                low = max(low, floor(self._found(parts, size)))
                if 2 * left / (size + left) < low - SLACK:
                    break
            parts.append(self._read(begin, begin + length, count))
            left -= count
        found = self._found(parts, size)
        if left:
            found = self._complete(found, left, low, sentence)
        for part in parts:
            self._common[part] = 0
        return _positive(found)

    def _read(self, begin: int, end: int, count: int) -> Ints:
        """Count one list; the sentences met for the first time."""
        owners: Ints = self.posts[begin:end]
        before = self._common[owners]
        new: Ints = owners[before == 0]
        shared = self.post_counts[begin:end]
        self._common[owners] = before + (np.minimum(shared, count) if count > 1 else 1)
        return new

    def _found(self, parts: list[Ints], size: float) -> Found:
        met = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        common = self._common[met]
        return Found(met, common, rouge(common, size, self.lengths[met]))

    def _complete(self, found: Found, left: int, low: float, sentence: int) -> Found:
        """Count the lists that were not read, for those sentences alone that could still reach `low`."""
        size = float(self.sizes[sentence])
        highest = rouge(found.common + left, size, self.lengths[found.sentences])
        met = found.sentences[(highest >= low - SLACK) & (found.scores > 0)]
        first, last = self.starts[sentence], self.starts[sentence + 1]
        asked = self.units[first:last]
        self._asked[asked] = self.counts[first:last]
        places, ends = ranges(self.starts[met], self.starts[met + 1])
        shared = np.minimum(self._asked[self.units[places]], self.counts[places])
        totals = np.concatenate(([0], np.cumsum(shared)))
        common = np.diff(totals[np.concatenate(([0], ends))])
        self._asked[asked] = 0
        return Found(met, common, rouge(common, size, self.lengths[met]))


def ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of several ranges, one after the other, and where each range ends."""
    lengths = ends - begins
    closes = np.cumsum(lengths)
    total = int(closes[-1]) if len(closes) else 0
    return np.arange(total) + np.repeat(begins - closes + lengths, lengths), closes


def _positive(found: Found) -> Found:
    kept = found.scores > 0
    return Found(found.sentences[kept], found.common[kept], found.scores[kept])


def _starts(units: Ints, kinds: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(units, minlength=kinds))))


def _bags(coded: Coded) -> tuple[Ints, Ints, Ints]:
    """Starts, units and counts of each sentence; a unit that one sentence alone has is left out."""
    lengths = np.zeros(len(coded), dtype=np.int64)
    parts = [_chunk(coded, a, b, lengths) for a, b in _chunks(coded)]
    units = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, dtype=np.int32)
    counts = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, dtype=np.int32)
    del parts
    shared = np.bincount(units, minlength=coded.size)[units] > 1
    kept = np.concatenate(([0], np.cumsum(shared)))
    starts = kept[np.concatenate(([0], np.cumsum(lengths)))]
    return starts, units[shared], counts[shared]


def _chunks(coded: Coded) -> list[tuple[int, int]]:
    """Ranges of sentences with about so many units together, so that sorting needs little room."""
    steps = np.arange(0, len(coded.ids) + CHUNK, CHUNK)
    cuts = np.unique(np.concatenate((np.searchsorted(coded.starts[:-1], steps), [0, len(coded)])))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def _chunk(coded: Coded, first: int, last: int, lengths: Ints) -> tuple[Ints, Ints]:
    owners = np.repeat(np.arange(last - first, dtype=np.int64), coded.lengths[first:last])
    kinds, counts = np.unique(
        owners * coded.size + coded.ids[coded.starts[first] : coded.starts[last]], return_counts=True
    )
    lengths[first:last] = np.bincount(kinds // max(coded.size, 1), minlength=last - first)
    return (kinds % max(coded.size, 1)).astype(np.int32), counts.astype(np.int32)
