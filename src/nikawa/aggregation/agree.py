"""Agreement of judgements with intervals over items, whole and in slices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.aggregation.agree_spans import Spans, spans_of
from nikawa.aggregation.judgements import load_examples, open_given, table_of
from nikawa.errors import BadInput
from nikawa.io.judgements import How, Note
from nikawa.records import Example, Record

if TYPE_CHECKING:
    from nikawa.aggregation.measure import Agreement
    from nikawa.aggregation.plan import Plan, Wish
    from nikawa.aggregation.table import Table

RESAMPLES = 1000


@dataclass(frozen=True)
class Options:
    """What to measure, and how the judgements are read."""

    question: str | None = None
    level: str | None = None
    by: tuple[str, ...] = ()
    author: str | None = None
    each: int | None = None
    """How many answers an item was to get; guessed where it is not said."""
    examples: str | None = None
    """A dataset or records file with the examples; a published dataset has its own."""
    how: How = field(default_factory=How)
    resamples: int = RESAMPLES
    seed: int = 0


class MeasureRow(Record, frozen=True, kw_only=True):
    """A measure with its 95% interval; None where it is undefined, as with a single answer throughout."""

    name: str
    level: str
    value: float | None
    low: float | None
    high: float | None


class Slice(Record, frozen=True, kw_only=True):
    """The measures of some of the items."""

    where: str
    items: int
    answers: int
    measures: tuple[MeasureRow, ...]


class AgreeReport(Record, frozen=True, kw_only=True):
    """Everything `nikawa agree` says."""

    judgements: str
    question: str
    items: int
    workers: int
    answers: int
    measures: tuple[MeasureRow, ...]
    counts: dict[str, int]
    """Items that are unanimous, have a majority only, have none, lack answers."""
    distribution: dict[str, int]
    """Answers by category, spans by label; empty where there are very many."""
    missing: int
    workers_are: str
    form: str
    resamples: int
    seed: int
    notes: tuple[Note, ...] = ()
    slices: tuple[Slice, ...] = ()
    remarks: tuple[str, ...] = ()
    """What to know about the measures of spans, and about items that lack answers."""


@dataclass(frozen=True)
class Agreed:
    """The report, and the table it was made from."""

    report: AgreeReport
    table: Table


def agree(spec: str, data: Path | None = None, options: Options | None = None) -> Agreed:
    """Measure the agreement of a file of judgements, or of a dataset that publishes its workers' answers."""
    from nikawa.aggregation.span_agreement import with_marks

    options = options or Options()
    wanted = bool(options.by or options.examples)
    known = load_examples(spec, options.examples, data) if wanted else None
    if options.by and known is None:
        raise BadInput("slices need the examples", cure="name them with --examples FILE")
    given = open_given(spec, data, options.how, known)
    given.judgements = with_marks(given.judgements, options.question or given.question)
    table = replace(table_of(given, options.question, options.how), each=options.each)
    spans = spans_of(table, known, options)
    counts, distribution = _counts(table) if spans is None else ({}, spans.labels)
    report = AgreeReport(
        judgements=spec,
        question=table.question,
        items=len(table.items),
        workers=len(table.workers),
        answers=len(table),
        measures=tuple(measured(table, options, spans)),
        counts=counts,
        distribution=distribution,
        missing=table.missing,
        workers_are=given.workers_are,
        form=given.form,
        resamples=options.resamples,
        seed=options.seed,
        notes=given.notes,
        slices=tuple(_slices(table, known or {}, options, spans)),
        remarks=_lacking(table, counts) if spans is None else spans.remarks,
    )
    return Agreed(report, table)


def plan_from(spec: str, data: Path | None, options: Options, wish: Wish) -> Plan:
    """How many workers an item needs, from a pilot's judgements."""
    from nikawa.aggregation.plan import plan
    from nikawa.aggregation.span_agreement import are_spans, with_marks

    given = open_given(spec, data, options.how)
    given.judgements = with_marks(given.judgements, options.question or given.question)
    table = table_of(given, options.question, options.how)
    if are_spans(table):
        cure = "plan with labels or numbers; of spans, look at the agreement of the pilot"
        raise BadInput("how many workers an item needs is not told of spans", file=spec, cure=cure)
    return plan(table, wish, seed=options.seed)


