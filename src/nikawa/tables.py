"""Show results as tables: text at a Python prompt, HTML in a notebook, and pandas DataFrames.

A result inherits `ShownAsTables` and declares which of its fields is the main table. Tables come from the fields: a tuple
of records is a table with one row per record, a mapping is a table of names and values, and single values go into the
line above. Imports are lazy: pandas when you call `to_pandas`, the plots of the report when a notebook asks for HTML.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from nikawa.errors import MissingExtra
from nikawa.printable import cut_middle, printable

if TYPE_CHECKING:
    import pandas

MAX_ROWS_SHOWN = 12
"""Rows of a table that the text and the HTML of a result show; `to_pandas()` has all rows."""
MAX_CELL_CHARS = 40
"""Maximum characters of a cell."""
MAX_NAMES_SHOWN = 6
"""Maximum values of a list in a cell."""
ROUNDING_ERROR = 1e-12
"""A smaller number is shown as 0: it is a floating-point residue."""
STYLE = (
    ".nikawa{--paper:#fdfcf9;--ink:#262420;--soft:#6e695f;--rule:#e5e0d5;--accent:#1d5f8d;--wrong:#b04a0b;--deep:.62;"
    "--c0:#1d5f8d;--c1:#c8551b;--c2:#0b8065;--c3:#98498f;--c4:#8d6a00;--c5:#5a646e;"
    "background:var(--paper);color:var(--ink);padding:.8rem 1rem;border:1px solid var(--rule);overflow-x:auto;font-family:sans-serif}"
    ".nikawa p{margin:0 0 .5rem}.nikawa .soft{color:var(--soft);font-size:.85em}"
    ".nikawa table{border-collapse:collapse;margin:.3rem 0 .9rem;color:var(--ink);font-variant-numeric:tabular-nums}"
    ".nikawa caption{text-align:left;color:var(--soft);padding:0 0 .2rem;font-size:.85em}"
    ".nikawa th,.nikawa td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top;border-top:1px solid var(--rule);background:none}"
    ".nikawa table,.nikawa tr{background:none!important}"  # notebooks colour the rows of tables
    ".nikawa td.number,.nikawa th.number{text-align:right}"
    ".nikawa svg{display:block;max-width:100%;height:auto;margin:.4rem 0 .8rem}"
    ".nikawa svg text{font-size:13px;fill:var(--ink)}.nikawa svg text.soft,.nikawa svg text.group{fill:var(--soft);font-size:12px}"
    ".nikawa svg .rule{stroke:var(--rule);fill:none}.nikawa svg .mean{stroke:var(--soft);stroke-dasharray:4 4;fill:none}"
    ".nikawa svg .whisker{stroke-width:2.2;stroke-opacity:.5;stroke-linecap:round;fill:none}"
    ".nikawa svg .wire{stroke:var(--accent);stroke-width:2;fill:none}.nikawa svg .dot,.nikawa svg .bar{fill:var(--accent)}"
    ".nikawa svg .hit{fill:var(--accent)}.nikawa svg .miss{fill:var(--wrong)}"
    ".nikawa svg .hit,.nikawa svg .miss{fill-opacity:calc(.04 + var(--s)*var(--deep))}"
    + "".join(
        f".nikawa svg .c{i}{{fill:var(--c{i})}}.nikawa svg .s{i}{{stroke:var(--c{i})}}"
        for i in range(6)
    )
)
"""The style of a result in a notebook: the colours of the report page, for light and dark notebooks."""


@dataclass(frozen=True)
class ResultTable:
    """One table of a result."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a DataFrame, with every row."""
        return make_frame(self.columns, self.rows)


