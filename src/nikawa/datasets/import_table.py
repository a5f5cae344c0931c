"""Make a dataset folder of somebody's flat table: which column is what, and each row as an example.

The kind of task decides which fields a row must have (the table of docs/records.md). A column is known by
a usual name (`sentence1`, `gold_label`, `pairID`, …) or is named by the user; where a name leaves a doubt
nothing is guessed. Every other column goes into the meta under its own name: nothing of a row is lost.
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
from nikawa.records import Example, Kind, Record, Span

ROWS_LOOKED_AT = 200
"""Rows that columns are told from."""
NUMBER_OF_NO_LABEL = -1
"""What Hugging Face datasets hold in a column of classes where the label is not published."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
READ_KEYS = frozenset(
    ("start", "end", "start_idx", "end_idx", "answer_start", "text", "word", "label", "type")
)
"""What is read of an answer, span or entity that is an object."""


@dataclass(frozen=True)
class Field:
    """What a kind of task has, and the columns that usually hold it."""

    name: str
    """As `--columns` takes it."""
    usual: tuple[str, ...]
    """Usual names of its column, in small letters without blanks and marks.

    The first is sure. Of the others a required field takes one that is there alone."""
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
"""Kind to its fields; what is asked comes last but for `start`. The kinds with the most fields come first."""
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
"""What a user writes for a field that no column holds, although one has a usual name."""
NO_LABEL = "-"
"""What a user writes for a value that means that there is no label."""
RECORD_FIELDS = (
    ID,
    Field("group", ("group",), required=False),
    Field("tags", ("tags",), required=False),
)
"""Fields of every example that a column may hold; the tags of a tagging task are its spans."""


@dataclass(frozen=True)
class ImportOptions:
    """What is what in a table."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Field to column, as far as the user names them; `choices` may be a pattern such as `choice*`.

    `-` is no column: ids are then made of the row's number."""
    kind: str | None = None
    """The kind of task; None where the columns tell it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the table has for a label to the label's name; `-` where it means that there is none."""
    question: str | None = None
    """What the gold is called; else the name that the kind has for it."""
    split: str | None = None
    """The split of a single file; else its name tells."""
    joiner: str | None = None
    """What parts the tokens of a text that is given as tokens: nothing, or a blank."""
    card: Mapping[str, str] = field(default_factory=dict)
    """What the user states for the card."""
    overwrite: bool = False


@dataclass(frozen=True)
class ColumnPlan:
    """Which column holds what."""

    kind: Kind
    columns: Mapping[str, tuple[str, ...]]
    """Field to its column, or columns where choices have one each."""
    question: str
    kept: tuple[str, ...] = ()
    """Columns that become values of the meta."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Column to its name in the meta, where the user gives it another."""


class ImportReport(Record, frozen=True, kw_only=True):
    """What was made of a table."""

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
    """Label to how many examples have it, where the answer is a label."""
    unlabelled: int
    """Rows without a label."""
    made_ids: bool
    """Whether ids were made from places, for want of a column."""


# Which column is what


def plan_columns(tables: Sequence[FlatTable], options: ImportOptions) -> ColumnPlan:
    """The kind of task and the columns of its fields.

    Raises `BadInput`, with the columns that there are, where that is not sure.
    """
    rows = sample_rows(tables)
    columns = list(dict.fromkeys(name for table in tables for name in table.list_columns()))
    file = tables[0].path
    if options.kind is not None and options.kind not in FIELDS:
        if options.kind in get_args(Kind):
            what = f"{options.kind} does not fit into a flat table"
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
        cure = (
            "nikawa data check reads it; nikawa data card writes the card of a folder of such files"
        )
        raise BadInput("holds records already", file=file, cure=cure)
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
        raise BadInput("holds no rows", file=tables[0].path, cure="name a table with rows")
    return rows


def fill_fields(
    kind: Kind,
    columns: Sequence[str],
    options: ImportOptions,
    file: Path,
    meta_names: Mapping[str, str],
) -> ColumnPlan:
    """The columns of a kind's fields, as far as they are stated or known by their names.

    `meta_names` gives columns that were values of the meta, with the names that they had there.
    """
    stated: dict[str, tuple[str, ...]] = {}
    renamed: dict[str, str] = {}
    for name, column in options.columns.items():
        part = () if column == NO_COLUMN else match_columns(column, columns, file)
        if len(part) > 1 and name != "choices":
            what = f"the {name} has several columns: {list_names(part)}"
            raise BadInput(what, file=file, cure=f"name one: --columns {name}=COLUMN")
        if taken := {*part} & {*renamed, *(each for own in stated.values() for each in own)}:
            what = f"the column {min(taken)!r} cannot be the {name} too"
            raise BadInput(what, file=file, cure="name each column once")
        if not name.startswith("meta."):
            stated[name] = part
            continue
        key = name.removeprefix("meta.")
        if not key or not part or (key in columns and key != column):
            what = f"{name}={column} is no new name of a column"
            raise BadInput(what, file=file, cure=f"write meta.NAME={column} with a name of its own")
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
    """The fields that a kind needs and no column holds."""
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
    """The columns that may hold a field by their names, the sure one alone; or a column a choice."""
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
    """What a row has in a column, or inside the object of one; None where it has nothing."""
    if column in row or "." not in column:
        return row.get(column)
    outer, _, inner = column.partition(".")
    value = row.get(outer)
    return get_cell(value, inner) if isinstance(value, dict) else None


