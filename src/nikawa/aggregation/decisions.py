"""An owner's decisions about items: which one counts, and where it becomes the gold. `aggregate` and `build` share this rule.

The rule: of several decisions about an item the last one counts, and earlier ones stay in the record. A decision that
overrides (`override`, unless the project or `--decisions` says otherwise) is the gold whatever the votes; one for ties (`ties`) is
the gold only where the rule makes none of the votes: the item is tied, though a tie rule may prefer a label, or a step dropped it.
Only `only:A|B` holds for decisions too: it says which labels the dataset has, not how many votes are enough. Roundings and cuts
(`round:1`, `binary:3`) finish a decided number as they do a mean.

Decisions are no answers of workers: they are in no table, and count in no vote, agreement, worker figure or baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import normalize

from nikawa.aggregation.judgements import first_choice
from nikawa.aggregation.rules import FINISHERS, Rule
from nikawa.aggregation.spans import parse_marks, to_marks
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import CURE as TREE_CURE
from nikawa.aggregation.trees import read_decided_tree, trees_of_item
from nikawa.aggregation.verdicts import ACCEPTED, DROPPED, Verdicts, round_or_cut
from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.judgements.remarks import (
    KIND_OF_WAY,
    OVERRIDE,
    TIES,
    WAYS,
    name_decider,
    name_person,
)
from nikawa.records import Judgement, Span


@dataclass(frozen=True)
class Decision:
    """The decision of a person about an item."""

    example: str
    question: str
    answer: Any
    """In the shape of the question, or as it is written into a sheet."""
    by: str = ""
    reason: str = ""
    at: str | None = None
    way: str = OVERRIDE
    """One of `WAYS`, as the project that took it says."""
    is_checked: bool = True
    """Whether a form held it to its rules; what a person typed into a sheet must be an answer that a worker gave."""
    file: Path | None = None
    line: int | None = None

    @classmethod
    def of(
        cls, judgement: Judgement, file: Path | None = None, line: int | None = None
    ) -> Decision:
        """The decision that a judgement of a decision's kind is."""
        answer = judgement.answer
        return cls(
            example=judgement.example,
            question=judgement.question,
            answer=normalize("NFC", answer) if isinstance(answer, str) else answer,
            by=name_person(judgement),
            reason=judgement.comment,
            at=judgement.at,
            way=TIES if judgement.kind == "tie-decision" else OVERRIDE,
            file=file,
            line=line,
        )

    def to_judgement(self) -> Judgement:
        """The record that is kept in a file of judgements."""
        kind = KIND_OF_WAY[self.way]
        return Judgement(
            example=self.example,
            worker=name_decider(kind, self.by),
            question=self.question,
            answer=self.answer,
            at=self.at,
            kind=kind,
            comment=self.reason,
        )

    def describe(self) -> dict[str, Any]:
        """Answer, person, reason and time, as `items.jsonl` lists them."""
        told = {
            "answer": self.answer,
            "decided_by": self.by,
            "reason": self.reason,
            "decided_at": self.at,
        }
        return {name: value for name, value in told.items() if value not in ("", None)}


@dataclass
class DecisionBook:
    """All decisions by question and item, each in the order they were taken."""

    way: str | None = None
    """`override` or `ties` for all decisions; None leaves it to each of them."""
    chains: dict[str, dict[str, list[Decision]]] = field(default_factory=dict)
    """Question to item to decisions, the last one last."""

    def __post_init__(self) -> None:
        if self.way is not None and self.way not in WAYS:
            raise unknown("way to take decisions", self.way, WAYS)

    def __bool__(self) -> bool:
        return bool(self.chains)

    def __iter__(self) -> Iterator[Decision]:
        for by_item in self.chains.values():
            for chain in by_item.values():
                yield from chain

    def add(self, decisions: Iterable[Decision]) -> None:
        """Take further decisions. The same one again, of another export, counts once.

        They are put in the order of their times where all about an item have one; else the later added is the later decided.
        """
        for decision in decisions:
            by_item = self.chains.setdefault(decision.question, {})
            chain = by_item.setdefault(decision.example, [])
            if decision.describe() in [known.describe() for known in chain]:
                continue
            chain.append(decision)
            times = [_parse_time(known.at) for known in chain]
            if None not in times:
                chain.sort(key=lambda known: _parse_time(known.at) or 0.0)

    def chain(self, item: str, questions: Sequence[str] | None = None) -> list[Decision]:
        """The decisions about an item, to the first of the questions that has any; to any without `questions`."""
        for question in self.chains if questions is None else questions:
            chain = self.chains.get(question, {}).get(item)
            if chain:
                return chain
        return []

    def items(self, questions: Sequence[str] | None = None) -> set[str]:
        """The items that were decided."""
        names = self.chains if questions is None else questions
        return {item for question in names for item in self.chains.get(question, ())}

    def find(
        self, item: str, questions: Sequence[str] | None = None, *, has_gold: bool
    ) -> Decision | None:
        """The decision that is the gold of an item, or None: the rule of this module.

        `has_gold` says whether the votes alone make gold of it, by no tie rule.
        """
        chain = self.chain(item, questions)
        if not chain:
            return None
        last = chain[-1]
        return None if has_gold and (self.way or last.way) == TIES else last

    def settle(self, item: str, gold: Any) -> Any:
        """The gold of an item for which the votes alone make `gold`, or None."""
        decision = self.find(item, has_gold=gold is not None)
        return gold if decision is None else decision.answer

    def explain(self, item: str, gold: Any = None) -> str:
        """`decided by owner: REASON`, where a decision is the gold; else empty."""
        decision = self.find(item, has_gold=gold is not None)
        return "" if decision is None else explain_decision(decision)


