"""An inverted index of sentences that finds, for one of them, those it shares the most with.

With h units in common (each counted as often as both have it), m and n units, ROUGE is F = 2pr / (p + r), p = h / n,
r = h / m, computed in the very steps of rouge-score, so that even what rounding parts or joins is the same. Without
rounding it is 2h / (m + n). The lists of rare units are read first, some at a time. With R lists left, a sentence in none
of those read reaches 2R / (m + n): once the best so far is F, of the next list only those with n <= 2R / F - m can matter.
Sentences are numbered by length, so those are one stretch of the list. What a few promising sentences have in the
lists never read is counted in the sentences themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nikawa.pairing.sets import Lists, lists_of, ranges, sets_of, sums_at
from nikawa.pairing.units import Coded, Ints

FIRST, TIMES = 512, 8
"""Entries of lists read at first, and how many times as many the next time."""
SHORT = 64
"""Length up to which a list is read whole."""
EXTRA = 0.1
"""Lists read beyond those that can hold an unmet best sentence, a unit: they tell the sentences met apart."""
SOME = 16
"""Sentences whose scores tell how good the best is."""
SCAN, FILL = 8, 64
"""Sentences an entry read up to which all are looked at, or set back, at once."""
SLACK = 1e-9
"""Bounds are trusted beyond rounding only."""
REBUILD = 0.75
"""Share of living sentences at which the others are cleared out."""

Floor = Callable[["Found"], float]
"""A score that the wanted sentences reach for certain, from what was found so far."""


class Found(NamedTuple):
    """Sentences, by their number in the index, that share something with the one asked about."""

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
        self.names = np.argsort(coded.lengths, kind="stable").astype(np.int32)
        """Number in the index, by length, to the sentence's own."""
        self.sizes = coded.lengths[self.names].astype(np.float64)
        self.lengths = self.sizes.copy()
        """Infinite for those that left: they score 0."""
        self.places = np.empty(len(coded), np.int32)
        self.places[self.names] = np.arange(len(coded), dtype=np.int32)
        """The other way round; -1 for those that left."""
        self.sets = sets_of(coded, self.names)
        self.lists = lists_of(self.sets)
        self.living = len(coded)
        self.asked = np.zeros(self.sets.size, dtype=bool)
        longest = int(np.diff(self.sets.starts).max(initial=0))
        self.counts = np.zeros(len(coded), np.min_scalar_type(longest))

    def alive(self, sentence: int) -> bool:
        """Whether it has not left yet."""
        return bool(self.places[sentence] >= 0)

    def remove(self, sentence: int) -> None:
        """Let a sentence leave."""
        self.lengths[self.places[sentence]] = np.inf
        self.places[sentence] = -1
        self.living -= 1
        if self.living < REBUILD * len(self.names):
            self._clear()

    def _clear(self) -> None:
        """Drop the sentences that left from the index, and number the others anew."""
        kept = self.lengths != np.inf
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        self.names, self.sizes = self.names[kept], self.sizes[kept]
        self.lengths, self.counts = self.sizes.copy(), self.counts[: len(self.names)]
        self.places[self.names] = np.arange(len(self.names), dtype=np.int32)
        starts, elements, _ = self.sets
        inside = np.repeat(kept, np.diff(starts))
        ends = np.concatenate(([0], np.cumsum(np.diff(starts)[kept])))
        self.sets = self.sets._replace(starts=ends, elements=elements[inside])
        del inside, elements
        there = kept[self.lists.sentences]
        self.lists = Lists(sums_at(there, self.lists.starts), numbers[self.lists.sentences[there]])

    def near(self, sentence: int, floor: Floor) -> Found:
        """The other living sentences that may score what `floor` says or more, with all they share."""
        place = int(self.places[sentence])
        length, self.lengths[place] = self.lengths[place], np.inf  # nobody is their own partner
        found = _Search(self, place).found(floor)
        self.lengths[place] = length
        return found


