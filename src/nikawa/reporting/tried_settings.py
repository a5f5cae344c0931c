"""The settings that were tried before the result: read from the runs that chose among them, shown as a table and a plot.

A sweep of `nikawa run` trains a model with several settings and scores each on examples that no result uses; the
settings with the best mean over seeds are those of the result. `find_choices` collects what was tried, and marks what was
chosen by the same rule; `settings_block` shows it in the section of its task, `other_settings` that of tasks that have no
result in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from nikawa.datasets.custom import is_custom
from nikawa.datasets.task_lookup import dataset_title
from nikawa.errors import BadInput
from nikawa.io.json import encode_json
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
from nikawa.reporting.page_data import Chooser, Page, Section, SettingChoices, TriedSettings
from nikawa.reporting.plots import AmountScale, Dot, PlotCurve, draw_curves, possible_values
from nikawa.reporting.scores import stored_number
from nikawa.reporting.sources import inside, source_line
from nikawa.reporting.systems import TaskRuns, relative_address, title_system
from nikawa.runs.data import SELECTION_SET, task_of
from nikawa.runs.records import RunSpec, SetScores
from nikawa.runs.store import SCORES, StoredRun
from nikawa.runs.summary import SelectionScores, find_best_settings

MAX_ROWS_SHOWN = 12
"""Rows above which the table is to be opened first."""
PLOT_WIDTH, PLOT_HEIGHT = 560.0, 170.0
MIN_SPREAD_FOR_LOG = 10
"""Ratio of the largest to the smallest value from which on the axis is logarithmic."""
MAX_RATE = 0.01
"""Values up to which a setting is a rate, such as a learning rate: these are tried in multiples, so on a logarithmic axis."""
OTHERS = "other-settings"
"""The section of tasks that have no result."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class SelectionRun:
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
    by: dict[bytes, list[SelectionRun]]
    defaults: Settings

    @property
    def runs(self) -> list[SelectionRun]:
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
        values: dict[str, set[bytes]] = {}
        combinations = [self.settings(key) for key in self.by]
        for name in {name for settings in combinations for name in settings}:
            values[name] = {encode_json(settings.get(name)) for settings in combinations}
        return {name for name, each in values.items() if len(each) > 1}


def find_choices(
    tasks: Sequence[TaskRuns], runs: Iterable[StoredRun], out: Path | None = None
) -> tuple[dict[str, SettingChoices], tuple[SettingChoices, ...]]:
    """What was tried, by the name of each task of `tasks`; then what was tried for tasks that have no result.

    `out` is the folder of the report, which addresses are seen from.
    """
    groups: dict[tuple[str, ...], list[SelectionRun]] = {}
    for stored in runs:
        run = read_choosing_run(stored, out)
        names = tuple(task.name for task in find_sections(tasks, run.spec))
        key = names or ("", run.spec.task, task_of(run.spec).dataset)
        groups.setdefault(key, []).append(run)
    by_name = {task.name: task for task in tasks}
    choices: dict[str, SettingChoices] = {}
    others = []
    for key, group in sorted(groups.items()):
        if not key[0]:
            others.append(collect_choices(group))
            continue
        for name in key:
            choices[name] = collect_choices(group, by_name[name])
    return choices, tuple(others)


def read_choosing_run(stored: StoredRun, out: Path | None) -> SelectionRun:
    """A run with its score under the first metric of the task, checked against its marker."""
    stored.check()
    spec, folder = stored.spec, relative_address(out, stored.path)
    metric = task_of(spec).metrics[0]
    key = (SELECTION_SET, "", metric, "official")
    for i, scores in enumerate(stored.scores()):
        for j, score in enumerate(scores.scores):
            if (scores.set, score.where, score.metric, score.mode) == key:
                place = f"{folder}/{SCORES}#/{i}/scores/{j}"
                return SelectionRun(spec, folder, scores, score, place)
    raise BadInput(
        f"has no {metric} on the set that chooses settings",
        file=stored.path / SCORES,
        cure="run the same command again",
    )


