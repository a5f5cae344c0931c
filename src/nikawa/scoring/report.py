"""What scoring a file of answers reports."""

from __future__ import annotations

from nikawa.records import Record, Score


class MetricNote(Record, frozen=True, kw_only=True):
    """Where the official code and the paper part ways."""

    metric: str
    difference: str


class Unparsed(Record, frozen=True, kw_only=True):
    """An answer that could not be read."""

    example: str
    raw: str
    """What was given."""
    why: str


class ScoreReport(Record, frozen=True, kw_only=True):
    """The scores of one file of answers."""

    task: str
    split: str
    version: str
    n: int
    """Items of the split that are scored."""
    hidden: int = 0
    """Items left out because their labels are hidden."""
    answered: int
    missing: int
    unparsed: int
    unknown: int
    duplicates: int
    partial: bool
    """Whether items without an answer were left out, as asked."""
    form: str
    """The form the answer file was recognised as."""
    scores: tuple[Score, ...]
    notes: tuple[MetricNote, ...] = ()
    confusion: dict[str, dict[str, int]]
    """Gold label to answer to count, for tasks with labels."""
    missing_ids: tuple[str, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    duplicate_ids: tuple[str, ...] = ()
    """Ids answered again in the same words, once for each repetition."""
    unparsed_items: tuple[Unparsed, ...] = ()
