"""Plan the alternative annotator test by simulation: how many items and persons it needs to pass a machine that deserves it.

The pilot's persons say how clear the items are. Each item has hidden shares of answers, fitted to the pilot as in `plan` (a mixture
over a grid, by maximum likelihood); persons answer by these shares, each on their own. A machine of accuracy A gives the item's most
probable answer with probability A, and else one of the other answers, in proportion to their shares. Studies of K persons and N items are drawn
again and again, the test is run on each, and the power is the share of the studies in which the machine passes. On a scale answers are
compared by their distance, as the test does; the scale must have few points.

A person who answers differently from the others in general is not modelled, so a real study needs rather more items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.alternative import PASSING_RATE, AlternativeOptions
from nikawa.aggregation.closeness import choose_score, refuse_huge_numbers
from nikawa.aggregation.machines import Mixed
from nikawa.aggregation.measure import MAX_CATEGORIES
from nikawa.aggregation.plan import Panels
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.trees import holds_trees
from nikawa.errors import BadInput
from nikawa.records import Record
from nikawa.stats.distributions import t_quantile, wilson_interval
from nikawa.stats.resample import benjamini_yekutieli_limits

PERSONS = (3, 5, 8, 12)
ITEMS = (30, 50, 75, 100, 150, 200, 300, 400, 600, 800)
STUDIES = 400
"""Simulated studies for each number of persons."""
STUDIES_AT_ONCE = 50


@dataclass(frozen=True)
class AlternativeGoal:
    """What the study should be able to show."""

    accuracy: float | None = None
    """How often the machine gives the most probable answer; None: as the machines of the pilot do."""
    power: float = 0.8
    """Wished share of studies in which such a machine passes."""
    persons: Sequence[int] = PERSONS
    items: Sequence[int] = ITEMS
    studies: int = STUDIES


class AlternativePlanRow(Record, frozen=True, kw_only=True):
    """Studies of so many persons and items."""

    persons: int
    items: int
    power: float
    """Share of the studies in which the machine passes."""
    low: float
    high: float
    """Its 95% interval by Wilson, over simulated studies."""
    winning_rate: float
    """The mean winning rate."""
    answers: int
    """Answers of persons to pay for."""
    enough: bool


class AlternativePlan(Record, frozen=True, kw_only=True):
    """The power of each size of study, and the cheapest that is enough."""

    question: str
    items: int
    """Items of the pilot."""
    answers: int
    """Answers of persons in the pilot."""
    accuracy: float
    """Of the machine, as it was planned with."""
    person_accuracy: float
    """How often a person gives the most probable answer, by the fitted model."""
    epsilon: float
    power: float
    """The wished power."""
    studies: int
    """Simulated studies for each number of persons."""
    seed: int
    rows: tuple[AlternativePlanRow, ...]
    needed_persons: int | None
    """Of the cheapest study that is enough, by answers of persons; None where none is."""
    needed_items: int | None
    notes: tuple[str, ...] = ()


def plan_alternative(
    table: Table,
    mixed: Mixed | None,
    goal: AlternativeGoal,
    options: AlternativeOptions,
    *,
    seed: int = 0,
) -> AlternativePlan:
    """Plan the test from a pilot: a table of persons, and the same with machines where machines judged.

    Raises `BadInput` for answers that are neither labels nor a scale, and without an accuracy where no machine is in the pilot.
    """
    _check_goal(table, goal)
    panels = Panels(table, seed)
    points, posterior = panels.mixture
    weights = posterior.mean(axis=0)
    accuracy, notes = goal.accuracy, []
    if accuracy is None:
        accuracy = find_accuracy(mixed)
        notes.append(
            f"accuracy {accuracy:.3f} is how often the pilot's machines give the answer of most persons"
        )
    rows: list[AlternativePlanRow] = []
    is_scale = (options.score or choose_score(table)) == "neg-rmse"
    if is_scale:
        refuse_huge_numbers(table)
    values = table.values if is_scale else None
    for persons in sorted(goal.persons):
        rates = simulate(points, weights, accuracy, persons, goal, options, seed, values)
        for items, rate in zip(sorted(goal.items), rates, strict=True):
            passed = rate >= PASSING_RATE
            power = float(passed.mean())
            low, high = wilson_interval(power, len(rate))
            rows.append(
                AlternativePlanRow(
                    persons=persons,
                    items=items,
                    power=power,
                    low=low,
                    high=high,
                    winning_rate=float(rate.mean()),
                    answers=persons * items,
                    enough=power >= goal.power,
                )
            )
    best = min((row for row in rows if row.enough), key=lambda row: row.answers, default=None)
    if min(goal.items) < options.min_items:
        notes.append(f"a person with fewer than {options.min_items} items is not tested")
    notes.append(
        "the plan takes persons for interchangeable; if they differ, the study needs more items"
    )
    return AlternativePlan(
        question=table.question,
        items=len(table.items),
        answers=len(table),
        accuracy=accuracy,
        person_accuracy=float(weights @ points.max(axis=1)),
        epsilon=options.epsilon,
        power=goal.power,
        studies=goal.studies,
        seed=seed,
        rows=tuple(rows),
        needed_persons=None if best is None else best.persons,
        needed_items=None if best is None else best.items,
        notes=tuple(notes),
    )


def _check_goal(table: Table, goal: AlternativeGoal) -> None:
    if (
        find_kind(table) is not None
        or holds_spans(table)
        or holds_trees(table)
        or len(table.categories) > MAX_CATEGORIES
    ):
        what = f"the answers to {table.question!r} are not labels or points of a scale"
        cure = f"the test can be planned where at most {MAX_CATEGORIES} different answers occur"
        raise BadInput(what, cure=cure)
    if int(table.paired().sum()) < 2:
        cure = "let at least two persons judge the same items"
        raise BadInput("the pilot has fewer than two items with several answers", cure=cure)
    if goal.accuracy is not None:
        _check_share("accuracy of the machine", goal.accuracy)
    _check_share("power", goal.power)


def _check_share(name: str, value: float) -> None:
    if not 0 < value <= 1:
        what = f"the {name} {value:g} is not between 0 and 1, without 0"
        raise BadInput(what, cure="pass a value such as 0.8")


def find_accuracy(mixed: Mixed | None) -> float:
    """How often machines give the answer of most persons, on the items where there is one."""
    if mixed is None:
        what = "no machine judged the pilot, so its accuracy is not known"
        raise BadInput(what, cure="pass --accuracy, such as --accuracy 0.85")
    persons, machines = mixed.shares(of_machines=False), mixed.shares(of_machines=True)
    top = persons.argmax(axis=1)
    rows = np.arange(len(top))
    counted = (persons[rows, top] > 0.5) & (machines.sum(axis=1) > 0)
    if not counted.any():
        what = "no item has an answer of a machine and a majority of persons"
        raise BadInput(what, cure="pass --accuracy, such as --accuracy 0.85")
    return float(machines[rows, top][counted].mean())


def simulate(
    points: Floats,
    weights: Floats,
    accuracy: float,
    persons: int,
    goal: AlternativeGoal,
    options: AlternativeOptions,
    seed: int,
    values: Floats | None = None,
) -> list[Floats]:
    """For each number of items the winning rate of every simulated study; smaller studies are the start of larger ones.

    `values` are the points of a scale; None: answers are labels.
    """
    sizes = sorted(goal.items)
    rates: list[list[Floats]] = [[] for _ in sizes]
    ends = np.cumsum(points, axis=1)[:, :-1]
    machine_ends = np.cumsum(answer_shares(points, accuracy), axis=1)[:, :-1]
    cumulative = np.cumsum(weights / weights.sum())
    for start in range(0, goal.studies, STUDIES_AT_ONCE):
        count = min(STUDIES_AT_ONCE, goal.studies - start)
        generator = np.random.default_rng((seed, persons, start))
        shape = (count, sizes[-1])
        kinds = np.searchsorted(cumulative, generator.random(shape), side="right")
        kinds = np.minimum(kinds, len(points) - 1)
        answers = draw_answers(ends[kinds], generator.random((*shape, persons)))
        machine = draw_answers(machine_ends[kinds], generator.random((*shape, 1)))
        difference = compare_answers(answers, machine, values).astype(np.int32)
        totals = difference.cumsum(axis=1)
        squares = (difference * difference).cumsum(axis=1)
        for place, n in enumerate(sizes):
            rate = winning_rates(totals[:, n - 1], squares[:, n - 1], n, options)
            rates[place].append(rate)
    return [np.concatenate(parts) for parts in rates]


def answer_shares(points: Floats, accuracy: float) -> Floats:
    """How probable each answer of a machine is on each kind of item."""
    rows = np.arange(len(points))
    top = points.argmax(axis=1)
    rest = points.copy()
    rest[rows, top] = 0
    left = rest.sum(axis=1, keepdims=True)
    shares: Floats = (1 - accuracy) * np.divide(rest, left, out=np.zeros_like(rest), where=left > 0)
    shares[rows, top] += 1 - shares.sum(axis=1)
    return shares


def draw_answers(ends: Floats, drawn: Floats) -> NDArray[np.int8]:
    """Answers by the cumulative shares of each item: studies by items by workers."""
    answers = np.zeros(drawn.shape, dtype=np.int8)
    for category in range(ends.shape[-1]):
        answers += drawn > ends[..., category, None]
    return answers


def compare_answers(
    answers: NDArray[np.int8], machine: NDArray[np.int8], values: Floats | None = None
) -> NDArray[np.int8]:
    """-1 where the machine is closer to the other persons than the person is, 1 where the person is, else 0.

    Closer is who gives the label of more of them, or, with the `values` of a scale, who has the smaller sum of squared distances.
    """
    if values is not None:
        return _compare_numbers(values[answers], values[machine])
    persons = answers.shape[-1]
    own = np.full(answers.shape, -1, dtype=np.int8)  # an answer agrees with itself
    theirs = -(answers == machine).astype(np.int8)  # the person who is left out does not count
    for other in range(persons):
        column = answers[..., other, None]
        own += answers == column
        theirs += machine == column
    better: NDArray[np.int8] = np.sign(own - theirs).astype(np.int8)
    return better


def _compare_numbers(answers: Floats, machine: Floats) -> NDArray[np.int8]:
    others = answers.shape[-1] - 1
    total = answers.sum(axis=-1, keepdims=True) - answers
    # the squares of the others are in both sums of distances, and cancel
    own = others * answers * answers - 2 * answers * total
    theirs = others * machine * machine - 2 * machine * total
    better: NDArray[np.int8] = np.sign(np.round(theirs - own, 9)).astype(np.int8)
    return better


def winning_rates(
    totals: NDArray[np.int32], squares: NDArray[np.int32], n: int, options: AlternativeOptions
) -> Floats:
    """The winning rate of each study from the sums of the differences of each person: studies by persons.

    The tests are step-up by Benjamini and Yekutieli; a p below a limit is a t below its quantile.
    """
    persons = totals.shape[1]
    if n < max(2, options.min_items):
        return np.zeros(len(totals))
    limits = benjamini_yekutieli_limits(persons, options.level)
    quantiles = np.array([-t_quantile(1 - limit, n - 1) for limit in limits.tolist()])
    spread = n * squares.astype(np.float64) - totals.astype(np.float64) ** 2
    distance = totals / n - options.epsilon
    with np.errstate(divide="ignore", invalid="ignore"):
        t = distance / np.sqrt(spread / (n * (n - 1)) / n)
    t = np.sort(np.where(np.isnan(t), np.inf, t), axis=1)
    under = t <= quantiles
    beaten = np.where(under, np.arange(1, persons + 1), 0).max(axis=1)
    rates: Floats = beaten / persons
    return rates
