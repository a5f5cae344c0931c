"""Correlations and squared error of scores (JSTS, KLUE-STS, JSICK-STS).

Pearson: r = Σ(x-mx)(y-my) / (|x-mx| |y-my|). Spearman: Pearson of average ranks. The reference code
holds scores as float32, which moves Pearson in the sixth digit: `official` does so too, `documented` keeps
float64. A constant side gives NaN; fewer than two items are refused, as scipy refuses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics.base import (
    Additive,
    Floats,
    Ints,
    ItemForm,
    Items,
    Metric,
    Mode,
    Weighted,
    mean,
    ratio,
)

BLOCK_SIZE = 64
"""Resamples worked on at once: few, so that a block of weights stays in the processor's cache."""


def read_scores(items: Items) -> tuple[Floats, Floats]:
    """Answers and gold of the items that were answered; a correlation has no place for a missing score.

    The metrics of this file are over these items alone: so are their weights.
    """
    if len(items.gold) != len(items.answers):
        raise BadInput(
            f"{len(items.gold)} gold scores, {len(items.answers)} answers", cure="give one an item"
        )
    kept = (
        [i for i, a in enumerate(items.answers) if a is not None] if None in items.answers else None
    )
    if kept is not None:
        items = Items([items.gold[i] for i in kept], [items.answers[i] for i in kept])
    if len(items.answers) < 2:
        raise BadInput(
            f"a correlation of {len(items.answers)} answers", cure="at least two are needed"
        )
    return np.array(items.answers, dtype=np.float64), np.array(items.gold, dtype=np.float64)


def pearson(items: Items, mode: Mode = "official") -> Additive:
    """Pearson's r between answers and gold."""
    x, y = read_scores(items)
    value = pearson_value(x, y, mode)
    x, y = x - x.mean(), y - y.mean()  # the sums below lose digits far from 0
    statistics = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    return Additive(statistics, _pearson_of_sums, value)


def pearson_value(x: Floats, y: Floats, mode: Mode = "official") -> float:
    """r of two vectors; NaN where one is constant."""
    kind: type[Any] = np.float32 if mode == "official" else np.float64
    a, b = x.astype(kind), y.astype(kind)
    if (a == a[0]).all() or (b == b[0]).all():
        return float("nan")
    r = float(np.clip(np.vecdot(_unit(a), _unit(b)), -1, 1))
    return float(round(r)) if len(a) == 2 else r


def _unit(x: NDArray[Any]) -> NDArray[Any]:
    """Deviations from the mean, at length 1: steps in scipy's order, so that float32 rounds as it does there."""
    deviation = x - x.mean()
    largest = np.abs(deviation).max()
    unit: NDArray[Any] = deviation / (largest * np.linalg.norm(deviation / largest, axis=-1))
    return unit


def _pearson_of_sums(sums: Floats) -> Floats:
    n, sx, sy, xx, yy, xy = np.moveaxis(sums, -1, 0)
    cross, dx, dy = n * xy - sx * sy, n * xx - sx * sx, n * yy - sy * sy
    flat = (dx <= 1e-12 * n * xx) | (dy <= 1e-12 * n * yy)
    r = ratio(cross, np.sqrt(np.where(flat, 1, dx * dy)))
    return np.where(flat, np.nan, np.clip(r, -1, 1))


def spearman(items: Items, mode: Mode = "official") -> Weighted:
    """Spearman's rho: Pearson's r of average ranks."""
    x, y = read_scores(items)
    if mode == "official":
        x, y = x.astype(np.float32).astype(np.float64), y.astype(np.float32).astype(np.float64)
    value = pearson_value(average_ranks(x), average_ranks(y), "documented")
    prepared = cache(lambda: _rank_correlation(x, y))  # a value alone needs none of it
    return Weighted(lambda weights: prepared().under(weights), value)


def _rank_correlation(x: Floats, y: Floats) -> _RankCorrelation:
    fine, coarse = (x, y) if len(np.unique(x)) >= len(np.unique(y)) else (y, x)
    return _RankCorrelation(fine, coarse)


