"""Correlations and squared error of scores (JSTS, KLUE-STS, JSICK-STS).

Pearson: r = Σ(x-mx)(y-my) / (|x-mx| |y-my|). Spearman: Pearson of average ranks. The reference code
stores scores as float32, which moves Pearson in the sixth digit: `official` does so too, `documented` keeps
float64. A constant side gives NaN; fewer than two items are refused, as scipy refuses them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics.base import (
    Additive,
    Exchange,
    Floats,
    Items,
    ItemScore,
    Metric,
    Mode,
    Weighted,
    mean,
    ratio,
)

MAX_CODES_AT_ONCE = 40_000
"""Counts of distinct answers worked on at once, in the processor's cache."""
BLOCK_SIZE = 64
"""Resamples worked on at once: few, so that a block of weights stays in the processor's cache."""


def read_scores(items: Items) -> tuple[Floats, Floats]:
    """Answers and gold of the items that were answered; a correlation has no place for a missing score.

    The metrics of this file are over these items alone: so are their weights.
    """
    if len(items.gold) != len(items.answers):
        raise BadInput(
            f"{len(items.gold)} gold scores, {len(items.answers)} answers", cure="pass one per item"
        )
    answers, gold = items.answers, items.gold
    if None in answers:
        kept = [i for i, answer in enumerate(answers) if answer is not None]
        answers, gold = [answers[i] for i in kept], [gold[i] for i in kept]
    if len(answers) < 2:
        raise BadInput(f"there are {len(answers)} answers", cure="a correlation needs at least two")
    return np.array(answers, dtype=np.float64), np.array(gold, dtype=np.float64)


def pearson(items: Items, mode: Mode = "official") -> Additive:
    """Pearson's r between answers and gold."""
    x, y = items.compute_once(read_scores)
    value = pearson_value(x, y, mode)
    x, y = x - x.mean(), y - y.mean()  # the sums below lose digits far from 0
    statistics = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])

    def finish(sums: Floats) -> Floats:
        n, sx, sy, xx, yy, xy = np.moveaxis(sums, -1, 0)
        cross = n * xy - sx * sy
        dx, dy = n * xx - sx * sx, n * yy - sy * sy
        flat = (dx <= 1e-12 * n * xx) | (dy <= 1e-12 * n * yy)
        r = ratio(cross, np.sqrt(np.where(flat, 1, dx * dy)))
        return np.where(flat, np.nan, np.clip(r, -1, 1))

    return Additive(statistics, finish, value)


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


def spearman(items: Items, mode: Mode = "official") -> Weighted:
    """Spearman's rho: Pearson's r of average ranks."""
    x, y = items.compute_once(read_scores)
    if mode == "official":
        x, y = (side.astype(np.float32).astype(np.float64) for side in (x, y))
    value = pearson_value(average_ranks(x), average_ranks(y), "documented")
    prepared = cache(lambda: _RankCorrelation(x, y))  # a value alone needs none of it
    return Weighted(lambda weights: prepared().under(weights), value)


