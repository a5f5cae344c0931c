"""Import a flat table as a dataset folder: find the role of each column, and convert each row to an example.

The kind of task determines which fields a row must have (the table of docs/records.md). A column is recognised by
a usual name (`sentence1`, `gold_label`, `pairID`, …) or named by the user; an ambiguous name is an error, never a
guess. Every other column goes into the metadata under its own name, so nothing of a row is lost.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, cast, get_args

from msgspec.structs import replace

from nikawa.datasets.card import fill_card
from nikawa.datasets.load import guess_language, guess_split
from nikawa.datasets.names import SPLIT_ALIASES
from nikawa.errors import BadInput, list_names, place_fault, suggest, unknown
from nikawa.io.cards import blank_card
from nikawa.io.file_names import to_file_name
from nikawa.io.flat_tables import FlatTable, Row, open_tables
from nikawa.io.folders import check_split_names, open_target, write_card
from nikawa.io.records import write_records
from nikawa.records import Card, Example, Kind, Record, Span

ROWS_LOOKED_AT = 200
"""Rows for detecting the role of columns."""
NUMBER_OF_NO_LABEL = -1
"""The value of an unpublished label in a class column of Hugging Face datasets."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
READ_KEYS = frozenset(
    ("start", "end", "start_idx", "end_idx", "answer_start", "text", "word", "label", "type")
)
"""The keys that are read from an answer, span or entity that is an object."""


@dataclass(frozen=True)
class Field:
    """A field of a kind of task, and its usual columns."""

    name: str
    """The name for `--columns`."""
    usual: tuple[str, ...]
    """Usual names of its column, in lower case without spaces and punctuation.
    The first is certain. A required field takes one of the others only if it is the only one."""
    required: bool = True
    rivals: tuple[str, ...] = ()
    """Names that are as sure as the first."""


ID = Field(
    "id",
    ("id", "exampleid", "pairid", "sentencepairid", "guid", "uid", "qid", "reviewid", "idx"),
    required=False,
)
TEXT = Field("text", ("text", "sentence", "document", "review", "title", "content", "utterance"))
LABEL = Field(
    "label",
    ("label", "goldlabel", "labels", "class", "category", "gold", "sentiment"),
    rivals=("goldlabel",),
)
QUESTION = Field("question", ("question", "query"))
FIELDS: Mapping[Kind, tuple[Field, ...]] = {
    "inference": (
        Field("premise", ("premise", "sentence1", "sentencea", "text1", "s1", "t", "texta")),
        Field("hypothesis", ("hypothesis", "sentence2", "sentenceb", "text2", "s2", "h", "textb")),
        Field("label", ("label", "goldlabel", "labels", "gold"), rivals=("goldlabel",)),
    ),
    "similarity": (
        Field("sentence1", ("sentence1", "sentencea", "text1", "s1", "premise", "texta")),
        Field("sentence2", ("sentence2", "sentenceb", "text2", "s2", "hypothesis", "textb")),
        Field(
            "score", ("score", "similarity", "relatedness", "similarityscore", "label", "rating")
        ),
    ),
    "reading": (
        Field("context", ("context", "passage", "paragraph", "document")),
        QUESTION,
        Field("title", ("title",), required=False),
        Field("answers", ("answers", "answer", "goldanswers")),
        Field("start", ("answerstart", "start"), required=False),
    ),
    "choice": (
        QUESTION,
        Field("choices", ("choices", "options", "choice*", "option*", "answer*")),
        Field("choice", ("label", "answer", "answerkey", "answeridx", "choice", "gold", "correct")),
    ),
    "tagging": (
        Field("text", ("text", "sentence"), required=False),
        Field("tokens", ("tokens", "words", "character", "characters"), required=False),
        Field("spans", ("spans", "entities", "nertags", "tags", "labels", "bio")),
    ),
    "relation": (
        Field("text", ("text", "sentence")),
        Field("subject", ("subject", "subjectentity", "head", "subj")),
        Field("object", ("object", "objectentity", "tail", "obj")),
        Field("relation", ("relation", "label", "relationlabel")),
    ),
    "text": (TEXT, LABEL),
}
"""Kind to its fields; the question comes last, except for `start`. The kinds with the most fields come first."""
GOLD_FIELD: Mapping[Kind, str] = {
    "text": "label",
    "inference": "label",
    "similarity": "score",
    "choice": "choice",
    "reading": "answers",
    "tagging": "spans",
    "relation": "relation",
}
"""Kind to the field that is asked, which is also the question unless another is named."""
NO_COLUMN = "-"
"""The value for a field that has no column, although a column has a usual name."""
NO_LABEL = "-"
"""The name for a value that means a missing label."""
RECORD_FIELDS = (
    ID,
    Field("group", ("group",), required=False),
    Field("tags", ("tags",), required=False),
)
"""Fields of every example that may have a column; the tags of a tagging task are its spans."""


