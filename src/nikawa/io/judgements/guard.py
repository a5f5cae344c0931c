"""Cells that no spreadsheet runs: a text that starts like a formula gets an apostrophe, and loses it when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from nikawa.records import Judgement

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""How a cell starts that a spreadsheet would run."""
TABS = ("\t", "\r")


def safe(value: Any) -> Any:
    """A cell that is not run, whatever blanks or quote marks stand before its formula; numbers stay."""
    return f"'{value}" if isinstance(value, str) and _runs(value) else value


def _runs(text: str) -> bool:
    return text.startswith(TABS) or text.lstrip().lstrip('"').lstrip().startswith(FORMULA)


def bare(value: Any) -> Any:
    """What `safe` was given."""
    guarded = isinstance(value, str) and value[:1] == "'" and _runs(value[1:])
    return value[1:] if guarded else value


def unguarded(rows: Iterable[tuple[int, Judgement]]) -> Iterator[tuple[int, Judgement]]:
    """Judgements of a sheet as they were before it was made harmless."""
    for place, row in rows:
        texts = {
            "example": bare(row.example),
            "worker": bare(row.worker),
            "answer": bare(row.answer),
        }
        changed = any(getattr(row, name) is not text for name, text in texts.items())
        yield place, msgspec.structs.replace(row, **texts) if changed else row
