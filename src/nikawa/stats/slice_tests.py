"""Is a part of the items harder or easier than the rest?

Where the metric is the mean of one score per item, a score test: under no difference both parts share mean and variance, and
items of a group are correlated by the intraclass correlation rho (analysis of variance estimate), so

    Var(mean_part - mean_rest) = s² [(1 - rho)(1/n + 1/m) + rho Σ_g (n_g/n - m_g/m)²]

with n_g and m_g the items of group g in the part (n in all) and in the rest (m). Where items are right or wrong, Fisher's
exact test too, and the larger p is taken: the normal curve is too kind to small parts near 0 or 1. For any other metric, Wald's
test with the standard error of the bootstrap. These tests are about the given runs; with several runs, a part must differ over items and
seeds too (`seeds`), and again the larger p is taken. Parts of fewer than `MIN_ITEMS_FOR_TEST` items are not tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from nikawa.stats.distributions import normal_p
from nikawa.stats.masks import Parts, Sample, finite_or_none, measure_parts
from nikawa.stats.resample import Floats, Ints, correct_holm, sum_groups
from nikawa.stats.results import CrossCell, Figure, Slice
from nikawa.stats.slices import Mask, SliceMask

SLICE_RESAMPLES = 1_000
MIN_ITEMS_FOR_TEST = 10
"""Items a part and its rest need to be tested."""
MIN_SHARE_DEFINED = 0.9
"""Share of resamples in which a difference must be defined."""


def measure_slices(
    sample: Sample,
    slices: Sequence[SliceMask],
    *,
    scale: float = 1.0,
    resamples: int = SLICE_RESAMPLES,
    seed: int = 0,
) -> list[Slice]:
    """Every slice with its interval, its difference from the rest and the test of it, corrected for all of them.

    `scale` multiplies values and ends: 100 for percent.
    """
    if not slices:
        return []
    masks = [each.mask for each in slices]
    parts = measure_parts(sample, masks, resamples=resamples, seed=seed)
    p_values = compute_p_values(sample, masks, parts)
    adjusted = correct_once(masks, p_values)
    measured = []
    for i, (slice_, p, p_holm) in enumerate(zip(slices, p_values, adjusted, strict=True)):
        units, is_whole = sample.units_in(slice_.mask), bool(slice_.mask.all())
        own = parts.figure(i, units=units, scale=scale)
        gap = Figure(value=None) if is_whole else parts.gap(i, units=units, scale=scale)
        rest = None if is_whole else finite_or_none(parts.rests[:, i].mean() * scale)
        measured.append(
            Slice(
                by=slice_.by,
                where=slice_.where,
                n=int(slice_.mask.sum()),
                units=units,
                value=own.value,
                low=own.low,
                high=own.high,
                sd=own.sd,
                rest=rest,
                difference=gap.value,
                difference_low=gap.low,
                difference_high=gap.high,
                p=p,
                p_holm=p_holm,
            )
        )
    return measured


def correct_once(masks: Sequence[Mask], p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction; a part and its complement, or a part under two names, are one test."""
    names = [min(mask.tobytes(), (~mask).tobytes()) for mask in masks]
    once = {name: p for name, p in zip(names, p_values, strict=True) if p is not None}
    adjusted = dict(zip(once, correct_holm(list(once.values())), strict=True))
    return [None if p is None else adjusted[name] for name, p in zip(names, p_values, strict=True)]


def cross_slices(
    sample: Sample,
    labels: Sequence[SliceMask],
    bins: Sequence[SliceMask],
    *,
    scale: float = 1.0,
    resamples: int = SLICE_RESAMPLES,
    seed: int = 0,
) -> list[CrossCell]:
    """Every label in every bin, each label in all, each bin over all labels: empty cells have no value."""
    everything = SliceMask("", "", np.ones(len(sample.units), dtype=bool))
    pairs = [(a, b, a.mask & b.mask) for a in (*labels, everything) for b in (*bins, everything)]
    masks = [mask for _, _, mask in pairs]
    parts = measure_parts(sample, masks, resamples=resamples, seed=seed)
    cells = []
    for i, (label, bin_, mask) in enumerate(pairs):
        own = parts.figure(i, units=sample.units_in(mask), scale=scale)
        n = int(mask.sum())
        cells.append(
            CrossCell(
                label=label.where,
                bin=bin_.where,
                n=n,
                value=own.value if n else None,
                low=own.low if n else None,
                high=own.high if n else None,
                answered=None,
            )
        )
    return cells


