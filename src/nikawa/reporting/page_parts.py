"""Further sets of a task and parts of sets; what was seen in training against what was not, as in the JAMP paper's Table 8."""

from __future__ import annotations

from msgspec.structs import replace

from nikawa.reporting.page_data import Number, PartRow, Section
from nikawa.reporting.page_source import inside, source, source_line
from nikawa.reporting.page_words import Cell, detail, number, table, text
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
