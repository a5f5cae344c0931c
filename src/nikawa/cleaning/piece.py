"""A stretch of a document that is being edited and still knows where each of its characters came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nikawa.cleaning.base import Edit


class Piece(NamedTuple):
    """A text; without maps its character i is character `base + i` of the document."""

    text: str
    base: int = 0
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def cut(self, start: int, end: int) -> Piece:
        """Characters `start` to `end` as a piece of their own."""
        if self.starts is None or self.ends is None:
            return Piece(self.text[start:end], self.base + start)
        return Piece(self.text[start:end], 0, self.starts[start:end], self.ends[start:end])

    def edited(self, edits: list[Edit]) -> Piece:
        """The piece after the edits."""
        old_starts, old_ends = self._maps()
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for start, end, new in edits:
            texts += (self.text[at:start], new)
            starts += old_starts[at:start]
            ends += old_ends[at:start]
            starts += [old_starts[start]] * len(new)
            ends += [old_ends[end - 1]] * len(new)
            at = end
        texts.append(self.text[at:])
        return Piece("".join(texts), 0, (*starts, *old_starts[at:]), (*ends, *old_ends[at:]))

    def place(self) -> tuple[int, int]:
        """Where in the document it lies; an empty piece lies at its base."""
        if not self.text:
            return self.base, self.base
        if self.starts is None or self.ends is None:
            return self.base, self.base + len(self.text)
        return self.starts[0], self.ends[-1]

    def _maps(self) -> tuple[Sequence[int], Sequence[int]]:
        if self.starts is None or self.ends is None:
            size = len(self.text)
            return range(self.base, self.base + size), range(self.base + 1, self.base + size + 1)
        return self.starts, self.ends
