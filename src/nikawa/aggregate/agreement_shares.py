"""How far the answers about an item carry: unanimous, majority or none; their variance; the author and the validators.

A majority is an answer of more than half the workers of an item. Where every worker was to answer every item (most
items have an answer of each), an item that lacks one is `incomplete`, neither unanimous nor a majority: a blank is
no vote. The variance of an item is that of its own answers (divided by their number, not by one less).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregate.agreement_kappa import fleiss
from nikawa.aggregate.agreement_measure import Floats, Level, Measure, mean_of, ratio
from nikawa.aggregate.table import Table
from nikawa.errors import unknown

NOMINAL: Level = "nominal"
SHARES = ("unanimous", "majority", "none", "incomplete")


def standing(table: Table) -> dict[str, NDArray[np.bool_]]:
    """Which items are unanimous, which have a majority, which neither, which too few answers."""
    m, most = table.per_item(), table.counts().max(axis=1)
    crossed = 2 * int((m == len(table.workers)).sum()) > len(m)
    wanted = len(table.workers) if crossed else 2
    full = m >= wanted
    unanimous, over_half = full & (most == m), full & (2 * most > m)
    return {
        "unanimous": unanimous,
        "majority": over_half & ~unanimous,
        "none": full & ~over_half,
        "incomplete": ~full,
    }


def shares(table: Table) -> Iterator[Measure]:
    """The four shares of items; `incomplete` only where there are such items."""
    everything = np.ones(len(table.items), dtype=np.bool_)
    for name, which in standing(table).items():
        if name != "incomplete" or which.any():
            yield mean_of(name, NOMINAL, which.astype(np.float64), everything)


def majority_codes(table: Table) -> NDArray[np.int64]:
    """The answer of more than half of an item's workers, -1 where there is none."""
    counts = table.counts()
    return np.where(2 * counts.max(axis=1) > table.per_item(), counts.argmax(axis=1), -1)


def variances(table: Table) -> Iterator[Measure]:
    """Mean and standard deviation of the items' variances, and the mean of their standard deviations."""
    m = table.per_item()
    centred = table.numbers - table.numbers.mean()
    first = np.bincount(table.item, centred, minlength=len(m)) / np.maximum(m, 1)
    spread = (centred - first[table.item]) ** 2
    variance = np.bincount(table.item, spread, minlength=len(m)) / np.maximum(m, 1)
    paired = m > 1
    yield mean_of("variance-mean", "interval", variance, paired)
    kept = np.where(paired, variance, 0.0)
    yield Measure("variance-sd", "interval", np.column_stack([paired, kept, kept**2]), _finish_sd)
    yield mean_of("sd-mean", "interval", np.sqrt(variance), paired)


def _finish_sd(sums: Floats) -> Floats:
    n, first, second = np.moveaxis(sums, -1, 0)
    mean = ratio(first, n)
    return np.sqrt(np.maximum(ratio(second, n) - mean**2, 0.0))


def individual(table: Table, gold: NDArray[np.int64], name: str) -> Measure:
    """The share of single answers that are the gold of their item, over items that have one."""
    counted = gold[table.item] >= 0
    right = counted & (gold[table.item] == table.answer)
    sums = [np.bincount(table.item, which, minlength=len(gold)) for which in (right, counted)]
    return Measure(name, NOMINAL, np.column_stack(sums), lambda s: ratio(s[..., 0], s[..., 1]))


def against_author(table: Table, author: str) -> Iterator[Measure]:
    """Author against validators, as KLUE's Table 5: the gold is the majority of all, the author among them."""
    if author not in table.workers:
        raise unknown("worker", author, [str(worker) for worker in table.workers])
    code = list(table.workers).index(author)
    gold, theirs = majority_codes(table), np.full(len(table.items), -1, dtype=np.int64)
    mine = table.worker == code
    theirs[table.item[mine]] = table.answer[mine]
    validators = table.select(~mine)
    yield individual(validators, gold, "validator-is-gold")
    yield individual(validators, theirs, "validator-is-author")
    counted = (gold >= 0) & (theirs >= 0)
    yield mean_of("author-is-gold", NOMINAL, (gold == theirs).astype(np.float64), counted)
    yield fleiss(validators, "fleiss-validators")
