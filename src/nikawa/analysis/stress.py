"""Answers to originals against answers to their perturbed versions: how often they stay, by operation, case and gold.

Classes: the share of equal answers (Table 16 pools the cases, Table 17 keeps them apart). Scores: Pearson's r between the
two. Intervals: percentile bootstrap over premises. Beside them, where people judged the perturbed version, the same
of people, and of the model on those items alone.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from msgspec.structs import replace

from nikawa.records import Record
from nikawa.stats.resample import (
    RESAMPLES,
    Evaluation,
    bootstrap,
    count_units,
    group_numbers,
    interval,
)

NEUTRAL = "neutral"

Measure = Callable[[Sequence[Any], Sequence[Any]], Evaluation]
"""Answers before and after to how alike they are, as a fraction."""


@dataclass(frozen=True)
class StressItem:
    """One perturbed example with the answers around it."""

    operation: str
    case: str
    """"" for an operation without cases."""
    gold: str
    """The label of the original; "" where the answers are no labels."""
    unit: str
    """The unit of resampling: the original premise."""
    before: Any
    after: Any
    human: tuple[Any, Any] | None = None
    """Gold of the original and of the perturbed version, where people judged that."""


class Cell(Record, frozen=True, kw_only=True):
    """One number of a table; values are percent, None where there is nothing to compute."""

    operation: str
    case: str
    """"" for all cases together."""
    gold: str
    """"" for all labels together."""
    n: int
    value: float | None
    low: float | None
    high: float | None
    to_neutral: float | None
    """Of the items first answered otherwise, how many became neutral; None for scores."""
    human: float | None
    judged: float | None
    """The model's value on the items that people judged."""
    human_n: int


def cells(
    items: Sequence[StressItem],
    measure: Measure,
    *,
    neutral: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Cell]:
    """Every cell: each operation over all cases, then case by case, over all labels and label by label.

    `neutral` says that an answer may be so.
    """
    return [
        replace(cell, to_neutral=_to_neutral(part)) if neutral else cell
        for where, part in _parts(items)
        for cell in [_cell(where, part, measure, resamples, seed)]
    ]


def _parts(items: Sequence[StressItem]) -> Iterator[tuple[tuple[str, str, str], list[StressItem]]]:
    parts: dict[tuple[str, str, str], list[StressItem]] = {}
    for item in items:
        for case in dict.fromkeys(("", item.case)):
            for gold in dict.fromkeys(("", item.gold)):
                parts.setdefault((item.operation, case, gold), []).append(item)
    yield from parts.items()


def _cell(
    where: tuple[str, str, str],
    items: Sequence[StressItem],
    measure: Measure,
    resamples: int,
    seed: int,
) -> Cell:
    answered = [(item.before, item.after) for item in items]
    value, low, high = _measured(answered, [item.unit for item in items], measure, resamples, seed)
    judged = [item for item in items if item.human is not None]
    human = _value([item.human for item in judged if item.human is not None], measure)
    own = _value([(item.before, item.after) for item in judged], measure)
    operation, case, gold = where
    return Cell(
        operation=operation,
        case=case,
        gold=gold,
        n=len(items),
        value=value,
        low=low,
        high=high,
        to_neutral=None,
        human=human,
        judged=own,
        human_n=len(judged),
    )


def _measured(
    pairs: Sequence[tuple[Any, Any]],
    units: Sequence[str],
    measure: Measure,
    resamples: int,
    seed: int,
) -> tuple[float | None, float | None, float | None]:
    found = _evaluated(pairs, measure)
    if found is None:
        return None, None, None
    groups = group_numbers(units)
    low, high = interval(
        bootstrap(found, groups, resamples=resamples, seed=seed), count_units(groups)
    )
    return _percent(found.value), _percent(low), _percent(high)


def _value(pairs: Sequence[tuple[Any, Any]], measure: Measure) -> float | None:
    found = _evaluated(pairs, measure)
    return None if found is None else _percent(found.value)


def _evaluated(pairs: Sequence[tuple[Any, Any]], measure: Measure) -> Evaluation | None:
    """The measure; None for no items, and for a correlation of fewer than two."""
    scores = any(isinstance(answer, float) for pair in pairs for answer in pair)
    if len(pairs) < (2 if scores else 1):
        return None
    return measure([before for before, _ in pairs], [after for _, after in pairs])


def _percent(value: float) -> float | None:
    return None if isnan(value) else 100 * value


def _to_neutral(items: Sequence[StressItem]) -> float | None:
    moved = [item.after == NEUTRAL for item in items if item.before not in (None, NEUTRAL)]
    return 100 * sum(moved) / len(moved) if moved else None
