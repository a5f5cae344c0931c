"""doccano: the files of every kind of project for texts in, JSON lines for its import out.

An export is a folder with one file per worker, named after the worker, in JSON lines, JSON or CSV. The rules:

- The item is the row's `example` where it has one (as our own export does), else its `id`; the worker is the row's
  `worker` where it has one, else the name of the file. Time and seconds come from our own export alone.
- `label` holds the one label of a classification, the text of a sequence-to-sequence project, or spans; `cats` and
  `entities` the label and the spans of an intent project; `entities` and `relations` spans and the relations of them.
  Labels and texts answer the question of the caller (`label`), spans answer `spans`, relations `relations`.
- Several labels or texts of one row are refused: doccano sorts them, so that their order is lost.
- Its page counts UTF-16 units, of which an emoji is two (in grapheme mode it counts what a reader sees as a character), and
  nothing in a file tells which. Where a text has characters for which that makes a difference, the caller says it, or the
  row is refused; grapheme mode is not read then. Our own export is in UTF-16 units, so that the page shows spans in place.
- doccano writes a row for every document, also for one that the worker never opened, unless "Export only approved
  documents" was ticked. A file without a single label is a member who did not work, and is skipped. Else a row without a
  label is blank, and one without spans marks nothing; with `empty="skip"` it counts as not done. All of it is counted.
- Boxes and outlines of pictures are refused, and fastText lines, which name no items. Comments are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.io.file_names import check_file_names, to_file_name
from nikawa.io.json import encode_json, read_json, read_json_lines
from nikawa.io.judgements.base import (
    BLANK,
    NO_SPANS,
    QUESTION,
    JudgementOptions,
    Notes,
    OffsetUnit,
    Reading,
    parse_answer_cell,
)
from nikawa.io.judgements.marks import (
    ForeignSpan,
    PlacedSpans,
    count_utf16,
    counts_alike,
    join_relation,
    place_spans,
)
from nikawa.io.judgements.sheets import detect_layout, read_sheet
from nikawa.io.lines import opening
from nikawa.records import Example, Judgement, JudgementKind, Prelabel, is_person

UNNAMED = ("all", "admin", "unknown", "stdin")
"""Names of files that identify no worker: doccano's default names, and the name of standard input."""
SPANS, RELATIONS = "spans", "relations"
IDLE = "files without a single answer"
SUFFIXES = (".jsonl", ".json", ".csv")
PICTURES = ("bbox", "segmentation")


class OwnFields(msgspec.Struct, omit_defaults=True):
    """The other fields of a row of Nikawa's export, which doccano keeps as metadata."""

    question: str
    seconds: float | None = None
    at: str | None = None
    marks: bool = False
    """Whether the answer is a list of spans, which may be empty."""
    inputs: dict[str, Any] | None = None
    """All inputs of the example, where they are more than the text."""
    kind: JudgementKind = "person"
    prelabel: Prelabel | None = None
    has_text: bool = True
    """Whether `text` is that of the example, which spans count in UTF-16 units; else they count characters."""


class Row(msgspec.Struct):
    """A row of an export; what else it holds are the texts and their metadata."""

    id: int | str | None = None
    text: Any = None
    example: str | int | None = None
    label: list[Any] | str | int | float | None = None
    labels: list[Any] | None = None
    cats: list[Any] | None = None
    entities: list[Any] | None = None
    relations: list[Any] | None = None
    bbox: list[Any] | None = None
    segmentation: list[Any] | None = None
    worker: str | int | None = None
    annotator: str | int | None = None
    username: str | None = None
    nikawa: OwnFields | None = None
    comments: Any = msgspec.field(default=None, name="Comments")

    @property
    def is_empty(self) -> bool:
        """Whether the row has no annotation."""
        texts = (self.label, self.labels, self.cats, self.entities, self.relations)
        pictures = (self.bbox, self.segmentation)
        return not any(part not in (None, "", []) for part in (*texts, *pictures))


