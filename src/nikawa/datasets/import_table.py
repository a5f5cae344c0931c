"""Make a dataset folder of somebody's flat table: which column is what, and each row as an example.

The kind of task decides which fields a row must have (the table of docs/records.md). A column is known by
a usual name (`sentence1`, `gold_label`, `pairID`, …) or is named by the user; where a name leaves a doubt
nothing is guessed. Every other column goes into the meta under its own name: nothing of a row is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class Field:
    """What a kind of task has, and the columns that usually hold it."""

    name: str
    """As `--columns` takes it."""
    usual: tuple[str, ...]
    """Usual names of its column, in small letters without blanks and marks, the surest first."""
    required: bool = True


ID = Field(
    "id",
    ("id", "exampleid", "pairid", "sentencepairid", "guid", "uid", "qid", "reviewid", "idx"),
    required=False,
)
TEXT = Field("text", ("text", "sentence", "document", "review", "title", "content", "utterance"))
LABEL = Field("label", ("label", "goldlabel", "labels", "class", "category", "gold", "sentiment"))
QUESTION = Field("question", ("question", "query"))
FIELDS: Mapping[Kind, tuple[Field, ...]] = {
    "inference": (
        Field("premise", ("premise", "sentence1", "sentencea", "text1", "s1", "t", "texta")),
        Field("hypothesis", ("hypothesis", "sentence2", "sentenceb", "text2", "s2", "h", "textb")),
        LABEL,
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
    """Field to column, as far as the user names them; `choices` may be a pattern such as `choice*`."""
    kind: str | None = None
    """The kind of task; None where the columns tell it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the table has for a label to the label's name."""
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
    columns = list(dict.fromkeys(name for row in rows for name in row))
    file = tables[0].path
    if options.kind is not None and options.kind not in FIELDS:
        if options.kind in get_args(Kind):
            what = f"{options.kind} does not fit into a flat table"
            raise BadInput(what, cure="write records: docs/records.md shows their shapes")
        raise unknown("kind of task", options.kind, FIELDS)
    kinds = [cast("Kind", options.kind)] if options.kind else list(FIELDS)
    known = {each.name for kind in kinds for each in list_fields(kind)}
    for name in options.columns:
        if name not in known and not name.startswith("meta."):
            raise unknown("field", name, [*known, "meta.NAME"])
    if any(column.partition(".")[0] == "inputs" for column in columns):
        cure = (
            "nikawa data check reads it; nikawa data card writes the card of a folder of such files"
        )
        raise BadInput("holds records already", file=file, cure=cure)
    plans, gaps = [], {}
    for kind in kinds:
        plan, missing = fill_fields(kind, columns, options, file)
        fits = not missing and (options.kind is not None or fits_kind(plan, rows, tables))
        if fits:
            plans.append(plan)
        gaps[kind] = missing
    if plans:
        # The one that uses the most columns is meant: a question with choices is also a text.
        return max(plans, key=lambda plan: sum(map(len, plan.columns.values())))
    raise explain_gap(columns, gaps, options, file)


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
    kind: Kind, columns: Sequence[str], options: ImportOptions, file: Path
) -> tuple[ColumnPlan, list[str]]:
    """The columns of a kind's fields, and the required fields that no column was found for."""
    fields = list_fields(kind)
    names = {each.name for each in fields}
    stated = {
        name: match_columns(column, columns, file)
        for name, column in options.columns.items()
        if name in names
    }
    taken = guess_columns(kind, columns, stated)
    used = {column for part in taken.values() for column in part}
    missing = [each.name for each in fields if each.required and each.name not in taken]
    if kind == "tagging" and not {"text", "tokens"} & taken.keys():
        missing.append("text")
    named = {column: name for name, column in options.columns.items() if name.startswith("meta.")}
    for column in named:
        match_columns(column, columns, file)
    kept = tuple(column for column in columns if column not in used)
    question = options.question or GOLD_FIELD[kind]
    return ColumnPlan(kind, taken, question, kept), missing


def guess_columns(
    kind: Kind, columns: Sequence[str], stated: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, tuple[str, ...]]:
    """The columns of a kind's fields: those that are stated, and others by their usual names."""
    taken = dict(stated or {})
    used = {column for part in taken.values() for column in part}
    short = {re.sub(r"[\W_]", "", column.casefold()): column for column in columns}
    for each in list_fields(kind):
        usual = () if each.name in taken else find_usual(each, short, used)
        if usual:
            taken[each.name] = usual
            used |= set(usual)
    return taken


