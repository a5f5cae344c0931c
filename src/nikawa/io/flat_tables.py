"""Read flat tables from any source: one row per item, one column per value, with any column names.

JSON lines, JSON (an array of objects, or SQuAD's nested form), CSV, TSV, Parquet, and folders as Hugging
Face `datasets` writes them: `save_to_disk`, `to_parquet`, or a repository with one file per split. The
metadata of such a table gives the class names of numbers (`ClassLabel`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, list_names, place_fault
from nikawa.io.escapes import ABSENT
from nikawa.io.json import decode_json, has_nonfinite, read_json, read_json_lines
from nikawa.io.judgements.base import Notes
from nikawa.io.judgements.sheets import detect_layout, read_heading, read_sheet
from nikawa.io.lines import opening
from nikawa.io.parquet import JSON_MARK, SOURCE_MARK, arrow, list_values, open_parquet

PACKED = ("", ".gz", ".zst", ".xz")
SUFFIXES = (
    *(f"{suffix}{packed}" for suffix in (".jsonl", ".csv", ".tsv") for packed in PACKED),
    ".json",
    ".parquet",
    ".arrow",
)
"""Suffixes of flat tables."""
NO_TABLES = (
    "card.json",
    "croissant.json",
    "dataset_dict.json",
    "dataset_info.json",
    "dataset_infos.json",
    "hidden.json",
    "shards.json",
    "state.json",
)
"""JSON files of a folder that describe its tables."""
SPLIT_NAME = re.compile(
    r"(?P<split>.+?)(-v\d+(\.\d+)*)?(-(?P<part>\d{5})-of-(?P<parts>\d{5}))?(-[0-9a-f]{16})?"
)
"""`train-00000-of-00002`, as Hugging Face names the parts of a split, or `train-v1.3`."""
ARROW_FILE = b"ARROW1"
"""The first bytes of an Arrow file that is not a stream."""
QUOTED_CELL = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')
"""A cell in quotes with doubled quotes in it, as CSV has it."""
NOT_FLAT = "pass a .jsonl, .json, .csv, .tsv or .parquet file, or a folder of such files"

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]
"""Each row with its place in the file, from 1."""


@dataclass(frozen=True)
class FlatTable:
    """One file of rows."""

    path: Path
    split: str
    """The split according to the file name or folder, or an empty text."""
    read: Callable[[], Rows]
    """Starts a new pass over the rows. Absent values are omitted."""
    unit: str = "line"
    """The unit of the places: line, row or record."""
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column to the names that its numbers stand for."""
    columns: tuple[str, ...] | None = None
    """All columns if the file lists them; None if only its rows have them."""
    meta_names: Mapping[str, str] = field(default_factory=dict)
    """Column to the name that it had in the meta, where `nikawa data export` wrote the file."""

    def list_columns(self) -> list[str]:
        """All columns. A file without a heading is read whole: any row may have one more."""
        if self.columns is not None:
            return list(self.columns)
        return list(dict.fromkeys(name for _, row in self.read() for name in row))


