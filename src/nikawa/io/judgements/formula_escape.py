"""Cells that no spreadsheet runs: a text that starts like a formula gets an apostrophe, and loses
it when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from nikawa.records import Judgement

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""How a cell starts that a spreadsheet would run."""
TABS = ("\t", "\r")


def guard_cell(value: Any) -> Any:
    """Escape a cell so that a spreadsheet does not run it as a formula, whatever spaces or quotes precede it; numbers
    stay.
    """
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text, or one that is guarded already: it gets one more apostrophe, to lose that one."""
    inner = text.lstrip("'")
    return inner.startswith(TABS) or inner.lstrip().lstrip('"').lstrip().startswith(FORMULA)


def unguard_cell(value: Any) -> Any:
    """The cell before `guard_cell`."""
    is_guarded = isinstance(value, str) and value[:1] == "'" and _is_formula(value[1:])
    return value[1:] if is_guarded else value


def guard_judgements(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Judgements whose texts no spreadsheet takes for a formula."""
    for judgement in judgements:
        yield msgspec.structs.replace(
            judgement,
            example=guard_cell(judgement.example),
            worker=guard_cell(judgement.worker),
            answer=guard_cell(judgement.answer),
            comment=guard_cell(judgement.comment),
        )


def unguard_judgements(rows: Iterable[tuple[int, Judgement]]) -> Iterator[tuple[int, Judgement]]:
    """Judgements of a sheet as they were before it was made harmless."""
    for place, row in rows:
        answer = row.answer if isinstance(row.answer, str) else ""
        if "'" not in (row.example[:1], row.worker[:1], answer[:1], row.comment[:1]):
            yield place, row
            continue
        texts = {
            "example": unguard_cell(row.example),
            "worker": unguard_cell(row.worker),
            "answer": unguard_cell(row.answer),
            "comment": unguard_cell(row.comment),
        }
        changed = any(getattr(row, name) is not text for name, text in texts.items())
        yield place, msgspec.structs.replace(row, **texts) if changed else row
