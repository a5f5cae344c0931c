"""Files of plain judgements, coded column by column: many times as fast as record by record, and with the same meaning.

A file is plain if the record reader would take every row as a person's answer, unchanged or as a number, and would note
nothing: no remarks, no machines, no blanks, no apostrophes that guard a cell. The functions return None for any other file,
a faulty one too: the record reader explains it.
"""

from __future__ import annotations

import sys
import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.io.coding import ArrowCoder, CodedColumn, Codes, Numbering, encode, hold_names
from nikawa.io.columns import check_columns
from nikawa.io.json import read_plain_json_lines
from nikawa.io.judgements.base import Notes, parse_answer_cell, parse_seconds
from nikawa.io.judgements.formula_escape import unguard_cell
from nikawa.io.judgements.plain_bytes import PlainBytes
from nikawa.io.judgements.remarks import is_reserved
from nikawa.io.judgements.sheets import (
    KIND_CELLS,
    Columns,
    Layout,
    parse_prelabel,
    read_answer,
    read_heading,
)
from nikawa.io.judgements.split_lines import split_lines
from nikawa.io.lines import open_bytes, opening
from nikawa.io.parquet import JSON_MARK, arrow
from nikawa.io.parquet_pages import is_read_at_once
from nikawa.records import Judgement, Record

ROWS_AT_A_TIME = 1 << 20
"""Rows of a Parquet file that are read at a time."""
BLOCK_BYTES = 1 << 20
"""Bytes of a sheet that are parsed at a time."""
MIN_SHEET_BYTES, MIN_LINES_BYTES = 1 << 20, 1 << 26
"""Smallest sheet and smallest file of JSON lines for which pyarrow is loaded: loading it takes as long as reading so many
bytes row by row."""
PEEK_BYTES = 1 << 16
"""Bytes of the longest first line that is looked at."""
NOT_PLAIN = (BadInput, ValueError, TypeError, KeyError, IndexError, OSError, OverflowError)


@dataclass(frozen=True)
class PlainJudgements:
    """The judgements of a plain file, side by side, each column numbered in order of first appearance."""

    items: CodedColumn
    workers: CodedColumn
    questions: CodedColumn
    answers: CodedColumn
    """Labels in NFC, numbers, truth values; None where there is no answer. Some may be equal, such as 1 and 1.0."""
    seconds: NDArray[np.float32] | None = None
    """Seconds a judgement took, NaN where that is not known; None where no judgement says it."""


class _PlainJudgement(Record, frozen=True, kw_only=True):
    """A judgement that is an answer and nothing else; any other cannot be decoded."""

    example: str
    worker: str
    question: str
    answer: Any
    seconds: float | None = None
    at: str | None = None
    kind: Literal["person"] = "person"
    comment: Literal[""] = ""
    prelabel: None = None


FIELD_TYPES = {field.name: field.type for field in msgspec.structs.fields(_PlainJudgement)}
"""What each value of a plain judgement is decoded as."""


def _order_fields(path: Path) -> type[Any]:
    """The same with the fields as the first line of a file has them: what is decoded and written again equals the file then."""
    first = opening(path, PEEK_BYTES).partition(b"\n")[0]
    order = list(msgspec.json.decode(first, type=dict[str, Any]))
    fields = {field.name: field for field in msgspec.structs.fields(_PlainJudgement)}
    names = sorted(fields, key=lambda name: order.index(name) if name in order else len(order))
    parts: list[Any] = []
    for name in names:
        field = fields[name]
        parts.append((name, field.type) if field.required else (name, field.type, field.default))
    kind: type[Any] = msgspec.defstruct(
        "Judgement", parts, bases=(Record,), frozen=True, kw_only=True, omit_defaults=True, gc=False
    )
    return kind


def code_lines(path: Path) -> PlainJudgements | None:
    """The judgements of a file of JSON lines."""
    if _may_use_arrow(path, MIN_LINES_BYTES):
        pa = import_module("pyarrow")
        with suppress(pa.ArrowException, MemoryError, *NOT_PLAIN):
            columns = split_lines(path, FIELD_TYPES)
            if columns is not None:
                return _of_split_lines(columns)
    with suppress(*NOT_PLAIN):
        return _decode_lines(path)
    return None


