"""The nouns everything else speaks in. Frozen, typed, and the same in memory as on disk.

Inputs are a named mapping, gold is keyed by question, so one `Example` serves every kind of task;
the table of shapes is in docs/records.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

GoldOrigin = Literal["annotated", "inherited", "derived", "hidden"]
JudgementKind = Literal["person", "machine", "simulated", "decision", "tie-decision", "report"]
DECISION_KINDS = ("decision", "tie-decision")
"""Kinds of a judgement that no worker gave: an owner's decision about an item, which is its gold whatever the vote
(`decision`) or where the rule makes no gold of the votes (`tie-decision`)."""
Unit = Literal["percent", "fraction"]
Kind = Literal[
    "text",
    "inference",
    "similarity",
    "choice",
    "reading",
    "tagging",
    "relation",
    "tree",
    "dialogue",
]
LABELLED_KINDS = ("text", "inference", "relation")
"""Kinds of task whose answer is a label; their answers form a confusion matrix."""
CLASS_KINDS = ("text", "inference", "choice", "relation")
"""Kinds of task whose answer is one of a few classes: labels, and places of choices."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all records: immutable, refuses unknown fields."""


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Characters `start` to `end` (exclusive, spaces counted) of an input text."""

    start: int
    end: int
    label: str = ""


class Tagged(list[Span]):
    """The spans of an answer that was given as tags, with those tags: B-X, I-X or O for each character of the text.

    Tags say more than spans do (an I-X without its B-X, an O on a space), and official scorers look at them.
    """

    def __init__(self, spans: Iterable[Span] = (), tags: Sequence[str] = ()) -> None:
        super().__init__(spans)
        self.tags = tuple(tags)


class Origin(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where an example and its label came from."""

    recipe: str
    """What made it: a dataset's reader, a template pack, a perturbation."""
    parents: tuple[str, ...] = ()
    """Full references (`jsick:test/33`) of the examples it was made from."""
    step: str = ""
    """The step of the recipe, such as a flow (`A`) or an operation (`swap-ni`)."""
    gold: GoldOrigin = "annotated"
    """How the label came to be; `hidden` means it exists but is not here."""


