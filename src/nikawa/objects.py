"""Pass objects from a notebook to the jobs: a DataFrame, a list of records or a mapping instead of a name or a path.

The jobs read files. Their readers recognise formats, match ids, remove hidden labels and enforce limits, so an object takes
the same route. `CallFiles` writes it to a file in a temporary folder that only you can read, for the duration of one call.
It also replaces temporary paths in error messages, and names keyword arguments where the command line has options.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import get_annotations, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import msgspec

from nikawa.datasets.import_table import ImportOptions, import_table
from nikawa.datasets.load import load, loose_dataset
from nikawa.datasets.names import benchmarks
from nikawa.errors import BadInput
from nikawa.io.file_names import to_file_name
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.io.remote import to_path
from nikawa.records import Dataset, Example, Judgement, Prediction, Split, revive

JUDGEMENT_FIELDS = {"example", "worker", "question", "answer"}
"""Columns of Nikawa's own judgement records; other tables of judgements are read as sheets."""
SPLIT_COLUMN = "split"
"""The column of a table that names the split of a row."""
KEYWORDS = {"map": "columns", "set": "settings"}
"""Options whose keyword argument has another name."""
OPTION = re.compile(
    r"--(?P<name>[a-z][a-z-]*[a-z])"
    r"(?: (?:(?P<items>[\w-]+=[^\s,;:)]+(?:,[\w-]+=[^\s,;:)]+)*)"
    r"|(?P<value>(?:[a-z]+:)?[A-Z][A-Z]+\b"
    r"|(?!(?:out|away|too|as|at)\b)[a-z\d][\w.-]*(?=,|$|;|\)| or --)))"
    r"(?P<more>,…)?)?"
)
"""An option in a message, with the value that follows it: `--out DIR`, `--ties drop`, `--columns id=COLUMN`."""
COMMAND = re.compile(r"`[^`]*`|\b(?:nikawa|hf|pip) [a-z][^;]*")
"""A command in a message; its options stay as they are."""
MAX_NAME_BYTES = 80


def is_table(value: object) -> bool:
    """Whether an object is a table from another library: pandas, polars, Hugging Face datasets."""
    return any(hasattr(value, name) for name in ("columns", "column_names")) and not isinstance(
        value, Mapping
    )


def holds_examples(value: object) -> bool:
    """Whether an object holds examples or rows, and is not a name or a list of names."""
    if isinstance(value, list | tuple):
        return not all(isinstance(one, str) for one in value)
    return isinstance(value, Dataset | Split | Mapping) or is_table(value)


def list_rows(value: Any, what: str) -> list[Any]:
    """Return the rows of a table as mappings, or the items of a list; raise `BadInput` for anything else.

    A named index of a DataFrame becomes a column. Cells without a value (None, NaN) are dropped. A row has one cell per
    column name, so two columns with one name are refused.
    """
    if is_table(value):
        names = list(value.columns if hasattr(value, "columns") else value.column_names or ())
        names += getattr(getattr(value, "index", None), "names", ())
        names = [str(name) for name in names if name is not None]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInput(f"{what} has two columns {twice!r}", cure="rename or drop one of them")
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
    """Whether a cell is empty: None, NaN or pandas' NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell  # noqa: PLR0124  (NaN is not equal to itself)


def cannot_use(value: object, what: str) -> BadInput:
    """Return the error for an object of a type that a function does not accept."""
    kind = type(value).__name__
    cure = "pass a path, a DataFrame, a list of records or a mapping; docs/python.md shows them"
    return BadInput(f"cannot use {kind!r} as {what}", cure=cure)


def encode(value: object) -> bytes:
    """Encode a value as JSON; numpy numbers and pandas dates become plain ones.

    Raises `BadInput` for a value that JSON cannot hold: an object, half of a surrogate pair, a list that contains itself.
    """

    def to_plain(other: Any) -> Any:
        if hasattr(other, "item") and getattr(other, "shape", None) == ():
            return other.item()
        if hasattr(other, "tolist"):
            return other.tolist()
        if hasattr(other, "isoformat"):
            return other.isoformat()
        raise cannot_use(other, "a value")

    try:
        return msgspec.json.encode(value, enc_hook=to_plain)
    except UnicodeEncodeError:
        what = "a text holds half of a surrogate pair"
        raise BadInput(what, cure="decode the text it came from as UTF-8") from None
    except RecursionError:
        raise BadInput("a value contains itself", cure="pass plain texts and numbers") from None


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write one JSON value per line."""
    path.write_bytes(b"".join(encode(row) + b"\n" for row in rows))
    return path


