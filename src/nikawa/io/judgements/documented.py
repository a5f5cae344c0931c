"""Prodigy, Argilla, Amazon Mechanical Turk and Prolific, by the columns that their documentation names.

None of these could be run where this was written (one is sold, the others are services), so no file that they wrote
themselves was tried; what their documentation does not say is refused.

- **Prodigy**: JSON lines of `prodigy db-out`. Spans answer `spans` (or the name `--question` gives), options chosen in
  `accept` answer `label`, `user_input` a text; a row with one `label` and no span is a yes or no about it: the question
  is the label, the answer `accept` or `reject`. Rejected rows of spans and choices and ignored rows hold no answer. The item
  is `example` or `id` of the row or of its `meta`, else `_input_hash`; the worker is `_annotator_id`, else `_session_id`.
- **Argilla**: the JSON of `records.to_json`, or of `records.to_list(flatten=True)`, which alone tells drafts and discarded
  responses; these are skipped. A question's responses are its answers, by user. Spans are `start`, `end`, `label`. Several
  labels and rankings look alike, and are refused. What its page counts is not documented: see `--offsets`. (The layout is that of argilla 2.8's own `Record.to_dict`.)
- **Mechanical Turk**: the CSV of batch results. `Answer.NAME` answers NAME; `Answer.NAME.LABEL` columns of true and
  false are one choice. The item is `Input.example` or `Input.id`, else `HITId`. Rejected assignments are skipped.
- **Prolific**: its file of submissions holds no answers, and is refused; a survey's own sheet with the column
  `PROLIFIC_PID` is a sheet like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.judgements.base import (
    BLANK,
    NO_SPANS,
    JudgementOptions,
    OffsetUnit,
    Reading,
    parse_answer_cell,
    parse_seconds,
)
from nikawa.io.judgements.marks import (
    UTF16,
    UTF16_DONE,
    ForeignSpan,
    PlacedSpans,
    join_relation,
    place_spans,
)
from nikawa.io.judgements.sheets import Layout, read_sheet
from nikawa.records import Judgement

MTURK_COLUMNS = frozenset({"HITId", "AssignmentId", "WorkerId"})
PROLIFIC_COLUMNS = frozenset({"Submission id", "Participant id"})
PRODIGY_HASH = "_input_hash"
SPANS, RELATIONS = "spans", "relations"
_CHECKED = re.compile(r"Answer\.(.+)\.([^.]+)")


# Prodigy


class ProdigyRow(msgspec.Struct):
    """A row of a Prodigy dataset."""

    answer: str = "accept"
    text: Any = None
    id: Any = None
    example: Any = None
    meta: dict[str, Any] = {}
    label: str | None = None
    spans: list[dict[str, Any]] | None = None
    relations: list[dict[str, Any]] | None = None
    options: list[dict[str, Any]] | None = None
    accept: list[Any] | None = None
    user_input: str | None = None
    input_hash: int | None = msgspec.field(default=None, name="_input_hash")
    annotator: str | None = msgspec.field(default=None, name="_annotator_id")
    session: str | None = msgspec.field(default=None, name="_session_id")
    timestamp: float | None = msgspec.field(default=None, name="_timestamp")
    view: str | None = msgspec.field(default=None, name="_view_id")


def read_prodigy(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open the JSON lines of `prodigy db-out`."""
    options = options or JudgementOptions()
    reading = Reading(path, "prodigy", iter(()), "persons")

    def judge() -> Iterator[tuple[int, Judgement]]:
        rows = list(read_json_lines(path, ProdigyRow))
        marks = options.asks_spans or any(row.spans for _, row in rows)
        for line, row in rows:
            names = (
                row.example,
                row.id,
                row.meta.get("example"),
                row.meta.get("id"),
                row.input_hash,
            )
            example = next((name for name in names if name not in (None, "")), None)
            worker = row.annotator or row.session
            if example is None or not worker:
                what = "has no id" if example is None else "names no worker (_annotator_id)"
                raise reading.fault(line, what, "export with prodigy db-out, of named sessions")
            if row.answer == "ignore":
                reading.notes.add("ignored rows", line, "no answer counted")
                continue
            for kind, question, answer in judge_prodigy(row, line, reading, options, marks):
                reading.kinds[question] = kind
                at = None if row.timestamp is None else str(int(row.timestamp))
                yield (
                    line,
                    Judgement(
                        example=str(example), worker=worker, question=question, answer=answer, at=at
                    ),
                )

    reading.rows = judge()
    return reading


