"""Open a file of judgements of any form; the form is told from the content, or named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.judgements.base import Notes, Reading, parse_answer_cell
from nikawa.io.judgements.crowd import DIALECTS, recognise_columns, write_results
from nikawa.io.judgements.doccano import read_doccano, write_doccano
from nikawa.io.judgements.formula_escape import unguard_judgements
from nikawa.io.judgements.label_studio import read_label_studio, write_label_studio
from nikawa.io.judgements.sheets import (
    MAP_CURE,
    QUESTION,
    detect_layout,
    map_columns,
    read_columns,
    read_sheet,
)
from nikawa.io.lines import opening
from nikawa.io.pipes import is_piped
from nikawa.io.records import format_of, write_records
from nikawa.records import Example, Judgement

FORMS = ("records", "sheet", "label-studio", "doccano")
"""What can be read; of these and the crowd platforms' sheets all can be written."""
OWN_COLUMNS = {b"example", b"worker", b"question", b"answer"}
"""Columns that every table of judgements of our own has."""
PEEK_BYTES = 1 << 16


@dataclass(frozen=True)
class JudgementOptions:
    """What the caller knows of a file."""

    form: str | None = None
    """One of `FORMS` or a platform's name; None recognises it by content."""
    mapping: Mapping[str, str] | None = None
    """Field of a judgement to column of a sheet; see `sheets.parse_map`."""
    question: str = QUESTION
    """The question of files that name none."""
    encoding: str | None = None
    """Of a sheet; None detects it."""


def open_judgements(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open a file of judgements: our records, a sheet, Label Studio's JSON, doccano's lines.

    Rows are workers' answers, read as they are taken; the notes of the reading are complete when
    the last one was, and so are the owner's decisions and the workers' reports and comments (see
    `remarks`). Raises BadInput for a form that is unknown, and while reading for a row that cannot
    be used, with its place.
    """
    return open_rows(path, options or JudgementOptions()).set_remarks_aside()


def open_rows(path: Path, options: JudgementOptions) -> Reading:
    """Open a file by its form; its rows hold decisions and reports too."""
    form = options.form or ("sheet" if options.mapping else recognise_form(path))
    if form == "records":
        file_format = format_of(path)
        reading = Reading(path, "records", iter(()), place=file_format.place)
        rows = file_format.read(path, Judgement)
        if ".tsv" in path.name:
            rows = unguard_judgements(rows)
        reading.rows = clean_answers(rows, reading.notes)
        return reading
    if form == "label-studio":
        return read_label_studio(path)
    if form == "doccano":
        return read_doccano(path, options.question)
    if form != "sheet" and form not in DIALECTS:
        raise unknown("form", form, (*FORMS, *DIALECTS))
    return open_sheet(path, options)


def recognise_form(path: Path) -> str:
    """The form of a file by its suffix and its beginning."""
    if path.is_dir():
        return "doccano"
    if path.suffix == ".parquet":
        return "records"
    start = opening(path, PEEK_BYTES)
    line = start.split(b"\n")[0]
    if is_piped(path):  # it has no name to tell by
        is_sheet = start[:1] not in (b"{", b"[")
    elif ".tsv" in path.name:
        cells = line.removesuffix(b"\r").split(b"\t")
        is_sheet = not {cell.removesuffix(b":json") for cell in cells} >= OWN_COLUMNS
    else:
        is_sheet = path.name.endswith((".csv", ".txt"))
    if is_sheet:
        return "sheet"
    if b'"annotations"' in start and start[:1] == b"[":
        return "label-studio"
    if b'"label' in line and b'"answer":' not in line.replace(b" ", b""):
        return "doccano"
    return "records"


def clean_answers(
    rows: Iterable[tuple[int, Judgement]], notes: Notes
) -> Iterator[tuple[int, Judgement]]:
    """Answers as in a sheet: stray blanks, full-width digits and blank cells are noted, never
    counted as votes.
    """
    for place, judgement in rows:
        if isinstance(judgement.answer, str):
            answer = parse_answer_cell(judgement.answer, place, notes)
            if answer != judgement.answer:
                judgement = msgspec.structs.replace(judgement, answer=answer)  # noqa: PLW2901
        yield place, judgement


def open_sheet(path: Path, options: JudgementOptions) -> Reading:
    """Open a sheet: detect its layout, and map its columns by the options or by the words of its
    heading.
    """
    layout = detect_layout(path, options.encoding)
    mark = " with a byte order mark" if layout.bom else ""
    reading = Reading(path, f"sheet in {layout.encoding}{mark}", iter(()))
    _, header = next(read_sheet(path, layout, reading.notes))
    if not any(name.strip() for name in header):
        what = "is blank, where names of columns are looked for"
        raise BadInput(what, file=path, line=1, cure="begin with the header")
    mapping = dict(options.mapping) if options.mapping else recognise_columns(header)
    if mapping is None:
        what = f"which column is what? ({', '.join(header)})"
        raise BadInput(what, file=path, line=1, cure=MAP_CURE)
    columns = map_columns(mapping, header, options.question, path)
    reading.workers_are = "columns" if columns.wide else "persons"
    reading.rows = unguard_judgements(read_columns(path, layout, columns, reading.notes))
    return reading


def find_lines(
    path: Path, options: JudgementOptions | None, key: tuple[str, str, str]
) -> list[tuple[Path, int]]:
    """The files and places of a worker's answers to a question about an item.

    The key is (example, worker, question).
    """
    places = []
    reading = open_judgements(path, options)
    for place, judgement in reading.rows:
        if (judgement.example, judgement.worker, judgement.question) == key:
            places.append((reading.file or path, place))
    return places


def write_judgements(
    path: Path,
    judgements: Iterable[Judgement],
    form: str | None = None,
    *,
    examples: Mapping[str, Example] | None = None,
    overwrite: bool = False,
) -> int:
    """Write judgements as records (by suffix), a platform's result sheet, Label Studio's or
    doccano's files.
    """
    if form in (None, "records"):
        return write_records(path, judgements, overwrite=overwrite)
    if form == "label-studio":
        return write_label_studio(path, judgements, examples, overwrite=overwrite)
    if form == "doccano":
        return write_doccano(path, judgements, examples, overwrite=overwrite)
    if form not in DIALECTS:
        raise unknown("form", str(form), ("records", "label-studio", "doccano", *DIALECTS))
    return write_results(path, judgements, form, overwrite=overwrite)


def rows_only(reading: Reading) -> Iterator[Judgement]:
    """The judgements without their places."""
    return (judgement for _, judgement in reading.rows)
