"""Small pieces of a page: numbers with the file they are from, tables, notes. Everything passes through `text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nikawa.report.agreement_plots import text
from nikawa.report.page_data import Note, Number

__all__ = [
    "command",
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


def figures(value: float | None, unit: str, digits: int) -> str:
    """A value as it is printed: percent with so many digits, fractions with two more."""
    if value is None:
        return "not defined"
    shown = f"{value:.{digits if unit == 'percent' else digits + 2}f}"
    return shown.replace("-", "−") if float(shown) else shown.lstrip("-")


def plain(number: Number, digits: int) -> str:
    """A number in words: value, deviation or interval."""
    value = figures(number.value, number.unit, digits)
    if number.value is None:
        return value
    if number.sd is not None:
        return f"{value} ± {figures(number.sd, number.unit, digits)}"
    if number.low is None or number.high is None:
        return value
    return (
        f"{value} ({figures(number.low, number.unit, digits)} to {figures(number.high, number.unit, digits)})"
    )


def number(found: Number, digits: int, *, ties: str = "", best: bool = False) -> str:
    """A number with its spread below, the letters of its tie groups, and where it is from."""
    value = figures(found.value, found.unit, digits)
    kind = "v best" if best else "v"
    shown = f'<span class="{kind}"{source(found.source, _said(found))}>{value}</span>'
    if ties and found.value is not None:
        shown += f'<sup class="tie" title="shares {text(ties)} with systems it cannot be told apart from">{text(ties)}</sup>'
    lines = []
    if found.sd is not None:
        lines.append(f"± {figures(found.sd, found.unit, digits)}")
    if found.value is not None and found.low is not None and found.high is not None:
        low, high = (figures(end, found.unit, digits) for end in (found.low, found.high))
        lines.append(f"{low} to {high}" if found.low < 0 else f"{low}{DASH}{high}")
    return shown + "".join(f'<span class="ci">{line}</span>' for line in lines)


def _said(found: Number) -> str:
    parts = [f"{found.value:.6g}" if found.value is not None else "not defined"]
    if found.low is not None and found.high is not None:
        parts.append(f"95% interval {found.low:.6g} to {found.high:.6g}")
    if found.sd is not None:
        parts.append(f"standard deviation over seeds {found.sd:.4g}")
    return ", ".join([*parts, f"n {found.n:,}"] if found.n else parts)


def p_value(p: float | None) -> str:
    """A p value, marked where it is below 5%."""
    if p is None:
        return ""
    return f'<span class="{"sure" if p < 0.05 else "soft"}">{"< 0.001" if p < 0.001 else f"{p:.3f}"}</span>'


def source(place: str, said: str = "") -> str:
    """Attributes that tell where a number is from."""
    if not place:
        return f' title="{text(said)}"' if said else ""
    first, *more = place.split(" ")
    files = f"{first} and {len(more)} more" if more else first
    return f' data-src="{text(place)}" title="{text(f"{said} — {files}" if said else files)}"'


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = (), caption: str = ""
) -> str:
    """A table of cells that are HTML already; column numbers in `numbers` align right."""
    right = set(numbers)

    def cell(i: int, content: str, tag: str = "td") -> str:
        kind = ' class="n"' if i in right else ""
        scope = ' scope="row"' if tag == "th" else ""
        return f"<{tag}{kind}{scope}>{content}</{tag}>"

    head = "".join(
        f'<th scope="col"{" class=n" if i in right else ""}>{c}</th>' for i, c in enumerate(columns)
    )
    body = "".join(
        "<tr>"
        + "".join(cell(i, content, "th" if i == 0 else "td") for i, content in enumerate(row))
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    wide = ' class="many"' if len(columns) > MANY else ""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption or "table")}"><table{wide}>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def detail(summary: str, content: str) -> str:
    """Something to open."""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def command(line: str) -> str:
    """A command to copy."""
    return f"<pre><code>{text(line)}</code></pre>"


def note(found: Note) -> str:
    """A finding in words or as a table."""
    right = [i for i, name in enumerate(found.columns) if name in found.numbers]
    rows = [[text(cell) for cell in row] for row in found.rows]
    body = table([text(c) for c in found.columns], rows, right, found.title) if found.rows else ""
    words = f"<p>{text(found.text)}</p>" if found.text else ""
    made = f'<p class="source">{text(found.source)}</p>' if found.source else ""
    line = f'<p class="source"><code>{text(found.command)}</code></p>' if found.command else ""
    inside = f"{words}{body}{made}{line}"
    if found.folded:
        return detail(found.title, inside)
    return f'<div class="note"><h4>{text(found.title)}</h4>{inside}</div>'


def slug(name: str) -> str:
    """A name that can be an id and a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"