def measured(table: Table, options: Options, spans: Spans | None = None) -> Iterator[MeasureRow]:
    """Every measure of agreement that fits the table, with its interval."""
    from nikawa.aggregation.agreement import measures
    from nikawa.aggregation.span_agreement import span_measures

    found: Iterator[Agreement] = (
        measures(table, options.level, options.author, by_kind=True)
        if spans is None
        else span_measures(table, spans.lengths)
    )
    for measure in found:
        low, high = interval_of(measure, len(table.items), options.resamples, options.seed)
        yield MeasureRow(
            name=measure.name,
            level=measure.level,
            value=_finite(measure.value),
            low=_finite(low),
            high=_finite(high),
        )


def interval_of(
    measure: Agreement, items: int, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95% interval of a measure over its items, or over kinds of them where it knows these."""
    import numpy as np

    from nikawa.aggregation.measure import Measure
    from nikawa.stats.resample import bootstrap, interval

    drawn = measure.drawn(resamples, seed) if isinstance(measure, Measure) else None
    if drawn is None:
        drawn = bootstrap(measure, np.arange(items), resamples=resamples, seed=seed)
    return interval(drawn, None)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _counts(table: Table) -> tuple[dict[str, int], dict[str, int]]:
    import numpy as np

    from nikawa.aggregation.agreement import standing
    from nikawa.aggregation.kappa import WIDE

    if len(table.categories) > WIDE:
        return {}, {}
    found = np.bincount(table.answer, minlength=len(table.categories)).tolist()
    distribution = {str(name): count for name, count in zip(table.categories, found, strict=True)}
    return {name: int(which.sum()) for name, which in standing(table).items()}, distribution


def _lacking(table: Table, counts: Mapping[str, int]) -> tuple[str, ...]:
    """How items came to be called incomplete, where that was guessed."""
    if not counts.get("incomplete") or table.each is not None:
        return ()
    from nikawa.aggregation.agreement import wanted

    each = wanted(table)
    why = (
        f"each of the {each} workers was to answer all"
        if each == len(table.workers)
        else f"{each} make an item"
    )
    return (
        f"incomplete: it is taken that {why}; say --each N where N answers an item were asked for.",
    )


def _slices(
    table: Table, known: Mapping[str, Example], options: Options, spans: Spans | None
) -> Iterator[Slice]:
    import numpy as np

    from nikawa.stats.slices import slice_examples

    for by in options.by:
        groups = slice_examples(by, [known.get(item) for item in table.items])
        if not groups:
            raise BadInput(
                f"no example has {by!r}", cure="slice by tag, or by a name in the examples' meta"
            )
        for value, places in groups.items():
            keep = np.zeros(len(table.items), dtype=np.bool_)
            keep[places] = True
            yield _slice(f"{by}={value}", table.of_items(keep), options, spans)


def _slice(where: str, table: Table, options: Options, spans: Spans | None) -> Slice:
    paired = bool((table.per_item() > 1).any())
    rows = tuple(measured(table, options, spans)) if paired else ()
    return Slice(where=where, items=len(table.items), answers=len(table), measures=rows)


def save(
    path: Path, spec: str, data: Path | None, options: Options, target: tuple[str | None, bool]
) -> int:
    """Write all judgements of a file or dataset in another form, texts with them where the examples are known.

    `target` is the form (None: by suffix) and whether to overwrite.
    """
    from nikawa.io.judgements import write_judgements

    form, overwrite = target
    texts = (
        load_examples(spec, options.examples, data) if form in ("label-studio", "doccano") else None
    )
    given = open_given(spec, data, options.how, as_given=True)
    chosen = options.question if form in ("doccano",) else None
    rows = (j for j in given.judgements if chosen is None or j.question == chosen)
    return write_judgements(path, rows, form, examples=texts, overwrite=overwrite)
