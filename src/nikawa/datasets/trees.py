"""Dependency trees as records hold them, and what is wrong or unusual in one.

A tree is `{"heads": [...], "labels": [...]}`, one of each per word. A head is the number of another word, counted from
1, or 0 for the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def find_tree_fault(heads: Sequence[int], size: int) -> str:
    """Why heads are no tree over `size` words; empty: they are one.

    >>> find_tree_fault([2, 0], 2), find_tree_fault([2, 1], 2)
    ('', 'no word is the root')
    """
    if len(heads) != size:
        return f"{len(heads)} heads for {size} words"
    for place, head in enumerate(heads, start=1):
        if type(head) is not int or not 0 <= head <= size or head == place:
            return f"the head {head!r} of word {place} is neither 0 nor another of the {size} words"
    roots = [place for place, head in enumerate(heads, start=1) if head == 0]
    if not roots:
        return "no word is the root"
    if len(roots) > 1:
        return f"{len(roots)} words are the root: {', '.join(map(str, roots))}"
    if has_loop(heads):
        return "the heads of some words lead in a circle"
    return ""


def is_tree(value: Any, size: int | None = None) -> bool:
    """Whether a value is a tree with a label for each word, over `size` words where that is known."""
    if not isinstance(value, dict) or value.keys() != {"heads", "labels"}:
        return False
    heads, labels = value["heads"], value["labels"]
    if not isinstance(heads, list | tuple) or not isinstance(labels, list | tuple):
        return False
    if len(heads) != len(labels) or not all(isinstance(label, str) for label in labels):
        return False
    return not find_tree_fault(heads, len(heads) if size is None else size)


def has_loop(heads: Sequence[int]) -> bool:
    """Whether following the heads from some word never comes to the root."""
    safe = {0}
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while word not in safe:
            if len(path) > len(heads):
                return True
            path.append(word)
            word = heads[word - 1]
        safe.update(path)
    return False


def has_crossing_arcs(heads: Sequence[int]) -> bool:
    """Whether two arcs cross: arcs by left end (longest first) nest like brackets, or not."""
    arcs = []
    for place, head in enumerate(heads, start=1):
        if head:
            arcs.append((min(place, head), max(place, head)))
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_ends: list[int] = []
    for left, right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and open_ends[-1] < right:
            return True
        open_ends.append(right)
    return False


def has_leftward_head(heads: Sequence[int]) -> bool:
    """Whether the head of some word is on its left; Korean and Japanese sentences rarely have one."""
    return any(0 < head < place for place, head in enumerate(heads, start=1))