def judge_prodigy(
    row: ProdigyRow, line: int, reading: Reading, options: JudgementOptions, marks: bool
) -> Iterator[tuple[str, str, Any]]:
    """Kind, question and answer of all that a row says."""
    is_binary = row.label is not None and not row.spans and row.options is None and not marks
    if is_binary and row.label is not None:
        yield "choice", row.label, row.answer
        return
    if row.answer != "accept":
        reading.notes.add(
            "rejected rows",
            line,
            "no answer counted: a rejection says what is wrong, not what is right",
        )
        return
    if marks:
        texts = [row.text] if isinstance(row.text, str) else []
        spans = []
        for span in row.spans or ():
            name = f"{span.get('token_start')}-{span.get('token_end')}"
            quote = span.get("text") if isinstance(span.get("text"), str) else None
            spans.append(
                ForeignSpan(
                    span.get("start"), span.get("end"), str(span.get("label") or ""), quote, name
                )
            )
        placed = place_or_refuse(spans, texts, line, reading)
        if not placed.spans:
            reading.notes.add(NO_SPANS, line)
        yield "spans", SPANS, placed.spans
        if row.relations is not None:
            yield "relations", RELATIONS, join_prodigy(row.relations, line, reading)
    if row.options is not None:
        labels = row.accept or []
        if len(labels) > 1:
            raise reading.fault(line, "has several choices", "keep one answer per question")
        if labels and not isinstance(labels[0], str | int):
            raise reading.fault(
                line, f"accepts {labels[0]!r}, which is not an option", "export again"
            )
        if labels:
            yield "choice", options.question, labels[0]
        else:
            reading.notes.add(BLANK, line)
    if row.user_input is not None:
        if row.user_input.strip():
            yield "text", "user_input", row.user_input
        else:
            reading.notes.add(BLANK, line)


def place_or_refuse(
    spans: list[ForeignSpan],
    texts: list[str],
    line: int,
    reading: Reading,
    unit: OffsetUnit | None = "characters",
) -> PlacedSpans:
    """The spans of an answer counted in characters, or the error of its line."""
    try:
        placed = place_spans(spans, texts, unit)
    except ValueError as problem:
        cure = "check the offsets against the text; pass --offsets utf16 or --offsets characters"
        raise reading.fault(line, str(problem), cure) from None
    if placed.is_utf16:
        reading.notes.add(UTF16, line, UTF16_DONE)
    return placed


def join_prodigy(
    relations: list[dict[str, Any]], line: int, reading: Reading
) -> list[dict[str, Any]]:
    """Relations, each with the spans of its head and its child."""
    joined = []
    for relation in relations:
        ends = {}
        for side in ("head_span", "child_span"):
            span = relation.get(side)
            if not isinstance(span, dict) or type(span.get("start")) is not int:
                raise reading.fault(line, f"a relation has no {side}", "export the relations again")
            ends[side] = {
                "start": span["start"],
                "end": span.get("end"),
                "label": str(span.get("label") or ""),
            }
        placed = PlacedSpans([], ends, is_utf16=False)
        label = str(relation.get("label") or "")
        joined += join_relation("head_span", "child_span", [label], "right", placed)
    return joined


# Argilla


class ArgillaRecord(msgspec.Struct):
    """A record of an Argilla dataset."""

    id: Any = None
    fields: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    responses: dict[str, list[dict[str, Any]]] = {}
    suggestions: Any = None


