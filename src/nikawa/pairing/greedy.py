"""Greedy sentence matching (KLUE 3.2.1), the same pairs as trying them all, without trying them
all.

`algorithm1` is the paper's Algorithm 1: take the next sentence of a random order, pair it with the
sentence of the highest ROUGE among those left, let both leave. `best_first` is what the paper's
prose says: draw the best pair of all that are left, again and again. Ties go to the lowest index,
and so do sentences that share nothing with any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice
from multiprocessing import get_all_start_methods
from typing import Any, Literal, NamedTuple

import numpy as np

from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.pairing.inverted_index import SLACK, Bags, Matches, compute_rouge
from nikawa.pairing.lcs import Lcs
from nikawa.pairing.units import CodedSentences, Ints, encode_bigrams

Variant = Literal["1", "2", "L"]
PARTNERS_KEPT = 8
"""Partners remembered a sentence, so that one which left does not mean a new search."""
FIRST_BLOCK = 16
"""Sentences whose subsequence is computed at first; then four times as many, and so on."""

CHUNK_SENTENCES = 64
"""Sentences whose partners another process looks for at a time."""

OnProgress = Callable[[int, int], None]
"""Called with how many sentences are done and how many there are."""


class Pair(NamedTuple):
    """Two sentences by index, and their ROUGE."""

    first: int
    second: int
    score: float


def algorithm1(
    coded: CodedSentences,
    variant: Variant = "L",
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    where: ExecuteOptions | None = None,
) -> Iterator[Pair]:
    """Pairs in the order they are found; of an odd number one sentence stays alone.

    With `where`, other processes look for the partners of the sentences that are left; of those,
    the first that has not left is the best of all that are left. Only a sentence whose partners
    have all left is searched for again here.
    """
    finder = PartnerFinder(coded, variant)
    searcher = finder.searcher
    bags, lowest, count = searcher.bags, 0, len(coded)
    order = (sentence for sentence in draw_order(count, seed) if bags.is_alive(sentence))
    for sentence, partners in finder.find_all(order, where):
        if not bags.is_alive(sentence) or bags.living < 2:
            continue
        best = [each for each in partners if bags.is_alive(each[1])]
        best = best or searcher.find_best(sentence)
        bags.remove(sentence)
        while not bags.is_alive(lowest):
            lowest += 1
        score, partner = best[0] if best else (0.0, lowest)
        bags.remove(partner)
        if on_progress is not None:
            on_progress(count - bags.living, count)
        yield Pair(sentence, partner, score)


def draw_order(count: int, seed: int) -> list[int]:
    """The random order of Algorithm 1."""
    return np.random.default_rng(seed).permutation(count).tolist()  # type: ignore[no-any-return]


def best_first(
    coded: CodedSentences,
    variant: Variant = "L",
    *,
    on_progress: OnProgress | None = None,
    where: ExecuteOptions | None = None,
) -> Iterator[Pair]:
    """Pairs from the best to the worst; the lower index comes first in each.

    With `where`, other processes look for the first partners of all sentences.
    """
    finder = PartnerFinder(coded, variant)
    searcher = finder.searcher
    bags, count = searcher.bags, len(coded)
    queue = []
    for sentence, partners in finder.find_all(range(count), where):
        if entry := _make_entry(searcher, sentence, partners):
            queue.append(entry)
    heapify(queue)
    while queue:
        score, first, second, owner, others = heappop(queue)
        if not bags.is_alive(owner):
            continue
        if bags.is_alive(first + second - owner):
            bags.remove(first)
            bags.remove(second)
            if on_progress is not None:
                on_progress(count - bags.living, count)
            yield Pair(first, second, -score)
        elif entry := _make_entry(searcher, owner, others):
            heappush(queue, entry)
    # those that share nothing with any other, in the order of their index
    unmatched = filter(bags.is_alive, range(count))
    for first, second in zip(unmatched, unmatched, strict=False):
        yield Pair(first, second, 0.0)


Entry = tuple[float, int, int, int, list[tuple[float, int]]]
"""A pair in the queue: minus score, indices, the sentence whose best pair it is, that one's next
partners."""


def _make_entry(
    searcher: Searcher, owner: int, known: list[tuple[float, int]] | None = None
) -> Entry | None:
    """The best pair of a sentence.

    `known` are partners found earlier, some of which may have left.
    """
    while known and not searcher.bags.is_alive(known[0][1]):
        known = known[1:]
    others = known or searcher.find_best(owner, PARTNERS_KEPT)
    if not others:
        return None
    score, partner = others[0]
    return -score, min(owner, partner), max(owner, partner), owner, others[1:]


class Searcher:
    """The best partners of a sentence among those that have not left."""

    def __init__(self, coded: CodedSentences, variant: Variant = "L") -> None:
        self.bags = Bags(encode_bigrams(coded) if variant == "2" else coded)
        self.lcs = Lcs(coded) if variant == "L" else None

    def find_best(self, sentence: int, count: int = 1) -> list[tuple[float, int]]:
        """Score and index of the `count` best with a score above 0, the best first, ties by index."""
        if self.lcs is None:
            matches = self.bags.find_near(sentence, lambda seen: _nth_best(seen.scores, count))
        else:
            matches = _SubsequenceSearch(self.bags, self.lcs, sentence, count).run()
        if not len(matches.scores):
            return []
        best = matches.select(matches.scores >= _nth_best(matches.scores, count))
        scores, sentences = best.scores, self.bags.names[best.sentences]
        if count == 1:
            return [(float(scores[0]), int(sentences.min()))]
        ranked = np.lexsort((sentences, -scores))[:count]
        return [(float(scores[i]), int(sentences[i])) for i in ranked]


class _SubsequenceSearch:
    """ROUGE-L of one sentence: what two sentences share bounds their subsequence, so few of those
    are computed.
    """

    def __init__(self, bags: Bags, lcs: Lcs, sentence: int, count: int) -> None:
        self.bags, self.lcs, self.sentence, self.count = bags, lcs, sentence, count
        self.size = float(bags.sizes[bags.places[sentence]])
        self.low = 0.0

    def run(self) -> Matches:
        """Those that may be among the best, with their real scores."""
        matches = self.bags.find_near(self.sentence, self._find_floor)
        order = np.argsort(-matches.scores, kind="stable")
        blocks = []
        begin, step, low = 0, FIRST_BLOCK, self.low
        scores = np.empty(0)
        while begin < len(order) and matches.scores[order[begin]] >= low - SLACK:
            block = matches.select(order[begin : begin + step])
            rescored = self._rescore(block.select(block.scores >= low - SLACK))
            blocks.append(rescored)
            scores = np.concatenate((scores, rescored.scores))
            low, begin, step = max(low, _nth_best(scores, self.count)), begin + step, step * 4
        if not blocks:
            return matches.select(slice(0))
        return Matches(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))

    def _find_floor(self, matches: Matches) -> float:
        """The score certain by now: that of the most promising, computed."""
        tried = max(FIRST_BLOCK, self.count)
        likely = np.flatnonzero(matches.scores > self.low)
        if len(likely) > tried:
            likely = likely[np.argpartition(matches.scores[likely], -tried)[-tried:]]
        if len(likely) >= self.count:
            rescored = self._rescore(matches.select(likely))
            self.low = max(self.low, _nth_best(rescored.scores, self.count))
        return self.low

    def _rescore(self, matches: Matches) -> Matches:
        """The same sentences with the lengths of their common subsequences."""
        common = matches.common
        if int(common.max(initial=0)) >= 2:
            common = self.lcs.lengths(self.sentence, self.bags.names[matches.sentences])
        scores = compute_rouge(common, self.size, self.bags.lengths[matches.sentences])
        return Matches(matches.sentences, common, scores)


@dataclass(frozen=True)
class PartnerFinder:
    """Finds the partners of sentences among all, in any process; each builds its own index."""

    coded: CodedSentences
    variant: Variant = "L"

    @cached_property
    def searcher(self) -> Searcher:
        """The index of this process."""
        return Searcher(self.coded, self.variant)

    def __call__(self, sentences: list[int]) -> list[list[tuple[float, int]]]:
        """The best partners of each sentence, the best first."""
        return [self.searcher.find_best(sentence, PARTNERS_KEPT) for sentence in sentences]

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the index."""
        return PartnerFinder, (self.coded, self.variant)

    def find_all(
        self, sentences: Iterable[int], where: ExecuteOptions | None
    ) -> Iterator[tuple[int, list[tuple[float, int]]]]:
        """Each sentence with its partners; without `where` with none, so that nothing is looked for in vain."""
        if where is None:
            yield from ((sentence, []) for sentence in sentences)
            return
        chunks: deque[list[int]] = deque()
        stream = iter(sentences)

        def read_chunks() -> Iterator[list[int]]:
            while chunk := list(islice(stream, CHUNK_SENTENCES)):
                chunks.append(chunk)
                yield chunk

        # a forked process shares the index of this one
        start: Literal["fork", "spawn"] = "fork" if "fork" in get_all_start_methods() else "spawn"
        for partners in map_in_order(self, read_chunks(), where, start=start):
            yield from zip(chunks.popleft(), partners, strict=True)


def _nth_best(scores: Ints, rank: int) -> float:
    """The score of a rank, 0 where there are fewer."""
    if len(scores) < rank:
        return 0.0
    return float(scores.max()) if rank == 1 else float(np.partition(scores, -rank)[-rank])
