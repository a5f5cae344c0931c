"""Apply a rule to a table of judgements: an answer for every item, or the step that refused it.

Nothing is decided in silence: an item is accepted, dropped by a named step, or tied. A tie is settled only as the tie
rule says: dropped, put on the list to adjudicate, or given to a preferred label if that is among the tied. Soft labels
(the share of workers, or the probability, of each answer) are kept with the gold.

Variance and sd divide by the number of answers (the papers' limits are on few answers, whose spread is described, not
inferred); the `sample-` forms divide by one less. Sums of whole numbers are exact, so a variance of 1 is 1, not 0.9999.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import Fit, dawid_skene
from nikawa.aggregation.mace import mace
from nikawa.aggregation.machine_votes import MachineInput, check_machine_rule
from nikawa.aggregation.measure import ratio
from nikawa.aggregation.rules import FINISHERS, SIGNS, Rule, Step, parse_rule
from nikawa.aggregation.spans import (
    Marks,
    check_span_rule,
    count_marks,
    format_mark,
    holds_spans,
    mean_support,
    vote_on_spans,
)
from nikawa.aggregation.structures import (
    AnswerKind,
    check_structure_rule,
    find_kind,
    vote_on_structures,
)
from nikawa.aggregation.table import Counts, Floats, Table, group_medians
from nikawa.aggregation.trees import (
    Tree,
    check_tree_rule,
    holds_trees,
    mean_arc_support,
    vote_on_trees,
)
from nikawa.errors import BadInput, suggest
from nikawa.io.coding import Codes
from nikawa.records import Span

ACCEPTED, DROPPED, TIED = 0, 1, 2
"""States of an item."""
MAX_COUNT_CELLS = 200_000_000
"""Cells of the count table from which the answers are taken for free text."""
POSTERIOR_TIE = 1e-9
"""Posteriors nearer than this are tied."""
DIRECTIONS = {"up": ROUND_CEILING, "down": ROUND_FLOOR}
States = NDArray[np.int8]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Ties:
    """What becomes of an item on which several answers have the most votes."""

    how: str = "adjudicate"
    """`drop`, `adjudicate` or `prefer`."""
    prefer: Any = None
    """The label that wins a tie it is part of."""

    @classmethod
    def parse(cls, text: str) -> Ties:
        """`drop`, `adjudicate` or `prefer:LABEL`."""
        name, colon, label = text.partition(":")
        is_known = name in ("drop", "adjudicate", "prefer")
        if not is_known or bool(label) != (name == "prefer"):
            cure = "use drop, adjudicate or prefer:LABEL"
            raise BadInput(f"{text!r} is not a way to settle ties", cure=cure)
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
    """The code of the leading answer; -1 if there is no leading answer."""
    value: Floats | None = None
    """The final number; NaN if there is no number."""
    marks: list[Marks] | None = None
    """The spans that got enough votes."""
    trees: list[Tree | None] | None = None
    """The trees whose arcs got enough votes; None for an item whose arcs make no tree."""
    parts: list[Any] | None = None
    """The gold of structured answers of another sort, as examples hold it; None for an item without any."""
    kind: AnswerKind | None = None
    """Their sort."""
    strength: Floats = field(default_factory=lambda: np.zeros(0))
    """Of labels, the share of votes or the posterior of the leading one; of numbers, the variance; of spans and arcs, the mean share."""
    fit: Fit | None = None
    """The model of workers, where the rule has one."""
    decided: Mapping[int, Any] = field(default_factory=dict)
    """Place of an item to the gold that a person decided on; see `decisions.apply_decisions`."""
    without: Verdicts | None = None
    """The same without decisions, where any was applied."""
    machines: MachineInput | None = None
    """The answers of machines, where the rule uses them, and what they did to which item."""

    @property
    def names(self) -> tuple[str, ...]:
        """What `by` points to: the decider, the further steps, the tie rule, no answers, a decision, machines that broke a tie."""
        steps = (self.rule.decider, *self.rule.steps)
        last = (f"ties:{self.ties}", "no answers", "decision", "ties:machines")
        return (*(step.text for step in steps), *last)

    @property
    def tie_code(self) -> int:
        """The place of the tie rule among `names`."""
        return len(self.rule.steps) + 1

    @property
    def unanswered_code(self) -> int:
        """The place of `no answers` among `names`."""
        return self.tie_code + 1

    @property
    def decision_code(self) -> int:
        """The place of `decision` among `names`."""
        return self.tie_code + 2

    @property
    def machine_code(self) -> int:
        """The place of machines that broke a tie among `names`."""
        return self.tie_code + 3

    @property
    def by_tie_rule(self) -> Flags:
        """Which items were tied, and so left to the tie rule or to machines."""
        return np.asarray((self.by == self.tie_code) | (self.by == self.machine_code))

    @property
    def settled(self) -> Flags:
        """Which items were tied and have gold all the same, by the tie rule or by a decision."""
        were_tied = self.by_tie_rule if self.without is None else self.without.by_tie_rule
        return np.asarray(were_tied & (self.state == ACCEPTED))

    def answers(self) -> list[Any]:
        """Gold by item; None where the item has none."""
        gold = self._answers_of_rule()
        for place, answer in self.decided.items():
            gold[place] = answer
        return gold

    def answers_at(self, places: Sequence[int]) -> list[Any]:
        """Gold of the items at some places."""
        gold = self._gold
        return [gold[place] for place in places]

    @cached_property
    def _gold(self) -> list[Any]:
        return self.answers()

    def _answers_of_rule(self) -> list[Any]:
        """Gold that the rule makes of the votes."""
        if self.label is not None:
            categories = self.table.categories
            gold: list[Any] = [categories[code] for code in self.label.tolist()]
        elif self.marks is not None:
            gold = [[Span(*mark) for mark in marks] for marks in self.marks]
        elif self.parts is not None:
            gold = list(self.parts)
        elif self.trees is not None:
            gold = [None if tree is None else tree.to_gold() for tree in self.trees]
        else:
            assert self.value is not None
            gold = self.value.tolist()
        by_votes = (self.state == ACCEPTED) & (self.by != self.decision_code)
        accepted = by_votes.tolist()
        steps = self.rule.steps
        if steps and steps[-1].name == "binary":
            gold = [
                int(value) if kept else None for value, kept in zip(gold, accepted, strict=True)
            ]
        return [answer if kept else None for answer, kept in zip(gold, accepted, strict=True)]

    def tied_places(self) -> list[int]:
        """The places of the items that are still tied."""
        return np.flatnonzero(self.state == TIED).tolist()

    def count(self, state: int) -> int:
        """How many items are in a state."""
        return int((self.state == state).sum())

    def by_step(self) -> dict[str, int]:
        """How many items each step dropped."""
        dropped_by = self.by[self.state == DROPPED]
        counts = np.bincount(dropped_by, minlength=len(self.names)).tolist()
        return {name: count for name, count in zip(self.names, counts, strict=True) if count}


def apply_rule(
    table: Table,
    rule: Rule | str,
    ties: Ties | str = "adjudicate",
    machines: MachineInput | None = None,
) -> Verdicts:
    """Apply a rule to every item of a table of persons; `machines` are the answers of machines, where they are to be used.

    >>> table = Table.from_columns("aaabb", "xyzxy", ["yes", "yes", "no", "yes", "no"])
    >>> apply_rule(table, "majority", ties="drop").answers()
    ['yes', None]
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    ties = Ties.parse(ties) if isinstance(ties, str) else ties
    kind = find_kind(table)
    if machines is not None:
        has_parts = kind is not None or holds_spans(table) or holds_trees(table)
        check_machine_rule(machines.use, rule, parts=has_parts)
    if kind is not None:
        verdicts = decide_structures(table, kind, rule, ties)
    elif holds_spans(table):
        verdicts = decide_spans(table, rule, ties)
    elif holds_trees(table):
        verdicts = decide_trees(table, rule, ties)
    elif rule.numeric:
        verdicts = decide_numbers(table, rule, ties, machines)
    else:
        verdicts = decide_labels(table, rule, ties, machines)
    state, by = verdicts.state, verdicts.by
    for place, step in enumerate(rule.steps, start=1):
        if step.name not in FINISHERS:
            # a tie is held to the limits too, but which label it will have is not known yet
            open_ = state == ACCEPTED if step.name == "only" else state != DROPPED
            fails = open_ & ~_fulfils(step, verdicts)
            state[fails], by[fails] = DROPPED, place
    if machines is not None and machines.use == "tie-break":
        break_ties(verdicts, machines)
    settle_ties(verdicts)
    _drop_unwanted(verdicts)
    unanswered = table.per_item() == 0
    state[unanswered] = DROPPED
    by[unanswered] = verdicts.unanswered_code
    return verdicts


