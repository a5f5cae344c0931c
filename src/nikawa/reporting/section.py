"""One task of a report: scores, differences, labels, further sets and parts, slices, calibration, curves, examples.

`render_section` puts the blocks in order. What is here are the blocks that rest on scores; those of analyses are in
`analysis_blocks`, of settings in `tried_settings`, of losses in `training`. A block that has nothing to show is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from markupsafe import Markup
from msgspec import UNSET
from msgspec.structs import replace

from nikawa.reporting.analysis_blocks import (
    calibration,
    confusion_plot,
    confusions,
    cross_tables,
    curves_block,
    overlap,
    partial_block,
    reliability_plot,
    slices,
    stress_block,
    suspects,
)
from nikawa.reporting.fragments import (
    Row,
    TableCell,
    block,
    detail,
    dot,
    figure,
    figures,
    make_number,
    note,
    number,
    p_value,
    small,
    soft,
    table,
)
from nikawa.reporting.markup import fragment, html, join, render, slug, source
from nikawa.reporting.page_data import Number, PairRow, Section, SystemRow
from nikawa.reporting.plots import SHEET_HEIGHT, PlotRow, draw_dots, possible_values
from nikawa.reporting.sources import inside, source_line
from nikawa.reporting.training import training_block
from nikawa.reporting.tried_settings import settings_block
from nikawa.stats.results import SIGNIFICANCE_LEVEL, Slice

WHOLE, SEEN, UNSEEN, GAP = WHERE = ("all", "seen", "unseen", "Δ")
PART = "part"
"""What an analysis calls slices by what was seen in training."""
KINDS = {
    "text": "classification",
    "inference": "inference",
    "similarity": "similarity",
    "choice": "multiple choice",
    "reading": "reading",
    "tagging": "tagging",
    "relation": "relations",
    "tree": "dependency trees",
    "dialogue": "dialogue states",
}
LANGUAGES = {
    "ja": "Japanese",
    "ko": "Korean",
    "en": "English",
    "nl": "Dutch",
    "pt": "Portuguese",
}

Known = tuple[Number, str]
"""A number and where it is kept with its spread."""
Grid = dict[str, dict[str, list[Known | None]]]
"""Model to `all`, `seen`, `unseen` and `Δ` to a number for each training set."""


def render_section(section: Section, digits: int) -> Markup:
    """The section of one task.

    `digits` are those of percentages. The browser of examples is empty here: the script of the page fills it from the items.
    """
    id_ = slug(section.name)
    parts = [
        fragment(
            "heading",
            section=section,
            id=id_,
            language=LANGUAGES.get(section.language, section.language),
            kind=KINDS.get(section.kind, section.kind),
            protocol_attributes=source(inside(section.place, "protocol"), section.protocol_why),
            n_place=inside(section.place, "n"),
            hidden=(section.hidden or {}).get(section.set, 0),
            hidden_place=inside(section.place, "hidden", section.set),
        ),
        show_scores(section, digits),
        show_model_notes(section),
        show_unreadable(section),
        show_pairs(section, digits),
        seen_unseen(section, digits),
        further_sets(section, digits),
        confusions(section, digits),
        slices(section, digits),
        cross_tables(section.analysed, digits),
        calibration(section.analysed),
        overlap(section.analysed, digits),
        curves_block(section),
        partial_block(section, digits),
        stress_block(section, digits),
        settings_block(section, digits),
        training_block(section),
        suspects(section),
        fragment("browser", id=id_, task=section.name),
    ]
    if section.findings:
        place = inside(section.place, "findings")
        notes = [note(one, inside(place, i)) for i, one in enumerate(section.findings)]
        parts.append(block("The dataset", join(notes)))
    return render("section.html", id=id_, parts=[part for part in parts if part])


def is_best(section: Section, row: SystemRow, metric: str) -> bool:
    """Whether a system has the best value of a metric.

    If all systems have the same value, or only one has a value, no system is marked as the best.
    """
    known = set[float]()
    for each in section.rows:
        if metric in each.metrics and (value := each.metrics[metric].value) is not None:
            known.add(value)
    if metric not in row.metrics or len(known) < 2:
        return False
    best = min(known) if metric in section.lower_is_better else max(known)
    return row.metrics[metric].value == best


def score_cell(section: Section, i: int, metric: str, digits: int) -> TableCell:
    """A score of row `i` in a table: the value comes from the runs; letters and the interval over seeds are computed here."""
    row = section.rows[i]
    place = inside(section.place, "rows", i)
    spread = inside(place, "metrics", metric) if len(row.runs) > 1 else ""
    best = is_best(section, row, metric)
    ties = row.ties.get(metric, "")
    return TableCell(
        number(row.metrics[metric], digits, ties=ties, best=best, spread=spread), place
    )


def show_scores(section: Section, digits: int) -> Markup:
    """The table of scores, best system first, and its plot."""
    has_gaps = any(row.unanswered for row in section.rows)
    place = inside(section.place, "rows")
    rows: list[Row] = []
    for i, row in enumerate(section.rows):
        cells: list[str | TableCell] = [row.system]
        for metric in section.metrics:
            cells.append(score_cell(section, i, metric, digits) if metric in row.metrics else "")
        seeds = html('<span title="{}">{}</span>', ", ".join(map(str, row.seeds)), len(row.seeds))
        cells.append(TableCell(seeds, inside(place, i, "seeds")))
        if has_gaps:
            cells.append(TableCell(show_answered(section, row), row.lost))
        rows.append(cells)
    columns = ["system", *section.metrics, "seeds"]
    if has_gaps:
        columns.append("answered")
    caption = f"Scores on {section.set}"
    shown = table(columns, rows, 1, caption, place)
    picture = figure(score_plot(section, SHEET_HEIGHT), section.name, "scores", place)
    sources = source_line(score_places(section), place)
    undefined = [
        html("<p><b>{}</b> is not defined and is not compared: {}.</p>", row.system, row.undefined)
        for row in section.rows
        if row.undefined is not UNSET
    ]
    return html('<div class="block">{}{}{}{}</div>', shown, join(undefined), sources, picture)


def score_places(section: Section) -> str:
    """Where the scores of all systems are."""
    places = [number.source for row in section.rows for number in row.metrics.values()]
    return " ".join(filter(None, places))


def count_answered(section: Section, row: SystemRow) -> str:
    """The number of items that a system answered, over all its seeds: `17 of 18` for nine items and two seeds."""
    items = section.n * len(row.seeds)
    return f"{items - sum(row.unanswered.values()):,} of {items:,}"


def show_answered(section: Section, row: SystemRow, after: str = "") -> Markup:
    """The same with the reasons under the pointer."""
    reasons = "; ".join(f"{why}: {count:,}" for why, count in row.unanswered.items())
    title = f"not answered: {reasons}" if reasons else ""
    return html("<span{}>{}{}</span>", source("", title), count_answered(section, row), after)


def show_model_notes(section: Section) -> Markup:
    """The notes that models left about their runs; empty without one."""
    if not section.model_notes:
        return Markup("")
    rows: list[Row] = [
        [note.system, TableCell(note.text, note.source)] for note in section.model_notes
    ]
    place = inside(section.place, "model_notes")
    shown = table(["system", "note"], rows, (), "", place)
    words = "The models noted this about their runs. It may explain a score."
    return block("Notes of the models", shown + source_line(place), words)


def show_unreadable(section: Section) -> Markup:
    """How many answers of each system could not be read, with examples; empty where all could be."""
    rows: list[Row] = []
    for row in section.rows:
        items, unread = section.n * len(row.seeds), sum(row.unanswered.values())
        if not unread or not items:
            continue
        count = TableCell(f"{unread:,} of {items:,}", row.lost)
        share = TableCell(f"{unread / items:.1%}", row.lost)
        examples = row.unread or ()
        place = row.unread_source or ""
        for place_in_list, answer in enumerate(examples or (None,)):
            first = (row.system, count, share) if not place_in_list else ("", "", "")
            texts = ("", "", "") if answer is None else (answer.example, answer.text, answer.why)
            rows.append([*first, *(TableCell(text, place if text else "") for text in texts)])
    if not rows:
        return Markup("")
    columns = ["system", "unreadable", "share", "example", "raw answer", "reason"]
    words = (
        "Items without a readable answer. The metric decides how they count: most metrics count them as wrong, "
        "and correlations leave them out. The example browser below shows all of them."
    )
    place = inside(section.place, "rows")
    files = [row.lost for row in section.rows] + [row.unread_source or "" for row in section.rows]
    shown = table(columns, rows, (1, 2), "", place)
    sources = source_line(" ".join(filter(None, files)), place)
    return block("Unreadable answers", shown + sources, words)


def score_plot(section: Section, tallest: float = inf) -> str:
    """Systems on the axis of the first metric, a row each; empty where no system has a score.

    `tallest` is the height in pixels above which the plot comes in parts.
    """
    metric = section.metrics[0]
    rows: list[PlotRow] = []
    units: list[str] = []
    for i, row in enumerate(section.rows):
        one = row.metrics.get(metric)
        if one is None or one.value is None:
            continue
        place = inside(section.place, "rows", i, "metrics", metric)
        words = f"{row.system}: {one.value:.6g}"
        rows.append(PlotRow(row.system, [dot(one, note=words, place=place)]))
        units.append(one.unit)
    if not rows:
        return ""
    title = f"{metric} of every system on {section.name}, 95% intervals"
    return draw_dots(rows, title, possible_values(units[0], metric), tallest=tallest)


def show_pairs(section: Section, digits: int) -> str:
    """The differences between systems, to be opened."""
    if not section.pairs:
        return ""
    has_metrics = len({pair.metric for pair in section.pairs}) > 1
    place = inside(section.place, "pairs")
    rows = []
    for i, pair in enumerate(section.pairs):
        rows.append(list_pair_cells(pair, inside(place, i), has_metrics, digits))
    columns = ["pair", "metric"] if has_metrics else ["pair"]
    first_number = len(columns)
    columns += ["difference", "p\u00a0(Holm)", "detectable", "won\u00a0/\u00a0lost"]
    shown = table(columns, rows, first_number, "Differences between systems", place)
    sure = sum(
        pair.p_holm is not None and pair.p_holm < SIGNIFICANCE_LEVEL for pair in section.pairs
    )
    words = f"Significant differences (5%): {sure} of {len(section.pairs)}"
    return detail(words, shown + source_line(place), place)


def list_pair_cells(
    pair: PairRow, place: str, has_metrics: bool, digits: int
) -> list[str | TableCell]:
    """The cells of one pair of systems: difference, p, the smallest difference that could be detected, items won and lost."""
    smallest = won = ""
    if pair.smallest is not None:
        smallest = figures(pair.smallest, pair.difference.unit, digits)
    if pair.wins or pair.losses:  # an F1 has no score per item
        won = f"{pair.wins:,} / {pair.losses:,}"
    return [
        html("{} {} {}", pair.second, soft("over"), pair.first),
        *([pair.metric] if has_metrics else []),
        TableCell(number(pair.difference, digits), inside(place, "difference")),
        TableCell(p_value(pair.p_holm), inside(place, "p_holm")),
        TableCell(smallest, inside(place, "smallest")),
        TableCell(won, place),
    ]


def systems_with_parts(section: Section) -> list[str]:
    """Systems scored apart on what they had seen in training and what they had not, in the order of rows."""
    systems = set()
    for part in section.parts:
        if part.set == section.set and part.where in (SEEN, UNSEEN):
            systems.add(part.system)
    return [row.system for row in section.rows if row.system in systems]


def seen_grid(section: Section) -> tuple[list[str], Grid]:
    """What was learned from (empty: all training data), and the numbers; nothing where no system is scored so."""
    systems = systems_with_parts(section)
    models = dict.fromkeys(row.model for row in section.rows if row.system in systems)
    rows = {}
    for i, row in enumerate(section.rows):
        if row.model in models and not row.varied:
            rows[row.model, row.trained] = i
    trained = sorted({name for _, name in rows})  # the empty name, all training data, first
    grid: Grid = {}
    for model in models:
        own = [rows.get((model, name)) for name in trained]
        grid[model] = {where: [find_seen_number(section, i, where) for i in own] for where in WHERE}
    return trained, grid


def seen_unseen(section: Section, digits: int) -> str:
    """Rows: models, each with all, seen, unseen and the difference; columns: what was learned from."""
    trained, grid = seen_grid(section)
    if not grid:
        return ""
    rows: list[Row] = []
    places = []
    for model, lines in grid.items():
        for where, line in lines.items():
            cells: list[str | TableCell] = [model if where == WHOLE else "", where]
            for known in line:
                if known is None:
                    cells.append("")
                    continue
                one, place = known
                count = small(f"n {one.n:,}", place) if where in (SEEN, UNSEEN) else ""
                cells.append(TableCell(number(one, digits, spread=place) + count, place))
                places.append(place)
            rows.append(cells)
    columns = ["model", "", *(training_title(section, name) for name in trained)]
    caption = f"{section.metrics[0]} on {section.set} by training set"
    parts_place = inside(section.place, "parts")
    shown = table(columns, rows, 2, caption, parts_place)
    words = "Seen: examples of a kind that occurs in the training data. Unseen: all other examples. Δ is seen minus unseen."
    return block("Seen and unseen", shown + source_line(*places), words)


def training_title(section: Section, name: str) -> str:
    """The title of a column: a training set without the name of the task's dataset."""
    return name.removeprefix(f"{section.dataset}:") or "all training data"


