"""Paired tests: by kinds and by units alike, and honest about few seeds."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

from nikawa.metrics import Items, metrics
from nikawa.metrics.base import mean
from nikawa.stats import paired
from nikawa.stats.distributions import t_p, t_quantile
from nikawa.stats.paired import compare_pairs, compare_seeds
from nikawa.stats.resample import mcnemar


def sides(n: int, seed: int = 0) -> list[tuple[Any, Any]]:
    """Accuracy and macro-F1 of two invented systems."""
    generator = np.random.default_rng(seed)
    gold = generator.integers(0, 3, n).tolist()
    given = [[g if generator.random() < p else (g + 1) % 3 for g in gold] for p in (0.7, 0.73)]
    items = [Items(gold, answers, labels=(0, 1, 2)) for answers in given]
    names = ("accuracy", "macro-f1")
    return [tuple(metrics()[name].evaluate(x, "official") for x in items) for name in names]  # type: ignore[misc]


def test_kinds_give_the_figures_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, groups = sides(700), np.arange(700) // 2
    by_kind = compare_pairs(pairs, groups, rounds=400)
    monkeypatch.setattr(paired, "MAX_KINDS", 0)
    assert compare_pairs(pairs, groups, rounds=400) == by_kind


def test_drawn_kinds_agree_with_drawn_units(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, groups = sides(700), np.arange(700)
    units = compare_pairs(pairs, groups, rounds=4000)
    monkeypatch.setattr(paired, "MAX_UNITS_DRAWN", 0)
    for one, two in zip(units, compare_pairs(pairs, groups, rounds=4000), strict=True):
        assert one.smallest == pytest.approx(two.smallest, rel=0.05)
        assert one.difference.low == pytest.approx(two.difference.low, abs=0.004)
        assert one.difference.p == pytest.approx(two.difference.p, abs=0.03)


def test_many_items_are_never_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("draw_units", "draw_coins"):
        monkeypatch.delattr(paired, name)
    accuracy, f1 = compare_pairs(sides(20_000), np.arange(20_000))
    assert accuracy.difference.low < accuracy.difference.value < accuracy.difference.high
    assert f1.difference.p < 0.01


def test_a_rounded_difference_is_no_rarer_than_its_own_exchange() -> None:
    """The official Pearson is in float32. Two of the 64 exchanges of six items are none and all: p is about 2 in 64."""
    gold, pearson = [4.2, 0.8, 4.8, 4.4, 4.6, 0.2], metrics()["pearson"]
    near, far = [4.1, 0.9, 4.7, 4.5, 4.4, 0.3], [4.2, 0.8, 4.0, 1.5, 4.6, 1.0]
    assert pearson.standardise is not None
    sides = [pearson.evaluate(Items(gold, pearson.standardise(x)), "official") for x in (near, far)]
    (test,) = compare_pairs([(sides[0], sides[1])], np.arange(6), rounds=4000)
    assert test.difference.value == sides[1].value - sides[0].value  # as the official code has it
    assert test.difference.p == pytest.approx(2 / 64, abs=0.01)


def test_mcnemar_is_the_binomial_tail() -> None:
    for only_a, only_b in ((0, 5), (3, 9), (20, 31), (40, 40)):
        a = np.array([1.0] * only_a + [0.0] * only_b)
        n, k = only_a + only_b, min(only_a, only_b)
        wanted = min(1.0, 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n)
        assert mcnemar(a, 1 - a) == (only_a, only_b, wanted)


def test_students_t_as_in_scipy() -> None:
    from scipy import stats

    for df in (1.0, 1.7, 2.0, 4.5, 30.0, 1e6):
        assert t_quantile(0.975, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-8)
        for t in (0.0, 0.3, 2.0, 12.7, 1e4):
            assert t_p(-t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-8, abs=1e-280)


def drawn(generator: np.random.Generator, runs: int, sd: float, n: int = 400) -> list[Any]:
    """Runs of one system whose accuracy differs by seed."""
    return [
        mean((generator.random(n) < 0.8 + sd * generator.normal()).astype(float))
        for _ in range(runs)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), [(2, 2), (3, 3), (1, 3)])
def test_seeds_alone_are_rarely_called_a_difference(left: int, right: int) -> None:
    generator = np.random.default_rng((left, right))
    found = [
        compare_seeds(
            drawn(generator, left, 0.03), drawn(generator, right, 0.03), np.arange(400), rounds=100
        )
        for _ in range(150)
    ]
    called = sum(one.difference.p < 0.05 for one in found)
    assert called <= 16  # 5% of 150 is 7.5; more than 16 has a chance below one in 400
    assert called == sum(not one.difference.low <= 0 <= one.difference.high for one in found)


def test_a_large_difference_is_found_with_three_seeds() -> None:
    generator = np.random.default_rng(5)
    worse = [mean((generator.random(400) < 0.6).astype(float)) for _ in range(3)]
    found = compare_seeds(worse, drawn(generator, 3, 0.0), np.arange(400), rounds=500)
    assert found.difference.p < 0.01
    assert 0 < found.smallest < 0.2


def test_few_groups_have_no_detectable_difference() -> None:
    # Every group of three has the same difference, so resampled groups do not vary at all.
    first, second = mean(np.tile([1.0, 0.0, 0.0], 3)), mean(np.ones(9))
    (found,) = compare_pairs([(first, second)], np.arange(9) // 3, rounds=200)
    assert np.isnan([found.difference.low, found.difference.high, found.smallest]).all()
