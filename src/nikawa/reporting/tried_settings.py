"""The settings that were tried before a result was told: found in the runs that chose among them, shown as a table and a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from nikawa.datasets.custom import dataset_title, is_custom
from nikawa.errors import BadInput
from nikawa.io.json import encode_json
from nikawa.metrics import metrics
from nikawa.models import find_model
from nikawa.records import Score, Task
from nikawa.reporting.fragments import (
    Row,
    TableCell,
    block,
    detail,
    figure,
    number,
    small,
    soft,
    table,
)
from nikawa.reporting.markup import html, source
from nikawa.reporting.page_data import Chooser, Number, Page, Section, SettingChoices, TriedSettings
from nikawa.reporting.plots import AmountScale, Dot, PlotCurve, draw_curves, possible_values
from nikawa.reporting.scores import stored_number
from nikawa.reporting.sources import inside, source_line
from nikawa.reporting.systems import TaskRuns, relative_address, title_system
from nikawa.runs.data import SELECTION_SET, task_of
from nikawa.runs.records import RunSpec, SetScores
from nikawa.runs.store import SCORES, StoredRun

MAX_ROWS_SHOWN = 12
"""Rows above which the table is to be opened first."""
PLOT_WIDTH, PLOT_HEIGHT = 560.0, 170.0
MIN_SPREAD_FOR_LOG = 10
"""Times the least value from which on values lie on a logarithmic axis."""
OTHERS = "other-settings"
"""The section of tasks that have no result."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Choosing:
    """One run that chose: what it is, its score, and where that is."""

    spec: RunSpec
    folder: str
    set: SetScores
    score: Score
    place: str


@dataclass(frozen=True)
class TriedBySystem:
    """The runs of one system, by what they tried."""

    name: str
    by: dict[bytes, list[Choosing]]
    defaults: Settings

    @property
    def runs(self) -> list[Choosing]:
        """All of them, whatever they tried."""
        return [run for runs in self.by.values() for run in runs]

    @property
    def spec(self) -> RunSpec:
        """Of its first run; only settings and seed of the others differ."""
        return self.runs[0].spec

    def settings(self, key: bytes) -> Settings:
        """Settings as they were, with those that were left as they come."""
        return {**self.defaults, **self.by[key][0].spec.settings}

    def varying(self) -> set[str]:
        """Names of settings with several values."""
        each = [self.settings(key) for key in self.by]
        names = {name for settings in each for name in settings}
        return {n for n in names if len({encode_json(settings.get(n)) for settings in each}) > 1}


def find_choices(
    parts: Sequence[TaskRuns], runs: Iterable[StoredRun], out: Path | None = None
) -> tuple[dict[str, SettingChoices], tuple[SettingChoices, ...]]:
    """What was tried by the name of each task that has results; then that of other tasks."""
    groups: dict[tuple[str, ...], list[Choosing]] = {}
    for run in (read_choosing_run(stored, out) for stored in runs):
        homes = tuple(part.name for part in find_sections(parts, run.spec))
        groups.setdefault(homes or ("", run.spec.task, task_of(run.spec).dataset), []).append(run)
    by_name = {part.name: part for part in parts}
    own = {
        n: collect_choices(found, by_name[n])
        for homes, found in groups.items()
        if homes[0]
        for n in homes
    }
    return own, tuple(
        collect_choices(found) for homes, found in sorted(groups.items()) if not homes[0]
    )


def read_choosing_run(stored: StoredRun, out: Path | None) -> Choosing:
    """A run with its score under the first metric of the task, held against its marker."""
    stored.check()
    spec, folder = stored.spec, relative_address(out, stored.path)
    metric = task_of(spec).metrics[0]
    for i, scores in enumerate(stored.scores()):
        for j, score in enumerate(scores.scores):
            if (scores.set, score.where, score.metric, score.mode) == (
                SELECTION_SET,
                "",
                metric,
                "official",
            ):
                return Choosing(spec, folder, scores, score, f"{folder}/{SCORES}#/{i}/scores/{j}")
    raise BadInput(
        f"has no {metric} on the set that settings are chosen on",
        file=stored.path / SCORES,
        cure="score the run again",
    )


