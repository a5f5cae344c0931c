"""`nikawa aggregate`: make gold of judgements by named rules, say why for every item; or report on the workers.

A rule may be named after the question it answers (`binary=mean+binary:3`); several rules give several answers per
item, and an example is kept when every rule accepts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.aggregation.decisions import (
    Decision,
    DecisionBook,
    add_decided_items,
    apply_decisions,
    describe_decisions,
)
from nikawa.aggregation.effort_record import read_effort
from nikawa.aggregation.gold_fit import check_gold_fits
from nikawa.aggregation.judgements import (
    JudgementSource,
    build_table,
    build_tables,
    keep_first_choices,
    load_examples,
    open_source,
)
from nikawa.aggregation.justification import write_card_verdict
from nikawa.aggregation.machine_votes import MachineInput, check_machine_rule, parse_machine_use
from nikawa.aggregation.machines import Mixed, compare_machines
from nikawa.aggregation.prelabels import measure_prelabels
from nikawa.aggregation.report import (
    MAX_ITEMS_LISTED,
    AggregateReport,
    AggregateResult,
    RemarkCounts,
    collect_gold,
    report_rule,
)
from nikawa.aggregation.rules import Rule, parse_rules
from nikawa.aggregation.sheets import read_decisions, read_known_answers
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import Ties, Verdicts, apply_rule
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
from nikawa.errors import BadInput, list_names, name_faulty_file
from nikawa.io.judgements import JudgementOptions, Note
from nikawa.io.judgements.base import MAX_LINES_NOTED
from nikawa.records import Example, Judgement, Record, find_answerer


@dataclass(frozen=True)
class AggregateOptions:
    """What to make of the judgements, and how they are read."""

    rules: tuple[str, ...] = ("majority",)
    """As in `rules`: one, or several as `QUESTION=RULE`."""
    ties: str = "adjudicate"
    """`drop`, `adjudicate` or `prefer:LABEL`."""
    labels: tuple[str, ...] = ()
    """All labels of the form, for labels that no worker chose; an answer with another label is refused."""
    question: str | None = None
    """The question to aggregate; None where the judgements answer only one."""
    examples: str | None = None
    """A dataset or records file: gold is merged into its examples; answers about others are refused."""
    adjudicated: Path | None = None
    """A sheet of decisions, in addition to those in the judgements."""
    decisions: str | None = None
    """`override`: a decision is the gold whatever the votes; `ties`: where the rule makes none of them. None: as the
    project that took the decision says, and `override` where nothing says it."""
    exclude: tuple[str, ...] = ()
    """Limits on workers, such as `r<0.80`; workers beyond a limit are excluded."""
    known: Path | None = None
    """Answers that are right, for limits on accuracy."""
    as_published: bool = False
    """Only the answers that a published dataset's own gold was made from."""
    columns: bool = False
    """Whether workers are only columns, if the file does not say so."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How a file of judgements is read."""
    machines: str = "ignore"
    """What answers of machines do: `ignore`, `tie-break` (they decide only where persons tie) or `weigh` (with persons, by
    what they are worth)."""
    hidden: bool = False
    """Compare answers with hidden labels and copy the labels, still hidden; only for owners of the labels."""


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
    use = parse_machine_use(options.machines)
    for rule in rules.values():
        check_machine_rule(use, rule, parts=False)
    known = examples if options.examples else None
    source = open_source(
        spec,
        data,
        options.how,
        known,
        as_published=options.as_published,
        hidden=options.hidden,
        use=use,
    )
    copy = None
    if examples is not None and find_benchmark(spec) is None:
        copy = source.copy_judgements()
    tables = build_tables(source, rules, options.question)
    first_rule, first_table = next(iter(tables.items()))
    check_labels(options.labels, tables, source.file)
    known_answers = read_known_answers(options.known, first_table, hidden=options.hidden)
    book = collect_decisions(source, tables, options, examples if options.examples else None)
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
    if use != "ignore":
        need_machines(source)
    verdicts: dict[str, Verdicts] = {}
    questions: dict[str, tuple[str, ...]] = {}
    for name, rule in rules.items():
        question = name or tables[name].question
        questions[question] = (question, tables[name].question)
        table = add_decided_items(tables[name], book.items(questions[question]))
        with name_faulty_file(source.file):
            machines = None
            if use != "ignore":
                machines = MachineInput.join(table, list_machines(source, rule), use)
            made = apply_rule(table, rule, ties, machines)
        verdicts[question] = apply_decisions(made, book, questions[question])
        if examples is not None:
            check_gold_fits(verdicts[question], examples, book, questions[question], source.file)
    if copy is not None:
        decided_rows = [decision.to_judgement() for decision in book]
        copy.remarks = [*source.machines, *decided_rows, *source.reports]
    unjudged = 0
    if options.examples and examples:
        items = {item for table in tables.values() for item in table.items}
        judged = {id(examples[item]) for item in items if item in examples}
        unjudged = len({id(example) for example in examples.values()} - judged)
    table = next(iter(verdicts.values())).table
    effort = read_effort(source.file)
    if effort is not None and effort.question not in {each.question for each in tables.values()}:
        effort = None
    report = AggregateReport(
        judgements=spec,
        workers_are=source.workers_are,
        items=len(table.items),
        workers=len(table.workers),
        answers=len(table),
        missing=table.missing,
        kept=len(collect_gold(verdicts)),
        unjudged=unjudged,
        rules=tuple(
            report_rule(name, each, examples, book, questions[name], options.labels)
            for name, each in verdicts.items()
        ),
        excluded=tuple(effects),
        notes=(
            *source.notes,
            *note_unused_decisions(book, questions.values()),
            *(note_filled_in(source, tables) if use != "ignore" else ()),
        ),
        remarks=count_remarks(source),
        effort=msgspec.UNSET if effort is None else effort.describe(),
        prelabels=describe_prelabels(source, tables),
        machine_verdict=describe_machines(source, tables, rules, workers_are) or msgspec.UNSET,
    )
    decided = {
        (name, table.items[place]): describe_decisions(each, book, questions[name], place)
        for name, each in verdicts.items()
        for place in find_decided_places(each.table, book.items(questions[name]))
    }
    remarks = tuple(sorted((*source.comments, *source.reports), key=lambda one: one.at or ""))
    return AggregateResult(
        report, verdicts, examples, tables, decided, copy, options.hidden, remarks, effort
    )


