"""Doubted gold, and surprising errors."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.analysis.set_analysis import (
    most_frequent,
    surprises_by_error,
    surprises_by_probability,
    surprises_by_score,
)
from nikawa.analysis.suspects import find_doubts, label_thresholds
from nikawa.records import Example

EXAMPLES = [Example(id=f"e{i}", inputs={"text": str(i)}, gold={"label": "a"}) for i in range(4)]


def test_thresholds_are_mean_probabilities_where_a_label_is_gold() -> None:
    table = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    assert label_thresholds(table, np.array([0, 0, 1])).tolist() == pytest.approx([0.8, 0.8])
    assert label_thresholds(table, np.array([0, 0, 0]))[1] == np.inf


def test_confident_disagreement_is_found_and_hesitation_is_not() -> None:
    table = np.array([[0.9, 0.1], [0.05, 0.95], [0.4, 0.6], [0.1, 0.9], [0.2, 0.8], [0.0, 1.0]])
    gold = np.array([0, 0, 0, 1, 1, 0])
    found = find_doubts(table, gold).list()
    assert [(d.item, d.suggested) for d in found] == [(5, 1), (1, 1)]
    assert found[0].margin == pytest.approx(1.0)


def test_of_several_labels_that_beat_gold_the_surest_is_suggested() -> None:
    table = np.array([[0.1, 0.5, 0.4, 0.0], [0.2, 0.4, 0.4, 0.0], [0.9, 0.1, 0.0, 0.0]] * 2)
    gold = np.array([0, -1, 0, 0, 3, 2])
    limits = label_thresholds(table, gold)
    assert limits.tolist() == pytest.approx([1.1 / 3, np.inf, 0.0, 0.0])
    found = [(d.item, d.suggested, d.margin) for d in find_doubts(table, gold).list()]
    # label 1 is never gold, so nothing is sure enough of it
    expected = [(5, 0, 0.9), (1, 2, 0.4), (4, 2, 0.4), (0, 2, 0.3), (3, 2, 0.3)]
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])


def test_a_planted_error_comes_first() -> None:
    draw = np.random.default_rng(0)
    true = draw.integers(0, 3, 500)
    table = draw.dirichlet(np.ones(3), 500) * 0.3 + 0.7 * np.eye(3)[true]
    gold = true.copy()
    planted = np.arange(0, 500, 25)
    gold[planted] = (gold[planted] + 1) % 3
    found = find_doubts(table, gold).list()
    assert len(found) > len(planted) / 3  # the others are less sure than is usual for their label
    assert {d.item for d in found} <= set(planted.tolist())
    assert all(d.suggested == true[d.item] for d in found)


def test_surprises_by_probability() -> None:
    tables = np.array([[[0.1, 0.9], [0.6, 0.4], [0.01, 0.99], [0.3, 0.7]]])
    answers = np.array([[1, 0, 1, -1]])
    found = surprises_by_probability(EXAMPLES, ["a", "b"], tables, np.array([0, 0, 0, 0]), answers)
    assert [(s.example, s.gold, s.answer) for s in found] == [("e2", "a", "b"), ("e0", "a", "b")]
    assert found[1].bits == pytest.approx(3.321928)
    assert found[1].p_answer == pytest.approx(0.9)


def test_half_of_the_runs_are_not_enough() -> None:
    tables = np.full((2, 1, 2), 0.5)
    assert (
        surprises_by_probability(
            EXAMPLES[:1], ["a", "b"], tables, np.array([0]), np.array([[0], [1]])
        )
        == []
    )


def test_surprises_by_error_and_by_score() -> None:
    near = surprises_by_error(
        EXAMPLES[:3], [1.0, 2.0, 3.0], np.array([[1.5, 5.0, 4.5], [1.5, 4.0, 4.0]])
    )
    assert [(s.example, s.answer, s.wrong) for s in near] == [("e1", 4.5, 2), ("e2", 4.25, 1)]
    missed = surprises_by_score(
        EXAMPLES[:3],
        ["x", "y", "z"],
        [["x", "q", "z"], ["x", "q", "w"]],
        np.array([[1, 0, 1], [1, 0.2, 0]]),
    )
    assert [(s.example, s.answer, s.error) for s in missed] == [("e1", "q", 0.9), ("e2", "z", 0.5)]


def test_the_most_frequent_answer() -> None:
    assert most_frequent(["b", "a", "a"]) == "a"
    assert most_frequent([["x"], ["y"]]) == ["x"]
