"""Items that were answered alike, counted once: most measures need no more, and a million items are a few dozen kinds.

Two items are of one kind where each answer was given equally often. Items are drawn anew by drawing kinds: how often
each is drawn is multinomial. No table of items by categories is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.aggregation.table import BLOCK, Counts, Floats, Table, category_values

LARGEST = 1 << 53
"""Keys of kinds below which sums of floats are exact."""
FEW = 16
"""Items a kind from which kinds are worth their while."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of items of a table; stands for the table where only counts are asked for."""

    question: str
    categories: tuple[Any, ...]
    workers: Sequence[str]
    rows: Counts
    """Kinds by categories: how many workers gave each answer."""
    times: Floats
    """How many items are of each kind."""
    each: int | None = None
    """How many answers an item was to get, where that is known."""

    @property
    def values(self) -> Floats:
        """The number of each category; labels are refused."""
        return category_values(self.categories, self.question)

    def counts(self) -> Counts:
        """Kinds by categories."""
        return self.rows

    def per_item(self) -> Counts:
        """How many answers an item of each kind has."""
        found: Counts = self.rows.sum(axis=1)
        return found


def kinds_of(table: Table) -> Kinds | None:
    """The kinds of a table; None where they are nearly as many as its items."""
    base, wide = int(table.per_item().max()) + 1, len(table.categories)
    if wide > FEW * 4 or base**wide >= LARGEST:
        return None
    powers = float(base) ** np.arange(wide)
    keys = np.zeros(len(table.items))
    for start in range(0, len(table), BLOCK):
        part = slice(start, start + BLOCK)
        keys += np.bincount(table.item[part], powers[table.answer[part]], minlength=len(keys))
    found, times = np.unique(keys.astype(np.int64), return_counts=True)
    if len(found) * FEW > len(keys):
        return None
    rows = found[:, None] // base ** np.arange(wide, dtype=np.int64) % base
    return Kinds(
        table.question, table.categories, table.workers, rows, times.astype(np.float64), table.each
    )