def make_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pandas.DataFrame:
    """Return a DataFrame of rows; raise `MissingExtra` if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        what = "a DataFrame needs pandas, which is not installed"
        raise MissingExtra(what, cure="run: pip install pandas") from None
    return pandas.DataFrame([list(row) for row in rows], columns=list(columns))


class ShownAsTables:
    """A result with a display: `repr` as text, `_repr_html_` in a notebook, `to_pandas()` as data.

    The text shows the main table; the HTML shows every table and the plots of the report.
    """

    __slots__ = ()

    main_table: ClassVar[str] = ""
    """The field that `to_pandas()` returns and the text shows; empty: the first table."""
    text_tables: ClassVar[int] = 1
    """How many tables the text shows."""
    headline_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of the line above the tables; empty: every single value."""
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Table to its visible columns; other tables show all columns. `to_pandas()` always has all columns."""
    plots_by: ClassVar[str] = ""
    """`module:function` that draws the plots as SVG. It is imported when HTML is needed, because results are in a lower
    layer than the package that draws them."""

    def headline(self) -> str:
        """Return one line about the result: its single values."""
        pairs = list_single_values(self)
        if self.headline_fields:
            pairs = [pair for pair in pairs if pair[0] in self.headline_fields]
        return ", ".join(f"{name} {format_cell(value)}" for name, value in pairs)

    def list_tables(self) -> list[ResultTable]:
        """Return every table of the result, the main one first."""
        made = [table for name, value in list_fields(self) if (table := tabulate(name, value))]
        return sorted(made, key=lambda table: table.title != self.main_table)

    def shown_tables(self) -> list[ResultTable]:
        """Return the tables for display: the visible columns, scores in percent."""
        return [
            select_columns(table, self.shown_columns.get(table.title))
            for table in self.list_tables()
        ]

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Return the main table as a DataFrame, or the `table` with that title.

        Numbers are unrounded, and scores are in the official unit, as in `--json`.
        """
        tables = self.list_tables() or [ResultTable("", *list_single_columns(self))]
        for each in tables:
            if table in (None, each.title):
                return each.to_pandas()
        from nikawa.errors import unknown

        raise unknown("table", str(table), [each.title for each in tables])

    def __repr__(self) -> str:
        head = f"{type(self).__name__}: {self.headline()}".removesuffix(": ")
        tables = self.shown_tables()[: self.text_tables]
        return "\n".join([cut_middle(printable(head), 400), *map(format_table, tables)])

    def _repr_html_(self) -> str:
        parts = [
            f"<p><b>{escape(type(self).__name__)}</b> {escape(printable(self.headline()))}</p>"
        ]
        parts += map(format_table_html, self.shown_tables())
        if self.plots_by:
            module, _, function = self.plots_by.partition(":")
            parts += getattr(import_module(module), function)(self)
        return wrap_html(parts)


def select_columns(table: ResultTable, columns: Sequence[str] | None) -> ResultTable:
    """Return the table with some of its columns; None keeps all."""
    if columns is None:
        return table
    places = [table.columns.index(name) for name in columns if name in table.columns]
    rows = [tuple(row[place] for place in places) for row in table.rows]
    return ResultTable(table.title, tuple(table.columns[place] for place in places), rows)


def list_fields(result: object) -> Iterator[tuple[str, Any]]:
    """Return the fields of a record or dataclass that have a value."""
    if is_dataclass(result):
        names = [each.name for each in fields(result)]
    else:
        names = list(getattr(result, "__struct_fields__", ()))
    for name in names:
        value = getattr(result, name)
        if value is not msgspec.UNSET:
            yield name, value


def list_single_values(result: object) -> list[tuple[str, Any]]:
    """Return the fields with a single value: numbers, texts, and non-empty lists of texts."""
    single = []
    for name, value in list_fields(result):
        is_list = isinstance(value, tuple | list) and all(isinstance(one, str) for one in value)
        if isinstance(value, str | int | float) or (is_list and value):
            single.append((name, value))
    return [pair for pair in single if pair[1] not in ("", ())]


