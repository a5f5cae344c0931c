"""`nikawa data import --from TOOL`: a task of another tool becomes a dataset folder. No code of the task is run."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.import_table import (
    GOLD_FIELD,
    ImportOptions,
    ImportReport,
    import_rows,
)
from nikawa.datasets.lineage import INDEX, LINEAGE, Lineage, Step, write_lineage
from nikawa.datasets.load import guess_split, load
from nikawa.datasets.names import SPLIT_ALIASES
from nikawa.errors import BadInput, list_names, place_fault, unknown
from nikawa.exchange.reading.child import apply_definition, define_task
from nikawa.exchange.reading.convert import (
    TARGET,
    Plan,
    Split,
    choose_plan,
    make_rows,
    refuse_unread,
)
from nikawa.exchange.reading.definition import (
    TOOLS,
    Analysis,
    Definition,
    ReadFault,
    Source,
)
from nikawa.exchange.reading.metrics import MetricMatch, match_metrics
from nikawa.exchange.reading.own_export import read_own_export
from nikawa.exchange.reading.places import find_near
from nikawa.exchange.reading.prompt_file import PROMPT_FILE, check_prompt, write_prompt
from nikawa.io.atomic import atomic_write
from nikawa.io.cards import MADE_HERE
from nikawa.io.flat_tables import FlatTable, Row, open_table, open_tables, suffix_of
from nikawa.records import Card, reference
from nikawa.version import __version__

MISSING_CELLS = frozenset(
    (
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    )
)
"""Cells of a CSV file that the datasets library reads as missing (pandas' list)."""
WHOLE, NUMBER = (
    re.compile(r"[-+]?\d{1,18}"),
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?"),
)


@dataclass(frozen=True)
class TaskOptions:
    """How to read a task of another tool."""

    tool: str
    """`lm-eval`, `flexeval` or `inspect`."""
    task: str = ""
    """The task, if the file has several."""
    data: Path | None = None
    """The data of the task: a file or a folder, instead of what the task names."""
    ignore: tuple[str, ...] = ()
    """Parts of the task that cannot be read and that change nothing in this data."""
    table: ImportOptions = field(default_factory=ImportOptions)
    """Columns, kind, labels and card, as for a table."""


class TaskReport(ImportReport, frozen=True, kw_only=True):
    """The result of importing a task."""

    tool: str
    task: str
    evaluated: tuple[str, ...]
    """The splits that the task evaluates."""
    unread: tuple[str, ...]
    """What could not be read, and what it determines."""
    notes: tuple[str, ...]
    metrics: tuple[MetricMatch, ...]
    """The metrics of the tool, each with Nikawa's."""
    prompt: str
    """The prompt file; empty if the prompt cannot be kept."""


def import_task(file: Path, out: Path, options: TaskOptions) -> TaskReport:
    """Write the dataset folder `out` from a task of another tool.

    Raises `BadInput` if the task or its data cannot be read, or do not determine the answers; then nothing is written.
    """
    if options.tool not in TOOLS:
        raise unknown("tool", options.tool, TOOLS)
    read = read_own_task(file, options) or read_task(file, options)
    definition, plan = read.definition, read.plan
    places: dict[str, list[tuple[str, int]]] = {}
    for table in read.tables:
        lines = places.setdefault(table.split, [])
        lines += [(table.path.name, place) for place, _ in table.read()]
    finisher = Finisher(definition, plan, read.prompt, read.reason, options, places)
    report = import_rows(
        read.tables,
        out,
        replace(
            options.table,
            kind=plan.kind,
            columns=plan.columns,
            split=None,
            question=options.table.question or read.question,
        ),
        file,
        facts=describe_task(definition, options, file, out, plan, read.question) | dict(read.facts),
        further_files=(PROMPT_FILE, LINEAGE, INDEX),
        finish=finisher.finish,
    )
    notes = [*definition.notes, *plan.notes]
    if any('"' in label or "「" in label for label in report.labels):
        notes.append("Some labels have quotation marks, as in the task; --labels can rename them.")
    unread = [str(part) for part in definition.unread]
    if finisher.reason:
        unread.append(f"the prompt is not kept as a prompt file: {finisher.reason}")
    return TaskReport(
        **{name: getattr(report, name) for name in report.__struct_fields__},
        tool=definition.tool,
        task=definition.name,
        evaluated=read.evaluated,
        unread=tuple(unread),
        notes=tuple(notes),
        metrics=tuple(finisher.metrics),
        prompt=str(out / PROMPT_FILE) if finisher.content else "",
    )


@dataclass
class ReadTask:
    """What a task's file and data give."""

    definition: Definition
    plan: Plan
    tables: list[FlatTable]
    evaluated: tuple[str, ...]
    prompt: str = ""
    """The content of the prompt file."""
    reason: str = ""
    """Why the prompt is not kept."""
    question: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the card."""


def read_own_task(file: Path, options: TaskOptions) -> ReadTask | None:
    """A task that Nikawa exported, unless the user says how to read it."""
    table = options.table
    if options.data or options.task or options.ignore or table.columns or table.kind or table.split:
        return None
    own = read_own_export(file, options.tool)
    if own is None:
        return None
    evaluated = tuple(table.split for table in own.tables if table.split != "train")
    return ReadTask(
        own.definition, own.plan, own.tables, evaluated, question=own.question, facts=own.facts
    )


def read_task(file: Path, options: TaskOptions) -> ReadTask:
    """Any other task."""
    definition = define_task(file, options.tool, options.task)
    refuse_unread(definition, options.table, options.ignore, has_data=options.data is not None)
    splits = []
    sources: dict[str, Source] = {}
    analysis = Analysis()
    for source in definition.sources:
        for table in find_tables(definition, source, options.data):
            split, own = read_split(definition, source, table, options.table)
            first = sources.setdefault(split.split, source)
            if first is not source:
                what = f"two parts of its data are the split {split.split!r}"
                raise BadInput(what, file=file, cure="name the evaluated one: --split NAME")
            splits.append(split)
            analysis = own if split.is_evaluated else analysis
    refuse_faults(splits)
    plan = choose_plan(definition, analysis, splits, options.table)
    if options.table.labels and plan.columns.get(GOLD_FIELD["choice"]) == TARGET:
        what = "--labels renames labels, but this is a choice task: its choices differ, or the prompt lists them"
        raise BadInput(what, file=file, cure="omit --labels, or pass another --kind")
    tables = [replace_table(split, make_rows(split, plan)) for split in splits]
    prompt, reason = write_prompt(definition, analysis, plan)
    evaluated = tuple(dict.fromkeys(s.split for s in splits if s.is_evaluated))
    return ReadTask(definition, plan, tables, evaluated, prompt, reason)


# Data


def find_tables(definition: Definition, source: Source, data: Path | None) -> list[FlatTable]:
    """The tables of a split: those of the user's data, of the files that the task names, or of the task's file itself."""
    task = Path(definition.file)
    if definition.samples and data is None:
        rows = list(enumerate(definition.samples, start=1))
        return [FlatTable(task, "", lambda: iter(rows), "sample")]
    if data is not None:
        tables = open_tables(data)
        if len(tables) == 1 and not data.is_dir():  # one file is what the task evaluates
            return tables if source.role == "evaluated" else []
        return choose_tables(tables, source, data, is_only=len(definition.sources) == 1)
    try:
        if source.hub:
            if "://" not in source.hub and "\0" not in source.hub:
                folder = Path(source.hub)
                bases = {task.parent, Path()}
                if any((base / folder).is_dir() for base in bases):
                    place = find_near(source.hub, task, cure=CURE)
                    return choose_tables(open_tables(place), source, place, is_only=False)
            raise refuse_hub(definition, source)
        if source.files:
            paths = [path for name in source.files for path in expand(name, task)]
            return [open_source(path, source) for path in paths]
        if source.folder:
            place = find_near(source.folder, task, cure=CURE)
            return choose_tables(open_tables(place), source, place, is_only=False)
    except ReadFault as fault:
        raise BadInput(f"its data {fault.what}", file=task, cure=fault.cure) from None
    raise BadInput("does not say where its data is", file=task, cure="pass it: --data FILE")


CURE = "pass the data: --data FILE"


def refuse_hub(definition: Definition, source: Source) -> BadInput:
    """The error for data that is not on this machine."""
    address, _, name = source.hub.partition(" (")
    what = f"its data is at {source.hub}, and nikawa downloads no data of tasks"
    if "://" in address:
        cure = "download it, then pass the file: --data FILE"
    else:
        download = f"hf download {quote(address)} --repo-type dataset --local-dir DATA"
        part = f" of the configuration {name.rstrip(')')}" if name else ""
        cure = f"download it ({download}), then pass the folder with the files{part}: --data FOLDER"
    return BadInput(what, file=definition.file, cure=cure)


def expand(name: str, task: Path) -> list[Path]:
    """The files that a name means; `*` in the last part means several."""
    if "://" in name:
        raise ReadFault(f"is at {name}", "download it, then pass the file: --data FILE")
    folder, last = Path(name).parent, Path(name).name
    if "*" not in last:
        return [find_near(name, task, cure=CURE)]
    files = sorted(
        path for path in find_near(str(folder), task, cure=CURE).glob(last) if path.is_file()
    )
    if not files:
        raise ReadFault(f"{name!r} matches no file", CURE)
    return files


def choose_tables(
    tables: Sequence[FlatTable], source: Source, place: Path, *, is_only: bool
) -> list[FlatTable]:
    """The tables of a split in a folder or file."""
    if len(tables) == 1 and (is_only or not (place.is_dir() or source.split)):
        return list(tables)
    own = [table for table in tables if source.split and table.split == source.split]
    if own:
        return own
    usual = SPLIT_ALIASES.get(source.split, source.split)
    own = [
        table
        for table in tables
        if SPLIT_ALIASES.get(table.split, table.split) == usual or guess_split(table.path) == usual
    ]
    if len({table.split for table in own}) == 1:
        return own
    if source.role == "other":
        return []
    if len(tables) == 1 and not place.is_dir():
        return list(tables)
    names = list_names(table.path.name for table in tables)
    raise BadInput(
        f"has no file of the split {source.split!r}: {names}",
        file=place,
        cure=f"name a file after the split ({source.split or 'test'}.jsonl), or pass one file",
    )


def open_source(path: Path, source: Source) -> FlatTable:
    """The table of a file that a task names."""
    if not source.columns or not suffix_of(path).startswith((".csv", ".tsv")):
        return open_table(path, "")

    def read() -> Iterator[tuple[int, Row]]:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter="\t" if suffix_of(path) == ".tsv" else ",")
            for cells in reader:
                if len(cells) != len(source.columns):
                    what = f"has {len(cells)} cells for {len(source.columns)} columns"
                    raise BadInput(what, file=path, line=reader.line_num, cure="correct the row")
                yield reader.line_num, dict(zip(source.columns, cells, strict=True))

    return FlatTable(path, "", read, columns=source.columns)


def read_split(
    definition: Definition, source: Source, table: FlatTable, options: ImportOptions
) -> tuple[Split, Analysis]:
    """The rows of a table with what the task computes for them."""
    columns = tuple(table.list_columns())
    rows = list(table.read())
    if source.typed:
        if suffix_of(table.path).startswith((".csv", ".tsv")):
            rows = type_cells(rows, columns)
        rows = [(place, {name: row.get(name) for name in columns}) for place, row in rows]
    elif suffix_of(table.path).startswith((".csv", ".tsv")):  # an empty cell is a text for inspect
        rows = [(place, {name: row.get(name, "") for name in columns}) for place, row in rows]
    if source.rows is not None:
        rows = rows[source.rows[0] : source.rows[1]]
    analysis, items = apply_definition(
        definition, columns, (row for _, row in rows), source.filters
    )
    split = Split(
        table, name_split(source, table, options), rows, items, source.role == "evaluated"
    )
    return split, analysis


def name_split(source: Source, table: FlatTable, options: ImportOptions) -> str:
    """The split of a table: the user's for the evaluated one, the task's, that of the file name, else by its role."""
    if source.role == "evaluated" and options.split is not None:
        return options.split
    named = source.split or ("" if table.unit == "sample" else guess_split(table.path))
    if named in ("", "all"):
        named = "test" if source.role == "evaluated" else "train"
    return SPLIT_ALIASES.get(named, named)


def type_cells(rows: list[tuple[int, Row]], columns: Sequence[str]) -> list[tuple[int, Row]]:
    """Cells of a CSV file as the datasets library reads them: a column of numbers holds numbers."""
    made: list[tuple[int, Row]] = [(place, {}) for place, _ in rows]
    for name in columns:
        cells = [row.get(name) for _, row in rows]
        texts = [None if cell is None or cell in MISSING_CELLS else str(cell) for cell in cells]
        present = [text for text in texts if text is not None]
        convert: Any = str
        if present and all(WHOLE.fullmatch(text) for text in present):
            convert = int if len(present) == len(texts) else float
        elif present and all(NUMBER.fullmatch(text) for text in present):
            convert = float
        elif present and set(present) <= {"True", "False", "true", "false", "TRUE", "FALSE"}:
            convert = _read_bool
        for (_, row), text in zip(made, texts, strict=True):
            row[name] = None if text is None else convert(text)
    return made


def _read_bool(text: str) -> bool:
    return text.lower() == "true"


def refuse_faults(splits: Sequence[Split]) -> None:
    """Raise the first fault of a row."""
    for split in splits:
        for (place, _), item in zip(split.rows, split.items, strict=True):
            if item.fault:
                what, _, cure = item.fault.partition("\n")
                table = split.table
                raise place_fault(what, file=table.path, unit=table.unit, place=place, cure=cure)


def replace_table(split: Split, rows: list[tuple[int, Row]]) -> FlatTable:
    """The table with the rows that are imported."""
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    table = split.table
    return FlatTable(
        table.path,
        split.split,
        lambda: iter(rows),
        table.unit,
        table.classes,
        tuple(names),
    )


# Card, lineage, prompt


def describe_task(
    definition: Definition,
    options: TaskOptions,
    file: Path,
    out: Path,
    plan: Plan,
    question: str | None = None,
) -> dict[str, Any]:
    """The fields of the card that follow from the task."""
    command = (
        f"nikawa data import {quote(file.name)} --from {definition.tool} --out {quote(out.name)}"
    )
    data = [source.hub or ", ".join(source.files) or source.folder for source in definition.sources]
    if options.data is not None:
        data = [options.data.name]
    described = ", ".join(
        dict.fromkeys(
            Path(part).name if not is_hub_address(part) else part for part in data if part
        )
    )
    labels = tuple(options.table.labels.get(label, label) for label in plan.labels)
    question = (
        options.table.question or question or {"relation": "relation"}.get(plan.kind, "label")
    )
    facts: dict[str, Any] = {
        "homepage": f"{MADE_HERE}{command}",
        "description": " ".join(
            [
                f"The {definition.tool} task {definition.name}, read from {file.name}.",
                *definition.notes,
                *plan.notes,
            ]
        ),
        "labels": "those of the task",
    }
    if described:
        facts["source"] = f"the data of the task: {described}"
    problems = [f"Not read from the task: {part}." for part in definition.unread]
    if problems:
        facts["problems"] = problems
    if labels and plan.kind in ("text", "inference", "relation"):
        facts["label_sets"] = {question: list(dict.fromkeys(labels))}
    return facts


def is_hub_address(part: str) -> bool:
    """Whether data is on a hub."""
    return not Path(part).suffix or "://" in part


@dataclass
class Finisher:
    """Adds the prompt and the lineage to the folder before it is in place."""

    definition: Definition
    plan: Plan
    content: str
    reason: str
    options: TaskOptions
    places: dict[str, list[tuple[str, int]]]
    """Split to the file and the place of each example."""
    metrics: Sequence[MetricMatch] = ()

    def finish(self, folder: Path, card: Card) -> None:
        """Write the files, and compare the metrics."""
        tasks = custom_tasks(str(folder))
        self.metrics = match_metrics(self.definition, tasks[0])
        if self.content:
            path = folder / PROMPT_FILE
            with atomic_write(path, inside=folder) as stream:
                stream.write(self.with_words().encode())
            self.reason = check_prompt(path, tasks[0])
            if self.reason:
                path.unlink()
                self.content = ""
        write_lineage(folder, self.trace(folder, card))

    def with_words(self) -> str:
        """The prompt, with the words of the task for labels that are renamed."""
        renamed = {
            new: old for old, new in self.options.table.labels.items() if old in self.plan.labels
        }
        if not renamed:
            return self.content
        words = "\n".join(f"{label} = {word}" for label, word in renamed.items())
        return f"{self.content}\n== labels ==\n{words}\n"

    def trace(self, folder: Path, card: Card) -> Iterator[Lineage]:
        """The history of each example: the task, its prompt and its answer."""
        definition = self.definition
        name = Path(definition.file).name
        steps = [
            Step(stage=part, item=f"{name}:{definition.name}", rule=describe_text(text))
            for part, text in (
                ("prompt", definition.prompt),
                ("choices", definition.choices),
                ("answer", definition.target),
            )
            if text is not None
        ]
        for split, examples in load(str(folder)).splits.items():
            for example, (file, place) in zip(examples, self.places[split], strict=True):
                yield Lineage(
                    example=reference(card.name, split, example.id),
                    item=example.id,
                    split=split,
                    recipe=f"{definition.tool}:{definition.name}",
                    version=card.version,
                    nikawa=__version__,
                    inputs=example.inputs,
                    gold=example.gold,
                    tags=tuple(sorted(example.tags)),
                    sources=({"item": example.id, "file": file, "line": place},),
                    steps=tuple(steps),
                )


def describe_text(text: Any) -> str:
    """A text of the task as its file has it."""
    value = text.value if isinstance(text.value, str) else msgspec.json.encode(text.value).decode()
    return f"{text.form}: {value}"[:2000]
