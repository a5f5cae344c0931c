"""One task of a report: scores, differences, confusion, slices, calibration, curves, settings, examples, the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from nikawa.reporting import page_plots as plots
from nikawa.reporting.page_across import across, suspects
from nikawa.reporting.page_data import PairRow, Section, SystemRow
from nikawa.reporting.page_labels import confusion_plot, confusions, cross
from nikawa.reporting.page_more import calibration, dot, figure, overlap, reliability_plot
from nikawa.reporting.page_parts import further, seen_unseen
from nikawa.reporting.page_plots import Line, within
from nikawa.reporting.page_settings import settings
from nikawa.reporting.page_sheets import SHEET
from nikawa.reporting.page_slices import slices
from nikawa.reporting.page_source import inside, source, source_line
from nikawa.reporting.page_training import training
from nikawa.reporting.page_words import (
    Cell,
    detail,
    figures,
    note,
    number,
    p_value,
    slug,
    table,
    text,
)

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
LANGUAGES = {"ja": "Japanese", "ko": "Korean", "en": "English"}


def section(found: Section, digits: int) -> str:
    """The section of one task; its examples are filled in by the script."""
    name = slug(found.name)
    body = "".join(_parts(found, digits))
    return f'<section class="task" id="{name}" aria-labelledby="h-{name}">{body}</section>'


def _parts(found: Section, digits: int) -> Iterator[str]:
    yield _heading(found)
    yield _scores(found, digits)
    yield _pairs(found, digits)
    yield seen_unseen(found, digits)
    yield further(found, digits)
    yield confusions(found)
    yield slices(found, digits)
    yield cross(found.analysed, digits)
    yield calibration(found.analysed)
    yield overlap(found.analysed, digits)
    yield from across(found, digits)
    yield settings(found, digits)
    yield training(found)
    yield suspects(found)
    yield _browser(found)
    if found.findings:
        notes = (
            note(one, inside(found.place, "findings", i)) for i, one in enumerate(found.findings)
        )
        yield f'<div class="block"><h3>The dataset</h3>{"".join(notes)}</div>'


def _heading(found: Section) -> str:
    facts = [
        text(LANGUAGES.get(found.language, found.language)),
        text(KINDS.get(found.kind, found.kind)),
        f"{text(found.set)}, <span{source(inside(found.place, 'n'))}>{found.n:,} examples</span>",
    ]
    kept = source(inside(found.place, "protocol"), found.protocol_why)
    mark = f' <span class="mark"{kept}>{text(found.protocol)}</span>' if found.protocol else ""
    head = f'<h2 id="h-{slug(found.name)}">{text(found.name)}</h2>'
    title = (
        f"<bdi>{text(found.title)}</bdi> · " if found.title and found.title != found.name else ""
    )
    return f'<header>{head}<p class="facts">{title}{" · ".join(facts)}{mark}</p></header>'


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


def score_cell(found: Section, number_of_row: int, metric: str, digits: int) -> Cell:
    """A score as it stands in a table: the value is from the runs; letters, and the interval over seeds, from here."""
    row = found.rows[number_of_row]
    one, own = row.metrics[metric], inside(found.place, "rows", number_of_row)
    here = inside(own, "metrics", metric) if len(row.runs) > 1 else ""
    best = is_best(found, row, metric)
    return Cell(number(one, digits, ties=row.ties.get(metric, ""), best=best, spread=here), own)


def _scores(found: Section, digits: int) -> str:
    rows = []
    for i, row in enumerate(found.rows):
        cells = [score_cell(found, i, m, digits) if m in row.metrics else "" for m in found.metrics]
        rows.append(
            [text(row.system), *cells, _seeds(found, i), Cell(answered(found, row), row.lost)]
        )
    lost = any(row.unanswered for row in found.rows)
    columns = ["system", *map(text, found.metrics), "seeds", *(["answered"] if lost else [])]
    shown = [row if lost else row[:-1] for row in rows]
    place = inside(found.place, "rows")
    main = table(columns, shown, range(1, len(columns)), f"Scores on {found.set}", place)
    return f'<div class="block">{main}{source_line(scores_of(found), place)}{figure(score_plot(found, SHEET), found, "scores", place)}</div>'


def scores_of(found: Section) -> str:
    """Where the scores of all systems are."""
    return " ".join(
        number.source for row in found.rows for number in row.metrics.values() if number.source
    )


def _seeds(found: Section, i: int) -> Cell:
    seeds = found.rows[i].seeds
    shown = f'<span title="{text(", ".join(map(str, seeds)))}">{len(seeds)}</span>'
    return Cell(shown, inside(found.place, "rows", i, "seeds"))


def answered_of(found: Section, row: SystemRow) -> str:
    """How many of how many items a system answered, over all its seeds."""
    asked = found.n * len(row.seeds)
    return f"{asked - sum(row.unanswered.values()):,} of {asked:,}"


def answered(found: Section, row: SystemRow, after: str = "") -> str:
    """The same with the reasons under the pointer."""
    said = "; ".join(f"{why}: {count:,}" for why, count in row.unanswered.items())
    title = f' title="not answered: {text(said)}"' if said else ""
    return f"<span{title}>{answered_of(found, row)}{after}</span>"


def score_plot(found: Section, tallest: float = inf) -> str:
    """Systems on the axis of the first metric."""
    metric = found.metrics[0]
    rows = [
        (row.system, row.metrics[metric], inside(found.place, "rows", i, "metrics", metric))
        for i, row in enumerate(found.rows)
        if metric in row.metrics and row.metrics[metric].value is not None
    ]
    if not rows:
        return ""
    lines = [
        Line(system, [dot(one, note=f"{system}: {one.value:.6g}", place=place)])
        for system, one, place in rows
    ]
    title = f"{metric} of every system on {found.name}, 95% intervals"
    return plots.dot_plot(lines, title, within(rows[0][1].unit, metric), tallest=tallest)


def _pairs(found: Section, digits: int) -> str:
    if not found.pairs:
        return ""
    several, place = len({pair.metric for pair in found.pairs}) > 1, inside(found.place, "pairs")
    rows = [_pair(pair, inside(place, i), several, digits) for i, pair in enumerate(found.pairs)]
    names = [
        "pair",
        *(["metric"] if several else []),
        "difference",
        "p\u00a0(Holm)",
        "detectable",
        "won\u00a0/\u00a0lost",
    ]
    shown = table(
        names, rows, range(2 if several else 1, len(names)), "Differences between systems", place
    )
    sure = sum(pair.p_holm is not None and pair.p_holm < 0.05 for pair in found.pairs)
    words = f"Differences: {sure} of {len(found.pairs)} are significant at 5%"
    return detail(words, shown + source_line(place), place)


def _pair(pair: PairRow, place: str, several: bool, digits: int) -> list[str | Cell]:
    least = (
        figures(pair.smallest, pair.difference.unit, digits) if pair.smallest is not None else ""
    )
    won = (
        f"{pair.wins:,} / {pair.losses:,}" if pair.wins or pair.losses else ""
    )  # an F1 has no items of its own
    return [
        f"{text(pair.second)} <span class=soft>over</span> {text(pair.first)}",
        *([text(pair.metric)] if several else []),
        Cell(number(pair.difference, digits), inside(place, "difference")),
        Cell(p_value(pair.p_holm), inside(place, "p_holm")),
        Cell(least, inside(place, "smallest")),
        Cell(won, place),
    ]


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


def _browser(found: Section) -> str:
    name = slug(found.name)
    return (
        f'<div class="block examples"><h3>Examples</h3><div class="browser" data-items="items-{name}" data-task="{text(found.name)}">'
        '<p class="soft wait">The examples appear here with a script; it needs nothing from the network.</p></div></div>'
    )
