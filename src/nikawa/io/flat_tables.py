"""Flat tables of anybody's making: a row an item, a column a value, whatever the columns are called.

JSON lines, JSON (an array of objects, or SQuAD's nested form), CSV, TSV, Parquet, and folders as Hugging
Face `datasets` writes them: `save_to_disk`, `to_parquet`, or a repository with a file a split. Numbers
that stand for class names (`ClassLabel`) are known from the table's own description.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, list_names
from nikawa.io.escapes import ABSENT
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.judgements.base import Notes
from nikawa.io.judgements.sheets import detect_layout, read_sheet
from nikawa.io.lines import opening
from nikawa.io.parquet import arrow, list_values, open_parquet

PACKED = ("", ".gz", ".zst", ".xz")
SUFFIXES = (
    *(f"{suffix}{packed}" for suffix in (".jsonl", ".csv", ".tsv") for packed in PACKED),
    ".json",
    ".parquet",
    ".arrow",
)
"""What files of a flat table end in."""
NO_TABLES = (
    "card.json",
    "croissant.json",
    "dataset_dict.json",
    "dataset_info.json",
    "dataset_infos.json",
    "hidden.json",
    "state.json",
)
"""JSON files of a folder that describe its tables."""
SPLIT_NAME = re.compile(r"(?P<split>.+?)(-\d{5}-of-\d{5})?(-[0-9a-f]{16})?")
"""`train-00000-of-00002`, as Hugging Face names the parts of a split."""
ARROW_FILE = b"ARROW1"
"""How an Arrow file begins that is no stream."""
NOT_FLAT = "name a .jsonl, .json, .csv, .tsv or .parquet file, or a folder of them"

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]
"""Each row with its place in the file, from 1."""


@dataclass(frozen=True)
class FlatTable:
    """One file of rows."""

    path: Path
    split: str
    """What the file name or folder calls the split; empty where it says nothing."""
    read: Callable[[], Rows]
    """Begins a new pass over the rows. What a row does not have is left out."""
    unit: str = "line"
    """What the places count: line, row or record."""
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column to the names that its numbers stand for."""


def open_tables(path: Path) -> list[FlatTable]:
    """The tables of a file or folder, those of one split behind each other.

    Raises `BadInput` where there are none, and where a folder holds several configurations.
    """
    if not path.is_dir():
        return [open_table(path, "")]
    if (path / "dataset_dict.json").is_file():
        splits = read_json(path / "dataset_dict.json", object)
        names = splits.get("splits", []) if isinstance(splits, dict) else []
        folders = [(str(name), path / str(name)) for name in names]
        return [table for name, folder in folders for table in open_saved(folder, name)]
    if (path / "state.json").is_file():
        return open_saved(path, "")
    files = sorted(file for file in path.rglob("*") if is_table_file(file, path))
    homes = sorted({file.parent for file in files})
    if not files:
        raise BadInput("holds no table", file=path, cure=NOT_FLAT)
    if len(homes) > 1:
        names = list_names(str(home.relative_to(path)) for home in homes)
        cure = f"name the folder of one, such as {homes[-1]}"
        raise BadInput(f"holds tables in several folders: {names}", file=path, cure=cure)
    return [open_table(file, name_split(file)) for file in files]


def holds_flat_rows(path: Path) -> bool:
    """Whether a file or folder holds flat tables, not records or something else."""
    try:
        tables = open_tables(path)
        _, first = next(iter(tables[0].read()), (0, {}))
    except BadInput:
        return False
    return bool(first) and not any(name.partition(".")[0] == "inputs" for name in first)


def is_table_file(file: Path, folder: Path) -> bool:
    """Whether a file below a folder is a table: by its suffix, not hidden, no description."""
    parts = file.relative_to(folder).parts
    is_shown = not any(part.startswith(".") for part in parts)
    return is_shown and file.is_file() and file.name not in NO_TABLES and bool(suffix_of(file))


def suffix_of(path: Path) -> str:
    """The suffix that tells what a table is; empty where it has none of them."""
    return max((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), key=len, default="")


def name_split(file: Path) -> str:
    """What a file is called without suffix and number.

    >>> name_split(Path("data/validation-00000-of-00001.parquet")), name_split(Path("dev.csv"))
    ('validation', 'dev')
    """
    match = SPLIT_NAME.fullmatch(file.name.removesuffix(suffix_of(file)))
    return match["split"] if match else ""


def open_saved(folder: Path, split: str) -> list[FlatTable]:
    """The tables of a folder that `Dataset.save_to_disk` wrote."""
    state = read_json(folder / "state.json", object)
    entries = state.get("_data_files", []) if isinstance(state, dict) else []
    names = [entry.get("filename") for entry in entries if isinstance(entry, dict)]
    if not names or not all(isinstance(name, str) and name == Path(name).name for name in names):
        what = "names no data files"
        raise BadInput(what, file=folder / "state.json", cure="save the dataset again")
    if isinstance(state, dict) and isinstance(state.get("_split"), str):
        split = split or state["_split"]
    return [open_table(folder / str(name), split) for name in names]


