"""Make gold of judgements by named rules, say why for every item, and write it all down.

A rule may be named after the question it answers (`binary=mean+binary:3`); several rules make several answers an
item, and an example is kept when every rule accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nikawa.aggregation.judgements import Given, load_examples, open_given, table_of
from nikawa.aggregation.report import AggregateReport, make_report
from nikawa.datasets.load import named, read_judgements
from nikawa.errors import BadInput
from nikawa.io.judgements import How
from nikawa.io.judgements.base import Note
from nikawa.records import Example, Judgement

if TYPE_CHECKING:
    from nikawa.aggregation.rules import Rule
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.verdicts import Ties, Verdicts
    from nikawa.aggregation.workers import Change

_NAMED = re.compile(r"([^\W\d][\w-]*)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """What to make of the judgements, and how they are read."""

    rules: tuple[str, ...] = ("majority",)
    ties: str = "adjudicate"
    question: str | None = None
    examples: str | None = None
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
    how: How = field(default_factory=How)


@dataclass(frozen=True)
class Aggregated:
    """The report and what it was made from."""

    report: AggregateReport
    verdicts: Mapping[str, Verdicts]
    """By the question their gold is written under."""
    examples: Mapping[str, Example] | None
    tables: Mapping[str, Table]
    decided: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """By question and item who settled a tie by hand, and why."""
    judgements: Callable[[], Iterator[Judgement]] | None = None
    """Opens the judgements of a file once more."""


def aggregate(spec: str, data: Path | None = None, options: Options | None = None) -> Aggregated:
    """Make gold of a file of judgements, or of a dataset that publishes its workers' answers."""
    from nikawa.aggregation.files import read_deciders
    from nikawa.aggregation.known_answers import check_decided, known_answers
    from nikawa.aggregation.verdicts import Ties

    options = options or Options()
    known = load_examples(spec, options.examples, data)
    rules, ties = read_rules(options.rules), Ties.parse(options.ties)
    tables, given = _tables(spec, data, options, rules, known if options.examples else None)
    known_answers(options.known, next(iter(tables.values())))
    if options.adjudicated is not None:
        check_decided(options.adjudicated, tables)
    changed: list[Change] = []
    for rule in rules.values():
        _check_identity(rule, given, options)
    if options.exclude:
        tables, changed = _leave_out(tables, rules, ties, options)
    verdicts = _decide(tables, rules, ties, options.adjudicated)
    report = make_report(spec, given, verdicts, known, changed)
    unheard = _unheard(verdicts, options.adjudicated)
    if unheard:
        report = msgspec.structs.replace(report, notes=(*report.notes, unheard))
    if options.examples and known:
        report = msgspec.structs.replace(report, unjudged=_unjudged(known, tables))
    decided = {} if options.adjudicated is None else read_deciders(options.adjudicated)
    again = None if named(spec) is not None else lambda: opened(spec, data, options).judgements
    return Aggregated(report, verdicts, known, tables, decided, again)


def _unheard(verdicts: Mapping[str, Verdicts], sheet: Path | None) -> Note | None:
    """Decisions that another gold stands against: only ties are settled by hand, and nothing in silence."""
    from nikawa.aggregation.files import read_adjudicated

    decided = read_adjudicated(sheet) if sheet is not None else {}
    count = 0
    for question, found in verdicts.items():
        gold = dict(zip(found.table.items, found.answers(), strict=True))
        said = decided.get(question, {})
        count += sum(not _same(gold.get(item), answer) for item, answer in said.items())
    what = "decisions other than the gold"
    done = "the item was not tied, and the rule stands"
    return Note(what=what, done=done, count=count, lines=()) if count else None


def _same(gold: object, said: str) -> bool:
    from nikawa.aggregation.spans import as_answer

    try:
        if isinstance(gold, list):
            return bool(as_answer(gold) == as_answer(said))
        return str(gold) == said or float(said) == gold
    except ValueError:
        return str(gold) == said


def _unjudged(known: Mapping[str, Example], tables: Mapping[str, Table]) -> int:
    judged = {id(known[item]) for table in tables.values() for item in table.items if item in known}
    return len({id(example) for example in known.values()} - judged)


