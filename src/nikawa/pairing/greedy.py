"""Greedy sentence matching (KLUE 3.2.1), the same pairs as trying them all, without trying them all.

`algorithm1` is the paper's Algorithm 1: take the next sentence of a random order, pair it with the sentence of the
highest ROUGE among those left, let both leave. `best_first` is what the paper's prose says: draw the best pair of all
that are left, again and again. Ties go to the lowest index, and so do sentences that share nothing with any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from nikawa.pairing.bags import SLACK, Bags, Found, rouge
from nikawa.pairing.lcs import Lcs
from nikawa.pairing.units import Coded, Ints, bigrams

Variant = Literal["1", "2", "L"]
KEPT = 8
"""Partners remembered a sentence, so that one which left does not mean a new search."""
TRIED = 16
"""Sentences whose subsequence is computed at first; then four times as many, and so on."""

Progress = Callable[[int, int], None]
"""Called with how many sentences are done and how many there are."""


class Pair(NamedTuple):
    """Two sentences by index, and their ROUGE."""

    first: int
    second: int
    score: float


class Searcher:
    """The best partners of a sentence among those that have not left."""

    def __init__(self, coded: Coded, variant: Variant = "L") -> None:
        self.bags = Bags(bigrams(coded) if variant == "2" else coded)
        self.lcs = Lcs(coded) if variant == "L" else None

    def best(self, sentence: int, wanted: int = 1) -> list[tuple[float, int]]:
        """Score and index of the `wanted` best with a score above 0, the best first, ties by index."""
        if self.lcs is None:
            found = self.bags.near(sentence, lambda met: _nth(met.scores, wanted))
        else:
            found = _Subsequences(self.bags, self.lcs, sentence, wanted).found()
        return _top(found, self.bags.names, wanted)


class _Subsequences:
    """ROUGE-L of one sentence: what two sentences share bounds their subsequence, so few of those are computed."""

    def __init__(self, bags: Bags, lcs: Lcs, sentence: int, wanted: int) -> None:
        self.bags, self.lcs, self.sentence, self.wanted = bags, lcs, sentence, wanted
        self.size = float(bags.sizes[bags.places[sentence]])
        self.low = 0.0

    def found(self) -> Found:
        """Those that may be among the best, with their real scores."""
        met = self.bags.near(self.sentence, self._floor)
        order = np.argsort(-met.scores, kind="stable")
        done, begin, step, low = [], 0, TRIED, self.low
        scores = np.empty(0)
        while begin < len(order) and met.scores[order[begin]] >= low - SLACK:
            block = order[begin : begin + step]
            block = block[met.scores[block] >= low - SLACK]
            done.append(self._real(met.sentences[block], met.common[block]))
            scores = np.concatenate((scores, done[-1].scores))
            low, begin, step = max(low, _nth(scores, self.wanted)), begin + step, step * 4
        if not done:
            return Found(*(part[:0] for part in met))
        parts = zip(*done, strict=True)
        return Found(*(np.concatenate(part) for part in parts))

    def _floor(self, met: Found) -> float:
        """The score certain by now: that of the most promising, computed."""
        some = max(TRIED, self.wanted)
        likely = np.flatnonzero(met.scores > self.low)
        if len(likely) > some:
            likely = likely[np.argpartition(met.scores[likely], -some)[-some:]]
        if len(likely) >= self.wanted:
            real = self._real(met.sentences[likely], met.common[likely])
            self.low = max(self.low, _nth(real.scores, self.wanted))
        return self.low

    def _real(self, others: Ints, common: Ints) -> Found:
        names = self.bags.names[others]
        lengths = (
            common if int(common.max(initial=0)) < 2 else self.lcs.lengths(self.sentence, names)
        )
        return Found(others, lengths, rouge(lengths, self.size, self.bags.lengths[others]))


def _nth(scores: Ints, wanted: int) -> float:
    """The score of rank `wanted`, 0 where there are fewer."""
    if len(scores) < wanted:
        return 0.0
    return float(scores.max()) if wanted == 1 else float(np.partition(scores, -wanted)[-wanted])


def _top(found: Found, names: Ints, wanted: int) -> list[tuple[float, int]]:
    if not len(found.scores):
        return []
    kept = found.scores >= _nth(found.scores, wanted)
    scores, sentences = found.scores[kept], names[found.sentences[kept]]
    if wanted == 1:
        return [(float(scores[0]), int(sentences.min()))]
    ranked = np.lexsort((sentences, -scores))[:wanted]
    return [(float(scores[i]), int(sentences[i])) for i in ranked]


def permutation(count: int, seed: int) -> list[int]:
    """The random order of Algorithm 1."""
    return np.random.default_rng(seed).permutation(count).tolist()  # type: ignore[no-any-return]


def algorithm1(
    coded: Coded, variant: Variant = "L", *, seed: int = 0, progress: Progress | None = None
) -> Iterator[Pair]:
    """Pairs in the order they are found; of an odd number one sentence stays alone."""
    searcher = Searcher(coded, variant)
    bags, lowest, count = searcher.bags, 0, len(coded)
    for sentence in permutation(count, seed):
        if not bags.alive(sentence) or bags.living < 2:
            continue
        found = searcher.best(sentence)
        bags.remove(sentence)
        while not bags.alive(lowest):
            lowest += 1
        score, partner = found[0] if found else (0.0, lowest)
        bags.remove(partner)
        if progress is not None:
            progress(count - bags.living, count)
        yield Pair(sentence, partner, score)


def best_first(
    coded: Coded, variant: Variant = "L", *, progress: Progress | None = None
) -> Iterator[Pair]:
    """Pairs from the best to the worst; the lower index comes first in each."""
    searcher = Searcher(coded, variant)
    count = len(coded)
    queue = [entry for sentence in range(count) if (entry := _entry(searcher, sentence))]
    heapify(queue)
    while queue:
        score, first, second, owner, others = heappop(queue)
        if not searcher.bags.alive(owner):
            continue
        if searcher.bags.alive(first + second - owner):
            searcher.bags.remove(first)
            searcher.bags.remove(second)
            if progress is not None:
                progress(count - searcher.bags.living, count)
            yield Pair(first, second, -score)
        elif entry := _entry(searcher, owner, others):
            heappush(queue, entry)
    yield from _leftovers(sentence for sentence in range(count) if searcher.bags.alive(sentence))


Entry = tuple[float, int, int, int, list[tuple[float, int]]]


def _entry(
    searcher: Searcher, owner: int, known: list[tuple[float, int]] | None = None
) -> Entry | None:
    """The best pair of a sentence as the queue holds it: minus score, indices, whose it is, the next partners."""
    while known and not searcher.bags.alive(known[0][1]):
        known = known[1:]
    others = known or searcher.best(owner, KEPT)
    if not others:
        return None
    score, partner = others[0]
    return -score, min(owner, partner), max(owner, partner), owner, others[1:]


def _leftovers(sentences: Iterable[int]) -> Iterator[Pair]:
    """Those that share nothing with any other, in the order of their index."""
    left = iter(sentences)
    for first, second in zip(left, left, strict=False):
        yield Pair(first, second, 0.0)
