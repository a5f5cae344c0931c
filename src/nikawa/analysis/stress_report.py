"""What comparing answers before and after a perturbation reports."""

from __future__ import annotations

from nikawa.analysis.stress import Cell
from nikawa.records import Record

ORIGINAL = "original"


class Unread(Record, frozen=True, kw_only=True):
    """An answer that could not be read."""

    set: str
    """The set it answers, or `original`."""
    example: str
    raw: str
    why: str


class StressReport(Record, frozen=True, kw_only=True):
    """How the answers changed."""

    task: str
    measure: str
    """`same` (share of equal answers) or `pearson` (between the two sets of scores)."""
    sets: dict[str, int]
    """Set to its number of examples."""
    absent: tuple[str, ...]
    """Sets without an answer file."""
    unread: int
    """Answers, to either version, that could not be read: they count as changed, and are left out of correlations."""
    left_out: int
    """Examples without an answer to either version, left out as asked."""
    cells: tuple[Cell, ...]
    unread_items: tuple[Unread, ...] = ()
    """Those that could not be read; one of an original is named once, however many examples were made from it."""
