"""Tables with an id for each answer: TSV (quoting off), CSV (quoted), Parquet."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.answers.base import ANSWER_NAMES, ID_NAMES, LABEL_NAME, SCORE_NAMES, Form
from nikawa.io.answers.keyed import read_records
from nikawa.io.escapes import ABSENT, unescape
from nikawa.io.json import decode_json
from nikawa.io.lines import decode_line, open_bytes
from nikawa.io.parquet import arrow
from nikawa.io.tsv import check_header, read_tsv

NATIVE = "example"
"""A TSV with this column was written by Nikawa: its cells are escaped, `:json` marks columns of JSON."""
JSON = ":json"
NAMES = frozenset((*ID_NAMES, *ANSWER_NAMES, LABEL_NAME, *SCORE_NAMES))
_LONGEST = 1 << 24


def _parse_tsv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    for number, row in read_tsv(path):
        yield number, _native(row, path, number) if NATIVE in row else row
    if not number:
        raise BadInput(
            "holds a header and no answers", file=path, line=1, cure="write rows below the header"
        )


def _native(row: dict[str, str], path: Path, number: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for head, cell in row.items():
        try:
            text = None if cell == ABSENT else unescape(cell)
        except ValueError as problem:
            raise BadInput(
                str(problem), file=path, line=number, cure=r"write a backslash as \\"
            ) from None
        name = head.removesuffix(JSON)
        is_json = head.endswith(JSON) and text is not None
        plain[name] = (
            decode_json(text, object, path, number) if is_json and text is not None else text
        )
    return plain


def _parse_csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_LONGEST)
    rows = csv.reader(_csv_lines(path), strict=True)
    header: list[str] = []
    count = 0
    try:
        for cells in rows:
            if not header:
                header = _heads(cells, path)
                check_header(header, (), path)
                continue
            if len(cells) != len(header):
                what = f"has {len(cells)} columns, the header has {len(header)}"
                cure = "put an answer with a comma or a line end in double quotes"
                raise BadInput(what, file=path, line=rows.line_num, cure=cure)
            count += 1
            yield rows.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as problem:
        cure = "close each quote, and write a quote inside quotes twice"
        raise BadInput(
            f"is not CSV ({problem})", file=path, line=rows.line_num, cure=cure
        ) from None
    if not count:
        raise BadInput(
            "holds a header and no answers", file=path, line=1, cure="write rows below the header"
        )


def _heads(cells: list[str], path: Path) -> list[str]:
    """The names of the columns; those we look for in capitals too, as people write them."""
    if len(cells) == 1 and ";" in cells[0]:
        cure = "save it with commas: some spreadsheets part by semicolons where the comma is for decimals"
        raise BadInput("is parted by semicolons", file=path, line=1, cure=cure)
    plain = [cell.strip().lower() for cell in cells]
    return [
        low if low in NAMES and plain.count(low) == 1 else cell
        for cell, low in zip(cells, plain, strict=True)
    ]


def _csv_lines(path: Path) -> Iterator[str]:
    """Lines with their ends; CR LF is what CSV writers write, and spreadsheets put a byte order mark before them."""
    with open_bytes(path) as stream:
        for number, given in enumerate(stream, start=1):
            raw = given.removeprefix(BOM_UTF8) if number == 1 else given
            line = raw[:-2] + b"\n" if raw.endswith(b"\r\n") else raw
            yield decode_line(line, path, number) + "\n"


def _parse_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    pa = arrow()
    number = 0
    with open_bytes(path) as stream:
        try:
            opened = pa.parquet.ParquetFile(stream)
            coded = {
                f.name for f in opened.schema_arrow if (f.metadata or {}).get(b"nikawa") == b"json"
            }
            for batch in opened.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield (
                        number,
                        {name: _cell(value, name in coded, path) for name, value in row.items()},
                    )
        except (pa.ArrowInvalid, OSError) as problem:
            said = str(problem).partition("\n")[0].partition(". ")[0]
            raise BadInput(
                f"is not Parquet ({said})", file=path, cure="fetch or write it again"
            ) from None
    if not number:
        raise BadInput("holds no answers", file=path, cure="write at least one row")


def _cell(value: Any, coded: bool, path: Path) -> Any:
    return decode_json(value, object, path) if coded and value is not None else value


TSV = Form("tsv", _parse_tsv, read_records)
CSV = Form("csv", _parse_csv, read_records)
PARQUET = Form("parquet", _parse_parquet, partial(read_records, unit="row"), "row")