def describe_prelabels(
    source: JudgementSource, tables: Mapping[str, Table]
) -> str | msgspec.UnsetType:
    """A paragraph on each question whose answers came with a machine's filled in; unset where none did."""
    questions = dict.fromkeys(table.question for table in tables.values())
    reports = [measure_prelabels(source.prelabelled, question) for question in questions]
    return " ".join(report.verdict for report in reports if report) or msgspec.UNSET


def note_filled_in(source: JudgementSource, tables: Mapping[str, Table]) -> Iterator[Note]:
    """A note on persons who answered after they had seen a machine's answer: such a vote is not independent of it."""
    asked = {table.question for table in tables.values()}
    shown = sum(
        row.question in asked and row.prelabel is not None and row.prelabel.shown
        for row in source.prelabelled
    )
    if shown:
        what = "answers of persons that came filled in with a machine's answer"
        done = (
            "they lean towards it, so --machines counts it twice; leave --machines out, or say so"
        )
        yield Note(what=what, done=done, count=shown, lines=())


def describe_machines(
    source: JudgementSource,
    tables: Mapping[str, Table],
    rules: Mapping[str, Rule],
    workers_are: str,
) -> str:
    """A paragraph on each question that machines answered too; empty where they cannot be compared with persons."""
    by_question = {table.question: (table, rules[name]) for name, table in tables.items()}
    verdicts = []
    for table, rule in by_question.values():
        rows = list(list_machines(source, rule))
        verdicts.append(judge_machines(table, rows, workers_are, source.prelabelled))
    return " ".join(filter(None, verdicts))