def explain_decision(decision: Decision) -> str:
    """`decided by owner: REASON`."""
    by = f" by {decision.by}" if decision.by else ""
    return f"decided{by}: {decision.reason}" if decision.reason else f"decided{by}"


def _parse_time(at: str | None) -> float | None:
    """Seconds, to put decisions in order; None where there is no time that can be read."""
    try:
        return datetime.fromisoformat(at).timestamp() if at else None
    except ValueError:
        return None


def add_decided_items(table: Table, items: Iterable[str]) -> Table:
    """The table with the items without answers appended, so that decisions about them are kept."""
    known = set(table.items)
    new = sorted(item for item in items if item not in known)
    return replace(table, items=[*table.items, *new]) if new else table


def apply_decisions(
    verdicts: Verdicts, book: DecisionBook, questions: Sequence[str] | None = None
) -> Verdicts:
    """The verdicts with the decisions that count as gold; `without` them they are as they were.

    `questions` are the names that decisions about this table may have, else that of the table.
    """
    names = (verdicts.table.question,) if questions is None else questions
    decided_items = book.items(names)
    if not decided_items:
        return verdicts
    state, by = verdicts.state.copy(), verdicts.by.copy()
    decided: dict[int, Any] = {}
    by_votes = (verdicts.state == ACCEPTED) & ~verdicts.by_tie_rule
    for place, item in enumerate(verdicts.table.items):
        if item not in decided_items:
            continue
        decision = book.find(item, names, has_gold=bool(by_votes[place]))
        if decision is None:
            continue
        answer = read_decided_answer(decision, verdicts)
        refused = find_refusing_step(verdicts.rule, answer)
        state[place] = ACCEPTED if refused is None else DROPPED
        by[place] = verdicts.decision_code if refused is None else refused
        if refused is None:
            decided[place] = answer
    return replace(verdicts, state=state, by=by, decided=decided, without=verdicts)


def find_refusing_step(rule: Rule, answer: Any) -> int | None:
    """The place of the step `only:…` that does not let a decided label be gold."""
    for place, step in enumerate(rule.steps, start=1):
        if step.name == "only" and str(answer) not in map(str.strip, step.value.split("|")):
            return place
    return None


def read_decided_answer(decision: Decision, verdicts: Verdicts) -> Any:
    """The decided answer as gold of the table: spans, a finished number, or a label as the workers write it.

    Raises `BadInput` where it has another shape than the workers' answers, or where somebody typed a label that no
    worker gave.
    """
    table, rule, answer = verdicts.table, verdicts.rule, decision.answer
    if verdicts.marks is not None:
        try:
            marks = parse_marks(answer) if isinstance(answer, str) else to_marks(answer)
            return [Span(*mark) for mark in marks]
        except (BadInput, TypeError):
            raise _fault(
                decision, "is not a list of spans", "write 0-3:PS, 5-7:LC, or none"
            ) from None
    if verdicts.kind is not None:
        try:
            return verdicts.kind.read_decided(answer)
        except ValueError as problem:
            cure = verdicts.kind.decision_cure
            raise _fault(decision, f"cannot be used: {problem}", cure) from None
    if verdicts.trees is not None:
        answers = trees_of_item(table, decision.example)
        try:
            return read_decided_tree(answer, answers, rule.decider).to_gold()
        except ValueError as problem:
            raise _fault(decision, f"makes no tree: {problem}", TREE_CURE) from None
    if rule.first:
        answer = first_choice(answer)
    if rule.numeric:
        return finish_number(decision, answer, rule)
    for category in table.categories:
        if category == answer or str(category) == str(answer):
            return category
    if isinstance(answer, list | dict):
        raise _fault(decision, "is not a label", "decide on one label for each item")
    if not decision.is_checked:
        cure = suggest(str(answer), [str(category) for category in table.categories])
        raise BadInput(
            f"the adjudicated answer {answer!r} is not an answer that workers gave",
            file=decision.file,
            cure=cure,
        )
    return answer


def finish_number(decision: Decision, answer: Any, rule: Rule) -> float | int:
    """A decided number, rounded and cut as the rule says."""
    import numpy as np

    try:
        value = float(answer)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise _fault(decision, "is not a number", "decide on a number of the scale")
    values = np.array([value])
    for step in rule.steps:
        if step.name in FINISHERS:
            values = round_or_cut(values, step.name, step.number)
    finished = float(values[0])
    return int(finished) if rule.steps and rule.steps[-1].name == "binary" else finished


def _fault(decision: Decision, what: str, cure: str) -> BadInput:
    about = f"the decision {decision.answer!r} about {decision.example!r} {what}"
    return BadInput(about, file=decision.file, line=decision.line, cure=cure)


def describe_decisions(
    verdicts: Verdicts, book: DecisionBook, questions: Sequence[str], place: int
) -> Mapping[str, Any]:
    """What `items.jsonl` says of the decisions about an item: who decided and why, the gold without it, earlier decisions.

    A decision that does not count, as the rule makes gold of the votes, is in `not_counted`.
    """
    chain = book.chain(verdicts.table.items[place], questions)
    if not chain:
        return {}
    told = [decision.describe() for decision in chain]
    if place not in verdicts.decided:
        return {"not_counted": told}
    last = {name: value for name, value in told[-1].items() if name != "answer"}
    assert verdicts.without is not None
    lines = {**last, "without_decision": verdicts.without.answers_at([place])[0]}
    return {**lines, "earlier": told[:-1]} if told[:-1] else lines