def decide_numbers(
    table: Table, rule: Rule, ties: Ties, machines: MachineInput | None = None
) -> Verdicts:
    """The mean or median of each item as its gold, rounded or cut as the rule says."""
    centre = item_means(table) if rule.decider.name == "mean" else item_medians(table)
    weighed = centre if machines is None else machines.weigh_numbers()
    for step in rule.steps:
        if step.name in FINISHERS:
            centre = round_or_cut(centre, step.name, step.number)
            weighed = round_or_cut(weighed, step.name, step.number)
    if machines is not None:
        machines.note_changes(centre, weighed)
    variance = item_spreads(table, "variance")
    states = _new_states(table)
    return Verdicts(table, rule, ties, *states, value=weighed, strength=variance, machines=machines)


def decide_spans(table: Table, rule: Rule, ties: Ties) -> Verdicts:
    """The spans of each item that have enough votes."""
    check_span_rule(rule, prefers=ties.how == "prefer")
    marks, enough, tied = vote_on_spans(table, rule.decider)
    state, by = _new_states(table)
    state[tied] = TIED
    state[~enough] = DROPPED
    support = mean_support(table, marks)
    return Verdicts(table, rule, ties, state, by, marks=marks, strength=support)


def decide_trees(table: Table, rule: Rule, ties: Ties) -> Verdicts:
    """The tree of each item whose arcs all have enough votes and make one; the others are tied."""
    check_tree_rule(rule, prefers=ties.how == "prefer")
    trees, enough, tied = vote_on_trees(table, rule.decider)
    state, by = _new_states(table)
    state[tied] = TIED
    state[~enough] = DROPPED
    support = mean_arc_support(table, trees)
    return Verdicts(table, rule, ties, state, by, trees=trees, strength=support)


