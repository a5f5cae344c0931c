"""The leak budget: counts of what can be shown against brute force, and bounds on what it allows."""

from __future__ import annotations

from itertools import product
from math import log2
from pathlib import Path

import msgspec
import pytest
from tests.board.conftest import CARD, make_examples

from nikawa.board.job import NewBoard, create_board
from nikawa.board.ladder import climb
from nikawa.board.leakage import (
    TestLabels,
    accuracy_bound,
    count_levels,
    divergence,
    gain_of,
    label_bits,
    ladder_bits,
    monotone_bits,
    overfit_bound,
    pool_tests,
    sum_leaks,
    worst_ladder_bits,
)
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.records import Dataset


@pytest.mark.parametrize(("tries", "levels"), [(1, 4), (3, 4), (5, 3)])
def test_no_more_is_shown_than_was_counted(tries: int, levels: int) -> None:
    """All runs of a small ladder, enumerated: the different things it shows are no more than the bits allow."""
    values = [100 * level / (levels - 1) for level in range(levels)]
    step = 100 / (levels - 1)
    seen = set()
    by_bests: dict[int, set[tuple[float | None, ...]]] = {}
    for scores in product(values, repeat=tries):
        shown, bests, transcript = None, 0, list[float | None]()
        for score in scores:
            rung = climb(shown, score, 0.0, step, bests)
            shown, bests = rung.shown, bests + rung.is_new_best
            transcript.append(rung.shown if rung.is_new_best else None)
        seen.add(tuple(transcript))
        by_bests.setdefault(bests, set()).add(tuple(transcript))
    assert log2(len(seen)) <= worst_ladder_bits(tries, levels) + 1e-9
    for bests, transcripts in by_bests.items():
        assert log2(len(transcripts)) <= ladder_bits(tries, bests, levels)


def test_monotone_sequences_are_counted() -> None:
    sequences = [s for s in product(range(4), repeat=3) if list(s) == sorted(s)]
    assert monotone_bits(3, 4) == pytest.approx(log2(len(sequences)))


def test_the_bits_of_what_was_shown_grow() -> None:
    for levels in (101, 1_001):
        for tries in range(40):
            for bests in range(min(tries, levels) + 1):
                now = ladder_bits(tries, bests, levels)
                assert ladder_bits(tries + 1, bests, levels) >= now
                if bests < levels // 3:
                    assert ladder_bits(tries + 1, bests + 1, levels) >= now


def test_bits_allow_an_accuracy() -> None:
    """The bound inverts n * d(a || q); all label bits allow everything, and reading k of n labels stays below its bits."""
    assert accuracy_bound(0.0, 1_000, 0.4) == pytest.approx(0.4)
    bound = accuracy_bound(100, 1_000, 0.4)
    assert 1_000 * divergence(bound, 0.4) == pytest.approx(100)
    for known in (10, 100, 900):
        assert 0.5 + known / 2_000 <= accuracy_bound(known, 1_000, 0.5)
    assert accuracy_bound(1_000, 1_000, 0.5) == 1.0


def test_the_ladder_allows_least() -> None:
    gains = gain_of(100, 2_000, 0.5, 1.0)
    assert gains["ladder"][0] < gains["rounded"][0] / 2 < gains["exact"][0] / 2
    assert 0.5 < gains["ladder"][1] < gains["rounded"][1] < gains["exact"][1] <= 1
    assert overfit_bound(gains["ladder"][0], 2_000) < overfit_bound(gains["exact"][0], 2_000)


def test_the_budget_adds_up_by_account_and_for_all() -> None:
    tests = [TestLabels("nli", "test", 1_000, label_bits([500, 500]), 0.5)]
    rows = [
        ("nli", "test", "a", "score", 4, 20.0),
        ("nli", "test", "a", "slice", 2, 10.0),
        ("nli", "test", "b", "score", 9, 40.0),
        ("nli", "test", None, "score", 1, 6.0),
        ("other", "test", "a", "score", 1, 99.0),
    ]
    everybody, first, second = sum_leaks(rows, tests)
    assert (everybody.account, everybody.bits) == (None, 76.0)
    assert (first.account, second.account) == ("b", "a")
    assert second.by_kind == {"score": 20.0, "slice": 10.0}
    assert everybody.share == pytest.approx(76 / tests[0].bits)
    (unused,) = sum_leaks([], tests)
    assert unused.bits == 0
    assert unused.accuracy == pytest.approx(0.5)


def test_tests_with_common_items_are_one_pool() -> None:
    sets = {"a": frozenset("12"), "b": frozenset("34"), "c": frozenset("23")}
    assert pool_tests(sets) == [("a", "b", "c")]


def test_a_new_board_warns_of_splits_with_common_items(tmp_path: Path) -> None:
    """The public scores of items that are in the final split too would be no surprise there."""
    test = make_examples(20, "test")
    final = [*make_examples(20, "final"), msgspec.structs.replace(test[3], id="again")]
    splits = {"train": tuple(make_examples(5, "train")), "test": tuple(test), "final": tuple(final)}
    data = Dataset(name="open", language="ja", version="1", card=CARD, splits=splits)
    data.save(tmp_path / "open")
    options = HideOptions(splits=("test", "final"))
    hide(str(tmp_path / "open"), tmp_path / "tides", tmp_path / "keys.jsonl", options=options)
    new = NewBoard(
        datasets=(tmp_path / "tides",),
        keys=(tmp_path / "keys.jsonl",),
        final=("final",),
        closes="2027-03-31T23:59:59+09:00",
    )
    notes = create_board(tmp_path / "board", new).notes
    (note,) = (note for note in notes if "in common" in note)
    assert "tides:test" in note
    assert "tides:final" in note


def test_levels_are_those_of_the_scale() -> None:
    assert count_levels(1.0, -100.0, 100.0) == 201
    assert count_levels(0.0, n=50) == 51
