"""A metric on many overlapping parts of the same items at once, under the same resamples.

The runs of a system answer the same items, so one draw of groups serves all runs and parts: the statistics of a part are
those of all items with zeros outside it, and those of the rest are the remainder. With several runs a lucky seed widens
the interval: by Student's t (see `run_means`) where the metric is a mean over items, else runs are drawn too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.stats.resample import Evaluation, Floats, Ints, count_units, draws, interval
from nikawa.stats.results import Figure
from nikawa.stats.run_means import ANY, Limits, limits_of, mean_interval, mean_p
from nikawa.stats.slices import Mask

CELLS = 16_000_000
"""Numbers of a table of groups by statistics that are held at once."""
KEPT = 40_000_000
"""Weights that are remembered, a byte each; more of them are drawn anew each time."""


@dataclass(frozen=True)
class Sample:
    """The runs of a system under one metric, over the same items."""

    runs: Sequence[Evaluation]
    units: Ints
    """The group of each item, counted from 0."""
    detail: Floats | None = None
    """A score an item, averaged over runs, where the metric is the mean of it."""
    binary: bool = False
    """Whether every item is right or wrong."""

    @property
    def limits(self) -> Limits:
        """What values can be, where the metric is the mean of a score an item."""
        return limits_of(self.detail)

    def units_in(self, mask: Mask) -> int:
        """How many groups have an item in a part."""
        return len(np.unique(self.units[mask]))


@dataclass(frozen=True)
class Parts:
    """Values of parts (columns) and of what lies outside each."""

    values: Floats
    """Runs by parts."""
    rests: Floats
    drawn: Floats
    """Resamples by parts, each the mean over the runs drawn."""
    drawn_rests: Floats
    runs: Floats | None = None
    """Runs by resamples by parts, where there are several and the metric is a mean over items."""
    runs_rests: Floats | None = None
    limits: Limits = ANY

    def figure(self, part: int, *, units: int, scale: float = 1.0, n: int = 0) -> Figure:
        """The metric on a part, which has so many units."""
        drawn = self.drawn[:, part] if self.runs is None else self.runs[:, :, part]
        return figure(
            self.values[:, part], drawn, units=units, scale=scale, n=n, limits=self.limits
        )

    def gap(self, part: int, *, units: int, scale: float = 1.0) -> Figure:
        """The part less its rest."""
        (low, high), apart = self.limits, self._apart(part)
        drawn = self.drawn[:, part] - self.drawn_rests[:, part] if apart is None else apart
        values = self.values[:, part] - self.rests[:, part]
        return figure(values, drawn, units=units, scale=scale, limits=(low - high, high - low))

    def gap_p(self, part: int) -> float | None:
        """The p that a part is as its rest over items and seeds; None where seeds are not told so."""
        apart = self._apart(part)
        return (
            None
            if apart is None
            else finite_or_none(mean_p(self.values[:, part] - self.rests[:, part], apart))
        )

    def _apart(self, part: int) -> Floats | None:
        if self.runs is None or self.runs_rests is None:
            return None
        found: Floats = self.runs[:, :, part] - self.runs_rests[:, :, part]
        return found


def measure_parts(sample: Sample, masks: Sequence[Mask], *, resamples: int, seed: int = 0) -> Parts:
    """The metric on each part and on its rest, with resamples of groups and runs."""
    table = np.column_stack([np.asarray(mask, dtype=np.float64) for mask in masks])
    found = [_of_run(run, table, sample.units, resamples, seed) for run in sample.runs]
    values, rests, drawn, drawn_rests = (np.stack(each) for each in zip(*found, strict=True))
    picks = np.random.default_rng((seed, 3)).integers(
        0, len(found), size=(len(found), resamples, 1)
    )
    both = [np.take_along_axis(x, picks, axis=0).mean(axis=0) for x in (drawn, drawn_rests)]
    means = len(found) > 1 and sample.detail is not None
    return Parts(values, rests, *both, *((drawn, drawn_rests, sample.limits) if means else ()))


def _of_run(
    run: Evaluation, table: Floats, units: Ints, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    statistics: Floats | None = getattr(run, "statistics", None)
    if statistics is None:
        return _weighted(run, table, units, resamples, seed)
    finish: Any = getattr(run, "finish")  # noqa: B009 — only metrics that are sums have it
    k, parts = statistics.shape[1], table.shape[1]
    width = max(1, CELLS // max(1, len(units) * k))
    every = [
        resampled_sums(
            _spread(statistics, table[:, i : i + width]), units, resamples=resamples, seed=seed
        )
        for i in range(0, parts, width)
    ]
    sums = np.concatenate(every, axis=1).reshape(resamples, parts, k)
    whole = resampled_sums(statistics, units, resamples=resamples, seed=seed)[:, None, :]
    exact = table.T @ statistics
    rest = _cut(statistics.sum(axis=0) - exact, statistics)
    return finish(exact), finish(rest), finish(sums), finish(_cut(whole - sums, statistics))


def _cut(difference: Floats, statistics: Floats) -> Floats:
    """What is left of a sum after another was taken from it, without the dust of rounding."""
    floor = 1e-9 * max(1.0, float(np.abs(statistics).max(initial=0.0)))
    return np.where(np.abs(difference) < floor, 0.0, difference)


def _spread(statistics: Floats, table: Floats) -> Floats:
    return (table[:, :, None] * statistics[:, None, :]).reshape(len(statistics), -1)


def _weighted(
    run: Evaluation, table: Floats, units: Ints, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """A metric that must see the items anew, such as a rank correlation: each part is a weighting."""
    sides = (table, 1.0 - table)
    exact = [run.under(np.ascontiguousarray(side.T)) for side in sides]
    blocks: list[list[Floats]] = [[], []]
    for weights in weightings(count_units(units), resamples, seed):
        spread = weights[:, units]
        for side, found in zip(sides, blocks, strict=True):
            found.append(np.column_stack([run.under(spread * column) for column in side.T]))
    return exact[0], exact[1], np.concatenate(blocks[0]), np.concatenate(blocks[1])


def resampled_sums(matrix: Floats, units: Ints, *, resamples: int, seed: int = 0) -> Floats:
    """Sums of the columns of `matrix` (a row an item) under each resample of groups: resamples by columns."""
    grouped = group_sums(matrix, units)
    return np.concatenate(
        [weights @ grouped for weights in weightings(len(grouped), resamples, seed)]
    )


def weightings(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """The blocks of `draws`; an analysis asks for the same ones many times, so those of the last sets are remembered."""
    if units * resamples > KEPT:
        yield from draws(units, resamples, seed)
        return
    for block in _packed(units, resamples, seed):
        yield block.astype(np.float64)


@lru_cache(2)
def _packed(units: int, resamples: int, seed: int) -> list[NDArray[Any]]:
    return [
        block.astype(np.uint8 if block.max(initial=0) < 256 else np.uint16)
        for block in draws(units, resamples, seed)
    ]


def group_sums(matrix: Floats, units: Ints) -> Floats:
    """Sums over the items of each group."""
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(count_units(units)))
    sums: Floats = np.add.reduceat(matrix[order], starts, axis=0)
    return sums


def figure(
    values: Floats,
    drawn: Floats,
    *,
    units: int,
    scale: float = 1.0,
    n: int = 0,
    limits: Limits = ANY,
) -> Figure:
    """The mean over runs, its interval over so many units, and the spread over runs; what is not defined is None.

    `drawn` has a value a resample: the interval is the middle of them. Or it is runs by resamples: Student's t.
    """
    if drawn.ndim == 1:
        low, high = interval(drawn * scale, units)
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