def decide_structures(table: Table, kind: AnswerKind, rule: Rule, ties: Ties) -> Verdicts:
    """What the votes on the parts of structured answers make."""
    check_structure_rule(kind, rule, prefers=ties.how == "prefer")
    gold, dropped, tied, support = vote_on_structures(table, kind, rule.decider)
    state, by = _new_states(table)
    state[tied] = TIED
    state[dropped] = DROPPED
    return Verdicts(table, rule, ties, state, by, parts=gold, kind=kind, strength=support)


def decide_labels(
    table: Table, rule: Rule, ties: Ties, machines: MachineInput | None = None
) -> Verdicts:
    """The leading answer of each item, by votes or by a model of the workers."""
    refuse_free_text(table)
    state, by = _new_states(table)
    fit = None
    if rule.needs_persons:
        if machines is not None and machines.use == "weigh":
            fit = machines.weigh_labels()
        else:
            fit = (dawid_skene if rule.decider.name == "dawid-skene" else mace)(table)
        label, strength, tied = find_leaders(fit.posterior, POSTERIOR_TIE)
    else:
        label, votes, tied = find_leaders(table.counts())
        strength = votes / np.maximum(1, table.per_item())
        if rule.decider.name == "votes":
            state[~_has_votes(table, rule.decider, votes)] = DROPPED
    state[tied & (state == ACCEPTED)] = TIED
    return Verdicts(
        table, rule, ties, state, by, label=label, strength=strength, fit=fit, machines=machines
    )


