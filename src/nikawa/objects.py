"""Objects of a notebook as what the jobs read: a DataFrame, a list of records or a mapping beside names and paths.

The jobs behind the front door read files: that is where formats are recognised, ids are matched, hidden labels are removed and
limits are held. An object goes the same way. `CallFiles` writes it to a file of a temporary folder that only you can read, for the
time of one call, and takes the temporary names out of messages.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import msgspec

from nikawa.datasets.import_table import ImportOptions, import_table
from nikawa.datasets.load import load, loose_dataset
from nikawa.errors import BadInput
from nikawa.io.file_names import to_file_name
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.records import Dataset, Example, Judgement, Prediction, Split, revive

JUDGEMENT_FIELDS = {"example", "worker", "question", "answer"}
"""Columns of our own records of judgements; other tables of judgements are read as sheets."""
SPLIT_COLUMN = "split"
"""The column of a table that names the split of a row."""
SWITCHES = ("partial", "hidden", "overwrite", "assume_eligible", "as_published")
"""Options without a value."""
KEYWORDS = {"map": "columns"}
"""Options whose keyword has another name."""
MAX_NAME_BYTES = 80


def is_table(value: object) -> bool:
    """Whether an object is a table of another library: pandas, polars, Hugging Face datasets."""
    return any(hasattr(value, name) for name in ("columns", "column_names")) and not isinstance(
        value, Mapping
    )


def list_rows(value: Any, what: str) -> list[Any]:
    """The rows of a table as mappings, or the items of a list; raises `BadInput` for anything else.

    A named index of a DataFrame becomes a column. Cells without a value (None, NaN) are left out.
    """
    if is_table(value):
        if hasattr(value, "to_dicts"):  # polars
            rows = value.to_dicts()
        elif hasattr(value, "to_dict") and hasattr(value, "iloc"):  # pandas
            has_names = any(name is not None for name in getattr(value.index, "names", ()))
            rows = (value.reset_index() if has_names else value).to_dict("records")
        else:  # Hugging Face datasets: iteration gives the rows
            rows = list(value)
        return [
            {str(key): cell for key, cell in row.items() if not is_absent(cell)} for row in rows
        ]
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise cannot_use(value, what)
    return list(value)


def is_absent(cell: object) -> bool:
    """Whether a cell holds nothing: None, NaN or pandas' NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell  # noqa: PLR0124  (NaN is not equal to itself)


def cannot_use(value: object, what: str) -> BadInput:
    """The error for an object of a type that a function does not take."""
    kind = type(value).__name__
    cure = "pass a path, a DataFrame, a list of records or a mapping; docs/python.md shows them"
    return BadInput(f"cannot use {kind!r} as {what}", cure=cure)


