"""Lexical overlap and its relation to being right."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.checks.overlap import mean_share, overlap_bins, rank_correlation, shared_tokens
from nikawa.metrics.base import mean
from nikawa.stats.masks import Sample


def test_shares_are_of_tokens_as_often_as_they_occur() -> None:
    found = shared_tokens(
        [(["a", "a", "b", "c"], frozenset("ac")), ([], frozenset("a")), (["x"], frozenset())]
    )
    assert found.shares.tolist() == [0.75, 0.0, 0.0]
    assert found.pooled == pytest.approx(3 / 5)
    share = mean_share(found, np.arange(3), resamples=100)
    assert share.value == pytest.approx(0.25)
    assert share.low is None
    many = shared_tokens([(["a", "b"], frozenset("a"))] * 6 + [(["x"], frozenset())] * 6)
    wide = mean_share(many, np.arange(12), resamples=100)
    assert wide.value == pytest.approx(0.25)
    assert wide.low is not None
    assert 0 <= wide.low < 0.25


def test_bins_go_from_low_to_high_and_keep_equal_shares_together() -> None:
    shares = np.array([0.0] * 50 + [1.0] * 50)
    detail = np.array([0.0, 1.0] * 25 + [1.0] * 50)
    low, high = overlap_bins(
        shares, Sample([mean(detail)], np.arange(100)), scale=100, resamples=100
    )
    assert (low.n, low.value, high.n, high.value) == (50, 50.0, 50, 100.0)
    assert (low.most, high.least) == (0.0, 1.0)


def test_rank_correlation() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert rank_correlation(x, x**3, np.arange(5), resamples=100).value == pytest.approx(1.0)
    assert rank_correlation(
        x, np.array([2.0, 1, 4, 3, 5]), np.arange(5), resamples=100
    ).value == pytest.approx(0.8)
    assert rank_correlation(x, np.ones(5), np.arange(5), resamples=100).value is None


def test_a_rank_correlation_is_the_same_from_any_number_of_items_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(0)
    x, y, units = draw.random(200), draw.random(200).round(1), draw.permutation(200) // 4
    whole = rank_correlation(x, y, units, resamples=100)
    monkeypatch.setattr("nikawa.checks.overlap.ITEMS_AT_ONCE", 7)
    monkeypatch.setattr("nikawa.stats.resample.MAX_PRODUCTS_AT_ONCE", 60)
    assert rank_correlation(x, y, units, resamples=100) == whole
    assert whole.low is not None
