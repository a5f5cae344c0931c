"""How far the answers about an item carry: unanimous, majority or none; their variance; the author and the validators.

A majority is an answer of more than half the workers of an item, but not of all: those items are unanimous. An item that
lacks answers is `incomplete`, neither of them: a blank is no vote. How many it was to get is said (`Table.each`), or
guessed: where nearly all items have an answer of every worker, each worker was to answer all; else two make an item.
The variance of an item is that of its own answers (divided by their number, not by one less).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.agreement_kappa import fleiss
from nikawa.aggregation.agreement_kinds import Kinds
from nikawa.aggregation.agreement_measure import Floats, Level, Measure, mean_of, ratio
from nikawa.aggregation.table import Table
from nikawa.errors import unknown

NOMINAL: Level = "nominal"
NEARLY_ALL = 0.9
"""Share of items with an answer of every worker from which on each worker is taken to have been asked about all."""
SHARES = ("unanimous", "majority", "none", "incomplete")


def wanted(table: Table | Kinds) -> int:
    """How many answers an item was to get, as far as that is said or can be guessed."""
    if table.each is not None:
        return table.each
    times = table.times if isinstance(table, Kinds) else None
    crossed = np.average(table.per_item() == len(table.workers), weights=times) >= NEARLY_ALL
    return len(table.workers) if crossed else 2


def standing(table: Table | Kinds) -> dict[str, NDArray[np.bool_]]:
    """Which items are unanimous, which have a majority only, which neither, which too few answers."""
    m, most = table.per_item(), table.counts().max(axis=1)
    full = m >= wanted(table)
    unanimous, over_half = full & (most == m), full & (2 * most > m)
    return {
        "unanimous": unanimous,
        "majority": over_half & ~unanimous,
        "none": full & ~over_half,
        "incomplete": ~full,
    }


def shares(table: Table | Kinds) -> Iterator[Measure]:
    """The four shares of items; `incomplete` only where there are such items."""
    everything = np.ones(len(table.per_item()), dtype=np.bool_)
    for name, which in standing(table).items():
        if name != "incomplete" or which.any():
            yield mean_of(name, NOMINAL, which.astype(np.float64), everything)


def majority_codes(table: Table) -> NDArray[np.int64]:
    """The answer of more than half of an item's workers, -1 where there is none."""
    counts = table.counts()
    return np.where(2 * counts.max(axis=1) > table.per_item(), counts.argmax(axis=1), -1)


def variances(table: Table | Kinds) -> Iterator[Measure]:
    """Mean and standard deviation of the items' variances, and the mean of their standard deviations."""
    paired = table.per_item() > 1
    variance = np.where(paired, _variance(table), 0.0)
    yield mean_of("variance-mean", "interval", variance, paired)
    yield Measure(
        "variance-sd", "interval", np.column_stack([paired, variance, variance**2]), _finish_sd
    )
    yield mean_of("sd-mean", "interval", np.sqrt(variance), paired)


def _variance(table: Table | Kinds) -> Floats:
    """The variance of the answers about each item, around their own mean."""
    m = np.maximum(table.per_item(), 1)
    if isinstance(table, Kinds):
        mean = table.counts() @ table.values / m
        found: Floats = (table.counts() * (table.values - mean[:, None]) ** 2).sum(axis=1) / m
        return found
    mean = np.bincount(table.item, table.numbers, minlength=len(m)) / m
    spread = (table.numbers - mean[table.item]) ** 2
    return np.bincount(table.item, spread, minlength=len(m)) / m


def _finish_sd(sums: Floats) -> Floats:
    n, first, second = np.moveaxis(sums, -1, 0)
    mean = ratio(first, n)
    return np.sqrt(np.maximum(ratio(second, n) - mean**2, 0.0))


def individual_majority(table: Table | Kinds) -> Measure:
    """The share of single answers that are their item's majority, over items that have one."""
    m, most = table.per_item(), table.counts().max(axis=1)
    settled = 2 * most > m
    statistics = np.column_stack([most * settled, m * settled]).astype(np.float64)
    return Measure(
        "individual-is-majority", NOMINAL, statistics, lambda s: ratio(s[..., 0], s[..., 1])
    )


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
