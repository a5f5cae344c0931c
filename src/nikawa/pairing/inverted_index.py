"""An inverted index of sentences that finds, for one of them, those it shares the most with.

With h units in common (each counted as often as both have it), m and n units, ROUGE is F = 2pr / (p
+ r), p = h / n, r = h / m, computed in the very steps of rouge-score, so that even what rounding
parts or joins is the same. Without rounding it is 2h / (m + n). The lists of rare units are read
first, some at a time. With R lists left, a sentence in none of those read reaches 2R / (m + n):
once the best so far is F, of the next list only those with n <= 2R / F - m can matter. Sentences
are numbered by length, so those are one stretch of the list. What a few promising sentences have in
the lists never read is counted in the sentences themselves.

A sentence is a set: the second occurrence of a unit is another element, the third time yet
another. So two sentences have in common as many units as their sets have elements, each unit as
often as both have it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nikawa.pairing.units import CodedSentences, Ints

CHUNK_UNITS = 1 << 21
"""Units sorted at a time, so that sorting needs little room."""
FIRST_BUDGET, BUDGET_GROWTH = 512, 8
"""Entries of lists read at first, and how many times as many the next time."""
MAX_SHORT_LIST = 64
"""Length up to which a list is read whole."""
EXTRA_LISTS_SHARE = 0.1
"""Lists read beyond those that can hold an unmet best sentence, a unit: they tell the sentences met
apart."""
LIKELY_SENTENCES = 16
"""Sentences whose scores tell how good the best is."""
MAX_SENTENCES_SCANNED, MAX_SENTENCES_FILLED = 8, 64
"""Sentences an entry read up to which all are looked at, or set back, at once."""
SLACK = 1e-9
"""Bounds are trusted beyond rounding only."""
MIN_LIVING_SHARE = 0.75
"""Share of living sentences at which the others are cleared out."""


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


def build_sets(coded: CodedSentences, order: Ints) -> Sets:
    """The sets of the sentences in `order`; an element of one sentence alone is left out."""
    elements, earlier = sort_units(coded, order)
    repeated = np.flatnonzero(earlier)
    keys = elements[repeated].astype(np.int64) << 32 | earlier[repeated]
    kinds, codes = np.unique(keys, return_inverse=True)
    elements[repeated] = coded.size + codes
    size = coded.size + len(kinds)
    shared = np.bincount(elements, minlength=size)[elements] > 1
    starts = to_starts(coded.lengths[order])
    return Sets(count_before(shared, starts), elements[shared], size)


def build_lists(sets: Sets) -> Lists:
    """Element to the sentences that have it."""
    count = len(sets.starts) - 1
    keys = np.repeat(np.arange(count, dtype=np.int64), np.diff(sets.starts))
    keys += sets.elements * np.int64(count)
    keys.sort()
    keys %= max(count, 1)
    return Lists(to_starts(np.bincount(sets.elements, minlength=sets.size)), keys.astype(np.int32))


def to_starts(lengths: Ints) -> Ints:
    """Where each of several stretches begins, and where the last ends."""
    return np.concatenate(([0], np.cumsum(lengths)))


def count_before(flags: Ints, places: Ints) -> Ints:
    """How many flags are set before each place; places are in order."""
    counts = np.empty(len(places), np.int64)
    total = begin = 0
    for start in range(0, len(flags) + 1, CHUNK_UNITS):
        before = to_starts(flags[start : start + CHUNK_UNITS])
        last = start + len(before) - 1
        end = int(np.searchsorted(places, last, "right" if last >= len(flags) else "left"))
        counts[begin:end] = total + before[places[begin:end] - start]
        total, begin = total + int(before[-1]), end
    return counts


def expand_ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of several ranges, one after the other, and where each range begins in them."""
    lengths = ends - begins
    opens = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    return np.arange(total) + np.repeat(begins - opens, lengths), opens


def sort_units(coded: CodedSentences, order: Ints) -> tuple[Ints, Ints]:
    """Unit and how many of the same come before it in the sentence, sentence by sentence."""
    elements = np.empty(len(coded.ids), np.int32)
    earlier = np.empty(len(coded.ids), np.int32)
    starts = to_starts(coded.lengths[order])
    # ranges of sentences with about so many units together
    steps = np.arange(0, int(starts[-1]) + CHUNK_UNITS, CHUNK_UNITS)
    bounds = np.concatenate((np.searchsorted(starts[:-1], steps), [0, len(starts) - 1]))
    for first, last in pairwise(np.unique(bounds).tolist()):
        if starts[last] == starts[first]:
            continue
        lengths = np.diff(starts[first : last + 1])
        begins = coded.starts[order[first:last]]
        places, _ = expand_ranges(begins, begins + lengths)
        keys = np.repeat(np.arange(last - first, dtype=np.int64) << 32, lengths)
        keys |= coded.ids[places]
        keys.sort()
        new = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        repeats = np.diff(np.append(new, len(keys)))
        stretch = slice(starts[first], starts[last])
        elements[stretch] = keys & 0xFFFFFFFF
        earlier[stretch] = np.arange(len(keys)) - np.repeat(new, repeats)
    return elements, earlier