def read_doccano(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open a file, or a folder with one file per worker."""
    options = options or JudgementOptions()
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise BadInput("holds no .jsonl files", file=path, cure="unpack doccano's export there")
    reading = Reading(path, "doccano", iter(()), "persons")

    def judge() -> Iterator[tuple[int, Judgement]]:
        tables = [(file, list(read_rows(file, reading.notes))) for file in files]
        marks = any(holds_spans(row) for _, rows in tables for _, row in rows) or options.asks_spans
        for file, rows in tables:
            reading.file = file
            reading.place = "row" if file.suffix == ".json" else "line"
            if rows and len(files) > 1 and all(row.is_empty for _, row in rows):
                reading.notes.add(IDLE, 1, f"skipped: {file.name} is of a member who did not work")
                continue
            for line, row in rows:
                for kind, judgement in judge_row(row, line, reading, options, marks):
                    reading.kinds[judgement.question] = kind
                    yield line, judgement

    reading.rows = judge()
    return reading


def read_rows(file: Path, notes: Notes) -> Iterator[tuple[int, Row]]:
    """The rows of a file with their lines (of a JSON array, their places)."""
    start = opening(file, 1)
    if start == b"[":
        yield from enumerate(read_json(file, list[Row]), start=1)
    elif start not in (b"{", b""):
        lines = read_sheet(file, detect_layout(file), notes)
        _, header = next(lines)
        for line, cells in lines:
            row = dict(zip(header, cells, strict=True))
            label = row.get("label") or None
            if label is not None and "#" in label:
                what = f"the label {label!r} may be several labels, which doccano joins with #"
                raise BadInput(what, file=file, line=line, cure="export JSONL")
            if row.get("nikawa"):
                raise BadInput(
                    "comes from Nikawa's export, and CSV dropped some of its fields",
                    file=file,
                    line=line,
                    cure="export JSONL",
                )
            texts = {
                name: row[name] for name in ("id", "text", "example", "worker") if row.get(name)
            }
            yield line, msgspec.convert({**texts, "label": label}, Row)
    else:
        yield from read_json_lines(file, Row)


def holds_spans(row: Row) -> bool:
    """Whether a row is of a project of spans."""
    if row.nikawa is not None:
        return row.nikawa.marks
    label = row.labels if row.labels is not None else row.label
    return row.entities is not None or (
        isinstance(label, list) and any(isinstance(part, list | dict) for part in label)
    )


def judge_row(
    row: Row, line: int, reading: Reading, options: JudgementOptions, marks: bool
) -> Iterator[tuple[str, Judgement]]:
    """The judgements of a row, each with its kind; blank ones are noted and give none."""
    file = reading.file or reading.path
    example = row.example if row.example not in (None, "") else row.id
    if example in (None, ""):
        raise reading.fault(line, "has no id", "export with ids")
    worker = row.worker or row.username or row.annotator
    if not worker:
        worker = file.name.split(".")[0]
        if worker in UNNAMED:
            cure = "export one file per user, or add the worker to each row"
            raise reading.fault(
                line, f"has no worker, and the file name {worker!r} does not name one", cure
            )
    for name in PICTURES:
        if getattr(row, name) is not None:
            raise reading.fault(line, f"marks a picture ({name})", "only texts are supported")
    if row.comments:
        reading.notes.add("comments", line, "not carried over: judgements have no place for them")
    if row.is_empty and marks and options.empty == "skip":
        reading.notes.add(NO_SPANS, line, "skipped, as --empty skip says")
        return
    value = row.labels if row.labels is not None else row.label
    labels = row.cats if row.cats is not None else value if isinstance(value, list) else [value]
    spans = row.entities
    if spans is None and marks:
        spans, labels = labels, []
    own = row.nikawa
    answers: list[tuple[str, str, Any]] = []
    if spans is not None:
        text, unit = row.text, options.offsets
        if own is not None:
            text, unit = (row.text, "utf16") if own.has_text else (None, "characters")
        placed = place_row_spans(spans, text, unit, line, reading)
        if not placed.spans:
            reading.notes.add(NO_SPANS, line)
        answers.append(("spans", own.question if own else SPANS, placed.spans))
        if row.relations is not None:
            answers.append(
                ("relations", RELATIONS, join_relations(row.relations, placed, line, reading))
            )
    if spans is None or row.cats is not None:
        answer = parse_label(labels, line, reading, options)
        if answer is not None:
            kind = "number" if isinstance(answer, int | float) else "choice"
            answers.append((kind, own.question if own else name_label(options, marks), answer))
    for kind, question, answer in answers:
        yield (
            kind,
            Judgement(
                example=str(example),
                worker=str(worker),
                question=question,
                answer=answer,
                seconds=own.seconds if own else None,
                at=own.at if own else None,
                kind=own.kind if own else "person",
                prelabel=own.prelabel if own else None,
            ),
        )


def name_label(options: JudgementOptions, marks: bool) -> str:
    """The question of a row's label: that of the caller, unless this is the question of its spans."""
    return QUESTION if marks and options.question == SPANS else options.question


def parse_label(
    labels: Sequence[Any], line: int, reading: Reading, options: JudgementOptions
) -> str | int | float | None:
    """Return the only label or text of a row, or None with a note."""
    if len(labels) > 1:
        what = f"has {len(labels)} labels"
        if options.needs(options.question):
            cure = "write one answer per question: doccano sorts several, so their order is lost"
            raise reading.fault(line, what, cure)
        reading.skip_unreadable(options.question, line, what)
        return None
    if not labels or labels[0] in (None, ""):
        reading.notes.add(BLANK, line)
        return None
    answer = labels[0]
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise reading.fault(line, "has a label that is not a word or number", "export JSONL again")
    return parse_answer_cell(answer, line, reading.notes) if isinstance(answer, str) else answer


def place_row_spans(
    spans: Sequence[Any], text: Any, unit: OffsetUnit | None, line: int, reading: Reading
) -> PlacedSpans:
    """The spans of a row: `[start, end, label]`, or mappings where the project has relations."""
    rows = []
    for span in spans:
        if isinstance(span, dict) and {"start_offset", "end_offset"} <= span.keys():
            label, name = str(span.get("label") or ""), str(span.get("id", ""))
            rows.append(ForeignSpan(span["start_offset"], span["end_offset"], label, name=name))
        elif isinstance(span, list) and len(span) == 3:
            rows.append(ForeignSpan(span[0], span[1], str(span[2])))
        else:
            cure = "write a span as [start, end, label]"
            raise reading.fault(line, f"has a label that is not a span: {span!r}", cure)
    try:
        return place_spans(rows, [text] if isinstance(text, str) else [], unit)
    except ValueError as problem:
        cure = "check the offsets against the text"
        if unit is None and isinstance(text, str) and not counts_alike(text):
            cure = "pass --offsets utf16 if the spans were marked on doccano's page, or --offsets characters if a program wrote them"
        raise reading.fault(line, str(problem), cure) from None


def join_relations(
    relations: Sequence[Any], placed: PlacedSpans, line: int, reading: Reading
) -> list[dict[str, Any]]:
    """The relations of a row, with the spans they lead from and to."""
    joined = []
    for relation in relations:
        if not isinstance(relation, dict):
            raise reading.fault(
                line, f"has an invalid relation: {relation!r}", "export JSONL again"
            )
        source, target = (str(relation.get(name, "")) for name in ("from_id", "to_id"))
        try:
            joined += join_relation(
                source, target, [str(relation.get("type", ""))], "right", placed
            )
        except ValueError as problem:
            raise reading.fault(line, str(problem), "export JSONL again") from None
    return joined


def write_doccano(
    folder: Path,
    judgements: Iterable[Judgement],
    examples: Mapping[str, Example] | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Write a folder with one file per worker for doccano's import; texts come from `examples` (by reference).

    doccano keeps every further field of a row as metadata and gives it back: item, worker, and in `nikawa` the question,
    the time and, where there are several inputs, each of them. An answer is `label`: a list of one label or text, or of spans. Refuses
    answers whose order doccano does not keep, and spans of a text that is not the one input. Returns how many answers.
    """
    by_worker: dict[str, list[bytes]] = {}
    for judgement in judgements:
        example = examples.get(judgement.example) if examples else None
        inputs = example.inputs if example else {}
        text = "\n".join(value for value in inputs.values() if isinstance(value, str))
        if isinstance(judgement.answer, list) and isinstance(inputs.get("text"), str):
            text = inputs["text"]
        label = format_label(judgement, text)
        own = OwnFields(
            question=judgement.question,
            seconds=judgement.seconds,
            at=judgement.at,
            kind=judgement.kind,
            prelabel=judgement.prelabel,
            marks=isinstance(judgement.answer, list),
            inputs=None if inputs.keys() <= {"text"} else dict(inputs),
            has_text=bool(text),
        )
        row = {
            "text": text or judgement.example,  # doccano takes no document without a text
            "label": label,
            "example": judgement.example,
            "worker": judgement.worker,
            "nikawa": msgspec.to_builtins(own),
        }
        name = judgement.worker
        if not is_person(judgement):  # `model:` is no file name; the rows have the name
            name = to_file_name(name)
        by_worker.setdefault(name, []).append(encode_json(row) + b"\n")
    cure = "rename the worker, use pseudonyms, or choose a format with a single file"
    check_file_names(by_worker, "worker", file=folder, cure=cure)
    with atomic_folder(folder, overwrite=overwrite) as place:
        for worker, lines in by_worker.items():
            (place / f"{worker}.jsonl").write_bytes(b"".join(lines))
    return sum(map(len, by_worker.values()))


def format_label(judgement: Judgement, text: str) -> list[Any]:
    """An answer as doccano's import reads it and its page shows it: spans in UTF-16 units of the text."""
    answer = judgement.answer
    if isinstance(answer, str | int | float) and not isinstance(answer, bool):
        return [answer if isinstance(answer, str) else str(answer)]
    parts: list[Any] = msgspec.to_builtins(answer) if isinstance(answer, list) else [None]
    if all(
        isinstance(part, dict) and {"start", "end"} <= part.keys() <= {"start", "end", "label"}
        for part in parts
    ):
        return [
            [
                count_utf16(text, part["start"]),
                count_utf16(text, part["end"]),
                part.get("label", ""),
            ]
            if text
            else [part["start"], part["end"], part.get("label", "")]
            for part in parts
        ]
    what = f"{judgement.worker}'s answer to {judgement.question!r} about {judgement.example} does not fit doccano, which sorts labels and texts"
    raise BadInput(what, cure="write such answers as judgements.jsonl")
