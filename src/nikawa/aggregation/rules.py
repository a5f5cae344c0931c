"""Apply a rule to a table of judgements: an answer for every item, or the step that refused it.

Nothing is decided in silence: an item is accepted, dropped by a named step, or tied. A tie is settled only as the tie
rule says: dropped, put on the list to adjudicate, or given to a preferred label if that is among the tied.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation import rules_spans
from nikawa.aggregation.agreement_spans import Marks, are_spans
from nikawa.aggregation.dawid_skene import Fit, dawid_skene
from nikawa.aggregation.mace import mace
from nikawa.aggregation.rules_numbers import finish, mean_of, median_of, spread_of
from nikawa.aggregation.rules_parse import FINISHERS, SIGNS, Rule, Step, parse_rule
from nikawa.aggregation.table import Codes, Counts, Floats, Table
from nikawa.errors import BadInput, suggest
from nikawa.records import Span

ACCEPTED, DROPPED, TIED = 0, 1, 2
CELLS = 200_000_000
"""Cells of the count table from which the answers are taken for free text."""
SAME = 1e-9
"""Posteriors nearer than this are tied."""
States = NDArray[np.int8]


@dataclass(frozen=True)
class Ties:
    """What becomes of an item on which several answers have the most votes."""

    how: str = "adjudicate"
    prefer: Any = None

    @classmethod
    def parse(cls, text: str) -> Ties:
        """`drop`, `adjudicate` or `prefer:LABEL`."""
        name, colon, label = text.partition(":")
        if name not in ("drop", "adjudicate", "prefer") or bool(label) != (name == "prefer"):
            cure = "say drop, adjudicate or prefer:LABEL"
            raise BadInput(f"{text!r} is no way to settle ties", cure=cure)
        return cls(name, label if colon else None)

    def __str__(self) -> str:
        return f"prefer:{self.prefer}" if self.how == "prefer" else self.how


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a rule makes of every item of a table."""

    table: Table
    rule: Rule
    ties: Ties
    state: States
    """Accepted, dropped or tied."""
    by: Codes
    """Which step decided: a place in `names`."""
    label: Codes | None = None
    """The code of the leading answer; -1 where there is none."""
    value: Floats | None = None
    """The number, as finished; NaN where there is none."""
    marks: list[Marks] | None = None
    """The spans that got enough votes."""
    strength: Floats = field(default_factory=lambda: np.zeros(0))
    """Of labels, the share of votes or the posterior of the leading one; of numbers, the variance; of spans, the mean share."""
    fit: Fit | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What `by` points to: the decider, the further steps, the tie rule, no answers at all."""
        return (
            self.rule.decider.text,
            *(s.text for s in self.rule.steps),
            f"ties:{self.ties}",
            "no answers",
        )

    def answers(self) -> list[Any]:
        """Gold by item; None where the item has none."""
        kept = (self.state == ACCEPTED).tolist()
        if self.label is not None:
            names = self.table.categories
            return [names[c] if k else None for c, k in zip(self.label.tolist(), kept, strict=True)]
        if self.marks is not None:
            return [
                [Span(*m) for m in marks] if k else None
                for marks, k in zip(self.marks, kept, strict=True)
            ]
        assert self.value is not None
        whole = bool(self.rule.steps) and self.rule.steps[-1].name == "binary"
        values = [
            int(v) if k and whole else v for v, k in zip(self.value.tolist(), kept, strict=True)
        ]
        return [v if k else None for v, k in zip(values, kept, strict=True)]

    def count(self, state: int) -> int:
        """How many items are in a state."""
        return int((self.state == state).sum())

    def by_step(self) -> dict[str, int]:
        """How many items each step dropped."""
        found = np.bincount(self.by[self.state == DROPPED], minlength=len(self.names))
        return {name: int(n) for name, n in zip(self.names, found, strict=True) if n}


def aggregate(table: Table, rule: Rule | str, ties: Ties | str = "adjudicate") -> Verdicts:
    """Apply a rule to every item of a table."""
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    ties = Ties.parse(ties) if isinstance(ties, str) else ties
    decide = _spans if are_spans(table) else _numbers if rule.numeric else _labels
    verdicts = decide(table, rule, ties)
    state, by = verdicts.state, verdicts.by
    for place, step in enumerate(rule.steps, start=1):
        if step.name not in FINISHERS:
            open_ = (
                state == ACCEPTED if step.name == "only" else state != DROPPED
            )  # a tie is held to the limits too
            fails = open_ & ~_holds(step, verdicts)
            state[fails], by[fails] = DROPPED, place
    _settle(verdicts)
    _only(verdicts)
    nobody = table.per_item() == 0
    state[nobody], by[nobody] = DROPPED, len(verdicts.names) - 1
    return verdicts


def _only(verdicts: Verdicts) -> None:
    """Drop what a settled tie made gold though the rule does not let it."""
    for place, step in enumerate(verdicts.rule.steps, start=1):
        if step.name == "only":
            fails = (verdicts.state == ACCEPTED) & ~_holds(step, verdicts)
            verdicts.state[fails], verdicts.by[fails] = DROPPED, place


def _numbers(table: Table, rule: Rule, ties: Ties) -> Verdicts:
    centre = mean_of(table) if rule.decider.name == "mean" else median_of(table)
    for step in rule.steps:
        if step.name in FINISHERS:
            centre = finish(centre, step.name, step.number)
    state, by = _fresh(table)
    return Verdicts(
        table, rule, ties, state, by, value=centre, strength=spread_of(table, "variance")
    )


def _spans(table: Table, rule: Rule, ties: Ties) -> Verdicts:
    rules_spans.need_votes(rule, ties.how == "prefer")
    marks, enough, tied = rules_spans.vote(table, rule.decider)
    state, by = _fresh(table)
    state[tied] = TIED
    state[~enough] = DROPPED
    strength = rules_spans.strengths(table, marks)
    return Verdicts(table, rule, ties, state, by, marks=marks, strength=strength)


def _labels(table: Table, rule: Rule, ties: Ties) -> Verdicts:
    if len(table.items) * len(table.categories) > CELLS:
        cure = "is this free text? votes are counted on a closed set of answers"
        raise BadInput(
            f"{table.question!r} has {len(table.categories):,} different answers", cure=cure
        )
    state, by = _fresh(table)
    fit = None
    if rule.needs_persons:
        fit = (dawid_skene if rule.decider.name == "dawid-skene" else mace)(table)
        label, best, tied = leading(fit.posterior, SAME)
        strength = best
    else:
        counts = table.counts()
        label, best, tied = leading(counts)
        strength = best / np.maximum(1, table.per_item())
        if rule.decider.name == "votes":
            state[~_enough(table, rule.decider, best, counts)] = DROPPED
    state[tied & (state == ACCEPTED)] = TIED
    return Verdicts(table, rule, ties, state, by, label=label, strength=strength, fit=fit)


def _fresh(table: Table) -> tuple[States, Codes]:
    return np.zeros(len(table.items), dtype=np.int8), np.zeros(len(table.items), dtype=np.int32)


def leading(
    weights: Counts | Floats, same: float = 0.0
) -> tuple[Codes, NDArray[Any], NDArray[np.bool_]]:
    """Of each row the column of the largest weight (the first of equals), that weight, and whether it is shared."""
    label = np.zeros(len(weights), dtype=np.int32)
    best = weights[:, 0].copy()
    tied = np.zeros(len(weights), dtype=np.bool_)
    for column in range(1, weights.shape[1]):  # few columns: faster than reducing short rows
        here = weights[:, column]
        higher = here > best + same
        tied = (tied & ~higher) | (~higher & (here >= best - same))
        label[higher] = column
        np.maximum(best, here, out=best)
    return label, best, tied


def _enough(table: Table, votes: Step, best: NDArray[Any], counts: Counts) -> NDArray[np.bool_]:
    """K equal answers; with `/N`, of no more than N, and of fewer only if the missing ones could not overturn them."""
    enough: NDArray[np.bool_] = best >= votes.number
    if votes.of is None:
        return enough
    given = table.per_item()
    second = np.sort(counts, axis=1)[:, -2] if counts.shape[1] > 1 else np.zeros_like(best)
    safe = (given == votes.of) | (best - second > votes.of - given)
    return np.asarray(enough & (given <= votes.of) & safe)


def _holds(step: Step, verdicts: Verdicts) -> NDArray[np.bool_]:
    table = verdicts.table
    if step.name == "min":
        return np.asarray(table.per_item() >= step.number)
    if step.name == "half":
        return verdicts.strength > 0.5
    if step.name == "only":
        wanted = _codes_of(step, table)
        return (
            np.isin(verdicts.label, wanted)
            if verdicts.label is not None
            else np.ones(0, dtype=np.bool_)
        )
    measured = verdicts.strength if step.name == "share" else spread_of(table, step.name)
    return np.asarray(SIGNS[step.sign](measured, step.number))


def _codes_of(step: Step, table: Table) -> list[int]:
    names = {str(category): code for code, category in enumerate(table.categories)}
    wanted = [label.strip() for label in step.given.split("|")]
    return [
        _code(label, names, f"{step.text!r} names {label!r}, which nobody answered")
        for label in wanted
    ]


def _code(label: str, names: dict[str, int], what: str) -> int:
    if label not in names:
        raise BadInput(what, cure=suggest(label, names))
    return names[label]


def _settle(verdicts: Verdicts) -> None:
    """Do with the ties what the tie rule says."""
    tied = verdicts.state == TIED
    if not tied.any():
        return
    place = len(verdicts.names) - 2
    verdicts.by[tied] = place
    if verdicts.ties.how == "drop":
        verdicts.state[tied] = DROPPED
    elif verdicts.ties.how == "prefer" and verdicts.label is not None:
        names = {str(category): code for code, category in enumerate(verdicts.table.categories)}
        what = f"ties are to prefer {verdicts.ties.prefer!r}, which nobody answered"
        code = _code(str(verdicts.ties.prefer), names, what)
        among = np.array(
            [code in tied_codes(verdicts, int(i)) for i in np.flatnonzero(tied)], dtype=np.bool_
        )
        chosen = np.flatnonzero(tied)[among]
        verdicts.label[chosen], verdicts.state[chosen] = code, ACCEPTED


def tied_codes(verdicts: Verdicts, item: int) -> list[int]:
    """The answers that share the lead on an item."""
    weights = (
        verdicts.table.counts()[item] if verdicts.fit is None else verdicts.fit.posterior[item]
    )
    return [int(c) for c in np.flatnonzero(weights >= weights.max() - SAME)]


def adjudicated(verdicts: Verdicts, decided: dict[str, Any]) -> Verdicts:
    """The same with ties settled by hand: item to answer. What was not tied stays as it is."""
    if verdicts.marks is not None:
        return _adjudicated_spans(verdicts, verdicts.marks, decided)
    place = {str(name): code for code, name in enumerate(verdicts.table.categories)}
    state, label = verdicts.state.copy(), None if verdicts.label is None else verdicts.label.copy()
    for i in np.flatnonzero(state == TIED):
        answer = decided.get(verdicts.table.items[int(i)])
        if answer is not None and label is not None:
            what = f"the adjudicated answer {answer!r} is none that workers gave"
            state[i], label[i] = ACCEPTED, _code(str(answer), place, what)
    settled = replace(verdicts, state=state, by=verdicts.by.copy(), label=label)
    _only(settled)
    return settled


def _adjudicated_spans(verdicts: Verdicts, marks: list[Marks], decided: dict[str, Any]) -> Verdicts:
    """Any spans will do, also such as no worker marked: boundaries are what people settle."""
    state, settled = verdicts.state.copy(), list(marks)
    for i in np.flatnonzero(state == TIED).tolist():
        answer = decided.get(verdicts.table.items[i])
        if answer is not None:
            state[i], settled[i] = ACCEPTED, rules_spans.read_written(str(answer))
    return replace(verdicts, state=state, by=verdicts.by.copy(), marks=settled)
