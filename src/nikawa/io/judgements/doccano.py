"""doccano's JSON lines: a file a worker, called by the worker's name, or rows that name their
worker.

The item is the row's `example` where it has one (as our own export does), else its `id`; the answer
is the only label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.io.file_names import check_file_names
from nikawa.io.json import encode_json, read_json_lines
from nikawa.io.judgements.base import BLANK, Notes, Reading
from nikawa.records import Example, Judgement

UNNAMED = ("all", "admin", "unknown")
"""Names of files that doccano gives to the answers of nobody in particular."""


class Row(msgspec.Struct):
    """A row of an export; what else it holds are the texts and their metadata."""

    id: int | str | None = None
    example: str | None = None
    label: list[Any] | str | int | float | None = None
    labels: list[Any] | None = None
    worker: str | None = None
    annotator: str | int | None = None
    username: str | None = None


def read_doccano(path: Path, question: str) -> Reading:
    """Open a file, or a folder with a file a worker."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise BadInput("holds no .jsonl files", file=path, cure="unpack doccano's export there")
    reading = Reading(path, "doccano", iter(()), "persons")

    def judge() -> Iterator[tuple[int, Judgement]]:
        for file in files:
            reading.file = file
            for line, row in read_json_lines(file, Row):
                judgement = parse_row(row, line, file, question, reading.notes)
                if judgement is not None:
                    yield line, judgement

    reading.rows = judge()
    return reading


def parse_row(row: Row, line: int, file: Path, question: str, notes: Notes) -> Judgement | None:
    """The judgement of a row; None where it has no label, which is noted."""
    example = row.example or row.id
    if example in (None, ""):
        raise BadInput("has no id", file=file, line=line, cure="export with ids")
    worker = row.worker or row.username or row.annotator or file.name.split(".")[0]
    if worker in UNNAMED:
        cure = "export a file a user, or name the worker in each row"
        raise BadInput(f"names no worker, and {worker!r} is none", file=file, line=line, cure=cure)
    value = row.labels if row.labels is not None else row.label
    labels = value if isinstance(value, list) else [value]
    if len(labels) > 1:
        cure = "agreement takes one answer a question"
        raise BadInput(f"has {len(labels)} labels", file=file, line=line, cure=cure)
    if not labels or labels[0] in (None, ""):
        notes.add(BLANK, line)
        return None
    answer = labels[0]
    if not isinstance(answer, str | int | float):
        cure = "spans are read from judgements.jsonl; relations have no agreement here"
        raise BadInput("has a label that is no word or number", file=file, line=line, cure=cure)
    return Judgement(example=str(example), worker=str(worker), question=question, answer=answer)


def write_doccano(
    folder: Path,
    judgements: Iterable[Judgement],
    examples: Mapping[str, Example] | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """A folder with a file a worker; texts come from `examples` (by reference).

    Returns how many answers.
    """
    by_worker: dict[str, list[bytes]] = {}
    for judgement in judgements:
        example = examples.get(judgement.example) if examples else None
        inputs = example.inputs.values() if example else ()
        text = "\n".join(value for value in inputs if isinstance(value, str))
        row = {"example": judgement.example, "text": text, "label": [judgement.answer]}
        by_worker.setdefault(judgement.worker, []).append(encode_json(row) + b"\n")
    cure = "rename the worker, use pseudonyms, or write a form that is one file"
    check_file_names(by_worker, "worker", file=folder, cure=cure)
    with atomic_folder(folder, overwrite=overwrite) as place:
        for worker, lines in by_worker.items():
            (place / f"{worker}.jsonl").write_bytes(b"".join(lines))
    return sum(map(len, by_worker.values()))
