"""Agreement of a table of judgements: every measure that its answers allow, each ready to be resampled over items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nikawa.aggregation.agreement_alpha import alpha, alpha_of_counts
from nikawa.aggregation.agreement_kappa import WIDE, fleiss_of_counts, kappas
from nikawa.aggregation.agreement_kinds import Kinds, kinds_of
from nikawa.aggregation.agreement_measure import LEVELS, Agreement, Level, Measure
from nikawa.aggregation.agreement_shares import (
    against_author,
    individual_majority,
    shares,
    variances,
)
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput, unknown

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