def read_rules(texts: Sequence[str]) -> dict[str, Rule]:
    """Rules by the question they answer; a single one may go without ("" stands for the question itself)."""
    from nikawa.aggregation.rules import parse_rule

    found: dict[str, Rule] = {}
    for text in texts:
        match = _NAMED.fullmatch(text.strip())
        name = match[1] if match else ""
        if name in found or (not name and len(texts) > 1):
            raise BadInput(
                f"the rule {text!r} needs a name of its own", cure="write QUESTION=RULE for each"
            )
        found[name] = parse_rule(match[2] if match else text.strip())
    return found


def _check_identity(rule: Rule, given: Given, options: Options) -> None:
    from nikawa.aggregation.workers import need_persons

    kind = "columns" if options.columns else given.workers_are
    if rule.needs_persons:
        need_persons(kind, rule.decider.name)
    if options.exclude:
        need_persons(kind, "leaving workers out")


def _tables(
    spec: str,
    data: Path | None,
    options: Options,
    rules: Mapping[str, Rule],
    known: Mapping[str, Example] | None,
) -> tuple[dict[str, Table], Given]:
    """A table for each rule; rules on the same answers share one."""
    from nikawa.aggregation.span_agreement import with_marks

    given = opened(spec, data, options, known)
    wanted = dict.fromkeys(rules, options.question)
    if any(rules):
        asked = {judgement.question for judgement in given.judgements}
        wanted = {name: name if name in asked else options.question for name in rules}
        given = opened(spec, data, options, known)
    tables: dict[tuple[str | None, bool], Table] = {}
    for name, rule in rules.items():
        key = (wanted[name], rule.first)
        if key not in tables:
            given = given if not tables else opened(spec, data, options, known)
            given.judgements = (first_choices if rule.first else with_marks)(given.judgements)
            tables[key] = table_of(given, wanted[name], options.how)
    return {name: tables[wanted[name], rule.first] for name, rule in rules.items()}, given


def opened(
    spec: str, data: Path | None, options: Options, known: Mapping[str, Example] | None = None
) -> Given:
    """The judgements, all or those that were counted; with `known`, answers about other items are refused."""
    given = open_given(spec, data, options.how, known)
    if options.as_published:
        if named(spec) is None:
            raise BadInput(f"{spec!r} is no published dataset", cure="leave out --as-published")
        given.judgements = read_judgements(spec, data=data, counted=True)
    return given


def first_choices(judgements: Iterator[Judgement]) -> Iterator[Judgement]:
    """Ranked answers (lists, or text with `>` or `|` between) cut to the first choice."""
    for judgement in judgements:
        answer = judgement.answer
        if isinstance(answer, str):
            answer = re.split(r"\s*[>|]\s*", answer)[0]
        elif isinstance(answer, list):
            answer = answer[0] if answer else None
        yield msgspec.structs.replace(judgement, answer=answer)


def _leave_out(
    tables: dict[str, Table], rules: Mapping[str, Rule], ties: Ties, options: Options
) -> tuple[dict[str, Table], list[Change]]:
    from nikawa.aggregation.known_answers import known_answers
    from nikawa.aggregation.workers import Limit, changes, quality, to_exclude, without

    name, table = next(iter(tables.items()))
    known = known_answers(options.known, table)
    gone = to_exclude(quality(table, known), [Limit.parse(limit) for limit in options.exclude])
    told = changes(table, gone, rules[name], ties)
    return {question: without(each, list(gone)) for question, each in tables.items()}, told


def _decide(
    tables: Mapping[str, Table], rules: Mapping[str, Rule], ties: Ties, sheet: Path | None
) -> dict[str, Verdicts]:
    from nikawa.aggregation.files import read_adjudicated
    from nikawa.aggregation.verdicts import adjudicated
    from nikawa.aggregation.verdicts import apply_rule as apply

    decided = read_adjudicated(sheet) if sheet is not None else {}
    found = {}
    for name, rule in rules.items():
        table = tables[name]
        verdicts = apply(table, rule, ties)
        question = name or table.question
        found[question] = adjudicated(verdicts, decided.get(question, {})) if decided else verdicts
    return found
