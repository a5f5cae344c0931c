"""Calibration: how well probabilities match the share of correct answers.

Confidence is the probability of the answer. ECE (Naeini and others 2015) with bins of equal size (Nixon and others 2019):
Σ_b n_b/n |accuracy_b - confidence_b|. A calibrated model's ECE is not 0 on a finite set: `ece_chance` is the 95th percentile of the
ECE when each answer is right with its own confidence. Brier (1950): mean over items of Σ_k (p_k - [gold = k])². Risk and coverage
(El-Yaniv and Wiener 2010): the share of wrong answers among the most confident ones; its area, and the least area that the
same accuracy allows (Geifman and others 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from nikawa.analysis.results import Calibration, CoveragePoint, Figure, ReliabilityBin
from nikawa.stats.distributions import wilson_interval
from nikawa.stats.masks import make_figure, resample_sums
from nikawa.stats.resample import Floats, Ints, count_units

BINS = 15
"""Bins of the ECE and of the reliability diagram."""
MIN_PROBABILITY = 1e-12
"""The smallest probability a likelihood is taken of."""
CHANCE_TRIALS = 1_000
"""Draws of a perfectly calibrated model."""
MAX_DRAWN_AT_ONCE = 2_000_000
"""Random numbers in memory at once."""
COVERAGES = tuple(i / 20 for i in range(1, 21))
"""Shares of the items that points of the risk-coverage curve are for."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class RunProbabilities:
    """The probabilities of one run, over the same items as the other runs."""

    probabilities: Floats
    """Items by labels."""
    gold: Ints
    """Place of the gold label; -1 if it is not a label."""
    answer: Ints

    @cached_property
    def right(self) -> Floats:
        """1.0 where the answer is gold."""
        is_right: Floats = (self.gold == self.answer).astype(np.float64)
        return is_right

    @cached_property
    def confidence(self) -> Floats:
        """The probability of the answer."""
        confidence: Floats = self.probabilities[np.arange(len(self.answer)), self.answer]
        return confidence


def calibrate(
    runs: Sequence[RunProbabilities],
    units: Ints,
    *,
    left_out: int = 0,
    resamples: int,
    seed: int = 0,
) -> Calibration:
    """Everything about the probabilities of a system's runs; each figure is the mean over them.

    Runs with the same answers may be one object, which is analysed once.
    """
    bins = min(BINS, len(units))
    errors = np.array(_map_distinct(lambda run: ece(run, bins), runs))
    chance = _map_distinct(lambda run: ece_by_chance(run, bins, seed), runs)
    curves = _map_distinct(risk_coverage, runs)
    brier, nll = mean_losses(runs, units, resamples, seed)
    return Calibration(
        n=len(units),
        left_out=left_out,
        accuracy=_mean([run.right.mean() for run in runs]),
        confidence=_mean([run.confidence.mean() for run in runs]),
        ece=float(errors.mean()),
        ece_sd=float(errors.std(ddof=1)) if len(runs) > 1 else None,
        ece_chance=_mean(chance),
        brier=brier,
        nll=nll,
        aurc=_mean([risk.mean() for risk, _ in curves]),
        aurc_best=_mean(_map_distinct(least_area, runs)),
        bins=reliability_bins(runs, bins),
        coverage=coverage_points(curves),
    )


def _map_distinct(
    function: Callable[[RunProbabilities], T], runs: Sequence[RunProbabilities]
) -> list[T]:
    """The function of each run, computed once for runs that are one object."""
    by_run = {id(run): run for run in runs}
    results = {name: function(run) for name, run in by_run.items()}
    return [results[id(run)] for run in runs]


def _mean(values: Sequence[Any]) -> float:
    return float(np.mean(values))


def ece(run: RunProbabilities, bins: int = BINS) -> float:
    """Expected calibration error of one run over bins of equal size."""
    order = np.argsort(run.confidence, kind="stable")
    gaps = (run.right - run.confidence)[order]
    starts = _bin_starts(run.confidence[order], bins)
    return float(np.abs(np.add.reduceat(gaps, starts)).sum() / len(gaps))


def _bin_starts(ranked: Floats, bins: int) -> Ints:
    """Where bins of about equal size begin; equal confidences stay together, so that their order does not matter."""
    even = np.arange(bins, dtype=np.int64) * len(ranked) // bins
    return np.unique(np.searchsorted(ranked, ranked[even], side="left")).astype(np.int64)


