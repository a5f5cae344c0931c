"""Tab-separated tables with quoting off: a quote mark is text, as in all the published files.

`read_tsv` reads any such table. `read_table` and `write_table` hold records, and nothing is lost on
the way and back: a column of texts holds them as they are (see `escapes`); a column with any other
value ends in `:json` and holds JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nikawa.errors import BadInput, suggest
from nikawa.io.atomic import atomic_write
from nikawa.io.columns import check_columns, flatten_records, unflatten
from nikawa.io.escapes import ABSENT, escape, unescape_cell
from nikawa.io.json import decode_json, encode_json
from nikawa.io.lines import read_lines, refuse_many_cells
from nikawa.records import Record

R = TypeVar("R", bound=Record)

JSON = ":json"
"""How the name of a column of JSON ends."""
_MIN_LONG_ROW = 1 << 16
"""Characters below which a row has no more cells than it may."""


def read_tsv(
    path: Path, needs: Sequence[str] = (), separator: str = "\t", *, ended: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row by column name). `needs` are the columns that must be there.

    With `ended` a last line without LF is refused; some published tables end so.
    """
    return parse_rows(read_lines(path, ended=ended), path, needs, separator)


def parse_rows(
    lines: Iterator[tuple[int, str]],
    path: Path,
    needs: Sequence[str] = (),
    separator: str = "\t",
    *,
    cut: bool = False,
) -> Iterator[tuple[int, dict[str, str]]]:
    """(Line number, row by column) of numbered lines, the first of which is the header.

    The path is for messages.
    With `cut` rows may lack their last cells, which are empty then.
    """
    try:
        _, first = next(lines)
    except StopIteration:
        raise BadInput("is empty", file=path, cure="write a header line and rows") from None
    refuse_many_cells(first, separator, path, 1)
    header = first.split(separator)
    check_header(header, needs, path)
    for number, line in lines:
        if len(line) >= _MIN_LONG_ROW:
            refuse_many_cells(line, separator, path, number)
        cells = line.split(separator)
        if cut:
            cells += [""] * (len(header) - len(cells))
        if len(cells) != len(header):
            what = f"has {len(cells)} columns, the header has {len(header)}"
            raise BadInput(what, file=path, line=number, cure="look for a stray or missing tab")
        yield number, dict(zip(header, cells, strict=True))


def check_header(header: Sequence[str], needs: Sequence[str], path: Path) -> None:
    """Refuse a header with repeated names or without one of `needs`."""
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise BadInput(
            f"column {twice!r} occurs twice", file=path, line=1, cure="rename one of them"
        )
    for name in needs:
        if name not in header:
            raise BadInput(
                f"column {name!r} is missing", file=path, line=1, cure=suggest(name, header)
            )


def read_table(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """Stream (line, record)."""
    names: dict[str, str] = {}
    number = 1
    for number, cells in read_tsv(path, ended=True):
        if not names:
            names = {head: unescape_cell(head.removesuffix(JSON), path, 1) for head in cells}
            check_header(list(names.values()), (), path)  # `text` and `text:json` are one column
            check_columns(names.values(), kind, path)
        row: dict[str, Any] = {}
        for head, cell in cells.items():
            if cell == ABSENT:
                continue
            text = unescape_cell(cell, path, number)
            if head.endswith(JSON):
                row[names[head]] = decode_json(text, object, path, number, unique=True)
            else:
                row[names[head]] = text
        try:
            yield number, unflatten(row, kind)
        except ValueError as problem:
            cure = "see docs/files.md for the columns"
            raise BadInput(str(problem), file=path, line=number, cure=cure) from None
    if number == 1:
        raise BadInput("holds no records", file=path, cure="write rows below the header")


def write_table(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """A header and a row a record.

    All records are held in memory: the header must know every column.
    """
    rows, columns = flatten_records(records, path)
    texts = {c for c in columns if all(isinstance(row.get(c, ""), str) for row in rows)}
    with atomic_write(path, overwrite=overwrite) as stream:
        if rows:
            heads = []
            for column in columns:
                if column in texts and column.endswith(JSON):
                    what = f"a name may not end in {JSON!r}: {column}"
                    raise BadInput(what, cure="use .jsonl")
                heads.append(escape(column) + ("" if column in texts else JSON))
            stream.write(_encode_row(heads))
        for row in rows:
            cells = []
            for column in columns:
                if column not in row:
                    cells.append(ABSENT)
                elif column in texts:
                    cells.append(escape(row[column]))
                else:
                    cells.append(escape(encode_json(row[column]).decode()))
            stream.write(_encode_row(cells))
    return len(rows)


def _encode_row(cells: Iterable[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()
