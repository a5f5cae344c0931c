"""Plan a round from a pilot: the number of workers per item, the expected result, and the cost.

Reliability of numbers: Spearman-Brown (1910), R(k) = k ρ / (1 + (k - 1) ρ), ρ being the intraclass correlation of one
answer (one-way random effects, unequal numbers of answers; Donner 1986, https://doi.org/10.2307/1403259). Reliability of
labels: the probability that two panels of k different workers settle on the same gold, if both settle. Yield: the share
of items that get gold under a rule.

While the pilot has answers enough, panels are drawn from it without replacement, which assumes nothing; beyond that an
item's answers come from a model fitted to it. Of numbers that is a Dirichlet-multinomial. Of labels each item has hidden
shares of answers, drawn from a distribution on a grid of shares whose weights maximise the likelihood of the pilot's
counts (the nonparametric maximum likelihood of Kiefer and Wolfowitz 1956, https://doi.org/10.1214/aoms/1177728066, on a
grid). It needs no shape: clear items and split ones may both be there, which a Dirichlet with one hump cannot say.
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
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.verdicts import ACCEPTED, apply_rule
from nikawa.errors import BadInput
from nikawa.io.coding import Codes
from nikawa.records import Record

MAX_WORKERS = 20
"""Maximum number of workers per item in a plan."""
MAX_CATEGORIES = 100
"""Different answers beyond which they are measurements or free text."""
RESAMPLES = 1_000
MAX_PANELS_PER_ITEM, MAX_PANELS, MAX_PANEL_CELLS = 1_000, 20_000, 2_000_000
"""Panels drawn an item, panels in all, panels times categories: fewer an item where the pilot is large."""
MIN_SHARE_HELD = 0.5
"""Share of items that must have k answers for panels of k to be drawn from them."""

Estimate = tuple[float | None, float | None, float | None]
"""A value with its interval; None where it is not defined."""


@dataclass(frozen=True)
class PlanGoal:
    """What the data should be like, and what it is paid."""

    reliability: float | None = 0.9
    """Wished reliability of the gold, between 0 and 1; None: none in particular."""
    yield_: float | None = None
    """Wished share of items that get gold; None: none in particular."""
    rule: str | None = None
    """Rule whose yield counts; `{k}` stands for the number of workers, `{half}` for more than half of them."""
    items: int = 1_000
    """Items with gold that are wanted."""
    price: float = 0.0
    """Paid for one answer."""
    most: int = MAX_WORKERS
    """Maximum number of workers per item for which rows are made."""


class PlanRow(Record, frozen=True, kw_only=True, rename={"yield_": "yield"}):
    """The expected result of k workers per item."""

    workers: int
    """Workers per item."""
    reliability: float | None
    """Of the gold that they make; None where it is not defined."""
    low: float | None
    """The 95% interval of the reliability."""
    high: float | None
    yield_: float
    """Share of items that get gold."""
    judged: int
    """Items to have judged, so that as many as wanted get gold."""
    answers: int
    """Answers to pay for in all."""
    cost: float
    """Answers times the price of one."""
    how: str
    """`drawn` from the pilot's answers, or `modelled` beyond them."""
    enough: bool
    """Whether it fulfils what was wished."""


class Plan(Record, frozen=True, kw_only=True):
    """The whole table, and the fewest workers that will do."""

    question: str
    items: int
    """Items of the pilot that have an answer."""
    answers: int
    """Answers of the pilot."""
    single: float | None
    """Reliability of one answer: the intraclass correlation of numbers, chance-corrected agreement of labels."""
    rule: str
    """The rule whose gold is planned, with `{k}` and `{half}` where it depends on the workers."""
    rows: tuple[PlanRow, ...]
    """One for each number of workers."""
    workers: int | None
    """The fewest workers that fulfil the wish; None where none up to the limit do."""
    notes: tuple[str, ...] = ()


def plan(table: Table, goal: PlanGoal | None = None, *, seed: int = 0) -> Plan:
    """Plan the whole collection from a pilot's judgements of one question."""
    goal = goal or PlanGoal()
    _check_pilot(table, goal)
    numeric = table.numeric
    if numeric and goal.rule is not None:
        numeric = parse_rule(fill_rule(goal.rule, 3)).numeric
    rule = goal.rule or ("mean" if numeric else "votes:{half}/{k}")
    panels = Panels(table, seed)
    last = _find_last(table, panels, numeric, goal.most, rule)
    single = icc(table) if numeric else panels.agreement()
    interval = math.nan, math.nan
    if numeric and not math.isnan(single):
        interval = icc_interval(table)
    rows = []
    for k in range(1 if numeric else 2, last + 1):
        rule_for_k = parse_rule(fill_rule(rule, k))
        reliability: Estimate
        if not numeric:
            reliability = measure_stability(panels, k, rule_for_k)
        elif math.isnan(single):
            reliability = None, None, None
        else:
            low, high = (spearman_brown(end, k) for end in interval)
            reliability = spearman_brown(single, k), low, high
        how = "drawn" if panels.holds(k if numeric else 2 * k) else "modelled"
        rows.append(make_plan_row(panels, k, rule_for_k, goal, reliability, how))
    return Plan(
        question=table.question,
        items=int((table.per_item() > 0).sum()),
        answers=len(table),
        single=None if math.isnan(single) else single,
        rule=rule,
        rows=tuple(rows),
        workers=next((row.workers for row in rows if row.enough), None),
        notes=_write_notes(table, numeric),
    )