def find_sections(parts: Sequence[TaskRuns], spec: RunSpec) -> list[TaskRuns]:
    """The sections of a task; those of the same evaluated set where there are such."""
    task = task_of(spec)
    same = [p for p in parts if (p.task.name, p.task.dataset) == (task.name, task.dataset)]
    told = spec.protocol.evaluate[0]
    return [p for p in same if any(s.spec.protocol.evaluate[0] == told for s in p.systems)] or same


def collect_choices(runs: Sequence[Choosing], part: TaskRuns | None = None) -> SettingChoices:
    """What runs of one task tried: a row a combination of settings, a column a system."""
    columns = group_by_system(runs)
    names = sorted({name for column in columns for name in column.varying()})
    names = names or sorted(
        {name for column in columns for run in column.runs for name in run.spec.settings}
    )
    task = task_of(runs[0].spec)
    lower = metrics()[task.metrics[0]].better == "lower"
    rows: dict[bytes, TriedSettings] = {}
    for column in columns:
        for key, tried in list_tried(column, names, _reported(column, part), lower).items():
            before = rows.get(key)
            rows[key] = tried if before is None else join_systems(before, tried)
    return SettingChoices(
        task=task.name,
        metric=task.metrics[0],
        names=tuple(names),
        systems=tuple(describe_chooser(column, task) for column in columns),
        tried=tuple(sorted(rows.values(), key=lambda tried: order_settings(tried.settings, names))),
    )


def group_by_system(runs: Sequence[Choosing]) -> list[TriedBySystem]:
    """Runs by everything but settings and seed; names tell them apart."""
    groups: dict[bytes, dict[bytes, list[Choosing]]] = {}
    for run in sorted(runs, key=lambda run: run.spec.seed):
        spec = run.spec
        key = encode_json((spec.model, spec.variation, spec.protocol, spec.data))
        groups.setdefault(key, {}).setdefault(encode_json(spec.settings), []).append(run)
    specs = [next(iter(by.values()))[0].spec for by in groups.values()]
    names = [title_system(spec) for spec in specs]
    found = [
        TriedBySystem(
            name if names.count(name) == 1 else f"{name} [{replace(spec, settings={}).hash[:4]}]",
            by,
            find_defaults(spec),
        )
        for name, spec, by in zip(names, specs, groups.values(), strict=True)
    ]
    return sorted(found, key=lambda column: column.name)


def find_defaults(spec: RunSpec) -> Settings:
    """Settings of a model as they come; a run keeps those alone that depart from them."""
    try:
        kind = find_model(spec.predictor)[0]
    except BadInput:  # a model that is not here any more
        return {}
    fields = msgspec.structs.fields(kind.settings) if kind.settings else ()
    given = {f.encode_name: f.default for f in fields if f.default is not msgspec.NODEFAULT}
    plain: Settings = msgspec.to_builtins(
        {n: v for n, v in given.items() if n not in kind.runtime_settings}
    )
    return plain


def _reported(column: TriedBySystem, part: TaskRuns | None) -> set[bytes]:
    """Settings of results on the page of the same model, trained the same way."""
    systems = (*part.systems, *part.shares) if part is not None else ()
    own = (column.spec.model, column.spec.variation)
    return {
        encode_json(s.spec.settings) for s in systems if (s.spec.model, s.spec.variation) == own
    }


def list_tried(
    column: TriedBySystem, names: Sequence[str], reported: set[bytes], lower: bool
) -> dict[bytes, TriedSettings]:
    """The combinations that one system tried, by their settings; the best is marked as chosen."""
    keys = sorted(column.by, key=lambda key: order_settings(column.settings(key), names))
    numbers = {
        key: stored_number([(run.score, run.place) for run in column.by[key]]) for key in keys
    }
    best = find_best(numbers, reported, lower)
    found: dict[bytes, TriedSettings] = {}
    for key, score in numbers.items():
        whole, given = column.settings(key), column.by[key][0].spec.settings
        settings = {name: whole[name] for name in names if name in whole}
        found[_key(settings)] = TriedSettings(
            settings=settings,
            defaults={name: (column.name,) for name in settings if name not in given},
            scores={column.name: score},
            seeds={column.name: len(column.by[key])},
            chosen=(column.name,) if key == best else (),
            reported=(column.name,) if key in reported else (),
            diverged=(column.name,) if any(run.set.diverged for run in column.by[key]) else (),
        )
    return found


