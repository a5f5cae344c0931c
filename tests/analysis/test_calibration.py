"""Calibration against what can be computed by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from nikawa.analysis.calibration import (
    RunProbabilities,
    calibrate,
    ece,
    ece_by_chance,
    item_losses,
    risk_coverage,
)


def told(confidence: list[float], right: list[bool]) -> RunProbabilities:
    p = np.array(confidence)
    gold = np.where(right, 0, 1)
    return RunProbabilities(
        np.column_stack([p, 1 - p]), gold.astype(np.int64), np.zeros(len(p), dtype=np.int64)
    )


def test_ece_by_hand() -> None:
    run = told([0.6, 0.7, 0.9, 1.0], [True, False, True, True])
    assert ece(run, 2) == pytest.approx((abs(1 - 1.3) + abs(2 - 1.9)) / 4)
    assert ece(run, 1) == pytest.approx(abs(3 - 3.2) / 4)


def test_the_order_of_equally_sure_answers_does_not_matter() -> None:
    """A constant answer that is right as often as it says is calibrated, sorted by gold or not."""
    run = told([0.5] * 100, [True] * 50 + [False] * 50)
    assert ece(run, 15) == 0.0
    risk, _ = risk_coverage(run)
    assert risk.tolist() == pytest.approx([0.5] * 100)


def test_losses_by_hand() -> None:
    brier, nll = item_losses(told([0.8, 0.3], [True, False]))
    assert brier.tolist() == pytest.approx([2 * 0.2**2, 2 * 0.3**2])
    assert nll.tolist() == pytest.approx([-log(0.8), -log(0.7)])


def test_gold_that_is_no_label_costs_all() -> None:
    run = RunProbabilities(np.array([[0.8, 0.2]]), np.array([-1]), np.array([0]))
    brier, nll = item_losses(run)
    assert brier[0] == pytest.approx(0.8**2 + 0.2**2 + 1)
    assert nll[0] == pytest.approx(-log(1e-12))


def test_risk_and_coverage() -> None:
    run = told([0.9, 0.8, 0.7, 0.6], [True, True, False, True])
    risk, least = risk_coverage(run)
    assert risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 4])
    assert least.tolist() == [0.9, 0.8, 0.7, 0.6]
    found = calibrate([run], np.arange(4), resamples=100)
    assert found.aurc == pytest.approx((1 / 3 + 1 / 4) / 4)
    assert found.aurc_best == pytest.approx((1 / 4) / 4)
    assert (found.coverage[-1].coverage, found.coverage[-1].risk) == (1.0, 0.25)


@pytest.mark.parametrize("sure", [0.6, 0.95])
def test_a_calibrated_model_stays_below_chance_and_a_boaster_does_not(sure: float) -> None:
    draw = np.random.default_rng(1)
    true = draw.uniform(0.5, sure, 2_000)
    right = (draw.random(2_000) < true).tolist()
    assert ece(told(true.tolist(), right)) < ece_by_chance(told(true.tolist(), right)) * 1.3
    boaster = told(np.minimum(1, true + 0.2).tolist(), right)
    assert ece(boaster) > 2 * ece_by_chance(boaster)


def test_runs_are_averaged() -> None:
    one, two = (
        told([0.9, 0.8, 0.6], [True, True, False]),
        told([0.7, 0.6, 0.9], [True, False, False]),
    )
    found = calibrate([one, two], np.arange(3), left_out=2, resamples=100)
    assert found.accuracy == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.ece_sd is not None
    assert found.brier.sd is not None
    assert (found.n, found.left_out) == (3, 2)
    assert sum(b.n for b in found.bins) == 3
    assert all(b.low <= b.accuracy <= b.high for b in found.bins)
