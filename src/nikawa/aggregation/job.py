"""`nikawa aggregate`: make gold of judgements by named rules, say why for every item; or report on the workers.

A rule may be named after the question it answers (`binary=mean+binary:3`); several rules make several answers an
item, and an example is kept when every rule accepts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nikawa.aggregation.judgements import (
    JudgementCopy,
    build_table,
    build_tables,
    load_examples,
    open_source,
)
from nikawa.aggregation.report import AggregateReport, AggregateResult, collect_gold, report_rule
from nikawa.aggregation.rules import parse_rules
from nikawa.aggregation.sheets import read_decisions, read_known_answers
from nikawa.aggregation.spans import to_marks
from nikawa.aggregation.verdicts import Ties, Verdicts, apply_rule, settle_by_hand
from nikawa.aggregation.workers import (
    ExclusionEffect,
    Limit,
    drop_workers,
    find_excluded,
    measure_exclusions,
    need_persons,
    pilot_test,
    quality,
)
from nikawa.datasets.names import find_benchmark
from nikawa.errors import BadInput, name_faulty_file
from nikawa.io.judgements import JudgementOptions, Note
from nikawa.records import Record


@dataclass(frozen=True)
class AggregateOptions:
    """What to make of the judgements, and how they are read."""

    rules: tuple[str, ...] = ("majority",)
    """As in `rules`: one, or several as `QUESTION=RULE`."""
    ties: str = "adjudicate"
    """`drop`, `adjudicate` or `prefer:LABEL`."""
    question: str | None = None
    """The question to aggregate; None where the judgements answer only one."""
    examples: str | None = None
    """A dataset or records file: gold is merged into its examples; answers about others are refused."""
    adjudicated: Path | None = None
    """A sheet of ties that were settled by hand."""
    exclude: tuple[str, ...] = ()
    """Limits on workers, such as `r<0.80`; who is beyond one is left out."""
    known: Path | None = None
    """Answers that are right, for limits on accuracy."""
    as_published: bool = False
    """Only the answers that a published dataset's own gold was made from."""
    columns: bool = False
    """Whether workers are only columns, where the file does not tell."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How a file of judgements is read."""
    hidden: bool = False
    """Hold answers against hidden labels, and copy these, still hidden: for whoever holds them."""