def find_seen_number(section: Section, i: int | None, where: str) -> Known | None:
    """A number of the system in row `i`, None where there is no such row or number.

    `where` is one of `WHERE`. The number is from the analysis of the system where there is one, since that has an interval
    of the difference; else from the scores of its runs.
    """
    if i is None:
        return None
    row, metric = section.rows[i], section.metrics[0]
    if where == WHOLE:
        place = inside(section.place, "rows", i, "metrics", metric)
        return (row.metrics[metric], place) if metric in row.metrics else None
    one, place = find_seen_slices(section, row.system).get(
        SEEN if where == GAP else where, (None, "")
    )
    if one is None:
        return find_seen_scores(section, row.system, where)
    unit = row.metrics[metric].unit if metric in row.metrics else "percent"
    value = make_number(one, unit, place)
    if where == GAP:
        value = replace(
            value,
            value=one.difference,
            low=one.difference_low,
            high=one.difference_high,
            sd=None,
            source=inside(place, "difference"),
        )
    return value, place


def find_seen_slices(section: Section, system: str) -> dict[str, tuple[Slice | None, str]]:
    """The figures of both in the analysis of a system."""
    for part in section.analysed:
        if part.system == system:
            place = inside(part.source, "slices")
            each = enumerate(part.analysis.slices)
            return {one.where: (one, inside(place, i)) for i, one in each if one.by == PART}
    return {}