def find_sections(tasks: Sequence[TaskRuns], spec: RunSpec) -> list[TaskRuns]:
    """The sections of a run's task; those of the same evaluated set where there are such."""
    task = task_of(spec)
    key = (task.name, task.dataset)
    same_task = [each for each in tasks if (each.task.name, each.task.dataset) == key]
    same_set = []
    for each in same_task:
        sets = {system.spec.protocol.evaluate[0] for system in each.systems}
        if spec.protocol.evaluate[0] in sets:
            same_set.append(each)
    return same_set or same_task


def collect_choices(
    runs: Sequence[SelectionRun], task_runs: TaskRuns | None = None
) -> SettingChoices:
    """The settings that runs of one task tried: one row per combination, one column per system.

    `task_runs` are the results of the task on the page: combinations that they were made with are marked.
    """
    columns = group_by_system(runs)
    names = {name for column in columns for name in column.varying()}
    if not names:
        names = {name for run in runs for name in run.spec.settings}
    ordered = sorted(names)
    task = task_of(runs[0].spec)
    metric = task.metrics[0]
    systems = (*task_runs.systems, *task_runs.shares) if task_runs is not None else ()
    rows: dict[bytes, TriedSettings] = {}
    for column in columns:
        own = (column.spec.model, column.spec.variation)
        reported = set[bytes]()  # settings of the same model's results, trained the same way
        for system in systems:
            if (system.spec.model, system.spec.variation) == own:
                reported.add(encode_json(system.spec.settings))
        for key, tried in list_tried(column, ordered, reported, metric).items():
            before = rows.get(key)
            rows[key] = tried if before is None else join_systems(before, tried)
    return SettingChoices(
        task=task.name,
        metric=metric,
        names=tuple(ordered),
        systems=tuple(describe_chooser(column, task) for column in columns),
        tried=tuple(sorted(rows.values(), key=lambda row: order_settings(row.settings, ordered))),
    )


def group_by_system(runs: Sequence[SelectionRun]) -> list[TriedBySystem]:
    """Runs by everything but settings and seed; with unique names."""
    groups: dict[bytes, dict[bytes, list[SelectionRun]]] = {}
    for run in sorted(runs, key=lambda run: run.spec.seed):
        spec = run.spec
        key = encode_json((spec.model, spec.variation, spec.protocol, spec.data))
        group = groups.setdefault(key, {})
        group.setdefault(encode_json(spec.settings), []).append(run)
    specs = [next(iter(group.values()))[0].spec for group in groups.values()]
    names = [title_system(spec) for spec in specs]
    columns = []
    for name, spec, group in zip(names, specs, groups.values(), strict=True):
        tag = f" [{replace(spec, settings={}).hash[:4]}]" if names.count(name) > 1 else ""
        columns.append(TriedBySystem(name + tag, group, find_defaults(spec)))
    return sorted(columns, key=lambda column: column.name)


def find_defaults(spec: RunSpec) -> Settings:
    """Settings of a model as they come; a run keeps those alone that depart from them."""
    try:
        kind = find_model(spec.predictor)[0]
    except BadInput:  # a model that is not here any more
        return {}
    defaults = {}
    for name, value in kind.default_settings.items():
        if value is not msgspec.NODEFAULT and name not in kind.runtime_settings:
            defaults[name] = value
    plain: Settings = msgspec.to_builtins(defaults)
    return plain


