"""Task sheets of a build: the items as records and as CSV, and what is asked about them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.io.atomic import atomic_write
from nikawa.io.fit import fit
from nikawa.io.json import encode_json, read_json
from nikawa.recipes.forms import FORMS, Asked
from nikawa.recipes.store import PEOPLE, Store, digest
from nikawa.records import Example, Record

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet computes."""
ORDER = (
    "title",
    "context",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "english",
    "japanese",
    "marked",
    "text",
    "source",
    "relation",
    "targets",
    "question",
    "choices",
    "answer",
    "candidates",
    "votes",
    "check",
)
"""How a person reads the columns of a sheet, what is held against something after it; files keep inputs by name."""
SHEET, TASKS, CELLS = "sheet.json", "tasks.jsonl", "tasks.csv"


class Sheet(Record, frozen=True, kw_only=True):
    """What is asked of people: `sheet.json` beside the tasks, for the annotation pages as well as for readers."""

    recipe: str
    name: str
    title: str
    form: str
    question: str
    prompt: str
    labels: tuple[str, ...]
    scale: tuple[float, float] | None
    texts: int
    """How many texts a worker writes, where texts are asked for."""
    workers: int
    """How many different workers answer about each item."""
    items: int
    answer: str
    """The shape of an answer, in words."""
    language: str
    tasks: str
    """Digest of the items."""
    reports: tuple[str, ...] = ()
    """Words that hand an item back, instead of an answer."""


def write_sheet(store: Store, asked: Asked, examples: list[Example]) -> None:
    """The tasks as records and as a sheet, and what is asked; written once for the same items."""
    place, ask = store.out / PEOPLE / asked.ask.name, asked.ask
    sheet = Sheet(
        recipe=store.recipe.name,
        name=ask.name,
        title=ask.title,
        form=ask.form,
        question=ask.question,
        prompt=ask.prompt,
        labels=ask.labels,
        scale=ask.scale,
        texts=asked.texts,
        workers=asked.workers,
        items=len(examples),
        answer=FORMS[ask.form].answer,
        language=store.recipe.language,
        tasks=digest([e.id for e in examples], [e.inputs for e in examples]),
        reports=ask.reports,
    )
    if (place / SHEET).is_file() and read_json(place / SHEET, Sheet) == sheet:
        return
    with atomic_write(place / TASKS, overwrite=True) as stream:
        for example in examples:
            stream.write(fit(_shown(example))[0] + b"\n")
    write_cells(place / CELLS, examples)
    with atomic_write(place / SHEET, overwrite=True) as stream:
        stream.write(msgspec.json.format(encode_json(sheet), indent=2) + b"\n")


def _shown(example: Example) -> Example:
    """An item as people may see it: no gold, nothing of how it was made."""
    return Example(id=example.id, inputs=example.inputs, group=example.group)


def write_cells(path: Path, examples: Sequence[Example]) -> None:
    """Items as a CSV sheet: id and inputs; lists as lines of a cell. It opens in spreadsheets as UTF-8.

    Workers write some of the texts: one that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    names = sorted({name for example in examples for name in example.inputs}, key=_reading)
    with atomic_write(path, overwrite=True) as stream, io.StringIO() as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["example", *names])
        for example in examples:
            writer.writerow(
                [_cell(example.id), *(_cell(example.inputs.get(name)) for name in names)]
            )
        stream.write(b"\xef\xbb\xbf" + text.getvalue().encode())


def _reading(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = "\n".join(map(_plain, value)) if isinstance(value, list | tuple) else _plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def unquoted(cell: str) -> str:
    """What stood in a cell before the apostrophe that keeps it from being a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()
