"""Sheets as crowd platforms and spreadsheets write them: CSV or TSV, in UTF-8, Shift_JIS, CP949 or
EUC-JP.

A byte order mark and CR LF are taken, unlike in our own files: Excel writes both. Tabs part cells
without quoting, commas with it. The encoding is detected over the whole file and said; a file of
two encodings is refused by line.

A map of the columns determines how a sheet is read: long (one row per answer) or wide (one row per
item, one column per worker).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, get_args

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.judgements.base import (
    BLANK_ROW,
    BoundedSet,
    Notes,
    Numbered,
    clean_cell,
    parse_answer_cell,
    parse_json_cell,
    parse_seconds,
)
from nikawa.io.limits import read_limits
from nikawa.io.lines import (
    RowLines,
    count_line_feeds,
    guess_encoding,
    numbered_lines,
    open_bytes,
    refuse_long_line,
)
from nikawa.io.tsv import check_header
from nikawa.records import Judgement, JudgementKind, Prelabel

BOM = b"\xef\xbb\xbf"
STRETCH_BYTES = 1 << 16
"""Bytes that are looked at together before any line is looked at alone."""
SAMPLE_BYTES = 1 << 16
"""Bytes of non-ASCII lines that the encoding is detected from."""
FIELDS = ("example", "worker", "answer", "question", "seconds", "at")
REMARK_FIELDS = ("comment", "kind", "prelabel")
"""Further fields that a sheet of our own has, and that another may have."""
MAP_CURE = "pass --map example=COLUMN,worker=COLUMN,answer=COLUMN (answer=PATTERN* if each worker has a column)"
KIND_CELLS: dict[str, JudgementKind] = {kind: kind for kind in get_args(JudgementKind)}
"""What the column of kinds may hold; any other word is of another tool, and means something else."""
_CJK = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True)
class Layout:
    """How a sheet is written."""

    encoding: str
    """As iconv calls it."""
    separator: str
    """Tab, comma or semicolon."""
    bom: bool = False
    """Whether it begins with a byte order mark."""


def detect_layout(path: Path, encoding: str | None = None) -> Layout:
    """Detect encoding (unless it is given) and separator; one pass over the file."""
    if encoding is not None:
        try:
            "".encode(encoding)
        except LookupError:
            cure = "write utf-8, cp932 (Shift_JIS), cp949 or euc-jp"
            raise BadInput(f"there is no encoding {encoding!r}", cure=cure) from None
    first, foreign = b"", b""
    utf8_line = foreign_line = 0
    done = 0
    with open_bytes(path) as stream:
        while block := _read_stretch(stream):
            is_known = bool(done) and b"\0" not in block and len(block) < read_limits().line
            is_utf8 = block.isascii() or (utf8_line and not foreign and _is_utf8(block))
            if is_known and (is_utf8 or encoding is not None):
                done += count_line_feeds(block)
                continue
            for number, raw in enumerate(BytesIO(block), start=done + 1):
                done = number
                first = first or raw
                refuse_bytes(raw, path, number)
                if raw.isascii() or encoding is not None:
                    continue
                if not _is_utf8(raw):
                    if utf8_line:
                        raise _refuse_mixed(path, number, utf8_line)
                    if len(foreign) < SAMPLE_BYTES:
                        foreign += raw
                    foreign_line = foreign_line or number
                elif foreign and len(_CJK.findall(raw.decode())) > 1:
                    raise _refuse_mixed(path, number, foreign_line)
                elif not foreign:
                    utf8_line = utf8_line or number
    if not first.removeprefix(BOM):
        raise BadInput("is empty", file=path, cure="write a header line and rows")
    if encoding is None and foreign:
        encoding = guess_encoding(foreign)
        if encoding is None:
            what = "is neither UTF-8 nor Shift_JIS, EUC-JP or CP949"
            raise BadInput(what, file=path, cure="save it as UTF-8, or pass --encoding")
    # the mark that parts the cells of the heading, the one of the suffix where several would do
    counts = {mark: first.count(mark.encode()) for mark in "\t,;"}
    separator = "\t" if ".tsv" in path.name else ","
    if not counts[separator]:
        separator = max(counts, key=lambda mark: counts[mark])
    return Layout(encoding or "utf-8", separator, first.startswith(BOM))


def _read_stretch(stream: BinaryIO) -> bytes:
    """The next whole lines; a line that is too long comes cut."""
    block: bytes = stream.read1(STRETCH_BYTES)  # type: ignore[attr-defined]  # it is buffered
    if not block or block.endswith(b"\n"):
        return block
    return block + stream.readline(read_limits().line)


def refuse_bytes(raw: bytes, path: Path, number: int) -> None:
    """Refuse a line that no sheet has: of UTF-16, of a workbook or of Parquet, with NUL characters, endless."""
    if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("is UTF-16", file=path, line=1, cure="save it as CSV UTF-8")
    if number == 1 and raw[:4] == b"PK\x03\x04":
        raise BadInput("is a workbook, not a sheet", file=path, cure="save the sheet as CSV UTF-8")
    if number == 1 and raw[:4] == b"PAR1":
        cure = "save it as CSV UTF-8, or name its columns example, worker, question and answer"
        raise BadInput("is a Parquet file, not a sheet", file=path, cure=cure)
    if b"\0" in raw:
        raise BadInput("holds a NUL character", file=path, line=number, cure="remove it")
    refuse_long_line(len(raw), path, number)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_mixed(path: Path, number: int, other: int) -> BadInput:
    what = f"has a different encoding than line {other}"
    cure = "save the whole sheet as UTF-8 before joining parts"
    return BadInput(what, file=path, line=number, cure=cure)


def csv_options(separator: str) -> dict[str, Any]:
    """Return the settings of the csv module: between tabs, a quote mark is text."""
    if separator == "\t":
        return {"delimiter": separator, "quoting": csv.QUOTE_NONE, "quotechar": None}
    return {"delimiter": separator, "quoting": csv.QUOTE_MINIMAL}


def read_sheet(
    path: Path, layout: Layout, notes: Notes
) -> Generator[tuple[int, list[str]], None, None]:
    """(Line on which the row starts, cells), the heading first.

    Every row is as wide as the heading. A caller that stops early must close it: see `read_heading`.
    """
    with closing(decode_lines(path, layout)) as decoded:
        lines = RowLines(decoded, path, layout.separator)
        reader = csv.reader(lines, **csv_options(layout.separator), strict=True)
        start, width = 1, 0
        try:
            for cells in reader:
                lines.size = 0
                if not width:
                    header = [cell.strip() for cell in cells]
                    _check_heading(header, path)
                    width = len(header)
                    yield start, header
                elif not "".join(cells).strip():
                    notes.add(BLANK_ROW, start)
                elif len(cells) != width:
                    what = f"has {len(cells)} cells, but the heading has {width}"
                    cure = "look for a stray separator, a merged cell or an open quote"
                    raise BadInput(what, file=path, line=start, cure=cure)
                else:
                    yield start, cells
                start = reader.line_num + 1
        except csv.Error as problem:
            what = f"cannot be split into cells ({problem})"
            cure = "look for a quote mark that is not closed or not doubled"
            raise BadInput(what, file=path, line=start, cure=cure) from None


def read_heading(path: Path, layout: Layout, notes: Notes) -> list[str]:
    """The names of a sheet's columns."""
    with closing(read_sheet(path, layout, notes)) as rows:
        _, header = next(rows)
    return header


