"""Centres and spreads of numeric answers, item by item, and how a mean is rounded.

Variance and sd divide by the number of answers (the papers' limits are on few answers, whose spread is described, not
inferred); the `sample-` forms divide by one less. Sums of whole numbers are exact, so a variance of 1 is 1, not 0.9999.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation import spans as rules_spans
from nikawa.aggregation.dawid_skene import Fit, dawid_skene
from nikawa.aggregation.mace import mace
from nikawa.aggregation.rules import FINISHERS, SIGNS, Rule, Step, parse_rule
from nikawa.aggregation.span_agreement import Marks, are_spans
from nikawa.aggregation.spans import support, written
from nikawa.aggregation.table import Codes, Counts, Floats, Table
from nikawa.errors import BadInput, suggest
from nikawa.records import Span

DIRECTIONS = {"up": ROUND_CEILING, "down": ROUND_FLOOR}


def mean_of(table: Table) -> Floats:
    """The mean answer of each item; NaN where nobody answered."""
    n = table.per_item()
    total = np.bincount(table.item, table.numbers, len(table.items))
    return np.where(n > 0, total / np.maximum(1, n), np.nan)


def median_of(table: Table) -> Floats:
    """The median answer of each item; of two middle ones their mean."""
    order = np.lexsort((table.numbers, table.item))
    numbers, n = table.numbers[order], table.per_item()
    ends = np.cumsum(n)
    found = np.full(len(n), np.nan)
    some = np.flatnonzero(n)
    low = (ends - n)[some] + (n[some] - 1) // 2
    high = (ends - n)[some] + n[some] // 2
    found[some] = (numbers[low] + numbers[high]) / 2
    return found


def spread_of(table: Table, name: str) -> Floats:
    """`variance`, `sd`, `sample-variance` or `sample-sd` of each item's answers."""
    n = table.per_item().astype(np.float64)
    numbers, items = table.numbers, len(table.items)
    if (table.values == np.rint(table.values)).all():
        total = np.bincount(table.item, numbers, items)
        scaled = n * np.bincount(table.item, numbers * numbers, items) - total * total
        squares = scaled / np.maximum(1, n)
    else:
        squares = np.round(
            np.bincount(table.item, (numbers - mean_of(table)[table.item]) ** 2, items), 12
        )
    below = n - 1 if name.startswith("sample-") else n
    variance: Floats = np.where(below > 0, squares / np.maximum(1, below), np.nan)
    return np.sqrt(variance) if name.endswith("sd") else variance


def finish(values: Floats, how: str, given: float) -> Floats:
    """Round (`round`, `up`, `down` to decimals, `digits` to significant ones) or cut (`binary`: 1 from `given` on)."""
    if how == "binary":
        return np.where(np.isnan(values), np.nan, (values >= given).astype(np.float64))
    distinct, places = np.unique(values, return_inverse=True)
    rounded = [
        v if math.isnan(v) else rounded_number(v, how, int(given)) for v in distinct.tolist()
    ]
    return np.array(rounded)[places]


def rounded_number(value: float, how: str, places: int) -> float:
    """One number. `round` is Python's: to the nearest, of the number as stored. Up and down see 15 digits of it."""
    if how == "digits":
        return float(f"%.{places}g" % value)
    if how == "round":
        return round(value, places)
    shown = Decimal(f"{value:.15g}")
    exact = shown.quantize(
        Decimal(1).scaleb(-places), rounding=DIRECTIONS.get(how, ROUND_HALF_EVEN)
    )
    return float(exact)


def klue_sts_labels(ratings: list[float]) -> dict[str, object]:
    """The published labels of a KLUE-STS pair from its ratings, as the released file has them."""
    real = rounded_number(sum(ratings) / len(ratings), "digits", 16)
    return {
        "real-label": real,
        "label": rounded_number(real, "round", 1),
        "binary-label": int(real >= 3),
        "agreement": ":".join(str(ratings.count(rating)) for rating in range(6)),
    }


GOLDEN = {"klue_sts_label_rules": klue_sts_labels}


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


def apply_rule(table: Table, rule: Rule | str, ties: Ties | str = "adjudicate") -> Verdicts:
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


def vote_shares(table: Table) -> Floats:
    """Items by categories: the share of an item's answers; zeros where nobody answered."""
    return np.asarray(table.counts() / np.maximum(1, table.per_item())[:, None])


def soft_labels(verdicts: Verdicts) -> Floats:
    """Items by categories: the model's posterior where the rule has one, else the shares of the votes."""
    return vote_shares(verdicts.table) if verdicts.fit is None else verdicts.fit.posterior


def entropy(shares: Floats) -> Floats:
    """In bits, of each row: 0 where all agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares), 0.0)
    return np.asarray(np.abs(terms.sum(axis=1)))


def as_mapping(row: Floats, names: Sequence[object]) -> dict[str, float]:
    """One item's soft label by name; answers without any share are left out."""
    return {str(names[c]): round(float(row[c]), 6) for c in np.flatnonzero(row > 0).tolist()}


def span_shares(given: Sequence[Marks]) -> dict[str, float]:
    """Of one item: the share of its workers who marked each span."""
    return {written(mark): round(count / len(given), 6) for mark, count in support(given).items()}
