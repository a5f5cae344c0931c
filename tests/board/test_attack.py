"""An attacker with many submissions: what scores tell with and without the ladder. The full one: `python -m bench.board attack`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # bench is not part of the package

from bench.board import ATTACKS, Outcome, attack_board
from tests.soak.board_attack import attack

ITEMS, TRIES = 600, 250


def play(rule: str, name: str, accounts: int = 1) -> Outcome:
    return attack_board(rule, name, items=ITEMS, labels=2, tries=TRIES, accounts=accounts)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ATTACKS)
def test_the_ladder_tells_less_than_it_may_and_less_than_other_rules(name: str) -> None:
    exact, ladder = play("exact", name), play("ladder", name)
    assert exact.accuracy > 0.62
    assert ladder.accuracy < 0.6
    assert ladder.accuracy <= ladder.bound < 0.8
    assert ladder.bits < exact.bits / 8


def test_rounding_alone_does_not_help() -> None:
    assert play("rounded", "boost").accuracy > 0.62


def test_reading_items_one_by_one_needs_exact_scores() -> None:
    """Every other submission of the search reads a label for certain; rounded scores hide single items."""
    assert play("exact", "probe").accuracy > 0.5 + 0.8 * TRIES / ITEMS / 2
    assert play("rounded", "probe").accuracy < 0.62


def test_many_names_undo_the_ladder() -> None:
    """The docs tell owners: the ladder holds by account, so who may have an account matters."""
    assert play("ladder", "boost", accounts=TRIES).accuracy > 0.62


@pytest.mark.parametrize(("rule", "name"), [("exact", "probe"), ("ladder", "from below")])
def test_a_served_board_shows_what_the_simulation_shows(rule: str, name: str) -> None:
    """Each file goes through the interface of programs, the checker and the scorer: so the table of the docs is that of a real board."""
    found = attack(rule, name, items=120, tries=15)  # type: ignore[arg-type]
    assert found["differs_from_simulation"] == 0
    assert 1 < found["shown"] <= 15
    assert found["bits_counted"] >= found["bits"]
