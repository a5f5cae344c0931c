"""What every form of answer file shares: what it yields, what it may ask, how it complains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.errors import BadInput
from nikawa.records import Example, Prediction, Task

INDICES = "indices"
"""The option that says: numbers are places in the task's labels, counted from 0."""

ID_NAMES = (
    "example",
    "id",
    "example_id",
    "guid",
    "sentence_pair_id",
    "q_id",
    "qid",
    "question_id",
    "uid",
    "review_id",
    "num",
)
"""Names under which a record may give the example's id; the first that holds a known id is taken."""
ANSWER_NAMES = ("answer", "prediction", "pred", "predicted_label", "prediction_text")
"""Names under which a record may give the answer; two of them in one record are refused."""
LABEL_NAME = "label"
"""Taken as the answer where none of `ANSWER_NAMES` is there; beside one of them it is the gold."""
SCORE_NAMES = ("scores", "probabilities", "probs", "logits")


class Given(NamedTuple):
    """One answer as a file gives it, before it is read in the task's shape."""

    place: int
    """Line, row, record or sample, counted from 1."""
    id: str | None
    """None where only the order tells which example is meant."""
    answer: Any
    scores: Any = None
    raw: str | None = None
    why: str | None = None
    order: int | None = None
    """The place in the split, from 0."""


@dataclass(frozen=True)
class Answers:
    """The answers of a file, by example id, and everything that was odd about it."""

    form: str
    predictions: dict[str, Prediction]
    unknown: list[str] = field(default_factory=list)
    """Ids that are not in the split."""
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    """(Id, place) of answers that were given before in the same words."""
    missing: list[str] = field(default_factory=list)
    """Ids of the split without an answer in the file."""
    unparsed: list[tuple[str, str, str]] = field(default_factory=list)
    """(Id, what was given, why it could not be read)."""


@dataclass(frozen=True)
class Ask:
    """What is asked: a task of some examples; `option` is what was said after the form's name."""

    task: Task
    examples: Sequence[Example]
    option: str = ""

    @cached_property
    def by_id(self) -> dict[str, Example]:
        """The examples by id."""
        return {example.id: example for example in self.examples}

    @property
    def indices(self) -> bool:
        """Whether numbers are places in the task's labels."""
        return self.option == INDICES


Rows = Iterable[tuple[int, Any]]
"""(Place, content) of the lines, rows, records or samples of a file."""


@dataclass(frozen=True)
class Form:
    """One form of answer file. Parsing it and matching it are two steps, so that one parse serves several splits."""

    name: str
    parse: Callable[[Path], Rows]
    """Parse a file, knowing nothing of the task."""
    read: Callable[[Rows, Ask, Path], Iterator[Given]]
    """The answers in parsed rows to what is asked; the path is for messages."""
    place: str = "line"
    ordered: bool = False
    """Whether the order alone says which example an answer is for."""
    log: bool = False
    """Whether it is another tool's log, whose samples are matched by what they hold."""


def fault(path: Path, unit: str, place: int, what: str, cure: str) -> BadInput:
    """The error for the answer at `place`."""
    if unit == "line":
        return BadInput(what, file=path, line=place, cure=cure)
    return BadInput(f"{unit} {place}: {what}", file=path, cure=cure)


def id_text(value: Any) -> str | None:
    """An id as text; None where the value cannot be one."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None


def unpack(value: Any) -> tuple[Any, Any, str | None, str | None]:
    """(Answer, scores, raw, why) of a value that may be a mapping around the answer."""
    if not isinstance(value, Mapping):
        return value, None, None, None
    name = next((n for n in (*ANSWER_NAMES, LABEL_NAME) if n in value), None)
    scores = next((value[n] for n in SCORE_NAMES if n in value), None)
    if name is None:
        return (value, None, None, None) if scores is None else (None, scores, None, None)
    return value[name], scores, value.get("raw"), value.get("why")
