"""The analyses of a task as blocks of its section: labels, slices, calibration, overlap, curves, stress, suspects.

A block is a heading with words, tables and plots; its function returns an empty string where there is nothing to show.
Functions named `..._plot` draw the picture alone, which is also a file in `figures/`. Values are those of
`nikawa.analysis`; `source` of an analysis is its file in `analyses/`, and every cell names its place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from markupsafe import Markup

from nikawa.analysis.results import CrossTable, Overlap, StressCell, Suspects
from nikawa.analysis.units import figure_in_percent
from nikawa.records import Unit
from nikawa.reporting.fragments import (
    Row,
    TableCell,
    block,
    count_cell,
    detail,
    dot,
    figure,
    figures,
    make_number,
    multiples,
    number,
    p_value,
    small,
    soft,
    table,
)
from nikawa.reporting.markup import fragment, html, join, source
from nikawa.reporting.page_data import Analysed, Section, SourcedFinding
from nikawa.reporting.plots import (
    SHEET_HEIGHT,
    AmountScale,
    Dot,
    Heat,
    PlotCurve,
    PlotRow,
    draw_curves,
    draw_dots,
    draw_heat,
    draw_reliability,
    possible_values,
)
from nikawa.reporting.sources import inside, source_line
from nikawa.stats.results import LEAST_UNITS, TOO_FEW, Slice

MAX_LABELS_DRAWN = 12
MAX_SYSTEMS_DRAWN = 4
"""Systems whose slices are drawn: the best."""
MAX_SLICES_DRAWN = 40
"""Slices that are drawn: the largest; the table has all."""
MAX_SUSPECTS_SHOWN = 10
PARTIAL_COLUMNS = (
    "system",
    "accuracy",
    "most frequent answer",
    "difference",
    "p\u00a0(Holm)",
    "with all inputs",
)
STAYS = {
    "same": "How often an answer stays the same when the example is perturbed. The gold label of the original says whether it should.",
    "pearson": "Pearson's correlation, in percent, between the answers to the originals and to the perturbed examples.",
}

Key = tuple[str, str]
"""What was sliced by, and the value."""
Slices = dict[Key, tuple[Slice, str]]
"""The slices of a system, each with its place."""
StressKey = tuple[str, str, str]
"""Operation, case and label of the original."""


def confusion_plot(section: Section, part: Analysed) -> str:
    """Gold against answers; empty where there are no labels, or too many."""
    confusion = part.analysis.confusion
    if confusion is None or len(confusion.columns) > MAX_LABELS_DRAWN:
        return ""
    cells = []
    for gold in confusion.labels:
        counts = confusion.counts[gold]
        cells.append([counts.get(answer, 0.0) for answer in confusion.columns])
    place = inside(part.source, "confusion", "counts")
    title = f"Confusion of {part.system} on {section.name}"
    return draw_heat(Heat(confusion.labels, confusion.columns, cells, place), title)


def confusions(section: Section, digits: int) -> str:
    """One plot per system, and each label by itself."""
    shown, places = [], []
    for part in section.analysed:
        picture = confusion_plot(section, part)
        if picture:
            place = inside(part.source, "confusion")
            places.append(place)
            shown.append(fragment("heat_figure", system=part.system, picture=picture, place=place))
    classes = show_classes(section.analysed, digits)
    if not shown:
        return block("Labels", classes) if classes else ""
    words = "Rows are gold labels and columns are answers. The shade is the share of the row. Click a cell to see its examples."
    return block("Confusion", multiples(shown) + source_line(*places) + classes, words)


def show_classes(analysed: Sequence[Analysed], digits: int) -> Markup:
    """Precision, recall and F1 of each label in percent, to be opened."""
    rows: list[Row] = []
    places = []
    for part in analysed:
        if part.analysis.confusion is None:
            continue
        place = inside(part.source, "confusion", "classes")
        places.append(place)
        for i, one in enumerate(part.analysis.confusion.classes):
            own = inside(place, i)
            cells: list[str | TableCell] = [
                part.system,
                one.label,
                count_cell(one.gold, inside(own, "gold")),
                count_cell(one.answered, inside(own, "answered")),
            ]
            for name in ("precision", "recall", "f1"):
                rate = figure_in_percent(getattr(one, name))
                cells.append(number(make_number(rate, "percent", inside(own, name)), digits))
            rows.append(cells)
    if not rows:
        return Markup("")
    columns = ["system", "label", "gold", "answered", "precision", "recall", "F1"]
    shown = table(columns, rows, 2, "Labels", " ".join(places))
    return detail("Precision and recall of each label", shown + source_line(*places))


def cross_tables(analysed: Sequence[Analysed], digits: int) -> str:
    """Gold label by similarity, with intervals and how many examples each cell rests on."""
    shown = [
        show_cross_table(part, part.analysis.cross, digits)
        for part in analysed
        if part.analysis.cross is not None
    ]
    return detail("Label by similarity", join(shown)) if shown else ""


def show_cross_table(part: Analysed, cross: CrossTable, digits: int) -> Markup:
    """The table of one system: one row per gold label, one column per range of similarity, and the totals of both."""
    place = inside(part.source, "cross")
    cells: dict[Key, str | TableCell] = {}
    for i, cell in enumerate(cross.cells):
        own = inside(place, "cells", i)
        shown: str | TableCell = ""
        if cell.n:
            score = number(make_number(cell, cross.unit, own), digits)
            shown = TableCell(score + small(f"n {cell.n:,}", inside(own, "n")), own)
        cells[cell.label, cell.bin] = shown
    bins = list(cross.bins)
    if any(name == "" for _, name in cells):
        bins.append("")
    rows: list[Row] = []
    for label in (*cross.labels, ""):
        if any((label, name) in cells for name in bins):
            rows.append([label or "all", *(cells.get((label, name), "") for name in bins)])
    columns = ["gold", *(name or "all" for name in bins)]
    caption = (
        f"{part.system}: {cross.metric} by gold label and similarity, with 95% intervals and n"
    )
    return table(columns, rows, 1, caption, place) + source_line(place)


def reliability_plot(part: Analysed) -> str:
    """Share right against probability; empty where a model gives none."""
    measured = part.analysis.calibration
    if measured is None:
        return ""
    bins = [(b.confidence, b.accuracy, b.low, b.high, b.n) for b in measured.bins]
    place = inside(part.source, "calibration", "bins")
    return draw_reliability(bins, f"Reliability of {part.system}", place)


def calibration(analysed: Sequence[Analysed]) -> str:
    """How far probabilities can be trusted, one plot per system."""
    shown, places = [], []
    for part in analysed:
        measured = part.analysis.calibration
        if measured is None:
            continue
        brier = figures(measured.brier.value, "fraction", 1)
        more = "not more" if measured.ece <= measured.ece_chance else "more"
        place = inside(part.source, "calibration")
        places.append(place)
        shown.append(
            fragment(
                "small_figure",
                caption=part.system,
                words=f"calibration error {measured.ece:.3f} ({more} than expected by chance), Brier {brier}",
                words_place="",
                picture=reliability_plot(part),
                place=place,
            )
        )
    if not shown:
        return ""
    words = "How often answers with a given probability are correct. Below the diagonal, a model is overconfident."
    return block("Calibration", multiples(shown) + source_line(*places), words)


def overlap(analysed: Sequence[Analysed], digits: int) -> str:
    """How much of one input is found in the other, and what that has to do with being right."""
    parts: list[tuple[Analysed, Overlap]] = []
    for part in analysed:
        if part.analysis.overlap is not None:
            parts.append((part, part.analysis.overlap))
    if not parts:
        return ""
    first = parts[0][1]
    places = [inside(part.source, "overlap") for part, _ in parts]
    words = (
        f"On average, a share of {figures(first.mean.value, 'fraction', 1)} of the words of the {first.of} also occurs in the "
        f"{first.inside} (segmentation: {first.segmentation})."
    )
    labels = ", ".join(f"{label} {share:.3f}" for label, share in first.labels.items())
    words += f" By gold: {labels}." if labels else ""
    rows: list[Row] = []
    for part, one in parts:
        rows += list_overlap_rows(part, one, digits)
    columns = ["system", "overlap", "n", first.metric, "Spearman's ρ"]
    caption = f"{first.metric} by overlap"
    shown = table(columns, rows, 1, caption, " ".join(places))
    paragraph = html('<p class="soft"{}>{}</p>', source(places[0]), words)
    return detail("Overlap of the inputs", paragraph + shown + source_line(*places))


def list_overlap_rows(part: Analysed, measured: Overlap, digits: int) -> Iterator[Row]:
    """The rows of one system, a range of overlap each; its name and correlation are in the first."""
    unit, place = part.analysis.unit, inside(part.source, "overlap")
    relation = make_number(measured.correlation, "fraction", inside(place, "correlation"))
    for i, one in enumerate(measured.bins):
        own = inside(place, "bins", i)
        score = make_number(one, unit, own)
        yield [
            "" if i else part.system,
            TableCell(f"{one.least:.2f}–{one.most:.2f}", own),
            count_cell(one.n, inside(own, "n")),
            number(score, digits),
            "" if i else number(relation, 1),
        ]


def slices(section: Section, digits: int) -> str:
    """What is easy and what is hard, as dots and as a table; empty where nothing was sliced."""
    parts = [part for part in section.analysed if part.analysis.slices]
    if not parts:
        return ""
    every = [one for part in parts for one in part.analysis.slices]
    sure = sum(map(_is_sure, every))
    differ = "No slice differs" if not sure else f"{sure:,} slices differ"
    if sure == 1:
        differ = "1 slice differs"
    words = (
        f"Each row shows {parts[0].analysis.metric} on the examples that share a value, with 95% confidence intervals. The number "
        f"of examples is on the right. The dashed line is {parts[0].system} on all examples. {differ} significantly from the rest of "
        "the set (5%, Holm)."
    )
    if any(one.units < LEAST_UNITS for one in every):
        words += f" {TOO_FEW}"
    if len(parts) > MAX_SYSTEMS_DRAWN:
        words += f" The plot shows the best {MAX_SYSTEMS_DRAWN} systems; the table shows all."
    places = [inside(part.source, "slices") for part in parts]
    drawn = " ".join(places[:MAX_SYSTEMS_DRAWN])
    whole = " ".join(places)
    picture = figure(slice_plot(section, SHEET_HEIGHT), section.name, "slices", drawn)
    shown = show_slice_table(parts, digits, whole) + source_line(whole)
    content = picture + detail("All slices as a table", shown)
    return block("Slices", content, words, whole)


def _is_sure(one: Slice) -> bool:
    return one.p_holm is not None and one.p_holm < 0.05


def slice_plot(section: Section, tallest: float = inf) -> str:
    """Slices as rows, the best systems as dots."""
    parts = [part for part in section.analysed if part.analysis.slices][:MAX_SYSTEMS_DRAWN]
    if not parts:
        return ""
    tables = [_slices_by_key(part) for part in parts]
    sizes = _slice_sizes(parts)
    largest = set(sorted(sizes, key=lambda key: -sizes[key])[:MAX_SLICES_DRAWN])
    rows = []
    for key, n in sizes.items():
        if key not in largest:
            continue
        dots = []
        for i, part in enumerate(parts):
            one, place = tables[i].get(key, (None, ""))
            if one is not None and one.value is not None:
                words = f"{part.system}: {one.value:.4g}, n {one.n:,}"
                dots.append(dot(one, i, words, place))
        by, where = key
        rows.append(PlotRow(where, dots, by, f"{n:,}"))
    first = parts[0].analysis
    title = f"{first.metric} by slice on {section.name}"
    limits = possible_values(first.unit, first.metric)
    names = [part.system for part in parts]
    return draw_dots(rows, title, limits, names, first.score.value, tallest)


def _slice_sizes(parts: Sequence[Analysed]) -> dict[Key, int]:
    """Every slice of the systems and how many examples it has, those by one key together.

    A correlation leaves unread answers out, so a system may have fewer: the size is that of the system with most.
    """
    sizes: dict[Key, int] = {}
    for part in parts:
        for one in part.analysis.slices:
            key = (one.by, one.where)
            sizes[key] = max(sizes.get(key, 0), one.n)
    ordered: dict[Key, int] = {}
    for group in dict.fromkeys(by for by, _ in sizes):
        ordered |= {key: n for key, n in sizes.items() if key[0] == group}
    return ordered


def _slices_by_key(part: Analysed) -> Slices:
    place = inside(part.source, "slices")
    slices: Slices = {}
    for i, one in enumerate(part.analysis.slices):
        slices[one.by, one.where] = (one, inside(place, i))
    return slices


def show_slice_table(parts: Sequence[Analysed], digits: int, place: str) -> Markup:
    """One row per slice, one column per system."""
    tables = list(map(_slices_by_key, parts))
    rows: list[Row] = []
    for key, n in _slice_sizes(parts).items():
        own = next(each[key][1] for each in tables if key in each and each[key][0].n == n)
        name = html("{} {}", soft(key[0]), key[1])
        cells: list[str | TableCell] = [name, count_cell(n, inside(own, "n"))]
        for part, each in zip(parts, tables, strict=True):
            if key in each:
                cells.append(show_slice(*each[key], part.analysis.unit, digits))
            else:
                cells.append("")
        rows.append(cells)
    columns = ["slice", "n", *(part.system for part in parts)]
    return table(columns, rows, 1, "Slices", place)


def show_slice(one: Slice, place: str, unit: Unit, digits: int) -> str | TableCell:
    """The score of a slice; where it is surely another than that of the rest, the difference too."""
    shown = number(make_number(one, unit, place), digits)
    if one.difference is None or not _is_sure(one):
        return shown
    sign = "+" if one.difference > 0 else ""
    title = f"from the rest, Holm-corrected p {one.p_holm:.3g}"
    gap = html(
        '<span class="ci sure"{}>{}</span>',
        source(inside(place, "difference"), title),
        f"{sign}{figures(one.difference, unit, digits)}",
    )
    return TableCell(shown + gap, place)


def curves_block(section: Section) -> str:
    """Learning curves; empty without one."""
    if not section.curves:
        return ""
    place = " ".join(curve.source for curve in section.curves)
    return block("Learning curve", figure(curve_plot(section), section.name, "curve", place))


def curve_plot(section: Section) -> str:
    """Score against training examples."""
    first = section.curves[0].found
    paths = []
    for curve in section.curves:
        if curve.found.metric != first.metric:
            continue
        points = []
        for i, point in enumerate(curve.found.points):
            words = f"{point.trained:,} examples: {figures(point.score.value, first.unit, 2)}"
            place = inside(curve.source, "points", i)
            points.append((float(point.trained), dot(point.score, note=words, place=place)))
        paths.append(PlotCurve(curve.found.model, points))
    title = f"{first.metric} on {section.name} by training examples"
    return draw_curves(
        paths, title, AmountScale("training examples"), possible_values(first.unit, first.metric)
    )


def partial_block(section: Section, digits: int) -> str:
    """What systems reach with some of the inputs; empty where none was run so."""
    if not section.partial:
        return ""
    rows: list[Row] = []
    for part in section.partial:
        one, place = part.found, part.source
        majority = html("{}{}", figures(one.majority, "percent", digits), small(one.majority_label))
        full = "" if one.full is None else figures(one.full, "percent", digits)
        score = make_number(one.score, "percent", inside(place, "score"), one.n)
        gap = make_number(one.difference, "percent", inside(place, "difference"), one.n)
        rows.append(
            [
                html("{} {}", one.model, soft(f"{'+'.join(one.inputs)} only")),
                number(score, digits),
                TableCell(majority, inside(place, "majority")),
                number(gap, digits),
                TableCell(p_value(one.p_holm), inside(place, "p_holm")),
                TableCell(full, inside(place, "full")),
            ]
        )
    place = " ".join(part.source for part in section.partial)
    shown = table(PARTIAL_COLUMNS, rows, 1, "With some of the inputs only", place)
    return block("Results with part of the inputs", shown + source_line(place))


def stress_block(section: Section, digits: int) -> str:
    """Answers under perturbation; empty where nothing perturbed was answered."""
    if not section.stress:
        return ""
    place = " ".join(each.source for each in section.stress)
    picture = figure(stress_plot(section, SHEET_HEIGHT), section.name, "stress", place)
    shown = show_stress_table(section, digits, place) + source_line(place)
    content = picture + detail("By gold label and case, as a table", shown)
    return block("Under perturbation", content, STAYS[section.stress[0].found.measure])


def stress_plot(section: Section, tallest: float = inf) -> str:
    """Operations against the share of answers that stay."""
    systems = [each.found.title for each in section.stress]
    dots: dict[str, list[Dot]] = {}
    sizes: dict[str, int] = {}
    for i, each in enumerate(section.stress):
        for j, cell in enumerate(each.found.cells):
            if cell.gold or cell.case or cell.value is None:
                continue
            place = inside(each.source, "cells", j)
            words = f"{systems[i]}: {cell.value:.1f} on {cell.n:,} examples"
            dots.setdefault(cell.operation, []).append(dot(cell, i, words, place))
            sizes.setdefault(cell.operation, cell.n)
    if not dots:
        return ""
    lines = [PlotRow(name, each, note=f"{sizes[name]:,}") for name, each in dots.items()]
    low = -100.0 if section.stress[0].found.measure == "pearson" else 0.0
    title = f"Unchanged answers, {section.name}"
    return draw_dots(lines, title, (low, 100.0), systems, tallest=tallest)


def show_stress_table(section: Section, digits: int, place: str) -> Markup:
    """A row an operation, case and label of the original, one column per system."""
    cells: dict[tuple[StressKey, int], tuple[StressCell, str]] = {}
    for i, each in enumerate(section.stress):
        for j, cell in enumerate(each.found.cells):
            key = (cell.operation, cell.case, cell.gold)
            cells[key, i] = (cell, inside(each.source, "cells", j))
    rows: list[Row] = []
    for key in stress_keys(dict.fromkeys(key for key, _ in cells)):
        known = [cells.get((key, i)) for i in range(len(section.stress))]
        first, own = next(one for one in known if one is not None)
        operation, case, gold = key
        rows.append(
            [
                operation,
                case or "all",
                gold or "all",
                count_cell(first.n, inside(own, "n")),
                *("" if one is None else show_stress(*one, digits) for one in known),
            ]
        )
    columns = ["operation", "case", "gold", "n", *(each.found.title for each in section.stress)]
    return table(columns, rows, 3, "Unchanged answers", place)


def stress_keys(keys: Iterable[StressKey]) -> list[StressKey]:
    """By operation, case and label, all together first; the only case of an operation is left out."""
    every = list(keys)
    cases: dict[str, set[str]] = {}
    for operation, case, _ in every:
        cases.setdefault(operation, set()).add(case)
    kept = []
    for key in every:
        operation, case, _ = key
        if not case or len(cases[operation] - {""}) > 1:
            kept.append(key)
    orders = [list(dict.fromkeys(["", *column])) for column in zip(*every, strict=True)]

    def rank(key: StressKey) -> tuple[int, ...]:
        return tuple(order.index(part) for order, part in zip(orders, key, strict=True))

    return sorted(kept, key=rank)


def show_stress(cell: StressCell, place: str, digits: int) -> Markup:
    """The share of answers that stay, and what people did where some were asked."""
    shown = number(make_number(cell, "percent", place), digits)
    if cell.human is None:
        return shown
    words = f"people {figures(cell.human, 'percent', digits)}"
    return shown + small(words, inside(place, "human"))


def suspects(section: Section) -> str:
    """Labels that systems contradict; labels of sets made from others repeat their originals and are not counted."""
    own = []
    made = []
    for part in section.suspects:
        if part.found.set in section.derived:
            made.append(part.found.set)
        else:
            own.append(part)
    shown = [show_suspects(part) for part in own if part.found.items]
    if not shown:
        return show_no_suspects(section)
    words = "Gold labels that the systems contradict with high confidence. Models are wrong more often than people, so check each item before you change a label."
    if made:
        words += (
            f" Not listed: {', '.join(made)}, because their examples were made from other examples."
        )
    paragraph = html('<p class="soft">{}</p>', words)
    place = " ".join(inside(part.source, "total") for part in own)
    total = sum(part.found.total for part in own)
    return detail(f"Suspected label errors: {total:,}", paragraph + join(shown), place)


def show_no_suspects(section: Section) -> str:
    """Why no label of the main set is listed as suspected; empty where there is no such reason."""
    reasons = section.no_suspects or ()
    if not reasons:
        return ""
    words = (
        f"The list is empty: {reasons[0].found.why}. To list suspects, you need a model that returns probabilities, or "
        "several systems on the same examples."
    )
    paragraph = html('<p class="soft"{}>{}</p>', source(reasons[0].source), words)
    return detail("Suspected label errors", paragraph)


def show_suspects(part: SourcedFinding[Suspects]) -> Markup:
    """The likeliest label errors of one set."""
    listed_set, place = part.found, inside(part.source, "items")
    rows: list[Row] = []
    for i, item in enumerate(listed_set.items[:MAX_SUSPECTS_SHOWN]):
        rows.append(
            [
                item.example,
                str(item.gold),
                str(item.suggested),
                TableCell(f"{item.p_gold:.2f}", inside(place, i, "p_gold")),
                TableCell(f"{item.p_suggested:.2f}", inside(place, i, "p_suggested")),
                TableCell(f"{item.against} of {item.systems}", inside(place, i)),
            ]
        )
    columns = ["example", "gold", "suggested", "p of gold", "p of suggested", "systems against"]
    listed = (
        f"; the table shows the {len(rows)} most likely" if listed_set.total > len(rows) else ""
    )
    sheet = (
        f"; nikawa analyse writes the sheet for workers ({listed_set.sheet})"
        if listed_set.sheet
        else ""
    )
    caption = f"{listed_set.set}: {listed_set.total:,} of {listed_set.n:,} examples{listed}{sheet}"
    return table(columns, rows, 3, caption, part.source) + source_line(part.source)
