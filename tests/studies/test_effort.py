"""Adaptive effort on published judgements: what the planner must not see, and the rule that is chosen."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from studies.effort import (
    Cell,
    Rule,
    Votes,
    buy,
    choose_rule,
    find_gold,
    is_same,
    make_rule,
    measure_same,
    run_cell,
    simulate_machine,
    spread_evenly,
    study,
    tune,
)

from nikawa.aggregation.table import Table
from studies import effort

Kind = Literal["labels", "numbers"]
RULE: Rule = (0.97, 10)


def draw_table(kind: Kind, items: int = 240, per_item: int = 5, seed: int = 1) -> Table:
    """Persons who err more on every fourth item."""
    rng = random.Random(seed)
    rows: list[tuple[str, str, Any]] = []
    for n in range(items):
        error = 0.45 if n % 4 == 0 else 0.08
        for worker in range(per_item):
            off = rng.choice((-1, 1)) if rng.random() < error else 0
            value = (n % 3) + 1 + off
            rows.append((str(n), f"w{worker}", value if kind == "numbers" else "abc"[value % 3]))
    names, workers, answers = ([row[part] for row in rows] for part in range(3))
    return Table.from_columns(names, workers, answers, "q")


def scramble_unbought(votes: Votes, bought: Any) -> Votes:
    """The same votes, with noise in place of every answer that was not bought."""
    rng = np.random.default_rng(9)
    places = np.arange(votes.answers.shape[1])
    unseen = (places >= bought[:, None]) & (votes.answers >= 0)
    noise = rng.integers(0, len(votes.categories), votes.answers.shape)
    answers = np.where(unseen, noise, votes.answers)
    return Votes(votes.name, votes.kind, votes.items, votes.categories, answers, votes.workers)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
@pytest.mark.parametrize("condition", ["persons", "machine 0.8"])
def test_nothing_of_the_full_vote_reaches_the_planner(kind: Kind, condition: str) -> None:
    """With noise in place of all that was not bought, the gold is another one and the purchases are the same."""
    votes = Votes.draw(draw_table(kind), "own", kind, 0)
    gold, _ = find_gold(votes)
    machine = simulate_machine(votes, condition, gold, 0)
    rule = make_rule(kind, RULE, 5, condition)
    bought, golds = buy(votes, rule, machine)
    assert 0 < bought.sum() < votes.full.sum()
    noisy = scramble_unbought(votes, bought)
    other, _ = find_gold(noisy)
    assert (other != gold).mean() > 0.02
    again, same_golds = buy(noisy, rule, machine)
    assert (again == bought).all()
    assert np.array_equal(golds, same_golds, equal_nan=True)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_the_rule_is_bought_with_whatever_gold_the_study_compares_with(
    monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    table = draw_table(kind)
    true = run_cell(table, "own", RULE, "persons", 1, None)
    monkeypatch.setattr(effort, "find_gold", noise_gold)
    noise = run_cell(table, "own", RULE, "persons", 1, None)
    assert (true.bought == noise.bought).all()
    assert true.same.mean() > 0.9
    assert noise.same.mean() < 0.6


def noise_gold(votes: Votes) -> Any:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, len(votes.categories), len(votes.items)).astype(np.float64)
    return gold, np.ones(len(gold), dtype=np.bool_)


def test_the_rule_comes_from_the_first_dataset_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "SAME", (0.9, 0.99))
    first = draw_table("labels")
    pages = [
        study([("one", "q", first), ("two", "q", other)], 1, conditions=["persons"])
        for other in (draw_table("labels", seed=2), draw_table("labels", items=60, seed=3))
    ]
    heads = [page.partition("\n")[0] for page in pages]
    assert heads[0] == heads[1]
    assert heads[0].startswith("Rule chosen on parts of one q: persons: 0.9")
    rows = [line for line in pages[0].splitlines() if "two q | persons | 0.9" in line]
    assert rows


def make_cell(same: float, cost: float) -> Cell:
    items = 2000
    wins = (np.arange(items) < same * items)[None, :]
    bought = (np.arange(items) < cost * items)[None, :].astype(np.int64)
    every = np.ones(items, dtype=np.bool_)
    return Cell(bought, wins, wins, np.ones(items, dtype=np.int64), every)


def test_the_cheapest_rule_that_surely_keeps_the_gold_is_chosen() -> None:
    cells = {
        (0.9, 0): [make_cell(0.97, 0.5)],
        (0.99, 0): [make_cell(0.991, 0.6)],  # its interval begins below 99%
        (0.995, 0): [make_cell(0.998, 0.8)],
        (0.995, 60): [make_cell(0.998, 0.7)],
        (0.999, 0): [make_cell(1.0, 0.9)],
    }
    assert choose_rule(cells) == (0.995, 60)
    assert choose_rule({rule: cells[rule] for rule in [(0.9, 0), (0.99, 0)]}) == (0.99, 0)


def test_adaptive_answers_recover_more_gold_than_as_many_spread_evenly() -> None:
    cell = run_cell(draw_table("labels", 600), "own", (0.97, 20), "persons", 2, None)
    figures = cell.measure()
    assert cell.cost < 0.8
    assert figures["same"][0] > 0.95
    assert figures["same"][1] > figures["even"][2]
    assert figures["same"][1] <= figures["same"][0] <= figures["same"][2]


def test_a_simulated_machine_is_as_accurate_as_its_name_says() -> None:
    for kind in ("labels", "numbers"):
        votes = Votes.draw(draw_table(kind, 3000), "own", kind, 0)
        gold, counted = find_gold(votes)
        machine = simulate_machine(votes, "machine 0.8", gold, 0)
        assert machine is not None
        values = np.array(votes.categories)[machine] if kind == "numbers" else machine
        right = np.abs(values - gold) <= 0.5 if kind == "numbers" else values == gold
        assert right[counted].mean() == pytest.approx(0.8, abs=0.03)
    assert simulate_machine(votes, "persons, estimated gold", gold, 0) is None


def test_all_answers_make_the_gold_and_none_makes_none() -> None:
    votes = Votes.draw(draw_table("labels"), "own", "labels", 0)
    gold, counted = find_gold(votes)
    assert is_same(votes, votes.full, gold)[counted].all()
    assert not is_same(votes, np.zeros_like(votes.full), gold).any()
    assert measure_same(votes, spread_evenly(votes, int(votes.full.sum()), 1)) == 1.0


def test_the_same_seed_gives_the_same_page_and_a_stopped_study_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(effort, "SAME", (0.95,))
    tables = [("one", "q", draw_table("labels", 90)), ("two", "q", draw_table("numbers", 90))]
    conditions = ["persons", "machine 0.9"]
    first = study(tables, 1, None, conditions)
    assert study(tables, 1, tmp_path, conditions) == first
    stored = sorted(tmp_path.iterdir())
    stored[0].unlink()
    assert study(tables, 1, tmp_path, conditions) == first
    assert sorted(tmp_path.iterdir()) == stored
    assert tune(tables[0][2], "one q", ["persons"], 1, tmp_path)["persons"][0] == 0.95
