"""Agreement of a table of judgements: every measure that its answers allow, each ready to be resampled over items.

In addition to alpha (see `alpha`) and the kappas (see `kappa`), these are plain shares. A majority is an answer of more than half
the workers of an item, but not of all: those items are unanimous. An item that lacks answers is `incomplete`, neither of
them: a blank is not a vote. The planned number is given (`Table.each`) or estimated: where nearly all items have an
answer of every worker, each worker should answer every item; otherwise two answers are enough. The variance of an item is that of its own
answers (divided by their number, not by one less).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.alpha import alpha, alpha_of_counts
from nikawa.aggregation.kappa import fleiss, kappas
from nikawa.aggregation.measure import (
    LEVELS,
    MAX_CATEGORIES,
    NOMINAL,
    AnswerPatterns,
    AnyMeasure,
    Level,
    SummedMeasure,
    find_answer_patterns,
    mean_measure,
    ratio,
    ratio_of_sums,
)
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput, unknown

AUTHOR = "author"
"""The worker taken for the author of the items where a table has one of that name."""
MIN_SHARE_CROSSED = 0.9
"""Minimum share of items with answers of all workers for the assumption that every worker should answer every item."""


def measures(
    table: Table, level: str | None = None, author: str | None = None, *, by_kind: bool = False
) -> Iterator[AnyMeasure]:
    """The measures of a table, made one after the other to save memory.

    Alpha comes at one level where it is named, else at those that fit the answers. With `by_kind`, items answered
    alike are counted once where that saves anything (see `Measure.draw`).
    """
    if level is not None and level not in LEVELS:
        raise unknown("level", level, LEVELS)
    refuse_single_answers(table)
    levels = choose_levels(table, level)
    if len(table.categories) > MAX_CATEGORIES:
        yield from (alpha(table, name) for name in levels)
        yield from variances(table) if table.numeric else ()
        return
    kinds = find_answer_patterns(table) if by_kind else None
    for measure in _measures_of_counts(table, kinds or table, levels):
        if kinds is not None and isinstance(measure, SummedMeasure):
            yield replace(measure, times=kinds.times)
        else:
            yield measure
    author = AUTHOR if author is None and AUTHOR in table.workers else author
    if author is not None:
        yield from against_author(table, author)


def _measures_of_counts(
    table: Table, source: Table | AnswerPatterns, levels: tuple[Level, ...]
) -> Iterator[AnyMeasure]:
    for name in levels:
        yield alpha_of_counts(source, name)
    yield from kappas(table, source)
    yield from shares(source)
    yield from variances(source) if table.numeric else ()
    yield individual_majority(source)


def refuse_single_answers(table: Table) -> None:
    """Refuse a table in which no item has two answers."""
    if not table.paired().any():
        what = f"no item has two answers to {table.question!r}, but agreement needs two workers"
        raise BadInput(what, cure="if each worker has a separate file, pass their folder")


def choose_levels(table: Table, level: str | None) -> tuple[Level, ...]:
    """The levels of alpha: the one that is named, else nominal, and for numbers also in order and size."""
    if level is not None:
        return tuple(name for name in LEVELS if name == level)
    return ("interval", "ordinal", "nominal") if table.numeric else ("nominal",)


def expected_answers(table: Table | AnswerPatterns) -> int:
    """The number of answers planned per item, if it is given or can be estimated."""
    if table.each is not None:
        return table.each
    times = table.times if isinstance(table, AnswerPatterns) else None
    share_crossed = np.average(table.per_item() == len(table.workers), weights=times)
    return len(table.workers) if share_crossed >= MIN_SHARE_CROSSED else 2


def classify_items(table: Table | AnswerPatterns) -> dict[str, NDArray[np.bool_]]:
    """Which items are unanimous, which have a majority only, which neither, which too few answers."""
    m = table.per_item()
    most = table.counts().max(axis=1)
    full = m >= expected_answers(table)
    unanimous = full & (most == m)
    over_half = full & (2 * most > m)
    return {
        "unanimous": unanimous,
        "majority": over_half & ~unanimous,
        "none": full & ~over_half,
        "incomplete": ~full,
    }


def count_classes(table: Table | AnswerPatterns) -> dict[str, int]:
    """How many items are unanimous, have a majority only, have none, lack answers."""
    return {name: int(which.sum()) for name, which in classify_items(table).items()}


def shares(table: Table | AnswerPatterns) -> Iterator[SummedMeasure]:
    """The four shares of items; `incomplete` only where there are such items."""
    everything = np.ones(len(table.per_item()), dtype=np.bool_)
    for name, which in classify_items(table).items():
        if name != "incomplete" or which.any():
            yield mean_measure(name, NOMINAL, which.astype(np.float64), everything)


def variances(table: Table | AnswerPatterns) -> Iterator[SummedMeasure]:
    """Mean and standard deviation of the items' variances, and the mean of their standard deviations."""
    paired = table.paired()
    variance = np.where(paired, _item_variances(table), 0.0)

    def finish_sd(sums: Floats) -> Floats:
        n, first, second = np.moveaxis(sums, -1, 0)
        mean = ratio(first, n)
        return np.sqrt(np.maximum(ratio(second, n) - mean**2, 0.0))

    yield mean_measure("variance-mean", "interval", variance, paired)
    statistics = np.column_stack([paired, variance, variance**2])
    yield SummedMeasure("variance-sd", "interval", statistics, finish_sd)
    yield mean_measure("sd-mean", "interval", np.sqrt(variance), paired)