def _of_split_lines(columns: Mapping[str, CodedColumn]) -> PlainJudgements | None:
    """The judgements of columns whose names may hold one text several times, where one was escaped."""
    texts = []
    for name in ("example", "worker", "question"):
        column = columns[name]
        is_repeated = isinstance(column.names, list) and len(set(column.names)) < len(column.names)
        texts.append(column.rename(column.names) if is_repeated else column)
    seconds = None
    if "seconds" in columns:
        codes, times = columns["seconds"].codes, columns["seconds"].names
        seconds = np.array([np.nan if time is None else time for time in times])[codes]
    return _check_records([*texts, columns["answer"]], seconds)


def _decode_lines(path: Path) -> PlainJudgements | None:
    """The same line by line, for lines of different shapes and values with commas."""
    numberings = (Numbering(), Numbering(), Numbering(), Numbering())
    columns = (array("i"), array("i"), array("i"), array("i"))
    seconds = array("d")
    for rows in read_plain_json_lines(path, _order_fields(path)):
        parts: tuple[list[Any], ...] = (
            [row.example for row in rows],
            [row.worker for row in rows],
            [row.question for row in rows],
            _tell_numbers_apart([row.answer for row in rows]),
        )
        for numbering, codes, names in zip(numberings, columns, parts, strict=True):
            if names.count(names[0]) == len(names) and isinstance(names[0], str):
                coded = np.full(len(names), numbering[names[0]], dtype=np.int32)
            else:
                coded = encode(numbering, names, len(names))
            codes.frombytes(coded.tobytes())
        times = [row.seconds for row in rows]
        if seconds or times.count(None) < len(times):
            before = len(columns[0]) - len(times) - len(seconds)
            seconds.frombytes(np.full(before, np.nan).tobytes())
            seconds.extend([np.nan if time is None else time for time in times])
    plain = [
        CodedColumn(
            np.frombuffer(codes, dtype=np.int32),
            [name[1] if isinstance(name, tuple) else name for name in numbering],
        )
        for codes, numbering in zip(columns, numberings, strict=True)
    ]
    return _check_records(plain, np.frombuffer(seconds) if seconds else None)


def _tell_numbers_apart(answers: list[Any]) -> list[Any]:
    """The answers, each that is no text with its spelling: 1 and 1.0 are one answer, but may be to different questions."""
    if {str}.issuperset(map(type, answers)):
        return answers
    return [answer if isinstance(answer, str) else (repr(answer), answer) for answer in answers]


def code_parquet(path: Path) -> PlainJudgements | None:
    """The judgements of a Parquet file."""
    pa = arrow()
    try:
        with open_bytes(path) as stream:
            return _read_parquet(pa, stream, path)
    except (pa.ArrowException, MemoryError, *NOT_PLAIN):
        return None


def _read_parquet(pa: Any, stream: BinaryIO, path: Path) -> PlainJudgements | None:
    fields = list(pa.parquet.ParquetFile(stream).schema_arrow)
    names = [field.name for field in fields]
    check_columns(names, Judgement, path)
    if len(set(names)) < len(names) or not is_read_at_once(stream, path):
        return None
    texts = []
    for field in fields:
        is_json = (field.metadata or {}).items() >= JSON_MARK.items()
        if is_json or not _may_hold(pa, field.name, field.type):
            return None
        if _is_text(pa, field.type):
            texts.append(field.name)
    file = pa.parquet.ParquetFile(stream, read_dictionary=texts)
    coders = {name: ArrowCoder() for name in texts}
    others: dict[str, list[NDArray[Any]]] = {name: [] for name in names if name not in texts}
    for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, use_threads=False):
        for name, column in zip(names, batch.columns, strict=True):
            if name in coders:
                if column.null_count and name in ("example", "worker", "question", "answer"):
                    return None
                coders[name].add(column)
            else:
                others[name].append(_numbers_of(column, name))
    coded: dict[str, CodedColumn] = {}
    for name, coder in coders.items():
        codes, distinct = coder.finish()
        distinct.validate(full=True)  # of bytes that are no text
        if name in ("comment", "kind"):
            plain = "person" if name == "kind" else ""
            if not {plain, None}.issuperset(distinct.to_pylist()):
                return None
        elif name != "at":
            coded[name] = CodedColumn(codes, hold_names(distinct)).in_order()
    if "answer" in others:
        coded["answer"] = CodedColumn.of(np.concatenate(others["answer"]))
    seconds = others.get("seconds")
    columns = [coded[name] for name in ("example", "worker", "question", "answer")]
    return _check_records(columns, np.concatenate(seconds) if seconds else None)


