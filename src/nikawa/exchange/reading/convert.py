"""Choose the kind of task for a task of another tool, and the column of each of its fields.

Nothing is guessed: the kind follows from the form of the answers and from the columns that the prompt uses, with the usual column names of
`nikawa data import`. What does not determine it is refused, with the option that does. The texts that a task computes are columns
too, under the names `task.prompt`, `task.question`, `task.choices`, `task.target` and `task.id`; `--columns FIELD=COLUMN` can name all columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from string import ascii_uppercase
from typing import Any, cast

from nikawa.datasets.import_table import (
    FIELDS,
    GOLD_FIELD,
    LABEL,
    NO_COLUMN,
    ImportOptions,
    find_usual,
    guess_columns,
    is_number,
    is_small,
    list_fields,
)
from nikawa.errors import BadInput, list_names, unknown
from nikawa.exchange.reading.definition import Analysis, Definition, Item, Unread
from nikawa.io.flat_tables import FlatTable, Row
from nikawa.records import Kind

PROMPT, QUESTION, CHOICES, TARGET, ID = (
    "task.prompt",
    "task.question",
    "task.choices",
    "task.target",
    "task.id",
)
"""The columns of what a task computes."""
LABEL_KINDS = ("text", "inference", "relation")
SHOWN_LETTERS = " ()（）.．:："
"""Characters around the letter of a choice."""


@dataclass
class Split:
    """The rows of one split, and what the task computes for them."""

    table: FlatTable
    split: str
    rows: list[tuple[int, Row]]
    items: list[Item]
    is_evaluated: bool = True


@dataclass
class Plan:
    """The kind of task, and the column of each field."""

    kind: Kind
    columns: dict[str, str]
    labels: tuple[str, ...] = ()
    """All labels, if the task lists them."""
    consumed: set[str] = field(default_factory=set)
    """Columns of the data that the fields replace."""
    notes: list[str] = field(default_factory=list)
    is_lettered: bool = False
    """Whether the choices are those that the prompt lists under letters."""


def refuse_unread(
    definition: Definition, options: ImportOptions, ignored: Sequence[str], *, has_data: bool
) -> None:
    """Refuse a task of which a part that determines rows, inputs or answers cannot be read, unless the user replaces it."""
    names = [part.part for part in definition.unread]
    # with data of the user's, it does not matter how the tool would have loaded its own
    loaders = ("custom_dataset", "dataset_kwargs.", "json_dataset.", "csv_dataset.", "hf_dataset.")
    for name in ignored:
        if name not in names:
            raise unknown("unread part", name, names)
    for part in definition.unread:
        if part.part in ignored or (has_data and part.part.startswith(loaders)):
            continue
        if part.effect == "rows":
            raise BadInput(
                f"{part.part} cannot be read: {part.why}; it can change or drop rows",
                file=definition.file,
                cure=f"if the data already has the rows that the task uses, pass --ignore {part.part}",
            )
        if part.effect == "gold" and not has_gold(part, options):
            name = "choices" if part.part == "doc_to_choice" else "FIELD"
            raise BadInput(
                f"{part.part} cannot be read: {part.why}; it determines the answers",
                file=definition.file,
                cure=f"name the columns of the answers: --kind KIND --columns {name}=COLUMN,…",
            )


def has_gold(part: Unread, options: ImportOptions) -> bool:
    """Whether the user names the columns that a part of the task would compute."""
    if part.part == "doc_to_choice":
        return {"choices", "choice"} <= options.columns.keys() or "label" in options.columns
    return any(name in options.columns for name in GOLD_FIELD.values())


def choose_plan(
    definition: Definition,
    analysis: Analysis,
    splits: Sequence[Split],
    options: ImportOptions,
) -> Plan:
    """The kind of task and the column of each field; raises `BadInput` if the task does not determine them."""
    items = [item for split in splits for item in split.items if not item.dropped]
    if not items:
        raise BadInput("its data has no rows", file=definition.file, cure="pass data with rows")
    columns = list(dict.fromkeys(name for s in splits for name in s.table.list_columns()))
    chooser = Chooser(definition, analysis, items, splits, options, columns)
    plan = chooser.choose()
    plan.columns.update(options.columns)
    if "id" not in plan.columns and any(item.id is not None for item in items):
        has_ids = all(item.id is not None for item in items)
        plan.columns["id"] = ID if has_ids else NO_COLUMN
        if not has_ids:
            plan.notes.append("Some samples have no id, so ids are made from the row numbers.")
        rows = [row for split in splits for _, row in split.rows]
        own = [item.id for split in splits for item in split.items]
        for name in columns:
            if [str(row.get(name)) for row in rows] == own:
                plan.consumed.add(name)
    return plan


@dataclass
class Chooser:
    """What the choice of a kind depends on."""

    definition: Definition
    analysis: Analysis
    items: Sequence[Item]
    splits: Sequence[Split]
    options: ImportOptions
    columns: Sequence[str]

    def choose(self) -> Plan:
        """The plan; raises `BadInput`."""
        stated = {name for name in self.options.columns if not name.startswith("meta.")}
        kind = self.options.kind
        if kind is not None and kind not in FIELDS:
            raise unknown("kind of task", kind, FIELDS)
        if kind is None and stated:
            fitting = [
                each for each in FIELDS if stated <= {field.name for field in list_fields(each)}
            ]
            kind = fitting[0] if len(fitting) == 1 else None
        if self.is_stated(kind, stated):
            return Plan(cast("Kind", kind), {})
        has_choices = any(item.choices is not None for item in self.items)
        choices = self.definition.choices
        labels = (
            tuple(str(part).strip() for part in choices.value)
            if choices is not None and is_literal(choices)
            else ()
        )
        labels = labels or self.analysis.closed
        if kind in (None, "choice"):
            if has_choices and not is_literal(choices):
                return self.plan_choices(CHOICES, PROMPT)
            if self.is_lettered(labels):
                return self.plan_choices(CHOICES, QUESTION)
            if kind == "choice" and not stated:
                raise self.refuse(
                    "its choices are not separate from the prompt",
                    "question=COLUMN,choices=COLUMN",
                    kind,
                )
            if kind == "choice":
                return Plan("choice", {})
        if has_choices and not is_literal(choices):
            raise self.refuse(
                f"its items have choices, which {kind} has no place for", "", "choice"
            )
        if labels and kind in (None, *LABEL_KINDS):
            return self.plan_labels(kind, labels)
        return self.plan_texts(kind)

    def is_stated(self, kind: str | None, stated: set[str]) -> bool:
        """Whether the user names a column for each field of a kind."""
        if kind is None:
            return False
        required = {each.name for each in FIELDS[cast("Kind", kind)] if each.required}
        return required <= stated

    def refuse(self, what: str, columns: str, kind: str | None) -> BadInput:
        """The error for a task that does not determine its kind."""
        options = [f"--kind {kind}"] if kind else []
        options += [f"--columns {columns}"] if columns else []
        cure = f"pass {' '.join(options)}; docs/import.md lists the fields of each kind"
        return BadInput(what, file=self.definition.file, cure=cure)

    # Choices

    def is_lettered(self, labels: Sequence[str]) -> bool:
        """Whether the answers are letters, and the prompt lists the choices under these letters."""
        if not self.analysis.lettered:
            return False
        counts = {len(item.options or ()) for item in self.items}
        most = max(counts)
        if labels:
            return len(counts) == 1 and is_lettering(labels, most)
        letters = set(ascii_uppercase[:most])
        given = [item.answers for item in self.items if item.answers is not None]
        return bool(given) and all(
            len(answers) == 1 and answers[0].strip(SHOWN_LETTERS) in letters for answers in given
        )

    def plan_choices(self, choices: str, question: str) -> Plan:
        """A question with choices."""
        plan = Plan("choice", {"question": question, "choices": choices, "choice": TARGET})
        plan.consumed = {*self.analysis.target_columns, *self.analysis.choices_columns}
        if question == PROMPT:
            own = [name for name in self.analysis.prompt_columns if name not in plan.consumed]
            column = self.find_text_column(own)
            if column is not None:
                plan.columns["question"] = column
                self.note_computed(plan, column)
            elif not any(item.prompt.strip() for item in self.items):
                if "question" not in self.options.columns:
                    what = "its prompt is empty: it compares whole texts"
                    columns = "premise=COLUMN,hypothesis=COLUMN,label=COLUMN --labels 0=NAME,…"
                    raise self.refuse(what, f"{columns} for a pair, or question=COLUMN", None)
            else:
                plan.notes.append(
                    "The question is the whole prompt, because it uses several columns."
                )
        else:
            plan.is_lettered = True
            plan.consumed |= {*self.analysis.lettered_choices}
            own = [*self.analysis.lettered_question]
            column = self.find_text_column(own)
            if column is not None and self.is_same(column):
                plan.columns["question"] = column
            plan.notes.append("The choices are those that the prompt lists under letters.")
        return plan

    def is_same(self, column: str) -> bool:
        """Whether a column has the question that the prompt shows, but for spaces around it."""
        return all(
            item.question is None or str(row[column]).strip() == item.question
            for split in self.splits
            for (_, row), item in zip(split.rows, split.items, strict=True)
        )

    def find_text_column(self, names: Sequence[str]) -> str | None:
        """The only column of the data in a prompt, if it holds texts."""
        if len(names) != 1 or names[0] not in self.columns:
            return None
        values = [row.get(names[0]) for split in self.splits for _, row in split.rows]
        return names[0] if all(isinstance(value, str) for value in values) else None

    def note_computed(self, plan: Plan, *columns: str) -> None:
        """Note a column that the prompt shows in another form."""
        shown = {name for _, name in self.analysis.pieces}
        if not self.analysis.prompt_is_column and not shown.issuperset(columns):
            names = list_names(columns)
            plan.notes.append(
                f"The prompt may show {names} in another form; the inputs are as in the data."
            )

    # Labels

    def plan_labels(self, kind: str | None, labels: tuple[str, ...]) -> Plan:
        """A label of a text or pair."""
        plan = self.plan_inputs(kind)
        plan.columns[GOLD_FIELD[plan.kind]] = TARGET
        plan.consumed |= {*self.analysis.target_columns, *self.analysis.choices_columns}
        plan.labels = labels
        if is_lettering(labels, len(labels)) and len(labels) > 2:
            plan.notes.append(
                "The labels are letters, and the choices are inside the prompt: "
                "--kind choice --columns question=COLUMN,choices=COLUMN separates them."
            )
        return plan

    def plan_inputs(self, kind: str | None) -> Plan:
        """The inputs of a label: a pair, a text, or the prompt."""
        own = [name for name in self.analysis.prompt_columns if name in self.columns]
        if kind in (None, "inference"):
            pair = guess_columns("inference", [*own])
            names: dict[str, str] = {
                name: pair[name][0] for name in ("premise", "hypothesis") if name in pair
            }
            if len(names) == 2 and (kind == "inference" or set(own) == set(names.values())):
                plan = Plan("inference", dict(names))
                self.note_computed(plan, *names.values())
                return plan
            if kind == "inference":
                what = (
                    f"its prompt has no recognised pair; it uses {list_names(own) or 'no column'}"
                )
                raise self.refuse(what, "premise=COLUMN,hypothesis=COLUMN", None)
        if kind == "relation":
            raise self.refuse("a prompt does not mark entities", "text=…,subject=…,object=…", None)
        column = self.find_text_column(own)
        plan = Plan("text", {"text": column or PROMPT})
        if column is not None:
            self.note_computed(plan, column)
        elif not self.definition.prompt:
            raise self.refuse("its prompt cannot be read", "text=COLUMN", "text")
        elif len(own) != 1 or not self.analysis.prompt_is_column:
            plan.notes.append("The text is the whole prompt, because it uses several columns.")
        return plan

    # Other texts

    def plan_texts(self, kind: str | None) -> Plan:
        """An answer without a list of answers: a span of a passage, a score, or a label in a usual column."""
        own = [name for name in self.analysis.prompt_columns if name in self.columns]
        answers = [item.answers for item in self.items if item.answers is not None]
        if not answers and not self.options.columns:
            raise self.refuse("no row has an answer", "", None)
        passage = guess_columns("reading", own)
        if kind == "reading" or (kind is None and {"context", "question"} <= passage.keys()):
            return self.plan_passage(passage, kind)
        pair = guess_columns("similarity", own)
        numbers = [text for part in answers for text in part]
        is_scored = (
            all(len(part) == 1 for part in answers)
            and all(map(is_number, numbers))
            and not all(map(is_small, numbers))
        )
        if kind == "similarity" or (
            kind is None and is_scored and {"sentence1", "sentence2"} <= pair.keys()
        ):
            names: dict[str, str] = {n: pair[n][0] for n in ("sentence1", "sentence2") if n in pair}
            plan = Plan("similarity", {**names, "score": TARGET})
            plan.consumed = set(self.analysis.target_columns)
            self.note_computed(plan, *names.values())
            return plan
        column = self.find_label_column()
        if kind in LABEL_KINDS or column is not None:
            if any(len(part) != 1 for part in answers):
                raise self.refuse("some rows have several right answers", "", "reading")
            plan = self.plan_labels(kind, ())
            if column in self.classes():
                plan.columns[GOLD_FIELD[plan.kind]] = str(column)
                plan.consumed.discard(str(column))
            return plan
        count = len({tuple(part) for part in answers})
        what = f"its answers are texts ({count} distinct) without a list of labels"
        rest = "choice --columns question=COLUMN,choices=COLUMN,choice=COLUMN"
        raise self.refuse(
            what,
            "",
            f"text if they are labels, --kind reading if they are in a passage, or --kind {rest}",
        )

    def classes(self) -> Mapping[str, Any]:
        """Columns whose numbers have names."""
        return {name: part for s in self.splits for name, part in s.table.classes.items()}

    def find_label_column(self) -> str | None:
        """The column that the target is, if its name or its data say that it holds labels."""
        used = self.analysis.target_columns
        if len(used) != 1:
            return None
        return used[0] if used[0] in self.classes() or find_usual(LABEL, used) else None

    def plan_passage(self, passage: Mapping[str, tuple[str, ...]], kind: str | None) -> Plan:
        """A question about a passage."""
        names = {n: passage[n][0] for n in ("context", "question", "title") if passage.get(n)}
        plan = Plan("reading", {"title": NO_COLUMN, **names, "answers": TARGET})
        own = self.analysis.target_columns
        rows = [row for split in self.splits for _, row in split.rows]
        if len(own) == 1 and all(is_squad(row.get(own[0])) for row in rows):
            plan.columns["answers"] = own[0]
            most = max(len(row[own[0]].get("text") or ()) for row in rows)
            if most > 1 and not self.definition.target_list:
                plan.notes.append(
                    f"The task compares with one answer; the column {own[0]} has up to {most}, and all are gold."
                )
        else:
            plan.consumed = set(own)
            if kind is None:
                self.refuse_outside(names["context"])
        self.note_computed(plan, *names.values())
        return plan

    def refuse_outside(self, context: str) -> None:
        """Refuse answers that are not in their passage."""
        for split in self.splits:
            for (_, row), item in zip(split.rows, split.items, strict=True):
                for answer in item.answers or ():
                    if answer not in str(row.get(context, "")):
                        what = f"the answer {answer[:40]!r} is not in its passage ({context})"
                        raise self.refuse(what, "", "text if the answers are labels")


def is_literal(choices: Any) -> bool:
    """Whether the choices are the same for all rows."""
    return choices is not None and choices.form == "literal"


def is_lettering(labels: Sequence[str], count: int) -> bool:
    """Whether labels are the letters of as many choices.

    >>> is_lettering(["(A)", "(B)"], 2), is_lettering(["A", "C"], 2)
    (True, False)
    """
    return [label.strip(SHOWN_LETTERS) for label in labels] == [*ascii_uppercase[:count]]


def is_squad(value: Any) -> bool:
    """Whether a value has answers with their starts, as in SQuAD."""
    return isinstance(value, dict) and {"text", "answer_start"} <= value.keys()


def make_rows(split: Split, plan: Plan) -> list[tuple[int, Row]]:
    """The rows of a split with the columns that the plan needs."""
    used = set(plan.columns.values())
    for pattern in plan.columns.values():
        used |= {pattern.partition(".")[0], *pattern.split("+")}
        used |= {name for name in split.table.list_columns() if fnmatchcase(name, pattern)}
    made = []
    for (place, row), item in zip(split.rows, split.items, strict=True):
        if item.dropped:
            continue
        new = {
            name: value
            for name, value in row.items()
            if value is not None and (name in used or name not in plan.consumed)
        }
        for name, value in item.meta.items():
            new.setdefault(name, value)
        values = {
            PROMPT: item.prompt,
            QUESTION: item.question,
            CHOICES: list_choices(item, plan),
            TARGET: find_target(item, plan),
            ID: item.id,
        }
        new.update(
            {name: value for name, value in values.items() if name in used and value is not None}
        )
        made.append((place, new))
    return made


def list_choices(item: Item, plan: Plan) -> list[str] | None:
    """The texts of the choices."""
    texts = item.options if plan.is_lettered else item.choices
    return None if texts is None else [text.strip() for text in texts]


def find_target(item: Item, plan: Plan) -> Any:
    """The answer in the form of the kind."""
    if plan.kind == "choice":
        if item.index is not None or item.answers is None:
            return item.index
        letter = item.answers[0].strip(SHOWN_LETTERS)
        return (
            ascii_uppercase.index(letter)
            if len(letter) == 1 and letter in ascii_uppercase
            else None
        )
    if item.choices is not None:
        return None if item.index is None else item.choices[item.index].strip()
    if item.answers is None:
        return None
    return item.answers if plan.kind == "reading" else item.answers[0].strip()
