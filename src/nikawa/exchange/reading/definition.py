"""What a task of another tool consists of, in no tool's form: its data, prompt, answer, choices, metrics, and what cannot be read."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ToolName = Literal["lm-eval", "flexeval", "inspect"]
TOOLS: tuple[ToolName, ...] = ("lm-eval", "flexeval", "inspect")
"""The tools whose tasks can be read, as `--from` names them."""
Effect = Literal["rows", "gold", "inputs", "prompt", "score"]
"""What a part of a task determines."""
EFFECTS: dict[Effect, str] = {
    "rows": "it can change or drop rows",
    "gold": "it determines the answers",
    "inputs": "it determines what the model reads",
    "prompt": "it determines only the prompt",
    "score": "it determines only the tool's score",
}


class ReadFault(Exception):
    """A fault of a task's file, with its cure; the parent process makes a `BadInput` of it."""

    def __init__(self, what: str, cure: str = "", file: str = "", line: int | None = None) -> None:
        super().__init__(what)
        self.what, self.cure, self.file, self.line = what, cure, file, line


class Unread(msgspec.Struct, frozen=True):
    """A part of a task that cannot be read without running code."""

    part: str
    """The name of the part, as the task's file has it."""
    why: str
    effect: Effect

    def __str__(self) -> str:
        return f"{self.part}: {self.why}; {EFFECTS[self.effect]}"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one split."""

    split: str
    """The split in the tool's data; empty if the tool has no name for it."""
    role: Literal["evaluated", "other"]
    """Whether the tool evaluates the split, or only draws few-shot examples from it, or leaves it alone."""
    files: tuple[str, ...] = ()
    """Paths as the task's file has them; empty: all files of `split` in a folder."""
    folder: str = ""
    hub: str = ""
    """The address, if the data is on a hub."""
    columns: tuple[str, ...] = ()
    """The columns of a CSV file without a heading."""
    rows: tuple[int, int | None] | None = None
    """The range of rows that the tool uses."""
    filters: tuple[tuple[str, str, bool], ...] = ()
    """Conditions for rows: a template, its value, and whether such rows are kept (or removed)."""
    typed: bool = False
    """Whether the tool turns cells of a CSV file into numbers, and gives every row all columns."""


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the task computes for each row."""

    form: Literal["template", "column", "literal", "templates", "code"]
    """`template`: Jinja, or the name of a column where the tool prefers that; `templates`: one per choice;
    `code`: an argument of the `Sample` that a Python function returns."""
    value: Any


class ToolMetric(msgspec.Struct, frozen=True):
    """A metric of the tool."""

    name: str
    details: str = ""
    """Its settings in the task's file."""


class Definition(msgspec.Struct, kw_only=True):
    """A task of another tool, as far as it can be read."""

    tool: ToolName
    name: str
    file: str
    sources: tuple[Source, ...] = ()
    prompt: Text | None = None
    system: str = ""
    """The description or system message in front of the prompt."""
    target: Text | None = None
    target_list: bool = False
    """Whether the target is always a list of answers."""
    choices: Text | None = None
    id: Text | None = None
    metrics: tuple[ToolMetric, ...] = ()
    inputs: dict[str, str] = {}
    """Further columns that the task makes: name to template."""
    samples: tuple[dict[str, Any], ...] = ()
    """Rows that the task's file itself has."""
    code: str = ""
    """The Python source that `code` values come from."""
    function: str = ""
    """The function in `code` that turns a row into a sample."""
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know, one sentence each."""


class Analysis(msgspec.Struct, kw_only=True):
    """What the texts of a definition use, given the columns of its data."""

    prompt_columns: tuple[str, ...] = ()
    prompt_is_column: bool = False
    target_columns: tuple[str, ...] = ()
    choices_columns: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    """All answers that the target can be, if its template lists them."""
    pieces: tuple[tuple[str, str], ...] = ()
    """The prompt as pairs of plain text and column; empty if it has anything else."""
    lettered: bool = False
    """Whether the prompt lists the choices under letters."""
    lettered_question: tuple[str, ...] = ()
    """The columns of the question in such a prompt."""
    lettered_choices: tuple[str, ...] = ()
    """The columns of the choices in such a prompt."""


class Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the task computes for one row."""

    fault: str = ""
    dropped: bool = False
    """Whether the task leaves the row out."""
    prompt: str = ""
    choices: list[str] | None = None
    index: int | None = None
    """The place of the right choice."""
    answers: list[str] | None = None
    """The right answers as texts; None: the row has no answer."""
    question: str | None = None
    """The prompt without the lettered choices."""
    options: list[str] | None = None
    """The lettered choices in the prompt."""
    id: str | None = None
    meta: dict[str, Any] = {}
