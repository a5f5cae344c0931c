"""How far the people agreed whom a build asked: votes, numbers and spans, each measure with its interval over items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nikawa.aggregation.agree import MeasureRow, Options, measured
from nikawa.aggregation.agree_spans import spans_of
from nikawa.recipes.forms import FORMS, vote
from nikawa.recipes.recipe import Ask
from nikawa.recipes.store import Measured
from nikawa.records import Example, Judgement

if TYPE_CHECKING:
    from nikawa.aggregation.table import Table

SPANS = "span-tagging"
PLACES = 6
"""Decimals that are kept."""


def agreement(
    question: Ask, judged: Sequence[Judgement], items: Mapping[str, Example]
) -> tuple[Measured, ...]:
    """What can be measured of what several workers answered; items that one handed back count by the other answers."""
    table = _table(question, judged)
    if table is None or not (table.per_item() > 1).any():
        return ()
    options = Options(level=None if question.form == "scale" else "nominal")
    found = measured(table, options, spans_of(table, items, options))
    return tuple(_rounded(row) for row in found if row.value is not None)


def _table(question: Ask, judged: Sequence[Judgement]) -> Table | None:
    from nikawa.aggregation.span_agreement import with_marks
    from nikawa.aggregation.table import Table

    if not (FORMS[question.form].votes or question.form == SPANS):
        return None
    voted = ((judgement, vote(judgement.answer, question)) for judgement in judged)
    votes = [replace(judgement, answer=given) for judgement, given in voted if given is not None]
    return Table.from_judgements(with_marks(votes)) if votes else None


def _rounded(row: MeasureRow) -> Measured:
    value, low, high = (
        math.nan if n is None else round(n, PLACES) for n in (row.value, row.low, row.high)
    )
    known = math.isfinite(low) and math.isfinite(high)
    return Measured(
        name=row.name,
        level=row.level,
        value=value,
        low=low if known else None,
        high=high if known else None,
    )