def _key(settings: Settings) -> bytes:
    """The same for the same settings, whether a number has a point or not."""
    return encode_json({name: float(v) if _is_number(v) else v for name, v in settings.items()})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_best(numbers: dict[bytes, Number], reported: set[bytes], lower: bool) -> bytes | None:
    """The settings with the best mean, as `nikawa run` chooses; of equals those of the results, else the first of the table."""
    known = {key: number.value for key, number in numbers.items() if number.value is not None}
    if not known:
        return None
    best = min(known.values()) if lower else max(known.values())
    equals = [key for key, value in known.items() if value == best]
    return next((key for key in equals if key in reported), equals[0])


def join_systems(one: TriedSettings, two: TriedSettings) -> TriedSettings:
    """The same settings of two systems."""
    return replace(
        one,
        defaults={
            name: one.defaults.get(name, ()) + two.defaults.get(name, ())
            for name in {**one.defaults, **two.defaults}
        },
        scores=one.scores | two.scores,
        seeds=one.seeds | two.seeds,
        chosen=one.chosen + two.chosen,
        reported=one.reported + two.reported,
        diverged=one.diverged + two.diverged,
    )


def describe_chooser(column: TriedBySystem, task: Task) -> Chooser:
    """On which examples, and with which seeds, a system chose."""
    protocol, runs = column.spec.protocol, column.runs
    name = protocol.select
    name = (
        name.replace(task.dataset, dataset_title(task.dataset)) if is_custom(task.dataset) else name
    )
    return Chooser(
        system=column.name,
        set=name,
        kept_out=protocol.select_share > 0,
        n=runs[0].set.n,
        seeds=tuple(sorted({run.spec.seed for run in runs})),
    )


def order_settings(settings: Settings, names: Sequence[str]) -> list[tuple[int, float, str]]:
    """Numbers by size, then words; what a model does not have last."""
    found = []
    for name in names:
        value: Any = settings.get(name)
        kind = 0 if _is_number(value) else 1 if name in settings else 2
        found.append((kind, 0.0 if kind else float(value), str(value)))
    return found


def settings_block(section: Section, digits: int) -> str:
    """What was tried for a task; empty where nothing was."""
    if section.choices is None:
        return ""
    return block("Settings", show_choices(section.choices, section.name, "settings", digits))


def other_settings(page: Page, digits: int) -> list[Markup]:
    """What was tried for tasks that have no result here."""
    return [
        block(one.task, show_choices(one, one.task, other_plot_kind(i), digits))
        for i, one in enumerate(page.choices)
    ]


def other_plot_kind(i: int) -> str:
    """The kind of the plot of a task that has no result."""
    return f"{OTHERS}-{i}"


def show_choices(found: SettingChoices, name: str, kind: str, digits: int) -> Markup:
    """Words, table and plot of what was tried; a long table is to be opened first."""
    sources = (one.source for tried in found.tried for one in tried.scores.values())
    shown = show_settings_table(found, digits) + source_line(*sources, found.place)
    tried = inside(found.place, "tried")
    if len(found.tried) > MAX_ROWS_SHOWN:
        shown = detail(f"All {len(found.tried)} settings as a table", shown, tried)
    words = html('<p class="soft"{}>{}</p>', source(found.place), describe_choices(found))
    return words + shown + figure(settings_plot(found), name, kind, tried)


def describe_choices(found: SettingChoices) -> str:
    """What the table of settings shows, in words."""
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