def fits_kind(plan: ColumnPlan, rows: Sequence[Row], tables: Sequence[FlatTable]) -> bool:
    """Whether the values of a table are what a kind has: a number is no label, unless it has a name."""
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
    """Whether a cell holds nothing."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_small(value: Any) -> bool:
    """Whether a number may stand for one of three classes."""
    return float(value) in (0, 1, 2)


def explain_gap(
    columns: Sequence[str], plans: Sequence[ColumnPlan], options: ImportOptions, file: Path
) -> BadInput:
    """The error for columns that leave a doubt: what the nearest kind lacks, and what to write."""

    def known(plan: ColumnPlan) -> int:
        return sum(each.required and each.name in plan.columns for each in FIELDS[plan.kind])

    plan = min(plans, key=lambda plan: (not known(plan), len(list_missing(plan)), -known(plan)))
    missing = list_missing(plan)
    has = f"its columns are {list_names(columns)}"
    if options.kind is None and (not missing or not known(plan)):
        what = f"does not tell which kind of task it is; {has}"
        kinds = ", ".join(FIELDS)
        cure = f"say --kind ({kinds}) and --columns FIELD=COLUMN,…"
        return BadInput(what, file=file, cure=cure)
    free = [column for column in columns if column in plan.kept]
    fields = {each.name: each for each in list_fields(plan.kind)}
    rivals = {name: find_usual(fields[name], free) for name in missing}
    doubts = [f"{name}: {list_names(usual)}" for name, usual in rivals.items() if len(usual) > 1]
    if doubts:
        what = f"has several columns that may be the {'; the '.join(doubts)}"
    else:
        names = list_names(missing)
        what = f"has no column that is known to hold the {names} of {plan.kind}; {has}"
    other = "" if options.kind else ", or another kind with --kind"
    stated = ",".join(f"{name}=COLUMN" for name in missing)
    return BadInput(what, file=file, cure=f"say --columns {stated}{other}")


# Rows to examples


class RowFault(Exception):
    """What does not fit in a row, and what to do about it."""

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
        """The example of a row. A `RowFault` says what does not fit."""
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
        """The id of a row; made of its number where the table has no ids."""
        number = next(self.numbers)
        name = f"{self.split}-{number}"
        if "id" in self.plan.columns:
            column, value = self.plan.columns["id"][0], self.cell(row, "id")
            cure = "name another column: --columns id=COLUMN, or have ids made: --columns id=-"
            if is_blank(value):
                raise RowFault(f"has no id (column {column!r})", cure)
            name = write_word(value, "id")
            if name in self.ids:
                raise RowFault(f"the id {name!r} occurs twice (column {column!r})", cure)
            self.ids.add(name)
        return name

    def collect_meta(self, row: Row) -> dict[str, Any]:
        """What a row has besides its fields, under the columns' own names unless renamed."""
        columns = [*self.plan.kept]
        if "start" in self.plan.columns and not isinstance(self.cell(row, "answers"), str):
            columns += self.plan.columns["start"]  # the answers have starts of their own
        if "tokens" in self.plan.columns:
            columns += self.plan.columns["tokens"]  # the text does not tell where they part
        for name in ("answers", "spans", "subject", "object"):
            value = self.cell(row, name)
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, dict) and part.keys() - READ_KEYS for part in parts):
                columns += self.plan.columns[name]  # its objects hold more than is read of them
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

        -1 is none in a column of classes, and no answers are none where the row says that there is one.
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
        """What a row has of a field; None where it has nothing."""
        columns = self.plan.columns.get(name)
        return None if columns is None else get_cell(row, columns[0])

    def text(self, row: Row, name: str) -> str:
        """A text that a row must have."""
        value = self.cell(row, name)
        if not isinstance(value, str) or not value.strip():
            column = self.plan.columns[name][0]
            kind = "is empty" if is_blank(value) else f"is no text: {value!r}"
            raise RowFault(f"the {name} (column {column!r}) {kind}", "fill it, or drop the row")
        return value

    def label(self, row: Row, name: str) -> str:
        """The name of a label: as the user maps it, as the table names its number, else as it is."""
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
            cure = f"say what the numbers stand for: --labels {written}=NAME,…"
            if value == NUMBER_OF_NO_LABEL:
                cure = f"{cure}; {written}={NO_LABEL} where it means that there is none"
            elif self.plan.kind == "inference":
                cure = f"{cure}, or that they are scores: --kind similarity"
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
        raise RowFault(f"the {name} is neither text nor a number: {value!r}", "name another column")
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
    """What the choices of a row are called, as far as it says so, and their texts."""
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
        raise RowFault(f"has no choices in {', '.join(columns)}", "two at least are needed")
    if any(map(is_blank, value)):
        raise RowFault(f"a choice is empty in {', '.join(columns)}", "fill it, or drop the row")
    if not isinstance(marks, list) or (marks and len(marks) != len(value)):
        raise RowFault("has not as many names of choices as choices", "mend the row")
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
        raise RowFault("has no list of tokens", "fill them, or drop the row")
    words = [each if isinstance(each, str) else write_word(each, "tokens") for each in tokens]
    joiner = reader.options.joiner
    if "text" in reader.plan.columns:
        text = reader.text(row, "text")
    elif joiner is None:
        raise RowFault("has tokens and no text", 'say what parts them: --join "" or --join " "')
    else:
        text = joiner.join(words)
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            cure = "mend the row, or take one of both: --columns text=- or --columns tokens=-"
            raise RowFault(f"the token {word!r} is not next in the text", cure)
        end = start + len(word)
        places.append((start, end))
    return text, places


