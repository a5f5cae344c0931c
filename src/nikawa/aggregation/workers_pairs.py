"""Krippendorff's nominal alpha of every two workers who share items, without a matrix of workers by items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import weighted_count
from nikawa.aggregation.table import Floats, Table

Places = NDArray[np.int64]


def pairwise_alpha(table: Table) -> tuple[Floats, Places]:
    """Of each worker the mean alpha with the others, and over how many others it is.

    Pairs who never could disagree (one answer between them) have no alpha and are left out.
    """
    first, second, left, right = meetings(table)
    size = len(table.workers)
    pair, shared = np.unique(first * np.int64(size) + second, return_inverse=True)
    value = _alphas(shared, left, right, len(pair), len(table.categories))
    defined = ~np.isnan(value)
    one, other = np.divmod(pair[defined], size)
    both = np.concatenate([one, other])
    total = weighted_count(both, np.tile(value[defined], 2), size)
    partners = np.bincount(both, minlength=size)
    return np.where(partners > 0, total / np.maximum(1, partners), np.nan), partners


def meetings(table: Table) -> tuple[Places, Places, Places, Places]:
    """Every two answers about one item, once: the two workers (the lower code first) and their answers."""
    order = np.argsort(table.item, kind="stable")
    item, worker, answer = table.item[order], table.worker[order], table.answer[order]
    parts: list[tuple[Places, ...]] = []
    for shift in range(1, int(table.per_item().max(initial=1))):
        same = np.flatnonzero(item[shift:] == item[:-shift])
        a, b = worker[same].astype(np.int64), worker[same + shift].astype(np.int64)
        x, y = answer[same].astype(np.int64), answer[same + shift].astype(np.int64)
        swap = a > b
        parts.append(
            (np.where(swap, b, a), np.where(swap, a, b), np.where(swap, y, x), np.where(swap, x, y))
        )
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing
    first, second, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    return first, second, left, right


def _alphas(pair: Places, left: Places, right: Places, pairs: int, wide: int) -> Floats:
    """Alpha of each pair: 1 - (2n - 1) · disagreements · 2 / Σ_c n_c (2n - n_c), over its n shared items."""
    n = np.bincount(pair, minlength=pairs)
    apart = weighted_count(pair, (left != right).astype(np.float64), pairs)
    expected = np.zeros(pairs)
    for category in range(wide):
        here = weighted_count(
            pair, (left == category).astype(np.float64) + (right == category), pairs
        )
        expected += here * (2 * n - here)
    flat = expected == 0
    alpha: Floats = np.where(
        flat, np.nan, 1 - (2 * n - 1) * 2 * apart / np.where(flat, 1.0, expected)
    )
    return alpha