@dataclass(frozen=True)
class ImportOptions:
    """How to read a table."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Field to column, as far as the user names them; `choices` may be a pattern such as `choice*`.
    `-` means no column: ids are then made from the row number."""
    kind: str | None = None
    """The kind of task; None: detected from the columns."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The table's value of a label to the label's name; `-` if the value means a missing label."""
    question: str | None = None
    """The name of the gold; default: the kind's name for it."""
    split: str | None = None
    """The split of a single file; default: from its name."""
    joiner: str | None = None
    """The separator of a text that is given as tokens: nothing, or a space."""
    card: Mapping[str, str] = field(default_factory=dict)
    """The user's fields for the card."""
    overwrite: bool = False


@dataclass(frozen=True)
class ColumnPlan:
    """The column of each field."""

    kind: Kind
    columns: Mapping[str, tuple[str, ...]]
    """Field to its column, or columns where choices have one each."""
    question: str
    kept: tuple[str, ...] = ()
    """Columns that become values of the meta."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Column to its name in the metadata, if the user renames it."""


class ImportReport(Record, frozen=True, kw_only=True):
    """The result of importing a table."""

    dataset: str
    out: str
    kind: str
    question: str
    columns: dict[str, list[str]]
    """Field to its column or columns."""
    meta: tuple[str, ...]
    """Columns that became values of the meta."""
    splits: dict[str, int]
    labels: dict[str, int]
    """Label to number of examples, if the answer is a label."""
    unlabelled: int
    """Rows without a label."""
    made_ids: bool
    """Whether ids were made from places, for want of a column."""


# Which column is what


def plan_columns(tables: Sequence[FlatTable], options: ImportOptions) -> ColumnPlan:
    """Return the kind of task and the columns of its fields.

    Raises `BadInput`, with the existing columns, if that is ambiguous.
    """
    rows = sample_rows(tables)
    columns = list(dict.fromkeys(name for table in tables for name in table.list_columns()))
    file = tables[0].path
    if options.kind is not None and options.kind not in FIELDS:
        if options.kind in get_args(Kind):
            what = f"a flat table cannot represent {options.kind}"
            raise BadInput(what, cure="write records: docs/records.md shows their shapes")
        raise unknown("kind of task", options.kind, FIELDS)
    kinds = [cast("Kind", options.kind)] if options.kind else list(FIELDS)
    names = {kind: {each.name for each in list_fields(kind)} for kind in kinds}
    stated = [name for name in options.columns if not name.startswith("meta.")]
    for name in stated:
        if not any(name in own for own in names.values()):
            raise unknown("field", name, [*set().union(*names.values()), "meta.NAME"])
    kinds = [kind for kind in kinds if names[kind].issuperset(stated)]
    if not kinds:
        what = f"no kind of task has the fields {list_names(stated)}"
        raise BadInput(what, cure="docs/import.md lists the fields of each kind")
    if any(column.partition(".")[0] == "inputs" for column in columns):
        cure = "do not import it: pass it to nikawa data check, or its folder to nikawa data card"
        raise BadInput("already contains records", file=file, cure=cure)
    meta_names = {name: key for table in tables for name, key in table.meta_names.items()}
    plans = [fill_fields(kind, columns, options, file, meta_names) for kind in kinds]
    whole = [
        plan
        for plan in plans
        if not list_missing(plan) and (len(kinds) == 1 or fits_kind(plan, rows, tables))
    ]
    if whole:
        # The one that uses the most columns is meant: a question with choices is also a text.
        return max(whole, key=lambda plan: sum(map(len, plan.columns.values())))
    raise explain_gap(columns, plans, options, file)


def list_fields(kind: Kind) -> list[Field]:
    """The fields that a row of a kind of task may have."""
    others = RECORD_FIELDS[:-1] if kind == "tagging" else RECORD_FIELDS
    return [*FIELDS[kind], *others]


def sample_rows(tables: Sequence[FlatTable]) -> list[Row]:
    """The first rows of each table."""
    rows = [row for table in tables for _, row in islice(table.read(), ROWS_LOOKED_AT)]
    if not rows:
        raise BadInput("holds no rows", file=tables[0].path, cure="pass a table with rows")
    return rows


