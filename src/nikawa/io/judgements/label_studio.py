"""Label Studio's JSON: tasks with their annotations, choices, ratings and numbers; in and out.

The item is `data.example` where the task holds it (as our own export does), else `data.id`, else the task's id. The
question is the control tag (`from_name`). Skipped annotations and empty results are noted and hold no answer.
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


def read(path: Path) -> Reading:
    """Open an export; places are tasks, counted from 1."""
    reading = Reading(path, "label-studio", iter(()), "persons", place="task")
    reading.rows = _rows(path, reading)
    return reading


def _rows(path: Path, reading: Reading) -> Iterator[tuple[int, Judgement]]:
    for place, task in enumerate(read_json(path, list[Item]), start=1):
        example = task.data.get("example", task.data.get("id", task.id))
        if example in (None, ""):
            raise reading.fault(place, "has no id", "give each task an id, or data.example")
        for annotation in task.annotations:
            yield from _judged(annotation, str(example), place, reading)


def _judged(
    annotation: Annotation, example: str, place: int, reading: Reading
) -> Iterator[tuple[int, Judgement]]:
    if annotation.was_cancelled:
        reading.notes.add(SKIPPED, place, "no answer counted")
        return
    worker = _worker(annotation.completed_by)
    if worker is None:
        raise reading.fault(place, "an annotation names no worker", "export with completed_by")
    if not annotation.result:
        reading.notes.add(BLANK, place)
    for result in annotation.result:
        answer = _answer(result, place, reading)
        if answer is not None:
            yield (
                place,
                Judgement(
                    example=example,
                    worker=worker,
                    question=result.from_name,
                    answer=answer,
                    seconds=annotation.lead_time,
                    at=annotation.created_at,
                ),
            )


def _worker(by: int | str | dict[str, Any] | None) -> str | None:
    if isinstance(by, dict):
        by = next((by[name] for name in ("email", "username", "id") if by.get(name)), None)
    return None if by in (None, "") else str(by)


def _answer(result: Result, place: int, reading: Reading) -> Any:
    value = next(
        (
            result.value[kind]
            for kind in ("choices", "rating", "number", "text")
            if kind in result.value
        ),
        None,
    )
    if value is None and result.value:
        kinds = ", ".join(result.value)
        raise reading.fault(
            place,
            f"has an answer of another kind ({kinds})",
            "choices, rating, number and text are read",
        )
    if isinstance(value, list):
        if len(value) > 1:
            raise reading.fault(
                place, f"has several choices for {result.from_name!r}", "agreement takes one"
            )
        value = value[0] if value else None
    if value in (None, ""):
        reading.notes.add(BLANK, place)
        return None
    return value


def write(
    path: Path,
    judgements: Iterable[Judgement],
    examples: Mapping[str, Example] | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Tasks with annotations, to be imported; texts come from `examples` (by reference). Returns how many tasks."""
    tasks: dict[str, dict[str, list[Judgement]]] = {name: {} for name in examples or ()}
    for judgement in judgements:
        tasks.setdefault(judgement.example, {}).setdefault(judgement.worker, []).append(judgement)
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(b"[")
        for place, (name, by_worker) in enumerate(tasks.items()):
            data = {
                **(examples[name].inputs if examples and name in examples else {}),
                "example": name,
            }
            done = [_annotation(worker, given) for worker, given in by_worker.items()]
            stream.write(
                (b",\n" if place else b"\n") + encode_json({"data": data, "annotations": done})
            )
        stream.write(b"\n]\n")
    return len(tasks)


def _annotation(worker: str, given: list[Judgement]) -> dict[str, Any]:
    first = given[0]
    return {
        "completed_by": worker,
        "lead_time": first.seconds,
        "created_at": first.at,
        "result": [_result(judgement) for judgement in given],
    }


def _result(judgement: Judgement) -> dict[str, Any]:
    answer = judgement.answer
    number = isinstance(answer, int | float) and not isinstance(answer, bool)
    if not number and not isinstance(answer, str):
        raise BadInput(
            f"the answer about {judgement.example} is neither a label nor a number",
            cure="such answers are written as judgements.jsonl alone",
        )
    kind, value = ("number", answer) if number else ("choices", [answer])
    return {
        "from_name": judgement.question,
        "to_name": "text",
        "type": kind,
        "value": {kind: value},
    }
