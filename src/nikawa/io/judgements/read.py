"""Open a file of judgements of any form; the form is detected from the content, or passed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.judgements.base import (
    QUESTION,
    BoundedSet,
    JudgementOptions,
    Notes,
    Numbered,
    OffsetUnit,
    Reading,
    parse_answer_cell,
    parse_questions,
)
from nikawa.io.judgements.crowd import DIALECTS, recognise_columns, write_results
from nikawa.io.judgements.doccano import read_doccano, write_doccano
from nikawa.io.judgements.documented import (
    MTURK_COLUMNS,
    PRODIGY_HASH,
    PROLIFIC_COLUMNS,
    read_argilla,
    read_mturk,
    read_prodigy,
    refuse_prolific,
)
from nikawa.io.judgements.formula_escape import guard_judgements, unguard_judgements
from nikawa.io.judgements.label_studio import (
    COLUMNS,
    read_label_studio,
    read_label_studio_csv,
    write_label_studio,
)
from nikawa.io.judgements.potato import STATE, read_potato
from nikawa.io.judgements.remarks import is_remark
from nikawa.io.judgements.sheets import (
    BOM,
    MAP_CURE,
    Columns,
    Layout,
    detect_layout,
    map_columns,
    parse_map,
    read_columns,
    read_heading,
)
from nikawa.io.lines import opening
from nikawa.io.pipes import is_piped
from nikawa.io.records import format_of, suffix_of, write_records
from nikawa.records import Example, Judgement

if TYPE_CHECKING:
    from nikawa.io.judgements.plain import PlainJudgements

FORMS = ("records", "sheet", "label-studio", "doccano", "potato", "prodigy", "argilla", "mturk")
"""What can be read; records, Label Studio's and doccano's files and the crowd platforms' sheets can be written."""
FORMS_WITHOUT_ROOM = ("doccano", *DIALECTS)
"""Forms that have only answers: comments, reports and decisions are written to another file (see `remarks`)."""
OWN_COLUMNS = {b"example", b"worker", b"question", b"answer"}
"""Columns that every table of judgements of our own has."""
PEEK_BYTES = 1 << 16


def parse_options(
    form: str | None = None,
    columns: str | None = None,
    questions: str | None = None,
    *,
    encoding: str | None = None,
    empty: str = "none",
    offsets: str | None = None,
) -> tuple[JudgementOptions, str | None]:
    """How a file is read, from the words of a command line; and the question that is asked, where one is named.

    `columns` is a map as `parse_map` takes it, `questions` as `parse_questions`.
    """
    if empty not in ("none", "skip"):
        raise unknown("meaning of empty spans", empty, ("none", "skip"))
    units: dict[str | None, OffsetUnit | None] = {
        None: None,
        "characters": "characters",
        "utf16": "utf16",
    }
    if offsets not in units:
        raise unknown("unit of offsets", str(offsets), ("characters", "utf16"))
    name, mapping = parse_questions(questions or "")
    question = name or next(iter(mapping), None)
    options = JudgementOptions(
        form=form,
        mapping=parse_map(columns) if columns else None,
        question=name or QUESTION,
        encoding=encoding,
        questions=mapping,
        only=None if mapping else name,
        empty="skip" if empty == "skip" else "none",
        offsets=units[offsets],
    )
    return options, question


