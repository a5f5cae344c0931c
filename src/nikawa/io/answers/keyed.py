"""Answers with ids: JSON lines, one mapping, one array, nbest files of run_squad.

TSV (quoting off), CSV (quoted), Parquet.
"""

from __future__ import annotations

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

from nikawa.errors import BadInput
from nikawa.io.answers.base import (
    ANSWER_NAMES,
    ID_NAMES,
    LABEL_NAME,
    SCORE_NAMES,
    AnswerForm,
    RawAnswer,
    Rows,
    Target,
    UnfitAnswer,
    find_fields,
    read_fields,
    unpack_answer,
)
from nikawa.io.answers.content import LogSample, SampleMatcher, list_texts
from nikawa.io.escapes import ABSENT, unescape_cell
from nikawa.io.json import FLATTEN, TOO_DEEP, decode_json, read_json, read_json_lines
from nikawa.io.lines import RowLines, decode_line, numbered_lines, open_bytes, read_text
from nikawa.io.parquet import arrow, list_values, open_parquet
from nikawa.io.tsv import JSON, check_header, read_tsv

OWN_COLUMN = "example"
"""A TSV with this column was written by Nikawa: its cells are escaped, `:json` marks columns of
JSON."""
COLUMN_NAMES = frozenset((*ID_NAMES, *ANSWER_NAMES, LABEL_NAME, *SCORE_NAMES))
OWN_NAMES = COLUMN_NAMES | {"raw", "why"}
"""Names of fields that are about the answer, not about the item."""
MAX_CELL_CHARACTERS = 1 << 24
NO_ROWS = "has a header but no answers"


def read_keyed(
    rows: Rows, target: Target, path: Path, *, unit: str = "line"
) -> Iterator[RawAnswer]:
    """The answers of records with named fields.

    If records repeat the texts of the items, the texts decide, as in logs: the ids may be the
    author's own numbering.
    """
    stream = iter(rows)
    first = next(stream, None)
    answers = read_records(stream if first is None else chain([first], stream), target, path, unit)
    if first is None or not repeats_texts(first[1]):
        yield from (answer for answer, _ in answers)
        return

    def list_samples() -> Iterator[LogSample]:
        for answer, row in answers:
            texts = tuple(list_texts(_other_fields(row)))
            alike = answer._replace(place=0, id=None)  # what is equal where two answers are
            yield LogSample(answer.place, texts, row, answer.id, None, None, alike)

    matcher = SampleMatcher(target, by_order=False, trust_ids=True)
    for match in matcher.match(list_samples()):
        sample, example = match.sample, match.example
        yield sample.payload._replace(
            place=sample.place,
            id=sample.own_id if example is None else example.id,
            unfit=match.unfit,
            confirmed=match.is_confirmed,
        )


def _other_fields(row: Mapping[str, Any]) -> list[Any]:
    """Return the values of a record other than its id, answer and scores."""
    return [value for name, value in row.items() if name not in OWN_NAMES]


def repeats_texts(row: Mapping[str, Any]) -> bool:
    """Whether a record, the first of a file, repeats texts of its item, which then decide what all records are about."""
    return any(isinstance(text, str) for text in _other_fields(row))


def read_records(
    rows: Rows, target: Target, path: Path, unit: str
) -> Iterator[tuple[RawAnswer, Mapping[str, Any]]]:
    """The answer of each record, with the record."""
    fields = None
    for place, row in rows:
        try:
            answer = None if fields is None else read_fields(row, fields, place)
            if answer is None:
                fields = find_fields(row, target.find)
                answer = read_fields(row, fields, place)
        except UnfitAnswer as problem:
            raise problem.at(path, unit, place) from None
        assert answer is not None
        yield answer, row


def parse_json_lines(path: Path) -> Rows:
    """An object a line."""
    return read_json_lines(path, cast("type[dict[str, Any]]", dict))


def parse_array(path: Path) -> Rows:
    """The objects of one JSON array."""
    rows = read_json(path, cast("type[list[Any]]", list))
    for place, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            cure = 'write {"id": …, "answer": …}'
            raise UnfitAnswer("is not an object like the previous lines", cure).at(
                path, "record", place
            )
        yield place, row


class _Repeats(list[tuple[str, Any]]):
    """The pairs of a mapping in which a name occurs twice."""


def parse_mapping(path: Path) -> Rows:
    """The pairs of one JSON mapping, repeated names included."""
    if not read_json(path, cast("type[dict[str, Any]]", dict)):
        raise BadInput("holds no answers", file=path, cure='write {"id": answer, …}')

    def keep_repeats(pairs: list[tuple[str, Any]]) -> Any:
        plain = dict(pairs)
        return plain if len(plain) == len(pairs) else _Repeats(pairs)

    try:
        pairs = json.loads(read_text(path), object_pairs_hook=keep_repeats)
    except RecursionError:
        raise BadInput(TOO_DEEP, file=path, cure=FLATTEN) from None
    every = pairs if isinstance(pairs, _Repeats) else cast("dict[str, Any]", pairs).items()
    return enumerate(every, start=1)