def refuse_free_text(table: Table) -> None:
    """Refuse a table with so many different answers that votes cannot be counted."""
    if len(table.items) * len(table.categories) > MAX_COUNT_CELLS:
        what = f"{table.question!r} has {len(table.categories):,} different answers"
        cure = "votes need a closed set of answers; check that this is not free text"
        raise BadInput(what, cure=cure)


def _new_states(table: Table) -> tuple[States, Codes]:
    """Everything accepted, by the decider."""
    items = len(table.items)
    return np.zeros(items, dtype=np.int8), np.zeros(items, dtype=np.int32)


def find_leaders(weights: Counts | Floats, same: float = 0.0) -> tuple[Codes, NDArray[Any], Flags]:
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


def _has_votes(table: Table, decider: Step, votes: NDArray[Any]) -> Flags:
    """K equal answers; with `/N`, of no more than N, and of fewer only if the missing ones could not overturn them."""
    enough: Flags = votes >= decider.number
    if decider.of is None:
        return enough
    counts = table.counts()
    n = table.per_item()
    second = np.zeros_like(votes)
    if counts.shape[1] > 1:
        second = np.sort(counts, axis=1)[:, -2]
    missing = decider.of - n
    safe = (missing == 0) | (votes - second > missing)
    return np.asarray(enough & (n <= decider.of) & safe)


def _fulfils(step: Step, verdicts: Verdicts) -> Flags:
    """Which items a limit lets pass."""
    table = verdicts.table
    if step.name == "min":
        return np.asarray(table.per_item() >= step.number)
    if step.name == "half":
        return verdicts.strength > 0.5
    if step.name == "only":
        assert verdicts.label is not None
        labels = [label.strip() for label in step.value.split("|")]
        codes = [
            _find_code(table, label, f"{step.text!r} names {label!r}, which no worker answered")
            for label in labels
        ]
        return np.isin(verdicts.label, codes)
    measured = verdicts.strength if step.name == "share" else item_spreads(table, step.name)
    return np.asarray(SIGNS[step.sign](measured, step.number))


def _find_code(table: Table, label: str, what: str) -> int:
    """The code of a label; `what` is the error if no worker gave it."""
    codes = {str(category): code for code, category in enumerate(table.categories)}
    if label not in codes:
        raise BadInput(what, cure=suggest(label, codes))
    return codes[label]


def _drop_unwanted(verdicts: Verdicts) -> None:
    """Drop what a settled tie made gold though the rule does not let it."""
    for place, step in enumerate(verdicts.rule.steps, start=1):
        if step.name == "only":
            fails = (verdicts.state == ACCEPTED) & ~_fulfils(step, verdicts)
            verdicts.state[fails] = DROPPED
            verdicts.by[fails] = place


# Ties


def settle_ties(verdicts: Verdicts) -> None:
    """Do with the ties what the tie rule says."""
    tied = verdicts.state == TIED
    if not tied.any():
        return
    verdicts.by[tied] = verdicts.tie_code
    if verdicts.ties.how == "drop":
        verdicts.state[tied] = DROPPED
    elif verdicts.ties.how == "prefer" and verdicts.label is not None:
        label = str(verdicts.ties.prefer)
        what = f"ties should prefer {verdicts.ties.prefer!r}, which no worker answered"
        code = _find_code(verdicts.table, label, what)
        for item in np.flatnonzero(tied).tolist():
            if code in tied_codes(verdicts, item):
                verdicts.label[item] = code
                verdicts.state[item] = ACCEPTED