def _may_hold(pa: Any, name: str, kind: Any) -> bool:
    """Whether a column of this Arrow type may be one of plain judgements."""
    types = pa.types
    is_number = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
    if name == "seconds":
        return bool(is_number)
    if name == "answer":
        return bool(is_number or types.is_boolean(kind)) or _is_text(pa, kind)
    return name != "prelabel" and _is_text(pa, kind)


def _is_text(pa: Any, kind: Any) -> bool:
    types = pa.types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(value) or types.is_large_string(value))


def _numbers_of(column: Any, name: str) -> NDArray[Any]:
    """The numbers of a column; a blank time is NaN, a blank answer or NaN is not plain."""
    is_whole = not column.null_count or name == "seconds"
    if not is_whole or column.is_null(nan_is_null=True).true_count > column.null_count:
        raise ValueError("a number is blank")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if name == "answer" and values.dtype.kind == "f" and np.signbit(values[values == 0]).any():
        raise ValueError("0 may be -0.0 to another question")
    return values.astype(np.float64) if name == "seconds" else values


def _check_records(
    columns: Sequence[CodedColumn], seconds: NDArray[np.float64] | None
) -> PlainJudgements | None:
    """Our own records, where they are plain: texts of answers that are numbers become such."""
    items, workers, questions, answers = columns
    if not len(items):
        return None
    notes = Notes()
    renamed = [
        parse_answer_cell(name, 0, notes) if isinstance(name, str) else name
        for name in answers.names
    ]
    if notes.report():
        return None
    return _make_plain(items, workers, questions, answers, renamed, seconds)


def _make_plain(
    items: CodedColumn,
    workers: CodedColumn,
    questions: CodedColumn,
    answers: CodedColumn,
    renamed: list[Any],
    seconds: NDArray[np.float64] | None,
) -> PlainJudgements | None:
    """The columns, answers `renamed`, unless a worker or an answer is one that the record reader treats apart."""
    if any(is_reserved(name) for name in workers.names):
        return None
    for answer in renamed:
        is_label = isinstance(answer, str) and unicodedata.is_normalized("NFC", answer)
        if not is_label and not isinstance(answer, int | float | None):
            return None
    times = None
    if seconds is not None and not np.isnan(seconds).all():
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            times = seconds.astype(np.float32)
        if np.isinf(times).any():
            return None
    return PlainJudgements(items, workers, questions, CodedColumn(answers.codes, renamed), times)


# Sheets


def code_sheet(path: Path, layout: Layout, columns: Columns) -> PlainJudgements | None:
    """The judgements of a sheet with a row per answer, in UTF-8 and without quotes."""
    is_long = bool(columns.worker) and len(columns.answers) == 1
    if not is_long or layout.encoding != "utf-8" or not _may_use_arrow(path, MIN_SHEET_BYTES):
        return None
    pa = import_module("pyarrow")
    import_module("pyarrow.compute")
    try:
        return _read_sheet(pa, path, layout, columns)
    except (pa.ArrowException, *NOT_PLAIN):
        return None


def _may_use_arrow(path: Path, min_bytes: int) -> bool:
    if "pyarrow" in sys.modules:
        return True
    return find_spec("pyarrow") is not None and path.stat().st_size >= min_bytes


