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
