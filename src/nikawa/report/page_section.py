"""One task of a report: scores, differences, confusion, slices, calibration, curves, examples, the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.report import page_plots as plots
from nikawa.report.page_data import Analysed, Number, PairRow, Section, SystemRow
from nikawa.report.page_more import across, calibration, dot, figure, overlap, reliability_plot, suspects
from nikawa.report.page_plots import Line, within
from nikawa.report.page_slices import slices
from nikawa.report.page_words import detail, figures, note, number, p_value, slug, source, table, text

KINDS = {
    "text": "classification", "inference": "inference", "similarity": "similarity", "choice": "multiple choice",
    "reading": "reading", "tagging": "tagging", "relation": "relations", "tree": "dependency trees",
    "dialogue": "dialogue states",
}  # fmt: skip
LANGUAGES = {"ja": "Japanese", "ko": "Korean", "en": "English"}
MOST_LABELS = 12


def section(found: Section, digits: int) -> str:
    """The section of one task; its examples are filled in by the script."""
    name = slug(found.name)
    body = "".join(_parts(found, digits))
    return f'<section class="task" id="{name}" aria-labelledby="h-{name}">{body}</section>'


def _parts(found: Section, digits: int) -> Iterator[str]:
    yield _heading(found)
    yield _scores(found, digits)
    yield _pairs(found.pairs, digits)
    yield _further(found, digits)
    yield _confusions(found)
    yield slices(found, digits)
    yield _cross(found.analysed, digits)
    yield calibration(found.analysed)
    yield overlap(found.analysed, digits)
    yield from across(found, digits)
    yield suspects(found.suspects, found.across)
    yield _browser(found)
    if found.findings:
        yield '<div class="block"><h3>The dataset</h3>' + "".join(map(note, found.findings)) + "</div>"


def _heading(found: Section) -> str:
    facts = [
        LANGUAGES.get(found.language, found.language),
        KINDS.get(found.kind, found.kind),
        f"{found.set}, {found.n:,} examples",
    ]
    mark = f' <span class="mark" title="{text(found.protocol_why)}">{text(found.protocol)}</span>' if found.protocol else ""  # fmt: skip
    head = f'<h2 id="h-{slug(found.name)}">{text(found.name)}</h2>'
    title = f"{text(found.title)} · " if found.title and found.title != found.name else ""
    return f'<header>{head}<p class="facts">{title}{text(" · ".join(facts))}{mark}</p></header>'


def best_of(rows: Sequence[SystemRow], metric: str, lower: bool) -> float | None:
    """The best value of a metric."""
    values = [row.metrics[metric].value for row in rows if metric in row.metrics]
    known = [value for value in values if value is not None]
    return (min(known) if lower else max(known)) if known else None


def is_best(found: Section, row: SystemRow, metric: str) -> bool:
    """Whether a system has the best value; where all have the same none is called best."""
    values = {r.metrics[metric].value for r in found.rows if metric in r.metrics} - {None}
    best = best_of(found.rows, metric, metric in found.lower_is_better)
    return len(values) > 1 and metric in row.metrics and row.metrics[metric].value == best


def _scores(found: Section, digits: int) -> str:
    rows = []
    for row in found.rows:
        cells = [
            number(row.metrics[m], digits, ties=row.ties.get(m, ""), best=is_best(found, row, m))
            if m in row.metrics
            else ""
            for m in found.metrics
        ]
        rows.append([text(row.system), *cells, _seeds(row), _unanswered(row)])
    lost = any(row.unanswered for row in found.rows)
    columns = ["system", *map(text, found.metrics), "seeds", *(["unanswered"] if lost else [])]
    shown = [row if lost else row[:-1] for row in rows]
    main = table(columns, shown, range(1, len(columns)), f"Scores on {found.set}")
    return f'<div class="block">{main}{figure(score_plot(found), found, "scores")}</div>'


def _seeds(row: SystemRow) -> str:
    return f"<span title='{text(', '.join(map(str, row.seeds)))}'>{len(row.seeds)}</span>"


def _unanswered(row: SystemRow) -> str:
    said = "; ".join(f"{why}: {count:,}" for why, count in row.unanswered.items())
    total = sum(row.unanswered.values())
    return f'<span title="{text(said)}">{total:,}</span>' if total else "0"


def score_plot(found: Section) -> str:
    """Systems on the axis of the first metric."""
    metric = found.metrics[0]
    rows = [row for row in found.rows if metric in row.metrics and row.metrics[metric].value is not None]
    if not rows:
        return ""
    lines = [Line(row.system, [dot(row.metrics[metric])]) for row in rows]
    unit = rows[0].metrics[metric].unit
    return plots.dot_plot(
        lines, f"{metric} of every system on {found.name}, 95% intervals", within(unit, metric)
    )


def _pairs(pairs: Sequence[PairRow], digits: int) -> str:
    if not pairs:
        return ""
    several = len({pair.metric for pair in pairs}) > 1
    rows = [
        [
            f"{text(pair.second)} <span class=soft>over</span> {text(pair.first)}",
            *([text(pair.metric)] if several else []),
            number(pair.difference, digits),
            p_value(pair.p_holm),
            figures(pair.smallest, pair.difference.unit, digits) if pair.smallest is not None else "",
            f"{pair.wins:,} / {pair.losses:,}",
        ]
        for pair in pairs
    ]
    names = ["pair", *(["metric"] if several else []), "difference", "p (Holm)", "detectable", "won / lost"]
    shown = table(names, rows, range(2 if several else 1, len(names)), "Differences between systems")
    sure = sum(pair.p_holm is not None and pair.p_holm < 0.05 for pair in pairs)
    return detail(f"Differences: {sure} of {len(pairs)} are significant at 5%", shown)


def _further(found: Section, digits: int) -> str:
    """Further sets and parts of sets: a row each, a column a system."""
    if not found.parts:
        return ""
    systems = [row.system for row in found.rows]
    cells = {(p.set, p.where, p.metric, p.system): p.number for p in found.parts}
    keys = list(dict.fromkeys(key[:3] for key in cells))
    rows = [
        [
            text(f"{name} {where}".strip()),
            text(metric),
            *(
                number(cells[name, where, metric, s], digits) if (name, where, metric, s) in cells else ""
                for s in systems
            ),
        ]
        for name, where, metric in keys
    ]
    shown = table(["set", "metric", *map(text, systems)], rows, range(2, len(systems) + 2), "Further sets")
    return detail(f"Further sets and parts: {len(keys)} figures", shown)


def confusion_plot(found: Section, part: Analysed) -> str:
    """Gold against answers; empty where there are no labels, or too many."""
    confusion = part.analysis.confusion
    if confusion is None or len(confusion.columns) > MOST_LABELS:
        return ""
    cells = [[confusion.counts[g].get(a, 0.0) for a in confusion.columns] for g in confusion.labels]
    title = f"Confusion of {part.system} on {found.name}"
    return plots.heat(confusion.labels, confusion.columns, cells, title)


def system_pictures(found: Section) -> Iterator[tuple[str, str]]:
    """The plots of each system under the names of their files."""
    for part in found.analysed:
        name = f"{slug(found.name)}-%s-{slug(part.system)}"
        for kind, picture in (
            ("confusion", confusion_plot(found, part)),
            ("calibration", reliability_plot(part)),
        ):
            if picture:
                yield name % kind, picture


def _confusions(found: Section) -> str:
    shown = []
    for part in found.analysed:
        picture = confusion_plot(found, part)
        if not picture:
            continue
        shown.append(
            f'<figure data-system="{text(part.system)}"{source(part.source)} class="heat">'
            f"<figcaption>{text(part.system)}</figcaption>{picture}</figure>"
        )
    if not shown:
        return ""
    words = "Rows are gold, columns answers; the shade is the share of the row. Choose a cell to see its examples."
    return f'<div class="block"><h3>Confusion</h3><p class="soft">{words}</p><div class="multiples">{"".join(shown)}</div>{_classes(found.analysed)}</div>'


def _classes(analysed: Sequence[Analysed]) -> str:
    """Precision, recall and F1 of each label."""
    rows = []
    for part in analysed:
        for one in part.analysis.confusion.classes if part.analysis.confusion is not None else ():
            cells = [
                number(
                    Number(
                        value=f.value, low=f.low, high=f.high, sd=f.sd, unit="fraction", source=part.source
                    ),
                    1,
                )
                for f in (one.precision, one.recall, one.f1)
            ]
            rows.append([text(part.system), text(one.label), f"{one.gold:,}", f"{one.answered:,.0f}", *cells])
    names = ["system", "label", "gold", "answered", "precision", "recall", "F1"]
    return (
        detail("Precision and recall of each label", table(names, rows, range(2, 7), "Labels"))
        if rows
        else ""
    )


def _cross(analysed: Sequence[Analysed], digits: int) -> str:
    """Gold label by similarity."""
    shown = []
    for part in analysed:
        cross = part.analysis.cross
        if cross is None:
            continue
        cells = {(c.label, c.bin): c for c in cross.cells}
        labels = [label for label in (*cross.labels, "") if any((label, b) in cells for b in cross.bins)]
        rows = [
            [
                text(label or "all"),
                *(_cross_cell(cells.get((label, b)), cross.unit, digits) for b in cross.bins),
            ]
            for label in labels
        ]
        names = ["gold", *map(text, cross.bins)]
        caption = f"{part.system}: {cross.metric} by gold label and similarity"
        shown.append(table(names, rows, range(1, len(names)), caption))
    return detail("Label by similarity", "".join(shown)) if shown else ""


def _cross_cell(cell: object, unit: str, digits: int) -> str:
    value, n = getattr(cell, "value", None), getattr(cell, "n", 0)
    if not n:
        return ""
    shown = "" if value is None else figures(value, unit, digits)
    return f'{shown}<span class="ci">{n:,}</span>'


def _browser(found: Section) -> str:
    name = slug(found.name)
    return (
        f'<div class="block examples"><h3>Examples</h3><div class="browser" data-items="items-{name}" data-task="{text(found.name)}">'
        '<p class="soft wait">The examples appear here with a script; it needs nothing from the network.</p></div></div>'
    )
