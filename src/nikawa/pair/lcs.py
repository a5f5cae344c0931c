"""Longest common subsequences of one sentence with many, 64 cells of the table a machine word.

Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004): V starts as ones; for each unit with positions M,
U = V & M and V = (V + U) | (V - U); the zeros left in V are the length. Here V is a column of words, one a sentence.
"""

from __future__ import annotations

import numpy as np

from nikawa.pair.bags import ranges
from nikawa.pair.units import Coded, Ints

WORD = 64


class Lcs:
    """One sentence at a time against many."""

    def __init__(self, coded: Coded) -> None:
        self.coded = coded
        self._place = np.zeros(coded.size, dtype=np.int32)

    def lengths(self, sentence: int, others: Ints) -> Ints:
        """The length of the longest common subsequence with each of the others."""
        own = self.coded.ids[self.coded.starts[sentence] : self.coded.starts[sentence + 1]]
        masks = self._masks(own)
        table = self._table(others)
        self._place[own] = 0
        state = np.full((masks.shape[1], len(others)), ~np.uint64(0))
        for column in table:
            _step(state, masks, column)
        zeros = np.bitwise_count(~state).astype(np.int64)
        return zeros.sum(axis=0)  # type: ignore[no-any-return]

    def _masks(self, own: Ints) -> Ints:
        """Positions of each different unit of the sentence, in words; row 0 is for the units it lacks."""
        kinds, inverse = np.unique(own, return_inverse=True)
        masks = np.zeros((len(kinds) + 1, -(-len(own) // WORD)), dtype=np.uint64)
        for position, kind in enumerate(inverse.tolist()):
            masks[kind + 1, position // WORD] |= np.uint64(1 << (position % WORD))
        self._place[kinds] = np.arange(1, len(kinds) + 1)
        return masks

    def _table(self, others: Ints) -> Ints:
        """A row a position, a column a sentence: the unit's row in the masks, units the sentence lacks left out."""
        places, ends = ranges(self.coded.starts[others], self.coded.starts[others + 1])
        rows = self._place[self.coded.ids[places]]
        met = rows > 0
        before = np.concatenate(([0], np.cumsum(met)))
        closes = before[ends]
        begins = np.concatenate(([0], closes[:-1]))
        lengths = closes - begins
        table = np.zeros((int(lengths.max(initial=0)), len(others)), dtype=np.int32)
        column = np.repeat(np.arange(len(others)), lengths)
        row = np.arange(len(column)) - np.repeat(begins, lengths)
        table[row, column] = rows[met]
        return table


def _step(state: Ints, masks: Ints, column: Ints) -> None:
    """One unit of every sentence; a carry runs from word to word."""
    carry = np.zeros(len(column), dtype=np.uint64)
    for word in range(len(state)):
        old = state[word]
        hit = old & masks[column, word]
        total = old + hit
        moved = total + carry
        carry = ((total < old) | (moved < total)).astype(np.uint64)
        state[word] = moved | (old - hit)
