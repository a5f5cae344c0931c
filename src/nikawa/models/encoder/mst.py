"""The best tree over words with scored arcs, crossing arcs allowed.

Chu & Liu (1965), Edmonds (1967): every word takes its best head; a cycle becomes one node whose incoming arcs are scored by
what they gain over the arc they break, and the smaller problem is solved the same way. The root has one word: where more
than one hang on it, each is tried alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LOW = -1e18


def best_tree(scores: Floats) -> list[int]:
    """Heads of words 1…n, 0 for the root, from `scores[word - 1, head]`; one word has the root as its head."""
    n = len(scores)
    if not n:
        return []
    full = np.full((n + 1, n + 1), LOW)
    full[1:] = np.nan_to_num(scores.astype(np.float64), nan=LOW, neginf=LOW)
    np.fill_diagonal(full, LOW)
    heads = _edmonds(full)
    roots = [word for word in range(1, n + 1) if heads[word] == 0]
    if len(roots) > 1:
        heads = max(
            (_rooted(full, word) for word in range(1, n + 1)), key=lambda h: _total(full, h)
        )
    return heads[1:]


def _rooted(full: Floats, root: int) -> list[int]:
    """The best tree whose root has this word alone."""
    alone = full.copy()
    alone[:, 0] = LOW
    alone[root, 0] = full[root, 0]
    return _edmonds(alone)


def _total(full: Floats, heads: list[int]) -> float:
    return float(sum(full[word, head] for word, head in enumerate(heads) if word))


def _edmonds(scores: Floats) -> list[int]:
    """Heads of all nodes, node 0 the root (its own entry says nothing)."""
    heads = [0, *(int(h) for h in scores[1:].argmax(axis=1))]
    cycle = _cycle(heads)
    if not cycle:
        return heads
    inside = np.array(cycle)
    others = np.array([node for node in range(len(scores)) if node not in set(cycle)])
    own = scores[inside, [heads[node] for node in cycle]]
    # into the cycle: what an outer head gains over the arc it breaks; out of it: the best of its nodes
    enter = scores[np.ix_(inside, others)] - own[:, None]
    leave = scores[np.ix_(others, inside)]
    size = len(others)
    small = np.full((size + 1, size + 1), LOW)
    small[:size, :size] = scores[np.ix_(others, others)]
    small[size, :size], small[:size, size] = enter.max(axis=0), leave.max(axis=1)
    small[size, size] = LOW
    found = _edmonds(small)
    return _opened(found, heads, (inside, others), (enter.argmax(axis=0), leave.argmax(axis=1)))


def _opened(
    found: list[int],
    heads: list[int],
    nodes: tuple[NDArray[np.int64], NDArray[np.int64]],
    best: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> list[int]:
    """The heads of all nodes from those of the problem in which a cycle was one node."""
    (inside, others), (enter, leave), size = nodes, best, len(nodes[1])
    made = list(heads)
    for place in range(1, size):
        head = found[place]
        made[int(others[place])] = int(inside[leave[place]]) if head == size else int(others[head])
    outer = found[size]
    made[int(inside[enter[outer]])] = int(others[outer])
    return made


def _cycle(heads: list[int]) -> list[int]:
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
