"""The sheet of ties as a spreadsheet opens and saves it: written with a byte order mark and no formulas, read in any form.

Read are UTF-8 with and without a mark and UTF-16, ends of lines of any kind, tabs or commas between cells, quoted cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.by_hand import read_lines
from nikawa.io.json import encode_json
from nikawa.io.judgements.guard import bare, safe
from nikawa.io.tsv import check_header

MARK = b"\xef\xbb\xbf"


def write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Rows of values, each on one line, tabs between them."""
    with io.StringIO() as text:
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerows([safe(_line(value)) for value in row] for row in rows)
        path.write_bytes(MARK + text.getvalue().encode())


def _line(value: Any) -> str:
    """A value on one line without tabs."""
    return " ".join((value if isinstance(value, str) else encode_json(value).decode()).split())


def read_rows(path: Path, needs: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(Line number, row by column); what a spreadsheet would have run is bare again."""
    lines = [text for _, text in read_lines(path)]
    if not lines:
        raise BadInput("is empty", file=path, cure="write a header line and rows")
    rows = _tabbed(lines) if "\t" in lines[0] else _commas(lines)
    _, header = next(rows)
    check_header(header, needs, path)
    for number, cells in rows:
        if not any(cells):  # spreadsheets keep emptied rows
            continue
        if len(cells) > len(header):
            what = f"has {len(cells)} columns, the header has {len(header)}"
            raise BadInput(what, file=path, line=number, cure="look for a stray tab or comma")
        whole = zip_longest(
            header, cells, fillvalue=""
        )  # some leave the tabs of empty cells at the end out
        yield number, {name: bare(cell) for name, cell in whole}


def _tabbed(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, start=1):
        yield number, [_unquoted(cell) for cell in line.split("\t")]


def _unquoted(cell: str) -> str:
    """A cell without the quote marks around it; others are text."""
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _commas(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(f"{line}\n" for line in lines)
    for cells in reader:
        yield reader.line_num, cells
