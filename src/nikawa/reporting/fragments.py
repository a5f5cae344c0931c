"""Fragments of a page: numbers with the file they are from, cells, tables, notes. Plain strings are text and are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from markupsafe import Markup

from nikawa.records import Unit
from nikawa.reporting.markup import fragment, html, join, slug, source
from nikawa.reporting.page_data import Note, Number
from nikawa.reporting.plots import Dot, format_count
from nikawa.reporting.sources import inside, source_line
from nikawa.stats.results import NO_INTERVAL

DASH = "–"
MIN_COLUMNS_OF_WIDE_TABLE = 6
"""Columns from which on a table takes the whole width."""
UNDEFINED = "not defined"


class TableCell(NamedTuple):
    """What a cell of a table shows, text or markup, and where it is from."""

    content: str
    source: str = ""


Row = Sequence[str | TableCell]
"""The cells of a row; a plain string is text without a source."""


def figures(value: float | None, unit: str, digits: int) -> str:
    """A value as it is printed: percent with so many digits, fractions with two more, and a proper minus sign.

    >>> figures(-12.345, "percent", 1), figures(0.5, "fraction", 1), figures(-0.01, "percent", 1)
    ('−12.3', '0.500', '0.0')
    """
    if value is None:
        return UNDEFINED
    shown = f"{value:.{digits if unit == 'percent' else digits + 2}f}"
    return shown.replace("-", "−") if float(shown) else shown.lstrip("-")


def interval(number: Number, digits: int) -> str:
    """The 95% interval as it is printed; a dash where there are too few examples for one, else empty."""
    if number.value is None or number.low is None or number.high is None:
        return NO_INTERVAL if number.few else ""
    low, high = (figures(end, number.unit, digits) for end in (number.low, number.high))
    return f"{low} to {high}" if "−" in low else f"{low}{DASH}{high}"


def plain(number: Number, digits: int) -> str:
    """A number in words: value, deviation over seeds, interval.

    >>> plain(Number(value=81.25, low=78.0, high=84.0, sd=0.4), 1)
    '81.2 ± 0.4 (78.0 to 84.0)'
    """
    value = figures(number.value, number.unit, digits)
    if number.value is None:
        return value
    spread = f" ± {figures(number.sd, number.unit, digits)}" if number.sd is not None else ""
    ends = interval(number, digits).replace(DASH, " to ")
    return f"{value}{spread} ({ends})" if ends else f"{value}{spread}"


def number(
    score: Number, digits: int, *, ties: str = "", best: bool = False, spread: str = ""
) -> Markup:
    """A number with its spread below, the letters of its tie groups, and where it is from.

    `spread` is the place of deviation and interval if they are not next to the value.
    """
    shown = html(
        '<span class="{}"{}>{}</span>',
        "v best" if best else "v",
        source(score.source, describe_number(score)),
        figures(score.value, score.unit, digits),
    )
    if ties and score.value is not None:
        title = f"not significantly different from other systems with {ties}"
        shown += html('<sup class="tie" title="{}">{}</sup>', title, ties)
    place = spread or score.source
    if score.sd is not None:
        shown += small(f"± {figures(score.sd, score.unit, digits)}", place)
    ends = interval(score, digits)
    return shown + small(ends, place) if ends else shown


def small(words: str, place: str = "") -> Markup:
    """A small line below a number."""
    return html('<span class="ci"{}>{}</span>', source(place), words)


def soft(words: str, title: str = "") -> Markup:
    """Words in a muted colour."""
    return html('<span class="soft"{}>{}</span>', source("", title), words)


def describe_number(score: Number) -> str:
    """A number with all that is known of its spread, for the pointer."""
    parts = [f"{score.value:.6g}" if score.value is not None else UNDEFINED]
    if score.low is not None and score.high is not None:
        parts.append(f"95% interval {score.low:.6g} to {score.high:.6g}")
    if score.sd is not None:
        parts.append(f"standard deviation over seeds {score.sd:.4g}")
    return ", ".join([*parts, f"n {score.n:,}"] if score.n else parts)


def count_cell(n: float, place: str) -> TableCell:
    """A count, or the mean of counts over seeds."""
    return TableCell(format_count(n), place)


def p_value(p: float | None) -> str:
    """A p value, marked where it is below 5%."""
    if p is None:
        return ""
    words = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return html('<span class="{}">{}</span>', "sure" if p < 0.05 else "soft", words)


def table(
    columns: Sequence[str],
    rows: Iterable[Row],
    numbers: int | Iterable[int] = (),
    caption: str = "",
    place: str = "",
) -> Markup:
    """A table of the page.

    `numbers` are the columns that align right: their places, or the place of the first where all after it do too.
    `place` is where all of it is from.
    """
    cells = [
        [content if isinstance(content, TableCell) else TableCell(content) for content in row]
        for row in rows
    ]
    right = range(numbers, len(columns)) if isinstance(numbers, int) else numbers
    return fragment(
        "table",
        columns=columns if any(columns) else (),
        rows=cells,
        right=set(right),
        caption=caption,
        place=place,
        is_wide=len(columns) >= MIN_COLUMNS_OF_WIDE_TABLE,
    )


def detail(summary: str, content: Markup, place: str = "") -> Markup:
    """Something to open; `place` is where the numbers of the summary are from."""
    return fragment("detail", summary=summary, content=content, place=place)


def block(title: str, content: Markup, words: str = "", place: str = "") -> Markup:
    """A part of a section with its heading; `place` is where the numbers of the words are from."""
    return fragment("block", title=title, content=content, words=words, place=place)


def multiples(figures: Sequence[Markup]) -> Markup:
    """Small figures side by side."""
    return fragment("multiples", figures=figures) if figures else Markup("")


def note(finding: Note, place: str = "") -> Markup:
    """A finding in words or as a table; `place` is where the note itself is kept."""
    right = [i for i, name in enumerate(finding.columns) if name in finding.numbers]
    rows_place = finding.source or inside(place, "rows")
    rows = []
    for i, row in enumerate(finding.rows):
        own = finding.sources[i] if i < len(finding.sources) else ""
        rows.append([TableCell(cell, own if column else "") for column, cell in enumerate(row)])
    parts = []
    if rows:
        parts.append(table(finding.columns, rows, right, finding.title, rows_place))
    if rows or finding.source:
        parts.append(source_line(rows_place))
    return fragment(
        "note",
        title=finding.title,
        words=finding.text,
        words_place=finding.source or place,
        content=join(parts),
        command=finding.command,
        is_folded=finding.folded,
    )


def figure(picture: str, name: str, kind: str, place: str) -> Markup:
    """A picture of a task with its source and its file; empty without a picture."""
    if not picture:
        return Markup("")
    return fragment(
        "figure",
        picture=picture,
        place=place,
        sources=source_line(place),
        file=f"figures/{slug(name)}-{kind}.svg",
        is_split=picture.count("</svg>") > 1,
    )


class FigureWithInterval(Protocol):
    """What analyses measure: a figure, a slice, a cell or a bin, with its 95% interval."""

    @property
    def value(self) -> float | None:
        """None where it is not defined."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""

    @property
    def n(self) -> int:
        """The examples it rests on."""


def make_number(measured: FigureWithInterval, unit: Unit, place: str, n: int = 0) -> Number:
    """What an analysis measured as a number of the page; `place` is where it is, `n` replaces its own count."""
    return Number(
        value=measured.value,
        low=measured.low,
        high=measured.high,
        sd=getattr(measured, "sd", None),
        unit=unit,
        n=n or measured.n,
        source=place,
    )


def dot(measured: FigureWithInterval, series: int = 0, note: str = "", place: str = "") -> Dot:
    """A number as a dot of a plot; `series` is the number of its system, `note` what the pointer shows."""
    return Dot(measured.value, measured.low, measured.high, series, note, place)
