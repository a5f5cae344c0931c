"""Lexical overlap: the share of the tokens of one input (question, hypothesis) that are in another (paragraph, premise).

JGLUE (Kurihara and others 2022) tells 0.795 for the questions of JSQuAD, by a segmentation it does not name; docs/analyse.md
tells what each gives. Every token counts as often as it occurs; the mean is over items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nikawa.analysis.results import Figure, OverlapBin
from nikawa.stats.masks import Sample, figure, finite_or_none, measure_parts, resampled_sums
from nikawa.stats.resample import Floats, Ints, count_units
from nikawa.stats.slices import Mask

BINS = 5


@dataclass(frozen=True)
class Shared:
    """Tokens of each item, and how many of them the other input holds."""

    found: Floats
    tokens: Floats

    @property
    def shares(self) -> Floats:
        """Found over all, item by item; 0 where there is no token."""
        shares: Floats = self.found / np.maximum(self.tokens, 1)
        return shares

    @property
    def pooled(self) -> float:
        """Tokens found over all tokens."""
        return float(self.found.sum() / max(1.0, self.tokens.sum()))


def shared_tokens(pairs: Iterable[tuple[Sequence[str], frozenset[str]]]) -> Shared:
    """Count for each pair of (tokens, the other input's tokens)."""
    rows = [(sum(token in other for token in tokens), len(tokens)) for tokens, other in pairs]
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return Shared(table[:, 0], table[:, 1])


def mean_share(shared: Shared, units: Ints, *, resamples: int, seed: int = 0) -> Figure:
    """The mean share with its interval."""
    shares = shared.shares
    sums = resampled_sums(
        np.column_stack([shares, np.ones_like(shares)]), units, resamples=resamples, seed=seed
    )
    return figure(
        np.array([shares.mean()]), sums[:, 0] / sums[:, 1], units=count_units(units), n=len(shares)
    )


def overlap_bins(
    shares: Floats, sample: Sample, *, scale: float, resamples: int, seed: int = 0
) -> tuple[OverlapBin, ...]:
    """The metric in parts of about equal size, from low overlap to high; equal shares stay together."""
    masks = list(_parts(shares))
    found = measure_parts(sample, masks, resamples=resamples, seed=seed)
    return tuple(
        _bin(
            shares[mask],
            found.figure(i, units=sample.units_in(mask), scale=scale),
        )
        for i, mask in enumerate(masks)
    )


def _parts(shares: Floats) -> Iterator[Mask]:
    edges = np.unique(np.quantile(shares, [i / BINS for i in range(1, BINS)], method="lower"))
    place = np.searchsorted(edges, shares)
    for i in np.unique(place):
        yield place == i


def _bin(shares: Floats, value: Figure) -> OverlapBin:
    return OverlapBin(
        n=len(shares),
        least=float(shares.min()),
        most=float(shares.max()),
        mean=float(shares.mean()),
        value=value.value,
        low=value.low,
        high=value.high,
    )


def rank_correlation(x: Floats, y: Floats, units: Ints, *, resamples: int, seed: int = 0) -> Figure:
    """Spearman's rho, with an interval from resamples of the ranks; None where a side is constant."""
    a, b = (_standard(_ranks(side)) for side in (x, y))
    table = np.column_stack([np.ones_like(a), a, b, a * a, b * b, a * b])
    drawn = _pearson(resampled_sums(table, units, resamples=resamples, seed=seed))
    value = float(_pearson(table.sum(axis=0)))
    if finite_or_none(value) is None:
        return Figure(value=None, n=len(x))
    return figure(np.array([value]), drawn, units=count_units(units), n=len(x))


def _ranks(x: Floats) -> Floats:
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks


def _standard(x: Floats) -> Floats:
    spread = float(x.std())
    standard: Floats = (x - x.mean()) / (spread or 1.0)
    return standard


def _pearson(sums: Floats) -> Floats:
    n, sx, sy, xx, yy, xy = np.moveaxis(sums, -1, 0)
    dx, dy = n * xx - sx * sx, n * yy - sy * sy
    flat = (dx <= 1e-9) | (dy <= 1e-9)
    return np.where(flat, np.nan, (n * xy - sx * sy) / np.sqrt(np.where(flat, 1.0, dx * dy)))