def _check_pilot(table: Table, goal: PlanGoal) -> None:
    if int(table.paired().sum()) < 2:
        cure = "let at least two workers judge the same items"
        raise BadInput("the pilot has fewer than two items with several answers", cure=cure)
    for name, value in (("reliability", goal.reliability), ("yield", goal.yield_)):
        if value is not None and not 0 < value < 1:
            raise BadInput(
                f"the requested {name} {value:g} is not between 0 and 1",
                cure="pass a value such as 0.9",
            )


def _find_last(table: Table, panels: Panels, numeric: bool, most: int, rule: str) -> int:
    """The most workers a plan can be made for: limits on measurements can be drawn from the pilot, not modelled."""
    categories = len(table.categories)
    if not numeric and categories > MAX_CATEGORIES:
        cure = "plans are made for a closed set of labels, or for numbers"
        raise BadInput(f"{table.question!r} has {categories:,} different answers", cure=cure)
    if numeric and categories > MAX_CATEGORIES and _may_drop(parse_rule(fill_rule(rule, 3))):
        sizes = [k for k in range(2, most + 1) if panels.holds(k)]
        return max(sizes, default=1)
    return most


def _may_drop(rule: Rule) -> bool:
    """Whether a rule leaves any item without gold."""
    return not rule.numeric or any(step.name not in FINISHERS for step in rule.steps)