def show_settings_table(found: SettingChoices, digits: int) -> Markup:
    """A row a combination of settings, a column a system."""
    heads = [
        html("{}{}", one.system, small(chosen_on(one), inside(found.place, "systems", i)))
        for i, one in enumerate(found.systems)
    ]
    columns = [*(found.names or ["settings"]), *heads]
    rows: list[Row] = []
    for i, tried in enumerate(found.tried):
        place = inside(found.place, "tried", i)
        cells = [show_setting(tried, name, place) for name in found.names] or ["the defaults"]
        rows.append([*cells, *(show_score(tried, one, place, digits) for one in found.systems)])
    right = range(max(1, len(found.names)), len(columns))
    return table(columns, rows, right, "Settings that were tried", found.place)


def chosen_on(one: Chooser) -> str:
    """Which examples settings were chosen on."""
    n = f"{one.n:,} example{'' if one.n == 1 else 's'}"
    return f"{n} kept out of {one.set}" if one.kept_out else f"{one.set}, {n}"


def show_setting(tried: TriedSettings, name: str, place: str) -> str | TableCell:
    """The value of one setting, and which systems left it as it comes."""
    if name not in tried.settings:
        return soft("·", "no model that tried this has it")
    shown: str = html("{}", format_setting(tried.settings[name]))
    systems = tried.defaults.get(name, ())
    if systems:  # it was left as it comes, by all systems or by some
        is_by_all = set(systems) == set(tried.scores)
        shown += small("default" if is_by_all else f"default of {', '.join(systems)}")
    return TableCell(shown, inside(place, "settings", name))


def format_setting(value: Any) -> str:
    """The value of a setting as it is printed."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-").replace("e+0", "e+")
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_score(tried: TriedSettings, one: Chooser, place: str, digits: int) -> str | TableCell:
    """The score of a system with these settings; says where it diverged, has fewer seeds, or is not what was chosen."""
    system = one.system
    if system not in tried.scores:
        return soft("·", "not tried")
    is_best, own = system in tried.chosen, inside(place, "scores", system)
    if system in tried.diverged:
        return TableCell(soft("diverged"), own)
    shown = number(tried.scores[system], digits, best=is_best, spread=own)
    if tried.seeds[system] < len(one.seeds):
        words = f"{tried.seeds[system]} of {len(one.seeds)} seeds"
        shown += small(words, inside(place, "seeds", system))
    if system in tried.reported and not is_best:
        shown += small("results are with this")
    return TableCell(shown, own)


def settings_plot(found: SettingChoices) -> str:
    """Scores by the value of the setting, where one is varied and it is a number; what was chosen has a ring."""
    values: list[Any] = [tried.settings.get(name) for tried in found.tried for name in found.names]
    known = [float(value) for value in values if _is_number(value)]
    words = len(known) < len([value for value in values if value is not None])
    if len(found.names) != 1 or len(set(known)) < 2 or words:
        return ""
    name, first = found.names[0], next(iter(found.tried[0].scores.values()))
    log = min(known) > 0 and (
        "learning_rate" in name or max(known) >= MIN_SPREAD_FOR_LOG * min(known)
    )
    scale = AmountScale(name, log=log, shown=format_setting, wide=PLOT_WIDTH, tall=PLOT_HEIGHT)
    paths = [PlotCurve(one.system, list_points(found, name, one.system)) for one in found.systems]
    title = f"{found.metric} of {found.task} by {name}, where settings are chosen"
    return draw_curves(
        [p for p in paths if p.points], title, scale, possible_values(first.unit, found.metric)
    )


def list_points(found: SettingChoices, name: str, system: str) -> Sequence[tuple[float, Dot]]:
    """The scores of a system by the value of the one setting that varies."""
    points = []
    for i, tried in enumerate(found.tried):
        value, one = tried.settings.get(name), tried.scores.get(system)
        if one is None or one.value is None or value is None:
            continue
        ends = (one.low, one.high) if one.sd is None else (one.value - one.sd, one.value + one.sd)
        chosen = system in tried.chosen
        note = f"{system}, {name} {format_setting(value)}: {one.value:.6g}{', chosen' if chosen else ''}"
        place = inside(found.place, "tried", i, "scores", system)
        points.append((float(value), Dot(one.value, *ends, note=note, source=place, ring=chosen)))
    return points
