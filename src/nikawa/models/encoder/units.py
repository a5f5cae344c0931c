"""What an unknown piece may stand for: words, parts of words and characters, counted in any stretch of a text."""

from __future__ import annotations

import re
from itertools import accumulate

UNITS = (
    re.compile(r"\S+"),
    re.compile(r"[一-鿿㐀-䶿々〆]|[^\W_一-鿿㐀-䶿々〆]+|[^\w\s]|_"),
    re.compile(r"\S"),
)
"""What an unknown piece may stand for, from the largest: a word, a part of one script or a sign, a character."""


class Gaps:
    """How many units of each size a stretch of a text has, counted once for all stretches."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._begun: list[list[int]] = []
        self._inside: list[list[bool]] = []
        for units in UNITS:
            begins, inside = [0] * (len(text) + 1), [False] * (len(text) + 1)
            for start, end in (match.span() for match in units.finditer(text)):
                begins[start + 1] += 1
                inside[start + 1 : end] = [True] * (end - start - 1)
            self._begun.append(list(accumulate(begins)))
            self._inside.append(inside)

    def counts(self, start: int, end: int) -> list[int]:
        """For each size the units between two places, a part of one counted as one."""
        if end <= start:
            return [0] * len(UNITS)
        return [
            b[end] - b[start] + i[start] for b, i in zip(self._begun, self._inside, strict=True)
        ]
