"""The interval of a mean over items and seeds: by hand where that can be done, and by how often it holds the truth."""

from __future__ import annotations

from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest

from nikawa.metrics import Items, metrics
from nikawa.metrics.base import mean
from nikawa.stats.masks import Sample, measure_parts
from nikawa.stats.resample import percentile_interval
from nikawa.stats.seeds import SHARE_LIMITS, mean_interval
from nikawa.stats.slice_tests import measure_slices, score_p
from nikawa.stats.slices import SliceMask

T2 = 4.302653
"""97.5% of Student's t with 2 degrees of freedom lie below."""


def test_where_items_tell_everything_it_is_the_interval_of_three_numbers() -> None:
    values = np.array([0.7, 0.8, 0.9])
    low, high = mean_interval(values, np.repeat(values[:, None], 50, axis=1), 1000)
    assert (low, high) == pytest.approx(
        (0.8 - T2 * 0.1 / sqrt(3), 0.8 + T2 * 0.1 / sqrt(3)), abs=1e-6
    )


def test_where_seeds_are_all_alike_it_is_the_interval_over_items() -> None:
    drawn = np.repeat(np.random.default_rng(0).normal(0.8, 0.02, 20_000)[None], 3, axis=0)
    low, high = mean_interval(np.full(3, 0.8), drawn, 1000)
    assert (low, high) == pytest.approx((0.8 - 1.96 * 0.02, 0.8 + 1.96 * 0.02), abs=0.0006)


def test_chance_item_by_item_is_counted_once() -> None:
    """Runs that guess each item anew: the mean of three rests on three times as many guesses."""
    generator = np.random.default_rng(3)
    drawn = generator.normal(0.8, 0.03, (3, 50_000))
    low, high = mean_interval(np.array([0.79, 0.8, 0.81]), drawn, 1000)
    error = 0.03 / sqrt(3)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_ends_stay_where_values_can_be() -> None:
    values = np.array([0.9, 0.99, 1.0])
    drawn = np.repeat(values[:, None], 50, axis=1)
    assert mean_interval(values, drawn, 1000)[1] > 1
    assert mean_interval(values, drawn, 1000, SHARE_LIMITS)[1] == 1.0


def test_few_units_tell_none_and_resamples_without_a_value_are_left_out() -> None:
    values = np.array([0.7, 0.8, 0.9])
    drawn = np.repeat(values[:, None], 50, axis=1)
    assert all(map(isnan, mean_interval(values, drawn, 9)))
    holed = np.column_stack([drawn, np.full(3, np.nan)])
    assert mean_interval(values, holed, 10) == mean_interval(values, drawn, None)
    assert all(map(isnan, mean_interval(values, np.full((3, 50), np.nan), 100)))


def simulated(
    generator: np.random.Generator, k: int, sd: float, items: int = 2_000
) -> tuple[Any, Any]:
    """Scores of runs of a system that is right on 80% of items, and the same under resamples of these."""
    moved = np.clip(0.8 + generator.normal(0, sd, k), 0.6, 1.0)
    right = generator.random((k, items)) < moved[:, None]
    kinds, counts = np.unique(np.packbits(right, axis=0), return_counts=True)
    patterns = np.unpackbits(kinds[:, None].astype(np.uint8), axis=1)[:, :k]
    drawn = (generator.multinomial(items, counts / items, size=200) @ patterns / items).T
    return right.mean(axis=1), drawn


@pytest.mark.parametrize("k", [3, 5])
def test_it_holds_the_truth_where_a_bootstrap_of_seeds_does_not(k: int) -> None:
    generator = np.random.default_rng(k)
    held = {"t": 0, "drawn": 0}
    for _ in range(300):
        values, drawn = simulated(generator, k, 0.04)
        picks = generator.integers(0, k, size=drawn.shape)
        both = np.take_along_axis(drawn, picks, axis=0).mean(axis=0)
        for name, (low, high) in (
            ("t", mean_interval(values, drawn, 2000)),
            ("drawn", percentile_interval(both, 2000)),
        ):
            held[name] += low <= 0.8 <= high
    assert held["t"] >= 276  # 95% of 300 is 285; fewer than 276 has a chance below one in 100
    assert held["drawn"] <= 264


def sample(*shares: float, metric: str = "accuracy") -> Sample:
    """Runs that have the first items right, that share of 200 of two labels."""
    gold = ["yes", "no"] * 100
    turned = {"yes": "no", "no": "yes"}
    found = [
        metrics()[metric].evaluate(
            Items(
                gold,
                [g if i < 200 * s else turned[g] for i, g in enumerate(gold)],
                labels=("yes", "no"),
            ),
            "official",
        )
        for s in shares
    ]
    details = [one.detail for one in found if one.detail is not None]
    detail = np.mean(details, axis=0) if found[0].itemwise else None
    return Sample(found, np.arange(200), detail)


def test_slices_of_several_runs_have_such_intervals() -> None:
    half = [np.arange(200) < 100, np.arange(200) >= 100]
    found = measure_parts(sample(0.6, 0.75, 0.9), half, resamples=300)
    assert found.runs is not None
    part = found.figure(1, units=100, scale=100)
    wanted = mean_interval(found.values[:, 1], found.runs[:, :, 1], 100, SHARE_LIMITS)
    assert (part.low, part.high) == pytest.approx((100 * wanted[0], 100 * wanted[1]))
    assert part.value == pytest.approx(50)
    assert part.low == 0.0, "20, 50 and 80% right: with three seeds nearly anything may be"
    gap = found.gap(1, units=100, scale=100)
    assert gap.value == pytest.approx(-50)
    assert gap.high is not None
    assert gap.high > 0


def test_a_slice_that_differs_in_some_seeds_alone_is_not_called_different() -> None:
    """In one run of three the second half is all wrong: with these runs it is worse, with others it may not be."""
    right = np.tile(np.arange(200) % 2 == 0, (3, 1)).astype(np.float64)
    right[2, 100:] = 0.0
    apart = Sample([mean(one) for one in right], np.arange(200), right.mean(axis=0))
    half = [SliceMask("half", "second", np.arange(200) >= 100)]
    (found,) = measure_slices(apart, half, resamples=300)
    of_these = score_p(right.mean(axis=0), apart.units, half[0].mask, 0.0)
    assert of_these < 0.01
    assert found.p is not None
    assert found.p > 0.05
    assert found.difference_high is not None
    assert found.difference_high > 0


@pytest.mark.parametrize(("shares", "metric"), [((0.6, 0.9), "macro-f1"), ((0.6,), "accuracy")])
def test_other_metrics_and_single_runs_are_resampled(
    shares: tuple[float, ...], metric: str
) -> None:
    found = measure_parts(sample(*shares, metric=metric), [np.arange(200) < 150], resamples=300)
    assert found.runs is None
    part = found.figure(0, units=150)
    assert (part.low, part.high) == percentile_interval(found.drawn[:, 0], 150)


def test_a_mean_that_is_no_share_has_no_limits() -> None:
    runs = [mean(np.linspace(0, top, 50)) for top in (2.0, 4.0)]
    assert Sample(runs, np.arange(50), np.linspace(0, 3, 50)).limits == (
        float("-inf"),
        float("inf"),
    )
    assert sample(0.6, 0.9).limits == SHARE_LIMITS