def read_mapping(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """Id to answer, which may be a mapping of answer, scores and so on, but for dialogue states,
    which are mappings.
    """
    for place, (name, value) in rows:
        plain = dict(value) if isinstance(value, _Repeats) else value
        if target.task.kind == "dialogue":
            yield RawAnswer(place, name, plain)
        else:
            yield RawAnswer(place, name, *unpack_answer(plain))


def read_nbest(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The most probable of the texts of each question."""

    def is_candidate(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and isinstance(value.get("text"), str)
            and isinstance(value.get("probability", 0.0), int | float)
        )

    for place, (name, texts) in rows:
        if not isinstance(texts, list) or not texts or not all(map(is_candidate, texts)):
            cure = 'write [{"text": …, "probability": …}, …]'
            raise UnfitAnswer(f"{name!r} is not a list of texts", cure).at(path, "record", place)
        top = max(texts, key=lambda text: text.get("probability", 0.0))
        yield RawAnswer(place, name, top["text"])


def parse_tsv(path: Path) -> Rows:
    """The rows of a table between tabs; cells of a table of our own are unescaped."""
    number = 0
    for number, row in read_tsv(path):
        yield number, unescape_row(row, path, number) if OWN_COLUMN in row else row
    if not number:
        raise BadInput(NO_ROWS, file=path, line=1, cure="write rows below the header")


def unescape_row(row: dict[str, str], path: Path, number: int) -> dict[str, Any]:
    """The cells of a row of our own table as values; None where a cell is absent."""
    plain: dict[str, Any] = {}
    for head, cell in row.items():
        text = None if cell == ABSENT else unescape_cell(cell, path, number)
        value: Any = text
        if text is not None and head.endswith(JSON):
            value = decode_json(text, object, path, number)
        plain[head.removesuffix(JSON)] = value
    return plain


def parse_csv(path: Path) -> Rows:
    """The rows of a table with commas, as spreadsheets write it."""
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    lines = RowLines(read_csv_lines(path), path, ",")
    rows = csv.reader(lines, strict=True)
    header: list[str] = []
    count = 0
    try:
        for cells in rows:
            lines.size = 0
            if not header:
                header = read_csv_header(cells, path)
                continue
            if len(cells) != len(header):
                what = f"has {len(cells)} columns, the header has {len(header)}"
                cure = "put an answer with a comma or a line break in double quotes"
                raise BadInput(what, file=path, line=rows.line_num, cure=cure)
            count += 1
            yield rows.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as problem:
        what = f"is not CSV ({problem})"
        cure = "close each quote, and write a quote inside quotes twice"
        raise BadInput(what, file=path, line=rows.line_num, cure=cure) from None
    if not count:
        raise BadInput(NO_ROWS, file=path, line=1, cure="write rows below the header")


def read_csv_header(cells: list[str], path: Path) -> list[str]:
    """The names of the columns; those we look for in capitals too, as people write them."""
    if len(cells) == 1 and ";" in cells[0]:
        cure = "save it with commas; some spreadsheets write semicolons if the comma is the decimal separator"
        raise BadInput("is separated by semicolons", file=path, line=1, cure=cure)
    lower = [cell.strip().lower() for cell in cells]
    header = []
    for cell, low in zip(cells, lower, strict=True):
        is_known = low in COLUMN_NAMES and lower.count(low) == 1
        header.append(low if is_known else cell)
    check_header(header, (), path)
    return header


def read_csv_lines(path: Path) -> Iterator[str]:
    """Lines with their ends.

    CR LF is what CSV writers write, and spreadsheets put a byte order mark before them.
    """
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            line = raw.removeprefix(BOM_UTF8) if number == 1 else raw
            if line.endswith(b"\r\n"):
                line = line[:-2] + b"\n"
            yield decode_line(line, path, number) + "\n"


def parse_parquet(path: Path) -> Rows:
    """The rows of a Parquet file, columns of JSON decoded."""
    pa = arrow()
    number = 0
    with open_parquet(path) as (file, rows):
        names = file.schema_arrow.names
        json_columns = {
            field.name
            for field in file.schema_arrow
            if (field.metadata or {}).get(b"nikawa") == b"json"
        }
        for batch in file.iter_batches(batch_size=rows):
            columns = [list_values(pa, column) for column in batch.columns]
            for cells in zip(*columns, strict=True):
                row = dict(zip(names, cells, strict=True))
                number += 1
                for name in json_columns:
                    if row[name] is not None:
                        row[name] = decode_json(row[name], object, path)
                yield number, row
    if not number:
        raise BadInput("holds no answers", file=path, cure="write at least one row")


PREDICTIONS = AnswerForm("predictions", parse_json_lines, read_keyed)
LINES = AnswerForm("lines", parse_json_lines, read_keyed)
ARRAY = AnswerForm("array", parse_array, partial(read_keyed, unit="record"), "record")
MAPPING = AnswerForm("mapping", parse_mapping, read_mapping, "record")
NBEST = AnswerForm("nbest", parse_mapping, read_nbest, "record")
TSV = AnswerForm("tsv", parse_tsv, read_keyed)
CSV = AnswerForm("csv", parse_csv, read_keyed)
PARQUET = AnswerForm("parquet", parse_parquet, partial(read_keyed, unit="row"), "row")