def _check_heading(header: Sequence[str], path: Path) -> None:
    if not header:
        what = "is blank, but must have the names of the columns"
        raise BadInput(what, file=path, line=1, cure="write the header in the first line")
    for place, name in enumerate(header, start=1):
        if not name:
            what = f"column {place} has no name, perhaps because of a merged heading"
            cure = "name every column (pandas: to_csv(index=False))"
            raise BadInput(what, file=path, line=1, cure=cure)
    check_header(header, (), path)


def decode_lines(path: Path, layout: Layout) -> Generator[str, None, None]:
    """The lines of a sheet as text, ends as LF; a line of another encoding is refused by number."""
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            line = raw.removeprefix(BOM) if number == 1 else raw
            try:
                yield line.decode(layout.encoding).replace("\r\n", "\n")
            except UnicodeDecodeError as problem:
                place = f"byte {problem.start + 1}"
                what = f"{place} is not {layout.encoding}, unlike the rest of the file"
                cure = "save the whole sheet as UTF-8, or pass --encoding"
                raise BadInput(what, file=path, line=number, cure=cure) from None


@dataclass(frozen=True)
class Columns:
    """Which column of a sheet holds what."""

    example: str
    answers: tuple[tuple[str, str], ...]
    """(Question, column) of each answer; the question is empty where a column names it."""
    worker: str = ""
    """Empty where each answer's column is a worker."""
    question: str = ""
    seconds: str = ""
    at: str = ""
    comment: str = ""
    kind: str = ""
    prelabel: str = ""

    @property
    def wide(self) -> bool:
        """Whether workers are columns."""
        return not self.worker