def fill_fields(
    kind: Kind,
    columns: Sequence[str],
    options: ImportOptions,
    file: Path,
    meta_names: Mapping[str, str],
) -> ColumnPlan:
    """Return the columns of a kind's fields, as far as they are stated or recognised by their names.

    `meta_names` has columns that were metadata values, with their names there.
    """
    stated: dict[str, tuple[str, ...]] = {}
    renamed: dict[str, str] = {}
    for name, column in options.columns.items():
        part = () if column == NO_COLUMN else match_columns(column, columns, file)
        if len(part) > 1 and name != "choices":
            what = f"the {name} has several columns: {list_names(part)}"
            raise BadInput(what, file=file, cure=f"choose one: --columns {name}=COLUMN")
        if taken := {*part} & {*renamed, *(each for own in stated.values() for each in own)}:
            what = f"the column {min(taken)!r} cannot also be the {name}"
            raise BadInput(what, file=file, cure="use each column once")
        if not name.startswith("meta."):
            stated[name] = part
            continue
        key = name.removeprefix("meta.")
        if not key or not part or (key in columns and key != column):
            what = f"{name}={column} does not give the column a new name"
            raise BadInput(what, file=file, cure=f"write meta.NAME={column} with a new name")
        renamed[column] = key
    named = {*renamed, *(column for part in stated.values() for column in part)}
    renamed |= {column: key for column, key in meta_names.items() if column not in named}
    free = [column for column in columns if column not in renamed]
    guessed = guess_columns(kind, free, stated)
    order = [each.name for each in list_fields(kind)]
    fields = {name: guessed[name] for name in order if guessed.get(name)}
    used = {column for part in fields.values() for column in part}
    kept = tuple(column for column in columns if column not in used)
    return ColumnPlan(kind, fields, options.question or GOLD_FIELD[kind], kept, renamed)


def list_missing(plan: ColumnPlan) -> list[str]:
    """Return the fields that a kind needs and that have no column."""
    missing = [
        each.name
        for each in list_fields(plan.kind)
        if each.required and each.name not in plan.columns
    ]
    if plan.kind == "tagging" and not {"text", "tokens"} & plan.columns.keys():
        missing.append("text")
    return missing


def guess_columns(
    kind: Kind, columns: Sequence[str], stated: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, tuple[str, ...]]:
    """The columns of a kind's fields: those that are stated, and others by their usual names."""
    taken = dict(stated or {})
    used = {column for part in taken.values() for column in part}
    for each in list_fields(kind):
        if each.name in taken:
            continue
        usual = find_usual(each, [column for column in columns if column not in used])
        if len(usual) == 1 or each.name == "choices" or not each.required:
            taken[each.name] = usual if each.name == "choices" else usual[:1]
            used |= set(taken[each.name])
    return taken