def list_tried(
    column: TriedBySystem, names: Sequence[str], reported: set[bytes], metric: str
) -> dict[bytes, TriedSettings]:
    """The combinations that one system tried, by their settings; the best is marked as chosen.

    The best is found as `nikawa run` finds it, by the mean under `metric`; of equals it is the one in `reported`, the settings of
    results on the page, else the first of the table.
    """
    keys = sorted(column.by, key=lambda key: order_settings(column.settings(key), names))
    numbers = {}
    for key in keys:
        numbers[key] = stored_number([(run.score, run.place) for run in column.by[key]])
    equals = find_equal_best(column, keys, metric)
    best = next((key for key in equals if key in reported), equals[0] if equals else None)
    system = (column.name,)
    rows: dict[bytes, TriedSettings] = {}
    for key, score in numbers.items():
        runs = column.by[key]
        whole = column.settings(key)
        settings = {name: whole[name] for name in names if name in whole}
        # The same key for the same settings, whether a number has a point or not.
        alike = {n: float(v) if _is_number(v) else v for n, v in settings.items()}
        left_alone = [name for name in settings if name not in runs[0].spec.settings]
        rows[encode_json(alike)] = TriedSettings(
            settings=settings,
            defaults=dict.fromkeys(left_alone, system),
            scores={column.name: score},
            seeds={column.name: len(runs)},
            chosen=system if key == best else (),
            reported=system if key in reported else (),
            diverged=system if any(run.set.diverged for run in runs) else (),
        )
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_equal_best(column: TriedBySystem, keys: Sequence[bytes], metric: str) -> list[bytes]:
    """The settings that `nikawa run` may have chosen: those with the best mean, in the order of `keys`."""
    tried = []
    for key in keys:
        runs = column.by[key]
        values = [run.score.value for run in runs]
        tried.append(SelectionScores(values, any(run.set.diverged for run in runs)))
    best = find_best_settings(tried, metric)
    return [] if best is None else [keys[place] for place in best[1]]


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
    protocol = column.spec.protocol
    name = protocol.select
    if is_custom(task.dataset):
        name = name.replace(task.dataset, dataset_title(task.dataset))
    return Chooser(
        system=column.name,
        set=name,
        kept_out=protocol.select_share > 0,
        n=column.runs[0].set.n,
        seeds=tuple(sorted({run.spec.seed for run in column.runs})),
    )


def order_settings(settings: Settings, names: Sequence[str]) -> list[tuple[int, float, str]]:
    """Numbers by size, then words; what a model does not have last."""
    keys = []
    for name in names:
        value: Any = settings.get(name)
        if _is_number(value):
            keys.append((0, float(value), str(value)))
        else:
            keys.append((1 if name in settings else 2, 0.0, str(value)))
    return keys


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


def show_choices(choices: SettingChoices, name: str, kind: str, digits: int) -> Markup:
    """Words, table and plot of what was tried; a long table is to be opened first."""
    sources = (one.source for tried in choices.tried for one in tried.scores.values())
    shown = show_settings_table(choices, digits) + source_line(*sources, choices.place)
    tried = inside(choices.place, "tried")
    if len(choices.tried) > MAX_ROWS_SHOWN:
        shown = detail(f"All {len(choices.tried)} settings as a table", shown, tried)
    plot = settings_plot(choices)
    description = describe_choices(choices, has_plot=bool(plot))
    words = html('<p class="soft"{}>{}</p>', source(choices.place), description)
    return words + shown + figure(plot, name, kind, tried)


def describe_choices(choices: SettingChoices, *, has_plot: bool) -> str:
    """What the table of settings, and the plot below it, show, in words."""
    seeds = max(len(one.seeds) for one in choices.systems)
    words = f"{choices.metric.capitalize()} with one seed"
    if seeds > 1:
        words = f"The mean {choices.metric} over {seeds} seeds"
    words += " on the examples used to choose settings. No result is reported on these examples."
    if any(tried.chosen for tried in choices.tried):
        words += " The chosen setting is bold."
    if len(choices.tried) < 2:
        words += " No other settings finished."
    if seeds > 1 and has_plot:
        words += " The plot shows the standard deviation over seeds."
    return words