def parse_map(text: str) -> dict[str, str]:
    """`example=task_id,worker=user,answer=label` as a mapping.

    `answer.score=COLUMN` names the question too.

    >>> parse_map("example=task_id,answer=worker*")
    {'example': 'task_id', 'answer': 'worker*'}

    Raises BadInput where a field is unknown, mapped twice, or where example or answer is missing.
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = (word.strip() for word in part.partition("="))
        if not equals or not column:
            raise BadInput(f"{part!r} does not map a column", cure=MAP_CURE)
        if name not in (*FIELDS, *REMARK_FIELDS) and not name.startswith("answer."):
            raise unknown("field", name, FIELDS)
        if name in mapping:
            raise BadInput(f"{name} is mapped twice", cure=MAP_CURE)
        mapping[name] = column
    if "example" not in mapping or not any(name.split(".")[0] == "answer" for name in mapping):
        raise BadInput(f"the map {text!r} lacks example or answer", cure=MAP_CURE)
    return mapping


def map_columns(
    mapping: dict[str, str], header: Sequence[str], question: str, path: Path
) -> Columns:
    """The columns of a heading that a map speaks of.

    A pattern may stand for several workers' columns.
    """
    answers = []
    for name, column in mapping.items():
        if name.split(".")[0] == "answer":
            own_question = name.partition(".")[2] or ("" if "question" in mapping else question)
            answers += [(own_question, each) for each in _match_heading(column, header, path)]
    single = {}
    for name in ("example", "worker", "question", "seconds", "at", *REMARK_FIELDS):
        if name in mapping:
            single[name] = _match_heading(mapping[name], header, path)[0]
    columns = Columns(answers=tuple(answers), **single)
    if columns.wide and len(answers) < 2:
        raise BadInput("the map has no column for workers", file=path, line=1, cure=MAP_CURE)
    return columns


def _match_heading(pattern: str, header: Sequence[str], path: Path) -> list[str]:
    if pattern in header:
        return [pattern]
    names = [name for name in header if "*" in pattern and fnmatchcase(name, pattern)]
    if not names:
        what = f"column {pattern!r} is missing"
        raise BadInput(what, file=path, line=1, cure=suggest(pattern, header))
    return names


def read_columns(path: Path, layout: Layout, columns: Columns, notes: Notes) -> Numbered:
    """The judgements of a sheet; oddities are noted, blank answers leave none."""

    def need(cell: str, what: str, line: int) -> str:
        text = clean_cell(cell, line, notes)
        if not text:
            cure = "fill in the cell, or remove the row"
            raise BadInput(f"names no {what}", file=path, line=line, cure=cure)
        return text

    plain = BoundedSet()
    with closing(read_sheet(path, layout, notes)) as rows:
        _, header = next(rows)
        place = {name: at for at, name in enumerate(header)}
        example_at = place[columns.example]
        worker_at = place[columns.worker] if columns.worker else None
        question_at = place[columns.question] if columns.question else None
        answers = [(question, column, place[column]) for question, column in columns.answers]
        extras = (columns.seconds, columns.at, columns.comment, columns.kind, columns.prelabel)
        has_extras = any(extras)
        more: dict[str, Any] = {}
        for line, cells in rows:
            example = need(cells[example_at], "item", line)
            row_question = "" if question_at is None else need(cells[question_at], "question", line)
            if has_extras:
                more = _read_extras(columns, cells, place, line, path)
            worker = "" if worker_at is None else need(cells[worker_at], "worker", line)
            for question, column, at in answers:
                answer: Any = cells[at]
                if answer not in plain:
                    answer = read_answer(cells[at], line, notes)
                    if answer is None:
                        continue
                    if answer == cells[at]:
                        plain.add(answer)
                judgement = Judgement(
                    example=example,
                    worker=worker or column,
                    question=question or row_question,
                    answer=answer,
                    **more,
                )
                yield line, judgement


def _read_extras(
    columns: Columns, cells: list[str], place: dict[str, int], line: int, path: Path
) -> dict[str, Any]:
    """What a row says of a judgement apart from the answer."""

    def cell(column: str) -> str:
        return cells[place[column]]

    seconds = parse_seconds(cell(columns.seconds), line, path) if columns.seconds else None
    return {
        "seconds": seconds,
        "at": cell(columns.at).strip() or None if columns.at else None,
        "comment": cell(columns.comment).strip() if columns.comment else "",
        "kind": KIND_CELLS.get(cell(columns.kind).strip(), "person") if columns.kind else "person",
        "prelabel": parse_prelabel(cell(columns.prelabel)) if columns.prelabel else None,
    }


def read_answer(cell: str, line: int, notes: Notes) -> Any:
    """The answer in a cell; None where it is blank, which is noted."""
    answer: Any = parse_json_cell(cell)
    if answer is None:
        answer = parse_answer_cell(cell, line, notes)
    if isinstance(answer, str) and answer.startswith("'"):
        is_guarded = parse_json_cell(answer.lstrip("'")) is not None
        answer = answer[1:] if is_guarded else answer
    return answer


def parse_prelabel(cell: str) -> Prelabel | None:
    """The machine's answer that a cell of our own sheets holds as JSON; None where it is blank, or of another tool."""
    if not cell.startswith("{"):
        return None
    try:
        return msgspec.json.decode(cell, type=Prelabel)
    except msgspec.DecodeError:
        return None