class Matches(NamedTuple):
    """Sentences, by their number in the index, that share something with the one asked about."""

    sentences: Ints
    common: Ints
    """How many units they share, at least."""
    scores: Ints
    """ROUGE of that."""

    def select(self, rows: Ints | slice) -> Matches:
        """Some of them, by a mask, indices or a slice."""
        return Matches(self.sentences[rows], self.common[rows], self.scores[rows])


Floor = Callable[[Matches], float]
"""A score that the sentences searched for reach for certain, from what was found so far."""


def compute_rouge(common: Ints, own: float, others: Ints) -> Ints:
    """F-measure, the steps of rouge-score; where a length is infinite, 0."""
    precision, recall = common / others, common / own
    return 2 * precision * recall / (precision + recall)


class Bags:
    """Sentences as bags of units, which leave one by one."""

    def __init__(self, coded: CodedSentences) -> None:
        self.names = np.argsort(coded.lengths, kind="stable").astype(np.int32)
        """Number in the index, by length, to the sentence's own."""
        self.sizes = coded.lengths[self.names].astype(np.float64)
        self.lengths = self.sizes.copy()
        """Infinite for those that left: they score 0."""
        self.places = np.empty(len(coded), np.int32)
        self.places[self.names] = np.arange(len(coded), dtype=np.int32)
        """The other way round; -1 for those that left."""
        self.sets = build_sets(coded, self.names)
        self.lists = build_lists(self.sets)
        self.living = len(coded)
        self.in_query = np.zeros(self.sets.size, dtype=bool)
        longest = int(np.diff(self.sets.starts).max(initial=0))
        self.counts = np.zeros(len(coded), np.min_scalar_type(longest))

    def is_alive(self, sentence: int) -> bool:
        """Whether it has not left yet."""
        return bool(self.places[sentence] >= 0)

    def remove(self, sentence: int) -> None:
        """Let a sentence leave."""
        self.lengths[self.places[sentence]] = np.inf
        self.places[sentence] = -1
        self.living -= 1
        if self.living < MIN_LIVING_SHARE * len(self.names):
            self._rebuild()

    def _rebuild(self) -> None:
        """Drop the sentences that left from the index, and renumber the others."""
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
        self.lists = Lists(
            count_before(there, self.lists.starts), numbers[self.lists.sentences[there]]
        )

    def find_near(self, sentence: int, floor: Floor) -> Matches:
        """The other living sentences that may score what `floor` says or more, with all they share."""
        place = int(self.places[sentence])
        length, self.lengths[place] = self.lengths[place], np.inf  # no sentence is its own partner
        matches = _Search(self, place).run(floor)
        self.lengths[place] = length
        return matches