def find_usual(sought: Field, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that may be a field by their names, or only the certain one; or one column per choice."""
    short: dict[str, list[str]] = {}
    for column in columns:
        short.setdefault(re.sub(r"[\W_]", "", column.casefold()), []).append(column)
    for names in ((sought.usual[0], *sought.rivals), sought.usual):
        matches = [column for name in names for column in short.get(name, ())]
        if matches:
            return tuple(matches)
    for usual in (name for name in sought.usual if name.endswith("*")):
        pattern = re.compile(rf"{usual[:-1]}(\d+|[a-z])")
        marks = {match[1]: short[name] for name in short if (match := pattern.fullmatch(name))}
        if len(marks) > 1:
            order = sorted(marks, key=lambda mark: (int(mark) if mark.isdigit() else 0, mark))
            return tuple(column for mark in order for column in marks[mark])
    return ()


def match_columns(pattern: str, columns: Sequence[str], file: Path) -> tuple[str, ...]:
    """The columns that a user names: one, several with `+` between them, or a pattern with `*`.

    `labels.score` is a value inside the objects of the column `labels`.
    """
    if pattern in columns or pattern.partition(".")[0] in columns:
        return (pattern,)
    if "*" in pattern:
        expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        matches = tuple(column for column in columns if expression.fullmatch(column))
        if matches:
            return matches
    parts = pattern.split("+")
    for part in parts:
        if part not in columns:
            raise BadInput(f"has no column {part!r}", file=file, cure=suggest(part, columns))
    return tuple(parts)


def get_cell(row: Row, column: str) -> Any:
    """Return the value of a row in a column, or inside the object of a column; None if it is empty."""
    if column in row or "." not in column:
        return row.get(column)
    outer, _, inner = column.partition(".")
    value = row.get(outer)
    return get_cell(value, inner) if isinstance(value, dict) else None


def fits_kind(plan: ColumnPlan, rows: Sequence[Row], tables: Sequence[FlatTable]) -> bool:
    """Whether the values of a table fit a kind: a number is not a label, unless it has a name."""
    column = plan.columns[GOLD_FIELD[plan.kind]][0]
    cells = [get_cell(row, column) for row in rows]
    values = [cell for cell in cells if not is_blank(cell)]
    has_names = any(column in table.classes for table in tables)
    if plan.kind == "similarity":
        return not has_names and all(map(is_number, values)) and not all(map(is_small, values))
    if plan.kind in ("inference", "text", "relation"):
        return all(isinstance(value, str) or to_whole(value) is not None for value in values)
    if plan.kind == "tagging":
        return all(isinstance(value, list) for value in values)
    if plan.kind == "choice":
        return len(plan.columns["choices"]) > 1 or any(
            isinstance(get_cell(row, plan.columns["choices"][0]), list | dict) for row in rows
        )
    return True


def is_number(value: Any) -> bool:
    """Whether a cell is a finite number, or the text of one."""
    if isinstance(value, str):
        return bool(re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,2})?", value.strip()))
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def to_whole(value: Any) -> int | None:
    """A whole number, or the text of one, as an integer; None for all else but true and false.

    >>> to_whole(3), to_whole("3"), to_whole(3.0), to_whole("3.5"), to_whole(None)
    (3, 3, 3, None, None)
    """
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value.strip()):
        return int(value)
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def is_blank(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_small(value: Any) -> bool:
    """Whether a number may stand for one of three classes."""
    return float(value) in (0, 1, 2)


def explain_gap(
    columns: Sequence[str], plans: Sequence[ColumnPlan], options: ImportOptions, file: Path
) -> BadInput:
    """Return the error for ambiguous columns: what the nearest kind lacks, and what to write."""

    def known(plan: ColumnPlan) -> int:
        return sum(each.required and each.name in plan.columns for each in FIELDS[plan.kind])

    plan = min(plans, key=lambda plan: (not known(plan), len(list_missing(plan)), -known(plan)))
    missing = list_missing(plan)
    has = f"its columns are {list_names(columns)}"
    if options.kind is None and (not missing or not known(plan)):
        what = f"does not determine the kind of task; {has}"
        kinds = ", ".join(FIELDS)
        cure = f"pass --kind ({kinds}) and --columns FIELD=COLUMN,…"
        return BadInput(what, file=file, cure=cure)
    free = [column for column in columns if column in plan.kept]
    fields = {each.name: each for each in list_fields(plan.kind)}
    rivals = {name: find_usual(fields[name], free) for name in missing}
    doubts = [f"{name}: {list_names(usual)}" for name, usual in rivals.items() if len(usual) > 1]
    if doubts:
        what = f"has several columns that may be the {'; the '.join(doubts)}"
    else:
        names = list_names(missing)
        what = f"has no recognised column for the {names} of {plan.kind}; {has}"
    other = "" if options.kind else ", or another kind with --kind"
    stated = ",".join(f"{name}=COLUMN" for name in missing)
    return BadInput(what, file=file, cure=f"pass --columns {stated}{other}")


# Rows to examples


class RowFault(Exception):
    """A fault of a row, and its cure."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


@dataclass
class RowReader:
    """Makes examples of the rows of one table."""

    table: FlatTable
    plan: ColumnPlan
    options: ImportOptions
    split: str
    numbers: Iterator[int]
    """Counts the rows of a split, for those without an id."""
    ids: set[str]
    """The ids of the split so far."""
    labels: Counter[str] = field(default_factory=Counter)
    unlabelled: int = 0

    def read(self) -> Iterator[Example]:
        """The examples of all rows."""
        for place, row in self.table.read():
            try:
                yield self.make_example(row)
            except RowFault as fault:
                file, unit = self.table.path, self.table.unit
                raise place_fault(
                    fault.what, file=file, unit=unit, place=place, cure=fault.cure
                ) from None

    def make_example(self, row: Row) -> Example:
        """Return the example of a row; raise `RowFault` with the fault."""
        inputs = READERS[self.plan.kind](self, row)
        gold: dict[str, Any] = {}
        if self.has_gold(row):
            gold[self.plan.question] = GOLDS[self.plan.kind](self, row, inputs)
        else:
            self.unlabelled += 1
        group, tags = self.cell(row, "group"), self.cell(row, "tags")
        many = tags if isinstance(tags, list) else [] if is_blank(tags) else [tags]
        example = Example(
            id=self.make_id(row),
            inputs=inputs,
            gold=gold,
            meta=self.collect_meta(row),
            group=None if is_blank(group) else write_word(group, "group"),
        )
        if not many:
            return example
        return replace(example, tags=frozenset(write_word(tag, "tags") for tag in many))

    def make_id(self, row: Row) -> str:
        """Return the id of a row; made from its number if the table has no ids."""
        number = next(self.numbers)
        name = f"{self.split}-{number}"
        if "id" in self.plan.columns:
            column, value = self.plan.columns["id"][0], self.cell(row, "id")
            cure = "choose another column: --columns id=COLUMN, or generate ids: --columns id=-"
            if is_blank(value):
                raise RowFault(f"has no id (column {column!r})", cure)
            name = write_word(value, "id")
            if name in self.ids:
                raise RowFault(f"the id {name!r} occurs twice (column {column!r})", cure)
            self.ids.add(name)
        return name

    def collect_meta(self, row: Row) -> dict[str, Any]:
        """Return the other values of a row, under the names of their columns unless renamed."""
        columns = [*self.plan.kept]
        if "start" in self.plan.columns and not isinstance(self.cell(row, "answers"), str):
            columns += self.plan.columns["start"]  # the answers have their own starts
        if "tokens" in self.plan.columns:
            columns += self.plan.columns["tokens"]  # the text does not show the boundaries
        for name in ("answers", "spans", "subject", "object"):
            value = self.cell(row, name)
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, dict) and part.keys() - READ_KEYS for part in parts):
                columns += self.plan.columns[name]  # its objects have more keys than are read
        return {
            self.plan.renamed.get(column, column): self.name_classes(column, row[column])
            for column in columns
            if column in row
        }

    def name_classes(self, column: str, value: Any) -> Any:
        """A value, or the names that the table has for its numbers."""
        names = self.table.classes.get(column)
        if isinstance(value, list):
            return [self.name_classes(column, part) for part in value] if names else value
        if names is None or type(value) is not int or not 0 <= value < len(names):
            return value
        return names[value]

    def has_gold(self, row: Row) -> bool:
        """Whether a row has an answer.

        -1 means no label in a column of classes. An empty list of answers means no label if the row has an answer.
        """
        name = GOLD_FIELD[self.plan.kind]
        value = self.cell(row, name)
        is_class = self.plan.columns[name][0] in self.table.classes
        if self.plan.kind == "reading" and row.get("is_impossible") is False:
            texts = value.get("text") if isinstance(value, dict) else value
            return not is_blank(texts) and texts != []
        if is_blank(value) or (is_class and value == NUMBER_OF_NO_LABEL):
            return False
        is_word = isinstance(value, str | int | float)
        return not is_word or self.options.labels.get(write_word(value, name).strip()) != NO_LABEL

    def cell(self, row: Row, name: str) -> Any:
        """Return the value of a field in a row; None if it is empty."""
        columns = self.plan.columns.get(name)
        return None if columns is None else get_cell(row, columns[0])

    def text(self, row: Row, name: str) -> str:
        """A text that a row must have."""
        value = self.cell(row, name)
        if not isinstance(value, str) or not value.strip():
            column = self.plan.columns[name][0]
            kind = "is empty" if is_blank(value) else f"is not a text: {value!r}"
            raise RowFault(
                f"the {name} (column {column!r}) {kind}", "fill it in, or remove the row"
            )
        return value

    def label(self, row: Row, name: str) -> str:
        """Return the name of a label: the user's name, the table's name for its number, or the value itself."""
        column = self.plan.columns[name][0]
        value = self.cell(row, name)
        written = write_word(value, name).strip()
        if written in self.options.labels:
            label = self.options.labels[written]
        elif self.options.labels:
            known = ", ".join(self.options.labels)
            raise RowFault(f"--labels does not name {written!r}", f"it names {known}")
        elif type(value) is int and column in self.table.classes:
            classes = self.table.classes[column]
            if not 0 <= value < len(classes):
                raise RowFault(f"{column} {value} has no name", f"there are {len(classes)}")
            label = classes[value]
        elif is_number(value):
            cure = f"name the labels: --labels {written}=NAME,…"
            if value == NUMBER_OF_NO_LABEL:
                cure = f"{cure}; {written}={NO_LABEL} if it means that the label is missing"
            elif self.plan.kind == "inference":
                cure = f"{cure}, or pass --kind similarity if they are scores"
            raise RowFault(f"the label (column {column!r}) is the number {written}", cure)
        else:
            label = written
        self.labels[label] += 1
        return label