class CallFiles:
    """The temporary files of one call. Use it as a context manager: it removes them at the end.

    `function` is the function that was called, and `kind` the type of its options. Error messages name its keyword arguments (`partial=True`) instead of options of the command line (`--partial`). A caller that passes
    `options`, as the command line does, gets the messages unchanged.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        kind: type[Any] | None = None,
        options: object | None = None,
    ) -> None:
        self.function, self.kind = function, kind
        self.in_python = options is None
        self._folder: TemporaryDirectory[str] | None = None
        self._titles: dict[str, str] = {}
        """Path of a file to its name in messages."""

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
                cure = name_keywords(cure, self.function, self.kind)
                what = name_keywords(what, self.function, self.kind)
            if (file, what, cure) != (problem.file, problem.what, problem.cure):
                problem.what, problem.file, problem.cure = what, file, cure
                problem.args = (str(problem),)

    def title(self, text: str) -> str:
        """Replace the paths of temporary files in a message or a field of a report by the names of the objects."""
        for path in sorted(self._titles, key=len, reverse=True):
            text = text.replace(path, self._titles[path])
        return text

    def place(self, name: str, title: str) -> Path:
        """Return a path for a new file or folder called `name`, in a separate folder."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="nikawa-")
        folder = Path(self._folder.name) / str(len(self._titles))
        folder.mkdir()
        path = folder / to_file_name(name, MAX_NAME_BYTES)
        self._titles[str(path)] = title
        return path

    def to_dataset(self, value: Any, options: ImportOptions | None = None) -> Dataset:
        """Turn an object into a dataset.

        The object is a `Dataset` or `Split`, a table, a list of examples or rows, or a mapping from split to one of those.
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
                if str(split) in parts:
                    raise BadInput(
                        f"two splits are called {str(split)!r}", cure="rename one of them"
                    )
                parts[str(split)] = list_rows(part, "a split")
        else:
            rows = list_rows(value, "a dataset")
            names = {
                isinstance(row, Mapping) and not is_absent(row.get(SPLIT_COLUMN)) for row in rows
            }
            if len(names) == 2:
                what = f"some rows have no value in the column {SPLIT_COLUMN!r}"
                raise BadInput(what, cure="fill it in all rows, or drop the column")
            for row in rows:
                is_named = names == {True}
                parts.setdefault(str(row[SPLIT_COLUMN]) if is_named else "all", []).append(
                    {k: v for k, v in row.items() if k != SPLIT_COLUMN} if is_named else row
                )
        everything = [row for part in parts.values() for row in part]
        if not everything:
            raise BadInput("the dataset has no examples", cure="pass at least one row")
        if all(
            isinstance(row, Example) or (isinstance(row, Mapping) and "inputs" in row)
            for row in everything
        ):
            examples = {name: tuple(map(to_example, part)) for name, part in parts.items()}
            for name, part in examples.items():
                twice = [
                    one for one, count in Counter(each.id for each in part).items() if count > 1
                ]
                if twice:
                    what = f"the id {twice[0]!r} occurs twice in the split {name!r}"
                    raise BadInput(what, cure="give each record its own id")
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
                if to_file_name(name, MAX_NAME_BYTES) != name:  # the split would get another name
                    cure = "rename the split: use letters, digits, - and _"
                    raise BadInput(f"the split {name!r} cannot be the name of a file", cure=cure)
                write_lines(source / f"{name}.jsonl", part)
        made = self.place("table", "the table")
        import_table(source, made, options)
        return load(str(made))

    def dataset(self, value: Any) -> str:
        """Return the name or path of a dataset; an object becomes a dataset folder."""
        if isinstance(value, str | Path):
            return str(to_path(value)) if isinstance(value, Path) else value
        return self._write(self.to_dataset(value))

    def task(self, value: Any, data: Path | None = None) -> str:
        """Like `dataset`, but a registered dataset in memory that was not changed keeps its name."""
        if isinstance(value, str | Path):
            return str(to_path(value)) if isinstance(value, Path) else value
        dataset = self.to_dataset(value)
        return dataset.name if is_registered(dataset, data) else self._write(dataset)

    def _write(self, dataset: Dataset) -> str:
        path = self.place(dataset.name, dataset.name)
        write_folder(dataset, path)
        return str(path)

    def answers(self, value: Any) -> Path:
        """Return the file of answers.

        `value` is a path, a mapping from id to answer, a table, or a list of predictions, rows or plain answers in order.
        """
        if isinstance(value, str | Path):
            return to_path(value)
        path = self.place("answers.jsonl", "the answers")
        is_series = hasattr(value, "items") and hasattr(value, "index") and not is_table(value)
        if is_series and type(value.index).__name__ == "RangeIndex":  # numbered rows, no ids
            is_series, value = False, value.tolist()
        if isinstance(value, Mapping) or is_series:
            return write_lines(
                path, ({"id": str(key), "answer": one} for key, one in value.items())
            )
        rows = list_rows(value, "answers")
        if not rows:
            raise BadInput("there are no answers", cure="pass one answer per item")
        if all(isinstance(row, Prediction | Mapping) for row in rows):
            return write_lines(path, rows)
        if any(isinstance(row, Prediction | Mapping) for row in rows):
            what = "the answers mix records and plain values"
            raise BadInput(what, cure="pass either records or plain values")
        return write_lines(path, rows)

    def judgements(self, value: Any) -> str:
        """Return the name or file of judgements: `value` is a name, a path, a table, or a list of judgements or rows."""
        if isinstance(value, str | Path):
            return str(to_path(value)) if isinstance(value, Path) else value
        rows = list_rows(value, "judgements")
        if not rows:
            raise BadInput("there are no judgements", cure="pass at least one judgement")
        if all(isinstance(row, Judgement) for row in rows):
            path = self.place("judgements.jsonl", "the judgements")
            write_records(path, rows)
            return str(path)
        if not all(isinstance(row, Mapping) for row in rows):
            other = next(row for row in rows if not isinstance(row, Mapping))
            raise cannot_use(other, "a judgement")
        columns = list(dict.fromkeys(str(key) for row in rows for key in row))
        if set(columns) >= JUDGEMENT_FIELDS:
            if is_table(value):  # an empty cell is no answer, as in a sheet
                rows = [row if "answer" in row else {**row, "answer": None} for row in rows]
            return str(write_lines(self.place("judgements.jsonl", "the judgements"), rows))
        path = self.place("judgements.csv", "the judgements")
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows([format_sheet_cell(row.get(name)) for name in columns] for row in rows)
        return str(path)

    def documents(self, value: Any) -> list[Path]:
        """Return the files of texts to clean: `value` is paths, or texts in memory (a list of texts or rows, a table, a dataset)."""
        if isinstance(value, str | Path):
            return [to_path(value)]
        if isinstance(value, Sequence) and all(isinstance(one, Path) for one in value):
            return list(value)
        rows: list[Any] = []
        for number, row in enumerate(self._texts(value), 1):
            rows.append({"id": str(number), "text": row} if isinstance(row, str) else row)
        return [write_lines(self.place("texts.jsonl", "the texts"), rows)]

    def sentences(self, value: Any) -> Path:
        """Return the file of sentences to pair: `value` is a path, or sentences in memory as for `documents`."""
        if isinstance(value, str | Path):
            return to_path(value)
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
            raise BadInput("there are no texts", cure="pass at least one text")
        for row in rows:
            if isinstance(row, str) and len(row) < 300 and Path(row).is_file():
                raise BadInput(
                    f"the text {row!r} is the name of a file",
                    cure="pass files as Path objects: [Path(name)]",
                )
            if not isinstance(row, str | Mapping | Example):
                raise cannot_use(row, "a text")
        return rows


def save_dataset(dataset: Dataset, path: Path | str, *, overwrite: bool) -> None:
    """Write a dataset folder whose card has the name and the language of the dataset, so that it is read back equal."""
    others = (language for language in dataset.card.languages if language != dataset.language)
    card = msgspec.structs.replace(
        dataset.card, name=dataset.name, languages=(dataset.language, *others)
    )
    with CallFiles(Dataset.save):
        write_folder(
            msgspec.structs.replace(dataset, card=card), to_path(path), overwrite=overwrite
        )


def is_registered(dataset: Dataset, data: Path | None) -> bool:
    """Whether a dataset in memory is exactly what `load` reads under its name.

    A part of a registered dataset, or a changed one, must not pass for the published dataset.
    """
    if dataset.name not in benchmarks():
        return False
    try:
        published = load(dataset.name, data=data)
    except BadInput:  # it was loaded from a file, and the published files are not on this machine
        return False
    return all(getattr(dataset, name) == getattr(published, name) for name in ("version", "splits"))


def name_keywords(text: str, function: Callable[..., Any], kind: type[Any] | None = None) -> str:
    """Replace the options in a message by the keyword arguments of a function.

    An option that is a field of the function's options becomes that. Options inside commands, and options that the
    function does not have, stay as they are.

    >>> from nikawa.api import agree, generate, pair, score
    >>> name_keywords("add them, or pass --partial to score the rest", score)
    'add them, or pass partial=True to score the rest'
    >>> name_keywords("pass --per-cell 2, or choose another folder: --out DIR", generate)
    'pass per_cell=2, or choose another folder: out=DIR'
    >>> name_keywords("pass --map worker=COLUMN", agree)
    'pass columns={"worker": "COLUMN"}'
    >>> from nikawa.pairing.job import PairOptions
    >>> name_keywords("name another value with --within", pair, PairOptions)
    'name another value with options=PairOptions(within=…)'
    """
    parameters = signature(function).parameters
    keywords = {name: str(each.annotation) for name, each in parameters.items()}
    fields = {} if kind is None else dict(get_annotations(kind))

    def translate(option: re.Match[str]) -> str:
        written = option["name"].replace("-", "_")
        names = (KEYWORDS.get(written, written), f"{written}s")
        name = next((name for name in names if name in keywords), "")
        field = next((name for name in names if name in fields), "")
        if not name and not field:
            return option[0]
        is_switch = "bool" in (keywords[name] if name else str(fields[field]))
        rest = "" if not is_switch or option["value"] is None else f" {option['value']}"
        value = "True" if is_switch else format_keyword_value(option)
        if name:
            return f"{name}={value}{rest}"
        return f"options={getattr(kind, '__name__', '')}({field}={value or '…'}){rest}"

    parts, end = [], 0
    for command in COMMAND.finditer(text):
        parts += [OPTION.sub(translate, text[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*parts, OPTION.sub(translate, text[end:])])


def format_keyword_value(option: re.Match[str]) -> str:
    """Return the value of an option as Python code: a mapping, a placeholder, a number or a text; empty if it has no value."""
    if option["items"]:
        pairs = (item.split("=", 1) for item in option["items"].split(","))
        items = [f'"{key}": "{value}"' for key, value in pairs]
        return f"{{{', '.join([*items, '…'] if option['more'] else items)}}}"
    value = option["value"] or ""
    is_plain = not value or value.isupper() or value.replace(".", "", 1).isdigit()
    return value if is_plain else f'"{value}"'


def to_example(row: Any) -> Example:
    """Read an example from a record; raise `BadInput` if a field is missing or has the wrong type."""
    if isinstance(row, Example):
        return row
    try:
        return revive(msgspec.convert(msgspec.json.decode(encode(row)), Example))
    except msgspec.ValidationError as problem:
        cure = "docs/records.md shows the shapes of records"
        raise BadInput(f"a row is not a valid example: {problem}", cure=cure) from None


def format_sheet_cell(cell: Any) -> str:
    """Format a value as the cell of a sheet."""
    if is_absent(cell):
        return ""
    return cell if isinstance(cell, str) else encode(cell).decode().strip('"')
