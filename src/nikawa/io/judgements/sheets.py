"""Sheets as crowd platforms and spreadsheets write them: CSV or TSV, in UTF-8, Shift_JIS, CP949 or EUC-JP.

A byte order mark and CR LF are taken, unlike in our own files: Excel writes both. Tabs part cells without quoting,
commas with it. The encoding is detected over the whole file and said; a file of two encodings is refused by line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.judgements.base import BLANK_ROW, Notes
from nikawa.io.lines import LINE_LIMIT, guess_encoding, numbered_lines, open_bytes
from nikawa.io.tsv import check_header

BOM = b"\xef\xbb\xbf"
SAMPLE = 1 << 16
"""Bytes of foreign lines the encoding is told from."""
_CJK = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True)
class Layout:
    """How a sheet is written."""

    encoding: str
    separator: str
    bom: bool = False


def layout_of(path: Path, encoding: str | None = None) -> Layout:
    """Detect encoding and separator; one pass over the file."""
    if encoding is not None:
        _check_encoding(encoding)
    first, foreign, native, other = b"", b"", 0, 0
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            first = first or raw
            _refuse_bytes(raw, path, number)
            if raw.isascii() or encoding is not None:
                continue
            if not _is_utf8(raw):
                if native:
                    raise _mixed(path, number, native)
                foreign, other = foreign + (raw if len(foreign) < SAMPLE else b""), other or number
            elif foreign and len(_CJK.findall(raw.decode())) > 1:
                raise _mixed(path, number, other)
            elif not foreign:
                native = native or number
    if not first.removeprefix(BOM):
        raise BadInput("is empty", file=path, cure="write a header line and rows")
    found = encoding or (_guess(foreign, path) if foreign else "utf-8")
    return Layout(found, _separator(first, path), first.startswith(BOM))


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
    except LookupError:
        cure = "write utf-8, cp932 (Shift_JIS), cp949 or euc-jp"
        raise BadInput(f"there is no encoding {name!r}", cure=cure) from None


def _refuse_bytes(raw: bytes, path: Path, number: int) -> None:
    if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("is UTF-16", file=path, line=1, cure="save it as CSV UTF-8")
    if number == 1 and raw[:4] == b"PK\x03\x04":
        raise BadInput("is a workbook, not a sheet", file=path, cure="save the sheet as CSV UTF-8")
    if b"\0" in raw:
        raise BadInput("holds a NUL character", file=path, line=number, cure="remove it")
    if len(raw) >= LINE_LIMIT:
        raise BadInput(
            "is too long a line", file=path, line=number, cure="end each row in a line feed"
        )


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _mixed(path: Path, number: int, other: int) -> BadInput:
    what = f"is of another encoding than line {other}"
    return BadInput(
        what, file=path, line=number, cure="save the whole sheet as UTF-8 before joining parts"
    )


def _guess(foreign: bytes, path: Path) -> str:
    found = guess_encoding(foreign)
    if found is None:
        cure = "save it as UTF-8, or say which with --encoding"
        raise BadInput("is neither UTF-8 nor Shift_JIS, EUC-JP or CP949", file=path, cure=cure)
    return found


def _separator(first: bytes, path: Path) -> str:
    """The mark that parts the cells of the heading, the one of the suffix where several would do."""
    counts = {mark: first.count(mark.encode()) for mark in "\t,;"}
    own = "\t" if ".tsv" in path.name else ","
    return own if counts[own] else max(counts, key=lambda mark: counts[mark])


def quoting(separator: str) -> dict[str, Any]:
    """How the csv module is told to part cells: a quote mark is text between tabs."""
    if separator == "\t":
        return {"delimiter": separator, "quoting": csv.QUOTE_NONE, "quotechar": None}
    return {"delimiter": separator, "quoting": csv.QUOTE_MINIMAL}


def read_sheet(path: Path, layout: Layout, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """(Line on which the row starts, cells), the heading first; every row is as wide as the heading."""
    width = 0
    for number, cells in _rows(path, layout):
        if not width:
            header = [cell.strip() for cell in cells]
            _check_names(header, path)
            width = len(header)
            yield number, header
        elif not any(cell.strip() for cell in cells):
            notes.add(BLANK_ROW, number)
        elif len(cells) != width:
            cure = "look for a stray separator, a merged cell or an open quote"
            raise BadInput(
                f"has {len(cells)} cells, the heading has {width}",
                file=path,
                line=number,
                cure=cure,
            )
        else:
            yield number, cells


def _check_names(header: Sequence[str], path: Path) -> None:
    empty = [place for place, name in enumerate(header, start=1) if not name]
    if empty:
        cure = "write one heading row with a name over every column"
        raise BadInput(
            f"column {empty[0]} has no name: a merged heading?", file=path, line=1, cure=cure
        )
    check_header(header, (), path)


def _rows(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    lines = _text_lines(path, layout)
    reader = csv.reader(lines, **quoting(layout.separator), strict=True)
    start = 1
    try:
        for cells in reader:
            yield start, cells
            start = reader.line_num + 1
    except csv.Error as problem:
        cure = "look for a quote mark that is not closed or not doubled"
        raise BadInput(
            f"cannot be parted into cells ({problem})", file=path, line=start, cure=cure
        ) from None


def _text_lines(path: Path, layout: Layout) -> Iterator[str]:
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            line = raw.removeprefix(BOM) if number == 1 else raw
            try:
                yield line.decode(layout.encoding).replace("\r\n", "\n")
            except UnicodeDecodeError as problem:
                what = (
                    f"byte {problem.start + 1} is not {layout.encoding}, as the rest of the file is"
                )
                cure = "save the whole sheet as UTF-8, or say which it is with --encoding"
                raise BadInput(what, file=path, line=number, cure=cure) from None