def find_seen_scores(section: Section, system: str, where: str) -> Known | None:
    """The scores of the runs, where nothing was analysed; a difference of two of them has no interval then."""
    own = {}
    for i, part in enumerate(section.parts):
        is_first_metric = (part.set, part.metric) == (section.set, section.metrics[0])
        if is_first_metric and part.system == system:
            own[part.where] = (part.number, inside(section.place, "parts", i))
    if where != GAP:
        return own.get(where)
    if SEEN not in own or UNSEEN not in own:
        return None
    seen, seen_place = own[SEEN]
    unseen, unseen_place = own[UNSEEN]
    if seen.value is None or unseen.value is None:
        return None
    place = f"{seen_place} {unseen_place}"
    return Number(value=seen.value - unseen.value, unit=seen.unit, source=place), place


def further_sets(section: Section, digits: int) -> str:
    """Other sets and parts of sets: rows and columns are systems and figures, the fewer as columns.

    What `seen_unseen` shows already is left out.
    """
    scored_apart = systems_with_parts(section)
    cells = {}
    sources = []
    for i, part in enumerate(section.parts):
        is_above = part.system in scored_apart and part.where in (SEEN, UNSEEN)
        if is_above and (part.set, part.metric) == (section.set, section.metrics[0]):
            continue
        place = inside(section.place, "parts", i)
        # What the report itself found over several seeds is in its own file.
        spread = inside(place, "number") if part.number.sd is not None else ""
        key = (f"{part.set} {part.where}".strip(), part.metric)
        cells[key, part.system] = TableCell(number(part.number, digits, spread=spread), place)
        sources.append(part.number.source)
    if not cells:
        return ""
    keys = list(dict.fromkeys(key for key, _ in cells))
    scored = {system for _, system in cells}
    systems = [row.system for row in section.rows if row.system in scored]
    rows: list[Row] = []
    if len(systems) > len(keys):
        columns = ["system", *(f"{name} {metric}" for name, metric in keys)]
        for system in systems:
            rows.append([system, *(cells.get((key, system), "") for key in keys)])
        right = 1
    else:
        columns = ["set", "metric", *systems]
        for key in keys:
            rows.append([*key, *(cells.get((key, system), "") for system in systems)])
        right = 2
    place = inside(section.place, "parts")
    shown = table(columns, rows, right, "Further sets", place)
    words = f"Further sets and parts: {len(keys)} figure{'' if len(keys) == 1 else 's'}"
    return detail(words, shown + source_line(*sources, place), place)


def system_pictures(section: Section) -> Iterator[tuple[str, str]]:
    """The plots of each system, confusion and calibration, under the names of their files."""
    for part in section.analysed:
        plots = {"confusion": confusion_plot(section, part), "calibration": reliability_plot(part)}
        for kind, picture in plots.items():
            if picture:
                yield f"{slug(section.name)}-{kind}-{slug(part.system)}", picture


def rows_with_gaps(sections: Sequence[Section]) -> Iterator[tuple[Section, SystemRow]]:
    """Systems that did not answer everything."""
    for section in sections:
        for row in section.rows:
            if row.unanswered:
                yield section, row
