"""The best tree of a sentence with scored arcs: projective (Eisner), or with crossing arcs
(Chu-Liu/Edmonds).

`best_projective_tree`: Eisner (1996), in the form of McDonald, Crammer & Pereira (2005). Spans with
their head at the left or right end are joined from short to long, O(n³); the spans of one length
are worked on together.

`best_tree`: Chu & Liu (1965), Edmonds (1967). Every word takes its best head; a cycle becomes one
node whose incoming arcs are scored by what they gain over the arc they break, and the smaller
problem is solved the same way.

In both the root has one word. Scores are an array `scores[word - 1, head]` with words and heads
counted from 1 and 0 for the root; heads come back in the same form.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BARRED = -1e9
"""The score of an arc that may not be, for `best_projective_tree`."""
NO_ARC = -1e18
"""The same in `best_tree`, below whatever a model may score."""


def best_projective_tree(scores: Floats) -> Ints:
    """The heads of words 1…n in the best tree without crossing arcs."""
    n = len(scores)
    arcs = scores[:, 1:]
    # whole[0] and part[0] have their head at the left end, [1] at the right; a part still lacks the far side
    whole = np.zeros((2, n, n))
    part = np.zeros((2, n, n))
    back_whole = np.zeros((2, n, n), dtype=np.int64)
    back_part = np.zeros((n, n), dtype=np.int64)
    for length in range(1, n):
        i, j, splits, spans = find_splits(n, length)
        left = i[:, None]
        right = j[:, None]
        joined = whole[0][left, splits] + whole[1][splits + 1, right]
        best = joined.argmax(axis=1)
        back_part[i, j] = best + i
        part[0][i, j] = joined[spans, best] + arcs[j, i]
        part[1][i, j] = joined[spans, best] + arcs[i, j]
        joined = part[0][left, splits + 1] + whole[0][splits + 1, right]
        best = joined.argmax(axis=1)
        whole[0][i, j] = joined[spans, best]
        back_whole[0][i, j] = best + i + 1
        joined = whole[1][left, splits] + part[1][splits, right]
        best = joined.argmax(axis=1)
        whole[1][i, j] = joined[spans, best]
        back_whole[1][i, j] = best + i
    root = int((whole[1][0] + whole[0][:, n - 1] + scores[:, 0]).argmax())
    # the heads, by following the best splits from the whole sentence down
    heads = np.zeros(n, dtype=np.int64)
    todo = [(0, root, 1, True), (root, n - 1, 0, True)]
    while todo:
        first, last, side, complete = todo.pop()
        if first == last:
            continue
        if complete:
            split = int(back_whole[side, first, last])
            todo += [(first, split, side, bool(side)), (split, last, side, not side)]
            continue
        heads[last if side == 0 else first] = (first if side == 0 else last) + 1
        split = int(back_part[first, last])
        todo += [(first, split, 0, True), (split + 1, last, 1, True)]
    return heads


@lru_cache(maxsize=4096)
def find_splits(n: int, length: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Left ends, right ends, the places each span can be split at, and one number per span."""
    left = np.arange(n - length)
    return left, left + length, left[:, None] + np.arange(length)[None, :], np.arange(n - length)


def best_tree(scores: Floats) -> list[int]:
    """The heads of words 1…n in the best tree, crossing arcs allowed.

    Scores that are not finite count as none.
    """
    n = len(scores)
    if not n:
        return []
    full = np.full((n + 1, n + 1), NO_ARC)
    full[1:] = np.nan_to_num(scores.astype(np.float64), nan=NO_ARC, neginf=NO_ARC)
    np.fill_diagonal(full, NO_ARC)
    heads = _edmonds(full)
    if heads[1:].count(0) > 1:  # several words at the root: try each as the only one
        best_total = -np.inf
        for root in range(1, n + 1):
            single = full.copy()
            single[:, 0] = NO_ARC
            single[root, 0] = full[root, 0]
            tree = _edmonds(single)
            total = float(sum(full[word, tree[word]] for word in range(1, n + 1)))
            if total > best_total:
                heads, best_total = tree, total
    return heads[1:]


def _edmonds(scores: Floats) -> list[int]:
    """Heads of all nodes, node 0 the root (its own entry means nothing)."""
    heads = [0, *(int(head) for head in scores[1:].argmax(axis=1))]
    cycle = find_cycle(heads)
    if not cycle:
        return heads
    inside = np.array(cycle)
    others = np.array([node for node in range(len(scores)) if node not in set(cycle)])
    broken = scores[inside, [heads[node] for node in cycle]]
    # into the cycle: what an outer head gains over the arc it breaks; out of it: the best of its nodes
    enter = scores[np.ix_(inside, others)] - broken[:, None]
    leave = scores[np.ix_(others, inside)]
    size = len(others)
    small = np.full((size + 1, size + 1), NO_ARC)
    small[:size, :size] = scores[np.ix_(others, others)]
    small[size, :size] = enter.max(axis=0)
    small[:size, size] = leave.max(axis=1)
    small[size, size] = NO_ARC
    small_heads = _edmonds(small)
    # back from the problem in which the cycle was one node, numbered `size`
    best_enter = enter.argmax(axis=0)
    best_leave = leave.argmax(axis=1)
    for place in range(1, size):
        head = small_heads[place]
        node = inside[best_leave[place]] if head == size else others[head]
        heads[int(others[place])] = int(node)
    outer = small_heads[size]
    heads[int(inside[best_enter[outer]])] = int(others[outer])
    return heads


def find_cycle(heads: list[int]) -> list[int]:
    """The nodes of a cycle, or none."""
    seen = [0] * len(heads)
    for start in range(1, len(heads)):
        node = start
        while node and not seen[node]:
            seen[node] = start
            node = heads[node]
        if node and seen[node] == start:
            cycle = [node]
            while heads[cycle[-1]] != node:
                cycle.append(heads[cycle[-1]])
            return cycle
    return []
