"""Slices: the metric where items share a tag, a source, a length …, against all other items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from nikawa.analysis.results import CrossCell, Figure, Slice
from nikawa.stats.masks import Mask, Parts, Sample, known, measure
from nikawa.stats.resample import holm
from nikawa.stats.slice_tests import tests

RESAMPLES = 1_000


@dataclass(frozen=True)
class Named:
    """A part of the items and what it is called."""

    by: str
    where: str
    mask: Mask


def slices(
    sample: Sample,
    parts: Sequence[Named],
    *,
    scale: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Slice]:
    """Every part with its interval, its difference from the rest and the test of it, corrected for all of them."""
    if not parts:
        return []
    masks = [part.mask for part in parts]
    found = measure(sample, masks, resamples=resamples, seed=seed)
    gaps = (found.values - found.rests).mean(axis=0)
    each = tests(sample, masks, gaps, found.drawn - found.drawn_rests)
    each = [None if p is None else max(p, found.gap_p(i) or 0.0) for i, p in enumerate(each)]
    adjusted = _corrected(masks, each)
    return [
        replace(_slice(sample, part, i, found, scale), p=each[i], p_holm=adjusted[i])
        for i, part in enumerate(parts)
    ]


def _corrected(masks: Sequence[Mask], each: Sequence[float | None]) -> list[float | None]:
    """Holm's correction; a part and its complement, or a part under two names, are one test."""
    names = [min(mask.tobytes(), (~mask).tobytes()) for mask in masks]
    once = {name: p for name, p in zip(names, each, strict=True) if p is not None}
    adjusted = dict(zip(once, holm(list(once.values())), strict=True))
    return [None if p is None else adjusted[name] for name, p in zip(names, each, strict=True)]


def _slice(sample: Sample, part: Named, i: int, found: Parts, scale: float) -> Slice:
    units, whole = sample.units_in(part.mask), bool(part.mask.all())
    own = found.figure(i, units=units, scale=scale)
    gap = Figure(value=None) if whole else found.gap(i, units=units, scale=scale)
    return Slice(
        by=part.by,
        where=part.where,
        n=int(part.mask.sum()),
        units=units,
        value=own.value,
        low=own.low,
        high=own.high,
        sd=own.sd,
        rest=None if whole else known(found.rests[:, i].mean() * scale),
        difference=gap.value,
        difference_low=gap.low,
        difference_high=gap.high,
        p=None,
        p_holm=None,
    )


def cross(
    sample: Sample,
    labels: Sequence[Named],
    bins: Sequence[Named],
    *,
    scale: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[CrossCell]:
    """Every label in every bin, each label in all, each bin over all labels: cells that hold no item have no value."""
    everything = Named("", "", np.ones(len(sample.units), dtype=bool))
    pairs = [(a, b, a.mask & b.mask) for a in (*labels, everything) for b in (*bins, everything)]
    found = measure(sample, [mask for _, _, mask in pairs], resamples=resamples, seed=seed)
    cells = []
    for i, (label, part, mask) in enumerate(pairs):
        units, n = sample.units_in(mask), int(mask.sum())
        own = found.figure(i, units=units, scale=scale)
        value, low, high = (own.value, own.low, own.high) if n else (None, None, None)
        cells.append(
            CrossCell(
                label=label.where,
                bin=part.where,
                n=n,
                value=value,
                low=low,
                high=high,
                answered=None,
            )
        )
    return cells
