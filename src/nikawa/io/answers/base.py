"""What every form of answer file shares: what it yields, what it may ask, which names it looks for,
how it complains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.errors import BadInput, place_fault
from nikawa.records import Example, Prediction, Record, Task

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
    "pair_ID",
    "pair_id",
    "jsem_id",
)
"""Names under which a record may give the example's id, those of the published files among them; the
first that holds a known id is taken."""
ANSWER_NAMES = (
    "answer",
    "prediction",
    "pred",
    "predicted_label",
    "prediction_text",
    "output",
    "response",
)
"""Names under which a record may give the answer; two of them in one record are refused."""
LABEL_NAME = "label"
"""The answer if the row has none of `ANSWER_NAMES`; otherwise the gold."""
SCORE_NAMES = ("scores", "probabilities", "probs", "logits")
_ABSENT = object()


class ShownReading(Record, frozen=True, kw_only=True):
    """What was read from what, for people to check."""

    example: str
    text: str
    """The text around what was read, in one line; the beginning of it where nothing was."""
    reading: Any
    """The answer, or None."""
    pattern: str
    """What read it, such as `whole`, `cue` or `extract, cue`; empty where nothing did."""
    why: str | None = None


class RawAnswer(NamedTuple):
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
    confirmed: bool = False
    """Whether the file has the texts of the example with the answer."""
    unfit: UnfitAnswer | None = None
    """Why the example is ambiguous; the answers are refused unless they belong to another
    split."""
    offer: Any = None
    """What the prompt offered (`readings.Offer`), where the log of an exported task says so."""


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
    readings: dict[str, ShownReading] = field(default_factory=dict)
    """What each answer was read from, where that was asked for."""
    confirmed: int = 0
    """How many answers come with the texts of their example."""
    refusal: BadInput | None = None
    """Why these cannot be the answers to these examples, though some fit: `read_answers` raises it,
    and so does a caller without a better split."""


@dataclass(frozen=True)
class Target:
    """What the answers are to: a task of some examples.

    `option` is the text after the form's name.
    """

    task: Task
    examples: Sequence[Example]
    option: str = ""

    @cached_property
    def by_id(self) -> dict[str, Example]:
        """The examples by id."""
        return {example.id: example for example in self.examples}

    def find(self, name: str) -> Example | None:
        """The example of an id, of a full reference such as `jsick:test/33`, or of an id as files
        write it: `12.0`, a number that passed through a float, and KLUE's with the source behind it.
        """
        known = self.by_id
        if name in known:
            return known[name]
        if name.startswith(f"{self.task.dataset}:"):
            return known.get(name.partition("/")[2])
        whole = name.removesuffix(".0")
        if whole in known:
            return known[whole]
        for mark in "-_":  # klue-ner-v1_dev_00000-wikitree, klue-dp-v1_dev_00000_wikitree
            start, _, source = name.rpartition(mark)
            example = known.get(start)
            if example is not None:
                # models see no `meta`: there an id that names its dataset is taken as it is
                is_named = bool(self.task.dataset) and start.startswith(self.task.dataset)
                unknown = source if is_named and source.isalpha() else None
                return example if example.meta.get("source", unknown) == source else None
        return None

    @property
    def indices(self) -> bool:
        """Whether numbers are places in the task's labels."""
        return self.option == INDICES


Rows = Iterable[tuple[int, Any]]
"""(Place, content) of the lines, rows, records or samples of a file."""


@dataclass(frozen=True)
class AnswerForm:
    """One form of answer file.

    Parsing it and matching it are two steps, so that one parse serves several splits.
    """

    name: str
    """As `--form` names it."""
    parse: Callable[[Path], Rows]
    """Parse a file, knowing nothing of the task."""
    read: Callable[[Rows, Target, Path], Iterator[RawAnswer]]
    """The answers in parsed rows to what is asked; the path is for messages."""
    place: str = "line"
    """What its places count: line, row, record or sample."""
    ordered: bool = False
    """Whether the order alone says which example an answer is for."""
    log: bool = False
    """Whether it is another tool's log, whose samples are matched by what they hold."""


class UnfitAnswer(ValueError):
    """A record that cannot be used: what is wrong, and the cure."""

    def __init__(self, what: str, cure: str = "") -> None:
        super().__init__(what)
        answers = ", ".join((*ANSWER_NAMES, LABEL_NAME))
        fallback = f"use one of these names for the answer: {answers}; and one of these for the id: {', '.join(ID_NAMES)}"
        self.what, self.cure = what, cure or fallback

    def at(self, path: Path, unit: str, place: int) -> BadInput:
        """The error for the record at a place."""
        return place_fault(self.what, file=path, unit=unit, place=place, cure=self.cure)


def id_text(value: Any) -> str | None:
    """An id as text; None where the value cannot be one.

    >>> id_text(12), id_text(1.5)
    ('12', None)
    """
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None


def unpack_answer(value: Any) -> tuple[Any, Any, str | None, str | None]:
    """(Answer, scores, raw, why) of a value that may be a mapping around the answer."""
    if not isinstance(value, Mapping):
        return value, None, None, None
    name = next((n for n in (*ANSWER_NAMES, LABEL_NAME) if n in value), None)
    scores = next((value[n] for n in SCORE_NAMES if n in value), None)
    if name is None:
        return (value, None, None, None) if scores is None else (None, scores, None, None)
    return value[name], scores, value.get("raw"), value.get("why")


class Fields(NamedTuple):
    """Names of the fields of a record, or columns of a table, to take.

    Returns an empty text if the row has no answer.
    """

    id: str
    answer: str
    scores: str


def find_fields(row: Mapping[str, Any], find: Callable[[str], Example | None]) -> Fields:
    """The fields of `row`; of several ids the first that `find` has an example for.

    `UnfitAnswer` where they are missing or ambiguous.
    """
    id_fields = [name for name in ID_NAMES if name in row]
    if not id_fields:
        raise UnfitAnswer(f"has no id (its fields are: {', '.join(map(str, row)) or 'none'})")
    names = (name for name in id_fields if find(id_text(row[name]) or "") is not None)
    id_field = next(names, id_fields[0])
    scores = next((name for name in SCORE_NAMES if name in row), "")
    answers = [name for name in ANSWER_NAMES if name in row]
    if len(answers) > 1:
        what = f"has both {answers[0]!r} and {answers[1]!r}"
        raise UnfitAnswer(what, "keep only the model's answer")
    if answers:
        answer = answers[0]
    elif LABEL_NAME in row:
        answer = LABEL_NAME
    elif scores:
        answer = ""
    else:
        raise UnfitAnswer(f"has no answer (its fields are: {', '.join(map(str, row))})")
    return Fields(id_field, answer, scores)


def read_fields(row: Mapping[str, Any], fields: Fields, place: int) -> RawAnswer | None:
    """The answer of a record, or None where it has other fields than the ones before it."""
    value = row.get(fields.id, _ABSENT)
    answer = row.get(fields.answer, _ABSENT) if fields.answer else None
    if value is _ABSENT or answer is _ABSENT:
        return None
    name = value if type(value) is str else id_text(value)
    if not name:
        what = f"the id {value!r} is neither a text nor a whole number"
        raise UnfitAnswer(what, "write the published id")
    scores = row.get(fields.scores) if fields.scores else None
    raw, why = row.get("raw"), row.get("why")
    return RawAnswer(
        place,
        name,
        answer,
        scores,
        raw if isinstance(raw, str) else None,
        why if isinstance(why, str) else None,
    )