def open_tables(path: Path) -> list[FlatTable]:
    """Return the tables of a file or folder, those of one split one after the other.

    Raises `BadInput` if there is no table, and if a folder has several configurations.
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
        cure = f"pass one of the folders, such as {homes[-1]}"
        raise BadInput(f"holds tables in several folders: {names}", file=path, cure=cure)
    refuse_doubled_splits(files)
    return [open_table(file, name_split(file)) for file in files]


def refuse_doubled_splits(files: Sequence[Path]) -> None:
    """Refuse two files of one split that are not its numbered parts, and parts that are missing."""
    by_split: dict[str, list[Path]] = {}
    for file in files:
        by_split.setdefault(name_split(file), []).append(file)
    for split, own in by_split.items():
        matches = [match for match in map(match_split, own) if match and match["part"]]
        parts = [match["part"] for match in matches]
        if len(own) > 1 and len(set(parts)) < len(own):
            names = list_names(file.name for file in own)
            what = f"holds the split {split!r} in several files: {names}"
            raise BadInput(what, file=own[0].parent, cure="pass one of the files")
        total = max((int(match["parts"]) for match in matches), default=0)
        if len(parts) < total:
            what = f"holds {len(parts)} of the {total} parts of {split!r}"
            raise BadInput(what, file=own[0].parent, cure="fetch or write the other parts as well")


def find_flat_rows(path: Path) -> Path | None:
    """The first table of a file or folder, if its rows are flat; None: records or something else."""
    try:
        tables = open_tables(path)
        _, first = next(iter(tables[0].read()), (0, {}))
    except BadInput:
        return None
    is_flat = bool(first) and not any(name.partition(".")[0] == "inputs" for name in first)
    return tables[0].path if is_flat else None


def is_table_file(file: Path, folder: Path) -> bool:
    """Whether a file below a folder is a table: by its suffix, not hidden, no description."""
    parts = file.relative_to(folder).parts
    is_shown = not any(part.startswith(".") for part in parts)
    return is_shown and file.is_file() and file.name not in NO_TABLES and bool(suffix_of(file))


def suffix_of(path: Path) -> str:
    """Return the suffix that identifies a table, or an empty text."""
    name = path.name
    if path.suffix.lower() not in PACKED:  # DATA.CSV; but .GZ is not unpacked
        name = name.lower()
    return max((suffix for suffix in SUFFIXES if name.endswith(suffix)), key=len, default="")


def name_split(file: Path) -> str:
    """Return the name of a file without suffix, version and number.

    >>> name_split(Path("data/validation-00000-of-00001.parquet")), name_split(Path("dev-v1.3.csv"))
    ('validation', 'dev')
    """
    match = match_split(file)
    return match["split"] if match else ""


def match_split(file: Path) -> re.Match[str] | None:
    """The split and its parts according to a file name."""
    return SPLIT_NAME.fullmatch(file.name[: len(file.name) - len(suffix_of(file))])


def open_saved(folder: Path, split: str) -> list[FlatTable]:
    """The tables of a folder that `Dataset.save_to_disk` wrote."""
    state = read_json(folder / "state.json", object)
    entries = state.get("_data_files", []) if isinstance(state, dict) else []
    names = [entry.get("filename") for entry in entries if isinstance(entry, dict)]
    if not names or not all(isinstance(name, str) and name == Path(name).name for name in names):
        what = "names no data files"
        raise BadInput(what, file=folder / "state.json", cure="save the dataset again")
    if isinstance(state, dict) and state.get("_indices_data_files"):
        what = "keeps only some of its rows, selected by a list of indices"
        raise BadInput(what, file=folder, cure="save it again after flatten_indices()")
    if isinstance(state, dict) and isinstance(state.get("_split"), str):
        split = split or state["_split"]
    return [open_table(folder / str(name), split) for name in names]


def open_table(path: Path, split: str) -> FlatTable:
    """The table of one file, by its suffix and beginning."""
    suffix = suffix_of(path)
    if not suffix:
        what = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
        raise BadInput(f"{what}, so it is not recognised as a table", file=path, cure=NOT_FLAT)
    if suffix in (".parquet", ".arrow"):
        read = read_parquet_rows if suffix == ".parquet" else read_arrow_rows
        schema = read_schema(path)
        classes, columns = find_classes(schema), tuple(schema.names)
        sources = {
            part.name: (part.metadata or {}).get(SOURCE_MARK, b"").decode() for part in schema
        }
        meta_names = {
            name: source.removeprefix("meta.")
            for name, source in sources.items()
            if source.startswith("meta.")
        }
        return FlatTable(path, split, partial(read, path), "row", classes, columns, meta_names)
    if suffix.startswith((".csv", ".tsv")):
        header = read_heading(path, detect_layout(path), Notes())
        return FlatTable(path, split, partial(read_sheet_rows, path), columns=tuple(header))
    if suffix == ".json" and not begins_with_line(path):
        return FlatTable(path, split, partial(read_document_rows, path), "record")
    return FlatTable(path, split, partial(read_object_lines, path))


def begins_with_line(path: Path) -> bool:
    """Whether a `.json` file has one object per line, as many published files do."""
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
            cure = 'write one object per line: {"id": …, "text": …}'
            raise BadInput("is not an object", file=path, line=number, cure=cure)
        yield number, value


def read_document_rows(path: Path) -> Rows:
    """Rows of a JSON document: an array of objects, bare or under `data`, or SQuAD's articles."""
    document = read_json(path, object, unique=True)
    rows = document.get("data") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        cure = "write an array of objects, or one object per line with the suffix .jsonl"
        raise BadInput("is not an array of objects", file=path, cure=cure)
    if "paragraphs" in rows[0]:
        rows = list(flatten_articles(rows, path))
    yield from enumerate(rows, start=1)


def flatten_articles(articles: list[Row], path: Path) -> Iterator[Row]:
    """Yield one row per question from articles with paragraphs and questions, nested as in SQuAD.

    Other values of an article or a paragraph go into each of its rows, as `article.id` if the
    question has a value with the same name.
    """
    for article in articles:
        for paragraph in list_objects(article, "paragraphs", path):
            for question in list_objects(paragraph, "qas", path):
                row = dict(question)
                for level, part in (("paragraph", paragraph), ("article", article)):
                    for name, value in part.items():
                        if name not in ("qas", "paragraphs"):
                            row[f"{level}.{name}" if name in row else name] = value
                yield row


