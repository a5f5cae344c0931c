"""The settings that were tried before a result was told: a table, and a plot where one number was varied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.reporting.fragments import Cell, detail, number, table, text
from nikawa.reporting.page_data import Choices, Chooser, Page, Section, Tried
from nikawa.reporting.page_more import Named, figure
from nikawa.reporting.plots import Dot, Path, Scale, curves, within
from nikawa.reporting.sources import inside, source, source_line

MANY = 12
"""Rows from which on the table is to be opened first."""
PLOT_WIDTH, PLOT_HEIGHT = 560.0, 170.0
SPREAD = 10
"""Times the least value from which on values lie on a logarithmic axis."""
OTHERS = "other-settings"
"""The section of tasks that have no result."""


def settings(found: Section, digits: int) -> str:
    """What was tried for a task; empty where nothing was."""
    if found.choices is None:
        return ""
    return f'<div class="block"><h3>Settings</h3>{_told(found.choices, found, "settings", digits)}</div>'


def other_settings(page: Page, digits: int) -> str:
    """What was tried for tasks that have no result here."""
    if not page.choices:
        return ""
    blocks = "".join(
        f'<div class="block"><h3>{text(one.task)}</h3>{_told(one, one, other(i), digits)}</div>'
        for i, one in enumerate(page.choices)
    )
    head = f'<header><h2 id="h-{OTHERS}">Settings of other tasks</h2><p class="facts">Chosen, but no result is here yet.</p></header>'
    return (
        f'<section class="task" id="{OTHERS}" aria-labelledby="h-{OTHERS}">{head}{blocks}</section>'
    )


def other(i: int) -> str:
    """The kind of the plot of a task that has no result."""
    return f"{OTHERS}-{i}"


def _told(found: Choices, name: Named, kind: str, digits: int) -> str:
    shown = _table(found, digits) + source_line(_sources(found), found.place)
    if len(found.tried) > MANY:
        shown = detail(
            f"All {len(found.tried)} settings as a table", shown, inside(found.place, "tried")
        )
    words = f'<p class="soft"{source(found.place)}>{text(_words(found))}</p>'
    return words + shown + figure(settings_plot(found), name, kind, inside(found.place, "tried"))


def _words(found: Choices) -> str:
    seeds = {len(one.seeds) for one in found.systems}
    mean = (
        f"The mean {found.metric} over {max(seeds)} seeds"
        if max(seeds) > 1
        else f"{found.metric.capitalize()} with one seed"
    )
    best = [one for tried in found.tried for one in tried.chosen]
    chosen = " Bold: what was chosen." if best else ""
    few = "" if len(found.tried) > 1 else " No other settings were run to the end."
    drawn = (
        " The plot has the standard deviation over seeds."
        if max(seeds) > 1 and settings_plot(found)
        else ""
    )
    return f"{mean} on the examples that settings are chosen on, which no result is told on.{chosen}{few}{drawn}"


def _sources(found: Choices) -> str:
    return " ".join(one.source for tried in found.tried for one in tried.scores.values())


def _table(found: Choices, digits: int) -> str:
    places = [inside(found.place, "systems", i) for i in range(len(found.systems))]
    heads = [_head(one, place) for one, place in zip(found.systems, places, strict=True)]
    columns = [*(map(text, found.names) if found.names else ["settings"]), *heads]
    rows = [_row(found, i, digits) for i in range(len(found.tried))]
    return table(
        columns,
        rows,
        range(max(1, len(found.names)), len(columns)),
        "Settings that were tried",
        found.place,
    )


def _head(one: Chooser, place: str) -> str:
    return f'{text(one.system)}<span class="ci"{source(place)}>{text(chosen_on(one))}</span>'


def chosen_on(one: Chooser) -> str:
    """Which examples settings were chosen on."""
    n = f"{one.n:,} example{'' if one.n == 1 else 's'}"
    return f"{n} kept out of {one.set}" if one.kept_out else f"{one.set}, {n}"


def _row(found: Choices, i: int, digits: int) -> list[str | Cell]:
    tried, place = found.tried[i], inside(found.place, "tried", i)
    cells: list[str | Cell] = [_setting(tried, name, place) for name in found.names] or [
        "the defaults"
    ]
    return [*cells, *(_score(tried, one, place, digits) for one in found.systems)]


def _setting(tried: Tried, name: str, place: str) -> str | Cell:
    if name not in tried.settings:
        return '<span class="soft" title="no model that tried this has it">·</span>'
    kept = _default(tried, name)
    shown = f'<span class="ci">{text(kept)}</span>' if kept else ""
    return Cell(text(said(tried.settings[name])) + shown, inside(place, "settings", name))


def _default(tried: Tried, name: str) -> str:
    """Whether a setting was left as it comes, and by whom where not by all."""
    systems = tried.defaults.get(name, ())
    return (
        ""
        if not systems
        else "default"
        if set(systems) == set(tried.scores)
        else f"default of {', '.join(systems)}"
    )


def said(value: Any) -> str:
    """The value of a setting as it is printed."""
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-").replace("e+0", "e+")
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _score(tried: Tried, one: Chooser, place: str, digits: int) -> str | Cell:
    system = one.system
    if system not in tried.scores:
        return '<span class="soft" title="not tried">·</span>'
    best, own = system in tried.chosen, inside(place, "scores", system)
    if system in tried.diverged:
        return Cell('<span class="soft">diverged</span>', own)
    shown = number(tried.scores[system], digits, best=best, spread=own)
    if tried.seeds[system] < len(one.seeds):
        kept = source(inside(place, "seeds", system))
        shown += f'<span class="ci"{kept}>{tried.seeds[system]} of {len(one.seeds)} seeds</span>'
    if system in tried.reported and not best:
        shown += '<span class="ci">results are with this</span>'
    return Cell(shown, own)


def settings_plot(found: Choices) -> str:
    """Scores by the value of the setting, where one is varied and it is a number; what was chosen has a ring."""
    values: list[Any] = [tried.settings.get(name) for tried in found.tried for name in found.names]
    known = [float(value) for value in values if _is_number(value)]
    words = len(known) < len([value for value in values if value is not None])
    if len(found.names) != 1 or len(set(known)) < 2 or words:
        return ""
    name, first = found.names[0], next(iter(found.tried[0].scores.values()))
    log = min(known) > 0 and ("learning_rate" in name or max(known) >= SPREAD * min(known))
    scale = Scale(name, log=log, shown=said, wide=PLOT_WIDTH, tall=PLOT_HEIGHT)
    paths = [Path(one.system, _points(found, name, one.system)) for one in found.systems]
    title = f"{found.metric} of {found.task} by {name}, where settings are chosen"
    return curves([p for p in paths if p.points], title, scale, within(first.unit, found.metric))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _points(found: Choices, name: str, system: str) -> Sequence[tuple[float, Dot]]:
    points = []
    for i, tried in enumerate(found.tried):
        value, one = tried.settings.get(name), tried.scores.get(system)
        if one is None or one.value is None or value is None:
            continue
        ends = (one.low, one.high) if one.sd is None else (one.value - one.sd, one.value + one.sd)
        chosen = system in tried.chosen
        note = f"{system}, {name} {said(value)}: {one.value:.6g}{', chosen' if chosen else ''}"
        place = inside(found.place, "tried", i, "scores", system)
        points.append((float(value), Dot(one.value, *ends, note=note, source=place, ring=chosen)))
    return points