def write_word(value: Any, name: str) -> str:
    """A word or number as text; true and false as JSON has them.

    >>> write_word("yes", "label"), write_word(2.0, "label"), write_word(True, "label")
    ('yes', '2', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise RowFault(
            f"the {name} is neither text nor a number: {value!r}", "choose another column"
        )
    whole = to_whole(value) if isinstance(value, float) else None
    return str(value if whole is None else whole)


InputReader = Callable[[RowReader, Row], dict[str, Any]]
GoldReader = Callable[[RowReader, Row, dict[str, Any]], Any]


def read_texts(*names: str) -> InputReader:
    """A reader of inputs that are texts."""

    def read(reader: RowReader, row: Row) -> dict[str, Any]:
        return {name: reader.text(row, name) for name in names}

    return read


def read_passage(reader: RowReader, row: Row) -> dict[str, Any]:
    """Title, context and question."""
    inputs = {} if is_blank(reader.cell(row, "title")) else read_texts("title")(reader, row)
    return {**inputs, **read_texts("context", "question")(reader, row)}


def read_choices(reader: RowReader, row: Row) -> dict[str, Any]:
    """A question with its choices: a list, texts under letters, or a column each."""
    _, choices = list_choices(reader, row)
    return {"question": reader.text(row, "question"), "choices": choices}


def list_choices(reader: RowReader, row: Row) -> tuple[list[str], list[str]]:
    """Return the names of the choices of a row, if it has them, and their texts."""
    columns = reader.plan.columns["choices"]
    marks: list[str] = []
    value: Any = [get_cell(row, column) for column in columns]
    if len(columns) == 1:
        value = value[0]
        if isinstance(value, dict) and isinstance(value.get("text"), list):
            marks, value = value.get("label", []), value["text"]
        elif isinstance(value, dict):
            marks, value = list(value), list(value.values())
    else:
        while value and is_blank(value[-1]):  # a question with fewer choices than others
            value.pop()
    if not isinstance(value, list) or len(value) < 2:
        raise RowFault(f"has no choices in {', '.join(columns)}", "each row needs at least two")
    if any(map(is_blank, value)):
        raise RowFault(
            f"a choice is empty in {', '.join(columns)}", "fill it in, or remove the row"
        )
    if not isinstance(marks, list) or (marks and len(marks) != len(value)):
        raise RowFault("has different numbers of choices and names of choices", "correct the row")
    texts = [each if isinstance(each, str) else write_word(each, "choice") for each in value]
    return [write_word(mark, "choice") for mark in marks], texts


def read_tagged_text(reader: RowReader, row: Row) -> dict[str, Any]:
    """The text, whole or put together from its tokens."""
    if "text" in reader.plan.columns:
        return {"text": reader.text(row, "text")}
    return {"text": join_tokens(reader, row)[0]}


def join_tokens(reader: RowReader, row: Row) -> tuple[str, list[tuple[int, int]]]:
    """The text of a row's tokens, and where each begins and ends."""
    tokens = reader.cell(row, "tokens")
    if not isinstance(tokens, list) or not tokens:
        raise RowFault("has no list of tokens", "fill them in, or remove the row")
    words = [each if isinstance(each, str) else write_word(each, "tokens") for each in tokens]
    joiner = reader.options.joiner
    if "text" in reader.plan.columns:
        text = reader.text(row, "text")
    elif joiner is None:
        raise RowFault(
            "has tokens and no text", 'pass the separator of the tokens: --join "" or --join " "'
        )
    else:
        text = joiner.join(words)
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            cure = (
                "correct the row, or use only one of them: --columns text=- or --columns tokens=-"
            )
            raise RowFault(f"the token {word!r} does not follow in the text", cure)
        end = start + len(word)
        places.append((start, end))
    return text, places