class _Search:
    """The lists of one sentence's units, from the shortest to the longest, as far as they must be read."""

    def __init__(self, bags: Bags, place: int) -> None:
        self.bags, self.size = bags, float(bags.sizes[place])
        starts, elements, _ = bags.sets
        self.own = elements[starts[place] : starts[place + 1]]
        begins, ends = bags.lists.starts[self.own], bags.lists.starts[self.own + 1]
        order = np.argsort(ends - begins)
        self.begins, self.ends = begins[order].tolist(), ends[order].tolist()
        self.sums: list[int] = np.cumsum((ends - begins)[order]).tolist()
        self.extra = max(1, int(EXTRA * len(self.own)))
        self.most: list[float] = []
        """Of each list read: the greatest length up to which it was."""
        self.parts: list[Ints] = []

    def found(self, floor: Floor) -> Found:
        """Those that may be among the best, with what they share."""
        budget, low, lists = FIRST, 0.0, len(self.begins)
        if not lists:
            return self._shared(np.empty(0, np.int32))
        while len(self.most) < lists:
            upto = max(len(self.most) + 1, bisect_right(self.sums, budget))
            if self.sums[-1] <= TIMES * budget:
                upto = lists
            if not self._read(upto, low):
                break
            low = max(low, floor(self._likely()))
            budget *= TIMES
        found = self._shared(self._met(low))
        self._forget()
        return Found(*(part[found.scores >= low] for part in found))

    def _read(self, upto: int, low: float) -> bool:
        """Count the lists before `upto`, the stretches that can matter; whether there was any."""
        first, lists = len(self.most), len(self.begins)
        if low > 0:
            parts, most = self._stretches(
                first, np.arange(lists - first, lists - upto, -1) + self.extra, low
            )
        else:
            stretches = zip(self.begins[first:upto], self.ends[first:upto], strict=True)
            parts, most = (
                [self.bags.lists.sentences[a:b] for a, b in stretches],
                [np.inf] * (upto - first),
            )
        if parts:
            self.parts.append(np.concatenate(parts))
            np.add.at(self.bags.counts, self.parts[-1], self.bags.counts.dtype.type(1))
        self.most += most
        return bool(parts)

    def _stretches(self, first: int, left: Ints, low: float) -> tuple[list[Ints], list[float]]:
        """Of each list from `first` on what can matter, by how many lists are left; how far up in length that is."""
        least = low * self.size / (2 - low) - SLACK
        most = 2 * left[left >= least] / (low - SLACK) - self.size
        bounds = np.searchsorted(self.bags.sizes, most, "right").astype(np.int32)
        lowest = np.int32(np.searchsorted(self.bags.sizes, least))
        parts = []
        for number, bound in enumerate(bounds, start=first):
            part = self.bags.lists.sentences[self.begins[number] : self.ends[number]]
            if len(part) > SHORT:
                part = part[part.searchsorted(lowest) : part.searchsorted(bound)]
            parts.append(part)
        return parts, most.tolist()

    def _likely(self) -> Found:
        """A few of the sentences in the most lists, with all they share."""
        last = self.parts[-1]
        counts = self.bags.counts.take(last)
        highest = int(counts.max(initial=0))
        some = last[counts == highest][: 2 * SOME]
        if len(some) < SOME:
            some = np.concatenate((some, last[counts == highest - 1][:SOME], last[:SOME]))
        return self._shared(_distinct(some[self.bags.lengths[some] != np.inf]))

    def _met(self, low: float) -> Ints:
        """The sentences that could reach `low`, by what was counted."""
        least = self._needed(low)
        if sum(map(len, self.parts)) * SCAN > len(self.bags.names):
            met = np.flatnonzero(self.bags.counts >= least)
        else:
            met = np.concatenate(self.parts)
            met = met[self.bags.counts.take(met) >= least]
        lengths = self.bags.lengths[met]
        highest = 2 * (self.bags.counts.take(met) + self._missed(lengths)) / (self.size + lengths)
        return _distinct(met[(highest >= low - SLACK) & (highest > 0)])

    def _needed(self, low: float) -> int:
        """In how many of the lists read a sentence of any length must be at least."""
        if low <= 0:
            return 1
        longest = min(float(self.bags.sizes[-1]), 2 * self.size / low - self.size)
        lengths = np.arange(int(low * self.size / (2 - low)), int(longest) + 2)
        return max(
            1, int(np.ceil((low * (self.size + lengths) / 2 - self._missed(lengths)).min() - SLACK))
        )

    def _missed(self, lengths: Ints) -> Ints:
        """How many lists were not read for sentences of these lengths."""
        unread = len(self.begins) - len(self.most)
        return np.searchsorted(self.most[::-1], lengths) + unread

    def _forget(self) -> None:
        """Set the counts back to 0."""
        if sum(map(len, self.parts)) * FILL > len(self.bags.names):
            self.bags.counts.fill(0)
        else:
            for part in self.parts:
                self.bags.counts[part] = 0

    def _shared(self, met: Ints) -> Found:
        """What these sentences share; from the sentences themselves where not all lists were read."""
        lengths = self.bags.lengths[met]
        if len(self.most) == len(self.begins) and self.most[-1:] in ([], [np.inf]):
            common = self.bags.counts[met].astype(np.int64)
            return Found(met, common, rouge(common, self.size, lengths))
        starts, elements, _ = self.bags.sets
        self.bags.asked[self.own] = True
        places, opens = ranges(starts[met], starts[met + 1])
        hits = self.bags.asked[elements[places]]
        common = np.add.reduceat(hits, opens, dtype=np.int64) if len(met) else np.empty(0, np.int64)
        self.bags.asked[self.own] = False
        return Found(met, common, rouge(common, self.size, lengths))


def _distinct(numbers: Ints) -> Ints:
    """Each number once, in order."""
    numbers = np.sort(numbers, kind="stable")
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers
