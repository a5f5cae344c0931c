"""Probe a dataset for artifacts: read it, cut it into tokens, test each against each label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from nikawa.checks.artifacts import (
    ALPHA,
    SMOOTHING,
    Association,
    Item,
    Pair,
    Table,
    Tally,
    associations,
    count,
    over_the_line,
    tabulate,
    uneven_labels,
)
from nikawa.checks.lengths import Explained, Length, explained, lengths
from nikawa.datasets import benchmarks, load
from nikawa.datasets.load import guess_language
from nikawa.datasets.names import find_benchmark
from nikawa.datasets.views import without_views
from nikawa.errors import BadInput, unknown
from nikawa.io.records import read_examples
from nikawa.records import Example, Record, Task
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
    benchmark = find_benchmark(spec)
    if benchmark is None and Path(spec).is_file():
        stream = read_examples(Path(spec))
        first = list(islice(stream, PEEK))
        return Opened("", guess_language(first), first, chain(first, stream))
    dataset = load(spec, data=data)
    splits = without_views(dataset.splits, benchmark)
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


INFERENCE = ("entailment", "contradiction", "neutral")
CHUNK = 20_000
NEWS_EVERY = 1_000
Progress = Callable[[int, int | None], None]
"""Called with how many examples were read, of how many where that is known."""


@dataclass(frozen=True)
class Options:
    """How to probe."""

    side: str = BOTH
    """An input (`premise`, `hypothesis`, …), or `both` for the union of all."""
    tokeniser: str | None = None
    """An analyser or a language; None takes the language's own, white space where the text is segmented."""
    without: tuple[str, ...] = ()
    """Leave out the examples whose meta agrees: `template=20`."""
    question: str | None = None
    """The question whose gold is the label, where a dataset asks several."""
    alpha: float = ALPHA
    top: int = 10
    """Tokens listed by PMI for each label."""
    smoothing: float = SMOOTHING
    workers: int = 1


class ArtifactReport(Record, frozen=True, kw_only=True):
    """What the artifact test found."""

    dataset: str
    question: str
    sides: tuple[str, ...]
    tokeniser: str
    examples: int
    labels: dict[str, int]
    """Examples of each label."""
    uneven: tuple[str, ...]
    """Labels so frequent that a token in every example would be over the line."""
    left_out: int
    """Examples that `without` took away."""
    vocabulary: int
    alpha: float
    threshold: float
    """alpha / vocabulary."""
    over: tuple[Pair, ...]
    """The pairs over the line, the least likely first."""
    tokens_over: int
    """Distinct tokens among them."""
    pmi: dict[str, tuple[Association, ...]]
    lengths: tuple[Length, ...]
    explained: tuple[Explained, ...]


@dataclass(frozen=True)
class Probe:
    """A report, and the counts it was made from."""

    report: ArtifactReport
    table: Table


def artifacts(
    spec: str,
    data: Path | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Test a dataset, given as `load` takes it; a records file is streamed."""
    how = options or Options()
    opened = open_examples(spec, data)
    plan = make_plan(spec, opened, how.question)
    sides = sides_of(plan, how.side)
    tokeniser = tokeniser_of(plan, how.tokeniser)
    kept = Kept(how.without)
    stream = _told(opened, progress) if progress else opened.stream
    try:
        tally = _tally(items(kept.of(stream), plan, sides), sides, tokeniser, how.workers)
    except BadInput as problem:
        raise placed(problem, spec, data, sides) from None
    kept.check(spec)
    if not tally.examples:
        raise BadInput(
            f"{spec} has no example with gold for {plan.question!r}", cure="name a split with gold"
        )
    table = tabulate(tally, plan.labels or _labels(tally), how.alpha)
    over = over_the_line(table)
    report = ArtifactReport(
        dataset=spec,
        question=plan.question,
        sides=sides,
        tokeniser=tokeniser,
        examples=tally.examples.total(),
        left_out=kept.dropped,
        labels=dict(zip(table.labels, table.examples.tolist(), strict=True)),
        uneven=uneven_labels(table),
        vocabulary=len(table.tokens),
        alpha=how.alpha,
        threshold=float(table.exact_threshold),
        over=over,
        tokens_over=len({pair.token for pair in over}),
        pmi=associations(table, how.top, how.smoothing),
        lengths=lengths(tally, table.labels),
        explained=explained(tally),
    )
    return Probe(report, table)


def _told(opened: Opened, progress: Progress) -> Iterator[Example]:
    """The examples of a dataset, and word of them now and then."""
    total = len(opened.first) if opened.name else None
    for number, example in enumerate(opened.stream, start=1):
        if number % NEWS_EVERY == 0:
            progress(number, total)
        yield example


def _labels(tally: Tally) -> tuple[str, ...]:
    """The closed set the labels seen belong to: the three of inference, else themselves."""
    return INFERENCE if set(tally.examples) <= set(INFERENCE) else tuple(sorted(tally.examples))


def _tally(stream: Iterator[Item], sides: tuple[str, ...], tokeniser: str, workers: int) -> Tally:
    if workers <= 1:
        return count(stream, sides, analyser(tokeniser, cache=0))
    from nikawa.execute.ordered import map_ordered

    whole = Tally(sides)
    chunks = iter(lambda: list(islice(stream, CHUNK)), [])
    count_chunk = partial(_count_chunk, sides=sides, tokeniser=tokeniser)
    for tally in map_ordered(count_chunk, chunks, workers, ahead=2):
        whole.merge(tally)
    return whole


def _count_chunk(chunk: list[Item], sides: tuple[str, ...], tokeniser: str) -> Tally:
    return count(chunk, sides, analyser(tokeniser, cache=0))
