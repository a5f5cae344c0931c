"""Slices: what differs from the rest is told, what does not is not, however many are looked at."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nikawa.metrics.base import Floats, mean
from nikawa.stats.distributions import normal_p
from nikawa.stats.masks import Sample
from nikawa.stats.slice_tests import (
    cross_slices,
    fisher_p,
    intraclass_correlation,
    measure_slices,
    score_p,
    wald_p,
)
from nikawa.stats.slices import Mask, SliceMask


def sample(
    detail: Floats, units: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
) -> Sample:
    where = np.arange(len(detail)) if units is None else units
    return Sample([mean(detail)], where, detail, binary=bool(np.isin(detail, (0, 1)).all()))


def part(mask: Mask, name: str = "a") -> SliceMask:
    return SliceMask("tag", name, mask)


def test_a_hard_slice_is_told_apart_and_an_ordinary_one_is_not() -> None:
    draw = np.random.default_rng(0)
    hard, other = np.arange(1_000) < 100, np.arange(1_000) % 3 == 0
    detail = (draw.random(1_000) < np.where(hard, 0.5, 0.8)).astype(float)
    first, second = measure_slices(
        sample(detail), [part(hard, "hard"), part(other, "other")], scale=100
    )
    assert first.value == pytest.approx(100 * detail[hard].mean())
    assert first.rest == pytest.approx(100 * detail[~hard].mean())
    assert first.difference == pytest.approx(100 * (detail[hard].mean() - detail[~hard].mean()))
    assert first.difference_high is not None
    assert first.difference_high < 0
    assert first.p_holm is not None
    assert first.p_holm < 0.001
    assert second.p_holm is not None
    assert second.p_holm > 0.05
    assert (first.n, first.units) == (100, 100)


def test_a_slice_and_its_complement_are_one_test() -> None:
    detail = (np.random.default_rng(1).random(300) < 0.7).astype(float)
    mask = np.arange(300) < 120
    one, two = measure_slices(
        sample(detail), [part(mask, "seen"), part(~mask, "unseen")], resamples=200
    )
    assert one.p_holm == two.p_holm == pytest.approx(one.p)


def test_small_slices_and_the_whole_are_not_tested() -> None:
    detail = np.ones(50)
    few, whole = measure_slices(
        sample(detail), [part(np.arange(50) < 9), part(np.ones(50, dtype=bool))]
    )
    assert (few.p, few.p_holm) == (None, None)
    assert (whole.rest, whole.difference, whole.p) == (None, None, None)


def test_few_groups_have_a_value_but_no_interval() -> None:
    """However many items they hold: what is intraclass_correlation in nine groups may not be in a tenth."""
    units = np.arange(100) // 4
    nine, ten = np.arange(100) < 36, np.arange(100) < 40
    found = sample(np.tile(np.array([0.0, 1.0]), 50), units)
    few, enough = measure_slices(found, [part(nine), part(ten)], resamples=200)
    assert (few.units, few.value, few.low, few.high, few.difference_low) == (
        9,
        0.5,
        None,
        None,
        None,
    )
    assert enough.units == 10
    assert None not in (enough.low, enough.high, enough.difference_low)
    cell = cross_slices(found, [part(nine)], [part(ten)], resamples=200)[0]
    assert (cell.n, cell.value, cell.low, cell.high) == (36, 0.5, None, None)


def test_no_parts_no_slices() -> None:
    assert measure_slices(sample(np.ones(5)), []) == []


@pytest.mark.parametrize(("size", "grouped"), [(20, False), (200, False), (200, True)])
def test_the_tests_hold_their_level(size: int, grouped: bool) -> None:
    """Where nothing differs, about one in twenty is told; groups of like items do not make it more."""
    told = 0
    for trial in range(300):
        draw = np.random.default_rng((7, trial))
        if grouped:  # 100 groups of 6 items that are right or wrong together nine times in ten
            units = np.repeat(np.arange(100), 6)
            shared = (draw.random(100) < 0.8)[units]
            detail = np.where(draw.random(600) < 0.9, shared, draw.random(600) < 0.8).astype(float)
            mask = np.isin(units, draw.permutation(100)[: size // 6])
        else:
            units, detail = np.arange(600), (draw.random(600) < 0.9).astype(float)
            mask = np.isin(units, draw.permutation(600)[:size])
        rho = intraclass_correlation(detail, units)
        p = score_p(detail, units, mask, rho)
        told += (
            max(p, fisher_p(int(detail[mask].sum()), int(mask.sum()), int(detail.sum()), 600))
            < 0.05
        )
    assert told <= 30


def test_alike() -> None:
    draw = np.random.default_rng(3)
    units = np.repeat(np.arange(200), 4)
    assert intraclass_correlation(draw.random(200)[units], units) == pytest.approx(1.0)
    assert intraclass_correlation(draw.random(800), units) == pytest.approx(0.0, abs=0.1)
    assert intraclass_correlation(draw.random(5), np.arange(5)) == 0.0
    assert intraclass_correlation(np.ones(8), np.repeat([0, 1], 4)) == 0.0


def test_fisher() -> None:
    """Known tables: 3 of 4 cups of tea; 8 of 10 against 1 of 6."""
    assert fisher_p(3, 4, 4, 8) == pytest.approx(0.4857142857)
    assert fisher_p(8, 10, 9, 16) == pytest.approx(0.0349650350)
    assert fisher_p(5, 5, 5, 5) == 1.0


def test_wald_and_the_normal_curve() -> None:
    assert normal_p(1.959963984540054, 1.0) == pytest.approx(0.05)
    assert (normal_p(0.0, 0.0), normal_p(0.1, 0.0)) == (1.0, 0.0)
    assert wald_p(0.1, np.array([np.nan] * 5 + [0.1] * 5)) is None
    assert wald_p(0.5, np.array([0.4, 0.5, 0.6] * 40)) == pytest.approx(0, abs=1e-6)


def test_cross_cells() -> None:
    detail = np.array([1, 0, 1, 1, 0, 1.0])
    labels = [SliceMask("label", "x", np.arange(6) < 3), SliceMask("label", "y", np.arange(6) >= 3)]
    bins = [
        SliceMask("bin", "1-2", np.arange(6) % 2 == 0),
        SliceMask("bin", "9-10", np.zeros(6, dtype=bool)),
    ]
    cells = cross_slices(sample(detail), labels, bins, resamples=100)
    values = {(c.label, c.bin): c.value for c in cells}
    assert {(c.label, c.bin): c.n for c in cells}["y", ""] == 3
    assert values["x", "1-2"] == 1.0
    assert values["x", "9-10"] is None
    assert values["y", ""] == pytest.approx(2 / 3)
    assert values["", ""] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_many_slices_of_many_items_take_seconds() -> None:
    draw = np.random.default_rng(4)
    detail = (draw.random(10_000) < 0.8).astype(float)
    parts = [part(draw.random(10_000) < 0.1, str(i)) for i in range(30)]
    begin = time.process_time()
    found = measure_slices(sample(detail, draw.permutation(10_000)), parts, resamples=1_000)
    assert len(found) == 30
    assert time.process_time() - begin < 10
