"""The best projective tree of a sentence with scored arcs.

Eisner (1996), in the form of McDonald, Crammer & Pereira (2005): spans with their head at the left or right end are
joined from short to long, O(n³); the spans of one length are worked on together. The root has one word, chosen last.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOW = -1e9
"""The score of an arc that may not be."""


@lru_cache(maxsize=4096)
def _splits(n: int, length: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Left ends, right ends, the places each span can be split at, and a number a span."""
    left = np.arange(n - length)
    return left, left + length, left[:, None] + np.arange(length)[None, :], np.arange(n - length)


def eisner(scores: Floats) -> Ints:
    """Heads of words 1…n, 0 for the root, from `scores[word - 1, head]`."""
    n = len(scores)
    arcs = scores[:, 1:]
    # whole[0] and part[0] have their head at the left end, [1] at the right; a part still lacks the far side
    whole, part = np.zeros((2, n, n)), np.zeros((2, n, n))
    back_whole, back_part = np.zeros((2, n, n), dtype=np.int64), np.zeros((n, n), dtype=np.int64)
    for length in range(1, n):
        i, j, r, every = _splits(n, length)
        left, right = i[:, None], j[:, None]
        joined = whole[0][left, r] + whole[1][r + 1, right]
        best = joined.argmax(axis=1)
        back_part[i, j] = best + i
        part[0][i, j], part[1][i, j] = (
            joined[every, best] + arcs[j, i],
            joined[every, best] + arcs[i, j],
        )
        joined = part[0][left, r + 1] + whole[0][r + 1, right]
        best = joined.argmax(axis=1)
        whole[0][i, j], back_whole[0][i, j] = joined[every, best], best + i + 1
        joined = whole[1][left, r] + part[1][r, right]
        best = joined.argmax(axis=1)
        whole[1][i, j], back_whole[1][i, j] = joined[every, best], best + i
    root = int((whole[1][0] + whole[0][:, n - 1] + scores[:, 0]).argmax())
    return _read(n, root, back_whole, back_part)


def _read(n: int, root: int, back_whole: Ints, back_part: Ints) -> Ints:
    """Follow the choices from the whole sentence down."""
    heads = np.zeros(n, dtype=np.int64)
    todo = [(0, root, 1, True), (root, n - 1, 0, True)]
    while todo:
        i, j, side, complete = todo.pop()
        if i == j:
            continue
        if complete:
            r = int(back_whole[side, i, j])
            todo += [(i, r, side, bool(side)), (r, j, side, not side)]
            continue
        heads[j if side == 0 else i] = (i if side == 0 else j) + 1
        r = int(back_part[i, j])
        todo += [(i, r, 0, True), (r + 1, j, 1, True)]
    return heads
