"""From a pilot: how many workers an item needs, what comes out, and what it costs.

Reliability of numbers: Spearman-Brown, R(k) = k ρ / (1 + (k - 1) ρ), ρ being the intraclass correlation of one answer
(one-way random effects, unequal numbers of answers; Donner 1986). Reliability of labels: the probability that two
panels of k different workers settle on the same gold, if both settle. Yield: the share of items that get gold under a
rule. While the pilot has answers enough, panels are drawn from it without replacement, which assumes nothing; beyond
that an item's answers come from a model fitted to it (see plan_mixture; of numbers, a Dirichlet-multinomial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.rules import FINISHERS, Rule, parse_rule
from nikawa.aggregation.table import Codes, Floats, Table
from nikawa.aggregation.verdicts import ACCEPTED, apply_rule
from nikawa.errors import BadInput
from nikawa.records import Record

RESAMPLES = 1_000


def stepped_up(single: float, k: int) -> float:
    """Spearman and Brown's prophecy (1910): the reliability of the mean of k answers."""
    single = max(0.0, single)
    return k * single / (1 + (k - 1) * single)


def needed(single: float, wished: float) -> int | None:
    """The fewest answers whose mean has the wished reliability; None where one answer has none."""
    if single <= 0:
        return None
    return max(1, math.ceil(wished * (1 - single) / (single * (1 - wished)) - 1e-9))


def icc(table: Table) -> float:
    """Intraclass correlation of one answer, from items with several; NaN where nothing varies."""
    return float(_icc_of(_icc_statistics(table).sum(axis=0)))


def icc_interval(table: Table) -> tuple[float, float]:
    """Its 95% bootstrap interval over items."""
    kept: dict[str, Any] = table._kept
    if "icc_interval" not in kept:
        kept["icc_interval"] = resampled(_icc_statistics(table), _icc_of)
    found: tuple[float, float] = kept["icc_interval"]
    return found


def _icc_statistics(table: Table) -> Floats:
    """Of each item with several answers: 1, n, n², Σx, (Σx)²/n, Σx². Numbers are taken from their mean for precision."""
    numbers = table.numbers - table.numbers.mean()
    n = table.per_item().astype(np.float64)
    total = np.bincount(table.item, numbers, len(n))
    squares = np.bincount(table.item, numbers * numbers, len(n))
    found = np.column_stack(
        [np.ones_like(n), n, n * n, total, total**2 / np.maximum(1, n), squares]
    )
    return np.asarray(found[n > 1])


def _icc_of(sums: Floats) -> Floats:
    items, n, squared, total, between, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = (n - squared / n) / (items - 1)
        mean_between = (between - total * total / n) / (items - 1)
        mean_within = (squares - between) / (n - items)
        return np.asarray((mean_between - mean_within) / (mean_between + (size - 1) * mean_within))


