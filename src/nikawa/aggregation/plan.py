"""From a pilot: how many workers an item needs, what comes out, and what it costs.

Reliability of numbers: Spearman-Brown, R(k) = k ρ / (1 + (k - 1) ρ), ρ being the intraclass correlation of one answer
(one-way random effects, unequal numbers of answers; Donner 1986). Reliability of labels: the probability that two
panels of k different workers settle on the same gold, if both settle. Yield: the share of items that get gold under a
rule. While the pilot has answers enough, panels are drawn from it without replacement, which assumes nothing; beyond
that an item's answers come from a model fitted to it (see plan_mixture; of numbers, a Dirichlet-multinomial).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.plan_panels import Panels
from nikawa.aggregation.plan_reliability import icc, icc_interval, resampled, stepped_up
from nikawa.aggregation.rules import ACCEPTED, aggregate
from nikawa.aggregation.rules_parse import FINISHERS, Rule, parse_rule
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput
from nikawa.records import Record

MOST = 20
"""Workers an item up to which plans are made."""
CLOSED = 100
"""Different answers beyond which they are measurements or free text."""


@dataclass(frozen=True)
class Wish:
    """What the data should be like, and what it is paid."""

    reliability: float | None = 0.9
    yield_: float | None = None
    rule: str | None = None
    """Rule whose yield counts; `{k}` stands for the number of workers, `{half}` for more than half of them."""
    items: int = 1_000
    """Items with gold that are wanted."""
    price: float = 0.0
    """Paid for one answer."""
    most: int = MOST


class Row(Record, frozen=True, kw_only=True, rename={"yield_": "yield"}):
    """What k workers an item bring."""

    workers: int
    reliability: float | None
    low: float | None
    high: float | None
    yield_: float
    """Share of items that get gold."""
    judged: int
    """Items to have judged, so that as many as wanted get gold."""
    answers: int
    cost: float
    how: str
    """`drawn` from the pilot's answers, or `modelled` beyond them."""
    enough: bool
    """Whether it fulfils what was wished."""


class Plan(Record, frozen=True, kw_only=True):
    """The whole table, and the fewest workers that will do."""

    question: str
    items: int
    answers: int
    single: float | None
    """Reliability of one answer: the intraclass correlation of numbers, chance-corrected agreement of labels."""
    rule: str
    rows: tuple[Row, ...]
    workers: int | None
    """The fewest workers that fulfil the wish; None where none up to the limit do."""
    notes: tuple[str, ...] = ()


def plan(table: Table, wish: Wish | None = None, *, seed: int = 0) -> Plan:
    """Plan the whole collection from a pilot's judgements of one question."""
    wish = wish or Wish()
    _check(table, wish)
    numeric = table.numeric and (wish.rule is None or parse_rule(filled(wish.rule, 3)).numeric)
    rule = wish.rule or ("mean" if numeric else "votes:{half}/{k}")
    panels = Panels(table, seed)
    last = _last(table, panels, numeric, wish.most, rule)
    single = icc(table) if numeric else panels.agreement()
    rows = [
        _row(_Setting(table, panels, rule, wish, numeric), k)
        for k in range(1 if numeric else 2, last + 1)
    ]
    return Plan(
        question=table.question,
        items=int((table.per_item() > 0).sum()),
        answers=len(table),
        single=None if math.isnan(single) else single,
        rule=rule,
        rows=tuple(rows),
        workers=next((row.workers for row in rows if row.enough), None),
        notes=_notes(table, numeric),
    )


def _check(table: Table, wish: Wish) -> None:
    if int((table.per_item() > 1).sum()) < 2:
        cure = "let at least two workers judge the same items"
        raise BadInput("the pilot has fewer than two items with several answers", cure=cure)
    for name, value in (("reliability", wish.reliability), ("yield", wish.yield_)):
        if value is not None and not 0 < value < 1:
            raise BadInput(
                f"the wished {name} {value:g} is not between 0 and 1", cure="wish for 0.9, say"
            )


