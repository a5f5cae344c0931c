"""The examples of a page, packed: columns instead of rows, each text once, deflated, in characters a page can hold.

A column of small numbers is a string, one character a number; the script of the page (page.js) unpacks it when the
examples are first looked at.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nikawa.io.json import encode_json

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""-1 is the first of them, 62 the last."""
POINTS = 62
"""What a full score is written as."""


@dataclass(frozen=True)
class Items:
    """Examples with gold and answers, by column."""

    texts: Sequence[str]
    words: Sequence[str]
    """Labels, answers, tags and names of sets, once each."""
    ids: Sequence[str]
    inputs: dict[str, Sequence[int]]
    """Input to numbers of texts; -1 where an example has none."""
    gold: Sequence[int]
    """Numbers of words; -1 where hidden."""
    sets: Sequence[int]
    tags: Sequence[tuple[int, ...]]
    parents: Sequence[int]
    """Number of the example it was made from; -1 for none."""
    systems: Sequence[str]
    answers: Sequence[Sequence[Sequence[int]]]
    """By system and seed: numbers of words; -1 where there was no answer."""
    points: Sequence[Sequence[int]]
    """By system: the mean score of the example, 0 to POINTS; -1 where there is none."""
    sure: Sequence[Sequence[int]] = ()
    """By system: the mean probability of the answer, 0 to POINTS; -1 where unknown."""
    language: str = "und"
    cut: int = 0
    """Characters beyond which texts are cut; 0: none is."""
    notes: dict[str, str] = field(default_factory=dict)
    """`points` (what a score of an example is) and `kind` (of the task)."""
    folders: Sequence[Sequence[str]] = ()
    """By system and seed: the folder whose `predictions/SET.jsonl` holds the answers, as an address from the page."""

    def __len__(self) -> int:
        return len(self.ids)


class Table:
    """Words numbered in order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word."""
        return self.numbers.setdefault(word, len(self.numbers))

    def words(self) -> tuple[str, ...]:
        """All of them, by number."""
        return tuple(self.numbers)


def packed(column: Sequence[int]) -> str | list[int]:
    """A string where every number has a character, else the numbers."""
    if all(-1 <= number < len(ALPHABET) - 1 for number in column):
        return "".join(ALPHABET[number + 1] for number in column)
    return list(column)


def block(items: Items) -> str:
    """The examples as text that may stand in a page."""
    sets = Table()
    tags = [sets.number(",".join(map(str, found))) for found in items.tags]
    content = {
        "t": items.texts,
        "w": items.words,
        "id": items.ids,
        "in": [(name, packed(column)) for name, column in items.inputs.items()],
        "g": packed(items.gold),
        "s": packed(items.sets),
        "ts": [[int(n) for n in found.split(",") if n] for found in sets.words()],
        "tg": packed(tags),
        "p": packed(items.parents) if any(parent >= 0 for parent in items.parents) else "",
        "sys": items.systems,
        "a": [[packed(seed) for seed in seeds] for seeds in items.answers],
        "pt": [packed(column) for column in items.points],
        "su": [packed(column) for column in items.sure],
        "lang": items.language,
        "cut": items.cut,
        "notes": items.notes,
        "runs": items.folders,
    }
    return b64encode(zlib.compress(encode_json(content), 9)).decode("ascii")


def cut_at(lengths: Iterable[int], budget: int) -> int:
    """The greatest length to cut texts at so that together they stay within a budget; 0 where they do anyway."""
    ordered = sorted(lengths)
    left, room = len(ordered), budget
    if sum(ordered) <= budget:
        return 0
    for length in ordered:
        if length * left > room:
            return max(1, room // left)
        room, left = room - length, left - 1
    return 0
