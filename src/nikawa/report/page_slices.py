"""The slices of a task: what is easy and what is hard, as dots and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.analyse.result_parts import Slice
from nikawa.report import page_plots as plots
from nikawa.report.page_data import Analysed, Number, Section
from nikawa.report.page_plots import Dot, Line, within
from nikawa.report.page_words import detail, figures, number, slug, table, text

DRAWN = 4
"""Systems that are drawn: the best."""
LINES = 40
"""Slices that are drawn: the largest; the table has all."""

Key = tuple[str, str]


def slices(found: Section, digits: int) -> str:
    """Plot and table; empty where nothing was sliced."""
    parts = [part for part in found.analysed if part.analysis.slices]
    if not parts:
        return ""
    file = f"figures/{slug(found.name)}-slices.svg"
    sure = sum(_sure(one) for part in parts for one in part.analysis.slices)
    words = (
        f"Each row is the {parts[0].analysis.metric} on the examples that share a value, with 95% intervals; the dashed line is "
        f"{parts[0].system} on all of them. {sure} slices differ from the rest of their set (5%, Holm)."
    )
    if len(parts) > DRAWN:
        words += f" The best {DRAWN} systems are drawn; the table has all."
    picture = f'<figure data-src="{file}">{slice_plot(found)}<figcaption><a class="file" href="{file}">svg</a></figcaption></figure>'
    listed = detail("All slices as a table", _table(parts, digits))
    return f'<div class="block"><h3>Slices</h3><p class="soft">{text(words)}</p>{picture}{listed}</div>'


def _sure(one: Slice) -> bool:
    return one.p_holm is not None and one.p_holm < 0.05


def slice_plot(found: Section) -> str:
    """Slices as rows, the best systems as dots."""
    parts = [part for part in found.analysed if part.analysis.slices][:DRAWN]
    if not parts:
        return ""
    first = parts[0].analysis
    keys = _keys(parts)
    kept = set(sorted(keys, key=lambda key: -keys[key])[:LINES])
    lines = [
        Line(where, _dots(parts, (by, where)), by, f"{n:,}") for (by, where), n in keys.items() if (by, where) in kept
    ]  # fmt: skip
    names = [part.system for part in parts]
    title = f"{first.metric} by slice on {found.name}"
    return plots.dot_plot(lines, title, within(first.unit, first.metric), names, first.score.value)


def _keys(parts: Sequence[Analysed]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for part in parts:
        for one in part.analysis.slices:
            found.setdefault((one.by, one.where), one.n)
    order = {by: i for i, by in enumerate(dict.fromkeys(by for by, _ in found))}
    return dict(sorted(found.items(), key=lambda pair: order[pair[0][0]]))


def _of(part: Analysed, key: Key) -> Slice | None:
    return next((one for one in part.analysis.slices if (one.by, one.where) == key), None)


def _dots(parts: Sequence[Analysed], key: Key) -> list[Dot]:
    found = []
    for i, part in enumerate(parts):
        one = _of(part, key)
        if one is not None and one.value is not None:
            said = f"{part.system}: {one.value:.4g}, n {one.n:,}"
            found.append(Dot(one.value, one.low, one.high, i, said))
    return found


def _table(parts: Sequence[Analysed], digits: int) -> str:
    rows = [
        [f'<span class="soft">{text(by)}</span> {text(where)}', f"{n:,}", *(_cell(p, (by, where), digits) for p in parts)]
        for (by, where), n in _keys(parts).items()
    ]  # fmt: skip
    names = ["slice", "n", *(text(part.system) for part in parts)]
    return table(names, rows, range(1, len(names)), "Slices")


def _cell(part: Analysed, key: Key, digits: int) -> str:
    one = _of(part, key)
    if one is None:
        return ""
    unit = part.analysis.unit
    shown = number(
        Number(
            value=one.value, unit=unit, low=one.low, high=one.high, sd=one.sd, n=one.n, source=part.source
        ),
        digits,
    )
    if one.difference is None or not _sure(one):
        return shown
    sign = "+" if one.difference > 0 else ""
    said = f"{sign}{figures(one.difference, unit, digits)}"
    return (
        f'{shown}<span class="ci sure" title="from the rest, Holm-corrected p {one.p_holm:.3g}">{said}</span>'
    )
