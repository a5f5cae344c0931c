"""Intervals and tests: known cases, determinism, and the units that are resampled."""

from __future__ import annotations

import time
from math import comb

import numpy as np
import pytest

from nikawa.metrics import Items, metrics
from nikawa.metrics.klue_re import auprc_of
from nikawa.stats.resample import (
    MAX_WEIGHTS_AT_ONCE,
    bootstrap,
    bootstrap_all,
    bootstrap_p,
    both_tails,
    correct_holm,
    draw_swap_weights,
    draw_weights,
    mcnemar,
    number_groups,
    percentile_interval,
    two_sided_p,
)


def half_right(n: int) -> Items:
    return Items(["a"] * n, ["a", "b"] * (n // 2))


def test_groups_are_numbered_as_they_come() -> None:
    assert number_groups(["x", "y", "x", None]).tolist() == [0, 1, 0, 2]


def test_a_resample_draws_as_many_units_as_there_are() -> None:
    blocks = list(draw_weights(7, 1000, 0))
    weights = np.concatenate(blocks)
    assert weights.shape == (1000, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert weights.mean() == 1
    assert weights.var() == pytest.approx(6 / 7, abs=0.05)


def test_a_resample_does_not_depend_on_how_many_are_asked_for() -> None:
    for draw in (draw_weights, draw_swap_weights):
        for units in (5, 37, MAX_WEIGHTS_AT_ONCE // 4):
            few, many = (np.concatenate(list(draw(units, count, 3)))[:2] for count in (2, 5))
            assert (few == many).all()


def test_same_seed_same_interval() -> None:
    evaluation = metrics()["accuracy"].evaluate(half_right(50), "official")
    one, same, other = (
        percentile_interval(bootstrap(evaluation, np.arange(50), seed=s), 50) for s in (1, 1, 2)
    )
    assert one == same
    assert one == pytest.approx(other, abs=0.03)


def test_the_interval_of_a_share_is_the_binomial_one() -> None:
    evaluation = metrics()["accuracy"].evaluate(half_right(400), "official")
    low, high = percentile_interval(bootstrap(evaluation, np.arange(400)), 400)
    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.004)


def test_items_that_belong_together_widen_the_interval() -> None:
    items = Items(["a"] * 400, ["a"] * 200 + ["b"] * 200)
    evaluation = metrics()["accuracy"].evaluate(items, "official")
    single = percentile_interval(bootstrap(evaluation, np.arange(400)), 400)
    tens = percentile_interval(bootstrap(evaluation, np.repeat(np.arange(40), 10)), 40)
    assert tens[1] - tens[0] > 2.5 * (single[1] - single[0])


def test_several_metrics_share_their_resamples() -> None:
    both = [
        metrics()[name].evaluate(half_right(30), "official") for name in ("accuracy", "macro-f1")
    ]
    together = bootstrap_all(both, np.arange(30), resamples=50)
    for evaluation, values in zip(both, together, strict=True):
        assert (values == bootstrap(evaluation, np.arange(30), resamples=50)).all()


def test_nothing_to_resample() -> None:
    evaluation = metrics()["accuracy"].evaluate(Items([], []), "official")
    assert np.isnan(bootstrap(evaluation, np.arange(0), resamples=5)).all()
    assert np.isnan(percentile_interval(np.full(3, np.nan), None)).all()


def test_undefined_resamples_are_left_out() -> None:
    assert percentile_interval(np.array([np.nan, 1.0, 1.0]), None) == (1.0, 1.0)


def test_mcnemar_is_the_binomial_tail() -> None:
    a, b = np.array([1.0] * 8 + [0.0] * 2 + [1.0]), np.array([0.0] * 8 + [1.0] * 2 + [1.0])
    assert mcnemar(a, b)[:2] == (8, 2)
    assert mcnemar(a, b)[2] == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert mcnemar(a, a) == (0, 0, 1.0)


def test_both_tails_are_the_float_next_to_the_exact_sum() -> None:
    pairs = [(n, k) for n in (1, 2, 9, 64, 390) for k in range(n // 2 + 1)]
    pairs += [(n, n // share) for n in (1001, 2500, 4000) for share in (2, 3, 10, 100, n)]
    pairs += [(3000, 1500 - step) for step in (1, 20, 60, 150, 400)]
    for n, k in pairs:
        assert both_tails(n, k) == 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n
    assert both_tails(400_000, 199_000) == pytest.approx(0.00157, rel=0.01)


def test_holm() -> None:
    assert correct_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_holm([0.9, 0.9]) == [1.0, 1.0]
    assert correct_holm([]) == []


def test_p_values_count_the_seen_one_in() -> None:
    assert two_sided_p(np.zeros(99), 1.0) == 0.01
    assert two_sided_p(np.full(99, -2.0), 1.0) == 1.0
    assert bootstrap_p(np.full(99, 0.5)) == 0.02
    assert bootstrap_p(np.array([-1.0, 1.0])) == 1.0
    assert np.isnan(bootstrap_p(np.array([np.nan])))


def test_swaps_are_fair_coins() -> None:
    coins = np.concatenate(list(draw_swap_weights(20, 2000, 0)))
    assert set(np.unique(coins)) == {0.0, 1.0}
    assert coins.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"), [("macro-f1", 9107), ("accuracy", 9107), ("pearson", 4927), ("spearman", 4927)]
)
def test_ten_thousand_resamples_at_the_size_of_a_dev_set(name: str, n: int) -> None:
    generator = np.random.default_rng(0)
    gold = (generator.integers(0, 26, n) / 5).tolist()
    answers = (np.array(gold) + generator.random(n)).tolist()
    if metrics()[name].kinds != ("similarity",):
        gold, answers = ([f"c{round(x) % 7}" for x in side] for side in (gold, answers))
    evaluation = metrics()[name].evaluate(Items(gold, answers), "official")
    start = time.thread_time()  # of this thread: a busy machine must not fail the test
    low, high = percentile_interval(bootstrap(evaluation, np.arange(n)), n)
    assert low < evaluation.value < high
    assert time.thread_time() - start < 2


@pytest.mark.slow
def test_a_thousand_resamples_of_auprc() -> None:
    generator = np.random.default_rng(0)
    gold = generator.integers(0, 30, 7765)
    evaluation = auprc_of(generator.random((7765, 30)) + np.eye(30)[gold] / 2, gold, "documented")
    start = time.thread_time()  # of this thread: a busy machine must not fail the test
    low, high = percentile_interval(bootstrap(evaluation, np.arange(7765), resamples=1000), 7765)
    assert low < high < 1
    assert time.thread_time() - start < 20
