"""Lexical overlap: the share of the tokens of one input (question, hypothesis) that are in another (paragraph, premise).

JGLUE (Kurihara and others 2022) reports 0.795 for the questions of JSQuAD, by a segmentation it does not name; docs/analyse.md
lists the value of each segmentation. Every token counts as often as it occurs; the mean is over items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.metrics.correlation import average_ranks, standardise
from nikawa.records import Record
from nikawa.stats.masks import (
    Sample,
    finite_or_none,
    make_figure,
    measure_parts,
    resample_grouped,
    resample_sums,
)
from nikawa.stats.resample import Floats, Ints, count_units, split_groups
from nikawa.stats.results import Figure
from nikawa.stats.slices import Mask

BINS = 5
ITEMS_AT_ONCE = 100_000
"""Items whose products are in memory at once."""


class OverlapBin(Record, frozen=True, kw_only=True):
    """Items of about the same overlap; bins have about equal size."""

    n: int
    least: float
    most: float
    """Lowest and highest overlap in it."""
    mean: float
    value: float | None
    """The metric on these items, in its unit."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TokenOverlap:
    """Tokens of each item, and the number of them in the other input."""

    found: Floats
    """Tokens of each item that are in the other input."""
    tokens: Floats
    """All its tokens."""

    @property
    def shares(self) -> Floats:
        """Found over all, item by item; 0 without a token."""
        shares: Floats = self.found / np.maximum(self.tokens, 1)
        return shares

    @property
    def pooled(self) -> float:
        """Tokens found over all tokens."""
        return float(self.found.sum() / max(1.0, self.tokens.sum()))


def shared_tokens(pairs: Iterable[tuple[Sequence[str], frozenset[str]]]) -> TokenOverlap:
    """Count for each pair of (tokens, the other input's tokens)."""
    rows = [(sum(token in other for token in tokens), len(tokens)) for tokens, other in pairs]
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return TokenOverlap(table[:, 0], table[:, 1])


def join_overlaps(parts: Sequence[TokenOverlap]) -> TokenOverlap:
    """The pairs of several counts, one after the other."""
    none = np.zeros(0)
    return TokenOverlap(
        np.concatenate([none, *(part.found for part in parts)]),
        np.concatenate([none, *(part.tokens for part in parts)]),
    )


def mean_share(shared: TokenOverlap, units: Ints, *, resamples: int, seed: int = 0) -> Figure:
    """The mean share with its interval."""
    shares = shared.shares
    table = np.column_stack([shares, np.ones_like(shares)])
    sums = resample_sums(table, units, resamples=resamples, seed=seed)
    value = np.array([shares.mean()])
    drawn = sums[:, 0] / sums[:, 1]
    return make_figure(value, drawn, units=count_units(units), n=len(shares))


def overlap_bins(
    shares: Floats, sample: Sample, *, scale: float, resamples: int, seed: int = 0
) -> tuple[OverlapBin, ...]:
    """The metric in parts of about equal size, from low overlap to high; equal shares stay together."""
    cuts = [i / BINS for i in range(1, BINS)]
    edges = np.unique(np.quantile(shares, cuts, method="lower"))
    bin_of_item = np.searchsorted(edges, shares)
    masks: list[Mask] = [bin_of_item == number for number in np.unique(bin_of_item)]
    parts = measure_parts(sample, masks, resamples=resamples, seed=seed)
    bins = []
    for number, mask in enumerate(masks):
        inside = shares[mask]
        value = parts.figure(number, units=sample.units_in(mask), scale=scale)
        bins.append(
            OverlapBin(
                n=len(inside),
                least=float(inside.min()),
                most=float(inside.max()),
                mean=float(inside.mean()),
                value=value.value,
                low=value.low,
                high=value.high,
            )
        )
    return tuple(bins)


def rank_correlation(x: Floats, y: Floats, units: Ints, *, resamples: int, seed: int = 0) -> Figure:
    """Spearman's rho, with an interval from resamples of the ranks; None where a side is constant."""
    a, b = standardise(average_ranks(x)), standardise(average_ranks(y))
    total = np.zeros(6)
    for start in range(0, len(a), ITEMS_AT_ONCE):
        table = _list_products(a, b, slice(start, start + ITEMS_AT_ONCE))
        table[0] += total
        total = table.sum(axis=0)
    value = float(_pearson(total))
    if finite_or_none(value) is None:
        return Figure(value=None, n=len(x))
    grouped = np.empty((count_units(units), 6))
    for groups, items, first in split_groups(units, 6):
        grouped[groups] = np.add.reduceat(_list_products(a, b, items), first, axis=0)
    drawn = _pearson(resample_grouped([grouped], resamples, seed)[0])
    return make_figure(np.array([value]), drawn, units=count_units(units), n=len(x))


def _list_products(a: Floats, b: Floats, items: Any) -> Floats:
    """What `_pearson` sums, of some items."""
    a, b = a[items], b[items]
    return np.column_stack([np.ones_like(a), a, b, a * a, b * b, a * b])


def _pearson(sums: Floats) -> Floats:
    """Pearson's r from (n, Σx, Σy, Σx², Σy², Σxy); not a number where a side is constant."""
    n, sx, sy, xx, yy, xy = np.moveaxis(sums, -1, 0)
    dx, dy = n * xx - sx * sx, n * yy - sy * sy
    flat = (dx <= 1e-9) | (dy <= 1e-9)
    spread = np.sqrt(np.where(flat, 1.0, dx * dy))
    return np.where(flat, np.nan, (n * xy - sx * sy) / spread)
