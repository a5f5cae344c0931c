"""Products that are summed a few groups at a time are those that are summed at once."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.stats.resample import sum_groups, sum_products


def test_sums_do_not_depend_on_how_many_groups_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    units = np.append(np.arange(40), draw.integers(0, 40, 300))
    left, right = draw.random((340, 5)) < 0.5, draw.random((340, 2))
    matrix = (left[:, :, None] * right[:, None, :]).reshape(340, -1)
    for size in (1, 70, 1000, 1_000_000):
        monkeypatch.setattr("nikawa.stats.resample.MAX_PRODUCTS_AT_ONCE", size)
        assert (sum_products(left, right, units) == sum_groups(matrix, units)).all()


def test_groups_in_any_order_have_the_sums_of_their_items(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    matrix = draw.random((300, 3))
    mixed = np.append(np.arange(50), draw.integers(0, 50, 250))
    for units in (mixed, np.sort(mixed), np.arange(300), np.zeros(300, dtype=np.int64)):
        whole = sum_groups(matrix, units)
        for group in range(units.max() + 1):
            assert whole[group] == pytest.approx(matrix[units == group].sum(axis=0))
        monkeypatch.setattr("nikawa.stats.resample.MAX_PRODUCTS_AT_ONCE", 30)
        assert (sum_groups(matrix, units) == whole).all()
        monkeypatch.undo()
    assert sum_groups(matrix[:0], mixed[:0]).shape == (0, 3)
