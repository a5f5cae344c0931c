"""Probe a dataset for artifacts: read it, cut it into tokens, test each against each label; and
the fields other than the texts.
"""

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
    count_tokens,
    find_pairs,
    find_uneven_labels,
    rank_associations,
    tabulate,
)
from nikawa.checks.giveaways import Giveaway, find_open_giveaways
from nikawa.checks.lengths import ExplainedVariance, Length, measure_explained, measure_lengths
from nikawa.datasets import benchmarks, load
from nikawa.datasets.load import guess_language, open_file
from nikawa.datasets.names import find_benchmark
from nikawa.datasets.views import without_views
from nikawa.errors import BadInput, unknown
from nikawa.io.remote import to_path
from nikawa.records import Example, Record, Task
from nikawa.text import ANALYSERS, analyser
from nikawa.text.analysers import DEFAULTS

BOTH = "both"
EXAMPLES_PEEKED = 200
"""Examples that are read to detect a file's language, question and segmentation."""
INFERENCE = ("entailment", "contradiction", "neutral")
EXAMPLES_PER_CHUNK = 20_000
EXAMPLES_PER_REPORT = 1_000
Progress = Callable[[int, int | None], None]
"""Called with the number of examples read, and the total if it is known."""


@dataclass(frozen=True)
class ProbeOptions:
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
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""


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
    explained: tuple[ExplainedVariance, ...]


@dataclass(frozen=True)
class Probe:
    """A report, and the counts it was made from."""

    report: ArtifactReport
    table: Table


def probe_artifacts(
    text: str,
    data: Path | None = None,
    options: ProbeOptions | None = None,
    on_progress: Progress | None = None,
) -> Probe:
    """Test a dataset, given as `load` takes it; a records file is streamed."""
    from nikawa.execute.ordered import choose_place, map_in_order  # brings multiprocessing

    options = options or ProbeOptions()
    place = choose_place(options)
    source = open_source(text, data)
    plan = make_plan(text, source, options.question)
    sides = choose_sides(plan, options.side)
    tokeniser = choose_tokeniser(plan, options.tokeniser)
    meta_filter = MetaFilter(options.without)
    stream = source.stream
    if on_progress is not None:
        stream = report_progress(source, on_progress)
    items = labelled_texts(meta_filter.keep(stream), plan, sides)
    tally = Tally(sides)
    try:
        if options.workers <= 1 and options.executor in ("", "here"):
            tally = _count_chunk(items, sides, tokeniser)
        else:
            chunks = iter(lambda: list(islice(items, EXAMPLES_PER_CHUNK)), [])
            count_chunk = partial(_count_chunk, sides=sides, tokeniser=tokeniser)
            for part in map_in_order(count_chunk, chunks, place, ahead=2):
                tally.merge(part)
    except BadInput as problem:
        raise place_problem(problem, text, data, sides) from None
    meta_filter.refuse_idle_rules(text)
    if not tally.examples:
        raise BadInput(
            f"{text} has no example with gold for {plan.question!r}", cure="pass a split with gold"
        )
    seen = set(tally.examples)
    labels = plan.labels or (INFERENCE if seen <= set(INFERENCE) else tuple(sorted(seen)))
    table = tabulate(tally, labels, options.alpha)
    over = find_pairs(table)
    report = ArtifactReport(
        dataset=text,
        question=plan.question,
        sides=sides,
        tokeniser=tokeniser,
        examples=tally.examples.total(),
        left_out=meta_filter.dropped,
        labels=dict(zip(table.labels, table.examples.tolist(), strict=True)),
        uneven=find_uneven_labels(table),
        vocabulary=len(table.tokens),
        alpha=options.alpha,
        threshold=float(table.exact_threshold),
        over=over,
        tokens_over=len({pair.token for pair in over}),
        pmi=rank_associations(table, options.top, options.smoothing),
        lengths=measure_lengths(tally, table.labels),
        explained=measure_explained(tally),
    )
    return Probe(report, table)