def encode(value: object) -> bytes:
    """JSON of a value; numbers of numpy and dates of pandas as plain ones.

    Raises `BadInput` for what has no place in JSON.
    """

    def to_plain(other: Any) -> Any:
        if hasattr(other, "item") and getattr(other, "shape", None) == ():
            return other.item()
        if hasattr(other, "tolist"):
            return other.tolist()
        if hasattr(other, "isoformat"):
            return other.isoformat()
        raise cannot_use(other, "a value")

    return msgspec.json.encode(value, enc_hook=to_plain)


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write one JSON value a line."""
    path.write_bytes(b"".join(encode(row) + b"\n" for row in rows))
    return path


class CallFiles:
    """The files of one call. Use it as a context manager: they are gone afterwards.

    With `in_python`, messages name keywords (`partial=`) where the command line names options (`--partial`).
    """

    def __init__(self, *, in_python: bool = True) -> None:
        self.in_python = in_python
        self._folder: TemporaryDirectory[str] | None = None
        self._titles: dict[str, str] = {}
        """Path of a file to what a message calls it."""

    def __enter__(self) -> CallFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()
        if isinstance(problem, BadInput):
            file = None if problem.file is None else self.title(str(problem.file))
            cure, what = self.title(problem.cure), self.title(problem.what)
            if self.in_python:
                cure = re.sub(r"--([a-z][a-z-]+)", name_keyword, cure)
            if (file, what, cure) != (problem.file, problem.what, problem.cure):
                problem.what, problem.file, problem.cure = what, file, cure
                problem.args = (str(problem),)

    def title(self, text: str) -> str:
        """A text with the names of objects in place of the paths of their files.

        It is a message, or a field of a report that says what was read.
        """
        for path in sorted(self._titles, key=len, reverse=True):
            text = text.replace(path, self._titles[path])
        return text

    def place(self, name: str, title: str) -> Path:
        """A path for a new file or folder called `name`, in a folder of its own."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="nikawa-")
        folder = Path(self._folder.name) / str(len(self._titles))
        folder.mkdir()
        path = folder / to_file_name(name, MAX_NAME_BYTES)
        self._titles[str(path)] = title
        return path

    def to_dataset(self, value: Any, options: ImportOptions | None = None) -> Dataset:
        """A dataset of an object: a `Dataset` or `Split`, a table, a list of examples or rows, or a mapping from split to those.

        Rows with `inputs` are records. Flat rows are imported as `nikawa data import` imports a file; `options` name their
        columns. A column `split` names the split of a row.
        """
        if isinstance(value, Split):
            return value.dataset
        if isinstance(value, Dataset):
            return value
        parts: dict[str, list[Any]] = {}
        if isinstance(value, Mapping):
            for split, part in value.items():
                parts[str(split)] = list_rows(part, "a split")
        else:
            rows = list_rows(value, "a dataset")
            names = {isinstance(row, Mapping) and SPLIT_COLUMN in row for row in rows}
            for row in rows:
                is_named = names == {True}
                parts.setdefault(str(row[SPLIT_COLUMN]) if is_named else "all", []).append(
                    {k: v for k, v in row.items() if k != SPLIT_COLUMN} if is_named else row
                )
        everything = [row for part in parts.values() for row in part]
        if not everything:
            raise BadInput("holds no example", cure="pass a table or a list with at least one row")
        if all(
            isinstance(row, Example) or (isinstance(row, Mapping) and "inputs" in row)
            for row in everything
        ):
            examples = {name: tuple(map(to_example, part)) for name, part in parts.items()}
            first = loose_dataset(Path("examples"), tuple(map(to_example, everything)))
            return msgspec.structs.replace(first, splits=examples)
        if not all(isinstance(row, Mapping) for row in everything):
            other = next(row for row in everything if not isinstance(row, Mapping))
            raise cannot_use(other, "an example")
        source = self.place("table", "the table")
        if set(parts) == {"all"}:
            source = source.with_suffix(".jsonl")
            self._titles[str(source)] = "the table"
            write_lines(source, everything)
        else:
            source.mkdir()
            for name, part in parts.items():
                write_lines(source / f"{to_file_name(name, MAX_NAME_BYTES)}.jsonl", part)
        made = self.place("table", "the table")
        import_table(source, made, options)
        return load(str(made))

    def dataset(self, value: Any) -> str:
        """The name or path of a dataset; an object becomes a dataset folder."""
        if isinstance(value, str | Path):
            return str(value)
        dataset = self.to_dataset(value)
        path = self.place(dataset.name, dataset.name)
        write_folder(dataset, path)
        return str(path)

    def answers(self, value: Any) -> Path:
        """The file of answers: a path, a mapping from id to answer, a table, a list of predictions, rows or plain answers in order."""
        if isinstance(value, str | Path):
            return Path(value)
        path = self.place("answers.jsonl", "the answers")
        is_series = hasattr(value, "items") and hasattr(value, "index") and not is_table(value)
        if isinstance(value, Mapping) or is_series:
            return write_lines(
                path, ({"id": str(key), "answer": one} for key, one in value.items())
            )
        rows = list_rows(value, "answers")
        if not rows:
            raise BadInput("there are no answers", cure="pass one for each item")
        if all(isinstance(row, Prediction | Mapping) for row in rows):
            return write_lines(path, rows)
        if any(isinstance(row, Prediction | Mapping) for row in rows):
            raise BadInput("records and plain answers are mixed", cure="pass one kind of them")
        return write_lines(path, rows)

    def judgements(self, value: Any) -> str:
        """The name or file of judgements: a name, a path, a table, or a list of judgements or rows."""
        if isinstance(value, str | Path):
            return str(value)
        rows = list_rows(value, "judgements")
        if not rows:
            raise BadInput("there are no judgements", cure="pass at least one")
        if all(isinstance(row, Judgement) for row in rows):
            path = self.place("judgements.jsonl", "the judgements")
            write_records(path, rows)
            return str(path)
        if not all(isinstance(row, Mapping) for row in rows):
            other = next(row for row in rows if not isinstance(row, Mapping))
            raise cannot_use(other, "a judgement")
        columns = list(dict.fromkeys(str(key) for row in rows for key in row))
        if set(columns) >= JUDGEMENT_FIELDS:
            return str(write_lines(self.place("judgements.jsonl", "the judgements"), rows))
        path = self.place("judgements.csv", "the judgements")
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows([format_sheet_cell(row.get(name)) for name in columns] for row in rows)
        return str(path)

    def documents(self, value: Any) -> list[Path]:
        """The files of texts to clean: paths, or texts in memory (a list of texts or rows, a table, a dataset)."""
        if isinstance(value, str | Path):
            return [Path(value)]
        if isinstance(value, Sequence) and all(isinstance(one, Path) for one in value):
            return list(value)
        rows: list[Any] = []
        for number, row in enumerate(self._texts(value), 1):
            rows.append({"id": str(number), "text": row} if isinstance(row, str) else row)
        return [write_lines(self.place("texts.jsonl", "the texts"), rows)]

    def sentences(self, value: Any) -> Path:
        """The file of sentences to pair: a path, or sentences in memory as for `documents`."""
        if isinstance(value, str | Path):
            return Path(value)
        examples = []
        for number, row in enumerate(self._texts(value), 1):
            if isinstance(row, str):
                examples.append(Example(id=str(number), inputs={"text": row}))
            elif isinstance(row, Example):
                examples.append(row)
            else:
                name = str(row.get("id", number))
                examples.append(
                    Example(id=name, inputs={k: v for k, v in row.items() if k != "id"})
                )
        path = self.place("sentences.jsonl", "the sentences")
        write_records(path, examples)
        return path

    def _texts(self, value: Any) -> list[Any]:
        rows = list(value) if isinstance(value, Dataset) else list_rows(value, "texts")
        if not rows:
            raise BadInput("there is no text", cure="pass at least one")
        for row in rows:
            if isinstance(row, str) and len(row) < 300 and Path(row).is_file():
                raise BadInput(
                    f"{row!r} is a file, and a list of texts holds texts",
                    cure="pass files as Path objects: [Path(name)]",
                )
            if not isinstance(row, str | Mapping | Example):
                raise cannot_use(row, "a text")
        return rows


def name_keyword(option: re.Match[str]) -> str:
    """The keyword of an option that a message names: `partial=True` for `--partial`, `form=` for `--form`."""
    name = KEYWORDS.get(option[1], option[1].replace("-", "_"))
    return f"{name}=True" if name in SWITCHES else f"{name}="


def to_example(row: Any) -> Example:
    """An example of a record; raises `BadInput` where a field is missing or of another type."""
    if isinstance(row, Example):
        return row
    try:
        return revive(msgspec.convert(msgspec.json.decode(encode(row)), Example))
    except msgspec.ValidationError as problem:
        cure = "docs/records.md shows the shapes of records"
        raise BadInput(f"a row is no example: {problem}", cure=cure) from None


def format_sheet_cell(cell: Any) -> str:
    """A value as the cell of a sheet."""
    if is_absent(cell):
        return ""
    return cell if isinstance(cell, str) else encode(cell).decode().strip('"')