def average_ranks(x: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Floats = (last - (count - 1) / 2)[place]
    return ranks


def exchange_ranks(left: Items, right: Items) -> Exchange:
    """Official Spearman of two systems whose answers are exchanged: the values of both are sorted once, and the ranks of a selection
    come from counts.
    """
    (x, gold), (z, _) = (
        tuple(
            side.astype(np.float32).astype(np.float64) for side in items.compute_once(read_scores)
        )
        for items in (left, right)
    )
    n = len(x)
    _, codes = np.unique(np.concatenate([x, z]), return_inverse=True)
    own, other, size = codes[:n], codes[n:], int(codes.max()) + 1
    every = np.bincount(codes, minlength=size)
    wanted = average_ranks(gold)
    is_flat = bool((wanted == wanted[0]).all())
    unit = wanted if is_flat else _unit(wanted)

    def correlate(chosen: NDArray[Any], counts: NDArray[Any]) -> Floats:
        """Rho for each row of codes, from how often each code is in the row."""
        half = counts - 1.0
        half *= 0.5
        ranks = np.subtract(np.cumsum(counts, axis=1), half, out=half)
        occurs, rows = counts > 0, np.arange(len(counts))
        lowest = counts[rows, occurs.argmax(axis=1)]
        highest = counts[rows, size - 1 - occurs[:, ::-1].argmax(axis=1)]
        flat = lowest == n
        # the mean of ranks and their largest deviation from it are exact, so they need not be searched for
        largest = (n - np.minimum(lowest, highest))[:, None] / 2
        largest[flat] = 1
        deviation = ranks.ravel()[chosen]
        deviation -= (n + 1) / 2
        share = deviation / largest
        share *= share
        length = np.sqrt(np.add.reduce(share, axis=-1))[:, None]
        length[flat] = 1
        deviation /= largest * length
        rho: Floats = np.clip(np.vecdot(deviation, unit), -1, 1)
        return np.where(flat, np.nan, np.round(rho) if n == 2 else rho)

    def values(exchanged: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        if is_flat:
            return np.full(len(exchanged), np.nan), np.full(len(exchanged), np.nan)
        rhos: tuple[list[Floats], list[Floats]] = ([], [])
        step = max(1, MAX_CODES_AT_ONCE // size)
        for start in range(0, len(exchanged), step):
            block = exchanged[start : start + step]
            first = (np.arange(len(block)) * size)[:, None]
            chosen = np.where(block, other, own) + first
            rest = np.where(block, own, other) + first
            counts = np.bincount(chosen.ravel(), minlength=len(block) * size).reshape(-1, size)
            rhos[0].append(correlate(chosen, counts))
            rhos[1].append(correlate(rest, every - counts))
        return np.concatenate(rhos[0]), np.concatenate(rhos[1])

    return values


class _RankCorrelation:
    """Spearman's rho under weights.

    With items sorted by the side that has more distinct values, its ranks are running sums; the other side's
    part needs only sums over its distinct values. Mean ranks are (n + 1) / 2, and the spread of ranks is
    (n³ - Σ m³) / 12 over the masses m of distinct values.
    """

    def __init__(self, x: Floats, y: Floats) -> None:
        coarse, fine = sorted((y, x), key=lambda side: len(np.unique(side)))
        self._order = np.argsort(fine, kind="stable")
        ranked = fine[self._order]
        self._starts = np.flatnonzero(np.append(True, np.diff(ranked) != 0))
        self._lengths = np.diff(np.append(self._starts, len(ranked)))
        self._has_ties = len(self._starts) < len(ranked)
        values, place = np.unique(coarse[self._order], return_inverse=True)
        self._by_value = np.argsort(place, kind="stable")
        self._value_starts = np.searchsorted(place[self._by_value], np.arange(len(values)))

    def _sum_by_value(self, rows: Floats) -> Floats:
        """Sums of the rows of each distinct value of the coarse side."""
        return np.add.reduceat(rows.take(self._by_value, axis=0), self._value_starts, axis=0)

    def under(self, weights: Floats) -> Floats:
        """rho for each row of weights, a block at a time."""
        rhos = []
        for start in range(0, len(weights), BLOCK_SIZE):
            block = np.ascontiguousarray(weights[start : start + BLOCK_SIZE].T)
            rhos.append(self._rho_of_columns(block.take(self._order, axis=0)))
        return np.concatenate(rhos)

    def _rho_of_columns(self, weights: Floats) -> Floats:
        mass = weights
        if self._has_ties:
            mass = np.add.reduceat(weights, self._starts, axis=0)
        ranks = _weighted_ranks(mass)
        if self._has_ties:
            ranks = np.repeat(ranks, self._lengths, axis=0)
        other = self._sum_by_value(weights)
        products = self._sum_by_value(weights * ranks)
        total = other.sum(axis=0)
        both = np.einsum("ij,ij->j", products, _weighted_ranks(other))
        cross = both - total * ((total + 1) / 2) ** 2
        spread, other_spread = (
            (total**3 - np.einsum("ij,ij,ij->j", m, m, m)) / 12 for m in (mass, other)
        )
        flat = (spread < 1e-9) | (other_spread < 1e-9)
        rho = ratio(cross, np.sqrt(np.where(flat, 1, spread * other_spread)))
        return np.where(flat, np.nan, rho)


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


def mse(items: Items, mode: Mode = "official") -> Additive:
    """Mean squared error of the answered items."""
    x, y = items.compute_once(read_scores)
    detail = (x - y) ** 2
    return mean(detail)


def squared_errors(items: Items) -> list[float | None]:
    """The squared error of each item; None where there is no answer."""
    pairs = zip(items.answers, items.gold, strict=True)
    return [None if answer is None else float((answer - gold) ** 2) for answer, gold in pairs]


def standardise(values: Floats) -> Floats:
    """Values less their mean, over their standard deviation; 0 for all where they are constant."""
    spread = float(values.std())
    scores: Floats = (values - values.mean()) / (spread or 1.0)
    return scores


def standard_scores(answers: Sequence[float] | Floats) -> list[float]:
    """The same of answers."""
    scores: list[float] = standardise(np.array(answers, dtype=np.float64)).tolist()
    return scores


def standard_ranks(answers: Sequence[float] | Floats) -> list[float]:
    """The standard scores of the answers' average ranks."""
    ranks = average_ranks(np.array(answers, dtype=np.float64))
    scores: list[float] = standardise(ranks).tolist()
    return scores


FLOAT32 = "The reference stores scores as float32; the difference is in the sixth digit."

FLAT = "A correlation needs two answers that differ and two gold scores that differ."
SQUARED_ERROR = ItemScore("squared-error", squared_errors, "lower")
PEARSON = Metric(
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
    names_in_tools={"llm-jp-eval": "pearson"},
)
METRICS = (
    PEARSON,
    replace(
        PEARSON,
        name="spearman",
        evaluate=spearman,
        about="Rank correlation of answers and gold.",
        standardise=standard_ranks,
        exchange=exchange_ranks,
        names_in_tools={"llm-jp-eval": "spearman"},
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


def golden_jsts(case: dict[str, Sequence[float]]) -> dict[str, float]:
    """Both correlations of JSTS."""
    items = Items(case["gold"], case["pred"])
    return {"pearson": pearson(items).value, "spearmanr": spearman(items).value}


def golden_klue(case: dict[str, Sequence[float]]) -> dict[str, float]:
    """Pearson's r of KLUE-STS in percent, as the reference rounds and without rounding."""
    items = Items(case["gold"], case["pred"])
    return {
        "float32": pearson(items).value * 100,
        "float64": pearson(items, "documented").value * 100,
    }


GOLDEN = {"jsts_pearson_spearman": golden_jsts, "klue_sts_pearsonr": golden_klue}