def read_entities(reader: RowReader, row: Row) -> dict[str, Any]:
    """A text with its two marked entities."""
    text = reader.text(row, "text")
    ends = {name: read_entity(reader.cell(row, name), text, name) for name in ("subject", "object")}
    return {"text": text, **ends}


def read_entity(value: Any, text: str, name: str) -> Span:
    """Return an entity as a span: by its offsets, or by its words if they occur once in the text."""
    if isinstance(value, str) and text.count(value) == 1 and value:
        return Span(text.index(value), text.index(value) + len(value))
    if not isinstance(value, dict):
        raise RowFault(f"the {name} does not occur exactly once in the text", "write start and end")
    label = value.get("label") or value.get("type") or ""
    if "start_idx" in value and "end_idx" in value:  # KLUE counts the last character in
        start, end = to_whole(value["start_idx"]), to_whole(value["end_idx"])
        end = None if end is None else end + 1
    else:
        start, end = to_whole(value.get("start")), to_whole(value.get("end"))
    if start is None or end is None or not isinstance(label, str):
        raise RowFault(f"the {name} has no start and end", "write both")
    if not 0 <= start < end <= len(text):
        what = f"the {name} is at {start} to {end} of {len(text)} characters"
        raise RowFault(what, "correct the offsets")
    check_words(value, text, start, end, name)
    return Span(start, end, label)


def read_label(reader: RowReader, row: Row, inputs: dict[str, Any]) -> str:
    """The label of a text, pair or relation."""
    return reader.label(row, GOLD_FIELD[reader.plan.kind])


def read_score(reader: RowReader, row: Row, inputs: dict[str, Any]) -> float:
    """The score of a pair."""
    value = reader.cell(row, "score")
    if not is_number(value):
        cure = "correct it, or remove the row"
        if isinstance(value, dict):
            column = reader.plan.columns["score"][0]
            cure = f"choose one of its values: --columns score={column}.NAME"
        raise RowFault(f"the score is not a number: {value!r}", cure)
    return float(value)


