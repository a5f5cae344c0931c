"""The table of a shift, of all rows and of parts of them: counts, interval, kappa, and what numbers add."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.errors import BadInput, suggest
from nikawa.records import Example, Record
from nikawa.stats.distributions import wilson_interval
from nikawa.stats.slices import slice_examples

SPLIT, TAG = "split", "tag"


class Numbers(Record, frozen=True, kw_only=True):
    """What numbers add to the table."""

    mean_before: float
    mean_after: float
    shift: float
    """Mean of after minus before."""
    distance: float
    """Mean of the absolute difference."""
    pearson: float | None
    """None where one side is constant."""


class Part(Record, frozen=True, kw_only=True):
    """The shift of all rows, or of a part of them."""

    where: str
    """`split=dev`, `tag=Negation`; empty for all."""
    n: int
    changed: int
    low: float
    high: float
    """The 95% Wilson interval of the share that changed."""
    kappa: float | None
    """Cohen's kappa of the two sides; None where chance alone explains everything, and for numbers."""
    table: dict[str, dict[str, int]]
    """Answer before to answer after to count."""
    numbers: Numbers | None = None

    @property
    def share(self) -> float:
        """The share that changed."""
        return self.changed / self.n


@dataclass(frozen=True)
class Row:
    """A shared example."""

    split: str
    before: Any
    after: Any
    example: Example
    tags: tuple[str, ...]


def parts_of(rows: Sequence[Row], by: Sequence[str]) -> Iterator[tuple[str, Sequence[Row]]]:
    """The rows as a whole, then the rows of each value of each key."""
    yield "", rows
    for key in by:
        if key in (SPLIT, TAG):
            parts: dict[str, list[Row]] = {}
            for row in rows:
                for name in [row.split] if key == SPLIT else row.tags:
                    parts.setdefault(name, []).append(row)
            if key == TAG:
                parts = dict(sorted(parts.items()))
        else:
            groups = slice_examples(key, [row.example for row in rows])
            parts = {name: [rows[i] for i in places] for name, places in groups.items()}
            if not parts:
                known = {SPLIT, TAG, *(name for row in rows[:100] for name in row.example.meta)}
                raise BadInput(f"no example has a {key!r} to part by", cure=suggest(key, known))
        for name, part in parts.items():
            yield f"{key}={name}", part


def name_of(value: Any) -> str:
    """A label as it is; a number by the whole step it lies in, the highest of a scale to 5 in the last."""
    if isinstance(value, float):
        low = 4 if value == 5 else math.floor(value)
        return f"{low}-{low + 1}"
    return str(value)


def part_of(where: str, rows: Sequence[Row]) -> Part:
    """Counts, interval and agreement of one part of the rows."""
    counts = Counter((name_of(row.before), name_of(row.after)) for row in rows)
    names = sorted({name for pair in counts for name in pair})
    table = {one: {other: counts[one, other] for other in names} for one in names}
    changed = sum(row.before != row.after for row in rows)
    low, high = wilson_interval(changed / len(rows), len(rows))
    numeric = all(
        isinstance(side, float | int) and not isinstance(side, bool)
        for row in rows
        for side in (row.before, row.after)
    )
    return Part(
        where=where,
        n=len(rows),
        changed=changed,
        low=low,
        high=high,
        kappa=None if numeric else _kappa(table, len(rows)),
        table=table,
        numbers=_numbers(rows) if numeric else None,
    )


def _kappa(table: Mapping[str, Mapping[str, int]], n: int) -> float | None:
    seen = sum(table[name][name] for name in table) / n
    chance = (
        sum(sum(table[name].values()) * sum(row[name] for row in table.values()) for name in table)
        / n**2
    )
    return None if chance == 1 else (seen - chance) / (1 - chance)


def _numbers(rows: Sequence[Row]) -> Numbers:
    from statistics import StatisticsError, correlation, fmean

    before, after = [float(row.before) for row in rows], [float(row.after) for row in rows]
    try:
        pearson: float | None = correlation(before, after)
    except StatisticsError:
        pearson = None
    return Numbers(
        mean_before=fmean(before),
        mean_after=fmean(after),
        shift=fmean(after) - fmean(before),
        distance=fmean(abs(a - b) for a, b in zip(after, before, strict=True)),
        pearson=pearson,
    )
