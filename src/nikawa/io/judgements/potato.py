"""potato: the state it keeps of each person (`user_state.json`), and the `annotations.jsonl` of its snapshots and exports.

A folder of states is read whole (`annotation_output/PERSON/user_state.json`). The rules:

- The question is the scheme's name, the item the instance's id, the worker the person. Seconds are the time that potato
  measured on the instance, where it did; it keeps no time of day in these files.
- A radio button, a rating and a menu give the label they chose (a number where it is written as one), a text box its
  text, a ranking the labels in their order, a span scheme spans, a link scheme relations (from the first span to the
  next ones). Offsets count characters: its page turns a browser's UTF-16 units into them.
- An instance for which something was saved, but no span, marks nothing: an empty list. One for which nothing was saved
  has no answer, since potato does not tell "nothing to mark" from "not done"; those that were shown are counted.
- Several labels of one scheme at once, several fields, and what is drawn on pictures, sound and films are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.judgements.base import (
    NO_SPANS,
    JudgementOptions,
    Notes,
    Reading,
    parse_answer_cell,
)
from nikawa.io.judgements.marks import ForeignSpan, PlacedSpans, join_relation, place_spans
from nikawa.records import Judgement

STATE = "user_state.json"
UNSAVED = "instances that were shown, with nothing saved"
RANK = "rank_order"
DRAWN = ("_data", "_regions")
"""Names under which schemes for pictures, sound and films keep what was drawn."""


class State(msgspec.Struct):
    """What potato keeps of a person."""

    user_id: str
    instance_id_ordering: list[str] = []
    instance_id_to_label_to_value: dict[str, list[tuple[dict[str, Any], Any]]] = {}
    instance_id_to_span_to_value: dict[str, list[tuple[dict[str, Any], Any]]] = {}
    instance_id_to_link_to_value: dict[str, dict[str, dict[str, Any]]] = {}
    instance_id_to_event_to_value: dict[str, dict[str, Any]] = {}
    instance_id_to_behavioral_data: dict[str, dict[str, Any]] = {}
    instance_id_to_presentation_order: dict[str, dict[str, list[str]]] = {}


class ExportRow(msgspec.Struct):
    """A line of the export in JSON lines: all schemes of a person and an instance."""

    instance_id: str
    user_id: str
    labels: dict[str, dict[str, Any]] = {}
    spans: dict[str, list[dict[str, Any]]] = {}
    links: dict[str, Any] | list[Any] | None = None


class SnapshotRow(msgspec.Struct):
    """A line of a snapshot: one scheme of a person and an instance."""

    annotator: str
    item: str
    schema: str
    value: dict[str, list[list[Any]]]


class Answers(NamedTuple):
    """What a person saved about an instance."""

    place: int
    item: str
    worker: str
    labels: dict[str, list[tuple[str, Any]]]
    """By scheme the names and values that were saved."""
    spans: dict[str, list[ForeignSpan]]
    links: dict[str, list[Mapping[str, Any]]]
    seconds: float | None = None
    shown: Mapping[str, Sequence[str]] = {}
    """By scheme the labels, where the file has them."""


def read_potato(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open a state, a folder of states, or an `annotations.jsonl`."""
    options = options or JudgementOptions()
    files = [path]
    if path.is_dir():
        files = sorted((*path.glob(STATE), *path.glob(f"*/{STATE}"), *path.glob(f"*/*/{STATE}")))
    is_state = path.is_dir() or path.suffix == ".json"
    reading = Reading(path, "potato", iter(()), "persons", place="instance" if is_state else "line")

    def judge() -> Iterator[tuple[int, Judgement]]:
        answers = []
        for file in files:
            rows = read_state(file, reading.notes) if is_state else read_lines(file)
            answers += [(file, row) for row in rows]
        marking = {name: "spans" for _, row in answers for name in row.spans}
        marking |= {name: "relations" for _, row in answers for name in row.links}
        for file, row in answers:
            reading.file = file
            yield from judge_answers(row, marking, reading, options)

    reading.rows = judge()
    return reading


def read_state(file: Path, notes: Notes) -> Iterator[Answers]:
    """What a person saved, by instance, in the order in which they were shown."""
    state = read_json(file, State)
    if any(state.instance_id_to_event_to_value.values()):
        raise BadInput(
            "has events, which are not supported", file=file, cure="export them with potato"
        )
    saved = {
        **dict.fromkeys(state.instance_id_to_label_to_value),
        **dict.fromkeys(state.instance_id_to_span_to_value),
    }
    order = dict.fromkeys((*state.instance_id_ordering, *saved))
    for place, item in enumerate(order, start=1):
        labels: dict[str, list[tuple[str, Any]]] = {}
        for label, value in state.instance_id_to_label_to_value.get(item, ()):
            labels.setdefault(str(label.get("schema")), []).append((str(label.get("name")), value))
        spans: dict[str, list[ForeignSpan]] = {}
        for span, quote in state.instance_id_to_span_to_value.get(item, ()):
            spans.setdefault(str(span.get("schema")), []).append(parse_span(span, quote))
        links: dict[str, list[Mapping[str, Any]]] = {}
        for link in state.instance_id_to_link_to_value.get(item, {}).values():
            links.setdefault(str(link.get("schema")), []).append(link)
        shown = state.instance_id_to_presentation_order.get(item, {})
        if not labels and not spans:
            if shown:
                notes.add(UNSAVED, place, "skipped: potato does not record whether they are done")
            continue
        spent = state.instance_id_to_behavioral_data.get(item, {}).get("total_time_ms")
        seconds = spent / 1000 if isinstance(spent, int | float) and spent else None
        yield Answers(place, item, state.user_id, labels, spans, links, seconds, shown)


