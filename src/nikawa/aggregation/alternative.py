"""The alternative annotator test: may a machine replace a person of a small group of annotators?

Each person j is left out in turn. On each item that j judged, the answer of j and that of the machine are scored against
the answers of the other persons (see `closeness`). With

    W_f = 1 where the machine scores at least as well as j, W_h = 1 where j scores at least as well as the machine

the advantage probability of the machine over j is the mean of W_f. A one-sided t test asks whether the mean of W_h - W_f is below
epsilon, what a person costs more than a machine. The tests of all persons are corrected by Benjamini and Yekutieli at q. The
winning rate is the share of persons whom the machine replaces by that test; from 0.5 on the machine passes. The average advantage
probability compares machines.

Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge. https://arxiv.org/abs/2501.10970
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.closeness import Closeness, Score, choose_score
from nikawa.aggregation.measure import NOMINAL, WeighedMeasure
from nikawa.aggregation.table import Floats, Table, sum_weights
from nikawa.errors import BadInput
from nikawa.records import Record
from nikawa.stats.distributions import t_below
from nikawa.stats.resample import (
    bootstrap,
    correct_benjamini_yekutieli,
    percentile_interval,
    reject_benjamini_yekutieli,
)

Flags = NDArray[np.bool_]

EPSILON = 0.1
"""Allowance for the machine where none is named: the strictest of the paper, for crowd workers (0.15 skilled, 0.2 experts)."""
LEVEL = 0.05
"""False discovery rate of the tests of all persons."""
MIN_PERSONS = 2
"""Answers of persons that an item needs: one is left out, and another is needed to score it."""
MIN_ITEMS = 30
"""Items that a person needs for a t test."""
PASSING_RATE = 0.5
"""Winning rate from which the machine passes."""
FEW_PERSONS = 3
"""Persons below whom the winning rate says little, as the paper advises."""


@dataclass(frozen=True)
class AlternativeOptions:
    """The settings of the test."""

    epsilon: float = EPSILON
    """How much more often a person may be the better one, because persons cost more."""
    level: float = LEVEL
    """False discovery rate of Benjamini and Yekutieli."""
    min_persons: int = MIN_PERSONS
    """An item with fewer answers of persons is skipped."""
    min_items: int = MIN_ITEMS
    """A person with fewer items is skipped."""
    score: Score | None = None
    """`equality`, `neg-rmse`, `span-f1`, `equal-arcs`, `answer-f1` or `jaccard`; None: what fits the answers."""


class PersonTest(Record, frozen=True, kw_only=True):
    """The machine compared with one person."""

    worker: str
    items: int
    advantage: float
    """Share of the items where the machine is at least as close to the other persons."""
    person_advantage: float
    """Share of the items where the person is at least as close to them as the machine."""
    t: float | None
    """None where it is not finite: the difference is the same on all items."""
    p: float | None
    """One-sided; None where it is undefined."""
    p_adjusted: float | None
    """Adjusted by Benjamini and Yekutieli for the tests of all persons."""
    beaten: bool
    """Whether the machine may replace this person by the test."""


class AlternativeTest(Record, frozen=True, kw_only=True):
    """The test of one machine."""

    machine: str
    score: str
    epsilon: float
    level: float
    items: int
    """Items that the machine and enough persons judged."""
    skipped_items: int
    """Other items that persons judged."""
    skipped_persons: tuple[str, ...]
    """Persons with too few items."""
    persons: tuple[PersonTest, ...]
    winning_rate: float
    advantage: float
    """The average advantage probability."""
    low: float | None
    """Its 95% interval, over items."""
    high: float | None
    passed: bool


@dataclass(frozen=True, eq=False)
class Duels:
    """Each answer of a person against the machine's answer to the same item."""

    item: NDArray[np.int32]
    worker: NDArray[np.int32]
    machine_wins: Flags
    """The machine is at least as close to the others."""
    person_wins: Flags
    """The person is at least as close to the others as the machine."""
    items: int
    skipped_items: int


def compare_with_persons(
    table: Table, persons: Flags, machine: int, closeness: Closeness, min_persons: int
) -> Duels:
    """Compare the machine, a code of a worker, with each answer of the `persons`, a flag per worker."""
    theirs = np.full(len(table.items), -1, dtype=np.int32)
    own = table.worker == machine
    theirs[table.item[own]] = table.answer[own]
    judged = table.select(persons[table.worker])
    count = judged.per_item() if len(judged) else np.zeros(len(table.items), dtype=np.int64)
    kept = (count >= max(1, min_persons)) & (theirs >= 0)
    order = np.lexsort((judged.worker, judged.item))
    order = order[kept[judged.item[order]]]
    item, worker, answer = judged.item[order], judged.worker[order], judged.answer[order]
    machine_wins = np.zeros(len(order), dtype=bool)
    person_wins = np.zeros(len(order), dtype=bool)
    size = count[item]
    for m in np.unique(size).tolist():
        if m == 1:  # no other person to score against: neither wins, as in the reference
            continue
        places = np.flatnonzero(size == m).reshape(-1, m)
        answers = answer[places]
        machines = theirs[item[places[:, 0]]]
        for out in range(m):
            others = np.delete(answers, out, axis=1)
            score = closeness.score_against(answers[:, out], others)
            machine_score = closeness.score_against(machines, others)
            machine_wins[places[:, out]] = machine_score >= score
            person_wins[places[:, out]] = score >= machine_score
    skipped = int(((count > 0) & ~kept).sum())
    return Duels(item, worker, machine_wins, person_wins, int(kept.sum()), skipped)


