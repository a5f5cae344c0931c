"""Label Studio's JSON: tasks with their annotations, choices, ratings and numbers; in and out.

The item is `data.example` where the task holds it (as our own export does), else `data.id`, else
the task's id. The question is the control tag (`from_name`). Skipped annotations and empty results
are noted and hold no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json, read_json
from nikawa.io.judgements.base import BLANK, Reading
from nikawa.records import Example, Judgement

SKIPPED = "skipped annotations"
ANSWER_KINDS = ("choices", "rating", "number", "text")


class Result(msgspec.Struct):
    """One control's outcome."""

    value: dict[str, Any]
    from_name: str = "label"
    type: str = ""


class Annotation(msgspec.Struct):
    """One worker's outcome of a task."""

    result: list[Result] = []
    completed_by: int | str | dict[str, Any] | None = None
    lead_time: float | None = None
    created_at: str | None = None
    was_cancelled: bool = False


class Item(msgspec.Struct):
    """A task of an export."""

    id: int | str | None = None
    data: dict[str, Any] = {}
    annotations: list[Annotation] = []


def read_label_studio(path: Path) -> Reading:
    """Open an export; places are tasks, counted from 1."""
    reading = Reading(path, "label-studio", iter(()), "persons", place="task")

    def judge() -> Iterator[tuple[int, Judgement]]:
        for place, task in enumerate(read_json(path, list[Item]), start=1):
            example = task.data.get("example", task.data.get("id", task.id))
            if example in (None, ""):
                raise reading.fault(place, "has no id", "give each task an id, or data.example")
            for annotation in task.annotations:
                for judgement in parse_annotation(annotation, str(example), place, reading):
                    yield place, judgement

    reading.rows = judge()
    return reading


def parse_annotation(
    annotation: Annotation, example: str, place: int, reading: Reading
) -> Iterator[Judgement]:
    """The judgements of one annotation.

    One that was skipped or is empty is noted and gives none.
    """
    if annotation.was_cancelled:
        reading.notes.add(SKIPPED, place, "no answer counted")
        return
    worker = annotation.completed_by
    if isinstance(worker, dict):
        names = (worker[name] for name in ("email", "username", "id") if worker.get(name))
        worker = next(names, None)
    if worker in (None, ""):
        raise reading.fault(place, "an annotation names no worker", "export with completed_by")
    if not annotation.result:
        reading.notes.add(BLANK, place)
    for result in annotation.result:
        answer = parse_result(result, place, reading)
        if answer is not None:
            yield Judgement(
                example=example,
                worker=str(worker),
                question=result.from_name,
                answer=answer,
                seconds=annotation.lead_time,
                at=annotation.created_at,
            )


def parse_result(result: Result, place: int, reading: Reading) -> Any:
    """The answer in a result: a choice, rating, number or text; None, noted, where it is blank."""
    kind = next((kind for kind in ANSWER_KINDS if kind in result.value), None)
    value = None if kind is None else result.value[kind]
    if value is None and result.value:
        what = f"has an answer of another kind ({', '.join(result.value)})"
        raise reading.fault(place, what, "choices, rating, number and text are read")
    if isinstance(value, list):
        if len(value) > 1:
            what = f"has several choices for {result.from_name!r}"
            raise reading.fault(place, what, "agreement takes one")
        value = value[0] if value else None
    if value in (None, ""):
        reading.notes.add(BLANK, place)
        return None
    return value


def write_label_studio(
    path: Path,
    judgements: Iterable[Judgement],
    examples: Mapping[str, Example] | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Tasks with annotations, to be imported; texts come from `examples` (by reference).

    Returns how many tasks.
    """
    tasks: dict[str, dict[str, list[Judgement]]] = {name: {} for name in examples or ()}
    for judgement in judgements:
        tasks.setdefault(judgement.example, {}).setdefault(judgement.worker, []).append(judgement)
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(b"[")
        for place, (name, by_worker) in enumerate(tasks.items()):
            inputs = examples[name].inputs if examples and name in examples else {}
            annotations = []
            for worker, answers in by_worker.items():
                annotation = {
                    "completed_by": worker,
                    "lead_time": answers[0].seconds,
                    "created_at": answers[0].at,
                    "result": [format_result(judgement) for judgement in answers],
                }
                annotations.append(annotation)
            task = {"data": {**inputs, "example": name}, "annotations": annotations}
            stream.write((b",\n" if place else b"\n") + encode_json(task))
        stream.write(b"\n]\n")
    return len(tasks)


def format_result(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a result of Label Studio.

    Refuses answers that are neither a label nor a number.
    """
    answer = judgement.answer
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    if not is_number and not isinstance(answer, str):
        what = f"the answer about {judgement.example} is neither a label nor a number"
        raise BadInput(what, cure="such answers are written as judgements.jsonl alone")
    kind, value = ("number", answer) if is_number else ("choices", [answer])
    return {
        "from_name": judgement.question,
        "to_name": "text",
        "type": kind,
        "value": {kind: value},
    }
