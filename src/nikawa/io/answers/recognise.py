"""Detect the form of an answer file from its content.

The suffix decides only between JSON, tables and text.
"""

from __future__ import annotations

import json
import zipfile
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.errors import BadInput, suggest
from nikawa.io.answers import flexeval, inspect_log, keyed, lighteval, lm_eval, ordered
from nikawa.io.answers.base import (
    ANSWER_NAMES,
    ID_NAMES,
    INDICES,
    LABEL_NAME,
    SCORE_NAMES,
    AnswerForm,
)
from nikawa.io.json import read_json
from nikawa.io.limits import CHECKED_BYTES, estimate_decoded, read_limits
from nikawa.io.lines import decode_line, open_bytes, refuse_many_cells
from nikawa.io.tsv import JSON

FORMS: dict[str, AnswerForm] = {
    form.name: form
    for form in (
        keyed.PREDICTIONS,
        keyed.LINES,
        keyed.MAPPING,
        keyed.ARRAY,
        keyed.NBEST,
        keyed.TSV,
        keyed.CSV,
        keyed.PARQUET,
        ordered.TEXT,
        ordered.GLUE,
        ordered.VALUES,
        ordered.LIST,
        ordered.NUMPY,
        lm_eval.FORM,
        flexeval.FORM,
        inspect_log.FORM,
        lighteval.FORM,
    )
}

FIRST_BYTES = {b"PK\x03\x04": inspect_log.FORM, b"PAR1": keyed.PARQUET, b"\x93NUM": ordered.NUMPY}
PACKED_BYTES = {b"\x1f\x8b": ".gz", b"\x28\xb5": ".zst"}
MAX_LINE_BYTES = 1 << 26
"""Bytes of a line that are used to detect the form."""
LINE_SUFFIXES = (".jsonl", ".ndjson")
OWN_FIELDS = {"example", "answer", "scores", "raw", "why"}
"""The fields of a prediction, as we write it."""
ALL_ANSWER_NAMES = (*ANSWER_NAMES, LABEL_NAME, *SCORE_NAMES)
_BROKEN = object()
"""What a line that is not JSON decodes to."""


class Start(NamedTuple):
    """How a file begins."""

    first: bytes
    """The first line that is not blank."""
    more: bool
    """Whether another line that is not blank follows."""
    suffix: str
    """Of the name without `.gz` or `.zst`."""


def find_form(name: str) -> tuple[AnswerForm | None, str]:
    """The form and option of `form`, `form:option` or `indices`."""
    head, _, option = name.partition(":")
    if head == INDICES:
        return None, INDICES
    if head not in FORMS:
        raise BadInput(f"there is no form {head!r}", cure=suggest(head, [*FORMS, INDICES]))
    if option and option != INDICES and not FORMS[head].log:
        what = f"the form {head!r} has no option {option!r}"
        raise BadInput(what, cure=f"leave it out, or pass {head}:{INDICES}")
    return FORMS[head], option


def recognise(path: Path) -> AnswerForm:
    """The form of the file at `path`."""
    start = read_start(path)
    if start.first[:2] == b"PK" and is_workbook(path):
        cure = "save its sheet as CSV (UTF-8)"
        raise BadInput("is a spreadsheet workbook", file=path, cure=cure)
    if start.first[:4] == b"PAR1" and lighteval.is_log(path):
        return lighteval.FORM
    if start.first[:4] in FIRST_BYTES:
        return FIRST_BYTES[start.first[:4]]
    if start.suffix == ".csv":
        return keyed.CSV
    is_json = start.suffix in (*LINE_SUFFIXES, ".json")
    if not is_json and start.first.lstrip()[:1] in (b"{", b"["):
        is_json = start.suffix != ".txt" or _decode_line(start.first) is not _BROKEN
    return recognise_json(path, start) if is_json else recognise_text(path, start)


def is_workbook(path: Path) -> bool:
    """Whether a packed file is a spreadsheet: of Office, or an open document."""
    try:
        with inspect_log.open_archive(path) as packed:
            names = packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return "xl/workbook.xml" in names or {"mimetype", "content.xml"} <= set(names)


