"""What is seen in several runs of a task: learning curves, missing inputs, perturbations, suspected labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from nikawa.analysis.results import PartialInput, StressCell, Suspects
from nikawa.reporting.fragments import Cell, counted, detail, figures, number, p_value, table, text
from nikawa.reporting.page_data import Number, Section, Sourced
from nikawa.reporting.page_more import dot, figure, spread
from nikawa.reporting.plots import SHEET_HEIGHT, Dot, Line, Path, Scale, curves, dot_plot, within
from nikawa.reporting.sources import inside, source, source_line

SUSPECTS = 10
PARTIAL = (
    "system",
    "accuracy",
    "always the most frequent",
    "difference",
    "p\u00a0(Holm)",
    "with all inputs",
)
STAYS = {
    "same": "How often an answer stays the same when the example is perturbed; the label of the original decides what should happen.",
    "pearson": "How alike the answers to originals and to perturbed examples are: Pearson's correlation, in percent.",
}


def across(found: Section, digits: int) -> Iterator[str]:
    """Learning curves, missing inputs, perturbations."""
    if found.curves:
        place = " ".join(curve.source for curve in found.curves)
        yield f'<div class="block"><h3>Learning curve</h3>{figure(curve_plot(found), found, "curve", place)}</div>'
    if found.partial:
        place = " ".join(part.source for part in found.partial)
        rows = [_partial(part.found, part.source, digits) for part in found.partial]
        shown = table(PARTIAL, rows, range(1, len(PARTIAL)), "With some of the inputs only", place)
        yield f'<div class="block"><h3>What the inputs give away</h3>{shown}{source_line(place)}</div>'
    if found.stress:
        place = " ".join(s.source for s in found.stress)
        picture = figure(stress_plot(found, SHEET_HEIGHT), found, "stress", place)
        listed = detail(
            "By gold label and case, as a table",
            _stress_table(found, digits, place) + source_line(place),
        )
        words = STAYS[found.stress[0].found.measure]
        yield f'<div class="block"><h3>Under perturbation</h3><p class="soft">{words}</p>{picture}{listed}</div>'


def _partial(part: PartialInput, place: str, digits: int) -> list[str | Cell]:
    usual = f"{figures(part.majority, 'percent', digits)}<span class=ci>{text(part.majority_label)}</span>"
    whole = "" if part.full is None else figures(part.full, "percent", digits)
    return [
        f"{text(part.model)} <span class=soft>{text('+'.join(part.inputs))} only</span>",
        number(spread(part.score, "percent", inside(place, "score"), part.n), digits),
        Cell(usual, inside(place, "majority")),
        number(spread(part.difference, "percent", inside(place, "difference"), part.n), digits),
        Cell(p_value(part.p_holm), inside(place, "p_holm")),
        Cell(whole, inside(place, "full")),
    ]


def curve_plot(found: Section) -> str:
    """Score against training examples."""
    first = found.curves[0].found
    paths = [
        Path(
            curve.found.model,
            [
                (
                    float(p.trained),
                    dot(
                        p.score,
                        note=f"{p.trained:,} examples: {p.score.value}",
                        place=inside(curve.source, "points", i),
                    ),
                )
                for i, p in enumerate(curve.found.points)
            ],
        )
        for curve in found.curves
        if curve.found.metric == first.metric
    ]
    title = f"{first.metric} on {found.name} by training examples"
    return curves(paths, title, Scale("training examples"), within(first.unit, first.metric))


def stress_plot(found: Section, tallest: float = inf) -> str:
    """Operations against the share of answers that stay."""
    each, models = [s.found for s in found.stress], _models(found)
    cells = {
        (cell.operation, i): (cell, inside(found.stress[i].source, "cells", j))
        for i, s in enumerate(each)
        for j, cell in enumerate(s.cells)
        if not cell.gold and not cell.case and cell.value is not None
    }
    lines = []
    for operation in dict.fromkeys(operation for operation, _ in cells):
        own = [(i, *cells[operation, i]) for i in range(len(models)) if (operation, i) in cells]
        dots = [_stays(cell, i, models[i], place) for i, cell, place in own]
        lines.append(Line(operation, dots, note=f"{own[0][1].n:,}"))
    low = -100.0 if each[0].measure == "pearson" else 0.0
    title = f"Answers that stay, {found.name}"
    return dot_plot(lines, title, (low, 100.0), models, tallest=tallest) if lines else ""


def _models(found: Section) -> list[str]:
    each = (s.found for s in found.stress)
    return [f"{s.model} ({s.variation})" if s.variation else s.model for s in each]


def _stress_table(found: Section, digits: int, place: str) -> str:
    """A row an operation, case and label of the original, a column a system."""
    cells = {
        ((cell.operation, cell.case, cell.gold), i): (cell, inside(s.source, "cells", j))
        for i, s in enumerate(found.stress)
        for j, cell in enumerate(s.found.cells)
    }
    keys, systems = stress_keys(dict.fromkeys(key for key, _ in cells)), range(len(found.stress))
    rows = [_stress_row(key, [cells.get((key, i)) for i in systems], digits) for key in keys]
    names = ["operation", "case", "gold", "n", *map(text, _models(found))]
    return table(names, rows, range(3, len(names)), "Answers that stay", place)


def stress_keys(keys: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """By operation, case and label, all together first; a lone case of an operation says nothing new."""
    given = list(keys)
    places = [list(dict.fromkeys(["", *(key[i] for key in given)])) for i in range(3)]
    cases = {
        operation: {key[1] for key in given if key[0] == operation and key[1]}
        for operation, *_ in given
    }
    kept = [key for key in given if not key[1] or len(cases[key[0]]) > 1]
    return sorted(kept, key=lambda key: tuple(places[i].index(key[i]) for i in range(3)))


def _stress_row(
    key: tuple[str, str, str], cells: Sequence[tuple[StressCell, str] | None], digits: int
) -> list[str | Cell]:
    cell, place = next(one for one in cells if one is not None)
    values = [
        "" if one is None else number(_stress_number(*one), digits) + _people(*one, digits)
        for one in cells
    ]
    return [
        text(key[0]),
        text(key[1] or "all"),
        text(key[2] or "all"),
        counted(cell.n, inside(place, "n")),
        *values,
    ]


def _stress_number(cell: StressCell, place: str) -> Number:
    return Number(
        value=cell.value, low=cell.low, high=cell.high, sd=cell.sd, n=cell.n, source=place
    )


def _people(cell: StressCell, place: str, digits: int) -> str:
    """What people did, where some were asked."""
    if cell.human is None:
        return ""
    return f'<span class="ci"{source(inside(place, "human"))}>people {figures(cell.human, "percent", digits)}</span>'


def _stays(cell: StressCell, series: int, model: str, place: str) -> Dot:
    return Dot(
        cell.value, cell.low, cell.high, series, f"{model}: {cell.value:.1f} of {cell.n:,}", place
    )


def suspects(found: Section) -> str:
    """Labels that systems speak against; those of sets made from others repeat their originals and are not counted."""
    own = [part for part in found.suspects if part.found.set not in found.derived]
    shown = [_suspects(part) for part in own if part.found.items]
    if not shown:
        return ""
    words = "Labels that the systems speak against with confidence. Models are wrong more often than people: look before you change anything."
    made = [part.found.set for part in found.suspects if part.found.set in found.derived]
    words += (
        f" Not listed: {', '.join(made)}, whose examples were made from others." if made else ""
    )
    told = f'<p class="soft">{text(words)}</p>'
    place = " ".join(inside(part.source, "total") for part in own)
    total = sum(part.found.total for part in own)
    return detail(f"Suspected label errors: {total:,}", told + "".join(shown), place)


def _suspects(part: Sourced[Suspects]) -> str:
    found, place = part.found, inside(part.source, "items")
    rows: list[list[str | Cell]] = [
        [
            text(item.example),
            text(item.gold),
            text(item.suggested),
            Cell(f"{item.p_gold:.2f}", inside(place, i, "p_gold")),
            Cell(f"{item.p_suggested:.2f}", inside(place, i, "p_suggested")),
            Cell(f"{item.against} of {item.systems}", inside(place, i)),
        ]
        for i, item in enumerate(found.items[:SUSPECTS])
    ]
    names = ["example", "gold", "suggested", "p of gold", "p of suggested", "systems against"]
    listed = f", the likeliest {len(rows)} here" if found.total > len(rows) else ""
    sheet = f"; nikawa analyse writes the sheet for workers ({found.sheet})" if found.sheet else ""
    caption = f"{found.set}: {found.total:,} of {found.n:,} examples{listed}{sheet}"
    return table(names, rows, range(3, 6), caption, part.source) + source_line(part.source)