def _last(table: Table, panels: Panels, numeric: bool, most: int, rule: str) -> int:
    """The most workers a plan can be made for: limits on measurements can be drawn from the pilot, not modelled."""
    wide = len(table.categories)
    if not numeric and wide > CLOSED:
        cure = "plans are made for a closed set of labels, or for numbers"
        raise BadInput(f"{table.question!r} has {wide:,} different answers", cure=cure)
    if numeric and wide > CLOSED and _drops(parse_rule(filled(rule, 3))):
        return max(k for k in range(1, most + 1) if k == 1 or panels.holds(k))
    return most


def _drops(rule: Rule) -> bool:
    """Whether a rule leaves any item without gold."""
    return not rule.numeric or any(step.name not in FINISHERS for step in rule.steps)


def filled(rule: str, k: int) -> str:
    """A rule for k workers: `votes:{half}/{k}` is `votes:3/5` for 5."""
    return rule.replace("{k}", str(k)).replace("{half}", str(k // 2 + 1))


@dataclass(frozen=True)
class _Setting:
    table: Table
    panels: Panels
    rule: str
    wish: Wish
    numeric: bool


def _row(setting: _Setting, k: int) -> Row:
    wish, rule = setting.wish, parse_rule(filled(setting.rule, k))
    share = float(_gold(setting.panels.draw(k), rule)[1].mean()) if _drops(rule) else 1.0
    if setting.numeric:
        value, low, high = _reliability(setting.table, k)
    else:
        value, low, high = _stability(setting.panels, k, rule)
    judged = math.ceil(wish.items / share) if share > 0 else 0
    fulfils = (wish.reliability is None or (value is not None and value >= wish.reliability)) and (
        wish.yield_ is None or share >= wish.yield_
    )
    return Row(
        workers=k,
        reliability=value,
        low=low,
        high=high,
        yield_=share,
        judged=judged,
        answers=judged * k,
        cost=judged * k * wish.price,
        how=_how(setting, k),
        enough=share > 0 and fulfils,
    )


def _gold(panel: Table, rule: Rule) -> tuple[Sequence[Any], NDArray[np.bool_]]:
    """Gold of every drawn panel, and whether it has one."""
    verdicts = aggregate(panel, rule, "drop")
    codes: Any = verdicts.label if verdicts.label is not None else verdicts.value
    return codes, np.asarray(verdicts.state == ACCEPTED)


def _how(setting: _Setting, k: int) -> str:
    return "drawn" if setting.panels.holds(k if setting.numeric else 2 * k) else "modelled"


def _stability(
    panels: Panels, k: int, rule: Rule
) -> tuple[float | None, float | None, float | None]:
    """Share of items on which two panels settle on the same gold, with an interval over items."""
    (one, settled), (other, too) = (_gold(panel, rule) for panel in panels.twice(k))
    both = settled & too
    same = (np.asarray(one) == np.asarray(other)) & both
    statistics = [x.reshape(panels.rounds, -1).sum(axis=0).astype(np.float64) for x in (same, both)]
    if not both.any():
        return None, None, None
    low, high = resampled(np.column_stack(statistics), lambda sums: sums[..., 0] / sums[..., 1])
    return float(same.sum() / both.sum()), low, high


def _reliability(table: Table, k: int) -> tuple[float | None, float | None, float | None]:
    """Spearman-Brown for the mean of k answers, with an interval over items."""
    value = icc(table)
    if math.isnan(value):
        return None, None, None
    low, high = icc_interval(table)
    return stepped_up(value, k), stepped_up(low, k), stepped_up(high, k)


def _notes(table: Table, numeric: bool) -> tuple[str, ...]:
    most = int(table.per_item().max())
    drawn = most if numeric else most // 2
    notes = [
        f"beyond {drawn} workers panels are modelled: the pilot has at most {most} answers an item"
    ]
    if numeric:
        notes.append("the reliability takes new workers and items to be like the pilot's")
    else:
        notes.append(
            "an even number settles on less, and what it settles on is surer: look at the yield too"
        )
        if most < 5:
            notes.append("with fewer than 5 answers an item the modelled rows are rough")
    return tuple(notes)
