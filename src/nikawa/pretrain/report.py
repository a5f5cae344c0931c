"""What the preparation of a text counted, as `corpus.json` says it."""

from __future__ import annotations

import msgspec

from nikawa.pretrain.sources import Source
from nikawa.records import Record


class FileReport(Record, frozen=True, kw_only=True):
    """One file as it was read."""

    file: str
    lines: int
    characters: int
    broken: int
    """Lines that are not UTF-8, or not JSON: dropped."""
    broken_at: tuple[str, ...]
    """The first of them."""
    cut: int
    """Places at which lines too long to hold were cut."""
    outside: int | msgspec.UnsetType = msgspec.UNSET
    """Lines of text that no row of the table of sources holds; not said where there are none."""


class Met(Record, frozen=True, kw_only=True):
    """What of one benchmark was found. Never its text."""

    benchmark: str
    texts: int
    lines: int
    """Lines of the corpus that were removed for it."""
    examples: int
    ids: tuple[str, ...]
    """The first of those examples."""


class Size(Record, frozen=True, kw_only=True):
    """How much one of the files holds."""

    documents: int
    lines: int
    characters: int


class CorpusReport(Record, frozen=True, kw_only=True):
    """Counts of every step: lines = train + held out + all removed."""

    language: str
    seed: int
    files: tuple[FileReport, ...]
    sources: str = ""
    """The table that told where documents begin."""
    lines: int
    """That could be read, blank ones not counted."""
    characters: int
    changed: dict[str, int]
    """By step of cleaning, lines it changed: those of personal data count what became a placeholder."""
    removed: dict[str, int]
    run: int
    short: int
    """Characters of a shared run, and of the shortest text looked for whole."""
    benchmarks: tuple[Met, ...]
    train: Size
    heldout: Size


def file_report(source: Source) -> FileReport:
    """What came of reading one file."""
    return FileReport(
        file=source.name,
        lines=source.lines,
        characters=source.characters,
        broken=source.broken.count,
        broken_at=tuple(source.broken.places),
        cut=source.cut,
        outside=source.outside or msgspec.UNSET,
    )