def read_argilla(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open a JSON file of records; places are records, counted from 1."""
    options = options or JudgementOptions()
    reading = Reading(path, "argilla", iter(()), "persons", place="record")

    def judge() -> Iterator[tuple[int, Judgement]]:
        for place, row in enumerate(read_json(path, list[dict[str, Any]]), start=1):
            try:
                record = msgspec.convert(unflatten_record(row), ArgillaRecord)
            except (msgspec.ValidationError, ValueError, TypeError) as problem:
                raise reading.fault(place, f"is not a record ({problem})", "export again") from None
            example = record.metadata.get("example") or record.id
            if example in (None, ""):
                raise reading.fault(place, "has no id", "export the records with their ids")
            if record.suggestions:
                reading.notes.add(
                    "suggestions of a model", place, "skipped: not answers of workers"
                )
            if not record.responses:
                reading.notes.add("records without a response", place, "skipped")
            for question, responses in record.responses.items():
                for response in responses:
                    judgement = judge_response(question, response, record, place, reading, options)
                    if judgement is not None:
                        yield place, msgspec.structs.replace(judgement, example=str(example))

    reading.rows = judge()
    return reading


def unflatten_record(row: dict[str, Any]) -> dict[str, Any]:
    """A record with its responses by question, however it was exported."""
    if "responses" in row or not any(name.endswith(".responses") for name in row):
        return row
    responses: dict[str, list[dict[str, Any]]] = {}
    for name, values in row.items():
        if name.endswith(".responses"):
            users, statuses = row.get(f"{name}.users"), row.get(f"{name}.status")
            parts = zip(
                values, users or [None] * len(values), statuses or [None] * len(values), strict=True
            )
            question = name.removesuffix(".responses")
            responses[question] = [{"value": v, "user_id": u, "status": s} for v, u, s in parts]
    fields = {name: value for name, value in row.items() if "." not in name and name != "id"}
    metadata = {"example": row["example"]} if row.get("example") else {}
    return {"id": row.get("id"), "fields": fields, "metadata": metadata, "responses": responses}


def judge_response(
    question: str,
    response: dict[str, Any],
    record: ArgillaRecord,
    place: int,
    reading: Reading,
    options: JudgementOptions,
) -> Judgement | None:
    """The judgement of a response, its item still open; None, noted, where it holds no answer."""
    status = response.get("status")
    if status not in (None, "submitted"):
        reading.notes.add(f"{status} responses", place, "no answer counted")
        return None
    worker = response.get("user_id")
    if not worker:
        raise reading.fault(place, "a response names no user", "export again")
    if status is None:
        reading.notes.add(
            "responses without a status", place, "counted: drafts among them look the same"
        )
    parsed = parse_response(question, response.get("value"), record, place, reading, options)
    if parsed is None:
        return None
    reading.kinds[question] = parsed[0]
    return Judgement(example="", worker=str(worker), question=question, answer=parsed[1])


def parse_response(
    question: str,
    value: Any,
    record: ArgillaRecord,
    place: int,
    reading: Reading,
    options: JudgementOptions,
) -> tuple[str, Any] | None:
    """Kind and answer of a response; None, noted, where it is blank or not asked."""
    if value in (None, ""):
        reading.notes.add(BLANK, place)
        return None
    if isinstance(value, str):
        return "choice", value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        if not all("start" in part for part in value):  # a ranking as {value, rank}
            ranks = {
                part.get("rank"): part.get("value")
                for part in value
                if type(part.get("rank")) is int
            }
            if len(ranks) == len(value) and all(isinstance(each, str) for each in ranks.values()):
                return "ranking", [ranks[rank] for rank in sorted(ranks)]
            what = f"has values of {question!r} without a rank"
            raise reading.fault(place, what, "rank the values without ties")
        texts = [text for text in record.fields.values() if isinstance(text, str)]
        spans = [
            ForeignSpan(p.get("start"), p.get("end"), str(p.get("label") or "")) for p in value
        ]
        placed = place_or_refuse(spans, texts, place, reading, options.offsets)
        if not placed.spans:
            reading.notes.add(NO_SPANS, place)
        return "spans", placed.spans
    what = f"has several labels or a ranking for {question!r}; the file does not specify which"
    if options.needs(question):
        raise reading.fault(place, what, "choose other questions with --question")
    reading.skip_unreadable(question, place, what)
    return None


# Crowd platforms


def read_mturk(path: Path, layout: Layout, options: JudgementOptions) -> Reading:
    """Open the batch results of Mechanical Turk."""
    reading = Reading(path, "mturk", iter(()), "persons")

    def judge() -> Iterator[tuple[int, Judgement]]:
        lines = read_sheet(path, layout, reading.notes)
        _, header = next(lines)
        item = next((name for name in ("Input.example", "Input.id") if name in header), "HITId")
        for line, cells in lines:
            row = dict(zip(header, cells, strict=True))
            if row.get("AssignmentStatus") == "Rejected":
                reading.notes.add("rejected assignments", line, "no answer counted")
                continue
            example, worker = row[item].strip(), row["WorkerId"].strip()
            if not example or not worker:
                raise reading.fault(
                    line, f"names no {'item' if not example else 'worker'}", "fill in the cell"
                )
            for question, cell in find_mturk_answers(row, line, reading, options).items():
                answer = parse_answer_cell(cell, line, reading.notes)
                if answer is None:
                    continue
                reading.kinds[question] = "number" if isinstance(answer, int | float) else "choice"
                yield (
                    line,
                    Judgement(
                        example=example,
                        worker=worker,
                        question=question,
                        answer=answer,
                        seconds=parse_seconds(row.get("WorkTimeInSeconds", ""), line, path),
                        at=row.get("SubmitTime") or None,
                    ),
                )

    reading.rows = judge()
    return reading


def find_mturk_answers(
    row: Mapping[str, str], line: int, reading: Reading, options: JudgementOptions
) -> dict[str, str]:
    """The cell of each question; of columns with true and false, the label that is true."""
    answers: dict[str, str] = {}
    checked: dict[str, list[str]] = {}
    for name, cell in row.items():
        parts = _CHECKED.fullmatch(name)
        if parts and cell.strip().casefold() in ("true", "false", ""):
            labels = checked.setdefault(parts[1], [])
            if cell.strip().casefold() == "true":
                labels.append(parts[2])
        elif name.startswith("Answer."):
            if cell.lstrip().startswith(("[{", "{")):
                what = f"{name} contains JSON, whose shape the platform does not document"
                if options.needs(name.removeprefix("Answer.")):
                    raise reading.fault(line, what, "use one column per answer in the HIT's form")
                reading.skip_unreadable(name, line, what)
                continue
            answers[name.removeprefix("Answer.")] = cell
    for question, labels in checked.items():
        if len(labels) > 1:
            what = f"has several choices for {question!r}"
            if options.needs(question):
                raise reading.fault(line, what, "keep one answer per question")
            reading.skip_unreadable(question, line, what)
            continue
        answers[question] = labels[0] if labels else ""
    return answers


def refuse_prolific(path: Path) -> BadInput:
    """The error for Prolific's file of submissions, which holds no answers."""
    cure = (
        "pass the sheet of the survey or tool that asked the questions; PROLIFIC_PID is its worker"
    )
    return BadInput(
        "is Prolific's list of submissions, which has no answers", file=path, line=1, cure=cure
    )