def find_usual(wanted: Field, short: Mapping[str, str], used: set[str]) -> tuple[str, ...]:
    """The column of a field by its usual names, or a column a choice; none where there is no such one."""
    for usual in wanted.usual:
        if not usual.endswith("*"):
            if usual in short and short[usual] not in used:
                return (short[usual],)
            continue
        pattern = re.compile(rf"{usual[:-1]}(\d+|[a-z])")
        matches = {match[1]: short[name] for name in short if (match := pattern.fullmatch(name))}
        if len(matches) > 1:
            order = sorted(matches, key=lambda mark: (int(mark) if mark.isdigit() else 0, mark))
            return tuple(matches[mark] for mark in order)
    return ()


def match_columns(pattern: str, columns: Sequence[str], file: Path) -> tuple[str, ...]:
    """The columns that a user names: one, several with `+` between them, or a pattern with `*`."""
    if pattern in columns:
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


def fits_kind(plan: ColumnPlan, rows: Sequence[Row], tables: Sequence[FlatTable]) -> bool:
    """Whether the values of a table are what a kind has: a number is no label, unless it has a name."""
    column = plan.columns[GOLD_FIELD[plan.kind]][0]
    values = [row[column] for row in rows if column in row]
    has_names = any(column in table.classes for table in tables)
    if plan.kind == "similarity":
        return not has_names and all(map(is_number, values)) and not all(map(is_small, values))
    if plan.kind in ("inference", "text", "relation"):
        return all(isinstance(value, str | int | bool) for value in values)
    if plan.kind == "tagging":
        return all(isinstance(value, list) for value in values)
    if plan.kind == "choice":
        return len(plan.columns["choices"]) > 1 or any(
            isinstance(row.get(plan.columns["choices"][0]), list | dict) for row in rows
        )
    return True


def is_number(value: Any) -> bool:
    """Whether a cell is a number, or the text of one."""
    if isinstance(value, str):
        return bool(re.fullmatch(r"-?\d+(\.\d+)?", value.strip()))
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_small(value: Any) -> bool:
    """Whether a number may stand for one of three classes."""
    return float(value) in (0, 1, 2)


def explain_gap(
    columns: Sequence[str], gaps: Mapping[Kind, Sequence[str]], options: ImportOptions, file: Path
) -> BadInput:
    """The error for columns that leave a doubt: what the nearest kind lacks, and what to write."""
    kind = min(gaps, key=lambda kind: len(gaps[kind]))
    missing = gaps[kind]
    has = f"its columns are {list_names(columns)}"
    if options.kind is None and not missing:
        what = f"does not tell which kind of task it is; {has}"
        return BadInput(what, file=file, cure=f"say --kind: {', '.join(FIELDS)}")
    fields = ",".join(f"{name}=COLUMN" for name in missing)
    what = f"has no column that is known to hold the {list_names(missing)} of {kind}; {has}"
    other = "" if options.kind else ", or another kind with --kind"
    return BadInput(what, file=file, cure=f"say --columns {fields}{other}")


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
        gold_column = self.plan.columns[GOLD_FIELD[self.plan.kind]][0]
        gold: dict[str, Any] = {}
        if self.has_gold(row, gold_column):
            gold[self.plan.question] = GOLDS[self.plan.kind](self, row, inputs)
        else:
            self.unlabelled += 1
        names = {
            column: name.removeprefix("meta.")
            for name, column in self.options.columns.items()
            if name.startswith("meta.")
        }
        meta = {names.get(name, name): row[name] for name in self.plan.kept if name in row}
        number, name = next(self.numbers), self.cell(row, "id")
        group, tags = self.cell(row, "group"), self.cell(row, "tags")
        example = Example(
            id=f"{self.split}-{number}" if name is None else str(name),
            inputs=inputs,
            gold=gold,
            meta=meta,
            group=None if group is None else str(group),
        )
        if not tags:
            return example
        return replace(
            example, tags=frozenset(map(str, tags if isinstance(tags, list) else [tags]))
        )

    def has_gold(self, row: Row, column: str) -> bool:
        """Whether a row has an answer; -1 is none in a column of classes."""
        value = row.get(column)
        is_class = column in self.table.classes
        return value is not None and not (is_class and value == NUMBER_OF_NO_LABEL)

    def cell(self, row: Row, name: str) -> Any:
        """What a row has of a field; None where it has nothing."""
        columns = self.plan.columns.get(name)
        return None if columns is None else row.get(columns[0])

    def text(self, row: Row, name: str) -> str:
        """A text that a row must have."""
        value = self.cell(row, name)
        if not isinstance(value, str) or not value.strip():
            column = self.plan.columns[name][0]
            kind = "is empty" if value in (None, "") else f"is no text: {value!r}"
            raise RowFault(f"the {name} (column {column!r}) {kind}", "fill it, or drop the row")
        return value

    def label(self, row: Row, name: str) -> str:
        """The name of a label: as the user maps it, as the table names its number, else as it is."""
        column = self.plan.columns[name][0]
        value = row[column]
        written = str(value).strip()
        if written in self.options.labels:
            label = self.options.labels[written]
        elif self.options.labels:
            known = ", ".join(self.options.labels)
            raise RowFault(f"--labels does not name {written!r}", f"it names {known}")
        elif (
            isinstance(value, int) and not isinstance(value, bool) and column in self.table.classes
        ):
            classes = self.table.classes[column]
            if not 0 <= value < len(classes):
                raise RowFault(f"{column} {value} has no name", f"there are {len(classes)}")
            label = classes[value]
        elif is_number(value):
            cure = f"say what the numbers stand for: --labels {written}=NAME,…"
            raise RowFault(f"the label (column {column!r}) is the number {written}", cure)
        else:
            label = written
        self.labels[label] += 1
        return label


