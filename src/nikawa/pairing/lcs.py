"""Longest common subsequences of one sentence with many, 64 cells of the table a machine word.

Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004): V starts as ones; for each unit
with positions M, U = V & M and V = (V + U) | (V - U); the zeros left in V are the length. Of a few
sentences V is one long integer each, of many a column of words, one a sentence; those of one block
are of similar length.
"""

from __future__ import annotations

import numpy as np

from nikawa.pairing.units import CodedSentences, Ints

WORD_BITS = 64
MAX_ONE_BY_ONE = 48
"""Sentences up to which integers are faster."""
BLOCK_SENTENCES = 2048
"""Sentences a block: few enough to stay in the processor's cache."""


class Lcs:
    """One sentence at a time against many."""

    def __init__(self, coded: CodedSentences) -> None:
        self.coded = coded
        self._masks = np.zeros((1, coded.size), dtype=np.uint64)

    def lengths(self, sentence: int, others: Ints) -> Ints:
        """The length of the longest common subsequence with each of the others."""
        own = self.coded.ids[self.coded.starts[sentence] : self.coded.starts[sentence + 1]]
        if len(others) <= MAX_ONE_BY_ONE:
            return self._one_by_one(own, others)
        return self._together(own, others)

    def _one_by_one(self, own: Ints, others: Ints) -> Ints:
        ids, masks = self.coded.ids, _to_masks(own)
        begins, ends = self.coded.starts[others].tolist(), self.coded.starts[others + 1].tolist()
        full = (1 << len(own)) - 1
        lengths = []
        for begin, end in zip(begins, ends, strict=True):
            state = full
            for mask in map(masks.get, ids[begin:end].tolist()):
                if mask is not None:
                    hit = state & mask
                    state = (state + hit) | (state - hit)
            lengths.append(len(own) - (state & full).bit_count())
        return np.array(lengths, dtype=np.int64)

    def _together(self, own: Ints, others: Ints) -> Ints:
        words = -(-len(own) // WORD_BITS)
        if words > len(self._masks):
            self._masks = np.zeros((words, self.coded.size), dtype=np.uint64)
        for unit, mask in _to_masks(own).items():
            for word in range(words):
                self._masks[word, unit] = mask >> (WORD_BITS * word) & (1 << WORD_BITS) - 1
        sizes = self.coded.starts[others + 1] - self.coded.starts[others]
        order = np.argsort(-sizes, kind="stable")
        lengths = np.empty(len(others), dtype=np.int64)
        for start in range(0, len(others), BLOCK_SENTENCES):
            block = order[start : start + BLOCK_SENTENCES]
            lengths[block] = self._block_lengths(others[block], sizes[block], words)
        self._masks[:words, own] = 0
        return lengths

    def _block_lengths(self, others: Ints, sizes: Ints, words: int) -> Ints:
        """Sentences from the longest to the shortest: at each position the first so many have a
        unit.
        """
        at = self.coded.starts[others]
        state = np.full((words, len(others)), ~np.uint64(0))
        having = np.searchsorted(-sizes, -np.arange(int(sizes[0]) if len(sizes) else 0), "left")
        step = _step if words > 1 else _step_one_word
        for count in having.tolist():
            step(state[:, :count], self._masks, self.coded.ids[at[:count]])
            at += 1
        zeros = np.bitwise_count(~state)
        return zeros.sum(axis=0, dtype=np.int64)  # type: ignore[no-any-return]


def _to_masks(own: Ints) -> dict[int, int]:
    """Unit to the bits of its positions."""
    masks: dict[int, int] = {}
    for position, unit in enumerate(own.tolist()):
        masks[unit] = masks.get(unit, 0) | 1 << position
    return masks


def _step_one_word(state: Ints, masks: Ints, units: Ints) -> None:
    """One unit of every sentence, one word."""
    old = state[0]
    hit = masks[0].take(units)
    hit &= old
    rest = old - hit
    old += hit
    old |= rest


def _step(state: Ints, masks: Ints, units: Ints) -> None:
    """One unit of every sentence; a carry runs from word to word."""
    carry = np.zeros(len(units), dtype=np.uint64)
    for word, old in enumerate(state):
        hit = old & masks[word].take(units)
        total = old + hit
        moved = total + carry
        carry = ((total < old) | (moved < total)).astype(np.uint64)
        state[word] = moved | (old - hit)
