"""Agreement of a table of judgements: every measure that its answers allow, each ready to be resampled over items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.alpha import alpha, alpha_of_counts
from nikawa.aggregation.kappa import WIDE, fleiss, fleiss_of_counts, kappas
from nikawa.aggregation.measure import (
    LEVELS,
    Agreement,
    Kinds,
    Level,
    Measure,
    kinds_of,
    mean_of,
    ratio,
)
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput, unknown

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


AUTHOR = "author"
"""The worker taken for the author of the items where a table has one of that name."""


def measures(
    table: Table, level: str | None = None, author: str | None = None, *, by_kind: bool = False
) -> Iterator[Agreement]:
    """The measures of a table, made one after the other to save memory.

    Alpha comes at one level where it is named, else at those that fit the answers. With `by_kind`, items answered
    alike are counted once where that saves anything (see `Measure.drawn`).
    """
    _check(table, level)
    if len(table.categories) > WIDE:
        yield from (alpha(table, name) for name in levels(table, level))
        yield from variances(table) if table.numeric else ()
        return
    kinds = kinds_of(table) if by_kind else None
    yield from (_timed(measure, kinds) for measure in _counted(table, kinds or table, level))
    author = AUTHOR if author is None and AUTHOR in table.workers else author
    if author is not None:
        yield from against_author(table, author)


def _counted(table: Table, source: Table | Kinds, level: str | None) -> Iterator[Agreement]:
    for name in levels(table, level):
        yield alpha_of_counts(source, name)
    yield from kappas(table, source)
    yield from shares(source)
    yield from variances(source) if table.numeric else ()
    yield individual_majority(source)


def _timed(measure: Agreement, kinds: Kinds | None) -> Agreement:
    if kinds is None or not isinstance(measure, Measure):
        return measure
    return replace(measure, times=kinds.times)


def _check(table: Table, level: str | None) -> None:
    if level is not None and level not in LEVELS:
        raise unknown("level", level, LEVELS)
    if not (table.per_item() > 1).any():
        raise BadInput(
            f"no item has two answers to {table.question!r}", cure="agreement needs two workers"
        )


def levels(table: Table, asked: str | None) -> tuple[Level, ...]:
    """The levels at which alpha is told: the one asked for, else nominal, and for numbers also in order and size."""
    if asked is not None:
        return tuple(level for level in LEVELS if level == asked)
    return ("interval", "ordinal", "nominal") if table.numeric else ("nominal",)


def _golden_alpha(matrix: Sequence[Sequence[Any]]) -> dict[str, Callable[[], float]]:
    """Alpha of a matrix of workers by items, null for a missing answer."""
    cells = [(i, w, a) for w, row in enumerate(matrix) for i, a in enumerate(row) if a is not None]
    items, workers, answers = zip(*cells, strict=True)
    table = Table.from_columns(items, workers, answers)

    def at(level: Level) -> Callable[[], float]:
        return lambda: _defined(alpha(table, level).value)

    return {level: at(level) for level in ("nominal", "ordinal", "interval")}


def _defined(value: float) -> float:
    if np.isnan(value):
        raise BadInput("only one answer occurs: agreement beyond chance is undefined")
    return value


def _golden_fleiss(counts: Sequence[Sequence[int]]) -> float:
    return fleiss_of_counts(np.array(counts, dtype=np.float64)).value


GOLDEN = {"agreement": _golden_alpha, "fleiss_kappa": _golden_fleiss}
