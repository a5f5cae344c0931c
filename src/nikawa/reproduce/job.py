"""Recompute the papers' figures from the files at hand and say how each compares.

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
    Explained,
    Figures,
    Number,
    Partial,
    Printed,
    compute_of,
    papers,
    read_figures,
)

Verdict = Literal["equal", "slip", "version", "absent", "differs"]


class FigureResult(Record, frozen=True, kw_only=True):
    """One figure of a paper beside what the files give."""

    figure: str
    paper: float
    recomputed: float | None
    verdict: Verdict
    note: str = ""


def reproduce(
    paper: str, data: Path | None = None, progress: Callable[[str], None] | None = None
) -> list[FigureResult]:
    """Every figure of `paper` (jglue, klue, jsick, jamp), in the order of its figures file."""
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


def judge(
    name: str, printed: Number, recomputed: Number | Partial | None, figures: Figures
) -> FigureResult:
    """The verdict on one figure."""
    if recomputed is None or isinstance(recomputed, Partial):
        return _result(name, printed, None, "absent", _absence(recomputed))
    if equal_as_printed(recomputed, printed):
        return _result(name, printed, recomputed, "equal", "")
    for verdict, table in (("slip", figures.slips), ("version", figures.versions)):
        entry = table.get(name)
        if entry is not None and any(equal_as_printed(recomputed, value) for value in entry.values):
            return _result(name, printed, recomputed, verdict, entry.note)  # type: ignore[arg-type]
    return _result(
        name,
        printed,
        recomputed,
        "differs",
        _hint(figures.slips.get(name) or figures.versions.get(name)),
    )


def equal_as_printed(recomputed: Number, printed: Number) -> bool:
    """Whether `found`, rounded to the decimals of `printed`, is `printed`; either way of rounding a half."""
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


def _absence(recomputed: Partial | None) -> str:
    if recomputed is None:
        return "the files it needs are not here"
    return (
        f"{recomputed.value:g} without {recomputed.missing}"
        if recomputed.missing
        else f"{recomputed.value:g} so far"
    )


def _hint(entry: Explained | None) -> str:
    return "" if entry is None else f"expected {' or '.join(map(str, entry.values))}: {entry.note}"


def _result(
    name: str, printed: Number, recomputed: Number | None, verdict: Verdict, note: str
) -> FigureResult:
    paper = float(printed) if isinstance(printed, float) else printed
    return FigureResult(figure=name, paper=paper, recomputed=recomputed, verdict=verdict, note=note)
