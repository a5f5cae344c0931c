"""Which form an answer file is in, told by its content; the suffix decides only between JSON, tables and text."""

from __future__ import annotations

import json
import re
import zipfile
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.errors import BadInput, suggest
from nikawa.io.answers import flexeval, inspect_log, keyed, lm_eval, ordered, tables
from nikawa.io.answers.base import ANSWER_NAMES, ID_NAMES, INDICES, LABEL_NAME, SCORE_NAMES, Form
from nikawa.io.json import read_json
from nikawa.io.lines import decode_line, open_bytes

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        keyed.PREDICTIONS,
        keyed.LINES,
        keyed.MAPPING,
        keyed.ARRAY,
        keyed.NBEST,
        tables.TSV,
        tables.CSV,
        tables.PARQUET,
        ordered.TEXT,
        ordered.GLUE,
        ordered.VALUES,
        ordered.LIST,
        ordered.NUMPY,
        lm_eval.FORM,
        flexeval.FORM,
        inspect_log.FORM,
    )
}

_MAGIC = {b"PK\x03\x04": inspect_log.FORM, b"PAR1": tables.PARQUET, b"\x93NUM": ordered.NUMPY}
_PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5": ".zst"}
_LONGEST = 1 << 26
_LINES = (".jsonl", ".ndjson")
_BROKEN = object()
"""What a line that is not JSON decodes to."""
_NATIVE = {"example", "answer", "scores", "raw", "why"}


class Start(NamedTuple):
    """How a file begins."""

    first: bytes
    """The first line that is not blank."""
    more: bool
    """Whether another line that is not blank follows."""
    suffix: str
    """Of the name without `.gz` or `.zst`."""


def form_named(name: str) -> tuple[Form | None, str]:
    """The form and option of `form`, `form:option` or `indices`."""
    head, _, option = name.partition(":")
    if head == INDICES:
        return None, INDICES
    if head not in FORMS:
        raise BadInput(f"there is no form {head!r}", cure=suggest(head, [*FORMS, INDICES]))
    if option and option != INDICES and not FORMS[head].log:
        raise BadInput(
            f"the form {head!r} has no option {option!r}",
            cure=f"leave it out, or say {head}:{INDICES}",
        )
    return FORMS[head], option


def recognise(path: Path) -> Form:
    """The form of the file at `path`."""
    start = _start(path)
    if start.first[:2] == b"PK" and _is_workbook(path):
        raise BadInput(
            "is a workbook of a spreadsheet", file=path, cure="save its sheet as CSV (UTF-8)"
        )
    if start.first[:4] in _MAGIC:
        return _MAGIC[start.first[:4]]
    opening = start.first.lstrip()[:1]
    if start.suffix == ".csv":
        return tables.CSV
    is_json = opening in (b"{", b"[") and (
        start.suffix != ".txt" or _value(start.first) is not _BROKEN
    )
    if start.suffix in (*_LINES, ".json") or is_json:
        return _json_form(path, start)
    return _text_form(path, start)


def _is_workbook(path: Path) -> bool:
    """Whether a packed file is a spreadsheet: of Office, or an open document."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    except (zipfile.BadZipFile, OSError):
        return False
    return "xl/workbook.xml" in names or {"mimetype", "content.xml"} <= set(names)


def _start(path: Path) -> Start:
    if path.exists() and not path.is_file():
        raise BadInput("is not a plain file", file=path, cure="save the answers to a file first")
    with open_bytes(path) as stream:
        first = stream.readline(_LONGEST).removeprefix(BOM_UTF8)
        while first and not first.strip():
            first = stream.readline(_LONGEST)
        more = next(
            (True for line in iter(lambda: stream.readline(_LONGEST), b"") if line.strip()), False
        )
    if not first:
        raise BadInput("is empty", file=path, cure="write at least one answer")
    packed = _PACKED.get(first[:2])
    if packed:
        raise BadInput(
            f"is packed, but is not called {packed}",
            file=path,
            cure=f"rename it to {path.name}{packed}",
        )
    plain = path.name.removesuffix(".gz").removesuffix(".zst")
    return Start(first, more, Path(plain).suffix.lower())


def _json_form(path: Path, start: Start) -> Form:
    decode_line(start.first.rstrip(b"\r\n"), path, 1)
    value = _value(start.first)
    if start.suffix in _LINES or (start.more and isinstance(value, dict)):
        is_record = isinstance(value, dict) or value is _BROKEN
        return _record_form(value, keyed.LINES) if is_record else ordered.VALUES
    if value is _BROKEN or start.more:
        value = read_json(path, object)
    if isinstance(value, list):
        return _list_form(value)
    return _document_form(value, path)


def _value(line: bytes) -> Any:
    """The JSON value of a line; Python's writer puts NaN into the logs of other tools, so it is let pass here."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _BROKEN


def _record_form(row: Any, otherwise: Form) -> Form:
    if not isinstance(row, dict):
        return otherwise
    if lm_eval.is_sample(row):
        return lm_eval.FORM
    if flexeval.is_sample(row):
        return flexeval.FORM
    native = otherwise is keyed.LINES and "example" in row and row.keys() <= _NATIVE
    return keyed.PREDICTIONS if native else otherwise


def _list_form(values: list[Any]) -> Form:
    first = values[0] if values else None
    return (
        _record_form(first, keyed.ARRAY)
        if isinstance(first, dict) and _is_record(first)
        else ordered.LIST
    )


def _is_record(row: Mapping[str, Any]) -> bool:
    samples = lm_eval.is_sample(row) or flexeval.is_sample(row)
    return (
        samples
        or any(name in row for name in ID_NAMES)
        or any(name in row for name in ANSWER_NAMES)
    )


def _document_form(value: Any, path: Path) -> Form:
    if not isinstance(value, dict):
        cure = 'write lines of {"id": …, "answer": …}, or one mapping of id to answer'
        raise BadInput("is one JSON value, not answers", file=path, cure=cure)
    if inspect_log.is_log(value):
        return inspect_log.FORM
    answers = (*ANSWER_NAMES, LABEL_NAME, *SCORE_NAMES)
    one_line = any(name in value for name in ID_NAMES) and any(name in value for name in answers)
    if one_line or lm_eval.is_sample(value) or flexeval.is_sample(value):
        return _record_form(value, keyed.LINES)
    texts = all(
        isinstance(v, list) and v and isinstance(v[0], dict) and "text" in v[0]
        for v in value.values()
    )
    return keyed.NBEST if value and texts else keyed.MAPPING


def _text_form(path: Path, start: Start) -> Form:
    line = decode_line(start.first.rstrip(b"\r\n"), path, 1)
    cells = [cell.removesuffix(tables.JSON) for cell in line.split("\t")]
    if tuple(cells[:2]) == ordered.HEADER:
        return ordered.GLUE
    if start.suffix == ".tsv" or _is_header(cells):
        return tables.TSV
    quoted = [cell.strip('"') for cell in line.split(",")]
    return tables.CSV if _is_header(quoted) else ordered.TEXT


def _is_header(cells: list[str]) -> bool:
    answers = (*ANSWER_NAMES, LABEL_NAME, *SCORE_NAMES)
    return len(cells) > 1 and any(c in ID_NAMES for c in cells) and any(c in answers for c in cells)


def stem_words(path: Path) -> str:
    """The name of a file in lower case, its words between hyphens."""
    return f"-{re.sub(r'[^a-z0-9]+', '-', path.name.lower())}-"
