"""Results of statistics as records: a figure with its interval, a slice, a cell of a cross table.

They are stored inside `analyses/*.json`, so their fields keep their names. Nothing here computes, and nothing here needs numpy.
None stands for what is not defined. Over several seeds a value is the mean.
"""

from __future__ import annotations

from nikawa.records import Record

SIGNIFICANCE_LEVEL = 0.05
"""A difference counts as significant where its corrected p is below this."""
LEAST_UNITS = 10
"""Items, or groups of them, below which a figure has no interval: so few do not show the variation."""
NO_INTERVAL = "—"
"""Shown instead of an interval."""
TOO_FEW = f"With fewer than {LEAST_UNITS} examples (or groups of examples), there is no confidence interval."


class Figure(Record, frozen=True, kw_only=True):
    """A number with its 95% interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    """The sample standard deviation over seeds; None where there is one."""
    n: int = 0


class Slice(Record, frozen=True, kw_only=True):
    """The metric on some of the items, against the others."""

    by: str
    """What was sliced by: `tag`, `gold`, `bin`, `length`, `part`, or a key of the examples' meta."""
    where: str
    """The value: `Negation`, `2-3`, `unseen`."""
    n: int
    units: int
    """Groups of items that were resampled."""
    value: float | None
    low: float | None
    high: float | None
    sd: float | None
    rest: float | None
    """The metric on all other items."""
    difference: float | None
    """`value - rest`."""
    difference_low: float | None
    difference_high: float | None
    p: float | None
    """Two-sided test of no difference; None where the slice or the rest is too small to test."""
    p_holm: float | None
    """Corrected for all slices of this set that were tested."""


class CrossCell(Record, frozen=True, kw_only=True):
    """One cell of a table of gold label by similarity (JSICK, Tables 9 and 10)."""

    label: str
    """"" for all labels together."""
    bin: str
    """"" for all similarities together."""
    n: int
    """Items whose gold is so."""
    value: float | None
    low: float | None
    high: float | None
    answered: float | None
    """Items of this similarity that were answered with this label (mean over seeds); None for scores."""