class _Search:
    """The lists of one sentence's units, from the shortest to the longest, as far as they must be
    read.
    """

    def __init__(self, bags: Bags, place: int) -> None:
        self.bags, self.size = bags, float(bags.sizes[place])
        starts, elements, _ = bags.sets
        self.elements = elements[starts[place] : starts[place + 1]]
        begins, ends = bags.lists.starts[self.elements], bags.lists.starts[self.elements + 1]
        order = np.argsort(ends - begins)
        self.begins, self.ends = begins[order].tolist(), ends[order].tolist()
        self.entries: list[int] = np.cumsum((ends - begins)[order]).tolist()
        self.extra = max(1, int(EXTRA_LISTS_SHARE * len(self.elements)))
        self.max_lengths: list[float] = []
        """Of each list read: the greatest length up to which it was."""
        self.parts: list[Ints] = []

    def run(self, floor: Floor) -> Matches:
        """Those that may be among the best, with what they share."""
        budget, low, lists = FIRST_BUDGET, 0.0, len(self.begins)
        if not lists:
            return self._count_shared(np.empty(0, np.int32))
        while len(self.max_lengths) < lists:
            upto = max(len(self.max_lengths) + 1, bisect_right(self.entries, budget))
            if self.entries[-1] <= BUDGET_GROWTH * budget:
                upto = lists
            if not self._read(upto, low):
                break
            low = max(low, floor(self._find_likely()))
            budget *= BUDGET_GROWTH
        matches = self._count_shared(self._find_reaching(low))
        self._reset_counts()
        return matches.select(matches.scores >= low)

    def _read(self, upto: int, low: float) -> bool:
        """Count the lists before `upto`, the stretches that can matter; whether there was any."""
        first, lists = len(self.max_lengths), len(self.begins)
        if low > 0:
            lists_left = np.arange(lists - first, lists - upto, -1) + self.extra
            stretches, max_lengths = self._cut_stretches(first, lists_left, low)
        else:
            bounds = zip(self.begins[first:upto], self.ends[first:upto], strict=True)
            stretches = [self.bags.lists.sentences[begin:end] for begin, end in bounds]
            max_lengths = [np.inf] * (upto - first)
        if stretches:
            self.parts.append(np.concatenate(stretches))
            np.add.at(self.bags.counts, self.parts[-1], self.bags.counts.dtype.type(1))
        self.max_lengths += max_lengths
        return bool(stretches)

    def _cut_stretches(
        self, first: int, lists_left: Ints, low: float
    ) -> tuple[list[Ints], list[float]]:
        """Of each list from `first` on what can matter, by how many lists are left.

        Up to which length that is.
        """
        min_length = low * self.size / (2 - low) - SLACK
        max_lengths = 2 * lists_left[lists_left >= min_length] / (low - SLACK) - self.size
        bounds = np.searchsorted(self.bags.sizes, max_lengths, "right").astype(np.int32)
        lowest = np.int32(np.searchsorted(self.bags.sizes, min_length))
        parts = []
        for number, bound in enumerate(bounds, start=first):
            part = self.bags.lists.sentences[self.begins[number] : self.ends[number]]
            if len(part) > MAX_SHORT_LIST:
                part = part[part.searchsorted(lowest) : part.searchsorted(bound)]
            parts.append(part)
        return parts, max_lengths.tolist()

    def _find_likely(self) -> Matches:
        """A few of the sentences in the most lists, with all they share."""
        last = self.parts[-1]
        counts = self.bags.counts.take(last)
        highest = int(counts.max(initial=0))
        likely = last[counts == highest][: 2 * LIKELY_SENTENCES]
        if len(likely) < LIKELY_SENTENCES:
            next_likely = last[counts == highest - 1][:LIKELY_SENTENCES]
            likely = np.concatenate((likely, next_likely, last[:LIKELY_SENTENCES]))
        return self._count_shared(_sort_distinct(likely[self.bags.lengths[likely] != np.inf]))

    def _find_reaching(self, low: float) -> Ints:
        """The sentences that could reach `low`, by what was counted."""
        min_lists = self._min_lists(low)
        if sum(map(len, self.parts)) * MAX_SENTENCES_SCANNED > len(self.bags.names):
            met = np.flatnonzero(self.bags.counts >= min_lists)
        else:
            met = np.concatenate(self.parts)
            met = met[self.bags.counts.take(met) >= min_lists]
        lengths = self.bags.lengths[met]
        max_common = self.bags.counts.take(met) + self._count_unread(lengths)
        highest = 2 * max_common / (self.size + lengths)
        return _sort_distinct(met[(highest >= low - SLACK) & (highest > 0)])

    def _min_lists(self, low: float) -> int:
        """In how many of the lists read a sentence of any length must be at least."""
        if low <= 0:
            return 1
        longest = min(float(self.bags.sizes[-1]), 2 * self.size / low - self.size)
        lengths = np.arange(int(low * self.size / (2 - low)), int(longest) + 2)
        common_needed = low * (self.size + lengths) / 2
        lists_needed = (common_needed - self._count_unread(lengths)).min()
        return max(1, int(np.ceil(lists_needed - SLACK)))

    def _count_unread(self, lengths: Ints) -> Ints:
        """How many lists were not read for sentences of these lengths."""
        unread = len(self.begins) - len(self.max_lengths)
        return np.searchsorted(self.max_lengths[::-1], lengths) + unread

    def _reset_counts(self) -> None:
        """Set the counts back to 0."""
        if sum(map(len, self.parts)) * MAX_SENTENCES_FILLED > len(self.bags.names):
            self.bags.counts.fill(0)
        else:
            for part in self.parts:
                self.bags.counts[part] = 0

    def _count_shared(self, met: Ints) -> Matches:
        """What these sentences share.

        From the sentences themselves where not all lists were read.
        """
        lengths = self.bags.lengths[met]
        if len(self.max_lengths) == len(self.begins) and self.max_lengths[-1:] in ([], [np.inf]):
            common = self.bags.counts[met].astype(np.int64)
            return Matches(met, common, compute_rouge(common, self.size, lengths))
        starts, elements, _ = self.bags.sets
        self.bags.in_query[self.elements] = True
        places, opens = expand_ranges(starts[met], starts[met + 1])
        hits = self.bags.in_query[elements[places]]
        common = np.add.reduceat(hits, opens, dtype=np.int64) if len(met) else np.empty(0, np.int64)
        self.bags.in_query[self.elements] = False
        return Matches(met, common, compute_rouge(common, self.size, lengths))


def _sort_distinct(numbers: Ints) -> Ints:
    """Each number once, in order."""
    if not len(numbers):
        return numbers
    ordered = np.sort(numbers, kind="stable")
    distinct: Ints = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return distinct