def aggregate(
    spec: str, data: Path | None = None, options: AggregateOptions | None = None
) -> AggregateResult:
    """Make gold of a file of judgements, or of a dataset that publishes its workers' answers.

    Raises `BadInput` where a rule does not fit the answers, or an option names something that is not there.
    """
    options = options or AggregateOptions()
    examples = load_examples(spec, options.examples, data, hidden=options.hidden)
    rules = parse_rules(options.rules)
    ties = Ties.parse(options.ties)
    known = examples if options.examples else None
    source = open_source(
        spec, data, options.how, known, as_published=options.as_published, hidden=options.hidden
    )
    copy = None
    if examples is not None and find_benchmark(spec) is None:
        copy = JudgementCopy()
        source.judgements = copy.take(source.judgements)
    tables = build_tables(source, rules, options.question)
    first_rule, first_table = next(iter(tables.items()))
    known_answers = read_known_answers(options.known, first_table, hidden=options.hidden)
    decisions = None
    if options.adjudicated is not None:
        decisions = read_decisions(options.adjudicated)
        with name_faulty_file(options.adjudicated):
            decisions.check({name or table.question: table for name, table in tables.items()})
    workers_are = "columns" if options.columns else source.workers_are
    for rule in rules.values():
        if rule.needs_persons:
            need_persons(workers_are, rule.decider.name)
        if options.exclude:
            need_persons(workers_are, "leaving workers out")
    effects: list[ExclusionEffect] = []
    if options.exclude:
        limits = [Limit.parse(limit) for limit in options.exclude]
        excluded = find_excluded(quality(first_table, known_answers), limits)
        effects = measure_exclusions(first_table, excluded, rules[first_rule], ties)
        tables = {name: drop_workers(table, list(excluded)) for name, table in tables.items()}
    answers = {} if decisions is None else decisions.answers
    verdicts: dict[str, Verdicts] = {}
    for name, rule in rules.items():
        question = name or tables[name].question
        made = apply_rule(tables[name], rule, ties)
        if answers:
            with name_faulty_file(options.adjudicated):
                made = settle_by_hand(made, answers.get(question, {}))
        verdicts[question] = made
    notes = source.notes
    overruled = count_overruled(verdicts, answers)
    if overruled:
        what = "decisions other than the gold"
        done = "the item was not tied, and the rule stands"
        note = Note(what=what, done=done, count=overruled, lines=())
        notes = (*notes, note)
    unjudged = 0
    if options.examples and examples:
        items = {item for table in tables.values() for item in table.items}
        judged = {id(examples[item]) for item in items if item in examples}
        unjudged = len({id(example) for example in examples.values()} - judged)
    table = next(iter(verdicts.values())).table
    report = AggregateReport(
        judgements=spec,
        workers_are=source.workers_are,
        items=len(table.items),
        workers=len(table.workers),
        answers=len(table),
        missing=table.missing,
        kept=len(collect_gold(verdicts)),
        unjudged=unjudged,
        rules=tuple(report_rule(name, each, examples) for name, each in verdicts.items()),
        excluded=tuple(effects),
        notes=notes,
    )
    decided = {} if decisions is None else decisions.remarks
    return AggregateResult(report, verdicts, examples, tables, decided, copy, options.hidden)


def count_overruled(
    verdicts: Mapping[str, Verdicts], decisions: Mapping[str, Mapping[str, str]]
) -> int:
    """Decisions that another gold stands against: only ties are settled by hand, and nothing in silence."""
    count = 0
    for question, each in verdicts.items():
        gold = dict(zip(each.table.items, each.answers(), strict=True))
        for item, decision in decisions.get(question, {}).items():
            answer = gold.get(item)
            if isinstance(answer, list):
                count += to_marks(answer) != to_marks(decision)
            elif str(answer) != decision:
                try:
                    count += float(decision) != answer
                except ValueError:
                    count += 1
    return count


class WorkersReport(Record, frozen=True, kw_only=True):
    """Every worker's figures, the pilot test, and what exclusions would change."""

    judgements: str
    question: str
    workers: tuple[Any, ...]
    """A `Quality` for each worker."""
    trials: tuple[Any, ...] = ()
    """Where there are known answers and a pass mark."""
    excluded: tuple[Any, ...] = ()
    """What the limits would change: an `ExclusionEffect` each, then all together."""


def report_workers(
    spec: str, data: Path | None, options: AggregateOptions, pass_mark: float | None = None
) -> WorkersReport:
    """Figures of every worker, who passes a test on known answers, what leaving workers out would change."""
    source = open_source(
        spec, data, options.how, as_published=options.as_published, hidden=options.hidden
    )
    table = build_table(source, options.question)
    known_answers = read_known_answers(options.known, table, hidden=options.hidden)
    workers_are = "columns" if options.columns else source.workers_are
    figures = quality(table, known_answers, workers_are=workers_are)
    if pass_mark is not None and not known_answers:
        raise BadInput("a pass mark needs known answers", cure="give them with --known FILE")
    excluded = find_excluded(figures, [Limit.parse(limit) for limit in options.exclude])
    rule = next(iter(parse_rules(options.rules).values()))
    trials = []
    if pass_mark is not None and known_answers:
        trials = pilot_test(table, known_answers, pass_mark)
    return WorkersReport(
        judgements=spec,
        question=table.question,
        workers=tuple(figures),
        trials=tuple(trials),
        excluded=tuple(measure_exclusions(table, excluded, rule, Ties.parse(options.ties))),
    )
