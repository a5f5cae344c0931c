"""A metric on many overlapping parts of the same items at once, under the same resamples.

The runs of a system answer the same items, so one draw of groups serves all runs and parts: the statistics of a part are
those of all items with zeros outside it, and those of the rest are the remainder. With several runs a lucky seed widens
the interval: by Student's t (see `seeds`) where the metric is a mean over items, else runs are drawn too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.stats.resample import (
    MAX_WEIGHTS_AT_ONCE,
    Floats,
    Ints,
    Resampleable,
    count_units,
    draw_kept_weights,
    has_exact_sums,
    percentile_interval,
    sum_groups,
    sum_products,
)
from nikawa.stats.results import Figure
from nikawa.stats.seeds import NO_LIMITS, Limits, find_limits, mean_interval, mean_p
from nikawa.stats.slices import Mask

MAX_CELLS = 16_000_000
"""Numbers of a table of groups by statistics in memory at once."""
ROWS_AT_ONCE = 8
"""Resamples that are multiplied at once where the order of sums does not matter."""


@dataclass(frozen=True)
class Sample:
    """The runs of a system under one metric, over the same items."""

    runs: Sequence[Resampleable]
    units: Ints
    """The group of each item, counted from 0."""
    detail: Floats | None = None
    """One score per item, averaged over runs, where the metric is the mean of it."""
    binary: bool = False
    """Whether every item is right or wrong."""

    @property
    def limits(self) -> Limits:
        """What values can be, where the metric is the mean of one score per item."""
        return find_limits(self.detail)

    def units_in(self, mask: Mask) -> int:
        """How many groups have an item in a part."""
        return len(np.unique(self.units[mask]))


@dataclass(frozen=True)
class Parts:
    """Values of parts (columns) and of the rest outside each."""

    values: Floats
    """Runs by parts."""
    rests: Floats
    drawn: Floats
    """Resamples by parts, each the mean over the runs drawn."""
    drawn_rests: Floats
    runs: Floats | None = None
    """Runs by resamples by parts, where there are several and the metric is a mean over items."""
    runs_rests: Floats | None = None
    limits: Limits = NO_LIMITS

    def figure(self, part: int, *, units: int, scale: float = 1.0, n: int = 0) -> Figure:
        """The metric on a part, which has so many units."""
        drawn = self.drawn[:, part] if self.runs is None else self.runs[:, :, part]
        return make_figure(
            self.values[:, part], drawn, units=units, scale=scale, n=n, limits=self.limits
        )

    def gap(self, part: int, *, units: int, scale: float = 1.0) -> Figure:
        """The part less its rest."""
        low, high = self.limits
        drawn = self._gaps_of_runs(part)
        if drawn is None:
            drawn = self.drawn[:, part] - self.drawn_rests[:, part]
        values = self.values[:, part] - self.rests[:, part]
        return make_figure(values, drawn, units=units, scale=scale, limits=(low - high, high - low))

    def gap_p(self, part: int) -> float | None:
        """The p that a part is as its rest over items and seeds; None where there is one run, or no mean over items."""
        drawn = self._gaps_of_runs(part)
        if drawn is None:
            return None
        return finite_or_none(mean_p(self.values[:, part] - self.rests[:, part], drawn))

    def _gaps_of_runs(self, part: int) -> Floats | None:
        """Runs by resamples of the difference between a part and its rest."""
        if self.runs is None or self.runs_rests is None:
            return None
        gaps: Floats = self.runs[:, :, part] - self.runs_rests[:, :, part]
        return gaps


def measure_parts(sample: Sample, masks: Sequence[Mask], *, resamples: int, seed: int = 0) -> Parts:
    """The metric on each part and on its rest, with resamples of groups and runs."""
    table = np.column_stack([np.asarray(mask, dtype=np.bool_) for mask in masks])
    by_run = {id(run): run for run in sample.runs}  # runs with the same answers may be one object
    distinct = {
        name: measure_run(run, table, sample.units, resamples, seed) for name, run in by_run.items()
    }
    measured = [distinct[id(run)] for run in sample.runs]
    values, rests, drawn, drawn_rests = (np.stack(each) for each in zip(*measured, strict=True))
    runs = len(measured)
    generator = np.random.default_rng((seed, 3))
    picks = generator.integers(0, runs, size=(runs, resamples, 1))
    is_mean_of_runs = runs > 1 and sample.detail is not None
    return Parts(
        values=values,
        rests=rests,
        drawn=np.take_along_axis(drawn, picks, axis=0).mean(axis=0),
        drawn_rests=np.take_along_axis(drawn_rests, picks, axis=0).mean(axis=0),
        runs=drawn if is_mean_of_runs else None,
        runs_rests=drawn_rests if is_mean_of_runs else None,
        limits=sample.limits if is_mean_of_runs else NO_LIMITS,
    )


def measure_run(
    run: Resampleable, table: Mask, units: Ints, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each part and of each rest the value, then the value under each resample (resamples by parts)."""
    statistics: NDArray[Any] | None = getattr(run, "statistics", None)
    if statistics is None:
        return measure_weighted(run, table.astype(np.float64), units, resamples, seed)
    finish: Any = getattr(run, "finish")  # noqa: B009 — only metrics that are sums have it
    k, parts = statistics.shape[1], table.shape[1]
    width = max(1, MAX_CELLS // max(1, len(units) * k))
    by_group: NDArray[Any] = sum_groups(statistics, units)
    if statistics.dtype.kind == "u":  # a part has no larger sums than the whole
        by_group = _shrink(by_group)
    kind = by_group.dtype.type
    blocks = []
    for start in range(0, parts, width):
        grouped = sum_products(table[:, start : start + width], statistics, units, kind)
        # to draw takes longer than to sum: the whole is summed with each block of parts
        drawn, drawn_whole = resample_grouped((grouped, by_group), resamples, seed)
        blocks.append(drawn)
    sums = np.concatenate(blocks, axis=1).reshape(resamples, parts, k)
    whole = drawn_whole[:, None, :]
    is_whole = statistics.dtype.kind == "u" or (statistics == np.floor(statistics)).all()
    if is_whole:  # whole numbers have one sum in any order
        exact = np.stack([statistics[mask].sum(axis=0, dtype=np.float64) for mask in table.T])
    else:
        exact = table.T.astype(np.float64) @ statistics
    rest = _without_dust(statistics.sum(axis=0, dtype=np.float64) - exact, statistics)
    drawn_rest = _without_dust(whole - sums, statistics)
    return finish(exact), finish(rest), finish(sums), finish(drawn_rest)


def _without_dust(difference: Floats, statistics: NDArray[Any]) -> Floats:
    """What is left of a sum after another was taken from it, without the dust of rounding."""
    floor = 1e-9 * max(1.0, float(np.abs(statistics).max(initial=0.0)))
    return np.where(np.abs(difference) < floor, 0.0, difference)


def measure_weighted(
    run: Resampleable, table: Floats, units: Ints, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """A metric that reads the items again, such as a rank correlation: each part is a weighting."""
    sides = (table, 1.0 - table)
    exact = [run.under(np.ascontiguousarray(side.T)) for side in sides]
    blocks: list[list[Floats]] = [[], []]
    for weights in draw_kept_weights(count_units(units), resamples, seed):
        spread = weights[:, units]
        for side, values in zip(sides, blocks, strict=True):
            values.append(np.column_stack([run.under(spread * column) for column in side.T]))
    return exact[0], exact[1], np.concatenate(blocks[0]), np.concatenate(blocks[1])


def resample_sums(matrix: NDArray[Any], units: Ints, *, resamples: int, seed: int = 0) -> Floats:
    """Sums of the columns of `matrix` (one row per item) under each resample of groups: resamples by columns."""
    return resample_grouped([_shrink(sum_groups(matrix, units))], resamples, seed)[0]


def _shrink(sums: Floats) -> NDArray[Any]:
    """Sums of many groups in float32 where any sums of them are exact."""
    is_large = len(sums) * ROWS_AT_ONCE > MAX_WEIGHTS_AT_ONCE
    return sums.astype(np.float32) if is_large and has_exact_sums(sums) else sums


def resample_grouped(tables: Sequence[NDArray[Any]], resamples: int, seed: int) -> list[Floats]:
    """The same of tables of sums over the same groups, under the same resamples.

    In float32 are tables whose sums are exact in any order: several blocks of resamples are then multiplied at once, as a product
    with a few rows takes almost as long as one with many.
    """
    sums: list[list[Floats]] = [[] for _ in tables]
    weights: Iterator[NDArray[Any]] = draw_kept_weights(len(tables[0]), resamples, seed)
    if all(table.dtype == np.float32 for table in tables):
        weights = _join_rows(weights, len(tables[0]))
    for rows in weights:
        for table, blocks in zip(tables, sums, strict=True):
            blocks.append((rows @ table).astype(np.float64, copy=False))
    return [np.concatenate(blocks) for blocks in sums]


def _join_rows(blocks: Iterable[Floats], width: int) -> Iterator[NDArray[np.float32]]:
    """The rows of several blocks together, to be read before the next ones are asked for."""
    rows = np.empty((ROWS_AT_ONCE, width), dtype=np.float32)
    filled = 0
    for block in blocks:
        if filled + len(block) > len(rows):
            yield rows[:filled]
            filled = 0
        rows[filled : filled + len(block)] = block
        filled += len(block)
    yield rows[:filled]


def make_figure(
    values: Floats,
    drawn: Floats,
    *,
    units: int,
    scale: float = 1.0,
    n: int = 0,
    limits: Limits = NO_LIMITS,
) -> Figure:
    """The mean over runs, its interval over so many units, and the spread over runs; what is not defined is None.

    `drawn` has one value per resample: the interval is the middle of them. Or it is runs by resamples: Student's t.
    """
    if drawn.ndim == 1:
        low, high = percentile_interval(drawn * scale, units)
    else:
        low, high = (end * scale for end in mean_interval(values, drawn, units, limits))
    return Figure(
        value=finite_or_none(values.mean() * scale),
        low=finite_or_none(low),
        high=finite_or_none(high),
        sd=finite_or_none(values.std(ddof=1) * scale) if len(values) > 1 else None,
        n=n,
    )


def finite_or_none(value: float | np.floating[Any] | None) -> float | None:
    """A plain number, or None for what is not defined."""
    return None if value is None or not np.isfinite(value) else float(value)