def _item_variances(table: Table | AnswerPatterns) -> Floats:
    """The variance of the answers about each item, around their own mean."""
    m = np.maximum(table.per_item(), 1)
    if isinstance(table, AnswerPatterns):
        mean = table.counts() @ table.values / m
        deviations = table.values - mean[:, None]
        squares: Floats = (table.counts() * deviations**2).sum(axis=1)
        return squares / m
    mean = table.sum_by_item(table.numbers) / m
    spread = (table.numbers - mean[table.item]) ** 2
    return table.sum_by_item(spread) / m


def individual_majority(table: Table | AnswerPatterns) -> SummedMeasure:
    """The share of single answers that are their item's majority, over items that have one."""
    m = table.per_item()
    most = table.counts().max(axis=1)
    settled = 2 * most > m
    statistics = np.column_stack([most * settled, m * settled]).astype(np.float64)
    return SummedMeasure("individual-is-majority", NOMINAL, statistics, ratio_of_sums)


def individual_gold(table: Table, gold: NDArray[np.int64], name: str) -> SummedMeasure:
    """The share of single answers that are the gold of their item, over items that have one (no -1)."""
    counted = gold[table.item] >= 0
    right = counted & (gold[table.item] == table.answer)
    statistics = np.column_stack([table.sum_by_item(right), table.sum_by_item(counted)])
    return SummedMeasure(name, NOMINAL, statistics, ratio_of_sums)


def against_author(table: Table, author: str) -> Iterator[SummedMeasure]:
    """Author against validators, as KLUE's Table 5: the gold is the majority of all, the author among them."""
    if author not in table.workers:
        raise unknown("worker", author, [str(worker) for worker in table.workers])
    counts = table.counts()
    has_majority = 2 * counts.max(axis=1) > table.per_item()
    gold = np.where(has_majority, counts.argmax(axis=1), -1)
    by_author = table.worker == list(table.workers).index(author)
    theirs = np.full(len(table.items), -1, dtype=np.int64)
    theirs[table.item[by_author]] = table.answer[by_author]
    validators = table.select(~by_author)
    yield individual_gold(validators, gold, "validator-is-gold")
    yield individual_gold(validators, theirs, "validator-is-author")
    counted = (gold >= 0) & (theirs >= 0)
    yield mean_measure("author-is-gold", NOMINAL, (gold == theirs).astype(np.float64), counted)
    yield fleiss(validators, "fleiss-validators")
