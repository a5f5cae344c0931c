"""Small pieces of a page: numbers with the file they are from, tables, notes. Everything passes through `text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nikawa.reporting.markup import text
from nikawa.reporting.page_data import Note, Number
from nikawa.reporting.sources import inside, source, source_line
from nikawa.stats.results import NO_INTERVAL

__all__ = [
    "Cell",
    "command",
    "counted",
    "detail",
    "figures",
    "note",
    "number",
    "p_value",
    "plain",
    "slug",
    "source",
    "table",
    "text",
]

DASH = "–"
MANY = 5
"""Columns from which on a table takes the whole width."""
UNDEFINED = "not defined"


class Cell(NamedTuple):
    """A cell that is HTML already, and where what it shows is from."""

    html: str
    source: str = ""


def figures(value: float | None, unit: str, digits: int) -> str:
    """A value as it is printed: percent with so many digits, fractions with two more."""
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
    """A number in words: value, deviation over seeds, interval."""
    value = figures(number.value, number.unit, digits)
    if number.value is None:
        return value
    spread = f" ± {figures(number.sd, number.unit, digits)}" if number.sd is not None else ""
    ends = interval(number, digits).replace(DASH, " to ")
    return f"{value}{spread} ({ends})" if ends else f"{value}{spread}"


def number(
    found: Number, digits: int, *, ties: str = "", best: bool = False, spread: str = ""
) -> str:
    """A number with its spread below, the letters of its tie groups, and where it is from.

    `spread` is the place of deviation and interval where they are not beside the value.
    """
    value = figures(found.value, found.unit, digits)
    kind = "v best" if best else "v"
    shown = f'<span class="{kind}"{source(found.source, _said(found))}>{value}</span>'
    if ties and found.value is not None:
        shown += f'<sup class="tie" title="shares {text(ties)} with systems it cannot be told apart from">{text(ties)}</sup>'
    lines = [f"± {figures(found.sd, found.unit, digits)}"] if found.sd is not None else []
    lines += [ends] if (ends := interval(found, digits)) else []
    kept = source(spread or found.source)
    return shown + "".join(f'<span class="ci"{kept}>{line}</span>' for line in lines)


def _said(found: Number) -> str:
    parts = [f"{found.value:.6g}" if found.value is not None else UNDEFINED]
    if found.low is not None and found.high is not None:
        parts.append(f"95% interval {found.low:.6g} to {found.high:.6g}")
    if found.sd is not None:
        parts.append(f"standard deviation over seeds {found.sd:.4g}")
    return ", ".join([*parts, f"n {found.n:,}"] if found.n else parts)


def counted(n: float, place: str) -> Cell:
    """A count, or the mean of counts over seeds."""
    return Cell(f"{n:,.0f}" if abs(n - round(n)) < 0.05 else f"{n:,.1f}", place)


def p_value(p: float | None) -> str:
    """A p value, marked where it is below 5%."""
    if p is None:
        return ""
    return f'<span class="{"sure" if p < 0.05 else "soft"}">{"< 0.001" if p < 0.001 else f"{p:.3f}"}</span>'


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Cell]],
    numbers: Iterable[int] = (),
    caption: str = "",
    place: str = "",
) -> str:
    """A table of cells that are HTML already; column numbers in `numbers` align right, `place` is where all is from."""
    right = set(numbers)
    head = "".join(
        f'<th scope="col"{" class=n" if i in right else ""}>{c}</th>' for i, c in enumerate(columns)
    )
    body = "".join(
        "<tr>"
        + "".join(_cell(content, i == 0, i in right) for i, content in enumerate(row))
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    wide = ' class="many"' if len(columns) > MANY else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption or "table")}"><table{wide}{source(place)}>'
        f"{title}{top}<tbody>{body}</tbody></table></div>"
    )


def _cell(content: str | Cell, first: bool, right: bool) -> str:
    found = content if isinstance(content, Cell) else Cell(content)
    kind, (tag, scope) = (
        ' class="n"' if right else "",
        ("th", ' scope="row"') if first else ("td", ""),
    )
    return f"<{tag}{kind}{scope}{source(found.source)}>{found.html}</{tag}>"


def detail(summary: str, content: str, place: str = "") -> str:
    """Something to open; `place` is where the numbers of the summary are from."""
    return f"<details><summary{source(place)}>{text(summary)}</summary>{content}</details>"


def command(line: str) -> str:
    """A command to copy."""
    return f"<pre><code>{text(line)}</code></pre>"


def note(found: Note, place: str = "") -> str:
    """A finding in words or as a table; `place` is where the note itself is kept."""
    right = [i for i, name in enumerate(found.columns) if name in found.numbers]
    kept = found.source or inside(place, "rows")
    rows = [_note_row(found, i) for i in range(len(found.rows))]
    body = (
        table([text(c) for c in found.columns], rows, right, found.title, kept)
        if found.rows
        else ""
    )
    words = f"<p{source(found.source or place)}>{text(found.text)}</p>" if found.text else ""
    line = f'<p class="source"><code>{text(found.command)}</code></p>' if found.command else ""
    content = f"{words}{body}{source_line(kept) if found.rows or found.source else ''}{line}"
    if found.folded:
        return detail(found.title, content)
    return f'<div class="note"><h4>{text(found.title)}</h4>{content}</div>'


def _note_row(found: Note, number: int) -> list[str | Cell]:
    place = found.sources[number] if number < len(found.sources) else ""
    return [Cell(text(cell), place if i else "") for i, cell in enumerate(found.rows[number])]


def slug(name: str) -> str:
    """A name that can be an id and a file's name."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-") or "x"
