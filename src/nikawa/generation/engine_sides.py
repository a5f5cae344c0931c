"""Words that keep the splits apart: no premise and no hypothesis of one split stands in another.

Every word has a residue, every side (premise, hypothesis) the sum of its words' residues modulo `SIDES`, every split owns
residues. The last word of a side is drawn from those that bring the sum into an owned residue.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

SIDES = 5
"""Residues there are to share among the splits."""
_TURN = 7919


class Words(NamedTuple):
    """What a slot may be filled with."""

    slot: str
    words: tuple[str, ...]
    residues: tuple[int, ...]
    smaller: int = 0
    """How many words may be gone already, taken by slots before it."""

    @property
    def size(self) -> int:
        """How many choices are always left."""
        return max(0, len(self.words) - self.smaller)


class Stage(NamedTuple):
    """Slots that are filled together: those of both sides, those of the premise alone, those of the hypothesis alone."""

    free: tuple[Words, ...]
    last: Words | None
    """The slot that settles a side; None where a later stage does."""
    by_residue: tuple[tuple[str, ...], ...]
    """Words of the last slot that lie in an owned residue, by the residue of all others."""
    least: int
    """How many choices the last slot always has."""
    before: int
    """Ways to fill everything before the last slot."""
    shared: bool
    """Whether its words stand in the side of every later stage too."""


Sides = tuple[frozenset[str], frozenset[str]]
"""The slots of the premise and of the hypothesis."""


def stages(
    lists: Sequence[Words], sides: Sides, owned: tuple[int, ...]
) -> tuple[tuple[Stage, ...], int]:
    """The stages in which slots are filled, and how many ways there are."""
    found: list[Stage] = []
    placed: list[Words] = []
    total, settled = 1 if lists or 0 in owned else 0, False
    for names, settles, shared in _parted(tuple(one.slot for one in lists), sides):
        mine = []
        for one in (one for one in lists if one.slot in names):
            smaller = sum(_meet(one.words, other.words) for other in placed)
            mine.append(one._replace(smaller=smaller))
            placed.append(one)
        free, last = (mine[:-1], mine[-1]) if settles else (mine, None)
        for one in free:
            total *= one.size
        by_residue: tuple[tuple[str, ...], ...] = ()
        least, before = 1, total
        if last is not None:
            by_residue, fewest, owned_fewest = _by_residue(last.words, last.residues, owned)
            least = max(0, (owned_fewest if settled and not free else fewest) - last.smaller)
        total *= least
        found.append(Stage(tuple(free), last, by_residue, least, before, shared))
        settled = settles and shared
    return tuple(found), total


@lru_cache(maxsize=1 << 13)
def _meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two lists have a word in common."""
    return some is others or not set(some).isdisjoint(others)


@lru_cache(maxsize=1 << 10)
def _parted(slots: tuple[str, ...], sides: Sides) -> list[tuple[frozenset[str], bool, bool]]:
    """The slots by stage, whether the last of a stage settles a side, and whether both sides have them."""
    one, other = (side.intersection(slots) for side in sides)
    if not one or not other:  # a side without words is the same in all splits
        return [(frozenset(slots), True, True)] if slots else []
    both, alone = one & other, [part for part in (one - other, other - one) if part]
    found = [(part, True, False) for part in alone]
    return [(both, len(alone) < 2, True), *found] if both else found


@lru_cache(maxsize=1 << 12)
def _by_residue(
    words: tuple[str, ...], residues: tuple[int, ...], owned: tuple[int, ...]
) -> tuple[tuple[tuple[str, ...], ...], int, int]:
    """The words that bring the sum into an owned residue, by that of the others; the fewest of all, and of owned ones."""
    found = tuple(
        tuple(word for word, r in zip(words, residues, strict=True) if (rest + r) % SIDES in owned)
        for rest in range(SIDES)
    )
    return found, min(map(len, found)), min(len(found[rest]) for rest in owned)


def unfolded(found: tuple[Stage, ...], number: int) -> dict[str, str]:
    """Slot to word, for the way with this number."""
    words: dict[str, str] = {}
    base, whole = 0, number
    for free, last, by_residue, least, before, shared in found:
        residue = base
        for slot, offered, residues, smaller in free:
            number, place = divmod(number, len(offered) - smaller)
            if smaller:
                place = _past(_taken(offered, words), place)
            words[slot] = offered[place]
            residue += residues[place]
        if last is not None:
            fitting = by_residue[residue % SIDES]
            gone = _taken(fitting, words) if last.smaller else ()
            # Turned by what the other words are, so that the end of the list comes up as often as its start.
            turn = (whole - number * before) * _TURN
            number, place = divmod(number, least)
            place = (place + turn) % (len(fitting) - len(gone))
            word = words[last.slot] = fitting[_past(gone, place)] if gone else fitting[place]
            if shared and len(found) > 1:
                residue += last.residues[last.words.index(word)]
        if shared:
            base = residue
    return words


def _taken(offered: tuple[str, ...], words: dict[str, str]) -> list[int]:
    """The places of the words that other slots hold already."""
    return sorted(offered.index(word) for word in words.values() if word in offered)


def _past(gone: Sequence[int], place: int) -> int:
    """The place once those that are gone are left out."""
    for one in gone:
        place += place >= one
    return place


@lru_cache(maxsize=1 << 12)
def residues_of(words: tuple[str, ...]) -> tuple[int, ...]:
    """The residue of each word, which depends on the word alone."""
    return tuple(crc32(word.encode()) % SIDES for word in words)


@lru_cache(maxsize=8)
def in_turns(n: int) -> tuple[int, ...]:
    """Residues of a list whose words take turns, so that every residue has its share."""
    return tuple(i % SIDES for i in range(n))
