"""Probe a dataset for artifacts: read it, cut it into tokens, test each against each label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

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
from nikawa.checks.probe_examples import (
    BOTH,
    Kept,
    Opened,
    items,
    make_plan,
    open_examples,
    placed,
    sides_of,
    tokeniser_of,
)
from nikawa.errors import BadInput
from nikawa.records import Example, Record
from nikawa.text import analyser

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
