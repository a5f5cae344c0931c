"""Run the steps over a document: edit, split, and again on every part until nothing changes.

Going on until nothing changes is what makes cleaning twice the same as cleaning once: taking a tag out can open the end of
a sentence, and splitting can bring a byline to the start of a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nikawa.cleaning.base import Settings, Step
from nikawa.cleaning.piece import Piece
from nikawa.cleaning.split import SPLIT
from nikawa.cleaning.tally import Tally
from nikawa.text import sentences

ROUNDS = 100
"""Rounds after which a text is left as it is; each takes something away, so few ever need five."""


class Gone(NamedTuple):
    """A piece that was dropped."""

    piece: Piece
    step: str
    why: str


class Cleaner:
    """The early steps (those that look at one text at a time) with the counts of what they did."""

    def __init__(self, steps: Sequence[Step], settings: Settings) -> None:
        self.settings, self.tally = settings, Tally()
        replace = settings.pii == "replace"
        self.editing = [(s.name, s.edits) for s in steps if s.edits and (replace or not s.pii)]
        self.finding = [(s.name, s.edits) for s in steps if s.edits and s.pii and not replace]
        self.judging = [(s.name, s.fault) for s in steps if s.fault]
        self.splits = SPLIT in steps

    def clean(self, text: str) -> Iterator[Piece | Gone]:
        """The sentences of a text that pass, and those that do not, in their order."""
        for found in self._settled(Piece(text), 0):
            if isinstance(found, Piece):
                yield self._judged(found)
            else:
                self.tally.remove(found.step, found.piece.text)
                yield found

    def _settled(self, piece: Piece, depth: int) -> Iterator[Piece | Gone]:
        """The parts of a piece that no step changes any more."""
        done = self._edited(piece)
        if isinstance(done, Gone):
            yield done
            return
        parts = self._parts(done)
        if (
            done is piece and len(parts) == 1 and len(parts[0].text) == len(piece.text)
        ) or depth >= ROUNDS:
            yield from parts
            return
        if len(parts) > 1:
            self.tally.change(SPLIT.name, done.text, "")
        for part in parts:
            yield from self._settled(part, depth + 1)

    def _edited(self, piece: Piece) -> Piece | Gone:
        """The piece after each editing step; the same object where none had anything to do."""
        for name, find in self.editing:
            edits = find(piece.text, self.settings.language)
            if edits:
                after = piece.edited(edits)
                if not after.text.strip():
                    return Gone(piece, name, "nothing is left")
                self.tally.change(name, piece.text, after.text, edits[0])
                piece = after
        return piece

    def _parts(self, piece: Piece) -> list[Piece]:
        if not self.splits:
            return [piece]
        return [
            piece.cut(span.start, span.end)
            for span in sentences(piece.text, self.settings.language)
        ]

    def _judged(self, piece: Piece) -> Piece | Gone:
        for name, find in self.finding:
            if find(piece.text, self.settings.language):
                return self._gone(piece, name, "personal data")
        for name, fault in self.judging:
            why = fault(piece.text, self.settings)
            if why:
                return self._gone(piece, name, why)
        return piece

    def _gone(self, piece: Piece, step: str, why: str) -> Gone:
        self.tally.remove(step, piece.text)
        return Gone(piece, step, why)