def judge_machines(
    table: Table,
    machines: Iterable[Judgement],
    workers_are: str,
    prelabelled: Iterable[Judgement] = (),
) -> str:
    """The verdict for a card on the machines that answered the question of a table of persons; empty where none is possible.

    Answers of `prelabelled` that came filled in with a machine's are left out.
    """
    try:
        mixed = Mixed.of(table, machines, prelabelled=prelabelled)
        if not mixed.is_machine.any():
            return ""
        report = compare_machines(mixed, None, workers_are=workers_are)
    except (
        BadInput
    ):  # too little in common, or answers that cannot be compared: gold is made all the same
        return ""
    return write_card_verdict(report, workers_are)


def list_machines(source: JudgementSource, rule: Rule) -> Iterator[Judgement]:
    """The answers of machines, once all is read; those of simulations are not among them."""
    rows = (row for row in source.machines if find_answerer(row) == "machine")
    yield from keep_first_choices(rows) if rule.first else rows


def need_machines(source: JudgementSource) -> None:
    """Refuse to use machines where none answered."""
    if not any(find_answerer(row) == "machine" for row in source.machines):
        what = "there are no answers of models to use"
        cure = "leave out --machines, or add the judgements that nikawa judge wrote"
        raise BadInput(what, file=source.file, cure=cure)


def check_labels(labels: Collection[str], tables: Mapping[str, Table], file: Path | None) -> None:
    """Refuse labels that do not belong to one question, and answers that are not among them."""
    if labels and len(tables) > 1:
        cure = "leave out --labels, or aggregate one question at a time"
        raise BadInput(
            f"--labels names the labels of one question, and there are {len(tables)}", cure=cure
        )
    for table in tables.values() if labels else ():
        others = [str(answer) for answer in table.categories if answer not in labels]
        if others:
            what = f"workers answered {list_names(others)}, which --labels does not name"
            raise BadInput(what, file=file, cure="add it to --labels, or correct the answers")


def collect_decisions(
    source: JudgementSource,
    tables: Mapping[str, Table],
    options: AggregateOptions,
    known: Mapping[str, Example] | None,
) -> DecisionBook:
    """The decisions that the judgements hold, and behind them those of a sheet.

    Raises `BadInput` for a decision about an item that is not an example, where the examples are `known`.
    """
    book = DecisionBook(options.decisions)
    for line, judgement in source.decisions:
        decision = Decision.of(judgement, source.file, line)
        if known is not None and decision.example not in known:
            what = f"decides about {decision.example!r}, which is not an example"
            raise BadInput(what, file=source.file, line=line, cure="check the ids, or the examples")
        book.add([decision])
    if options.adjudicated is not None:
        sheet = read_decisions(options.adjudicated)
        with name_faulty_file(options.adjudicated):
            by_gold = {name or table.question: table for name, table in tables.items()}
            sheet.check({table.question: table for table in tables.values()} | by_gold)
        book.add(sheet.rows)
    return book


def note_unused_decisions(
    book: DecisionBook, questions: Iterable[Collection[str]]
) -> Iterator[Note]:
    """A note for each question that was decided and that no rule makes gold of."""
    used = {name for names in questions for name in names}
    for question, by_item in book.chains.items():
        if question not in used:
            decisions = [decision for chain in by_item.values() for decision in chain]
            lines = tuple(one.line for one in decisions if one.line is not None)[:MAX_LINES_NOTED]
            what, done = f"decisions to {question!r}", "not used: no rule makes gold from it"
            yield Note(what=what, done=done, count=len(decisions), lines=lines)


def find_decided_places(table: Table, items: Collection[str]) -> list[int]:
    """The places of the items that were decided."""
    return [place for place, item in enumerate(table.items) if item in items] if items else []


def count_remarks(source: JudgementSource) -> RemarkCounts | msgspec.UnsetType:
    """The comments and reports of workers; unset if there are no remarks."""
    if not source.comments and not source.reports:
        return msgspec.UNSET
    reasons = Counter(str(report.answer) for report in source.reports)
    items = dict.fromkeys(report.example for report in source.reports)
    return RemarkCounts(
        comments=len(source.comments),
        reports=dict(reasons.most_common()),
        reported_items=tuple(items)[:MAX_ITEMS_LISTED],
    )


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
        raise BadInput("a pass mark needs known answers", cure="pass them with --known FILE")
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