def read_start(path: Path) -> Start:
    """The beginning of a file that is not empty.

    Refuses a packed file whose name does not say so.
    """
    with open_bytes(path) as stream:
        first = stream.readline(MAX_LINE_BYTES).removeprefix(BOM_UTF8)
        while first and not first.strip():
            first = stream.readline(MAX_LINE_BYTES)
        if len(first) < MAX_LINE_BYTES:
            more = any(line.strip() for line in iter(lambda: stream.readline(MAX_LINE_BYTES), b""))
        else:  # a document on one line, or a line that is too long: what follows matters little
            more = False
    if not first:
        raise BadInput("the file is empty", file=path, cure="write at least one answer")
    packed = PACKED_BYTES.get(first[:2])
    if packed:
        what = f"is compressed, but does not end with {packed}"
        raise BadInput(what, file=path, cure=f"rename it to {path.name}{packed}")
    plain = path.name.removesuffix(".gz").removesuffix(".zst")
    return Start(first, more, Path(plain).suffix.lower())


def _decode_line(line: bytes) -> Any:
    """The JSON value of a line.

    Python's writer puts NaN into the logs of other tools, so it is let pass here.
    """
    is_large = len(line) >= CHECKED_BYTES and estimate_decoded(line) > read_limits().decoded
    if is_large:  # who reads the file refuses it, with the line
        return _BROKEN
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _BROKEN


def recognise_json(path: Path, start: Start) -> AnswerForm:
    """The form of JSON lines or of one JSON document, by the first record or the whole."""
    decode_line(start.first.rstrip(b"\r\n"), path, 1)
    value = _decode_line(start.first)
    if start.suffix in LINE_SUFFIXES or (start.more and isinstance(value, dict)):
        is_record = isinstance(value, dict) or value is _BROKEN
        return _recognise_record(value, keyed.LINES) if is_record else ordered.VALUES
    if value is _BROKEN or start.more:
        value = read_json(path, object)
    if isinstance(value, list):
        first = value[0] if value else None
        if isinstance(first, dict) and (_is_sample(first) or _has(first, ID_NAMES, ANSWER_NAMES)):
            return _recognise_record(first, keyed.ARRAY)
        return ordered.LIST
    if not isinstance(value, dict):
        cure = 'write lines of {"id": …, "answer": …}, or one mapping of id to answer'
        raise BadInput("is one JSON value, not answers", file=path, cure=cure)
    if inspect_log.is_log(value):
        return inspect_log.FORM
    refuse_results(path, value)
    is_one_line = _has(value, ID_NAMES) and _has(value, ALL_ANSWER_NAMES)
    if is_one_line or _is_sample(value):
        return _recognise_record(value, keyed.LINES)
    are_texts = [
        isinstance(v, list) and bool(v) and isinstance(v[0], dict) and "text" in v[0]
        for v in value.values()
    ]
    return keyed.NBEST if value and all(are_texts) else keyed.MAPPING


def refuse_results(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse the scores of a tool, which are in a file of their own."""
    if not isinstance(document.get("results"), dict):
        return
    for mark, tool, log in (
        ("config_general", "lighteval", "details_*.parquet, which --save-details writes"),
        ("configs", "lm-eval", "samples_*.jsonl, which --log_samples writes"),
    ):
        if mark in document:
            what = f"has the scores of {tool}, not the answers"
            raise BadInput(what, file=path, cure=f"pass {log}")


def _is_sample(row: Mapping[str, Any]) -> bool:
    return lm_eval.is_sample(row) or flexeval.is_sample(row)


def _has(row: Mapping[str, Any] | Iterable[str], *groups: Iterable[str]) -> bool:
    """Whether a record or a header has any of these names."""
    return any(name in row for names in groups for name in names)


def _recognise_record(row: Any, otherwise: AnswerForm) -> AnswerForm:
    if not isinstance(row, dict):
        return otherwise
    if lm_eval.is_sample(row):
        return lm_eval.FORM
    if flexeval.is_sample(row):
        return flexeval.FORM
    is_own = otherwise is keyed.LINES and "example" in row and row.keys() <= OWN_FIELDS
    return keyed.PREDICTIONS if is_own else otherwise


def recognise_text(path: Path, start: Start) -> AnswerForm:
    """The form of a table or of plain lines, by the first line."""
    line = decode_line(start.first.rstrip(b"\r\n"), path, 1)
    for separator in "\t,":
        refuse_many_cells(line, separator, path, 1)
    cells = [cell.removesuffix(JSON) for cell in line.split("\t")]
    if tuple(cells[:2]) == ordered.GLUE_HEADER:
        return ordered.GLUE
    if start.suffix == ".tsv" or _is_header(cells):
        return keyed.TSV
    is_csv = _is_header([cell.strip('"') for cell in line.split(",")])
    return keyed.CSV if is_csv else ordered.TEXT


def _is_header(cells: list[str]) -> bool:
    return len(cells) > 1 and _has(cells, ID_NAMES) and _has(cells, ALL_ANSWER_NAMES)