def average_ranks(x: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Floats = (last - (count - 1) / 2)[place]
    return ranks


class _RankCorrelation:
    """Spearman's rho under weights.

    With items sorted by the side that has more distinct values, its ranks are running sums; the other side's
    part needs only sums over its distinct values. Mean ranks are (n + 1) / 2, and the spread of ranks is
    (n³ - Σ m³) / 12 over the masses m of distinct values.
    """

    def __init__(self, fine: Floats, coarse: Floats) -> None:
        self.order = np.argsort(fine, kind="stable")
        ranked = fine[self.order]
        self.starts = np.flatnonzero(np.append(True, np.diff(ranked) != 0))
        self.lengths = np.diff(np.append(self.starts, len(ranked)))
        self.ties = len(self.starts) < len(ranked)
        values, self.place = np.unique(coarse[self.order], return_inverse=True)
        self.by_value = _summing(self.place, len(values))

    def under(self, weights: Floats) -> Floats:
        """rho for each row of weights, a block at a time."""
        blocks = (weights[i : i + BLOCK_SIZE] for i in range(0, len(weights), BLOCK_SIZE))
        return np.concatenate(
            [
                self._block(np.ascontiguousarray(block.T).take(self.order, axis=0))
                for block in blocks
            ]
        )

    def _block(self, w: Floats) -> Floats:
        mass = np.add.reduceat(w, self.starts, axis=0) if self.ties else w
        ranks = _weighted_ranks(mass)
        other = self.by_value(w)
        products = self.by_value(
            w * (np.repeat(ranks, self.lengths, axis=0) if self.ties else ranks)
        )
        total = other.sum(axis=0)
        cross = (
            np.einsum("ij,ij->j", products, _weighted_ranks(other)) - total * ((total + 1) / 2) ** 2
        )
        spread, spread_other = (_spread(m, total) for m in (mass, other))
        flat = (spread < 1e-9) | (spread_other < 1e-9)
        return np.where(
            flat, np.nan, ratio(cross, np.sqrt(np.where(flat, 1, spread * spread_other)))
        )


def _summing(place: Ints, distinct: int) -> Callable[[Floats], Floats]:
    """A function that sums the rows of each distinct value."""
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(distinct))
    return lambda w: np.add.reduceat(w.take(order, axis=0), starts, axis=0)


def _weighted_ranks(mass: Floats) -> Floats:
    """Average rank of each distinct value, given how often it occurs."""
    ranks = running_sums(mass)
    ranks -= mass / 2
    ranks += 0.5
    return ranks


def running_sums(rows: Floats) -> Floats:
    """Sums of the rows up to each, in strides: several times faster than numpy's down a long axis."""
    n, width = rows.shape
    step = max(1, round(n**0.5))
    sums = np.zeros((-(-n // step), step, width))
    sums.reshape(-1, width)[:n] = rows
    for i in range(1, step):
        sums[:, i] += sums[:, i - 1]
    sums[1:] += np.cumsum(sums[:-1, -1], axis=0)[:, None]
    return sums.reshape(-1, width)[:n]


def _spread(mass: Floats, total: Floats) -> Floats:
    spread: Floats = (total**3 - np.einsum("ij,ij,ij->j", mass, mass, mass)) / 12
    return spread


def mse(items: Items, mode: Mode = "official") -> Additive:
    """Mean squared error of the answered items."""
    x, y = read_scores(items)
    detail = (x - y) ** 2
    return mean(detail)


def squared_errors(items: Items) -> list[float | None]:
    """The squared error of each item; None where there is no answer."""
    pairs = zip(items.answers, items.gold, strict=True)
    return [None if answer is None else float((answer - gold) ** 2) for answer, gold in pairs]


def standard_scores(answers: Sequence[float]) -> list[float]:
    """Answers less their mean, over their standard deviation; 0 for all where they are constant."""
    values = np.array(answers, dtype=np.float64)
    spread = float(values.std())
    scores: list[float] = ((values - values.mean()) / spread if spread else values * 0).tolist()
    return scores


def standard_ranks(answers: Sequence[float]) -> list[float]:
    """The standard scores of the answers' average ranks."""
    return standard_scores(average_ranks(np.array(answers, dtype=np.float64)).tolist())


def _items(case: dict[str, Sequence[float]]) -> Items:
    return Items(case["gold"], case["pred"])


def _golden_jsts(case: dict[str, Sequence[float]]) -> dict[str, float]:
    return {"pearson": pearson(_items(case)).value, "spearmanr": spearman(_items(case)).value}


def _golden_klue(case: dict[str, Sequence[float]]) -> dict[str, float]:
    return {
        "float32": pearson(_items(case)).value * 100,
        "float64": pearson(_items(case), "documented").value * 100,
    }


FLOAT32 = "The reference holds scores as float32; the difference is in the sixth digit."

FLAT = "A correlation needs two answers that differ and two gold scores that differ."
SQUARED_ERROR = ItemForm("squared-error", squared_errors, "lower")
METRICS = (
    Metric(
        "pearson",
        pearson,
        "Linear correlation of answers and gold.",
        FLOAT32,
        undefined=FLAT,
        kinds=("similarity",),
        low=-1.0,
        skips_unanswered=True,
        standardise=standard_scores,
        item_form=SQUARED_ERROR,
    ),
    Metric(
        "spearman",
        spearman,
        "Rank correlation of answers and gold.",
        FLOAT32,
        undefined=FLAT,
        kinds=("similarity",),
        low=-1.0,
        skips_unanswered=True,
        standardise=standard_ranks,
        item_form=SQUARED_ERROR,
    ),
    Metric(
        "mse",
        mse,
        "Mean squared error.",
        scaled=False,
        better="lower",
        kinds=("similarity",),
        high=math.inf,
        skips_unanswered=True,
        item_form=SQUARED_ERROR,
    ),
)
GOLDEN = {"jsts_pearson_spearman": _golden_jsts, "klue_sts_pearsonr": _golden_klue}
