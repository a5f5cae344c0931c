"""Which source each line of a mixed corpus comes from: a table of first line (from 0), lines, source and, if known, licence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nikawa.cleaning.source import Document, read_text_lines
from nikawa.errors import BadInput


class Origins(NamedTuple):
    """Runs of lines, in order."""

    firsts: list[int]
    """Line numbers from 1."""
    ends: list[int]
    sources: list[tuple[str, str]]
    """Source and licence."""


def read_origins(path: Path) -> Origins:
    """Read the table: tab-separated, no header."""
    found = Origins([], [], [])
    for number, line in read_text_lines(path, "utf-8"):
        cells = line.split("\t")
        try:
            first, count = int(cells[0]) + 1, int(cells[1])
            source, licence = cells[2], cells[3] if len(cells) > 3 else ""
        except (ValueError, IndexError):
            cure = "write first line (from 0), number of lines, source and, if known, licence, with tabs between"
            raise BadInput("is not a row of origins", file=path, line=number, cure=cure) from None
        if found.ends and first < found.ends[-1]:
            raise BadInput(
                "starts before the row above ends", file=path, line=number, cure="sort the rows"
            )
        found.firsts.append(first)
        found.ends.append(first + count)
        found.sources.append((source, licence))
    return found


def with_origins(documents: Iterator[Document], name: str, origins: Origins) -> Iterator[Document]:
    """The lines with their source and licence; those of one run share a document's id."""
    for document in documents:
        at = bisect_right(origins.firsts, document.line) - 1
        if at < 0 or document.line >= origins.ends[at]:
            yield document
            continue
        source, licence = origins.sources[at]
        yield document._replace(id=f"{name}:{origins.firsts[at]}", source=source, licence=licence)