InputReader = Callable[[RowReader, Row], dict[str, Any]]
GoldReader = Callable[[RowReader, Row, dict[str, Any]], Any]


def read_texts(*names: str) -> InputReader:
    """A reader of inputs that are texts."""

    def read(reader: RowReader, row: Row) -> dict[str, Any]:
        return {name: reader.text(row, name) for name in names}

    return read


def read_passage(reader: RowReader, row: Row) -> dict[str, Any]:
    """Title, context and question."""
    title = reader.cell(row, "title")
    inputs = {"title": title} if isinstance(title, str) else {}
    return {**inputs, **read_texts("context", "question")(reader, row)}


def read_choices(reader: RowReader, row: Row) -> dict[str, Any]:
    """A question with its choices: a list, texts under letters, or a column each."""
    columns = reader.plan.columns["choices"]
    choices: Any = [row[column] for column in columns if column in row]
    if len(columns) == 1:
        choices = row.get(columns[0])
        if isinstance(choices, dict) and isinstance(choices.get("text"), list):
            choices = choices["text"]
    if not isinstance(choices, list) or len(choices) < 2:
        raise RowFault(f"has no choices in {', '.join(columns)}", "two at least are needed")
    return {"question": reader.text(row, "question"), "choices": [str(each) for each in choices]}


def read_tagged_text(reader: RowReader, row: Row) -> dict[str, Any]:
    """The text, whole or put together from its tokens."""
    if "text" in reader.plan.columns:
        return {"text": reader.text(row, "text")}
    return {"text": join_tokens(reader, row)[0]}


def join_tokens(reader: RowReader, row: Row) -> tuple[str, list[tuple[int, int]]]:
    """The text of a row's tokens, and where each begins and ends."""
    tokens = reader.cell(row, "tokens")
    if not isinstance(tokens, list) or not tokens:
        raise RowFault("has no tokens", "fill them, or drop the row")
    joiner = reader.options.joiner
    if joiner is None:
        raise RowFault("has tokens and no text", 'say what parts them: --join "" or --join " "')
    places, start = [], 0
    for token in map(str, tokens):
        places.append((start, start + len(token)))
        start += len(token) + len(joiner)
    return joiner.join(map(str, tokens)), places


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
    label = str(value.get("label") or value.get("type") or "")
    if "start_idx" in value and "end_idx" in value:  # KLUE counts the last character in
        start, end = int(value["start_idx"]), int(value["end_idx"]) + 1
    elif "start" in value and "end" in value:
        start, end = int(value["start"]), int(value["end"])
    else:
        raise RowFault(f"the {name} has no start and end", "give both")
    word = value.get("word") or value.get("text")
    if word is not None and text[start:end] != word:
        raise RowFault(
            f"the {name} is {word!r}, but the text has {text[start:end]!r} there", "mend the places"
        )
    return Span(start, end, label)


def read_label(reader: RowReader, row: Row, inputs: dict[str, Any]) -> str:
    """The label of a text, pair or relation."""
    return reader.label(row, GOLD_FIELD[reader.plan.kind])


