"""The interval of a system's score over several seeds: Student's t for means over items, else resamples of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Literal

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from nikawa.metrics import Evaluation, metrics
from nikawa.reporting.page_data import Number
from nikawa.reporting.runs import SystemRuns, TaskRuns, scored_items
from nikawa.scoring.score import Part, items_of, units_of
from nikawa.stats.paired_seeds import ENOUGH
from nikawa.stats.resample import Floats, Ints, bounds, count_units, draws
from nikawa.stats.results import LEAST_UNITS
from nikawa.stats.run_means import limits_of, mean_interval


def over_seeds(
    part: TaskRuns, system: SystemRuns, what: tuple[str, str], rounds: int, number: Number
) -> Number:
    """The number with its interval over items and seeds."""
    low, high, by = _interval(part, system, what, rounds)
    groups = units_of(part.task, scored_items(part, what[0]))
    few = low is None and count_units(groups) < LEAST_UNITS
    return replace(number, low=low, high=high, few=few, by=by)


def _interval(
    part: TaskRuns, system: SystemRuns, what: tuple[str, str], rounds: int
) -> tuple[float | None, float | None, Literal["t"] | UnsetType]:
    """Of a set and metric, over items and seeds, and how it was found; None where seeds answered different items."""
    metric, examples = metrics()[what[1]], scored_items(part, what[0])
    seen = []
    for run in system.runs:
        answers = {prediction.example: prediction for prediction in run.answers[what[0]]}
        whole = Part(part.task, examples, items_of(part.task, examples, answers))
        seen.append(whole.under(metric, "official"))
    units = seen[0][1]
    if not len(units) or any(not np.array_equal(units, other) for _, other in seen):
        return None, None, UNSET
    runs, scale = [evaluation for evaluation, _ in seen], metric.scale(part.task)
    if all(run.itemwise for run in runs):
        low, high = (finite(end * scale) for end in _by_t(runs, units, min(rounds, ENOUGH)))
        return low, high, "t" if low is not None else UNSET
    return *bounds(_both_drawn(runs, units, rounds), units, scale), UNSET


def _by_t(runs: Sequence[Evaluation], units: Ints, rounds: int) -> tuple[float, float]:
    """Student's t, for metrics that are means over items."""
    drawn = np.concatenate(list(_drawn(runs, units, rounds)), axis=1)
    values = np.array([run.value for run in runs])
    return mean_interval(
        values, drawn, count_units(units), limits_of(*(run.detail for run in runs))
    )


def _both_drawn(runs: Sequence[Evaluation], units: Ints, rounds: int) -> Floats:
    """The mean under each resample of items and seeds, for any other metric."""
    generator, values = np.random.default_rng((0, 3)), []
    for each in _drawn(runs, units, rounds):
        picks = generator.integers(0, len(each), size=each.shape)
        values.append(np.take_along_axis(each, picks, axis=0).mean(axis=0))
    return np.concatenate(values)


def _drawn(runs: Sequence[Evaluation], units: Ints, rounds: int) -> Iterator[Floats]:
    """Blocks of runs by resamples: each run's score under the same weights of items."""
    targets = [run.grouped(units) for run in runs]
    for weights in draws(count_units(units), rounds, 0):
        yield np.stack([target.under(weights) for target in targets])


def finite(value: float | None) -> float | None:
    """None for what is not a number."""
    return None if value is None or isnan(value) else float(value)