def resampled(statistics: Floats, finish: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The 95% percentile interval of a function of sums over items: how often each kind of item is drawn varies."""
    kinds, counts = np.unique(statistics, axis=0, return_counts=True)
    n = len(statistics)
    drawn = np.random.default_rng(0).multinomial(n, counts / n, size=RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = finish(drawn.astype(np.float64) @ kinds)
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (math.nan, math.nan)
    return float(low), float(high)


STEPS = {2: 40, 3: 16}
"""Steps of the full grid; with more categories only mixtures of two leading answers and the rest are on it."""
PAIRED = 8
"""Categories up to which a second answer may stand out."""
LEVELS = np.linspace(0.4, 1.0, 13)
EM_ROUNDS = 200
LEAST = 1e-4
"""Share that any answer has everywhere on the grid: no answer is impossible."""


def grid(categories: int) -> Floats:
    """Points of the simplex, one a row."""
    if categories == 1:
        return np.ones((1, 1))
    if categories in STEPS:
        steps = STEPS[categories]
        cuts = np.indices((steps + 1,) * (categories - 1)).reshape(categories - 1, -1).T
        cuts = cuts[cuts.sum(axis=1) <= steps]
        points = np.column_stack([cuts, steps - cuts.sum(axis=1)]) / steps
    else:
        every = range(categories)
        pairs: list[tuple[int, int | None]] = [(first, None) for first in every]
        if categories <= PAIRED:
            pairs = [(first, second) for first in every for second in every if first != second]
        points = np.array(
            [_leading(categories, first, second, p) for first, second in pairs for p in LEVELS]
        )
    points = np.unique(np.maximum(points, LEAST), axis=0)
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def _leading(categories: int, first: int, second: int | None, share: float) -> Floats:
    """One answer leads, a second has two thirds of what is left (or none does), the others share the rest."""
    left = 1 - share
    point = np.full(
        categories, left / (categories - 1) if second is None else left / 3 / (categories - 2)
    )
    if second is not None:
        point[second] = left * 2 / 3
    point[first] = share
    return point


def posterior(counts: Floats) -> tuple[Floats, Floats]:
    """The grid, and for each item (a row of counts) how probable each of its points is."""
    points = grid(counts.shape[1])
    patterns, which, often = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    logs = patterns @ np.log(points).T
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(len(points), 1 / len(points))
    for _ in range(EM_ROUNDS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = often @ shares / often.sum()
    shares = likelihood * weights
    return points, (shares / shares.sum(axis=1, keepdims=True))[which]


MAX_PANELS_PER_ITEM, MAX_PANELS, MAX_PANEL_CELLS = 1_000, 20_000, 2_000_000
"""Panels drawn an item, panels in all, panels times categories: fewer an item where the pilot is large."""
SHARE = 0.5
"""Share of items that must have k answers for panels of k to be drawn from them."""


class Panels:
    """Draws panels; a given k and seed always give the same."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.given = table.per_item()
        items = max(1, int((self.given > 1).sum()))
        self.rounds = max(
            1,
            min(
                MAX_PANELS_PER_ITEM,
                MAX_PANELS // items,
                MAX_PANEL_CELLS // (items * min(100, len(table.categories))),
            ),
        )
        self._fitted: tuple[Floats, Floats] | None = None
        order = np.argsort(table.item, kind="stable")
        self.answer, self.start = table.answer[order], np.cumsum(self.given) - self.given

    @cached_property
    def counts(self) -> Floats:
        """Items with several answers, by categories."""
        return self.table.counts()[self.given > 1].astype(np.float64)

    def holds(self, k: int) -> bool:
        """Whether enough items have k answers or more."""
        judged = self.given[self.given > 1]
        return float((judged >= k).mean()) >= SHARE

    def agreement(self) -> float:
        """Chance-corrected agreement of two answers: (observed - expected) / (1 - expected)."""
        observed, shares = self._agreement()
        expected = float((shares**2).sum())
        return (observed - expected) / (1 - expected) if expected < 1 else float("nan")

    def _agreement(self) -> tuple[float, Floats]:
        n = self.counts.sum(axis=1)
        pairs = (self.counts * (self.counts - 1)).sum(axis=1) / (n * (n - 1))
        return float(pairs.mean()), self.counts.sum(axis=0) / self.counts.sum()

    def draw(self, k: int) -> Table:
        """A table of several panels of k an item, round by round."""
        generator = np.random.default_rng((self.seed, k, 0))
        return self._table(
            self._answers(k, generator) if self.holds(k) else self._modelled(k, generator)
        )

    def twice(self, k: int) -> tuple[Table, Table]:
        """Two panels of k of different workers about the same items, as often."""
        generator = np.random.default_rng((self.seed, k, 1))
        both = (self._answers if self.holds(2 * k) else self._modelled)(2 * k, generator)
        return self._table(both[:, :k]), self._table(both[:, k:])

    def _table(self, answers: Codes) -> Table:
        panels, width = answers.shape
        return Table(
            self.table.question,
            np.repeat(np.arange(panels, dtype=np.int32), width),
            np.tile(np.arange(width, dtype=np.int32), panels),
            answers.ravel().astype(np.int32),
            range(panels),  # type: ignore[arg-type]  # names are never shown
            range(width),  # type: ignore[arg-type]
            self.table.categories,
        )

    def _answers(self, k: int, generator: np.random.Generator) -> Codes:
        """Of each item with k answers, k of them at random."""
        items = np.flatnonzero(self.given >= max(2, k))
        wide = int(self.given[items].max())
        keys = generator.random((self.rounds, len(items), wide))
        keys[:, np.arange(wide) >= self.given[items][:, None]] = 2.0
        picks = np.argsort(keys, axis=-1)[..., :k]
        return np.asarray(self.answer[self.start[items][:, None] + picks]).reshape(-1, k)

    def _modelled(self, k: int, generator: np.random.Generator) -> Codes:
        """Answers of new workers given the pilot's: of labels by a mixture, of numbers by a Dirichlet-multinomial."""
        shares = self._dirichlet(generator) if self.table.numeric else self._mixture(generator)
        ends = np.cumsum(shares, axis=-1)
        drawn = generator.random((*shares.shape[:2], k))
        answers = np.zeros(drawn.shape, dtype=np.int32)
        for category in range(ends.shape[-1] - 1):
            answers += drawn > ends[..., category, None]
        return answers.reshape(-1, k)

    def _mixture(self, generator: np.random.Generator) -> Floats:
        """Shares of each item in each round: a point of the grid, drawn by its probability."""
        if self._fitted is None:
            self._fitted = posterior(self.counts)
        points, probable = self._fitted
        ends = np.cumsum(probable, axis=1)
        drawn = generator.random((self.rounds, len(ends)))
        place = [np.searchsorted(end, drawn[:, item] * end[-1]) for item, end in enumerate(ends)]
        return np.asarray(points[np.minimum(np.stack(place, axis=1), len(points) - 1)])

    def _dirichlet(self, generator: np.random.Generator) -> Floats:
        """Shares from the pilot's counts and pseudo-counts whose expected agreement is the pilot's.

        Their sum is s = (1 - A) / (A - Σ share²), A being the share of pairs of answers that agree.
        """
        observed, pooled = self._agreement()
        above = observed - float((pooled**2).sum())
        concentration = (1 - observed) / above if above > 1e-6 else 1e6
        weights = self.counts + np.maximum(1e-6, concentration * pooled)
        shares = generator.standard_gamma(np.broadcast_to(weights, (self.rounds, *weights.shape)))
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


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
    verdicts = apply_rule(panel, rule, "drop")
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