def run_alternative_test(
    table: Table,
    persons: Flags,
    machine: int,
    options: AlternativeOptions | None = None,
    *,
    closeness: Closeness | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> AlternativeTest:
    """Run the test of one machine: `persons` has a flag per worker of the table, `machine` is the code of a worker.

    With `resamples`, the average advantage probability has a bootstrap interval over items. Raises `BadInput` where no person has
    enough items.

    >>> items, answers = [str(i) for i in range(40)], ["yes", "no"] * 20
    >>> columns = [name for name in ("ann", "ben", "model:m#1") for _ in items]
    >>> table = Table.from_columns(items * 3, columns, answers * 3)
    >>> test = run_alternative_test(table, np.array([True, True, False]), 2)
    >>> test.winning_rate, test.advantage
    (1.0, 1.0)
    """
    options = options or AlternativeOptions()
    closeness = closeness or Closeness(table, options.score or choose_score(table))
    duels = compare_with_persons(table, persons, machine, closeness, options.min_persons)
    n = np.bincount(duels.worker, minlength=len(table.workers))
    answered = np.bincount(table.worker, minlength=len(table.workers)) > 0
    tested = np.flatnonzero(persons & (n >= max(1, options.min_items)))
    skipped = np.flatnonzero(persons & answered & (n < max(1, options.min_items)))
    if not len(tested):
        what = f"no person shares {options.min_items} items or more with {table.workers[machine]}"
        raise BadInput(what, cure="let persons and the machine judge more of the same items")
    wins = np.bincount(duels.worker[duels.machine_wins], minlength=len(n))
    losses = np.bincount(duels.worker[duels.person_wins], minlength=len(n))
    unlike = duels.machine_wins != duels.person_wins
    squares = np.bincount(duels.worker[unlike], minlength=len(n))
    statistics = [
        t_statistic(int(losses[j] - wins[j]), int(squares[j]), int(n[j]), options.epsilon)
        for j in tested.tolist()
    ]
    p_values = [t_below(t, int(n[j]) - 1) for t, j in zip(statistics, tested.tolist(), strict=True)]
    beaten = reject_benjamini_yekutieli(p_values, options.level)
    adjusted = correct_benjamini_yekutieli(p_values)
    people = [
        PersonTest(
            worker=str(table.workers[j]),
            items=int(n[j]),
            advantage=float(wins[j] / n[j]),
            person_advantage=float(losses[j] / n[j]),
            t=_finite(t),
            p=_finite(p),
            p_adjusted=_finite(p_adjusted),
            beaten=is_beaten,
        )
        for j, t, p, p_adjusted, is_beaten in zip(
            tested.tolist(), statistics, p_values, adjusted, beaten, strict=True
        )
    ]
    advantage = float(np.mean([row.advantage for row in people]))
    rows = tuple(sorted(people, key=lambda row: row.worker))
    low = high = float("nan")
    if resamples:
        low, high = _advantage_interval(duels, tested, len(table.items), resamples, seed)
    rate = sum(beaten) / len(rows)
    return AlternativeTest(
        machine=str(table.workers[machine]),
        score=closeness.score,
        epsilon=options.epsilon,
        level=options.level,
        items=duels.items,
        skipped_items=duels.skipped_items,
        skipped_persons=tuple(str(table.workers[j]) for j in skipped.tolist()),
        persons=rows,
        winning_rate=rate,
        advantage=advantage,
        low=_finite(low),
        high=_finite(high),
        passed=rate >= PASSING_RATE,
    )


def t_statistic(total: int, squares: int, n: int, epsilon: float) -> float:
    """Student's t of a mean against epsilon, from whole sums, so that a constant difference is known for one.

    It is then infinite, or NaN where the constant is epsilon or there is one item only.
    """
    if n < 2:
        return math.nan
    distance = total / n - epsilon
    spread = n * squares - total * total
    if spread == 0:
        return math.copysign(math.inf, distance) if distance else math.nan
    return distance / math.sqrt(spread / (n * (n - 1)) / n)


def _advantage_interval(
    duels: Duels, tested: NDArray[np.int64], items: int, resamples: int, seed: int
) -> tuple[float, float]:
    """The 95% interval of the average advantage probability, over items that have a duel."""
    used, place = np.unique(duels.item, return_inverse=True)
    workers = int(tested.max()) + 1

    def weigh(weights: Floats) -> float:
        drawn = weights[place]
        n = sum_weights(duels.worker, drawn, workers)[tested]
        wins = sum_weights(duels.worker, drawn * duels.machine_wins, workers)[tested]
        seen = n > 0
        return float((wins[seen] / n[seen]).mean()) if seen.any() else float("nan")

    measure = WeighedMeasure("advantage", NOMINAL, len(used), weigh)
    drawn = bootstrap(measure, np.arange(len(used)), resamples=resamples, seed=seed)
    return percentile_interval(drawn, None)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
