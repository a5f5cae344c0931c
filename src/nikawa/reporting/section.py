"""Further sets of a task and parts of sets; what was seen in training against what was not, as in the JAMP paper's Table 8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from msgspec.structs import replace

from nikawa.reporting.fragments import (
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
from nikawa.reporting.page_across import across, suspects
from nikawa.reporting.page_data import Number, PairRow, PartRow, Section, SystemRow
from nikawa.reporting.page_labels import confusion_plot, confusions, cross
from nikawa.reporting.page_more import calibration, dot, figure, overlap, reliability_plot
from nikawa.reporting.page_settings import settings
from nikawa.reporting.page_slices import slices
from nikawa.reporting.plots import SHEET_HEIGHT, Line, dot_plot, within
from nikawa.reporting.sources import inside, source, source_line
from nikawa.reporting.training import training
from nikawa.stats.results import Slice

WHOLE, SEEN, UNSEEN, GAP = WHERE = ("all", "seen", "unseen", "Δ")
PART = "part"
"""What an analysis calls slices by what was seen in training."""

Known = tuple[Number, str]
"""A number and where it is kept with its spread."""
Grid = dict[str, dict[str, list[Known | None]]]
"""Model to `all`, `seen`, `unseen` and `Δ` to a number for each training set."""


def parted(found: Section) -> list[str]:
    """Systems that were told on what they had seen in training and on what they had not, in the order of rows."""
    told = {p.system for p in found.parts if p.set == found.set and p.where in (SEEN, UNSEEN)}
    return [row.system for row in found.rows if row.system in told]


def seen_grid(found: Section) -> tuple[list[str], Grid]:
    """What was learned from (empty: all training data), and the numbers; nothing where no system was told so."""
    names = parted(found)
    models = dict.fromkeys(row.model for row in found.rows if row.system in names)
    rows = {
        (r.model, r.trained): i
        for i, r in enumerate(found.rows)
        if r.model in models and not r.varied
    }
    trained = sorted({key[1] for key in rows}, key=lambda name: (name != "", name))
    return trained, {
        model: {
            where: [_known(found, rows.get((model, t)), where) for t in trained] for where in WHERE
        }
        for model in models
    }


def seen_unseen(found: Section, digits: int) -> str:
    """Rows: models, each with all, seen, unseen and the difference; columns: what was learned from."""
    trained, grid = seen_grid(found)
    if not grid:
        return ""
    body: list[list[str | Cell]] = [
        [
            "" if where != WHOLE else text(model),
            where,
            *(_shown(one, where, digits) for one in line),
        ]
        for model, lines in grid.items()
        for where, line in lines.items()
    ]
    columns = ["model", "", *(text(learned(found, name)) for name in trained)]
    title = f"{found.metrics[0]} on {found.set} by what was learned from"
    shown = table(columns, body, range(2, len(columns)), title, inside(found.place, "parts"))
    words = "Examples whose kind was in the training data (seen) and others (unseen); Δ is seen less unseen."
    places = (
        one[1]
        for lines in grid.values()
        for line in lines.values()
        for one in line
        if one is not None
    )
    return f'<div class="block"><h3>Seen and unseen</h3><p class="soft">{words}</p>{shown}{source_line(*places)}</div>'


def learned(found: Section, name: str) -> str:
    """What a column is called: a training set without the name of the task's own dataset."""
    return name.removeprefix(f"{found.dataset}:") or "all training data"


def _shown(one: Known | None, where: str, digits: int) -> str | Cell:
    if one is None:
        return ""
    found, place = one
    count = (
        f'<span class="ci"{source(place)}>n {found.n:,}</span>' if where in (SEEN, UNSEEN) else ""
    )
    return Cell(number(found, digits, spread=place) + count, place)


