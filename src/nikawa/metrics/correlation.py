"""Correlations and squared error of scores (JSTS, KLUE-STS, JSICK-STS).

Pearson: r = Σ(x-mx)(y-my) / (|x-mx| |y-my|). Spearman: Pearson of average ranks. The reference code
holds scores as float32, which moves Pearson in the sixth digit: `official` does so too, `documented` keeps
float64. A constant side gives NaN; fewer than two items are refused, as scipy refuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics._metric import Additive, Floats, Items, Metric, Mode, Weighted, ratio

BLOCK = 4_000_000
"""Cells of a weight block: keeps memory flat whatever the number of resamples."""


def read_scores(items: Items) -> tuple[Floats, Floats]:
    """Answers and gold of the items that were answered; a correlation has no place for a missing score."""
    pairs = [(float(a), float(g)) for a, g in zip(items.answers, items.gold, strict=True) if a is not None]
    if len(pairs) < 2:
        raise BadInput(f"a correlation of {len(pairs)} answers", cure="at least two are needed")
    both = np.array(pairs, dtype=np.float64)
    return both[:, 0], both[:, 1]


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
    orders = (_Order.of(x), _Order.of(y))
    return Weighted(lambda weights: _spearman_under(weights, *orders), value)


def average_ranks(x: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Floats = (last - (count - 1) / 2)[place]
    return ranks


class _Order:
    """Which values of a vector are equal, in rising order: all that ranks depend on."""

    def __init__(self, place: NDArray[np.int64], distinct: int) -> None:
        self.place, self.distinct = place, distinct

    @classmethod
    def of(cls, x: Floats) -> _Order:
        values, place = np.unique(x, return_inverse=True)
        return cls(place.astype(np.int64), len(values))

    def ranks(self, weights: Floats) -> Floats:
        """Average ranks when item i counts `weights[:, i]` times."""
        order = np.argsort(self.place, kind="stable")
        starts = np.searchsorted(self.place[order], np.arange(self.distinct))
        mass = np.add.reduceat(weights[:, order], starts, axis=1)
        ranks: Floats = (np.cumsum(mass, axis=1) - (mass - 1) / 2)[:, self.place]
        return ranks


def _spearman_under(weights: Floats, x: _Order, y: _Order) -> Floats:
    rows = max(1, BLOCK // max(1, weights.shape[1]))
    return np.concatenate([_block(weights[i : i + rows], x, y) for i in range(0, len(weights), rows)])


def _block(w: Floats, x: _Order, y: _Order) -> Floats:
    a, b = x.ranks(w), y.ranks(w)
    n = w.sum(axis=1, keepdims=True)
    a -= (w * a).sum(axis=1, keepdims=True) / n
    b -= (w * b).sum(axis=1, keepdims=True) / n
    spread = (w * a * a).sum(axis=1) * (w * b * b).sum(axis=1)
    return ratio((w * a * b).sum(axis=1), np.sqrt(spread), np.nan)


def mse(items: Items, mode: Mode = "official") -> Additive:
    """Mean squared error of the answered items."""
    x, y = read_scores(items)
    detail = (x - y) ** 2
    statistics = np.column_stack([detail, np.ones_like(detail)])
    return Additive(statistics, lambda s: ratio(s[..., 0], s[..., 1], np.nan), float(detail.mean()), detail)


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

METRICS = (
    Metric("pearson", pearson, "Linear correlation of answers and gold.", FLOAT32, kinds=("similarity",)),
    Metric("spearman", spearman, "Rank correlation of answers and gold.", FLOAT32, kinds=("similarity",)),
    Metric("mse", mse, "Mean squared error.", scaled=False, better="lower", kinds=("similarity",)),
)
GOLDEN = {"jsts_pearson_spearman": _golden_jsts, "klue_sts_pearsonr": _golden_klue}