def read_score(reader: RowReader, row: Row, inputs: dict[str, Any]) -> float:
    """The score of a pair."""
    value = reader.cell(row, "score")
    if not is_number(value):
        raise RowFault(f"the score is no number: {value!r}", "mend it, or drop the row")
    return float(value)


def read_choice(reader: RowReader, row: Row, inputs: dict[str, Any]) -> int:
    """The place of the right choice, given as a place, a letter, or the choice itself."""
    value, choices = reader.cell(row, "choice"), inputs["choices"]
    written = str(value).strip()
    if written in reader.options.labels:
        written = reader.options.labels[written]
    if choices.count(written) == 1:
        return int(choices.index(written))
    if written.isdecimal() and int(written) < len(choices):
        return int(written)
    if written.upper() in LETTERS[: len(choices)] and written:
        return LETTERS.index(written.upper())
    what = f"the choice {written!r} is none of {len(choices)}"
    raise RowFault(what, "count from 0, or map it: --labels 1=0,2=1,…")


def read_answers(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to a question with their places in the context."""
    value, context = reader.cell(row, "answers"), inputs["context"]
    if isinstance(value, dict):  # as Hugging Face's copies of SQuAD have them
        texts, starts = value.get("text", []), value.get("answer_start", [])
        pairs = list(zip(texts, starts, strict=False)) if len(texts) == len(starts) else []
        if len(pairs) != len(texts):
            raise RowFault("has answers and answer_start of different length", "mend the row")
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
        if not isinstance(text, str):
            raise RowFault(f"the answer is no text: {text!r}", "mend it, or drop the row")
        place = start
        if place is None:
            if context.count(text) != 1:
                where = "is not in the context" if text not in context else "is there several times"
                raise RowFault(f"the answer {text!r} {where}", "give its start")
            place = context.index(text)
        if not is_number(place) or not context.startswith(text, int(place)):
            raise RowFault(
                f"the answer {text!r} is not at {place} of the context", "mend its start"
            )
        answers.append({"text": text, "start": int(place)})
    return answers


def read_spans(reader: RowReader, row: Row, inputs: dict[str, Any]) -> list[Span]:
    """The marked spans: as places in the text, or as a tag for each token or character."""
    value = reader.cell(row, "spans")
    if not isinstance(value, list):
        raise RowFault("has no list of spans or tags", "give one")
    if all(isinstance(each, dict) for each in value):
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
    if "tokens" in reader.plan.columns and "text" not in reader.plan.columns:
        _, places = join_tokens(reader, row)
    else:
        places = [(at, at + 1) for at in range(len(text))]
    if len(places) != len(tags):
        raise RowFault(f"has {len(tags)} tags for {len(places)} tokens", "mend the row")
    return spans_of_tags(tags, places)


def read_span(value: dict[str, Any], text: str) -> Span:
    """A span of a text, with its label."""
    label = value.get("label", value.get("type", value.get("entity_group")))
    if "start" not in value or "end" not in value or not isinstance(label, str):
        raise RowFault("a span has no start, end and label", "give all three")
    start, end = int(value["start"]), int(value["end"])
    if not 0 <= start < end <= len(text):
        raise RowFault(f"a span is at {start} to {end} of {len(text)} characters", "mend it")
    return Span(start, end, label)


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
    plan = plan_columns(tables, options)
    by_split: dict[str, list[FlatTable]] = {}
    for table in tables:
        by_split.setdefault(split_of(table, options, len(tables)), []).append(table)
    check_split_names(by_split)
    name = to_file_name(out.resolve().name.replace(":", "-"))
    readers: list[RowReader] = []
    sizes: dict[str, int] = {}
    language = ""
    with open_target(out, {f"{split}.jsonl" for split in by_split}, options.overwrite) as folder:
        for split, parts in by_split.items():
            numbers = count(1)
            own = [RowReader(table, plan, options, split, numbers) for table in parts]
            readers += own
            examples = (example for reader in own for example in reader.read())
            first = list(islice(examples, ROWS_LOOKED_AT))
            language = language or guess_language(first).removeprefix("und")
            path = folder / f"{split}.jsonl"
            sizes[split] = write_records(
                path, refuse_repeats(chain(first, examples), parts[0].path)
            )
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


def refuse_repeats(examples: Iterable[Example], file: Path) -> Iterator[Example]:
    """Pass examples on; an id that comes twice is an error."""
    ids: set[str] = set()
    for example in examples:
        if example.id in ids:
            cure = "name another column: --columns id=COLUMN"
            raise BadInput(f"id {example.id!r} occurs twice", file=file, cure=cure)
        ids.add(example.id)
        yield example