def read_entities(reader: RowReader, row: Row) -> dict[str, Any]:
    """A text with its two marked entities."""
    text = reader.text(row, "text")
    ends = {name: read_entity(reader.cell(row, name), text, name) for name in ("subject", "object")}
    return {"text": text, **ends}


def read_entity(value: Any, text: str, name: str) -> Span:
    """An entity as a span: by its places, or by its words where these occur once in the text."""
    if isinstance(value, str) and text.count(value) == 1 and value:
        return Span(text.index(value), text.index(value) + len(value))
    if not isinstance(value, dict):
        raise RowFault(f"the {name} is not found once in the text", "give start and end")
    label = value.get("label") or value.get("type") or ""
    if "start_idx" in value and "end_idx" in value:  # KLUE counts the last character in
        start, end = to_whole(value["start_idx"]), to_whole(value["end_idx"])
        end = None if end is None else end + 1
    else:
        start, end = to_whole(value.get("start")), to_whole(value.get("end"))
    if start is None or end is None or not isinstance(label, str):
        raise RowFault(f"the {name} has no start and end", "give both")
    if not 0 <= start < end <= len(text):
        what = f"the {name} is at {start} to {end} of {len(text)} characters"
        raise RowFault(what, "mend the places")
    check_words(value, text, start, end, name)
    return Span(start, end, label)


def read_label(reader: RowReader, row: Row, inputs: dict[str, Any]) -> str:
    """The label of a text, pair or relation."""
    return reader.label(row, GOLD_FIELD[reader.plan.kind])


def read_score(reader: RowReader, row: Row, inputs: dict[str, Any]) -> float:
    """The score of a pair."""
    value = reader.cell(row, "score")
    if not is_number(value):
        cure = "mend it, or drop the row"
        if isinstance(value, dict):
            column = reader.plan.columns["score"][0]
            cure = f"name one of its values: --columns score={column}.NAME"
        raise RowFault(f"the score is no number: {value!r}", cure)
    return float(value)


def read_choice(reader: RowReader, row: Row, inputs: dict[str, Any]) -> int:
    """The place of the right choice, given as a place, a letter, its name, or the choice itself."""
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
    raise RowFault(what, "count from 0, or map it: --labels 1=0,2=1,…")


