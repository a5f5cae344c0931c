"""What a probe reads: the examples of a dataset, the question asked of them, the texts and the tokeniser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from nikawa.checks.artifacts import Item
from nikawa.datasets import benchmarks, load
from nikawa.datasets.load import guess_language, named
from nikawa.datasets.views import without_views
from nikawa.errors import BadInput, unknown
from nikawa.io.records import read_examples
from nikawa.records import Example, Task
from nikawa.text import ANALYSERS, analyser
from nikawa.text.analysers import DEFAULTS

BOTH = "both"
PEEK = 200
"""Examples looked at to tell a file's language, question and whether it is segmented."""


@dataclass(frozen=True)
class Plan:
    """What is asked of the examples of one dataset."""

    question: str
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    """Empty where the data must tell."""
    language: str
    segmented: bool


class Opened(NamedTuple):
    """A dataset about to be read."""

    name: str
    """Empty for a records file, which no task describes."""
    language: str
    first: list[Example]
    stream: Iterator[Example]
    """All examples, the first among them."""


def open_examples(spec: str, data: Path | None) -> Opened:
    """Open a dataset as `load` does; a records file is streamed, and of splits that repeat another none is read."""
    if Path(spec).is_file() and spec not in benchmarks():
        stream = read_examples(Path(spec))
        first = list(islice(stream, PEEK))
        return Opened("", guess_language(first), first, chain(first, stream))
    dataset = load(spec, data=data)
    published = named(spec)  # a folder of one's own may bear the name of a published dataset
    splits = without_views(dataset.splits, published.benchmark if published else None)
    examples = [example for split in splits.values() for example in split]
    return Opened(dataset.name, dataset.language, examples, iter(examples))


def make_plan(spec: str, opened: Opened, question: str | None) -> Plan:
    """Which question to ask of which texts: the dataset's own task, or what the first examples show."""
    name, examples = opened.name, opened.first
    tasks = benchmarks()[name].tasks if name in benchmarks() else ()
    asked = [t for t in tasks if t.labels and _texts(t) and question in (None, t.question)]
    if tasks and not asked:
        closed = [t.question for t in tasks if t.labels and _texts(t)]
        raise BadInput(
            f"{name} has no text with one of a closed set of labels"
            + (f" for {question!r}" if closed else ""),
            cure=f"ask for {' or '.join(closed)}" if closed else "the test needs labels",
        )
    if asked:
        asks_for, inputs, labels = asked[0].question, _texts(asked[0]), asked[0].labels
    else:
        asks_for, inputs = _guess(spec, examples, question)
        labels = ()
    asks = [e for e in examples[:PEEK] if all(isinstance(e.inputs.get(i), str) for i in inputs)]
    return Plan(
        asks_for, inputs, labels, opened.language, _is_segmented(asks, inputs, opened.language)
    )


def _texts(task: Task) -> tuple[str, ...]:
    """The inputs of a task that are plain text, where its answer is one label."""
    kinds = {"inference": task.inputs, "text": ("text",), "relation": ("text",)}
    return kinds.get(task.kind, ())


def _guess(
    spec: str, examples: Iterable[Example], question: str | None
) -> tuple[str, tuple[str, ...]]:
    """The question and the texts of data that no task describes: the first example with a word as gold tells."""
    for example in examples:
        words = {name for name, gold in example.gold.items() if isinstance(gold, str)}
        found = question if question in words else None
        if question is None:
            found = "label" if "label" in words else min(words, default=None)
        texts = [name for name, value in example.inputs.items() if isinstance(value, str)]
        if found is not None and texts:
            return found, tuple(sorted(texts, key=lambda name: (name != "premise", name)))
    what = f"has no word as gold for {question!r}" if question else "has no word as gold"
    raise BadInput(what, file=spec, cure="the test needs examples with a label")


def _is_segmented(examples: Iterable[Example], inputs: tuple[str, ...], language: str) -> bool:
    """Whether white space stands between the words, as it does not in Japanese unless a tool put it there."""
    texts = [e.inputs[name].strip() for e in examples for name in inputs]
    return (
        language == "ja" and bool(texts) and sum(" " in text for text in texts) > 0.9 * len(texts)
    )


def sides_of(plan: Plan, side: str) -> tuple[str, ...]:
    """The inputs that a side stands for."""
    if side == BOTH:
        return plan.inputs
    if side not in plan.inputs:
        raise unknown("side", side, (*plan.inputs, BOTH))
    return (side,)


def tokeniser_of(plan: Plan, given: str | None) -> str:
    """The analyser asked for, else the one that fits the texts."""
    if given is None:
        return "whitespace" if plan.segmented else DEFAULTS.get(plan.language, "whitespace")
    name = DEFAULTS.get(given, given)
    if name not in ANALYSERS:
        raise unknown("tokeniser", given, [*ANALYSERS, *DEFAULTS])
    return name


class Kept:
    """The examples that `without` leaves, and how many it took away."""

    def __init__(self, without: Iterable[str]) -> None:
        self.rules = [rule.partition("=")[::2] for rule in without]
        for rule in without:
            if "=" not in rule:
                raise BadInput(f"{rule!r} names no value", cure="write --without template=20")
        self.hits = [0] * len(self.rules)
        self.dropped = 0

    def of(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Pass on what stays."""
        if not self.rules:
            yield from examples
            return
        for example in examples:
            met = [str(example.meta.get(key)) == value for key, value in self.rules]
            self.hits = [hits + hit for hits, hit in zip(self.hits, met, strict=True)]
            self.dropped += any(met)
            if not any(met):
                yield example

    def check(self, spec: str) -> None:
        """Refuse a rule that took nothing away: it is a slip of the pen."""
        for (key, value), hits in zip(self.rules, self.hits, strict=True):
            if not hits:
                raise BadInput(
                    f"no example of {spec} has {key}={value}",
                    cure=f"nikawa data show {spec} shows the meta",
                )


def items(examples: Iterable[Example], plan: Plan, sides: tuple[str, ...]) -> Iterator[Item]:
    """Label and texts of the examples that the question can be asked of and whose gold is here."""
    for example in (e for e in examples if not e.hidden):
        label, texts = example.gold.get(plan.question), [example.inputs.get(side) for side in sides]
        words = tuple(text for text in texts if isinstance(text, str))
        if isinstance(label, str) and len(words) == len(sides):
            yield label, words


def placed(problem: BadInput, spec: str, data: Path | None, sides: tuple[str, ...]) -> BadInput:
    """The same error with the example and file it is of, where a text is what no analyser takes."""
    if problem.file is not None or "of the text is" not in problem.what:
        return problem
    cheap = analyser("characters", cache=0)  # it refuses what all refuse
    for example in open_examples(spec, data).stream:
        for side in sides:
            text = example.inputs.get(side)
            try:
                cheap.analyse(text if isinstance(text, str) else "")
            except BadInput as found:
                return BadInput(
                    f"example {example.id!r}, {side}: {found.what}", file=spec, cure=found.cure
                )
    return problem