class GiveawayReport(Record, frozen=True, kw_only=True):
    """The fields other than the inputs that give labels away."""

    dataset: str
    examples: int
    """Examples with open labels."""
    fields: tuple[Giveaway, ...]
    """A field of a split each, by its most telling feature."""


def probe_giveaways(text: str, data: Path | None = None) -> GiveawayReport:
    """Test meta values, tags, groups and ids of a dataset, given as `load` takes it.

    Raises:
        BadInput: no example has an open label.
    """
    dataset = load(text, data=data)
    splits = without_views(dataset.splits, find_benchmark(text))
    labelled = sum(bool(e.gold) and not e.hidden for part in splits.values() for e in part)
    if not labelled:
        raise BadInput(f"{text} has no example with gold", cure="pass a split with gold")
    return GiveawayReport(
        dataset=text,
        examples=labelled,
        fields=tuple(find_open_giveaways(splits, strong=False)),
    )


def _count_chunk(items: Iterable[Item], sides: tuple[str, ...], tokeniser: str) -> Tally:
    return count_tokens(items, sides, analyser(tokeniser, cache=0))


def report_progress(source: ProbeSource, on_progress: Progress) -> Iterator[Example]:
    """The examples of a dataset, with a call of `on_progress` now and then."""
    total = len(source.first) if source.name else None
    for number, example in enumerate(source.stream, start=1):
        if number % EXAMPLES_PER_REPORT == 0:
            on_progress(number, total)
        yield example


@dataclass(frozen=True)
class ProbePlan:
    """The question and inputs for the examples of one dataset."""

    question: str
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    """Empty if it is detected from the data."""
    language: str
    segmented: bool


class ProbeSource(NamedTuple):
    """A dataset about to be read."""

    name: str
    """Empty for a records file, which no task describes."""
    language: str
    first: list[Example]
    stream: Iterator[Example]
    """All examples, the first among them."""


def open_source(text: str, data: Path | None) -> ProbeSource:
    """Open a dataset as `load` does; a records file is streamed, and of splits that repeat another none is read."""
    benchmark = find_benchmark(text)
    if benchmark is None and to_path(text).is_file():
        stream = open_file(to_path(text), data=data)
        first = list(islice(stream, EXAMPLES_PEEKED))
        return ProbeSource("", guess_language(first), first, chain(first, stream))
    dataset = load(text, data=data)
    splits = without_views(dataset.splits, benchmark)
    examples = [example for split in splits.values() for example in split]
    return ProbeSource(dataset.name, dataset.language, examples, iter(examples))


def make_plan(text: str, source: ProbeSource, question: str | None) -> ProbePlan:
    """Which question to ask of which texts: the dataset's own task, or what the first examples show."""
    tasks = benchmarks()[source.name].tasks if source.name in benchmarks() else ()
    closed = [task for task in tasks if task.labels and _text_inputs(task)]
    chosen = [task for task in closed if question in (None, task.question)]
    if tasks and not chosen:
        what = f"{source.name} has no texts with labels from a closed set"
        if closed:
            cure = f"pass --question {' or '.join(task.question for task in closed)}"
            raise BadInput(f"{what} for {question!r}", cure=cure)
        raise BadInput(what, cure="pass a dataset with labels")
    labels: tuple[str, ...] = ()
    if chosen:
        task = chosen[0]
        question, inputs, labels = task.question, _text_inputs(task), task.labels
    else:
        question, inputs = guess_question(text, source.first, question)
    texts = []
    for example in source.first[:EXAMPLES_PEEKED]:
        values = [example.inputs.get(name) for name in inputs]
        if all(isinstance(value, str) for value in values):
            texts += [str(value).strip() for value in values]
    # White space between the words: in Japanese a tool must have put it there.
    spaced = sum(" " in value for value in texts)
    segmented = source.language == "ja" and bool(texts) and spaced > 0.9 * len(texts)
    return ProbePlan(question, inputs, labels, source.language, segmented)


