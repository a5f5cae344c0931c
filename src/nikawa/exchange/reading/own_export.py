"""Tasks that `nikawa data export` wrote: their folder has the rows and a description, so nothing has to be read from the task's code.

The Python file of a task describes it as JSON, and `data/` has one file of rows per split and the few-shot examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from nikawa.datasets.import_table import FIELDS, GOLD_FIELD, NO_COLUMN
from nikawa.errors import BadInput
from nikawa.exchange.base import ANSWER, CHOICES, NOTE, PROMPT, TARGET
from nikawa.exchange.reading.convert import Plan
from nikawa.exchange.reading.definition import Definition, ReadFault, ToolName
from nikawa.exchange.reading.places import read_definition_text
from nikawa.io.flat_tables import FlatTable, Row, open_table
from nikawa.io.json import decode_json
from nikawa.records import Kind

NAMED_MODULE = re.compile(r"\b(nikawa_\w+)\.(?:load_rows|Exported\w+)\b")
"""How a YAML or Jsonnet file names the Python file of its task."""
DESCRIPTION = re.compile(
    r"^ABOUT = json\.loads\(\n    r'''\n(.*?)\n'''\n\)$", re.DOTALL | re.MULTILINE
)
SHOTS = "_shots"
GOLD = "gold"
ADDED = (PROMPT, ANSWER, CHOICES, TARGET, NOTE, GOLD)
"""Columns that an export adds to the inputs."""


class ExportedDataset(msgspec.Struct):
    """The dataset, as the description has it."""

    name: str
    version: str
    licence: str = ""


class AskedTask(msgspec.Struct):
    """The task, as the description has it."""

    name: str
    kind: Kind
    question: str
    inputs: tuple[str, ...]
    labels: tuple[str, ...]


class About(msgspec.Struct):
    """The description of an export."""

    dataset: ExportedDataset
    task: AskedTask
    splits: dict[str, str] = {}
    """The names of splits that have others in the names of files."""


@dataclass
class OwnExport:
    """A task in the folder of an export."""

    definition: Definition
    plan: Plan
    question: str
    tables: list[FlatTable]
    facts: dict[str, Any]


def read_own_export(file: Path, tool: str) -> OwnExport | None:
    """The task of an export of Nikawa; None if the file is not one."""
    module = find_module(file)
    if module is None:
        return None
    text = module.read_text("utf-8", "replace")
    match = DESCRIPTION.search(text)
    if match is None:
        return None
    about = decode_json(match[1], About, module)
    task = about.task
    if task.kind not in FIELDS:
        cure = "export its records instead: nikawa data export DATASET --to jsonl --out FOLDER"
        raise BadInput(f"a flat table cannot represent {task.kind}", file=file, cure=cure)
    gold = GOLD_FIELD[task.kind]
    columns = {name: name for name in (*task.inputs, gold)}
    if task.kind == "text" and len(task.inputs) == 1:
        columns = {"text": task.inputs[0], gold: gold}
    if task.kind == "reading":
        columns.setdefault("title", NO_COLUMN)
    tables = [
        make_table(path, about.splits.get(split, split), gold)
        for split, path in list_splits(module).items()
    ]
    if not tables:
        where = f"data/{module.stem}_*.jsonl"
        raise BadInput(f"its rows are missing: {where}", file=file, cure="export it again")
    notes: tuple[str, ...] = (
        "It is an export of Nikawa: rows, labels and answers are those of the dataset.",
    )
    if any(table.path.stem.endswith(SHOTS) for table in tables):
        notes += ("Its few-shot examples are the split train.",)
    facts: dict[str, Any] = {"version": about.dataset.version}
    if about.dataset.licence:
        facts["licence"] = about.dataset.licence
    definition = Definition(
        tool=cast("ToolName", tool), name=task.name, file=str(file), notes=notes
    )
    plan = Plan(task.kind, {"id": "id", **columns}, task.labels)
    return OwnExport(definition, plan, task.question, tables, facts)


def find_module(file: Path) -> Path | None:
    """The Python file of an export: the file itself, or the one next to it that it names."""
    if file.suffix == ".py":
        return file if file.is_file() and file.stem.startswith("nikawa_") else None
    try:
        match = NAMED_MODULE.search(read_definition_text(file))
    except ReadFault:  # the reader of the tool reports it
        return None
    module = file.with_name(f"{match[1]}.py") if match else None
    return module if module is not None and module.is_file() else None


def list_splits(module: Path) -> dict[str, Path]:
    """The splits of an export and their files; the few-shot examples are train where there is no other."""
    prefix = f"{module.stem}_"
    others = [f"{other.stem}_" for other in module.parent.glob(f"{prefix}*.py")]
    splits = {
        path.stem.removeprefix(prefix): path
        for path in sorted((module.parent / "data").glob(f"{prefix}*.jsonl"))
        if not path.stem.startswith(tuple(others))
    }
    shots = splits.pop(SHOTS.removeprefix("_"), None)
    return splits if shots is None else {"train": shots, **splits}


def make_table(path: Path, split: str, gold: str) -> FlatTable:
    """The rows of a split with the gold answer, without what an export adds."""
    table = open_table(path, split)

    def read() -> Iterator[tuple[int, Row]]:
        for line, row in table.read():
            new = {name: value for name, value in row.items() if name not in ADDED}
            answer = row.get(GOLD)  # missing if the label is hidden
            new[gold] = None if answer is None else decode_json(str(answer), object, path, line)
            yield line, new

    return replace(table, split=split, read=read)
