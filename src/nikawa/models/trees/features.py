"""What the graph parser sees of a sentence: numbers of the features of every possible arc, and of
every label.

A word is a row of atoms (tags and morphemes from its ends, marks around it). A feature joins atoms
of dependent, head and neighbours, or the text between the two; it is hashed to a number, so that
no table of names is kept. All arcs of a sentence are worked on together: an array of dependents by
heads by templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Atoms = NDArray[np.uint64]

BITS = 22
"""Bits of the number of a feature: 4 million weights."""
FIRST, LAST, TWO, ALL, STEM, END, MARK, OPEN, TAGSTEM = range(9)
"""Columns of the atoms: first tag, last, last two, all; first morpheme, last; marks behind and
before; the first tag with its morpheme."""
_MIX = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
    np.uint64(0xD6E8FEB86659FD93),
    np.uint64(0xA0761D6478BD642F),
)
"""Odd multipliers that spread the parts of a feature over all bits."""
_SHIFT = np.uint64(64 - BITS)
_DISTANCE_CLASSES = np.array([0, 1, 2, 3, 4, 5, 6, 6, 7, 7, 7, 8], dtype=np.uint64)

PAIRS = (
    (LAST, FIRST),
    (LAST, LAST),
    (TWO, TWO),
    (END, FIRST),
    (END, LAST),
    (END, END),
    (ALL, ALL),
    (END, STEM),
    (STEM, STEM),
    (LAST, STEM),
    (STEM, END),
    (LAST, TAGSTEM),
    (MARK, LAST),
    (TWO, ALL),
    (LAST, MARK),
    (OPEN, MARK),
)
"""Columns of dependent and head that are joined."""
PAIRS_WITH_DISTANCE = (
    (LAST, FIRST),
    (LAST, LAST),
    (END, LAST),
    (END, FIRST),
    (TWO, TWO),
    (MARK, LAST),
)
"""Those that are joined with the distance, too."""
LABEL_PAIRS = (
    (LAST, FIRST),
    (TWO, TWO),
    (END, LAST),
    (END, TAGSTEM),
    (ALL, FIRST),
    (ALL, TAGSTEM),
    (LAST, STEM),
    (STEM, STEM),
)
"""Columns of word and head that are joined for its label."""


@lru_cache(maxsize=1 << 18)
def _hash_name(name: str) -> int:
    """A number of 64 bits for a name, the same on every machine."""
    data = name.encode("utf-8", "surrogatepass")
    return crc32(data) | (crc32(data, 0x5BD1E995) << 32)


def word_atoms(word: Mapping[str, Any]) -> tuple[int, ...]:
    """The atoms of a word, from its morphemes and tags; where it has none, from its characters."""
    form, lemma, pos = (str(word.get(name, "")) for name in ("form", "lemma", "pos"))
    return make_word_atoms(form, lemma, pos)


@lru_cache(maxsize=1 << 16)
def make_word_atoms(form: str, lemma: str, pos: str) -> tuple[int, ...]:
    """Make the atoms of a word from its form, its morphemes (between blanks) and their tags
    (between `+`).
    """
    morphemes = lemma.split(" ") if lemma else [form]
    tags = pos.split("+") if pos else []
    if len(morphemes) != len(tags):  # some published words have more of one than of the other
        morphemes = [form]
        if len(tags) > 1:
            unknown = [""] * (len(tags) - 2)
            morphemes = [form[:2], *unknown, form[-1:]]
        tags = tags or ["?"]
    # signs at the ends are no part of the word
    inside = []
    for i, morpheme in enumerate(morphemes):
        if not morpheme or any(map(str.isalnum, morpheme)):
            inside.append(i)
    if not inside:
        inside = [0, len(morphemes) - 1]
    first, last = inside[0], inside[-1]
    inner = tags[first : last + 1]
    names = (
        inner[0],
        inner[-1],
        "+".join(inner[-2:]),
        "+".join(inner),
        morphemes[first],
        f"{morphemes[last]}/{inner[-1]}",
        "".join(morphemes[last + 1 :]),
        "".join(morphemes[:first]),
        f"{inner[0]}/{morphemes[first]}",
    )
    return tuple(_hash_name(f"{column}{name}") for column, name in enumerate(names))


_ROOT = tuple(_hash_name(f"{column}<root>") for column in range(9))
_NONE = tuple(_hash_name(f"{column}<none>") for column in range(9))


def sentence_atoms(words: Sequence[Mapping[str, Any]]) -> Atoms:
    """A row of atoms for the root, then one per word, then one for the place after the last."""
    return np.array([_ROOT, *map(word_atoms, words), _NONE], dtype=np.uint64)


class Templates:
    """Collects features of words or arcs; each addition is one more template."""

    def __init__(self) -> None:
        self._features: list[NDArray[np.uint64]] = []

    def add(self, *parts: NDArray[np.uint64]) -> None:
        """Join parts that broadcast to all words or arcs."""
        total: Any = np.uint64((len(self._features) + 1) * 0x27D4EB2F165667C5 % (1 << 64))
        for mix, part in zip(_MIX, parts, strict=False):
            total = (total ^ part) * mix
            total = total ^ (total >> np.uint64(29))
        self._features.append(total)

    def stack(self, *shape: int) -> Ids:
        """The numbers of all features: what they describe (words, or dependents by heads) by
        templates.
        """
        every = [np.broadcast_to(part, shape) for part in self._features]
        return ((np.stack(every, axis=-1) * _MIX[0]) >> _SHIFT).astype(np.int32)


def arc_features(atoms: Atoms) -> Ids:
    """Features of every arc: word 1…n (row 0 is the first) from head 0 (the root) … n."""
    n = len(atoms) - 2
    templates = Templates()
    dependent = atoms[1 : n + 1, None, :]
    head = atoms[None, : n + 1, :]
    gap = np.arange(n + 1)[None, :] - np.arange(1, n + 1)[:, None]
    distance = _DISTANCE_CLASSES[np.minimum(np.abs(gap), len(_DISTANCE_CLASSES) - 1)]
    far = distance * np.uint64(2) + (gap > 0).astype(np.uint64)
    for d, h in PAIRS:
        templates.add(dependent[..., d], head[..., h])
    for d, h in PAIRS_WITH_DISTANCE:
        templates.add(dependent[..., d], head[..., h], far)
    for column in (LAST, END, TWO, MARK, STEM):
        templates.add(dependent[..., column], far)
    templates.add(dependent[..., END], dependent[..., STEM], head[..., STEM])
    templates.add(dependent[..., LAST], dependent[..., MARK], head[..., TWO], far)
    _add_neighbours(templates, atoms, dependent, head)
    _add_words_between(templates, atoms, dependent, head, far)
    return templates.stack(n, n + 1)


def _add_neighbours(templates: Templates, atoms: Atoms, dependent: Atoms, head: Atoms) -> None:
    """Joins with the tags of the words next to dependent and head."""
    n = len(atoms) - 2
    last = atoms[:, LAST]
    d_before = last[:n, None]
    d_after = last[2 : n + 2, None]
    h_after = last[None, 1 : n + 2]
    h_before = np.roll(last[: n + 1], 1)[None, :]
    d = dependent[..., LAST]
    h = head[..., LAST]
    two = head[..., TWO]
    templates.add(d, d_after, h)
    templates.add(d_before, d, h)
    templates.add(d, h_before, h)
    templates.add(d, h, h_after)
    templates.add(d, d_after, h_before, h)
    templates.add(dependent[..., END], d_after, two)
    templates.add(dependent[..., END], h_before, two)
    templates.add(dependent[..., END], two, h_after)


def _add_words_between(
    templates: Templates, atoms: Atoms, dependent: Atoms, head: Atoms, far: Atoms
) -> None:
    """How many words between the two are like the head, like the dependent, or carry a mark."""
    d = dependent[..., LAST]
    h = head[..., LAST]
    end = dependent[..., END]
    like_head = {c: _count_like(atoms, c, of_head=True) for c in (FIRST, LAST, TWO)}
    like_dependent = {c: _count_like(atoms, c, of_head=False) for c in (LAST, END)}
    n = len(atoms) - 2
    unmarked = np.uint64(_hash_name(f"{MARK}"))
    marked = np.concatenate([[0, 0], np.cumsum(atoms[1 : n + 1, MARK] != unmarked)])
    low, high = _places_between(n)
    marks: Atoms = np.minimum(marked[high] - marked[low], 3).astype(np.uint64)
    for column, count in like_head.items():
        templates.add(d, head[..., column], count)
        templates.add(end, head[..., column], count)
    for count in like_dependent.values():
        templates.add(d, h, count)
        templates.add(end, head[..., TWO], count)
    templates.add(d, h, like_head[LAST], like_dependent[LAST])
    templates.add(d, h, marks, dependent[..., MARK])
    templates.add(end, marks, far)
    templates.add(d, h, like_head[FIRST], marks)


def _places_between(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first place between dependent and head, and the one behind the last."""
    d = np.arange(1, n + 1)[:, None]
    h = np.arange(n + 1)[None, :]
    low = np.minimum(d, h) + 1
    return low, np.maximum(np.maximum(d, h), low)