class Example(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One item of a dataset."""

    id: str
    """The published id, unique within dataset and split."""
    inputs: dict[str, Any]
    """What a model may see, by name."""
    gold: dict[str, Any] = {}
    """The right answer, by question; empty where it is hidden."""
    tags: frozenset[str] = frozenset()
    """Names of phenomena."""
    meta: dict[str, Any] = {}
    """Named values to slice by: source, category, template, image, …"""
    group: str | None = None
    """Items that belong together (premise, dialogue, paragraph): the unit of resampling and splitting."""
    origin: Origin | None = None

    @property
    def hidden(self) -> bool:
        """Whether its label is hidden: it is neither learned from nor scored unless its owner asks, and never shown."""
        return self.origin is not None and self.origin.gold == "hidden"


class Judgement(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One worker's answer to one question about one example. Kept apart from gold for ever."""

    example: str
    """Full reference of the example."""
    worker: str
    """The worker's name or pseudonym; whether it stands for a person is on the dataset's card."""
    question: str
    """The key of `Example.gold` that the answer is to."""
    answer: Any
    """In the shape of the question: a label, a number, a list of spans, a text."""
    seconds: float | None = None
    """How long the worker took, where that was measured."""
    at: str | None = None
    """When it was given, as the tool that collected it wrote it."""
    kind: JudgementKind = "person"
    """Who speaks: a worker (a `person` unless said otherwise), an owner who decides (`DECISION_KINDS`; the worker is then
    `decision:NAME`), or a worker who hands the item back (`report`: the answer is the code of the reason)."""
    comment: str = ""
    """What was written beside it: a worker's comment on an answer or report, the reason of a decision."""


class Card(Record, frozen=True, kw_only=True):
    """What a reader of a paper would ask about a dataset."""

    name: str
    title: str
    version: str
    languages: tuple[str, ...]
    licence: str
    citation: str
    homepage: str
    description: str
    labels: str
    """How the labels were made."""
    workers: str
    """How many judged each item, and who they were, as far as published."""
    workers_are: Literal["persons", "columns", "simulated", "none"]
    """Whether a worker id stands for a person, only for a column, for a simulation, or none are published."""
    source: str
    """Where the texts come from."""
    problems: tuple[str, ...] = ()
    """Known problems, one sentence each."""


class Task(Record, frozen=True, kw_only=True):
    """A question asked of a dataset, and how the answers are scored."""

    name: str
    dataset: str
    kind: Kind
    question: str
    """The key of `Example.gold` this task asks for."""
    inputs: tuple[str, ...]
    """The inputs a model may see; fewer of them make a partial-input variant."""
    labels: tuple[str, ...] = ()
    """The closed set of answers, where there is one."""
    metrics: tuple[str, ...]
    scale: tuple[float, float] | None = None
    """Lowest and highest score of a similarity task."""
    unit: Unit = "percent"
    """How the official scorer reports: JGLUE's sentence tasks as fractions, the others in percent."""

    def asks(self, example: Example) -> bool:
        """Whether this task can be asked of `example`: inputs present, gold for it or no gold at all."""
        return all(name in example.inputs for name in self.inputs) and (
            not example.gold or self.question in example.gold
        )


class Dataset(Record, frozen=True, kw_only=True):
    """The unit that is released: a card and named splits."""

    name: str
    language: str
    version: str
    card: Card
    splits: dict[str, tuple[Example, ...]]

    def __len__(self) -> int:
        return sum(len(examples) for examples in self.splits.values())


class Prediction(Record, frozen=True, kw_only=True):
    """What a model answered; `answer` is None, with a reason, where it gave none that could be read."""

    example: str
    """The id of the example within its split."""
    answer: Any = None
    """The answer in the task's shape."""
    scores: dict[str, float] | None = None
    """A number for each label, or for each choice by its place (`"0"`, `"1"`)."""
    raw: str | None = None
    """What the model wrote, where the answer was read from a longer text."""
    why: str | None = None
    """Why there is no answer."""


class Score(Record, frozen=True, kw_only=True):
    """One number of a result, with its interval and what it was computed over."""

    metric: str
    mode: Literal["official", "documented"]
    value: float
    unit: Unit
    low: float | None = None
    """Lower end of the 95% interval; None where there are too few items for one."""
    high: float | None = None
    n: int
    """How many items it was computed over."""
    where: str = ""
    """The slice, such as `tag=negation`; empty for all items."""


class Run(Record, frozen=True, kw_only=True):
    """A model on a task: everything that defines the outcome."""

    task: str
    predictor: str
    seed: int
    settings: dict[str, Any] = {}


SPAN_LISTS = ("spans",)
"""Gold fields that hold a list of spans."""
SPAN_INPUTS = ("subject", "object")
"""Input fields that hold one span."""


def reference(dataset: str, split: str, example: str) -> str:
    """The full reference of an example: `jsick:test/33`."""
    return f"{dataset}:{split}/{example}"


def revive(example: Example) -> Example:
    """Turn the span-valued fields, plain mappings after decoding, back into `Span`s."""
    for name in SPAN_LISTS:
        if name in example.gold:
            example.gold[name] = msgspec.convert(example.gold[name], list[Span])
    for name in SPAN_INPUTS:
        if isinstance(example.inputs.get(name), dict):
            example.inputs[name] = msgspec.convert(example.inputs[name], Span)
    return example


class Finding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something a check found in a dataset."""

    check: str
    """Stable name of the check, such as `repeated-pairs`."""
    where: str
    """The split or splits (`train`, `test in train+dev`), or the other dataset."""
    count: int
    ids: tuple[str, ...] = ()
    """Full references of the examples concerned, or places in a file."""
    note: str = ""
    known: bool = False
    """Whether the dataset's own list of known problems holds it."""


def texts_inside(value: Any) -> Iterator[str]:
    """All texts inside a value, such as the inputs of an example."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_inside(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_inside(part)