def list_objects(whole: Row, name: str, path: Path) -> list[Row]:
    """The objects that another has under a name."""
    parts = whole.get(name)
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        cure = "each article needs paragraphs, and each paragraph context and qas"
        raise BadInput(
            f"does not have the nesting of SQuAD: no list of {name}", file=path, cure=cure
        )
    return parts


def read_sheet_rows(path: Path) -> Rows:
    """Rows of a CSV or TSV file, in the encoding that it is in; an empty cell is left out.

    Tabs part cells without quoting. A cell that is quoted all the same, as pandas quotes one with a
    quote mark in it, is refused: to keep its marks would change the text.
    """
    layout = detect_layout(path)
    with closing(read_sheet(path, layout, Notes())) as rows:
        _, header = next(rows)
        for number, cells in rows:
            if layout.separator == "\t" and any(map(QUOTED_CELL.fullmatch, cells)):
                cure = "save it as CSV, or without quoting (pandas: quoting=csv.QUOTE_NONE)"
                raise BadInput("has a quoted cell between tabs", file=path, line=number, cure=cure)
            pairs = zip(header, cells, strict=True)
            yield number, {name: cell for name, cell in pairs if cell not in ("", ABSENT)}


def read_schema(path: Path) -> Any:
    """The schema of a Parquet or Arrow file; a column that occurs twice is an error."""
    if suffix_of(path) == ".parquet":
        with open_parquet(path) as (file, _):
            schema = file.schema_arrow
    else:
        with open_arrow(path) as batches:
            schema = batches.schema
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise BadInput(f"column {twice[0]!r} occurs twice", file=path, cure="rename one of them")
    return schema


def read_parquet_rows(path: Path) -> Rows:
    """Rows of a Parquet file; null and NaN are left out."""
    with open_parquet(path) as (file, rows):
        yield from number_rows(file.iter_batches(batch_size=rows), file.schema_arrow, path)


def read_arrow_rows(path: Path) -> Rows:
    """Rows of an Arrow file; null and NaN are left out."""
    with open_arrow(path) as batches:
        yield from number_rows(batches, batches.schema, path)


def number_rows(batches: Iterator[Any], schema: Any, path: Path) -> Rows:
    """The rows of Arrow's batches, numbered from 1; JSON text of our own is read."""
    pa = arrow()
    names = schema.names
    packed = {part.name for part in schema if (part.metadata or {}).items() >= JSON_MARK.items()}
    number = 0
    for batch in batches:
        columns = [list_values(pa, column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            number += 1
            row = {}
            for name, cell in zip(names, cells, strict=True):
                if is_absent(cell):
                    continue
                if name in packed and isinstance(cell, str):
                    row[name] = decode_json(cell, object, path, unique=True)
                    continue
                try:
                    row[name] = cell if isinstance(cell, str | int) else to_plain(cell)
                except ValueError as problem:
                    what = f"the column {name!r} holds {problem}"
                    cure = "drop the column, or write it as text"
                    raise place_fault(
                        what, file=path, unit="row", place=number, cure=cure
                    ) from None
            yield number, row


def to_plain(value: Any) -> Any:
    """Convert an Arrow value for JSON: dates and times as ISO 8601, decimals as their digits.

    Raises ValueError for a value that JSON cannot represent.

    >>> to_plain({"on": date(2026, 5, 1), "price": Decimal("1.10")})
    {'on': '2026-05-01', 'price': '1.10'}
    """
    if isinstance(value, dict):
        return {name: to_plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [to_plain(part) for part in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if has_nonfinite(value):
        raise ValueError("NaN or Infinity")
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"a value of the type {type(value).__name__}")


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
        what = f"is not an Arrow file ({reason})"
        raise BadInput(what, file=path, cure="save the dataset again") from None


def find_classes(schema: Any) -> dict[str, tuple[str, ...]]:
    """Return column to class names, from the schema that Hugging Face `datasets` writes."""
    described = (schema.metadata or {}).get(b"huggingface")
    if described is None:
        return {}
    try:
        features = msgspec.json.decode(described)["info"]["features"]
        parts = {
            column: part.get("feature", part)
            for column, part in features.items()
            if isinstance(part, dict)
        }
        return {
            column: tuple(map(str, part["names"]))
            for column, part in parts.items()
            if isinstance(part, dict) and part.get("_type") == "ClassLabel" and "names" in part
        }
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return {}  # somebody else's metadata