def fill_rule(rule: str, k: int) -> str:
    """A rule for k workers: `votes:{half}/{k}` is `votes:3/5` for 5."""
    half = str(k // 2 + 1)
    return rule.replace("{k}", str(k)).replace("{half}", half)


def make_plan_row(
    panels: Panels, k: int, rule: Rule, goal: PlanGoal, reliability: Estimate, how: str
) -> PlanRow:
    """The expected result of k workers per item under a rule, and whether it reaches the goal."""
    value, low, high = reliability
    share = 1.0
    if _may_drop(rule):
        _, has_gold = _panel_gold(panels.draw(k), rule)
        share = float(has_gold.mean())
    judged = math.ceil(goal.items / share) if share > 0 else 0
    reliable = goal.reliability is None or (value is not None and value >= goal.reliability)
    yields = goal.yield_ is None or share >= goal.yield_
    return PlanRow(
        workers=k,
        reliability=value,
        low=low,
        high=high,
        yield_=share,
        judged=judged,
        answers=judged * k,
        cost=judged * k * goal.price,
        how=how,
        enough=share > 0 and reliable and yields,
    )


def _panel_gold(panel: Table, rule: Rule) -> tuple[Sequence[Any], NDArray[np.bool_]]:
    """Gold of every drawn panel, and whether it has one."""
    verdicts = apply_rule(panel, rule, "drop")
    codes: Any = verdicts.label if verdicts.label is not None else verdicts.value
    return codes, np.asarray(verdicts.state == ACCEPTED)


def measure_stability(panels: Panels, k: int, rule: Rule) -> Estimate:
    """Share of items on which two panels settle on the same gold, with an interval over items."""
    first, second = panels.draw_two(k)
    one, is_settled = _panel_gold(first, rule)
    other, is_settled_too = _panel_gold(second, rule)
    both = is_settled & is_settled_too
    if not both.any():
        return None, None, None
    same = (np.asarray(one) == np.asarray(other)) & both
    by_round = (flags.reshape(panels.rounds, -1) for flags in (same, both))
    statistics = [flags.sum(axis=0).astype(np.float64) for flags in by_round]
    low, high = bootstrap_sums(np.column_stack(statistics), lambda s: s[..., 0] / s[..., 1])
    return float(same.sum() / both.sum()), low, high


def _write_notes(table: Table, numeric: bool) -> tuple[str, ...]:
    most = int(table.per_item().max())
    drawn = most if numeric else most // 2
    notes = [
        f"beyond {drawn} workers the panels are modelled: the pilot has at most {most} answers per item"
    ]
    if numeric:
        notes.append(
            "the reliability assumes that new workers and items are like those of the pilot"
        )
    else:
        notes.append(
            "an even number of workers decides fewer items but with more certainty: look at the yield too"
        )
        if most < 5:
            notes.append("with fewer than 5 answers per item the modelled rows are rough")
    return tuple(notes)


# The reliability of numbers


def spearman_brown(single: float, k: int) -> float:
    """Spearman and Brown's prophecy: the reliability of the mean of k answers.

    >>> spearman_brown(0.5, 3)
    0.75
    """
    single = max(0.0, single)
    return k * single / (1 + (k - 1) * single)


def answers_needed(single: float, wished: float) -> int | None:
    """The fewest answers whose mean has the wished reliability; None where one answer has none."""
    if single <= 0:
        return None
    needed = wished * (1 - single) / (single * (1 - wished))
    return max(1, math.ceil(needed - 1e-9))


def icc(table: Table) -> float:
    """Intraclass correlation of one answer, from items with several; NaN where nothing varies."""
    return float(_icc_of_sums(_icc_statistics(table).sum(axis=0)))


def icc_interval(table: Table) -> tuple[float, float]:
    """Its 95% bootstrap interval over items."""
    return bootstrap_sums(_icc_statistics(table), _icc_of_sums)


def _icc_statistics(table: Table) -> Floats:
    """Of each item with several answers: 1, n, n², Σx, (Σx)²/n, Σx². Numbers are taken from their mean for precision."""
    numbers = table.numbers - table.numbers.mean()
    n = table.per_item().astype(np.float64)
    total = table.sum_by_item(numbers)
    squares = table.sum_by_item(numbers * numbers)
    between = total**2 / np.maximum(1, n)
    statistics = np.column_stack([np.ones_like(n), n, n * n, total, between, squares])
    return np.asarray(statistics[n > 1])


def _icc_of_sums(sums: Floats) -> Floats:
    items, n, squared, total, between, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = (n - squared / n) / (items - 1)
        mean_between = (between - total * total / n) / (items - 1)
        mean_within = (squares - between) / (n - items)
        whole = mean_between + (size - 1) * mean_within
        return np.asarray((mean_between - mean_within) / whole)


def bootstrap_sums(statistics: Floats, finish: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The 95% percentile interval of a function of sums over items: how often each kind of item is drawn varies."""
    kinds, counts = np.unique(statistics, axis=0, return_counts=True)
    n = len(statistics)
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(n, counts / n, size=RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = finish(drawn.astype(np.float64) @ kinds)
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


# Panels of k workers


class Panels:
    """Draws panels of k workers from a pilot; a given k and seed always give the same."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.per_item = table.per_item()
        items = max(1, int((self.per_item > 1).sum()))
        cells = items * min(100, len(table.categories))
        self.rounds = max(
            1, min(MAX_PANELS_PER_ITEM, MAX_PANELS // items, MAX_PANEL_CELLS // cells)
        )
        _, _, self.answer = table.by_item()
        self.start = np.cumsum(self.per_item) - self.per_item

    @cached_property
    def counts(self) -> Floats:
        """Items with several answers, by categories."""
        return self.table.counts()[self.per_item > 1].astype(np.float64)

    @cached_property
    def mixture(self) -> tuple[Floats, Floats]:
        """Points of shares of answers, and how probable each is for each item with several answers."""
        return fit_mixture(self.counts)

    def holds(self, k: int) -> bool:
        """Whether enough items have k answers or more."""
        judged = self.per_item[self.per_item > 1]
        return float((judged >= k).mean()) >= MIN_SHARE_HELD

    def agreement(self) -> float:
        """Chance-corrected agreement of two answers: (observed - expected) / (1 - expected)."""
        observed, shares = self._observed_agreement()
        expected = float((shares**2).sum())
        if expected >= 1:
            return float("nan")
        return (observed - expected) / (1 - expected)

    def _observed_agreement(self) -> tuple[float, Floats]:
        """The share of pairs of answers that agree, and the share of each answer."""
        n = self.counts.sum(axis=1)
        equal_pairs = (self.counts * (self.counts - 1)).sum(axis=1)
        pairs = equal_pairs / (n * (n - 1))
        shares = self.counts.sum(axis=0) / self.counts.sum()
        return float(pairs.mean()), shares

    def draw(self, k: int) -> Table:
        """A table of several panels of k an item, round by round."""
        generator = np.random.default_rng((self.seed, k, 0))
        draw = self._draw_answers if self.holds(k) else self._model_answers
        return self._panel_table(draw(k, generator))

    def draw_two(self, k: int) -> tuple[Table, Table]:
        """Two panels of k of different workers about the same items, as often."""
        generator = np.random.default_rng((self.seed, k, 1))
        draw = self._draw_answers if self.holds(2 * k) else self._model_answers
        both = draw(2 * k, generator)
        first, second = both[:, :k], both[:, k:]
        return self._panel_table(first), self._panel_table(second)

    def _panel_table(self, answers: Codes) -> Table:
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

    def _draw_answers(self, k: int, generator: np.random.Generator) -> Codes:
        """Of each item with k answers, k of them at random."""
        items = np.flatnonzero(self.per_item >= max(2, k))
        width = int(self.per_item[items].max())
        keys = generator.random((self.rounds, len(items), width))
        is_missing = np.arange(width) >= self.per_item[items][:, None]
        keys[:, is_missing] = 2.0  # sorted last
        picks = np.argsort(keys, axis=-1)[..., :k]
        places = self.start[items][:, None] + picks
        return np.asarray(self.answer[places]).reshape(-1, k)

    def _model_answers(self, k: int, generator: np.random.Generator) -> Codes:
        """Answers of new workers given the pilot's: of labels by a mixture, of numbers by a Dirichlet-multinomial."""
        draw_shares = self._draw_dirichlet if self.table.numeric else self._draw_mixture
        shares = draw_shares(generator)
        ends = np.cumsum(shares, axis=-1)
        drawn = generator.random((*shares.shape[:2], k))
        answers = np.zeros(drawn.shape, dtype=np.int32)
        for category in range(ends.shape[-1] - 1):
            answers += drawn > ends[..., category, None]
        return answers.reshape(-1, k)

    def _draw_mixture(self, generator: np.random.Generator) -> Floats:
        """Shares of each item in each round: a point of the grid, drawn by its probability."""
        points, probability = self.mixture
        ends = np.cumsum(probability, axis=1)
        drawn = generator.random((self.rounds, len(ends)))
        columns = []
        for end, column in zip(ends, drawn.T, strict=True):
            columns.append(np.searchsorted(end, column * end[-1]))
        places = np.minimum(np.stack(columns, axis=1), len(points) - 1)
        return np.asarray(points[places])

    def _draw_dirichlet(self, generator: np.random.Generator) -> Floats:
        """Shares from the pilot's counts and pseudo-counts whose expected agreement is the pilot's.

        Their sum is s = (1 - A) / (A - Σ share²), A being the share of pairs of answers that agree.
        """
        observed, pooled = self._observed_agreement()
        above = observed - float((pooled**2).sum())
        concentration = (1 - observed) / above if above > 1e-6 else 1e6
        weights = self.counts + np.maximum(1e-6, concentration * pooled)
        repeated = np.broadcast_to(weights, (self.rounds, *weights.shape))
        shares = generator.standard_gamma(repeated)
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


# What an item's workers would answer: a mixture over points of the simplex, fitted by EM

GRID_STEPS = {2: 40, 3: 16}
"""Steps of the full grid; with more categories only mixtures of two leading answers and the rest are on it."""
MAX_PAIRED_CATEGORIES = 8
"""Maximum number of categories for which a second answer may be distinct."""
LEADING_SHARES = np.linspace(0.4, 1.0, 13)
EM_ROUNDS = 200
MIN_GRID_SHARE = 1e-4
"""Share that any answer has everywhere on the grid: no answer is impossible."""


def grid(categories: int) -> Floats:
    """Points of the simplex, one a row."""
    if categories == 1:
        return np.ones((1, 1))
    if categories in GRID_STEPS:
        steps = GRID_STEPS[categories]
        free = categories - 1  # the last share is what the others leave
        cuts = np.indices((steps + 1,) * free).reshape(free, -1).T
        cuts = cuts[cuts.sum(axis=1) <= steps]
        points = np.column_stack([cuts, steps - cuts.sum(axis=1)]) / steps
    else:
        points = np.array(
            [
                _point_with_leader(categories, first, second, share)
                for first in range(categories)
                for second in (range(categories) if categories <= MAX_PAIRED_CATEGORIES else [None])
                if first != second
                for share in LEADING_SHARES
            ]
        )
    points = np.unique(np.maximum(points, MIN_GRID_SHARE), axis=0)
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def _point_with_leader(categories: int, first: int, second: int | None, share: float) -> Floats:
    """One answer leads, a second has two thirds of what is left (or none does), the others share the rest."""
    left = 1 - share
    if second is None:
        point = np.full(categories, left / (categories - 1))
    else:
        point = np.full(categories, left / 3 / (categories - 2))
        point[second] = left * 2 / 3
    point[first] = share
    return point


def fit_mixture(counts: Floats) -> tuple[Floats, Floats]:
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
