"""The slices of a task: what is easy and what is hard, as dots and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from nikawa.records import Unit
from nikawa.reporting.fragments import Cell, counted, detail, figures, number, table, text
from nikawa.reporting.page_data import Analysed, Number, Section
from nikawa.reporting.page_more import figure
from nikawa.reporting.plots import SHEET_HEIGHT, Dot, Line, dot_plot, within
from nikawa.reporting.sources import inside, source, source_line
from nikawa.stats.results import LEAST_UNITS, TOO_FEW, Slice

DRAWN = 4
"""Systems that are drawn: the best."""
LINES = 40
"""Slices that are drawn: the largest; the table has all."""

Key = tuple[str, str]
Slices = dict[Key, tuple[Slice, str]]


def slices(found: Section, digits: int) -> str:
    """Plot and table; empty where nothing was sliced."""
    parts = [part for part in found.analysed if part.analysis.slices]
    if not parts:
        return ""
    sure = sum(_sure(one) for part in parts for one in part.analysis.slices)
    words = (
        f"Each row is the {parts[0].analysis.metric} on the examples that share a value, with 95% intervals and, at the right, how "
        f"many they are; the dashed line is {parts[0].system} on all of them. {_differ(sure)} from the rest of their set (5%, Holm)."
    )
    if any(one.units < LEAST_UNITS for part in parts for one in part.analysis.slices):
        words += f" {TOO_FEW}"
    if len(parts) > DRAWN:
        words += f" The best {DRAWN} systems are drawn; the table has all."
    places = [inside(part.source, "slices") for part in parts]
    drawn, every = " ".join(places[:DRAWN]), " ".join(places)
    picture = figure(slice_plot(found, SHEET_HEIGHT), found, "slices", drawn)
    listed = detail("All slices as a table", _table(parts, digits, every) + source_line(every))
    return f'<div class="block"><h3>Slices</h3><p class="soft"{source(every)}>{text(words)}</p>{picture}{listed}</div>'


def _differ(count: int) -> str:
    return "1 slice differs" if count == 1 else f"{count:,} slices differ"


def _sure(one: Slice) -> bool:
    return one.p_holm is not None and one.p_holm < 0.05


def slice_plot(found: Section, tallest: float = inf) -> str:
    """Slices as rows, the best systems as dots."""
    parts = [part for part in found.analysed if part.analysis.slices][:DRAWN]
    if not parts:
        return ""
    first, names, tables = (
        parts[0].analysis,
        [part.system for part in parts],
        list(map(_by_key, parts)),
    )
    keys = _keys(parts)
    kept = set(sorted(keys, key=lambda key: -keys[key])[:LINES])
    lines = [
        Line(where, _dots(tables, (by, where), names), by, f"{n:,}")
        for (by, where), n in keys.items()
        if (by, where) in kept
    ]
    title = f"{first.metric} by slice on {found.name}"
    possible = within(first.unit, first.metric)
    return dot_plot(lines, title, possible, names, first.score.value, tallest)


def _keys(parts: Sequence[Analysed]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for part in parts:
        for one in part.analysis.slices:
            found.setdefault((one.by, one.where), one.n)
    order = {by: i for i, by in enumerate(dict.fromkeys(by for by, _ in found))}
    return dict(sorted(found.items(), key=lambda pair: order[pair[0][0]]))


def _by_key(part: Analysed) -> dict[Key, tuple[Slice, str]]:
    """The slices of a system, each with its place."""
    place = inside(part.source, "slices")
    return {
        (one.by, one.where): (one, inside(place, i)) for i, one in enumerate(part.analysis.slices)
    }


def _dots(tables: Sequence[Slices], key: Key, systems: Sequence[str]) -> list[Dot]:
    found = []
    for i, (each, system) in enumerate(zip(tables, systems, strict=True)):
        one, place = each.get(key, (None, ""))
        if one is not None and one.value is not None:
            said = f"{system}: {one.value:.4g}, n {one.n:,}"
            found.append(Dot(one.value, one.low, one.high, i, said, place))
    return found


def _table(parts: Sequence[Analysed], digits: int, place: str) -> str:
    tables = [_by_key(part) for part in parts]
    rows = [_row(key, n, parts, tables, digits) for key, n in _keys(parts).items()]
    names = ["slice", "n", *(text(part.system) for part in parts)]
    return table(names, rows, range(1, len(names)), "Slices", place)


def _row(
    key: Key, n: int, parts: Sequence[Analysed], tables: Sequence[Slices], digits: int
) -> list[str | Cell]:
    place = next(each[key][1] for each in tables if key in each)
    name = f'<span class="soft">{text(key[0])}</span> {text(key[1])}'
    cells = [
        _cell(*each[key], part.analysis.unit, digits) if key in each else ""
        for part, each in zip(parts, tables, strict=True)
    ]
    return [name, counted(n, inside(place, "n")), *cells]


def _cell(one: Slice, place: str, unit: Unit, digits: int) -> str | Cell:
    value = Number(
        value=one.value, unit=unit, low=one.low, high=one.high, sd=one.sd, n=one.n, source=place
    )
    shown = number(value, digits)
    if one.difference is None or not _sure(one):
        return shown
    sign = "+" if one.difference > 0 else ""
    said = f"{sign}{figures(one.difference, unit, digits)}"
    title = f"from the rest, Holm-corrected p {one.p_holm:.3g}"
    kept = source(inside(place, "difference"), title)
    return Cell(f'{shown}<span class="ci sure"{kept}>{said}</span>', place)
