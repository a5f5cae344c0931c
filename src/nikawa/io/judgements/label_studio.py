"""Label Studio: its JSON, JSON-MIN and CSV in, and tasks with annotations and a labelling configuration out.

The results determine the kind of a control: choices, pairwise and date controls have one label, ratings and numbers
a number, text areas by a text (or several), rankers by an order, labels by spans, and relations between spans by the
question `relations`, which has no control of its own. The rules:

- The item is `data.example` where the task holds it (as our own export does), else `data.id`, else the task's number.
- The question is the control's name, `from_name`; the worker is `completed_by`, time and seconds are the annotation's.
- A submitted annotation without spans marks nothing: the answer is an empty list, where the file has spans at all.
- Skipped (cancelled) annotations, drafts, predictions and tasks without annotations have no answer. Each is counted.
- Several choices of one control at once, regions of pictures, sound and HTML, choices about a single region and ranks in
  several buckets are refused, or skipped and counted where another question is asked.
- JSON-MIN and CSV hold texts and answers side by side, and no relations. A column is a question where its cells are
  results, or where the annotations of one task differ in it; JSON-MIN replaces `data.id` by the task's number.
- CoNLL holds neither items nor workers, and words instead of characters: it is refused.

Our own export goes in and comes out again whole: Label Studio takes annotations of its own users only, so each task keeps
who gave which annotation, by the number that Label Studio exports as `import_id`, in `data.nikawa_answers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.json import encode_json, read_json
from nikawa.io.judgements.base import (
    BLANK,
    NO_SPANS,
    JudgementOptions,
    Notes,
    Reading,
    parse_seconds,
)
from nikawa.io.judgements.marks import (
    UTF16,
    UTF16_DONE,
    ForeignSpan,
    PlacedSpans,
    find_texts,
    join_relation,
    place_spans,
)
from nikawa.io.judgements.sheets import Layout, read_sheet
from nikawa.io.lines import opening
from nikawa.records import Example, Judgement, JudgementKind, Prelabel

SKIPPED = "skipped annotations"
DRAFTS = "drafts"
PREDICTIONS = "predictions of a model"
UNTOUCHED = "tasks without an annotation"
CHANGED = "annotations of ours that were changed in Label Studio"
COLUMNS = frozenset({"annotation_id", "annotator", "created_at", "lead_time", "updated_at"})
"""Columns that every CSV of Label Studio has."""
RESERVED = COLUMNS | {"id", "example", "agreement", "history", "nikawa_answers", "nikawa_labels"}
"""Names of a JSON-MIN or CSV row that are no question."""
ANSWERS, LABELS = "nikawa_answers", "nikawa_labels"
"""Where a task of our own export keeps who gave which annotation, and the labels that are put in order."""
PEEK_BYTES = 1 << 16
RELATIONS = "relations"
ABOUT_REGION = ("choices", "rating", "number", "datetime", "taxonomy", "ranker", "selected")
"""Keys of what a control that asks about each region (`perRegion`) says; a text area's `text` is a list."""
WORDS = {"choices": "choice", "selected": "choice", "datetime": "choice"}
"""Keys of a value that holds a label."""


class Result(msgspec.Struct):
    """One control's outcome, or one region or relation of it."""

    value: dict[str, Any] = {}
    from_name: str = "label"
    type: str = ""
    id: str | None = None
    from_id: str = ""
    to_id: str = ""
    direction: str = "right"
    labels: list[str] = []


class Annotation(msgspec.Struct):
    """One worker's outcome of a task."""

    result: list[Result] = []
    completed_by: int | str | dict[str, Any] | None = None
    lead_time: float | None = None
    created_at: str | None = None
    was_cancelled: bool = False
    import_id: int | None = None
    id: int | None = None
    updated_by: int | str | None = None


class Item(msgspec.Struct):
    """A task of an export."""

    id: int | str | None = None
    data: dict[str, Any] = {}
    annotations: list[Annotation] = []
    drafts: list[Any] = []
    predictions: list[Any] = []


class Author(msgspec.Struct, omit_defaults=True):
    """Who gave an annotation of our own export."""

    worker: str
    at: str | None = None
    seconds: float | None = None
    empty: tuple[str, ...] = ()
    """The questions whose answer was an empty list."""
    kind: JudgementKind = "person"
    comment: str = ""
    prelabels: dict[str, Prelabel] = {}
    """By question: the machine's answers that the page was filled in with or not."""


