"""Confusion over runs, and each label on its own."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.analysis.set_analysis import average_confusion


def test_counts_are_means_and_labels_have_their_own_scores() -> None:
    gold = ["a", "a", "b", "b"]
    answers = [["a", "b", "b", "b"], ["a", "a", "b", "(unread)"]]
    each = [
        {"a": {"a": 1, "b": 1}, "b": {"a": 0, "b": 2}},
        {"a": {"a": 2, "b": 0, "(unread)": 0}, "b": {"a": 0, "b": 1, "(unread)": 1}},
    ]
    found = average_confusion(each, gold, answers, np.arange(4), resamples=200)
    assert found.classes[1].f1.low is None
    found = average_confusion(
        each, gold * 3, [run * 3 for run in answers], np.arange(12), resamples=200
    )
    assert found.columns == ("a", "b", "(unread)")
    assert found.counts["a"] == {"a": 1.5, "b": 0.5, "(unread)": 0.0}
    a, b = found.classes
    assert a.precision.value == 1.0
    assert a.recall.value == pytest.approx(0.75)
    assert b.precision.value == pytest.approx((2 / 3 + 1) / 2)
    assert (b.gold, b.answered) == (6, 6.0)
    assert b.f1.low is not None
    assert 0 <= b.f1.low <= b.f1.value <= 1  # type: ignore[operator]


def test_a_label_that_is_never_answered_has_no_precision() -> None:
    found = average_confusion([{"a": {"b": 1}}], ["a"], [["b"]], np.arange(1), resamples=100)
    assert found.classes[0].precision.value is None
    assert found.classes[0].recall.value == 0.0
