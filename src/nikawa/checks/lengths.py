"""Is the label in the length? How long the texts of each label are, and how much of it the label explains.

Explained is η², the part of the variance of length that lies between labels: 0 where length says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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


class Explained(Record, frozen=True, kw_only=True):
    """How much of the variance of one side's length lies between the labels."""

    side: str
    unit: str
    share: float


def measure_lengths(tally: Tally, labels: Sequence[str]) -> tuple[Length, ...]:
    """Every side, unit and label that has examples."""
    found = ((side, unit, label) for side in tally.sides for unit in UNITS for label in labels)
    return tuple(_length(*key, tally.lengths[key]) for key in found if key in tally.lengths)


def _length(side: str, unit: str, label: str, counts: Counter[int]) -> Length:
    n = counts.total()
    total = sum(length * times for length, times in counts.items())
    squares = sum(length * length * times for length, times in counts.items())
    spread = (
        (squares * n - total * total) / (n * (n - 1)) if n > 1 else 0.0
    )  # integers up to here: no digit is lost
    return Length(
        side=side,
        unit=unit,
        label=label,
        n=n,
        mean=total / n,
        sd=sqrt(spread),
        median=_median(counts, n),
        least=min(counts),
        most=max(counts),
    )


def _median(counts: Counter[int], n: int) -> float:
    """The mean of the two middle lengths."""
    middle, passed, found = ((n - 1) // 2, n // 2), 0, []
    for length in sorted(counts):
        found += [length for place in middle if passed <= place < passed + counts[length]]
        passed += counts[length]
    return sum(found) / 2


def measure_explained(tally: Tally) -> tuple[Explained, ...]:
    """The part of each side's length that the labels explain."""
    return tuple(
        Explained(side=side, unit=unit, share=_eta_squared(list(_of(tally, side, unit))))
        for side in tally.sides
        for unit in UNITS
    )


def _of(tally: Tally, side: str, unit: str) -> Iterator[Counter[int]]:
    return (found for (s, u, _), found in tally.lengths.items() if (s, u) == (side, unit))


def _eta_squared(groups: Sequence[Counter[int]]) -> float:
    n, total, squares = 0, 0, 0
    between = 0.0
    for counts in groups:
        size, part = counts.total(), sum(length * times for length, times in counts.items())
        n, total = n + size, total + part
        squares += sum(length * length * times for length, times in counts.items())
        between += part * part / size
    whole = squares - total * total / n
    return max(0.0, (between - total * total / n) / whole) if whole > 0 else 0.0