def ece_by_chance(run: RunProbabilities, bins: int = BINS, seed: int = 0) -> float:
    """The 95th percentile of the ECE if every answer were right with its own confidence."""
    confidence = np.sort(run.confidence)
    starts, n = _bin_starts(confidence, bins), len(confidence)
    rows, errors = max(1, MAX_DRAWN_AT_ONCE // n), []
    for number, start in enumerate(range(0, CHANCE_TRIALS, rows)):
        size = min(rows, CHANCE_TRIALS - start)
        draw = np.random.default_rng((seed, 4, number)).random((size, n))
        gaps = (draw < confidence) - confidence
        by_bin = np.add.reduceat(gaps, starts, axis=1)
        errors.append(np.abs(by_bin).sum(axis=1) / n)
    return float(np.quantile(np.concatenate(errors), 0.95))


def mean_losses(
    runs: Sequence[RunProbabilities], units: Ints, resamples: int, seed: int
) -> tuple[Figure, Figure]:
    """Brier score and negative log-likelihood with their intervals."""

    def sum_losses(run: RunProbabilities) -> tuple[Floats, Floats]:
        table = np.column_stack([*item_losses(run), np.ones(len(units))])
        return table.sum(axis=0), resample_sums(table, units, resamples=resamples, seed=seed)

    sums = _map_distinct(sum_losses, runs)
    exact = np.stack([values for values, _ in sums])
    drawn = np.stack([resampled for _, resampled in sums])
    brier, nll = (
        make_figure(
            exact[:, i] / exact[:, 2],
            (drawn[..., i] / drawn[..., 2]).mean(axis=0),
            units=count_units(units),
            n=len(units),
        )
        for i in (0, 1)
    )
    return brier, nll


def item_losses(run: RunProbabilities) -> tuple[Floats, Floats]:
    """Brier score and negative log-likelihood of each item."""
    truth = run.gold[:, None] == np.arange(run.probabilities.shape[1])
    brier = ((run.probabilities - truth) ** 2).sum(axis=1) + (run.gold < 0)
    at_gold = run.probabilities[np.arange(len(run.gold)), run.gold]
    of_gold = np.where(run.gold < 0, 0.0, at_gold)
    return brier, -np.log(np.maximum(of_gold, MIN_PROBABILITY))


def risk_coverage(run: RunProbabilities) -> tuple[Floats, Floats]:
    """Risk and threshold when the 1, 2, … n most confident answers are kept; equal ones are kept or dropped together."""
    order = np.argsort(-run.confidence, kind="stable")
    confidence, wrong = run.confidence[order], 1 - run.right[order]
    ends = np.append(np.flatnonzero(np.diff(confidence)), len(confidence) - 1)
    at_ends = np.concatenate([[0.0], np.cumsum(wrong)[ends]])
    kept = np.concatenate([[0], ends + 1]).astype(np.float64)
    counts = np.arange(1, len(wrong) + 1)
    return np.interp(counts, kept, at_ends) / counts, confidence


def least_area(run: RunProbabilities) -> float:
    """The area of the curve if all wrong answers came last."""
    n, wrong = len(run.right), int(len(run.right) - run.right.sum())
    counts = np.arange(1, n + 1)
    return float((np.maximum(0, counts - (n - wrong)) / counts).mean())


def coverage_points(curves: Sequence[tuple[Floats, Floats]]) -> tuple[CoveragePoint, ...]:
    """Risk and threshold at every twentieth of the items, mean over the curves of `risk_coverage`."""
    n = len(curves[0][0])
    places = [max(1, round(share * n)) - 1 for share in COVERAGES]
    return tuple(
        CoveragePoint(
            coverage=(place + 1) / n,
            risk=_mean([risk[place] for risk, _ in curves]),
            threshold=_mean([least[place] for _, least in curves]),
        )
        for place in dict.fromkeys(places)
    )


def reliability_bins(runs: Sequence[RunProbabilities], bins: int) -> tuple[ReliabilityBin, ...]:
    """Bins over the answers of all runs; each run brings the same items, so `n` is what one brings."""
    confidence = np.concatenate([run.confidence for run in runs])
    order = np.argsort(confidence, kind="stable")
    confidence, right = confidence[order], np.concatenate([run.right for run in runs])[order]
    starts = _bin_starts(confidence, bins)
    ends = np.append(starts[1:], len(confidence))
    reliability = []
    for start, end in zip(starts, ends, strict=True):
        inside = confidence[start:end]
        accuracy = float(right[start:end].mean())
        n = max(1, round(len(inside) / len(runs)))
        low, high = wilson_interval(accuracy, n)
        reliability.append(
            ReliabilityBin(
                n=n,
                least=float(inside[0]),
                most=float(inside[-1]),
                confidence=float(inside.mean()),
                accuracy=accuracy,
                low=low,
                high=high,
            )
        )
    return tuple(reliability)
