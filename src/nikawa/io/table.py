"""Records as a tab-separated table, quoting off. Nothing is lost on the way and back.

A column of texts holds them as they are (see `escapes`); a column with any other value ends in `:json` and holds JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.columns import check_columns, flat_rows, unflatten
from nikawa.io.escapes import ABSENT, escape, unescape
from nikawa.io.json import decode_json, encode_json
from nikawa.io.tsv import check_header, read_tsv
from nikawa.records import Record

R = TypeVar("R", bound=Record)

JSON = ":json"


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """Stream (line, record)."""
    names: dict[str, str] = {}
    number = 1
    for number, cells in read_tsv(path, ended=True):
        names = names or _names(cells, kind, path)
        row = {
            names[head]: _value(head, cell, path, number)
            for head, cell in cells.items()
            if cell != ABSENT
        }
        try:
            yield number, unflatten(row, kind)
        except ValueError as problem:
            raise BadInput(
                str(problem), file=path, line=number, cure="see docs/files.md for the columns"
            ) from None
    if number == 1:
        raise BadInput("holds no records", file=path, cure="write rows below the header")


def _names(heads: Iterable[str], kind: type[Record], path: Path) -> dict[str, str]:
    names = {head: _unescape(head.removesuffix(JSON), path, 1) for head in heads}
    check_header(list(names.values()), (), path)  # `text` and `text:json` are one column
    check_columns(names.values(), kind, path)
    return names


def _unescape(cell: str, path: Path, number: int) -> str:
    try:
        return unescape(cell)
    except ValueError as problem:
        raise BadInput(
            str(problem), file=path, line=number, cure=r"write a backslash as \\"
        ) from None


def _value(head: str, cell: str, path: Path, number: int) -> Any:
    text = _unescape(cell, path, number)
    return decode_json(text, object, path, number, unique=True) if head.endswith(JSON) else text


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """A header and a row a record. All records are held in memory: the header must know every column."""
    rows, columns = flat_rows(records, path)
    texts = {c for c in columns if all(isinstance(row.get(c, ""), str) for row in rows)}
    with atomic_write(path, overwrite=overwrite) as stream:
        if rows:
            stream.write(_line(_head(column, column in texts) for column in columns))
        for row in rows:
            stream.write(_line(_cells(row, columns, texts)))
    return len(rows)


def _head(column: str, is_text: bool) -> str:
    if is_text and column.endswith(JSON):
        raise BadInput(f"a name may not end in {JSON!r}: {column}", cure="use .jsonl")
    return escape(column) + ("" if is_text else JSON)


def _cells(row: dict[str, Any], columns: Sequence[str], texts: set[str]) -> Iterator[str]:
    for column in columns:
        if column not in row:
            yield ABSENT
        else:
            yield escape(row[column] if column in texts else encode_json(row[column]).decode())


def _line(cells: Iterable[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()