class ControlAnswer(NamedTuple):
    """What one control says."""

    kind: str
    """One of `base.KINDS`."""
    answer: Any


UNREADABLE = ControlAnswer("", None)
"""Of a control whose answer was skipped: it is no empty one."""


# Reading


def read_label_studio(path: Path, options: JudgementOptions | None = None) -> Reading:
    """Open an export in JSON or JSON-MIN; places are tasks (of JSON-MIN rows), counted from 1."""
    options = options or JudgementOptions()
    start = opening(path, PEEK_BYTES)
    if b'"annotation_id"' in start and b'"annotations"' not in start:
        reading = Reading(path, "label-studio JSON-MIN", iter(()), "persons", place="row")
        rows = list(enumerate(read_json(path, list[dict[str, Any]]), start=1))
        reading.rows = judge_rows(rows, reading, options)
        return reading
    reading = Reading(path, "label-studio", iter(()), "persons", place="task")
    reading.rows = judge_tasks(read_json(path, list[Item]), reading, options)
    return reading


def read_label_studio_csv(path: Path, layout: Layout, options: JudgementOptions) -> Reading:
    """Open an export in CSV."""
    reading = Reading(path, "label-studio CSV", iter(()), "persons")

    def judge() -> Iterator[tuple[int, Judgement]]:
        lines = read_sheet(path, layout, reading.notes)
        _, header = next(lines)
        rows = [
            (line, dict(zip(header, map(parse_cell, cells), strict=True))) for line, cells in lines
        ]
        yield from judge_rows(rows, reading, options)

    reading.rows = judge()
    return reading