def _count_like(atoms: Atoms, column: int, *, of_head: bool) -> Atoms:
    """For every arc the words between that have the same atom as the head or the dependent; 4
    means four or more.
    """
    n = len(atoms) - 2
    values = atoms[: n + 1, column]
    same = np.zeros((n + 1, n + 2), dtype=np.int64)
    np.cumsum(values[:, None] == values[None, :], axis=1, out=same[:, 1:])
    low, high = _places_between(n)
    whose = np.arange(n + 1)[None, :] if of_head else np.arange(1, n + 1)[:, None]
    counts: Atoms = np.minimum(same[whose, high] - same[whose, low], 4).astype(np.uint64)
    return counts


def label_features(atoms: Atoms, heads: NDArray[np.int64]) -> Ids:
    """Features of the label of every word: the word itself, its head, and its neighbours."""
    n = len(atoms) - 2
    word = atoms[1 : n + 1]
    head = atoms[heads]
    before = atoms[:n]
    after = atoms[2:]
    templates = Templates()
    for column in (FIRST, LAST, TWO, ALL, STEM, END, TAGSTEM):
        templates.add(word[:, column])
    for own, other in LABEL_PAIRS:
        templates.add(word[:, own], head[:, other])
    for own, other in ((ALL, LAST), (TWO, TWO), (END, STEM)):
        templates.add(word[:, own], after[:, other])
    templates.add(word[:, ALL], before[:, LAST])
    templates.add(word[:, ALL], word[:, MARK])
    templates.add(word[:, END], word[:, STEM])
    on_next = (heads == np.arange(2, n + 2)).astype(np.uint64)
    templates.add(word[:, TWO], on_next, head[:, FIRST])
    templates.add(word[:, ALL], (heads == 0).astype(np.uint64))
    return templates.stack(n)
