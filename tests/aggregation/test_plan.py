"""Plans: Spearman-Brown, the intraclass correlation, panels drawn and modelled, wishes and costs."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pytest

from nikawa.aggregation.plan import (
    Panels,
    PlanGoal,
    answers_needed,
    fill_rule,
    grid,
    icc,
    plan,
    spearman_brown,
)
from nikawa.aggregation.table import Table
from nikawa.datasets.load import read_judgements
from nikawa.errors import BadInput


def numbers(items: int = 400, workers: int = 4, noise: float = 1.0) -> Table:
    """Items of variance 1, noise of variance noise²: the reliability of one answer is 1 / (1 + noise²)."""
    random = np.random.default_rng(1)
    true = random.normal(0, 1, items)
    item, worker = np.divmod(np.arange(items * workers), workers)
    return Table.from_columns(item, worker, true[item] + random.normal(0, noise, len(item)))


def labels(items: int = 400, workers: int = 6, skill: float = 0.8) -> Table:
    random = np.random.default_rng(2)
    true = random.integers(0, 2, items)
    item, worker = np.divmod(np.arange(items * workers), workers)
    right = random.random(len(item)) < skill
    return Table.from_columns(item, worker, np.where(right, true[item], 1 - true[item]).astype(str))


def test_spearman_brown() -> None:
    assert spearman_brown(0.5, 4) == pytest.approx(0.8)
    assert spearman_brown(-0.1, 4) == 0.0
    assert answers_needed(0.5, 0.8) == 4
    assert answers_needed(0.5, 0.81) == 5
    assert answers_needed(0.0, 0.8) is None


def test_intraclass_correlation() -> None:
    assert icc(numbers(4000)) == pytest.approx(0.5, abs=0.03)
    table = numbers(30)
    wide = table.numbers.reshape(30, 4)
    between = 4 * wide.mean(axis=1).var(ddof=1)
    within = wide.var(axis=1, ddof=1).mean()
    assert icc(table) == pytest.approx((between - within) / (between + 3 * within))


def test_numbers_need_as_many_as_the_formula_says() -> None:
    table = numbers(noise=0.7)
    told = plan(table, PlanGoal(reliability=0.9, items=100, price=2.0))
    single = icc(table)
    assert told.single == pytest.approx(single)
    assert told.workers == answers_needed(single, 0.9)
    row = next(row for row in told.rows if row.workers == told.workers)
    assert (row.judged, row.answers, row.cost) == (100, 100 * row.workers, 200.0 * row.workers)
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.reliability < row.high  # type: ignore[operator]


def test_yield_under_a_rule_and_its_cost() -> None:
    told = plan(
        labels(), PlanGoal(reliability=None, yield_=0.9, rule="votes:{half}/{k}", items=90, most=6)
    )
    assert told.workers == 3
    two, three = told.rows[0], told.rows[1]
    assert two.yield_ == pytest.approx(0.8**2 + 0.2**2, abs=0.03)
    assert three.yield_ == 1.0
    assert two.judged == int(np.ceil(90 / two.yield_))


def test_labels_settle_alike_more_often_with_more_workers() -> None:
    told = plan(labels(), PlanGoal(most=11))
    odd = [row.reliability for row in told.rows if row.workers % 2]
    assert odd == sorted(odd, key=lambda value: value or 0.0)
    assert [row.how for row in told.rows[:3]] == ["drawn", "drawn", "modelled"]
    p = 0.8**3 + 3 * 0.8**2 * 0.2
    assert told.rows[1].reliability == pytest.approx(p * p + (1 - p) ** 2, abs=0.03)


def test_the_model_fits_what_can_be_drawn() -> None:
    table = labels(workers=9)
    panels = Panels(table)
    drawn = panels.draw(3).counts().max(axis=1).mean()
    panels.per_item = panels.per_item.copy()
    panels.per_item[:] = 2
    modelled = panels.draw(3).counts().max(axis=1).mean()
    assert modelled == pytest.approx(drawn, abs=0.05)


def test_modelled_panels_are_near_the_truth() -> None:
    told = plan(labels(items=800, workers=5), PlanGoal(most=7))
    for row in told.rows:
        k, half = row.workers, row.workers // 2 + 1
        wins = sum(comb(k, j) * 0.8**j * 0.2 ** (k - j) for j in range(half, k + 1))
        loses = sum(comb(k, j) * 0.2**j * 0.8 ** (k - j) for j in range(half, k + 1))
        assert row.yield_ == pytest.approx(wins + loses, abs=0.04)
        assert row.reliability == pytest.approx(
            (wins**2 + loses**2) / (wins + loses) ** 2, abs=0.05
        )


@pytest.mark.parametrize("categories", [1, 2, 3, 7, 12])
def test_the_grid_lies_on_the_simplex(categories: int) -> None:
    points = grid(categories)
    assert points.shape[1] == categories
    assert points.sum(axis=1) == pytest.approx(np.ones(len(points)))
    assert (points > 0).all()
    assert (points.argmax(axis=1) == categories - 1).any()


def test_klue_sts_as_a_pilot(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("klue-sts", data=shared_data), "score")
    told = plan(table, PlanGoal(reliability=0.9, rule="mean+sd<=2", items=1_000, price=10))
    assert told.single == pytest.approx(0.7478, abs=5e-5)
    assert told.workers == answers_needed(0.7478, 0.9) == 4
    assert told.rows[3].cost == pytest.approx(40_000, rel=0.02)


def test_the_same_seed_the_same_plan() -> None:
    assert plan(labels(), PlanGoal(most=4)) == plan(labels(), PlanGoal(most=4))


def test_wishes_that_cannot_be() -> None:
    with pytest.raises(BadInput, match="not between 0 and 1"):
        plan(labels(), PlanGoal(reliability=1.0))
    with pytest.raises(BadInput, match="fewer than two items"):
        plan(Table.from_columns([0, 1], [0, 0], ["a", "b"]))
    hopeless = plan(labels(skill=0.5), PlanGoal(reliability=0.99, most=3))
    assert hopeless.workers is None


def test_a_unanimous_pilot() -> None:
    told = plan(Table.from_columns([0, 0, 1, 1], [0, 1, 0, 1], list("aaaa")), PlanGoal(most=4))
    assert told.single is None
    assert [(row.reliability, row.yield_) for row in told.rows] == [(1.0, 1.0)] * 3
    assert (
        plan(Table.from_columns([0, 0, 1, 1], [0, 1, 0, 1], [3, 3, 3, 3]), PlanGoal(most=3)).workers
        is None
    )


def test_measurements_and_free_text() -> None:
    told = plan(numbers(items=60), PlanGoal(rule="mean+variance<1"))
    assert [row.workers for row in told.rows] == [1, 2, 3, 4]
    assert told.rows[0].yield_ == 1.0 > told.rows[3].yield_ > 0
    words = [f"語{i}" for i in range(300)]
    with pytest.raises(BadInput, match="300 different answers"):
        plan(Table.from_columns([i // 2 for i in range(300)], [0, 1] * 150, words))


def test_filled() -> None:
    assert fill_rule("votes:{half}/{k}", 10) == "votes:6/10"