def break_ties(verdicts: Verdicts, machines: MachineInput) -> None:
    """Give tied items the label of the tie that machines answered; where they tie too, or none answered, the tie stays."""
    if verdicts.label is None:
        return
    tied = {place: tied_codes(verdicts, place) for place in verdicts.tied_places()}
    for place, code in machines.choose_among(tied).items():
        verdicts.label[place] = code
        verdicts.state[place] = ACCEPTED
        verdicts.by[place] = verdicts.machine_code
        machines.parts[place] = "tie-break"


def tied_codes(verdicts: Verdicts, item: int) -> list[int]:
    """The answers that share the lead on an item."""
    fit = verdicts.fit
    weights = verdicts.table.counts()[item] if fit is None else fit.posterior[item]
    leads = weights >= weights.max() - POSTERIOR_TIE
    return np.flatnonzero(leads).tolist()


# Numbers


def item_means(table: Table) -> Floats:
    """The mean answer of each item; NaN for items without answers."""
    return ratio(table.sum_by_item(table.numbers), table.per_item())


def item_medians(table: Table) -> Floats:
    """The median answer of each item; of two middle ones their mean."""
    return group_medians(table.numbers, table.item, len(table.items))


def item_spreads(table: Table, name: str) -> Floats:
    """`variance`, `sd`, `sample-variance` or `sample-sd` of each item's answers."""
    n = table.per_item().astype(np.float64)
    numbers = table.numbers
    if (table.values == np.rint(table.values)).all():
        total = table.sum_by_item(numbers)
        scaled = n * table.sum_by_item(numbers * numbers) - total * total
        squares = scaled / np.maximum(1, n)
    else:
        deviations = numbers - item_means(table)[table.item]
        squares = np.round(table.sum_by_item(deviations**2), 12)
    below = n - 1 if name.startswith("sample-") else n
    variance = ratio(squares, np.maximum(0, below))
    return np.sqrt(variance) if name.endswith("sd") else variance


def round_or_cut(values: Floats, how: str, number: float) -> Floats:
    """Round (`round`, `up`, `down` to decimals, `digits` to significant ones) or cut (`binary`: 1 from `given` on)."""
    if how == "binary":
        passes = (values >= number).astype(np.float64)
        return np.where(np.isnan(values), np.nan, passes)
    distinct, places = np.unique(values, return_inverse=True)
    rounded = [
        value if math.isnan(value) else round_number(value, how, int(number))
        for value in distinct.tolist()
    ]
    return np.array(rounded)[places]


def round_number(value: float, how: str, places: int) -> float:
    """One number. `round` is Python's: to the nearest, of the number as stored. Up and down see 15 digits of it."""
    if how == "digits":
        return float(f"%.{places}g" % value)
    if how == "round":
        return round(value, places)
    unit = Decimal(1).scaleb(-places)
    shown = Decimal(f"{value:.15g}")
    direction = DIRECTIONS.get(how, ROUND_HALF_EVEN)
    return float(shown.quantize(unit, rounding=direction))


# Soft labels


def vote_shares(table: Table) -> Floats:
    """Items by categories: the share of an item's answers; zeros for items without answers."""
    n = np.maximum(1, table.per_item())
    return np.asarray(table.counts() / n[:, None])


def soft_labels(verdicts: Verdicts) -> Floats:
    """Items by categories: the model's posterior where the rule has one, else the shares of the votes."""
    return vote_shares(verdicts.table) if verdicts.fit is None else verdicts.fit.posterior


def entropy(shares: Floats) -> Floats:
    """In bits, of each row: 0 where all agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares), 0.0)
    return np.asarray(np.abs(terms.sum(axis=1)))


def name_shares(row: Floats, names: Sequence[object]) -> dict[str, float]:
    """One item's soft label by name; answers without any share are left out."""
    codes = np.flatnonzero(row > 0).tolist()
    return {str(names[code]): round(float(row[code]), 6) for code in codes}


def span_shares(answers: Sequence[Marks]) -> dict[str, float]:
    """Of one item: the share of its workers who marked each span."""
    counts = count_marks(answers)
    workers = len(answers)
    return {format_mark(mark): round(votes / workers, 6) for mark, votes in counts.items()}
