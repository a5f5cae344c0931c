"""`nikawa agree`: the agreement of judgements with intervals over items, whole and in slices; plans from a pilot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from nikawa.aggregation.agreement import (
    count_classes,
    expected_answers,
    measures,
    refuse_single_answers,
)
from nikawa.aggregation.alternative import AlternativeOptions
from nikawa.aggregation.alternative_plan import AlternativeGoal, AlternativePlan, plan_alternative
from nikawa.aggregation.closeness import refuse_huge_numbers
from nikawa.aggregation.judgements import JudgementSource, build_table, load_examples, open_source
from nikawa.aggregation.machines import (
    MachineReport,
    Mixed,
    NothingShared,
    compare_machines,
)
from nikawa.aggregation.measure import MAX_CATEGORIES, AnyMeasure, SummedMeasure
from nikawa.aggregation.plan import Plan, PlanGoal, plan
from nikawa.aggregation.preference_agreement import holds_preferences, preference_measures
from nikawa.aggregation.prelabels import PrelabelReport, measure_prelabels
from nikawa.aggregation.span_agreement import span_measures
from nikawa.aggregation.spans import count_spans_by_label, holds_spans, text_of
from nikawa.aggregation.structures import count_all_parts, find_kind
from nikawa.aggregation.table import Table
from nikawa.aggregation.tree_agreement import GROUPS, group_measures, tree_measures
from nikawa.aggregation.trees import count_relations, holds_trees
from nikawa.errors import BadInput, name_faulty_file
from nikawa.io.atomic import refuse_existing
from nikawa.io.judgements import FORMS_WITHOUT_ROOM, JudgementOptions, Note, write_judgements
from nikawa.io.judgements.remarks import (
    AnswersOnly,
    is_remark,
    remarks_file,
    write_remarks_beside,
)
from nikawa.records import Example, Judgement, Record, find_answerer
from nikawa.stats.resample import bootstrap, percentile_interval
from nikawa.stats.slices import slice_examples
from nikawa.tables import ResultTable, ShownAsTables

RESAMPLES = 1000
SPAN_REMARK = "span-f1 and span-f1-overlap are not corrected for chance: spans that no worker marks cannot be counted."
TREE_REMARK = "UAS, LAS and trees-equal are not corrected for chance; the alphas are, by how frequent distances and relations are."
NO_TEXTS_REMARK = "alpha-characters needs the texts: pass them with --examples FILE."


@dataclass(frozen=True)
class AgreeOptions:
    """What to measure, and how the judgements are read."""

    question: str | None = None
    """The question to measure; None where the judgements answer only one."""
    level: str | None = None
    """nominal, ordinal, interval or ratio; by default all that fit."""
    by: tuple[str, ...] = ()
    """What to slice by: `tag`, or keys of the examples' meta."""
    author: str | None = None
    """The worker who wrote the items, for comparison with the validators."""
    each: int | None = None
    """The number of answers planned per item; estimated if it is not given."""
    examples: str | None = None
    """A dataset or records file with the examples; a published dataset has its own."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How a file of judgements is read."""
    resamples: int = RESAMPLES
    """Bootstrap resamples of each interval."""
    seed: int = 0
    """Of the resamples: the same seed gives the same intervals."""
    alternative: AlternativeOptions = field(default_factory=AlternativeOptions)
    """The settings of the alternative annotator test, where machines judged too."""


class MeasureRow(Record, frozen=True, kw_only=True):
    """A measure with its 95% interval; None where it is undefined, as with a single answer throughout."""

    name: str
    """Such as `alpha`, `fleiss`, `percent`."""
    level: str
    """The level of measurement: nominal, ordinal, interval or ratio."""
    value: float | None
    low: float | None
    high: float | None


class ArcGroup(Record, frozen=True, kw_only=True):
    """Agreement on the words of one relation, or of one distance to the head."""

    by: str
    """`label` or `distance`."""
    value: str
    arcs: int
    """How many arcs of all workers are in the group."""
    uas: float | None
    """With the 95% interval, as the others."""
    uas_low: float | None
    uas_high: float | None
    las: float | None
    las_low: float | None
    las_high: float | None


class Slice(Record, frozen=True, kw_only=True):
    """The measures of some of the items."""

    where: str
    """As `KEY=VALUE`."""
    items: int
    answers: int
    measures: tuple[MeasureRow, ...]
    """Empty where no item of the slice has two answers."""


class AgreeReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """Everything `nikawa agree` reports."""

    main_table: ClassVar[str] = "measures"
    headline_fields: ClassVar[tuple[str, ...]] = (
        "judgements",
        "question",
        "items",
        "workers",
        "answers",
    )

    judgements: str
    """The file or dataset, as it was named."""
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
    """Judgements without an answer, which are not counted."""
    workers_are: str
    """`persons`, or `columns` where a worker is only a column of the file."""
    form: str
    """The form of the file, or `published`."""
    resamples: int
    seed: int
    notes: tuple[Note, ...] = ()
    """Oddities of the file."""
    slices: tuple[Slice, ...] = ()
    remarks: tuple[str, ...] = ()
    """Notes on the measures of spans and trees, and about items that lack answers."""
    arcs: tuple[ArcGroup, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of trees: agreement by relation and by distance; unset for other answers."""
    machines: MachineReport | msgspec.UnsetType = msgspec.UNSET
    """Machines compared with persons; unset where no machine judged. All other figures are of persons only."""
    prelabels: PrelabelReport | msgspec.UnsetType = msgspec.UNSET
    """What it did to the answers that pages came filled in with a machine's; unset where none did."""


@dataclass(frozen=True, repr=False)
class AgreeResult(ShownAsTables):
    """The report, and the table it was made from. It shows itself as its report."""

    plots_by: ClassVar[str] = "nikawa.reporting.notebook:draw_agreement"

    report: AgreeReport
    table: Table

    @property
    def machines(self) -> MachineReport | None:
        """Machines compared with persons, with the `verdict`; None where no machine judged."""
        return None if self.report.machines is msgspec.UNSET else self.report.machines

    @property
    def prelabels(self) -> PrelabelReport | None:
        """What pre-labels did to the answers, with the `verdict`; None where there were none."""
        return None if self.report.prelabels is msgspec.UNSET else self.report.prelabels

    def headline(self) -> str:
        """That of the report, with the verdicts on machines and on pre-labels."""
        verdicts = [one.verdict for one in (self.machines, self.prelabels) if one is not None]
        return ". ".join((self.report.headline(), *verdicts))

    def list_tables(self) -> list[ResultTable]:
        """Those of the report, and of machines compared with persons."""
        tables = self.report.list_tables()
        if self.machines is not None:
            tables += [
                replace(table, title=f"machines: {table.title}")
                for table in self.machines.list_tables()
            ]
        return tables


def agree(spec: str, data: Path | None = None, options: AgreeOptions | None = None) -> AgreeResult:
    """Measure the agreement of a file of judgements, or of a dataset that publishes its workers' answers."""
    options = options or AgreeOptions()
    known = None
    if options.by or options.examples:
        known = load_examples(spec, options.examples, data)
    if options.by and known is None:
        raise BadInput("slices need the examples", cure="pass them with --examples FILE")
    source = open_source(spec, data, options.how, known)
    table = replace(build_table(source, options.question), each=options.each)
    counts: dict[str, int] = {}
    distribution: dict[str, int] = {}
    remarks: tuple[str, ...] = ()
    lengths = None
    with name_faulty_file(source.file):
        kind = find_kind(table)
        are_spans = kind is None and holds_spans(table)
        are_trees = kind is None and not are_spans and holds_trees(table)
        refuse_single_answers(table)
        if table.numeric and options.level != "nominal":
            refuse_huge_numbers(table)
    if kind is not None:
        _check_span_options(table, options, kind.name)
        distribution = count_all_parts(table, kind)
        remarks = (kind.remark,)
    elif are_spans:
        _check_span_options(table, options)
        lengths = text_lengths(table, known)
        distribution = count_spans_by_label(table)
        remarks = (SPAN_REMARK,) if lengths is not None else (SPAN_REMARK, NO_TEXTS_REMARK)
    elif are_trees:
        _check_span_options(table, options, "trees")
        distribution = count_relations(table)
        remarks = (TREE_REMARK,)
    else:
        if len(table.categories) <= MAX_CATEGORIES:
            counts = count_classes(table)
            times = table.per_category().tolist()
            names = map(str, table.categories)
            distribution = dict(zip(names, times, strict=True))
        if counts.get("incomplete"):
            remarks = _explain_incomplete(table)
    machines, why = report_machines(table, source, known, options)
    report = AgreeReport(
        judgements=spec,
        question=table.question,
        items=len(table.items),
        workers=len(table.workers),
        answers=len(table),
        measures=tuple(measure_rows(table, options, lengths)),
        counts=counts,
        distribution=distribution,
        missing=table.missing,
        workers_are=source.workers_are,
        form=source.form,
        resamples=options.resamples,
        seed=options.seed,
        notes=source.notes,
        slices=tuple(measure_slices(table, known or {}, options, lengths)),
        remarks=(*remarks, *why),
        arcs=tuple(measure_arcs(table, options)) if are_trees else msgspec.UNSET,
        machines=machines,
        prelabels=measure_prelabels(
            source.prelabelled, table.question, resamples=options.resamples, seed=options.seed
        )
        or msgspec.UNSET,
    )
    return AgreeResult(report, table)


def report_machines(
    table: Table,
    source: JudgementSource,
    known: Mapping[str, Example] | None,
    options: AgreeOptions,
) -> tuple[MachineReport | msgspec.UnsetType, tuple[str, ...]]:
    """Machines compared with the persons of the table, or unset and why they are not; nothing where no machine answers."""
    mixed = mix_with_machines(table, source, options, source.prelabelled)
    if mixed is None:
        return msgspec.UNSET, ()
    try:
        with name_faulty_file(source.file):
            report = compare_machines(
                mixed,
                known,
                by=options.by,
                options=options.alternative,
                workers_are=source.workers_are,
                resamples=options.resamples,
                seed=options.seed,
            )
    except NothingShared as reason:  # the figures of persons are as without machines
        return msgspec.UNSET, (f"machines are not compared: {reason.what}; {reason.cure}.",)
    return report, ()


def mix_with_machines(
    table: Table,
    source: JudgementSource,
    options: AgreeOptions,
    prelabelled: Iterable[Judgement] = (),
) -> Mixed | None:
    """Persons and machines in one table, once all judgements are read; None where no machine answers the question.

    Answers of `prelabelled` that came filled in are left out.
    """
    rows = [
        row
        for row in source.machines
        if row.question == table.question and find_answerer(row) == "machine"
    ]
    if not rows:
        return None
    with name_faulty_file(source.file):
        mixed = Mixed.of(table, rows, options.level, prelabelled=prelabelled)
    return mixed if mixed.is_machine.any() else None


def plan_test(
    spec: str, data: Path | None, options: AgreeOptions, goal: AlternativeGoal
) -> AlternativePlan:
    """Plan the alternative annotator test from the judgements of a pilot: how many items and persons it needs."""
    source = open_source(spec, data, options.how)
    table = build_table(source, options.question)
    mixed = mix_with_machines(table, source, options, source.prelabelled)
    with name_faulty_file(source.file):
        return plan_alternative(table, mixed, goal, options.alternative, seed=options.seed)


def plan_from_pilot(spec: str, data: Path | None, options: AgreeOptions, goal: PlanGoal) -> Plan:
    """Estimate the number of workers per item from the judgements of a pilot."""
    table = build_table(open_source(spec, data, options.how), options.question)
    structure = find_kind(table)
    if structure is not None or holds_spans(table) or holds_trees(table):
        name = structure.name if structure else "spans" if holds_spans(table) else "trees"
        cure = f"plan with labels or numbers; for {name}, look at the agreement of the pilot"
        raise BadInput(
            f"the number of workers per item cannot be planned for {name}", file=spec, cure=cure
        )
    return plan(table, goal, seed=options.seed)


def measure_rows(
    table: Table, options: AgreeOptions, lengths: Mapping[str, int] | None = None
) -> Iterator[MeasureRow]:
    """Every measure of agreement that fits the table, with its interval.

    Of `options` the level, the author and the resamples count; `lengths` are those of the texts that spans mark.
    """
    chosen: Iterator[AnyMeasure]
    kind = find_kind(table)
    if kind is not None:
        chosen = kind.measures(table)
    elif holds_spans(table):
        chosen = span_measures(table, lengths)
    elif holds_trees(table):
        chosen = tree_measures(table)
    else:
        chosen = measures(table, options.level, options.author, by_kind=True)
        if holds_preferences(table) and options.level is None:
            chosen = chain(preference_measures(table), chosen)
    for measure in chosen:
        low, high = bootstrap_interval(measure, len(table.items), options.resamples, options.seed)
        value, low_or_none, high_or_none = (
            number if math.isfinite(number) else None for number in (measure.value, low, high)
        )
        yield MeasureRow(
            name=measure.name, level=measure.level, value=value, low=low_or_none, high=high_or_none
        )


def measure_arcs(table: Table, options: AgreeOptions) -> Iterator[ArcGroup]:
    """Agreement by relation and by distance of a table of trees."""
    for by in GROUPS:
        for value, arcs, uas, las in group_measures(table, by):
            numbers: list[float | None] = []
            for measure in (uas, las):
                ends = bootstrap_interval(
                    measure, len(table.items), options.resamples, options.seed
                )
                numbers += [
                    number if math.isfinite(number) else None for number in (measure.value, *ends)
                ]
            of_heads, head_low, head_high, of_both, both_low, both_high = numbers
            yield ArcGroup(
                by=by,
                value=value,
                arcs=arcs,
                uas=of_heads,
                uas_low=head_low,
                uas_high=head_high,
                las=of_both,
                las_low=both_low,
                las_high=both_high,
            )


def bootstrap_interval(
    measure: AnyMeasure, items: int, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95% interval of a measure over its items, or over kinds of them where it knows these."""
    drawn = measure.draw(resamples, seed) if isinstance(measure, SummedMeasure) else None
    if drawn is None:
        drawn = bootstrap(measure, np.arange(items), resamples=resamples, seed=seed)
    return percentile_interval(drawn, None)


def text_lengths(table: Table, known: Mapping[str, Example] | None) -> dict[str, int] | None:
    """Characters of the text of each item of a table of spans; None where the texts are not known or not needed."""
    if known is None or find_kind(table) is not None or not holds_spans(table):
        return None
    return {item: len(text_of(item, known[item])) for item in table.items}


def _check_span_options(table: Table, options: AgreeOptions, kind: str = "spans") -> None:
    if options.level not in (None, "nominal"):
        raise BadInput(f"{kind} have no {options.level} level", cure="leave --level out")
    if options.author is not None:
        raise BadInput(f"{kind} cannot be compared with an author's", cure="remove --author")


def _explain_incomplete(table: Table) -> tuple[str, ...]:
    """How items came to be called incomplete, where that was guessed."""
    if table.each is not None:
        return ()
    each = expected_answers(table)
    if each == len(table.workers):
        why = f"each of the {each} workers should answer every item"
    else:
        why = f"{each} answers per item are complete"
    return (
        f"incomplete: this assumes that {why}; pass --each N if N answers per item were planned.",
    )


def measure_slices(
    table: Table,
    known: Mapping[str, Example],
    options: AgreeOptions,
    lengths: Mapping[str, int] | None,
) -> Iterator[Slice]:
    """The measures of each slice of the examples; a slice without two answers about an item has none."""
    for by in options.by:
        groups = slice_examples(by, [known.get(item) for item in table.items])
        if not groups:
            raise BadInput(
                f"no example has {by!r}", cure="slice by tag, or by a field of the examples' meta"
            )
        for value, places in groups.items():
            keep = np.zeros(len(table.items), dtype=np.bool_)
            keep[places] = True
            part = table.of_items(keep)
            compared = bool(part.paired().any())
            yield Slice(
                where=f"{by}={value}",
                items=len(part.items),
                answers=len(part),
                measures=tuple(measure_rows(part, options, lengths)) if compared else (),
            )


def save_judgements(
    path: Path,
    spec: str,
    data: Path | None,
    options: AgreeOptions,
    *,
    form: str | None = None,
    overwrite: bool = False,
) -> int:
    """Write all judgements of a file or dataset in another form, texts with them where the examples are known.

    Comments, reports and decisions are written too, to a second file if the format has no room for them.

    Without a `form` the suffix of `path` decides. Returns how many were written.
    """
    texts, question = None, None
    if form in ("label-studio", "doccano"):
        texts = load_examples(spec, options.examples, data)
    if form == "doccano":
        question = options.question
    source = open_source(spec, data, options.how, as_given=True, machines=True)

    def read_all() -> Iterator[Judgement]:
        """Answers, then the reports and decisions, which are complete by then."""
        yield from source.judgements
        yield from source.reports
        yield from (decision for _, decision in source.decisions)

    rows = (row for row in read_all() if question in (None, row.question) or is_remark(row))
    if form not in FORMS_WITHOUT_ROOM:
        return write_judgements(path, rows, form, examples=texts, overwrite=overwrite)
    refuse_existing(remarks_file(path), overwrite)
    answers = AnswersOnly(rows)
    count = write_judgements(path, answers, form, examples=texts, overwrite=overwrite)
    write_remarks_beside(path, answers.apart)
    return count