def _known(found: Section, i: int | None, where: str) -> Known | None:
    if i is None:
        return None
    row, metric = found.rows[i], found.metrics[0]
    if where == WHOLE:
        kept = inside(found.place, "rows", i, "metrics", metric)
        return (row.metrics[metric], kept) if metric in row.metrics else None
    one, place = _slices(found, row.system).get(SEEN if where == GAP else where, (None, ""))
    if one is None:
        return _stored(found, row.system, where)
    unit = row.metrics[metric].unit if metric in row.metrics else "percent"
    value = Number(
        value=one.value, low=one.low, high=one.high, sd=one.sd, unit=unit, n=one.n, source=place
    )
    if where == GAP:
        ends = {"low": one.difference_low, "high": one.difference_high}
        value = replace(
            value, value=one.difference, sd=None, source=inside(place, "difference"), **ends
        )
    return value, place


def _slices(found: Section, system: str) -> dict[str, tuple[Slice | None, str]]:
    """What the analysis of a system says of the two."""
    part = next((one for one in found.analysed if one.system == system), None)
    each = enumerate(part.analysis.slices if part is not None else ())
    place = inside(part.source, "slices") if part is not None else ""
    return {one.where: (one, inside(place, i)) for i, one in each if one.by == PART}


def _stored(found: Section, system: str, where: str) -> Known | None:
    """The scores of the runs, where nothing was analysed; a difference of two of them has no interval then."""
    own = {
        p.where: (p.number, inside(found.place, "parts", i))
        for i, p in enumerate(found.parts)
        if _is(p, found, system)
    }
    if where != GAP:
        return own.get(where)
    if SEEN not in own or UNSEEN not in own:
        return None
    (first, one), (second, two) = own[SEEN], own[UNSEEN]
    if first.value is None or second.value is None:
        return None
    place = f"{one} {two}"
    return Number(value=first.value - second.value, unit=first.unit, source=place), place


def _is(part: PartRow, found: Section, system: str) -> bool:
    return (part.set, part.metric, part.system) == (found.set, found.metrics[0], system)


def _cell(found: Number, place: str, digits: int) -> Cell:
    """A number; what the report itself found over several seeds is in its own file."""
    spread = inside(place, "number") if found.sd is not None else ""
    return Cell(number(found, digits, spread=spread), place)


def further(found: Section, digits: int) -> str:
    """Other sets and parts of sets: rows and columns are systems and figures, the fewer as columns."""
    own = set(parted(found))
    kept = [
        (i, p)
        for i, p in enumerate(found.parts)
        if not (
            p.system in own
            and p.set == found.set
            and p.where in (SEEN, UNSEEN)
            and p.metric == found.metrics[0]
        )
    ]
    if not kept:
        return ""
    cells = {
        ((p.set, p.where, p.metric), p.system): _cell(
            p.number, inside(found.place, "parts", i), digits
        )
        for i, p in kept
    }
    keys = list(dict.fromkeys(key for key, _ in cells))
    systems = [row.system for row in found.rows if any(row.system == system for _, system in cells)]
    place = inside(found.place, "parts")
    if len(systems) > len(keys):
        names = ["system", *(text(f"{_named(*key[:2])} {key[2]}") for key in keys)]
        rows = [[text(s), *(cells.get((key, s), "") for key in keys)] for s in systems]
        shown = table(names, rows, range(1, len(names)), "Further sets", place)
    else:
        names = ["set", "metric", *map(text, systems)]
        rows = [
            [text(_named(*k[:2])), text(k[2]), *(cells.get((k, s), "") for s in systems)]
            for k in keys
        ]
        shown = table(names, rows, range(2, len(names)), "Further sets", place)
    sources = source_line(*(p.number.source for _, p in kept), place)
    figures = f"{len(keys)} figure{'' if len(keys) == 1 else 's'}"
    return detail(f"Further sets and parts: {figures}", shown + sources, place)


def _named(name: str, where: str) -> str:
    return f"{name} {where}".strip()


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
    return f'<div class="block">{main}{source_line(scores_of(found), place)}{figure(score_plot(found, SHEET_HEIGHT), found, "scores", place)}</div>'


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
    return dot_plot(lines, title, within(rows[0][1].unit, metric), tallest=tallest)


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
