"""The labels of a task: confusion, precision and recall of each, and gold label by similarity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.analysis.results import ClassScore, CrossTable
from nikawa.reporting.fragments import Cell, counted, detail, number, table, text
from nikawa.reporting.page_data import Analysed, Number, Section
from nikawa.reporting.page_more import spread
from nikawa.reporting.plots import Heat, heat
from nikawa.reporting.sources import inside, source, source_line
from nikawa.stats.results import CrossCell

MOST_LABELS = 12


def confusion_plot(found: Section, part: Analysed) -> str:
    """Gold against answers; empty where there are no labels, or too many."""
    confusion = part.analysis.confusion
    if confusion is None or len(confusion.columns) > MOST_LABELS:
        return ""
    cells = [[confusion.counts[g].get(a, 0.0) for a in confusion.columns] for g in confusion.labels]
    place = inside(part.source, "confusion", "counts")
    title = f"Confusion of {part.system} on {found.name}"
    return heat(Heat(confusion.labels, confusion.columns, cells, place), title)


def confusions(found: Section) -> str:
    """A plot a system, and each label by itself."""
    shown, places = [], []
    for part in found.analysed:
        picture = confusion_plot(found, part)
        if not picture:
            continue
        places.append(inside(part.source, "confusion"))
        shown.append(
            f'<figure data-system="{text(part.system)}"{source(places[-1])} class="heat">'
            f"<figcaption>{text(part.system)}</figcaption>{picture}</figure>"
        )
    listed = _classes(found.analysed)
    if not shown:
        return f'<div class="block"><h3>Labels</h3>{listed}</div>' if listed else ""
    words = "Rows are gold, columns answers; the shade is the share of the row. Choose a cell to see its examples."
    return (
        f'<div class="block"><h3>Confusion</h3><p class="soft">{words}</p><div class="multiples">{"".join(shown)}</div>'
        f"{source_line(*places)}{listed}</div>"
    )


def _classes(analysed: Sequence[Analysed]) -> str:
    """Precision, recall and F1 of each label."""
    parts = [part for part in analysed if part.analysis.confusion is not None]
    places = [inside(part.source, "confusion", "classes") for part in parts]
    rows = [
        row for part, place in zip(parts, places, strict=True) for row in _class_rows(part, place)
    ]
    names = ["system", "label", "gold", "answered", "precision", "recall", "F1"]
    shown = table(names, rows, range(2, 7), "Labels", " ".join(places)) + source_line(*places)
    return detail("Precision and recall of each label", shown) if rows else ""


def _class_rows(part: Analysed, place: str) -> Iterator[list[str | Cell]]:
    confusion = part.analysis.confusion
    for i, one in enumerate(confusion.classes if confusion is not None else ()):
        own = inside(place, i)
        yield [
            text(part.system),
            text(one.label),
            counted(one.gold, inside(own, "gold")),
            counted(one.answered, inside(own, "answered")),
            *_measures(one, own),
        ]


def _measures(one: ClassScore, place: str) -> Iterator[str]:
    for name, found in (("precision", one.precision), ("recall", one.recall), ("f1", one.f1)):
        yield number(spread(found, "fraction", inside(place, name)), 1)


def cross(analysed: Sequence[Analysed], digits: int) -> str:
    """Gold label by similarity, with intervals and how many examples each cell rests on."""
    shown = [
        _cross(part, part.analysis.cross, digits)
        for part in analysed
        if part.analysis.cross is not None
    ]
    return detail("Label by similarity", "".join(shown)) if shown else ""


def _cross(part: Analysed, found: CrossTable, digits: int) -> str:
    place = inside(part.source, "cross")
    cells = {
        (cell.label, cell.bin): (cell, inside(place, "cells", i))
        for i, cell in enumerate(found.cells)
    }
    bins = [*found.bins, *([""] if any(key[1] == "" for key in cells) else [])]
    labels = [label for label in (*found.labels, "") if any((label, b) in cells for b in bins)]
    rows = [
        [text(label or "all"), *(_cross_cell(cells.get((label, b)), found, digits) for b in bins)]
        for label in labels
    ]
    names = ["gold", *(text(b or "all") for b in bins)]
    caption = (
        f"{part.system}: {found.metric} by gold label and similarity, with 95% intervals and n"
    )
    return table(names, rows, range(1, len(names)), caption, place) + source_line(place)


def _cross_cell(found: tuple[CrossCell, str] | None, whole: CrossTable, digits: int) -> str | Cell:
    if found is None or not found[0].n:
        return ""
    cell, place = found
    shown = Number(
        value=cell.value, low=cell.low, high=cell.high, unit=whole.unit, n=cell.n, source=place
    )
    count = f'<span class="ci"{source(inside(place, "n"))}>n {cell.n:,}</span>'
    return Cell(number(shown, digits) + count, place)
