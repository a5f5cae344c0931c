"""Signs of haste: how long a worker takes, and how long the same answer is given in a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.table import Floats, Table

ODD_PACE = 3.0
"""Times faster or slower than the usual worker from which the pace is odd."""
CHANCE = 0.001
"""Probability, over all workers together, of a run that is not called straight-lining."""


def habits(table: Table) -> tuple[Floats, NDArray[np.int64], list[tuple[str, ...]]]:
    """Median seconds, longest run of one answer, and what is odd about them, of each worker."""
    seconds = median_seconds(table)
    length, code = longest_runs(table)
    straight = unlikely_runs(table, length, code)
    known = seconds[~np.isnan(seconds)]
    usual = float(np.median(known)) if len(known) > 2 else float("nan")
    with np.errstate(invalid="ignore"):
        marks = {
            "fast": seconds < usual / ODD_PACE,
            "slow": seconds > usual * ODD_PACE,
            "straight": straight,
        }
    flags = [
        tuple(name for name, mark in marks.items() if mark[w]) for w in range(len(table.workers))
    ]
    return seconds, length, flags


def median_seconds(table: Table) -> Floats:
    """Of each worker; NaN where no time is said."""
    found = np.full(len(table.workers), np.nan)
    if table.seconds is None:
        return found
    said = ~np.isnan(table.seconds)
    worker, seconds = table.worker[said], table.seconds[said].astype(np.float64)
    order = np.lexsort((seconds, worker))
    n = np.bincount(worker, minlength=len(found))
    some = np.flatnonzero(n)
    start = (np.cumsum(n) - n)[some]
    low, high = start + (n[some] - 1) // 2, start + n[some] // 2
    found[some] = (seconds[order][low] + seconds[order][high]) / 2
    return found


def longest_runs(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each worker the length of the longest run of one answer, and that answer's code."""
    order = np.argsort(table.worker, kind="stable")
    worker, answer = table.worker[order], table.answer[order]
    length = np.zeros(len(table.workers), dtype=np.int64)
    code = np.zeros(len(table.workers), dtype=np.int64)
    if not len(worker):
        return length, code
    new = np.flatnonzero(np.r_[True, (worker[1:] != worker[:-1]) | (answer[1:] != answer[:-1])])
    runs = np.diff(np.r_[new, len(worker)])
    ranked = np.lexsort((runs, worker[new]))
    owner = worker[new][ranked]
    last = np.flatnonzero(np.r_[owner[1:] != owner[:-1], True])
    length[owner[last]] = runs[ranked][last]
    code[owner[last]] = answer[new][ranked][last]
    return length, code


def unlikely_runs(
    table: Table, length: NDArray[np.int64], code: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether chance would hardly make the run: by the union bound, (n - L + 1) p^L, p being the others' share.

    It takes the items to come in no particular order; in a file sorted by the answer everyone has long runs.
    """
    n = np.bincount(table.worker, minlength=len(table.workers))
    used = np.bincount(table.answer, minlength=len(table.categories))[code]
    own = np.bincount(table.worker[table.answer == code[table.worker]], minlength=len(n))
    share = (used - own + 1) / (len(table) - n + len(table.categories))
    likely = (n - length + 1) * np.power(share, length)
    return np.asarray((n > 0) & (likely < CHANCE / max(1, len(n))))
