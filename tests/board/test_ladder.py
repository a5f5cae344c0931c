"""The ladder: what climbs, its noise against formulas and resampling, and the step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nikawa.board.ladder import (
    choose_step,
    climb,
    climb_fixed,
    count_most_bests,
    mean_noise,
    measure_noise,
    needed_steps,
    round_to_step,
)
from nikawa.metrics.base import from_sums, mean, ratio
from nikawa.stats.resample import bootstrap

RANDOM = np.random.default_rng(7)


def test_the_fixed_ladder_needs_more_than_a_step() -> None:
    """Algorithm 1 of the paper: R stays until a value is above R by more than the step."""
    shown, seen = None, []
    for value in (50.2, 50.9, 51.0, 51.4, 52.9, 90.0, 60.0):
        shown = climb_fixed(shown, value, 1.0).shown
        seen.append(shown)
    assert seen == [50.0, 50.0, 50.0, 51.0, 53.0, 90.0, 90.0]


def test_a_best_beats_the_shown_one_by_more_than_the_noise() -> None:
    assert not climb(80.0, 82.0, 2.0, 1.0).is_new_best
    assert climb(80.0, 82.01, 2.0, 1.0).shown == 82.0
    assert climb(None, 12.3, float("nan"), 1.0).shown == 12.0
    for value, noise in ((float("nan"), 0.1), (90.0, float("nan"))):
        assert not climb(80.0, value, noise, 1.0).is_new_best


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 5.0])
def test_shown_values_are_few_and_rise_ever_faster(step: float) -> None:
    """However small the steps of an attacker, no more bests are shown than are counted, and each is on the grid."""
    shown: float | None = None
    bests: list[float] = []
    for value in np.arange(0, 100, step / 7):
        rung = climb(shown, float(value), 0.0, step, len(bests))
        shown = rung.shown
        if rung.is_new_best and rung.shown is not None:
            bests.append(rung.shown)
    assert len(bests) <= count_most_bests(round(100 / step) + 1)
    steps = [round((b - a) / step, 6) for a, b in pairwise(bests)]
    assert all(gap >= needed_steps(number) for number, gap in enumerate(steps, start=1))
    assert all(round_to_step(value, step) == value for value in bests)


def test_the_noise_of_a_mean_is_the_standard_deviation_over_the_root_of_n() -> None:
    a, b = RANDOM.random(200), RANDOM.random(200)
    assert mean_noise(b - a) == pytest.approx(np.std(b - a, ddof=1) / np.sqrt(200))
    assert measure_noise([mean(a)], [mean(b)], np.arange(200)) == pytest.approx(mean_noise(b - a))
    # one changed answer of n moves the mean by 1 / n, which is its noise: it never climbs
    one = np.zeros(200)
    one[3] = 1.0
    assert one.mean() <= mean_noise(one) * (1 + 1e-12)


def test_groups_are_the_units_of_the_noise() -> None:
    """Items that always come together count once: the noise is that of the resampled groups."""
    groups = np.arange(300) // 3
    difference = np.repeat(RANDOM.normal(size=100), 3)
    noise = mean_noise(difference, groups)
    resampled = bootstrap(mean(difference), groups, resamples=4_000).std()
    assert noise == pytest.approx(resampled, rel=0.05)
    assert noise > 1.6 * mean_noise(difference)


def test_other_metrics_take_the_noise_of_paired_resamples() -> None:
    """A ratio of sums that equals a mean has the noise of the mean, within what resampling varies."""
    a, b = RANDOM.random(150), RANDOM.random(150)
    ones = np.ones(150)

    def as_sums(detail: np.ndarray) -> object:
        columns = np.column_stack([detail, ones])
        return from_sums(columns, lambda sums: ratio(sums[..., 0], sums[..., 1]))

    groups = np.arange(150)
    noise = measure_noise([as_sums(a)], [as_sums(b)], groups)  # type: ignore[list-item]
    assert noise == pytest.approx(mean_noise(b - a), rel=0.1)
    same = measure_noise([as_sums(a)], [as_sums(a)], groups)  # type: ignore[list-item]
    assert same == 0.0


def test_several_seeds_count_by_their_mean() -> None:
    a, b, c = (mean(RANDOM.random(80)) for _ in range(3))
    assert a.detail is not None
    assert b.detail is not None
    assert c.detail is not None
    groups = np.arange(80)
    expected = mean_noise(c.detail - (a.detail + b.detail) / 2, groups)
    assert measure_noise([a, b], [c], groups) == pytest.approx(expected)


def test_the_step_is_near_the_standard_error() -> None:
    for n in (10, 100, 519, 2_000, 9_842, 250_000):
        assert 0.35 * 50 / np.sqrt(n) <= choose_step(n) <= 50 / np.sqrt(n)