def show_settings_table(choices: SettingChoices, digits: int) -> Markup:
    """One row per combination of settings, one column per system."""
    heads = [
        html("{}{}", one.system, small(chosen_on(one), inside(choices.place, "systems", i)))
        for i, one in enumerate(choices.systems)
    ]
    columns = [*(choices.names or ["settings"]), *heads]
    rows: list[Row] = []
    for i, tried in enumerate(choices.tried):
        place = inside(choices.place, "tried", i)
        cells = [show_setting(tried, name, place) for name in choices.names] or ["the defaults"]
        rows.append([*cells, *(show_score(tried, one, place, digits) for one in choices.systems)])
    return table(
        columns, rows, max(1, len(choices.names)), "Settings that were tried", choices.place
    )


def chosen_on(one: Chooser) -> str:
    """Which examples settings were chosen on."""
    n = f"{one.n:,} example{'' if one.n == 1 else 's'}"
    return f"{n} held out from {one.set}" if one.kept_out else f"{one.set}, {n}"


def show_setting(tried: TriedSettings, name: str, place: str) -> str | TableCell:
    """The value of one setting, and which systems left it as it comes."""
    if name not in tried.settings:
        return soft("·", "no model with this setting was tried")
    shown: str = html("{}", format_setting(tried.settings[name]))
    systems = tried.defaults.get(name, ())
    if systems:  # it was left as it comes, by all systems or by some
        is_by_all = set(systems) == set(tried.scores)
        shown += small("default" if is_by_all else f"default of {', '.join(systems)}")
    return TableCell(shown, inside(place, "settings", name))


def format_setting(value: Any) -> str:
    """The value of a setting as it is printed.

    >>> format_setting(2e-05), format_setting(None), format_setting(True)
    ('2e-5', 'none', 'true')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-").replace("e+0", "e+")
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_score(tried: TriedSettings, one: Chooser, place: str, digits: int) -> str | TableCell:
    """The score of a system with these settings; marked if it diverged, has fewer seeds, or was not chosen."""
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
        shown += small("used for the results")
    return TableCell(shown, own)


def settings_plot(choices: SettingChoices) -> str:
    """Scores by the value of the setting, where one is varied and it is a number; what was chosen has a ring."""
    if len(choices.names) != 1:
        return ""
    name = choices.names[0]
    values: list[Any] = [tried.settings.get(name) for tried in choices.tried]
    known = [float(value) for value in values if _is_number(value)]
    has_words = any(value is not None and not _is_number(value) for value in values)
    if len(set(known)) < 2 or has_words:
        return ""
    first = next(iter(choices.tried[0].scores.values()))
    is_wide = max(known) >= MIN_SPREAD_FOR_LOG * min(known)
    log = min(known) > 0 and (is_wide or max(known) <= MAX_RATE)
    scale = AmountScale(name, log=log, shown=format_setting, wide=PLOT_WIDTH, tall=PLOT_HEIGHT)
    curves = []
    for one in choices.systems:
        points = list_points(choices, name, one.system)
        if points:
            curves.append(PlotCurve(one.system, points))
    title = f"{choices.metric} of {choices.task} by {name}, on the examples that choose settings"
    return draw_curves(curves, title, scale, possible_values(first.unit, choices.metric))


def list_points(choices: SettingChoices, name: str, system: str) -> Sequence[tuple[float, Dot]]:
    """The scores of a system by the value of the one setting that varies."""
    points = []
    for i, tried in enumerate(choices.tried):
        value, one = tried.settings.get(name), tried.scores.get(system)
        if one is None or one.value is None or value is None:
            continue
        low, high = one.low, one.high
        if one.sd is not None:
            low, high = one.value - one.sd, one.value + one.sd
        is_chosen = system in tried.chosen
        note = f"{system}, {name} {format_setting(value)}: {one.value:.6g}"
        if is_chosen:
            note += ", chosen"
        place = inside(choices.place, "tried", i, "scores", system)
        dot = Dot(one.value, low, high, note=note, source=place, ring=is_chosen)
        points.append((float(value), dot))
    return points
