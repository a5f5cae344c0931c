"""Open a file of judgements of any form; the form is told from the content, or named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.judgements import columns, crowd, doccano, label_studio, sheets
from nikawa.io.judgements.base import Notes, Reading, answer_of
from nikawa.io.judgements.guard import unguarded
from nikawa.io.lines import opening
from nikawa.io.pipes import is_piped
from nikawa.io.records import format_of, write_records
from nikawa.records import Example, Judgement

FORMS = ("records", "sheet", "label-studio", "doccano")
"""What can be read; of these and the crowd platforms' sheets all can be written."""
PEEK = 1 << 16


@dataclass(frozen=True)
class How:
    """What the caller knows of a file."""

    form: str | None = None
    mapping: Mapping[str, str] | None = None
    """Field of a judgement to column of a sheet; see `columns.parse_map`."""
    question: str = columns.QUESTION
    """The question of files that name none."""
    encoding: str | None = None


def open_judgements(path: Path, how: How | None = None) -> Reading:
    """Open a file of judgements: our records, a sheet, Label Studio's JSON, doccano's lines."""
    how = how or How()
    form = how.form or ("sheet" if how.mapping else form_of(path))
    if form == "records":
        return _records(path)
    if form == "label-studio":
        return label_studio.read(path)
    if form == "doccano":
        return doccano.read(path, how.question)
    if form != "sheet" and form not in crowd.DIALECTS:
        raise unknown("form", form, (*FORMS, *crowd.DIALECTS))
    return _sheet(path, how)


def form_of(path: Path) -> str:
    """The form of a file by its suffix and its beginning."""
    if path.is_dir():
        return "doccano"
    if path.suffix == ".parquet":
        return "records"
    start = opening(path, PEEK)
    if _is_sheet(path, start):
        return "sheet"
    line = start.split(b"\n")[0]
    if b'"annotations"' in start and start[:1] == b"[":
        return "label-studio"
    if b'"label' in line and b'"answer":' not in line.replace(b" ", b""):
        return "doccano"
    return "records"


def _is_sheet(path: Path, start: bytes) -> bool:
    """Whether it is a table of a platform's own, by its name; of a pipe, which has none, by how it begins."""
    if is_piped(path):
        return start[:1] not in (b"{", b"[")
    return path.name.endswith((".csv", ".txt")) or (
        ".tsv" in path.name and not _is_own_table(start)
    )


def _is_own_table(start: bytes) -> bool:
    head = {
        name.removesuffix(b":json")
        for name in start.split(b"\n")[0].removesuffix(b"\r").split(b"\t")
    }
    return {b"example", b"worker", b"question", b"answer"} <= head


def _records(path: Path) -> Reading:
    chosen = format_of(path)
    reading = Reading(path, "records", iter(()), place=chosen.place)
    rows = chosen.read(path, Judgement)
    reading.rows = _cleaned(unguarded(rows) if ".tsv" in path.name else rows, reading.notes)
    return reading


def _cleaned(
    rows: Iterable[tuple[int, Judgement]], notes: Notes
) -> Iterator[tuple[int, Judgement]]:
    """Answers as in a sheet: stray blanks, full-width digits and blank cells are noted, never counted as votes."""
    for place, judgement in rows:
        if isinstance(judgement.answer, str):
            answer = answer_of(judgement.answer, place, notes)
            if answer != judgement.answer:
                judgement = msgspec.structs.replace(judgement, answer=answer)  # noqa: PLW2901
        yield place, judgement


def _sheet(path: Path, how: How) -> Reading:
    layout = sheets.layout_of(path, how.encoding)
    reading = Reading(
        path,
        f"sheet in {layout.encoding}{' with a byte order mark' if layout.bom else ''}",
        iter(()),
    )
    _, header = next(sheets.read_sheet(path, layout, reading.notes))
    if not any(name.strip() for name in header):
        raise BadInput(
            "is blank, where names of columns are looked for",
            file=path,
            line=1,
            cure="begin with the header",
        )
    mapping = dict(how.mapping) if how.mapping else crowd.recognise(header)
    if mapping is None:
        names = ", ".join(header)
        raise BadInput(f"which column is what? ({names})", file=path, line=1, cure=columns.CURE)
    found = columns.columns_of(mapping, header, how.question, path)
    reading.workers_are = "columns" if found.wide else "persons"
    reading.rows = unguarded(columns.read_columns(path, layout, found, reading.notes))
    return reading


def lines_of(path: Path, how: How | None, wanted: tuple[str, str, str]) -> list[int]:
    """The places of a worker's answers to a question about an item: (example, worker, question)."""
    return [
        place
        for place, judgement in open_judgements(path, how).rows
        if (judgement.example, judgement.worker, judgement.question) == wanted
    ]


def write_judgements(
    path: Path,
    judgements: Iterable[Judgement],
    form: str | None = None,
    *,
    examples: Mapping[str, Example] | None = None,
    overwrite: bool = False,
) -> int:
    """Write judgements as records (by suffix), a platform's result sheet, Label Studio's or doccano's files."""
    if form in (None, "records"):
        return write_records(path, judgements, overwrite=overwrite)
    if form == "label-studio":
        return label_studio.write(path, judgements, examples, overwrite=overwrite)
    if form == "doccano":
        return doccano.write(path, judgements, examples, overwrite=overwrite)
    if form not in crowd.DIALECTS:
        raise unknown("form", str(form), ("records", "label-studio", "doccano", *crowd.DIALECTS))
    return crowd.write_results(path, judgements, form, overwrite=overwrite)


def rows_only(reading: Reading) -> Iterator[Judgement]:
    """The judgements without their places."""
    return (judgement for _, judgement in reading.rows)
