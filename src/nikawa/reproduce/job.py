"""Recompute the papers' figures from the available files and compare each with the paper.

Verdicts: `equal` (rounded as the paper prints it), `slip` (the paper's own files or arithmetic give
something else, and why is known), `version` (a later or earlier release gives something else), `absent`
(a file it needs is not here), `differs` (unexplained).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Literal

from nikawa.errors import unknown
from nikawa.records import Record
from nikawa.reproduce.figures import (
    Explanation,
    Figures,
    Number,
    Partial,
    Printed,
    Value,
    compute_of,
    papers,
    read_figures,
)

Verdict = Literal["equal", "slip", "version", "absent", "differs"]


class FigureResult(Record, frozen=True, kw_only=True):
    """One figure of a paper and the value from the files."""

    figure: str
    """Its id: the keys of the figures file joined with dots."""
    paper: float
    """As the paper prints it."""
    recomputed: float | None
    """None where a file is missing; `note` says which, and what the others give."""
    verdict: Verdict
    note: str = ""
    """What explains a slip or another version, or what is missing."""


def reproduce(
    paper: str, data: Path | None = None, progress: Callable[[str], None] | None = None
) -> list[FigureResult]:
    """Every figure of `paper` (jglue, klue, jsick, jamp), in the order of its figures file.

    `progress` is called with what is being done. Raises `UnknownName` for a paper without a figures file.
    """
    if paper not in papers():
        raise unknown("paper", paper, papers())
    figures = read_figures(paper)
    if progress is not None:
        progress(f"reading the files of {paper}")
    computed = compute_of(paper)(data)
    stray = set(computed) - set(figures.printed)
    assert not stray, f"computed but not printed: {sorted(stray)}"
    return [
        judge(name, printed, computed.get(name), figures)
        for name, printed in figures.printed.items()
    ]


def judge(name: str, printed: Number, recomputed: Value | None, figures: Figures) -> FigureResult:
    """One figure with its verdict; `recomputed` is None where the files it needs are not here."""
    value: Number | None = None
    verdict: Verdict = "absent"
    note = "the files it needs are missing"
    if isinstance(recomputed, Partial):
        lack = f"without {recomputed.missing}" if recomputed.missing else "so far"
        note = f"{recomputed.value:g} {lack}"
    elif recomputed is not None:
        value = recomputed
        verdict, note = compare_with_printed(name, printed, value, figures)
    paper = float(printed) if isinstance(printed, float) else printed
    return FigureResult(figure=name, paper=paper, recomputed=value, verdict=verdict, note=note)


def compare_with_printed(
    name: str, printed: Number, value: Number, figures: Figures
) -> tuple[Verdict, str]:
    """The verdict on a figure that could be recomputed, and the note that explains it."""
    if equal_as_printed(value, printed):
        return "equal", ""
    slip, version = figures.slips.get(name), figures.versions.get(name)
    explanations: tuple[tuple[Verdict, Explanation | None], ...] = (
        ("slip", slip),
        ("version", version),
    )
    for verdict, entry in explanations:
        if entry is not None and any(equal_as_printed(value, known) for known in entry.values):
            return verdict, entry.note
    expected = slip or version
    if expected is None:
        return "differs", ""
    return "differs", f"expected {' or '.join(map(str, expected.values))}: {expected.note}"


def equal_as_printed(recomputed: Number, printed: Number) -> bool:
    """Whether `recomputed`, rounded to the decimals of `printed`, is `printed`; either way of rounding a half."""
    step = Decimal(1).scaleb(-decimals(printed))
    exact = Decimal(repr(float(recomputed) if isinstance(recomputed, float) else recomputed))
    target = Decimal(repr(float(printed) if isinstance(printed, float) else printed))
    return any(
        exact.quantize(step, rounding=way) == target for way in (ROUND_HALF_UP, ROUND_HALF_EVEN)
    )


def decimals(number: Number) -> int:
    """Digits after the point as written: 70.1 has one, 48 none, 0.870 three where the paper prints so."""
    if isinstance(number, Printed):
        return number.decimals
    exponent = Decimal(repr(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