def read_choice(reader: RowReader, row: Row, inputs: dict[str, Any]) -> int:
    """Return the index of the correct choice, given as an index, a letter, its name, or the choice itself."""
    value, choices = reader.cell(row, "choice"), inputs["choices"]
    written = write_word(value, "choice").strip()
    if reader.options.labels:
        if written not in reader.options.labels:
            known = ", ".join(reader.options.labels)
            raise RowFault(f"--labels does not name {written!r}", f"it names {known}")
        written = reader.options.labels[written]
    marks, _ = list_choices(reader, row)
    if marks.count(written) == 1:
        return marks.index(written)
    # A number is a place; the text of one may also be the choice itself.
    is_text = isinstance(value, str) or bool(reader.options.labels)
    places = {at for at, choice in enumerate(choices) if is_text and choice.strip() == written}
    if written.isdecimal() and int(written) < len(choices):
        places.add(int(written))
    elif written.upper() in LETTERS[: len(choices)] and len(written) == 1:
        places.add(LETTERS.index(written.upper()))
    if len(places) == 1:
        return places.pop()
    what = f"the choice {written!r} is {'several' if places else 'none'} of {len(choices)}"
    raise RowFault(what, "count from 0, or rename it: --labels 1=0,2=1,…")


def read_answers(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to a question with their places in the context."""
    value, context = reader.cell(row, "answers"), inputs["context"]
    if isinstance(value, dict):  # as in Hugging Face's copies of SQuAD
        texts, starts = value.get("text"), value.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list):
            texts, starts = [texts], [starts]
        if len(texts) != len(starts):
            raise RowFault("has different numbers of answers and answer_start", "correct the row")
        pairs = list(zip(texts, starts, strict=True))
    elif isinstance(value, list):
        pairs = [
            (each["text"], each.get("answer_start", each.get("start")))
            if isinstance(each, dict) and "text" in each
            else (each, None)
            for each in value
        ]
    else:
        pairs = [(value, reader.cell(row, "start"))]
    answers = []
    for text, start in pairs:
        if not isinstance(text, str) or not text:
            raise RowFault(f"the answer is not a text: {text!r}", "correct it, or remove the row")
        place = to_whole(start)
        if start is None:
            if context.count(text) != 1:
                where = "is not in the context" if text not in context else "occurs several times"
                raise RowFault(f"the answer {text!r} {where}", "write its start")
            place = context.index(text)
        if place is None or place < 0 or not context.startswith(text, place):
            what = f"the answer {text!r} is not at {start} of the context"
            raise RowFault(what, "correct its start")
        answers.append({"text": text, "start": place})
    return answers


def read_spans(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[Span]:
    """The marked spans: as places in the text, or as a tag for each token or character."""
    value = reader.cell(row, "spans")
    if not isinstance(value, list):
        raise RowFault("has no list of spans or tags", "add one")
    if all(isinstance(each, dict | list) for each in value):
        return [read_span(each, inputs["text"]) for each in value]
    column = reader.plan.columns["spans"][0]
    classes = reader.table.classes.get(column, ())
    tags = []
    for each in value:
        if str(each) in reader.options.labels:
            tags.append(reader.options.labels[str(each)])
        elif not isinstance(each, int):
            tags.append(str(each))
        elif 0 <= each < len(classes):
            tags.append(classes[each])
        else:
            raise RowFault(f"the tag {each} has no name", f"name them: --labels {each}=B-PER,…")
    text = inputs["text"]
    if "tokens" in reader.plan.columns:
        _, places = join_tokens(reader, row)
    else:
        places = [(at, at + 1) for at in range(len(text))]
    if len(places) != len(tags):
        raise RowFault(f"has {len(tags)} tags for {len(places)} tokens", "correct the row")
    return spans_of_tags(tags, places)


def read_span(value: dict[str, Any] | list[Any], text: str) -> Span:
    """A span of a text, with its label: an object, or start, end and label in a list."""
    keys = ("start", "end", "label")
    part = value if isinstance(value, dict) else dict(zip(keys, value, strict=False))
    start, end = to_whole(part.get("start")), to_whole(part.get("end"))
    label = part.get("label", part.get("type"))
    if start is None or end is None or not isinstance(label, str) or len(value) < 3:
        raise RowFault("a span has no start, end and label", "write all three")
    if not 0 <= start < end <= len(text):
        raise RowFault(f"a span is at {start} to {end} of {len(text)} characters", "correct it")
    check_words(part, text, start, end, "span")
    return Span(start, end, label)


def check_words(part: dict[str, Any], text: str, start: int, end: int, name: str) -> None:
    """Refuse places at which the text has other words than a span or entity."""
    words = part.get("word", part.get("text"))
    if words is not None and text[start:end] != words:
        what = f"the {name} is {words!r}, but the text has {text[start:end]!r} there"
        raise RowFault(what, "correct the offsets")


def spans_of_tags(tags: Sequence[str], places: Sequence[tuple[int, int]]) -> list[Span]:
    """Return the spans of B-X, I-X and O tags; an I-X without a B-X begins a span, as in scorers.

    >>> spans_of_tags(["B-PS", "I-PS", "O"], [(0, 2), (2, 3), (3, 4)])
    [Span(start=0, end=3, label='PS')]
    """
    spans: list[Span] = []
    is_open = False
    for tag, (start, end) in zip(tags, places, strict=True):
        head, dash, label = tag.partition("-")
        if tag == "O":
            is_open = False
            continue
        if head not in ("B", "I") or not dash:
            raise RowFault(f"the tag {tag!r} is not B-X, I-X or O", "rename it with --labels")
        if head == "I" and is_open and spans[-1].label == label:
            spans[-1] = Span(spans[-1].start, end, label)
        else:
            spans.append(Span(start, end, label))
        is_open = True
    return spans


READERS: Mapping[Kind, InputReader] = {
    "text": read_texts("text"),
    "inference": read_texts("premise", "hypothesis"),
    "similarity": read_texts("sentence1", "sentence2"),
    "choice": read_choices,
    "reading": read_passage,
    "tagging": read_tagged_text,
    "relation": read_entities,
}
"""Kind to the reader of a row's inputs."""
GOLDS: Mapping[Kind, GoldReader] = {
    "text": read_label,
    "inference": read_label,
    "similarity": read_score,
    "choice": read_choice,
    "reading": read_answers,
    "tagging": read_spans,
    "relation": read_label,
}
"""Kind to the reader of a row's gold."""


# The job


def import_table(source: Path, out: Path, options: ImportOptions | None = None) -> ImportReport:
    """Write the dataset folder `out` from a flat table: a file, or a folder with one file per split.

    Raises `BadInput` if the role of a column is ambiguous, and for a faulty row; then
    nothing is written.
    """
    options = options or ImportOptions()
    tables = open_tables(source)
    if source.is_dir() and out.resolve() == source.resolve():
        cure = "choose another folder: --out DIR"
        raise BadInput("is the folder of the table", file=out, cure=cure)
    return import_rows(tables, out, options, source)


def import_rows(
    tables: Sequence[FlatTable],
    out: Path,
    options: ImportOptions,
    source: Path,
    *,
    facts: Mapping[str, Any] | None = None,
    further_files: Sequence[str] = (),
    finish: Callable[[Path, Card], None] | None = None,
) -> ImportReport:
    """Write the dataset folder `out` from tables, which come from `source`.

    `facts` are fields of the card. `finish` gets the folder before it is in place, and may add the files that
    `further_files` names.
    """
    plan = plan_columns(tables, options)
    if options.labels and plan.kind in ("similarity", "reading"):
        what = f"--labels renames labels, but {plan.kind} has no labels"
        raise BadInput(what, file=source, cure="leave out --labels, or pass another --kind")
    by_split: dict[str, list[FlatTable]] = {}
    for table in tables:
        parts = by_split.setdefault(split_of(table, options, len(tables)), [])
        if parts and parts[0].split != table.split:
            what = f"has one split under two names: {parts[0].split}, {table.split}"
            raise BadInput(what, file=source, cure="import them one by one, or rename one")
        parts.append(table)
    check_split_names(by_split)
    name = to_file_name(out.resolve().name.replace(":", "-"))
    readers: list[RowReader] = []
    sizes: dict[str, int] = {}
    language = ""
    names = {*further_files, *(f"{split}.jsonl" for split in by_split)}
    with open_target(out, names, options.overwrite) as folder:
        for split, parts in by_split.items():
            numbers, ids = count(1), set[str]()
            own = [RowReader(table, plan, options, split, numbers, ids) for table in parts]
            readers += own
            examples = (example for reader in own for example in reader.read())
            first = list(islice(examples, ROWS_LOOKED_AT))
            language = language or guess_language(first).removeprefix("und")
            path = folder / f"{split}.jsonl"
            sizes[split] = write_records(path, chain(first, examples))
        card = fill_card(blank_card(name, language or "und"), options.card, facts)
        write_card(card, folder)
        if finish is not None:
            finish(folder, card)
    labels = sum((reader.labels for reader in readers), Counter[str]())
    return ImportReport(
        dataset=card.name,
        out=str(out),
        kind=plan.kind,
        question=plan.question,
        columns={name: list(columns) for name, columns in plan.columns.items()},
        meta=plan.kept,
        splits=sizes,
        labels=dict(sorted(labels.items())),
        unlabelled=sum(reader.unlabelled for reader in readers),
        made_ids="id" not in plan.columns,
    )


def split_of(table: FlatTable, options: ImportOptions, count: int) -> str:
    """Return the split of a table: the user's, the name of its file or folder, or `all`."""
    if options.split is not None:
        if count > 1:
            cure = "leave out --split: each file is a split"
            raise BadInput("--split needs a single file", file=table.path, cure=cure)
        return options.split
    return SPLIT_ALIASES.get(table.split, table.split) or guess_split(table.path)