def open_table(path: Path, split: str) -> FlatTable:
    """The table of one file, by its suffix and beginning."""
    suffix = suffix_of(path)
    if not suffix:
        raise BadInput(f"has the suffix {path.suffix!r}, as no table has", file=path, cure=NOT_FLAT)
    if suffix == ".parquet":
        with open_parquet(path) as (file, _):
            classes = find_classes(file.schema_arrow)
        return FlatTable(path, split, partial(read_parquet_rows, path), "row", classes)
    if suffix == ".arrow":
        with open_arrow(path) as batches:
            classes = find_classes(batches.schema)
        return FlatTable(path, split, partial(read_arrow_rows, path), "row", classes)
    if suffix.startswith((".csv", ".tsv")):
        return FlatTable(path, split, partial(read_sheet_rows, path))
    if suffix == ".json" and not begins_with_line(path):
        return FlatTable(path, split, partial(read_document_rows, path), "record")
    return FlatTable(path, split, partial(read_object_lines, path))


def begins_with_line(path: Path) -> bool:
    """Whether a `.json` file holds an object a line: many published ones do."""
    if not opening(path).startswith(b"{"):
        return False
    try:
        _, first = next(iter(read_json_lines(path, object)))
    except BadInput:
        return False
    # {"data": …} on a single line is SQuAD's document.
    return isinstance(first, dict) and not isinstance(first.get("data"), list)


def read_object_lines(path: Path) -> Rows:
    """Rows of JSON lines."""
    for number, value in read_json_lines(path, object, unique=True):
        if not isinstance(value, dict):
            cure = 'write an object a line: {"id": …, "text": …}'
            raise BadInput("holds no object", file=path, line=number, cure=cure)
        yield number, value


def read_document_rows(path: Path) -> Rows:
    """Rows of a JSON document: an array of objects, bare or under `data`, or SQuAD's articles."""
    document = read_json(path, object, unique=True)
    rows = document.get("data") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        cure = "write an array of objects, or an object a line with the suffix .jsonl"
        raise BadInput("is no array of objects", file=path, cure=cure)
    if "paragraphs" in rows[0]:
        rows = list(flatten_articles(rows, path))
    yield from enumerate(rows, start=1)


def flatten_articles(articles: list[Row], path: Path) -> Iterator[Row]:
    """A row a question, from articles with paragraphs and questions as SQuAD nests them."""
    try:
        for article in articles:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    shared = {"title": article.get("title"), "context": paragraph["context"]}
                    row = {name: value for name, value in shared.items() if value is not None}
                    yield {**row, **question}
    except (KeyError, TypeError) as problem:
        what = f"is not nested as SQuAD is ({problem})"
        cure = "articles hold paragraphs, these context and qas"
        raise BadInput(what, file=path, cure=cure) from None


def read_sheet_rows(path: Path) -> Rows:
    """Rows of a CSV or TSV file, in the encoding that it is in; an empty cell is left out."""
    rows = read_sheet(path, detect_layout(path), Notes())
    _, header = next(rows)
    for number, cells in rows:
        pairs = zip(header, cells, strict=True)
        yield number, {name: cell for name, cell in pairs if cell not in ("", ABSENT)}


def read_parquet_rows(path: Path) -> Rows:
    """Rows of a Parquet file; null and NaN are left out."""
    pa = arrow()
    with open_parquet(path) as (file, rows):
        yield from number_rows(pa, file.iter_batches(batch_size=rows), file.schema_arrow.names)


def read_arrow_rows(path: Path) -> Rows:
    """Rows of an Arrow file; null and NaN are left out."""
    with open_arrow(path) as batches:
        yield from number_rows(arrow(), batches, batches.schema.names)


def number_rows(pa: Any, batches: Iterator[Any], names: list[str]) -> Rows:
    """The rows of Arrow's batches, numbered from 1."""
    number = 0
    for batch in batches:
        columns = [list_values(pa, column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            number += 1
            pairs = zip(names, cells, strict=True)
            yield number, {name: cell for name, cell in pairs if not is_absent(cell)}


def is_absent(cell: Any) -> bool:
    """Whether a cell is null, or NaN, which pandas writes for null in a column of numbers."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


@contextmanager
def open_arrow(path: Path) -> Iterator[Any]:
    """The batches of an Arrow file, streamed or not; damage is a `BadInput`."""
    pa = arrow()
    if not path.is_file():
        raise BadInput("no such file", file=path, cure="check the path")
    is_stream = opening(path, len(ARROW_FILE)) != ARROW_FILE
    try:
        with pa.memory_map(str(path)) as source:
            if is_stream:
                yield pa.ipc.open_stream(source)
            else:
                yield pa.ipc.open_file(source).read_all().to_reader()
    except (pa.ArrowException, OSError, ValueError) as problem:
        reason = str(problem).partition("\n")[0]
        what = f"is no Arrow file ({reason})"
        raise BadInput(what, file=path, cure="save the dataset again") from None


def find_classes(schema: Any) -> dict[str, tuple[str, ...]]:
    """Column to class names, from what Hugging Face `datasets` writes into the schema."""
    described = (schema.metadata or {}).get(b"huggingface")
    if described is None:
        return {}
    try:
        features = msgspec.json.decode(described)["info"]["features"]
        parts = {column: part.get("feature", part) for column, part in features.items()}
        return {
            column: tuple(map(str, part["names"]))
            for column, part in parts.items()
            if part.get("_type") == "ClassLabel" and "names" in part
        }
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return {}  # somebody else's metadata