def parse_cell(cell: str) -> Any:
    """What a cell of a CSV holds: lists and mappings are JSON in it, anything else is a text."""
    if cell[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(cell)
        except msgspec.DecodeError:
            return cell
    return cell or None


def judge_tasks(
    tasks: Sequence[Item], reading: Reading, options: JudgementOptions
) -> Iterator[tuple[int, Judgement]]:
    """The judgements of a JSON export, with the number of their task."""
    empty = find_empty_questions(tasks, options)
    for place, task in enumerate(tasks, start=1):
        note_leftovers(task, place, reading.notes)
        example = task.data.get("example", task.data.get("id", task.id))
        if example in (None, "") or not isinstance(example, str | int):
            raise reading.fault(place, "has no id", "add an id or data.example to each task")
        try:
            authors = msgspec.convert(task.data.get(ANSWERS, {}), dict[str, Author])
        except msgspec.ValidationError as problem:
            raise reading.fault(place, f"{ANSWERS}: {problem}", "export again") from None
        for annotation in task.annotations:
            if annotation.was_cancelled:
                reading.notes.add(SKIPPED, place, "no answer counted")
                continue
            number = annotation.id if annotation.completed_by is None else annotation.import_id
            author = authors.get(str(number))
            worker = author.worker if author else find_worker(annotation)
            if author and annotation.updated_by is not None:
                reading.notes.add(CHANGED, place, "read as answers of the person who changed them")
                author, worker = None, annotation.updated_by
            if worker in (None, ""):
                cure = "export with completed_by"
                raise reading.fault(place, "an annotation names no worker", cure)
            answers = dict(parse_results(annotation.result, task.data, place, reading, options))
            # an annotation of our own says what it leaves empty: a report marks nothing, and is no answer
            for name in author.empty if author else empty:
                answers.setdefault(name, ControlAnswer(empty.get(name, "spans"), []))
            if not answers:
                reading.notes.add(BLANK, place)
            for question, (kind, answer) in answers.items():
                if answer is None:
                    continue
                if answer == []:
                    reading.notes.add(
                        NO_SPANS if kind == "spans" else f"answers without {kind}",
                        place,
                        "counted as an empty list",
                    )
                reading.kinds[question] = kind
                yield (
                    place,
                    Judgement(
                        example=str(example),
                        worker=str(worker),
                        question=question,
                        answer=answer,
                        seconds=author.seconds if author else annotation.lead_time,
                        at=author.at if author else annotation.created_at,
                        kind=author.kind if author else "person",
                        comment=author.comment if author else "",
                        prelabel=author.prelabels.get(question) if author else None,
                    ),
                )


def find_empty_questions(tasks: Iterable[Item], options: JudgementOptions) -> dict[str, str]:
    """The questions that a submitted annotation answers even where it marks nothing: those of spans and relations."""
    names: dict[str, str] = {}
    for task in tasks:
        for annotation in task.annotations:
            for result in annotation.result:
                if result.type == "relation":
                    names[RELATIONS] = "relations"
                elif is_span(result.value):
                    names[result.from_name] = "spans"
    if not names and options.asks_spans:
        names[next(iter(options.questions.values()), "spans")] = "spans"
    return names


def is_span(value: Mapping[str, Any]) -> bool:
    """Whether a value is a region of a text, and not what a further control says about one."""
    if type(value.get("start")) is not int or type(value.get("end")) is not int:
        return False
    return not isinstance(value.get("text"), list) and not any(key in value for key in ABOUT_REGION)


def note_leftovers(task: Item, place: int, notes: Notes) -> None:
    """Count the parts of a task that are not answers."""
    for _ in task.drafts:
        notes.add(DRAFTS, place, "skipped: not submitted")
    for _ in task.predictions:
        notes.add(PREDICTIONS, place, "skipped: not answers of workers")
    if not task.annotations:
        notes.add(UNTOUCHED, place, "skipped")


def find_worker(annotation: Annotation) -> Any:
    """The person of an annotation: a number, or the e-mail address where the export holds it."""
    worker = annotation.completed_by
    if isinstance(worker, dict):
        names = (worker[name] for name in ("email", "username", "id") if worker.get(name))
        return next(names, None)
    return worker


def parse_results(
    results: Sequence[Result],
    data: Mapping[str, Any],
    place: int,
    reading: Reading,
    options: JudgementOptions,
) -> Iterator[tuple[str, ControlAnswer]]:
    """The answer to each question of an annotation; one that cannot be held is refused, or noted where it is not asked."""
    by_name: dict[str, list[Result]] = {}
    for result in results:
        name = RELATIONS if result.type == "relation" else result.from_name
        by_name.setdefault(name, []).append(result)
    links = by_name.pop(RELATIONS, [])
    placed: dict[str, dict[str, Any]] = {}
    for question, parts in by_name.items():
        try:
            if all(is_span(part.value) for part in parts):
                spans = place_values(
                    [part.value for part in parts], [part.id or "" for part in parts], data
                )
                if spans.is_utf16:
                    reading.notes.add(UTF16, place, UTF16_DONE)
                placed.update(spans.by_name)
                yield question, ControlAnswer("spans", spans.spans)
            else:
                answer = parse_values(question, [part.value for part in parts])
                if answer is None:
                    reading.notes.add(BLANK, place)
                else:
                    yield question, answer
        except ValueError as problem:
            refuse_answer(question, str(problem), place, reading, options)
            yield question, UNREADABLE
    if links:
        everything = PlacedSpans([], placed, is_utf16=False)
        try:
            relations = []
            for link in links:
                relations += join_relation(
                    link.from_id, link.to_id, link.labels, link.direction, everything
                )
            yield RELATIONS, ControlAnswer("relations", relations)
        except ValueError as problem:
            refuse_answer(RELATIONS, str(problem), place, reading, options)
            yield RELATIONS, UNREADABLE


def refuse_answer(
    question: str, why: str, place: int, reading: Reading, options: JudgementOptions
) -> None:
    """Raise the error of an answer that cannot be held; where the question is not asked, note it."""
    if options.needs(question):
        cure = "choose other questions with --question, or change it in Label Studio"
        raise reading.fault(place, why, cure)
    reading.skip_unreadable(question, place, why)


def place_values(
    values: Sequence[Mapping[str, Any]], names: Sequence[str], data: Mapping[str, Any]
) -> PlacedSpans:
    """The spans of the regions of one control; a region with two labels is two spans."""
    spans = []
    for value, name in zip(values, names, strict=True):
        if not isinstance(value, dict) or not is_span(value):
            raise ValueError("has a region without start and end in the text")
        labels = next(
            (v for k, v in value.items() if k.endswith("labels") and isinstance(v, list)), []
        )
        quote = value["text"] if isinstance(value.get("text"), str) else None
        for label in labels or [""]:
            spans.append(ForeignSpan(value["start"], value["end"], str(label), quote, name))
    return place_spans(spans, find_texts({k: v for k, v in data.items() if k not in RESERVED}))


def parse_values(question: str, values: Sequence[Mapping[str, Any]]) -> ControlAnswer | None:
    """The answer in the values of one control that marks nothing; None where it is blank.

    Raises `ValueError` with what is wrong where we have no place for it.
    """
    texts: list[str] = []
    for value in values:
        if "start" in value or "x" in value or "id" in value:
            kinds = ", ".join(value)
            raise ValueError(f"has an unsupported kind of answer to {question!r} ({kinds})")
        if isinstance(value.get("text"), list | str):
            texts += [value["text"]] if isinstance(value["text"], str) else map(str, value["text"])
    if any("text" in value for value in values):
        texts = [text for text in texts if text.strip()]
        return ControlAnswer("text", texts[0] if len(texts) == 1 else texts) if texts else None
    if len(values) > 1:
        raise ValueError(f"has several answers to {question!r}")
    (value,) = values
    if "ranker" in value:
        buckets = value["ranker"]
        ranks = list(buckets.values()) if isinstance(buckets, dict) else [buckets]
        if len(ranks) != 1 or not isinstance(ranks[0], list):
            raise ValueError(f"ranks into several buckets in {question!r}")
        if not all(isinstance(label, str) for label in ranks[0]):
            raise ValueError(f"ranks something that is not a label in {question!r}")
        return ControlAnswer("ranking", ranks[0]) if ranks[0] else None
    for key in ("rating", "number"):
        if key in value:
            if value[key] is not None and type(value[key]) not in (int, float):
                raise ValueError(
                    f"has {value[key]!r} as {key} of {question!r}, which is not a number"
                )
            return None if value[key] is None else ControlAnswer("number", value[key])
    for key, kind in WORDS.items():
        if key in value:
            labels = value[key] if isinstance(value[key], list) else [value[key]]
            if len(labels) > 1:
                raise ValueError(f"has several choices for {question!r}")
            if labels and not isinstance(labels[0], str | int | float | None):
                raise ValueError(f"has {labels[0]!r} for {question!r}, which is not a label")
            return (
                ControlAnswer(kind, labels[0]) if labels and labels[0] not in (None, "") else None
            )
    if not value:
        return None
    raise ValueError(f"has an answer of another kind to {question!r} ({', '.join(value)})")


# JSON-MIN and CSV


def judge_rows(
    rows: Sequence[tuple[int, dict[str, Any]]], reading: Reading, options: JudgementOptions
) -> Iterator[tuple[int, Judgement]]:
    """Yield the judgements of rows with texts and answers in the same row, with their places."""
    questions = find_row_questions([row for _, row in rows], reading, options)
    marking = {
        name
        for name in questions
        for _, row in rows
        if isinstance(row.get(name), list)
        and row[name]
        and all(isinstance(value, dict) and is_span(value) for value in row[name])
    }
    if not marking and options.asks_spans:
        marking = set(options.questions.values())
    writing = {
        name
        for name in questions
        for _, row in rows
        if isinstance(row.get(name), dict) and "text" in row[name]
    }
    for place, row in rows:
        if row.get(ANSWERS):
            cure = "export JSON: this format does not keep the author of an annotation"
            raise reading.fault(place, "is a task of Nikawa's export", cure)
        if row.get("annotation_id") is None:
            reading.notes.add(UNTOUCHED, place, "skipped")
            continue
        example, worker = row.get("example", row.get("id")), row.get("annotator")
        if isinstance(worker, dict):
            worker = worker.get("email") or worker.get("id")
        if example in (None, "") or worker in (None, ""):
            what = "has no id" if example in (None, "") else "an annotation names no worker"
            raise reading.fault(place, what, "export again")
        for question in questions:
            value = row.get(question)
            values: list[Any] = value if isinstance(value, list) else [value]
            try:
                if question in marking:
                    spans = place_values(
                        [] if value is None else values,
                        [""] * (0 if value is None else len(values)),
                        row,
                    )
                    answer: ControlAnswer | None = ControlAnswer("spans", spans.spans)
                    if not spans.spans:
                        reading.notes.add(NO_SPANS, place)
                elif value is None:
                    reading.notes.add(BLANK, place)
                    answer = None
                elif all(isinstance(each, dict) for each in values):
                    answer = parse_values(question, values)
                elif isinstance(value, str):
                    answer = ControlAnswer("text" if question in writing else "choice", value)
                else:
                    answer = parse_values(question, [{"value": value}])
            except ValueError as problem:
                refuse_answer(question, str(problem), place, reading, options)
                continue
            if answer is None:
                continue
            reading.kinds[question] = answer.kind
            yield (
                place,
                Judgement(
                    example=str(example),
                    worker=str(worker),
                    question=question,
                    answer=answer.answer,
                    seconds=parse_seconds(str(row.get("lead_time") or ""), place, reading.path),
                    at=str(row["created_at"]) if row.get("created_at") else None,
                ),
            )


def find_row_questions(
    rows: Sequence[Mapping[str, Any]], reading: Reading, options: JudgementOptions
) -> list[str]:
    """The columns that are questions; where none is known to be one, the caller must name it."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in RESERVED))
    if options.questions:
        return [name for name in names if name in options.questions.values()]
    annotated = [row for row in rows if row.get("annotation_id") is not None]
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for row in annotated:
        by_task.setdefault(str(row.get("id")), []).append(row)

    def is_question(name: str) -> bool:
        if name == options.only or any(is_result(row.get(name)) for row in annotated):
            return True
        if any(row.get(name) is None for row in annotated):
            return any(row.get(name) is not None for row in annotated)
        return any(len({repr(row.get(name)) for row in same}) > 1 for same in by_task.values())

    questions = [name for name in names if is_question(name)]
    order = list(rows[0]) if rows else []
    if (
        reading.form.endswith("MIN") and order and order[0] != "id"
    ):  # answers follow the number of the task
        behind = {
            name for row in rows if "id" in row for name in list(row)[list(row).index("id") + 1 :]
        }
        questions = [name for name in names if name in behind]
    rest = [name for name in names if name not in questions]
    if not questions and annotated:
        what = f"which column is the question? ({', '.join(names)})"
        cure = "pass --question label=COLUMN, or export JSON"
        raise BadInput(what, file=reading.path, cure=cure)
    if rest:
        reading.notes.add(
            f"columns taken as texts ({', '.join(rest)})",
            1,
            "--question OURS=COLUMN makes one a question",
        )
    return questions


def is_result(value: Any) -> bool:
    """Whether a cell can be nothing but what a control says."""
    values = value if isinstance(value, list) else [value]
    keys = ("rating", "number", "ranker", "selected", "choices", "labels", "taxonomy")
    return bool(values) and all(
        isinstance(each, dict)
        and (any(key in each for key in keys) or isinstance(each.get("text"), list))
        for each in values
    )


# Writing


def write_label_studio(
    path: Path,
    judgements: Iterable[Judgement],
    examples: Mapping[str, Example] | None = None,
    *,
    texts: Iterable[str] = (),
    overwrite: bool = False,
) -> int:
    """Write tasks with annotations for import, and next to them the labelling configuration as `NAME.xml`.

    Texts come from `examples` (by reference); `texts` names the questions whose answers people write. Returns how many
    tasks. Refuses answers that Label Studio has no control for.
    """
    config_path = path.with_suffix(".xml")
    if config_path == path:
        cure = "pass a file that ends with .json; the configuration is written next to it"
        raise BadInput("tasks of Label Studio must be JSON", file=path, cure=cure)
    refuse_existing(config_path, overwrite)
    written = frozenset(texts)
    tasks: dict[str, dict[tuple[Any, ...], list[Judgement]]] = {name: {} for name in examples or ()}
    controls: dict[str, dict[str, None]] = {}
    kinds: dict[str, str] = {}
    for judgement in judgements:
        kind, values = format_answer(judgement, judgement.question in written)
        kinds.setdefault(judgement.question, kind)
        for value in values:
            labels = (
                value.get("labels")
                or value.get("choices")
                or value.get("ranker", {}).get(judgement.question)
                or []
            )
            controls.setdefault(judgement.question, {}).update(dict.fromkeys(map(str, labels)))
        controls.setdefault(judgement.question, {})
        key = (judgement.worker, judgement.seconds, judgement.at, judgement.kind, judgement.comment)
        tasks.setdefault(judgement.example, {}).setdefault(key, []).append(judgement)
    inputs: dict[str, None] = {}
    ranked = [
        {"id": label, "title": label}
        for name, labels in controls.items()
        for label in sorted(labels)
        if kinds[name] == "ranker"
    ]
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(b"[")
        for place, (name, by_author) in enumerate(tasks.items()):
            data = dict(examples[name].inputs) if examples and name in examples else {}
            for taken in ("example", ANSWERS, LABELS):
                if taken in data:
                    what = f"{name} has an input {taken!r}, which is Label Studio's name of something else here"
                    raise BadInput(what, cure="rename the input")
            inputs |= dict.fromkeys(key for key, value in data.items() if isinstance(value, str))
            if ranked:
                data[LABELS] = ranked
            stream.write(
                (b",\n" if place else b"\n")
                + encode_json(format_task(name, data, by_author, written))
            )
        stream.write(b"\n]\n")
    config = format_config(
        list(inputs), {name: (kinds[name], list(labels)) for name, labels in controls.items()}
    )
    with atomic_write(config_path, overwrite=overwrite) as stream:
        stream.write(config.encode())
    return len(tasks)


def format_task(
    name: str,
    data: dict[str, Any],
    by_author: Mapping[tuple[Any, ...], Sequence[Judgement]],
    written: frozenset[str],
) -> dict[str, Any]:
    """A task with the annotations of each worker, and who gave them."""
    annotations = []
    authors = {}
    to = next((key for key, value in data.items() if isinstance(value, str)), "text")
    if "text" in data:
        to = "text"
    for number, ((worker, seconds, at, kind_of_answer, comment), answers) in enumerate(
        by_author.items(), start=1
    ):
        results = []
        for judgement in answers:
            kind, values = format_answer(judgement, judgement.question in written)
            for place, value in enumerate(values):
                if kind == "labels":
                    quote = str(data.get(to, ""))[value["start"] : value["end"]]
                    value = {**value, "text": quote} if quote else value  # noqa: PLW2901
                results.append(
                    {
                        "id": f"{number}-{judgement.question}-{place}",
                        "from_name": judgement.question,
                        "to_name": "list" if kind == "ranker" else to,
                        "type": kind,
                        "value": value,
                    }
                )
        empty = tuple(judgement.question for judgement in answers if judgement.answer == [])
        prelabels = {one.question: one.prelabel for one in answers if one.prelabel is not None}
        author = Author(worker, at, seconds, empty, kind_of_answer, comment, prelabels)
        authors[str(number)] = msgspec.to_builtins(author)
        annotations.append(
            {"id": number, "result": results, "lead_time": seconds, "ground_truth": False}
        )
    own = {ANSWERS: authors} if authors else {}
    return {"data": {**data, "example": name, **own}, "annotations": annotations}


def format_answer(judgement: Judgement, is_text: bool = False) -> tuple[str, list[dict[str, Any]]]:
    """The kind of control and the values that say an answer; none that Label Studio has no control for."""
    answer = judgement.answer
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return "number", [{"number": answer}]
    if isinstance(answer, str):
        return (
            ("textarea", [{"text": [answer]}]) if is_text else ("choices", [{"choices": [answer]}])
        )
    parts: list[Any] = msgspec.to_builtins(answer) if isinstance(answer, list) else [None]
    if all(isinstance(part, str) for part in parts) and parts:
        if is_text:
            return "textarea", [{"text": parts}]
        return "ranker", [{"ranker": {judgement.question: parts}}]
    if all(
        isinstance(part, dict) and {"start", "end"} <= part.keys() <= {"start", "end", "label"}
        for part in parts
    ):
        return "labels", [
            {"start": part["start"], "end": part["end"], "labels": [part.get("label", "")]}
            for part in parts
        ]
    what = f"{judgement.worker}'s answer to {judgement.question!r} about {judgement.example} has no control in Label Studio"
    raise BadInput(what, cure="write such answers as judgements.jsonl")


def format_config(inputs: Sequence[str], controls: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    """A labelling configuration that shows the texts and holds a control for each question."""
    lines = ["<View>"]
    lines += [
        f"  <Text name={quoteattr(name)} value={quoteattr('$' + name)}/>"
        for name in inputs or ("text",)
    ]
    to = quoteattr("text" if "text" in inputs or not inputs else inputs[0])
    for question, (kind, labels) in controls.items():
        name = quoteattr(question)
        if kind == "number":
            lines.append(f"  <Number name={name} toName={to}/>")
        elif kind == "textarea":
            lines.append(f"  <TextArea name={name} toName={to}/>")
        elif kind == "ranker":
            lines += [
                f'  <List name="list" value="${LABELS}"/>',
                f'  <Ranker name={name} toName="list"/>',
            ]
        else:
            tag, part = ("Labels", "Label") if kind == "labels" else ("Choices", "Choice")
            lines.append(f"  <{tag} name={name} toName={to}>")
            lines += [f"    <{part} value={quoteattr(label)}/>" for label in sorted(labels)]
            lines.append(f"  </{tag}>")
    return "\n".join([*lines, "</View>"]) + "\n"