def read_answers(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to a question with their places in the context."""
    value, context = reader.cell(row, "answers"), inputs["context"]
    if isinstance(value, dict):  # as Hugging Face's copies of SQuAD have them
        texts, starts = value.get("text"), value.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list):
            texts, starts = [texts], [starts]
        if len(texts) != len(starts):
            raise RowFault("has answers and answer_start of different length", "mend the row")
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
            raise RowFault(f"the answer is no text: {text!r}", "mend it, or drop the row")
        place = to_whole(start)
        if start is None:
            if context.count(text) != 1:
                where = "is not in the context" if text not in context else "is there several times"
                raise RowFault(f"the answer {text!r} {where}", "give its start")
            place = context.index(text)
        if place is None or place < 0 or not context.startswith(text, place):
            what = f"the answer {text!r} is not at {start} of the context"
            raise RowFault(what, "mend its start")
        answers.append({"text": text, "start": place})
    return answers


def read_spans(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[Span]:
    """The marked spans: as places in the text, or as a tag for each token or character."""
    value = reader.cell(row, "spans")
    if not isinstance(value, list):
        raise RowFault("has no list of spans or tags", "give one")
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
        raise RowFault(f"has {len(tags)} tags for {len(places)} tokens", "mend the row")
    return spans_of_tags(tags, places)


def read_span(value: dict[str, Any] | list[Any], text: str) -> Span:
    """A span of a text, with its label: an object, or start, end and label in a list."""
    keys = ("start", "end", "label")
    part = value if isinstance(value, dict) else dict(zip(keys, value, strict=False))
    start, end = to_whole(part.get("start")), to_whole(part.get("end"))
    label = part.get("label", part.get("type"))
    if start is None or end is None or not isinstance(label, str) or len(value) < 3:
        raise RowFault("a span has no start, end and label", "give all three")
    if not 0 <= start < end <= len(text):
        raise RowFault(f"a span is at {start} to {end} of {len(text)} characters", "mend it")
    check_words(part, text, start, end, "span")
    return Span(start, end, label)


def check_words(part: dict[str, Any], text: str, start: int, end: int, name: str) -> None:
    """Refuse places at which the text has other words than a span or entity."""
    words = part.get("word", part.get("text"))
    if words is not None and text[start:end] != words:
        what = f"the {name} is {words!r}, but the text has {text[start:end]!r} there"
        raise RowFault(what, "mend the places")


def spans_of_tags(tags: Sequence[str], places: Sequence[tuple[int, int]]) -> list[Span]:
    """The spans of B-X, I-X and O tags; an I-X that continues nothing begins a span, as scorers take it.

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
            raise RowFault(f"the tag {tag!r} is none of B-X, I-X and O", "map it with --labels")
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
"""Kind to what reads the inputs of a row."""
GOLDS: Mapping[Kind, GoldReader] = {
    "text": read_label,
    "inference": read_label,
    "similarity": read_score,
    "choice": read_choice,
    "reading": read_answers,
    "tagging": read_spans,
    "relation": read_label,
}
"""Kind to what reads the gold of a row."""


# The job


def import_table(source: Path, out: Path, options: ImportOptions | None = None) -> ImportReport:
    """Make the dataset folder `out` of a flat table: a file, or a folder with a file a split.

    Raises `BadInput` where it is not sure which column is what, and for a row that does not fit:
    nothing is written then.
    """
    options = options or ImportOptions()
    tables = open_tables(source)
    if source.is_dir() and out.resolve() == source.resolve():
        cure = "choose another folder with --out"
        raise BadInput("is the table's own folder", file=out, cure=cure)
    plan = plan_columns(tables, options)
    if options.labels and plan.kind in ("similarity", "reading"):
        what = f"--labels names labels, and the answers of {plan.kind} are none"
        raise BadInput(what, file=source, cure="leave it out, or name another --kind")
    by_split: dict[str, list[FlatTable]] = {}
    for table in tables:
        parts = by_split.setdefault(split_of(table, options, len(tables)), [])
        if parts and parts[0].split != table.split:
            what = f"holds one split under two names: {parts[0].split}, {table.split}"
            raise BadInput(what, file=source, cure="import them one by one, or rename one")
        parts.append(table)
    check_split_names(by_split)
    name = to_file_name(out.resolve().name.replace(":", "-"))
    readers: list[RowReader] = []
    sizes: dict[str, int] = {}
    language = ""
    with open_target(out, {f"{split}.jsonl" for split in by_split}, options.overwrite) as folder:
        for split, parts in by_split.items():
            numbers, ids = count(1), set[str]()
            own = [RowReader(table, plan, options, split, numbers, ids) for table in parts]
            readers += own
            examples = (example for reader in own for example in reader.read())
            first = list(islice(examples, ROWS_LOOKED_AT))
            language = language or guess_language(first).removeprefix("und")
            path = folder / f"{split}.jsonl"
            sizes[split] = write_records(path, chain(first, examples))
        card = fill_card(blank_card(name, language or "und"), options.card)
        write_card(card, folder)
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
    """The split of a table: as the user says, as its file or folder is called, else `all`."""
    if options.split is not None:
        if count > 1:
            cure = "leave --split out: each file is a split"
            raise BadInput("--split names the split of one file", file=table.path, cure=cure)
        return options.split
    return SPLIT_ALIASES.get(table.split, table.split) or guess_split(table.path)