def open_judgements(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open a file of judgements: our records, a sheet, or what another tool exports (see `FORMS`).

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
        reading.plain = partial(read_plain_records, path)
    else:
        reading = open_foreign(path, form, options)
    return reading.rename(options.questions) if options.questions else reading


def open_foreign(path: Path, form: str, options: JudgementOptions) -> Reading:
    """Open a file that another tool wrote, of a form that is known."""
    reading = open_tool(path, form, options)
    rows = reading.rows

    def refuse_deciders() -> Numbered:
        """Reject workers with such a name in files of other tools: only Nikawa's own files have decisions."""
        for place, judgement in rows:
            if judgement.kind == "person" and is_remark(judgement):
                what = f"the worker {judgement.worker!r} has a name that is reserved for decisions"
                raise reading.fault(place, what, "rename the worker")
            yield place, judgement

    if form in FORMS[2:]:
        reading.rows = refuse_deciders()
    return reading


def open_tool(path: Path, form: str, options: JudgementOptions) -> Reading:
    """Open a file by the reader of its form."""
    is_table = not path.is_dir() and opening(path, 1) not in (b"[", b"{", b"")
    readers = {
        "label-studio": read_label_studio,
        "doccano": read_doccano,
        "potato": read_potato,
        "prodigy": read_prodigy,
        "argilla": read_argilla,
    }
    if form in readers and not (form == "label-studio" and is_table):
        return readers[form](path, options)
    if form not in (*FORMS, *DIALECTS):
        raise unknown("form", form, (*FORMS, *DIALECTS))
    layout = detect_layout(path, options.encoding)
    if form == "label-studio":
        return read_label_studio_csv(path, layout, options)
    if form == "mturk":
        return read_mturk(path, layout, options)
    return open_sheet(path, options, layout)


def recognise_form(path: Path) -> str:
    """The form of a file by its suffix and its beginning; one that cannot hold judgements is refused."""
    if path.is_dir():
        has_state = any(
            True for pattern in ("", "*/", "*/*/") for _ in path.glob(f"{pattern}{STATE}")
        )
        if not has_state and (path / "card.json").is_file():
            what = "the folder is a dataset, which is not a file of judgements"
            file = path / "judgements.jsonl"
            cure = f"pass {file}" if file.is_file() else "pass the file of its judgements"
            raise BadInput(what, file=path, cure=cure)
        return "potato" if has_state else "doccano"
    if path.suffix == ".parquet":
        return "records"
    start = opening(path, PEEK_BYTES)
    line = start.split(b"\n")[0]
    refuse_useless(path, start)
    if is_piped(path):  # it has no name to tell by
        is_sheet = start[:1] not in (b"{", b"[")
    elif ".tsv" in path.name:
        cells = line.removesuffix(b"\r").split(b"\t")
        is_sheet = not {cell.removesuffix(b":json") for cell in cells} >= OWN_COLUMNS
    else:
        is_sheet = path.name.endswith((".csv", ".txt"))
    return recognise_sheet(path, line) if is_sheet else recognise_json(path, start, line)


def refuse_useless(path: Path, start: bytes) -> None:
    """Refuse what tools export without the items or the workers."""
    if start.startswith(b"-DOCSTART-"):
        what = "is CoNLL, which has no items and no workers and splits texts into words"
        raise BadInput(what, file=path, line=1, cure="export JSON from Label Studio")
    if start.startswith(b"__label__"):
        what = "is in the format of fastText, which has no items"
        raise BadInput(what, file=path, line=1, cure="export JSONL from doccano")
    if start.startswith(b"PK\x03\x04") and path.suffix == ".zip":
        raise BadInput("is an archive", file=path, cure="unpack it, and pass the folder")


def recognise_sheet(path: Path, line: bytes) -> str:
    """The form of a sheet by the names in its heading."""
    text = line.removeprefix(BOM).decode("utf-8", "replace").strip()
    try:
        header = {name.strip() for name in next(csv.reader([text]), [])}
    except csv.Error:
        return "sheet"  # its reader says what is wrong, and where
    if header >= COLUMNS:
        return "label-studio"
    if header >= MTURK_COLUMNS:
        return "mturk"
    if header >= PROLIFIC_COLUMNS and not header & {"answer", "label", "response"}:
        raise refuse_prolific(path)
    if header >= {"instance_id", "user_id"} and any("." in name for name in header):
        what = "is potato's CSV, in which each label has its own column"
        raise BadInput(what, file=path, line=1, cure="pass annotations.jsonl or user_state.json")
    return "doccano" if header >= {"id", "label", "Comments"} else "sheet"


def recognise_json(path: Path, start: bytes, line: bytes) -> str:
    """The form of a JSON document or of JSON lines by the names it begins with."""

    def has(*names: str) -> bool:
        return all(f'"{name}"'.encode() in start for name in names)

    if path.name == STATE or has("instance_id_ordering"):
        return "potato"
    if start[:1] == b"[":
        if has("annotations") or has("annotation_id", "annotator"):
            return "label-studio"
        if has("responses", "fields") or b'.responses"' in start:
            return "argilla"
        return "doccano" if has("label", "Comments") else "records"
    if has("instance_id", "user_id") or has("annotator", "item", "schema"):
        return "potato"
    if has(PRODIGY_HASH):
        return "prodigy"
    keys = (b'"label', b'"entities"', b'"bbox"', b'"segmentation"')
    is_foreign = any(key in line for key in keys)
    return "doccano" if is_foreign and b'"answer":' not in line.replace(b" ", b"") else "records"


def clean_answers(
    rows: Iterable[tuple[int, Judgement]], notes: Notes
) -> Iterator[tuple[int, Judgement]]:
    """Answers as in a sheet: stray blanks, full-width digits and blank cells are noted, never
    counted as votes.
    """
    clean = BoundedSet()
    for place, judgement in rows:
        answer = judgement.answer
        if isinstance(answer, str) and answer not in clean:
            cell = parse_answer_cell(answer, place, notes)
            if cell == answer:
                clean.add(answer)
            else:
                judgement = msgspec.structs.replace(judgement, answer=cell)  # noqa: PLW2901
        yield place, judgement


def open_sheet(path: Path, options: JudgementOptions, layout: Layout) -> Reading:
    """Open a sheet of a layout, and map its columns by the options or by the words of its heading."""
    mark = " with a byte order mark" if layout.bom else ""
    reading = Reading(path, f"sheet in {layout.encoding}{mark}", iter(()))
    header = read_heading(path, layout, reading.notes)
    mapping = dict(options.mapping) if options.mapping else recognise_columns(header)
    if mapping is None:
        what = f"the columns are not recognised ({', '.join(header)})"
        raise BadInput(what, file=path, line=1, cure=MAP_CURE)
    columns = map_columns(mapping, header, options.question, path)
    reading.workers_are = "columns" if columns.wide else "persons"
    reading.rows = unguard_judgements(read_columns(path, layout, columns, reading.notes))
    reading.plain = partial(read_plain_columns, path, layout, columns)
    return reading


def read_plain_records(path: Path) -> PlainJudgements | None:
    """Our own records as coded columns, where they are plain: see `Reading.plain`."""
    from nikawa.io.judgements import plain  # it loads numpy, which most readers do without

    suffix = suffix_of(path) or ".jsonl"
    if suffix == ".parquet":
        return plain.code_parquet(path)
    return plain.code_lines(path) if suffix.startswith(".jsonl") else None


def read_plain_columns(path: Path, layout: Layout, columns: Columns) -> PlainJudgements | None:
    """A sheet as coded columns, where it is plain: see `Reading.plain`."""
    from nikawa.io.judgements.plain import code_sheet

    return code_sheet(path, layout, columns)


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
    texts: Iterable[str] = (),
    overwrite: bool = False,
) -> int:
    """Write judgements as records (by suffix), a platform's result sheet, Label Studio's or
    doccano's files.

    `texts` names the questions whose answers people write, for Label Studio's text areas.
    """
    if ".tsv" in path.name or form in DIALECTS:
        judgements = guard_judgements(judgements)
    if form in (None, "records"):
        return write_records(path, judgements, overwrite=overwrite)
    if form == "label-studio":
        return write_label_studio(path, judgements, examples, texts=texts, overwrite=overwrite)
    if form == "doccano":
        return write_doccano(path, judgements, examples, overwrite=overwrite)
    if form not in DIALECTS:
        raise unknown("form", str(form), ("records", "label-studio", "doccano", *DIALECTS))
    return write_results(path, judgements, form, overwrite=overwrite)


def rows_only(reading: Reading) -> Iterator[Judgement]:
    """The judgements without their places."""
    return (judgement for _, judgement in reading.rows)