def compute_p_values(sample: Sample, masks: Sequence[Mask], parts: Parts) -> list[float | None]:
    """The p of each part against its rest (see above); None where it is too small or not defined."""
    gaps = (parts.values - parts.rests).mean(axis=0)
    drawn = parts.drawn - parts.drawn_rests
    detail, units = sample.detail, sample.units
    rho = 0.0 if detail is None else intraclass_correlation(detail, units)
    p_values: list[float | None] = []
    for i, mask in enumerate(masks):
        n = int(mask.sum())
        p: float | None
        if min(n, len(mask) - n) < MIN_ITEMS_FOR_TEST or not np.isfinite(gaps[i]):
            p = None
        elif detail is None:
            p = wald_p(float(gaps[i]), drawn[:, i])
        else:
            p = score_p(detail, units, mask, rho)
            if sample.binary:
                hits = round(float(detail[mask].sum()))
                all_hits = round(float(detail.sum()))
                p = max(p, fisher_p(hits, n, all_hits, len(mask)))
        p_values.append(None if p is None else max(p, parts.gap_p(i) or 0.0))
    return p_values


def score_p(detail: Floats, units: Ints, mask: Mask, rho: float) -> float:
    """Two-sided p that a part has the mean of the rest; 1 where all scores are equal."""
    n, m = int(mask.sum()), int((~mask).sum())
    difference = float(detail[mask].mean() - detail[~mask].mean())
    inside = sum_groups(np.column_stack([mask, ~mask]), units)
    gaps = inside[:, 0] / n - inside[:, 1] / m
    apart = float((gaps**2).sum())
    factor = (1 - rho) * (1 / n + 1 / m) + rho * apart
    variance = float(detail.var(ddof=1)) * factor
    return normal_p(difference, sqrt(max(variance, 0.0)))


def intraclass_correlation(detail: Floats, units: Ints) -> float:
    """The intraclass correlation of scores in groups, kept between 0 and 1; 0 where no group has two items."""
    sizes = np.bincount(units).astype(np.float64)
    items, groups = len(detail), len(sizes)
    if groups < 2 or groups == items:
        return 0.0
    sums = sum_groups(detail[:, None], units)[:, 0]
    between = float((sums**2 / sizes).sum() - detail.sum() ** 2 / items)
    within = float((detail**2).sum() - (sums**2 / sizes).sum())
    mean_between, mean_within = between / (groups - 1), within / (items - groups)
    size = (items - float((sizes**2).sum()) / items) / (groups - 1)
    total = mean_between + (size - 1) * mean_within
    return float(np.clip((mean_between - mean_within) / total, 0.0, 1.0)) if total > 0 else 0.0


def fisher_p(hits: int, n: int, all_hits: int, total: int) -> float:
    """Fisher's exact test, two-sided: the probability of a table at most as likely as `hits` of `n`, given the margins."""
    log_factorials = np.cumsum(np.log(np.arange(1, total + 1)))
    logs = np.concatenate([[0.0], log_factorials])
    fewest = max(0, n - (total - all_hits))
    k = np.arange(fewest, min(n, all_hits) + 1)
    ways = -(logs[k] + logs[all_hits - k] + logs[n - k] + logs[total - all_hits - n + k])
    chance = np.exp(ways - ways.max())
    seen = chance[hits - fewest]
    as_rare = chance[chance <= seen * (1 + 1e-7)]
    return float(min(1.0, as_rare.sum() / chance.sum()))


def wald_p(difference: float, drawn: Floats) -> float | None:
    """The p of a difference by the spread of its resamples; None where too few of them are defined."""
    defined = drawn[np.isfinite(drawn)]
    if len(defined) < MIN_SHARE_DEFINED * len(drawn) or len(defined) < 2:
        return None
    return normal_p(difference, float(defined.std(ddof=1)))
