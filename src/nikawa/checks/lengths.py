"""Is the label in the length? How long the texts of each label are, and how much of it the label explains.

Explained is η², the share of the variance of length that is between labels: 0 if length predicts nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from math import sqrt

from nikawa.checks.artifacts import Tally
from nikawa.records import Record

UNITS = ("characters", "tokens")


class Length(Record, frozen=True, kw_only=True):
    """The lengths of one side of the examples of one label."""

    side: str
    unit: str
    """`characters` or `tokens`."""
    label: str
    n: int
    mean: float
    sd: float
    median: float
    least: int
    most: int


class ExplainedVariance(Record, frozen=True, kw_only=True):
    """The share of the variance of one side's length that is between the labels."""

    side: str
    unit: str
    share: float


def measure_lengths(tally: Tally, labels: Sequence[str]) -> tuple[Length, ...]:
    """Every side, unit and label that has examples."""
    rows = []
    for key in product(tally.sides, UNITS, labels):
        if key not in tally.lengths:
            continue
        (side, unit, label), counts = key, tally.lengths[key]
        n, total, squares = _sums(counts)
        # Integers up to here: no digit is lost.
        variance = (squares * n - total * total) / (n * (n - 1)) if n > 1 else 0.0
        row = Length(
            side=side,
            unit=unit,
            label=label,
            n=n,
            mean=total / n,
            sd=sqrt(variance),
            median=median(counts),
            least=min(counts),
            most=max(counts),
        )
        rows.append(row)
    return tuple(rows)


def _sums(counts: Counter[int]) -> tuple[int, int, int]:
    """How many there are, the sum of their lengths, and of their squares."""
    total = sum(length * times for length, times in counts.items())
    squares = sum(length * length * times for length, times in counts.items())
    return counts.total(), total, squares


def median(counts: Counter[int]) -> float:
    """The mean of the two middle lengths."""
    n = counts.total()
    places, passed, middle = ((n - 1) // 2, n // 2), 0, []
    for length in sorted(counts):
        middle += [length for place in places if passed <= place < passed + counts[length]]
        passed += counts[length]
    return sum(middle) / 2


def measure_explained(tally: Tally) -> tuple[ExplainedVariance, ...]:
    """The part of each side's length that the labels explain."""
    rows = []
    for side, unit in product(tally.sides, UNITS):
        groups = [counts for key, counts in tally.lengths.items() if key[:2] == (side, unit)]
        rows.append(ExplainedVariance(side=side, unit=unit, share=eta_squared(groups)))
    return tuple(rows)


def eta_squared(groups: Iterable[Counter[int]]) -> float:
    """The share of the variance that is between the groups."""
    n, total, squares = 0, 0, 0
    between = 0.0
    for counts in groups:
        group_n, group_total, group_squares = _sums(counts)
        n, total, squares = n + group_n, total + group_total, squares + group_squares
        between += group_total * group_total / group_n
    whole = squares - total * total / n
    return max(0.0, (between - total * total / n) / whole) if whole > 0 else 0.0