def parse_span(span: Mapping[str, Any], quote: Any) -> ForeignSpan:
    """Return a span of a state or an export; a span with several parts, or on a picture, is not a span of a text."""
    label, name = str(span.get("name") or ""), str(span.get("id") or "")
    start = None if span.get("additional_parts") or span.get("format_coords") else span.get("start")
    return ForeignSpan(
        start, span.get("end"), label, quote if isinstance(quote, str) else None, name
    )


def read_lines(file: Path) -> Iterator[Answers]:
    """What people saved, from an export's or a snapshot's lines; those of a snapshot hold a scheme each, and are joined."""
    whole: dict[tuple[str, str], Answers] = {}
    for line, row in read_json_lines(file, dict[str, Any]):
        try:
            if "schema" not in row:
                yield parse_export_row(msgspec.convert(row, ExportRow), line)
                continue
            part = msgspec.convert(row, SnapshotRow)
            key = (part.annotator, part.item)
            answers = whole.setdefault(key, Answers(line, part.item, part.annotator, {}, {}, {}))
            if part.value.get("labels"):
                pairs = [(str(name), value) for name, value in part.value["labels"]]
                answers.labels[part.schema] = pairs
            if part.value.get("spans"):
                spans = [
                    ForeignSpan(start, end, str(name)) for name, start, end in part.value["spans"]
                ]
                answers.spans[part.schema] = spans
        except (msgspec.ValidationError, ValueError, TypeError) as problem:
            cure = "pass user_state.json, or export again"
            what = f"is not a line of potato ({problem})"
            raise BadInput(what, file=file, line=line, cure=cure) from None
    yield from whole.values()


def parse_export_row(row: ExportRow, line: int) -> Answers:
    """What a person saved about an instance, from a line of the export."""
    labels = {name: list(values.items()) for name, values in row.labels.items()}
    spans = {
        name: [parse_span(span, span.get("text")) for span in spans]
        for name, spans in row.spans.items()
    }
    return Answers(line, row.instance_id, row.user_id, labels, spans, group_links(row.links))


def group_links(links: Any) -> dict[str, list[Mapping[str, Any]]]:
    """The links of an export's line by their scheme."""
    values = links.values() if isinstance(links, dict) else links or ()
    by_scheme: dict[str, list[Mapping[str, Any]]] = {}
    for value in values:
        for link in value if isinstance(value, list) else [value]:
            if isinstance(link, dict):
                by_scheme.setdefault(str(link.get("schema")), []).append(link)
    return by_scheme


def judge_answers(
    row: Answers, marking: Mapping[str, str], reading: Reading, options: JudgementOptions
) -> Iterator[tuple[int, Judgement]]:
    """The judgements of what a person saved about an instance."""
    answers: dict[str, tuple[str, Any]] = {}
    placed = PlacedSpans([], {}, is_utf16=False)
    schemes = dict.fromkeys((*row.labels, *marking))  # something was saved: else nothing is marked
    for scheme in sorted(schemes, key=lambda name: marking.get(name) == "relations"):
        try:
            if marking.get(scheme) == "spans":
                placed = place_spans(row.spans.get(scheme, ()), ())
                answers[scheme] = ("spans", placed.spans)
                if not placed.spans:
                    reading.notes.add(NO_SPANS, row.place)
            elif marking.get(scheme) == "relations":
                relations = []
                for link in row.links.get(scheme, ()):
                    relations += join_link(link, placed)
                answers[scheme] = ("relations", relations)
            else:
                answers[scheme] = parse_labels(scheme, row, reading.notes)
        except ValueError as problem:
            if options.needs(scheme):
                cure = "choose other schemes with --question"
                raise reading.fault(row.place, f"{row.item}: {problem}", cure) from None
            reading.skip_unreadable(scheme, row.place, str(problem))
    for question, (kind, answer) in answers.items():
        if answer is None:
            continue
        reading.kinds[question] = kind
        yield (
            row.place,
            Judgement(
                example=row.item,
                worker=row.worker,
                question=question,
                answer=answer,
                seconds=row.seconds,
            ),
        )


def join_link(link: Mapping[str, Any], placed: PlacedSpans) -> list[dict[str, Any]]:
    """The relations of a link: from its first span to each further one."""
    names = [str(name) for name in link.get("span_ids") or ()]
    if len(names) < 2:
        raise ValueError("a link has fewer than two spans")
    label = str(link.get("link_type") or "")
    direction = "right" if link.get("direction") == "directed" else "both"
    joined: list[dict[str, Any]] = []
    for name in names[1:]:
        joined += join_relation(names[0], name, [label], direction, placed)
    return joined


def parse_labels(scheme: str, row: Answers, notes: Notes) -> tuple[str, Any]:
    """Kind and answer of a scheme that marks nothing; raises `ValueError` where it holds several."""
    pairs = row.labels[scheme]
    if len(pairs) > 1:
        names = ", ".join(name for name, _ in pairs)
        raise ValueError(f"{scheme!r} has several labels ({names})")
    ((name, value),) = pairs
    if name in DRAWN or isinstance(value, list | dict):
        raise ValueError(f"{scheme!r} holds no label, number or text")
    if name == RANK:
        labels = str(value).split(",")
        shown = row.shown.get(scheme)
        if shown is not None and sorted(labels) != sorted(shown):
            raise ValueError(
                f"{scheme!r} ranks labels that contain commas, so they cannot be separated"
            )
        return "ranking", labels
    if str(value) == name or value in (True, "true"):
        answer = parse_answer_cell(name, row.place, notes)
        return "number" if isinstance(answer, int | float) else "choice", answer
    if isinstance(value, str):
        parsed = parse_answer_cell(value, row.place, notes)
        return (
            ("number", parsed)
            if isinstance(parsed, int | float)
            else ("text", value.strip() or None)
        )
    return "number", value