def _text_inputs(task: Task) -> tuple[str, ...]:
    """The inputs of a task that are plain text, where its answer is one label."""
    kinds = {"inference": task.inputs, "text": ("text",), "relation": ("text",)}
    return kinds.get(task.kind, ())


def guess_question(
    text: str, examples: Iterable[Example], question: str | None
) -> tuple[str, tuple[str, ...]]:
    """The question and the texts of data that no task describes: taken from the first example with a word as gold."""
    for example in examples:
        questions = {name for name, gold in example.gold.items() if isinstance(gold, str)}
        if question is None:
            guess = "label" if "label" in questions else min(questions, default=None)
        else:
            guess = question if question in questions else None
        inputs = [name for name, value in example.inputs.items() if isinstance(value, str)]
        if guess is not None and inputs:
            return guess, tuple(sorted(inputs, key=lambda name: (name != "premise", name)))
    what = f"has no gold label for {question!r}" if question else "has no gold label"
    raise BadInput(what, file=text, cure="pass a dataset with labels")


def choose_sides(plan: ProbePlan, side: str) -> tuple[str, ...]:
    """The inputs that a side stands for."""
    if side == BOTH:
        return plan.inputs
    if side not in plan.inputs:
        raise unknown("side", side, (*plan.inputs, BOTH))
    return (side,)


def choose_tokeniser(plan: ProbePlan, tokeniser: str | None) -> str:
    """The requested analyser, otherwise the one that fits the texts."""
    if tokeniser is None:
        return "whitespace" if plan.segmented else DEFAULTS.get(plan.language, "whitespace")
    name = DEFAULTS.get(tokeniser, tokeniser)
    if name not in ANALYSERS:
        raise unknown("tokeniser", tokeniser, [*ANALYSERS, *DEFAULTS])
    return name


class MetaFilter:
    """The examples that `without` leaves, and how many it took away."""

    def __init__(self, without: Iterable[str]) -> None:
        self.rules = [rule.partition("=")[::2] for rule in without]
        for rule in without:
            if "=" not in rule:
                raise BadInput(f"{rule!r} has no value", cure="write --without template=20")
        self.hits = [0] * len(self.rules)
        self.dropped = 0

    def keep(self, examples: Iterable[Example]) -> Iterator[Example]:
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

    def refuse_idle_rules(self, text: str) -> None:
        """Refuse a rule that took nothing away from the dataset `text`: it is a slip of the pen."""
        for (key, value), hits in zip(self.rules, self.hits, strict=True):
            if not hits:
                raise BadInput(
                    f"no example of {text} has {key}={value}",
                    cure=f"run `nikawa data show {text}` to see the metadata",
                )


def labelled_texts(
    examples: Iterable[Example], plan: ProbePlan, sides: tuple[str, ...]
) -> Iterator[Item]:
    """Label and texts of the examples that have the question and its gold."""
    for example in (e for e in examples if not e.hidden):
        label = example.gold.get(plan.question)
        texts = [example.inputs.get(side) for side in sides]
        words = tuple(text for text in texts if isinstance(text, str))
        if isinstance(label, str) and len(words) == len(sides):
            yield label, words


def place_problem(
    problem: BadInput, text: str, data: Path | None, sides: tuple[str, ...]
) -> BadInput:
    """The same error with the example and file it is of, where a text is what no analyser takes."""
    if problem.file is not None or "of the text is" not in problem.what:
        return problem
    cheap = analyser("characters", cache=0)  # it refuses what all refuse
    for example in open_source(text, data).stream:
        for side in sides:
            value = example.inputs.get(side)
            try:
                cheap.analyse(value if isinstance(value, str) else "")
            except BadInput as fault:
                what = f"example {example.id!r}, {side}: {fault.what}"
                return BadInput(what, file=text, cure=fault.cure)
    return problem