def list_single_columns(result: object) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the single values as a table with one row."""
    pairs = list_single_values(result)
    return tuple(name for name, _ in pairs), [tuple(value for _, value in pairs)]


def tabulate(name: str, value: Any) -> ResultTable | None:
    """Return a field as a table: records as rows, a mapping as names and values; None for a single or empty value."""
    if isinstance(value, Mapping) and value:
        inner = list(value.values())
        if all(isinstance(one, Mapping) for one in inner):
            columns = list(dict.fromkeys(key for one in inner for key in one))
            matrix = [(key, *(one.get(column) for column in columns)) for key, one in value.items()]
            return ResultTable(name, (name, *map(str, columns)), matrix)
        if all(isinstance(one, msgspec.Struct) for one in inner):
            part = tabulate(name, tuple(inner))
            if part is not None:
                keyed = [(key, *row) for key, row in zip(value, part.rows, strict=True)]
                return ResultTable(name, (name, *part.columns), keyed)
        return ResultTable(name, (name, "value"), list(value.items()))
    if isinstance(value, tuple | list) and value and isinstance(value[0], msgspec.Struct):
        rows = [dict(list_fields(one)) for one in value]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        # an empty column only makes the table wider
        columns = [
            key for key in columns if any(row.get(key) not in (None, "", (), {}) for row in rows)
        ]
        return ResultTable(
            name, tuple(columns), [tuple(row.get(key) for key in columns) for row in rows]
        )
    return None


def format_cell(value: Any) -> str:
    """Format a value in few characters: `0.8393`, `a, b and 4 more`, `-` for None.

    >>> format_cell(0.839312), format_cell(None), format_cell(1250)
    ('0.8393', '-', '1,250')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if abs(value) < ROUNDING_ERROR:
            return "0"
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, msgspec.Struct):
        value = {name: one for name, one in list_fields(value) if one not in (None, "", (), {})}
    if isinstance(value, Mapping):
        value = [f"{key} {format_cell(one)}" for key, one in value.items()]
    if isinstance(value, tuple | list | frozenset | set):
        names = [format_cell(one) for one in list(value)[:MAX_NAMES_SHOWN]]
        more = len(value) - len(names)
        text = ", ".join(names) + (f" and {more:,} more" if more else "")
        return cut_middle(text, 2 * MAX_CELL_CHARS)
    return cut_middle(str(value), MAX_CELL_CHARS)


def is_number_column(rows: Sequence[Sequence[Any]], place: int) -> bool:
    """Whether a column contains numbers, which are right-aligned."""
    cells = [row[place] for row in rows if row[place] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def count_columns(text: str) -> int:
    """Return the width of a text on a terminal: Japanese and Korean characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def format_table(table: ResultTable) -> str:
    """Format a table as aligned text; a long table is cut."""
    rows = table.rows[:MAX_ROWS_SHOWN]
    cells = [[printable(format_cell(cell)) for cell in row] for row in rows]
    header = [printable(name) for name in table.columns]
    lines = [""] * (len(cells) + 1)
    for place, name in enumerate(header):
        column = [name, *(row[place] for row in cells)]
        width = max(map(count_columns, column))
        for number, cell in enumerate(column):
            blanks = " " * (width - count_columns(cell))
            aligned = blanks + cell if is_number_column(rows, place) else cell + blanks
            lines[number] += ("  " if place else "") + aligned
    more = len(table.rows) - len(rows)
    if more:
        lines.append(f"… and {more:,} more rows; to_pandas() has them all")
    return "\n".join(line.rstrip() for line in lines)


def format_table_html(table: ResultTable) -> str:
    """Format a table as escaped HTML; a long table is cut."""
    rows = table.rows[:MAX_ROWS_SHOWN]
    kinds = [
        ' class="number"' if is_number_column(rows, place) else ""
        for place in range(len(table.columns))
    ]
    head = "".join(
        f"<th{kind}>{escape(printable(name))}</th>"
        for kind, name in zip(kinds, table.columns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{escape(printable(format_cell(cell)))}</td>"
            for kind, cell in zip(kinds, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    more = len(table.rows) - len(rows)
    caption = escape(printable(table.title)) + (
        f", the first {len(rows)} of {len(table.rows):,} rows" if more else ""
    )
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def wrap_html(parts: Sequence[str]) -> str:
    """Wrap the parts of a result, which are HTML, in one block with its own style."""
    return f'<style>{STYLE}</style><div class="nikawa">{"".join(parts)}</div>'