def _read_sheet(pa: Any, path: Path, layout: Layout, columns: Columns) -> PlainJudgements | None:
    csv = import_module("pyarrow.csv")
    header = read_heading(path, layout, Notes())
    ((asked, answer),) = columns.answers
    needed = {
        "example": columns.example,
        "worker": columns.worker,
        "answer": answer,
        "question": columns.question if not asked else "",
        "seconds": columns.seconds,
        "comment": columns.comment,
        "kind": columns.kind,
        "prelabel": columns.prelabel,
    }
    if asked and columns.question:  # its cells are checked all the same
        needed["unused question"] = columns.question
    fields = {name: column for name, column in needed.items() if column}
    if not {"question"} & fields.keys() and not asked:
        return None
    coders = {column: ArrowCoder() for column in fields.values()}
    with open_bytes(path) as stream:
        refused = b"" if layout.separator == "\t" else b'"'
        heading = stream.readline()
        if b'"' in heading or heading.count(b"\r") > heading.endswith(b"\r\n"):
            return None
        with csv.open_csv(
            pa.PythonFile(PlainBytes(stream, refused, behind_heading=True), mode="r"),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, column_names=header
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.separator, quote_char=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(coders),
                column_types=dict.fromkeys(coders, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,  # of the distinct ones, later
            ),
        ) as batches:
            for batch in batches:
                for coder, column in zip(coders.values(), batch.columns, strict=True):
                    coder.add(column)
    coded = {column: coder.finish() for column, coder in coders.items()}
    for _, names in coded.values():
        names.validate(full=True)
    parts = {name: coded[column] for name, column in fields.items()}
    if not len(parts["example"][0]):
        return None
    for name in ("example", "worker", "question", "unused question"):
        if name in parts and not are_plain_names(pa, parts[name][1]):
            return None
    if not _are_blank_extras(parts):
        return None
    seconds = None
    if "seconds" in parts:
        codes, cells = parts["seconds"]
        times = [parse_seconds(cell, 1, path) for cell in cells.to_pylist()]
        seconds = np.array([np.nan if time is None else time for time in times])[codes]
    size = len(parts["example"][0])
    questions = CodedColumn(np.zeros(size, dtype=np.int32), [asked]) if asked else None
    answers = _column(parts["answer"])
    notes = Notes()
    renamed = [read_answer(cell, 0, notes) for cell in answers.names]
    is_guarded = any(unguard_cell(name) is not name for name in renamed)
    if notes.report() or is_guarded or None in renamed:
        return None
    return _make_plain(
        _column(parts["example"]),
        _column(parts["worker"]),
        questions or _column(parts["question"]),
        answers,
        renamed,
        seconds,
    )


def _column(coded: tuple[Codes, Any]) -> CodedColumn:
    codes, names = coded
    return CodedColumn(codes, hold_names(names)).in_order()


def _are_blank_extras(parts: dict[str, tuple[Codes, Any]]) -> bool:
    """Whether the columns of comments, kinds and pre-labels say nothing."""

    def cells(name: str) -> Iterable[str]:
        return parts[name][1].to_pylist() if name in parts else ()

    return not any(
        chain(
            (cell.strip() for cell in cells("comment")),
            (KIND_CELLS.get(cell.strip(), "person") != "person" for cell in cells("kind")),
            (parse_prelabel(cell) is not None for cell in cells("prelabel")),
        )
    )


def are_plain_names(pa: Any, names: Any) -> bool:
    """Whether no name of an Arrow array is blank, guarded by an apostrophe, or has white space around it."""
    compute = pa.compute
    if compute.min(compute.binary_length(names)).as_py() == 0:
        return False
    data = np.frombuffer(names.buffers()[2], dtype=np.uint8)
    if (data == ord("'")).any() and compute.any(compute.starts_with(names, "'")).as_py():
        return False
    lowest = data.min()
    if lowest >= ord(" ") and data.max() < 0x80:  # the only white space is the space
        is_free = lowest > ord(" ") or compute.ascii_trim_whitespace(names).equals(names)
        return bool(is_free)
    return all(name.strip() == name for name in names.to_pylist())
