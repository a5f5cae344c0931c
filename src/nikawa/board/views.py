"""What a visitor may see, as typed values: pages, JSON, CSV and the static export are all made from a `BoardView`.

A view holds only what `reveal` shows: rounded values, coarse p, no true score, no system that is private. A page can therefore
show all of a view. Scores are in the unit of the task's official scorer; pages print percent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta, timezone
from math import isnan
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from nikawa.board.records import Link, Role, ShownComparison, SystemKind
from nikawa.metrics import metrics
from nikawa.metrics.units import unit_in_table, value_in_table
from nikawa.records import Record, Unit
from nikawa.stats.results import SIGNIFICANCE_LEVEL

Better = Literal["higher", "lower"]
Order = Literal["best", "worst"]


class MetricView(Record, frozen=True, kw_only=True):
    """A metric of a task."""

    name: str
    better: Better
    low: float
    high: float
    """The least and the greatest possible value, as the metric declares them: a fraction, or a plain number."""


class SplitView(Record, frozen=True, kw_only=True):
    """A split that is scored, and how many items it has."""

    name: str
    role: Role
    items: int


class SliceView(Record, frozen=True, kw_only=True):
    """A part of the items that the owner shows scores of, such as `tag` = `negation`."""

    where: str
    """As in scores: `tag=negation`."""
    by: str
    value: str
    items: int


class TaskView(Record, frozen=True, kw_only=True):
    """A task: a table of its own."""

    name: str
    title: str
    dataset: str
    language: str
    kind: str
    licence: str = ""
    homepage: str = ""
    version: str = ""
    citation: str = ""
    metrics: tuple[MetricView, ...]
    """The main metric comes first."""
    splits: tuple[SplitView, ...]
    """The one that the overview shows comes first: a final split as soon as it has results, else a public one."""
    slices: tuple[SliceView, ...] = ()

    def metric(self, name: str) -> MetricView:
        """One of the metrics."""
        return next(metric for metric in self.metrics if metric.name == name)


class ScoreView(Record, frozen=True, kw_only=True):
    """A score as it is shown; without a value, `reason` says why."""

    task: str
    split: str
    metric: str
    where: str = ""
    """The slice; empty for all items."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    """Over seeds."""
    n: int | None = None
    unit: str = "percent"
    seeds: tuple[int, ...] = ()
    scored: float | None = None
    """When the answers came, in seconds since 1970."""
    reason: str = ""
    """Why there is no value: a code, for which the pages have a sentence."""


class RankView(Record, frozen=True, kw_only=True):
    """The rank of a system on a split of a task."""

    task: str
    split: str
    rank: int
    """1 + the number of systems that are significantly better."""
    letters: str = ""
    """Systems that share a letter do not differ significantly."""


class EntryView(Record, frozen=True, kw_only=True):
    """A system on the board."""

    id: str
    name: str
    """Empty while the system is anonymous."""
    by: str = ""
    """Who submitted it; empty while anonymous."""
    kind: SystemKind
    description: str = ""
    """Markdown."""
    links: tuple[Link, ...] = ()
    licence: str = ""
    parameters: str = ""
    training_data: str = ""
    provenance: dict[str, Any] = msgspec.field(default_factory=dict)
    """Where an entry of the owner came from."""
    published: float | None = None
    withdrawn: float | None = None
    """When it was withdrawn; it is in no table then, but its address stays."""
    scores: tuple[ScoreView, ...] = ()
    ranks: tuple[RankView, ...] = ()

    def score(self, task: str, split: str, metric: str, where: str = "") -> ScoreView | None:
        """A score of the system, None where it is missing."""
        wanted = (task, split, metric, where)
        for score in self.scores:
            if (score.task, score.split, score.metric, score.where) == wanted:
                return score
        return None

    def rank(self, task: str, split: str) -> RankView | None:
        """Its rank on a split of a task."""
        return next((r for r in self.ranks if (r.task, r.split) == (task, split)), None)


class ComparisonView(Record, frozen=True, kw_only=True):
    """Two systems under the main metric of a task: only the interval of b minus a, and a coarse p."""

    task: str
    split: str
    metric: str
    a: ScoreView
    b: ScoreView
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: str = ""
    """Such as `< 0.01`; never more than what is shown."""
    is_significant: bool = False
    reason: str = ""

    @property
    def b_is_better(self) -> bool:
        """Whether the second one has the better value."""
        return (self.difference or 0.0) > 0


class BoardView(Record, frozen=True, kw_only=True):
    """A board as a visitor sees it at a moment."""

    title: str
    name: str
    language: str
    address: str = ""
    """Where it is on the web; empty where the owner has not said."""
    contact: str = ""
    opens: float | None = None
    closes: float | None = None
    reveals: float | None = None
    """When the names of anonymous systems are shown."""
    utc_offset: int = 0
    """The zone in which pages show moments, in minutes east of UTC: that of the dates in board.toml."""
    phase: Literal["before", "open", "closed"] = "open"
    rule: str = ""
    """How scores are shown: `ladder`, `rounded` or `exact`."""
    who: str = ""
    per_day: int | None = None
    in_all: int | None = None
    tasks: tuple[TaskView, ...] = ()
    entries: tuple[EntryView, ...] = ()

    @property
    def zone(self) -> timezone:
        """The zone in which pages show moments."""
        return find_zone(self.utc_offset)

    def task(self, name: str) -> TaskView | None:
        """A task by its name."""
        return next((task for task in self.tasks if task.name == name), None)

    def entry(self, id: str) -> EntryView | None:
        """A system by its public id; a withdrawn one is found, for its address stays."""
        return next((entry for entry in self.entries if entry.id == id), None)

    @property
    def shown(self) -> list[EntryView]:
        """The systems in tables: all but withdrawn ones."""
        return [entry for entry in self.entries if entry.withdrawn is None]


class ColumnView(Record, frozen=True, kw_only=True):
    """A column of scores: a metric over all items, or the main metric over a slice."""

    metric: MetricView
    where: str = ""
    name: str
    """The metric's name, or the value of the slice."""
    items: int | None = None
    """Of a slice."""

    @property
    def key(self) -> str:
        """What addresses call it."""
        return self.where or self.metric.name


class RowView(Record, frozen=True, kw_only=True):
    """A row of a task's table."""

    entry: EntryView
    rank: int | None
    scores: tuple[ScoreView | None, ...]
    """One per column; all of one split."""
    place: int = 0
    """In the order of the first column, which decides between equal values."""

    @property
    def main(self) -> ScoreView | None:
        """The score that the table is about."""
        return self.scores[0]


class TableView(Record, frozen=True, kw_only=True):
    """The table of a task on one split: by metric, or by slice."""

    task: TaskView
    split: SplitView
    by: str
    """What the columns slice by; empty: they are metrics."""
    columns: tuple[ColumnView, ...]
    rows: tuple[RowView, ...]
    sort: str
    order: Order


class OverviewRow(Record, frozen=True, kw_only=True):
    """A row of the overview: a cell per task."""

    entry: EntryView
    cells: tuple[tuple[ScoreView | None, RankView | None], ...]
    mean: float | None
    """Mean of the main metrics in percent; None unless there is a value for each."""
    place: int = 0
    """In the order of the means, which decides between equal values."""


SORTS = ("rank", "name", "parameters", "date")
"""What a table can be sorted by, in addition to its metrics."""


def find_zone(utc_offset: int) -> timezone:
    """A zone by its minutes east of UTC."""
    return timezone(timedelta(minutes=utc_offset))


def describe_metrics(names: Iterable[str]) -> tuple[MetricView, ...]:
    """What the metrics of a task declare; one that is not installed here counts as a share."""
    declared = metrics()
    described = []
    for name in names:
        if name in declared:
            metric = declared[name]
            view = MetricView(name=name, better=metric.better, low=metric.low, high=metric.high)
        else:
            view = MetricView(name=name, better="higher", low=0.0, high=1.0)
        described.append(view)
    return tuple(described)


def rank_systems(
    values: Mapping[str, float], letters: Mapping[str, str], better: Better = "higher"
) -> dict[str, int]:
    """The rank of each system: 1 + the number of systems that are significantly better than it.

    A system is significantly better than another if its value is better and they share no letter. No system ranks before one with a
    better value, which could happen where its own interval is wide.

    >>> rank_systems({"a": 90.0, "b": 88.0, "c": 85.0}, {"a": "a", "b": "ab", "c": "b"})
    {'a': 1, 'b': 1, 'c': 2}
    >>> rank_systems({"a": 90.0, "b": 88.0, "c": 85.0}, {"a": "a", "b": "b", "c": "ab"})
    {'a': 1, 'b': 2, 'c': 2}
    """
    sign = 1 if better == "higher" else -1
    groups = {one: split_letters(letters.get(one, "")) for one in values}
    ranks = dict.fromkeys(values, 1)
    for one, value in sorted(values.items(), key=lambda item: -sign * item[1]):
        ahead = [other for other, rival in values.items() if sign * (rival - value) > 0]
        distinct = sum(not groups[one] & groups[other] for other in ahead)
        ranks[one] = max([1 + distinct, *(ranks[other] for other in ahead)])
    return ranks


def split_letters(letters: str) -> set[str]:
    """The groups of a system: letters, and numbers in brackets where there are more groups than letters.

    >>> sorted(split_letters("ab(52)"))
    ['(52)', 'a', 'b']
    """
    return set(re.findall(r"[A-Za-z]|\(\d+\)", letters))


def view_comparison(
    a: ScoreView, b: ScoreView, shown: ShownComparison | None, reason: str
) -> ComparisonView:
    """A comparison of two main scores as pages show it; `reason` is why it is missing."""
    view = ComparisonView(task=a.task, split=a.split, metric=a.metric, a=a, b=b, reason=reason)
    if shown is None or shown.difference is None:
        return replace(view, reason=(shown.reason if shown else None) or reason)
    return replace(
        view,
        difference=shown.difference,
        low=shown.low,
        high=shown.high,
        p=shown.p,
        is_significant=is_significant(shown.p),
        reason="",
    )


def is_significant(p: str) -> bool:
    """Whether a shown p, a class such as `<0.01` or a number, is below 5%.

    >>> [is_significant(p) for p in ("<0.05", "<0.0001", "0.0312", "≥0.05", "0.0500", "")]
    [True, True, True, False, False, False]
    """
    if p.startswith("<"):
        return float(p[1:]) <= SIGNIFICANCE_LEVEL
    return p[:1].isdigit() and float(p) < SIGNIFICANCE_LEVEL


def list_columns(task: TaskView, by: str = "") -> tuple[ColumnView, ...]:
    """The columns of a table: the metrics, or with `by` the main metric over all items and over each slice."""
    if not by:
        return tuple(ColumnView(metric=metric, name=metric.name) for metric in task.metrics)
    main = task.metrics[0]
    slices = [one for one in task.slices if one.by == by]
    return (
        ColumnView(metric=main, name=main.name),
        *(ColumnView(metric=main, where=s.where, name=s.value, items=s.items) for s in slices),
    )


def make_table(
    board: BoardView,
    task: TaskView,
    split: SplitView,
    *,
    by: str = "",
    sort: str = "",
    order: Order = "best",
) -> TableView:
    """The table of a task; systems without any result on the split are not in it.

    It is sorted by a column (the first one unless `sort` says otherwise) or by one of `SORTS`; rows without a value come last in
    either order.
    """
    columns = list_columns(task, by)
    rows = []
    sizes: dict[str, int] = {}
    for entry in board.shown:
        scores = tuple(
            entry.score(task.name, split.name, column.metric.name, column.where)
            for column in columns
        )
        if all(score is None for score in scores):
            continue
        sizes |= {score.where: score.n for score in scores if score and score.where and score.n}
        rank = entry.rank(task.name, split.name)
        rows.append(RowView(entry=entry, rank=rank.rank if rank else None, scores=scores))
    columns = tuple(
        replace(column, items=sizes.get(column.where, column.items)) for column in columns
    )
    chosen = sort if sort in (*(column.key for column in columns), *SORTS) else columns[0].key
    rows = sort_rows(rows, columns, columns[0].key, "best")
    rows = [replace(row, place=place) for place, row in enumerate(rows)]
    return TableView(
        task=task,
        split=split,
        by=by,
        columns=columns,
        rows=tuple(sort_rows(rows, columns, chosen, order)),
        sort=chosen,
        order=order,
    )


def sort_rows(
    rows: Sequence[RowView], columns: Sequence[ColumnView], sort: str, order: Order
) -> list[RowView]:
    """Rows by a column or one of `SORTS`, the best (or first, or newest) at the top; those without a value are last."""
    known = [(key, row) for row in rows if (key := sort_key(row, columns, sort)) is not None]
    unknown = [row for row in rows if sort_key(row, columns, sort) is None]
    known.sort(key=lambda pair: pair[0], reverse=order == "worst")
    return [row for _, row in known] + unknown


def sort_key(row: RowView, columns: Sequence[ColumnView], sort: str) -> tuple[float, str] | None:
    """What a row is sorted by, smallest first; None where it has no value."""
    if sort == "name":
        return (0.0, row.entry.name.casefold()) if row.entry.name else None
    if sort == "rank":
        number = None if row.rank is None else float(row.rank)
    elif sort == "parameters":
        count = parse_parameters(row.entry.parameters)
        number = None if count is None else -count
    elif sort == "date":
        number = None if row.main is None or row.main.scored is None else -row.main.scored
    else:
        place = next(i for i, column in enumerate(columns) if column.key == sort)
        score = row.scores[place]
        number = None if score is None else score.value
        if number is not None and columns[place].metric.better == "higher":
            number = -number
    return None if number is None or isnan(number) else (number, "")


def make_overview(board: BoardView) -> list[OverviewRow]:
    """A row per system with its main score on each task's first split; the best mean first, then the rows that miss the fewest values."""
    rows = []
    for entry in board.shown:
        cells = []
        for task in board.tasks:
            split = task.splits[0].name
            score = entry.score(task.name, split, task.metrics[0].name)
            cells.append((score, entry.rank(task.name, split)))
        if any(score is not None for score, _ in cells):
            rows.append(OverviewRow(entry=entry, cells=tuple(cells), mean=_mean(cells)))
    rows.sort(key=_place_in_overview)
    return [replace(row, place=place) for place, row in enumerate(rows)]


def _place_in_overview(row: OverviewRow) -> tuple[int, float]:
    """How many tasks have no value, then the mean of those that have one."""
    values = [score.value for score, _ in row.cells if score and score.value is not None]
    if row.mean is not None:
        return (0, -row.mean)
    mean = sum(values) / len(values) if values else 0.0
    return (1 + len(row.cells) - len(values), -mean)


def sort_overview(
    board: BoardView, rows: Sequence[OverviewRow], sort: str, order: Order
) -> list[OverviewRow]:
    """The rows of the overview by `name`, `mean` or a task; those without a value are last in either order."""
    places = {task.name: i for i, task in enumerate(board.tasks)}

    def key(row: OverviewRow) -> tuple[float, str] | None:
        if sort == "name":
            return (0.0, row.entry.name.casefold()) if row.entry.name else None
        if sort == "mean":
            return None if row.mean is None else (-row.mean, "")
        score = row.cells[places[sort]][0]
        if score is None or score.value is None:
            return None
        is_cost = board.tasks[places[sort]].metrics[0].better == "lower"
        return (score.value if is_cost else -score.value, "")

    known = [(value, row) for row in rows if (value := key(row)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=order == "worst")
    return [row for _, row in known] + [row for row in rows if key(row) is None]


def _mean(cells: Sequence[tuple[ScoreView | None, RankView | None]]) -> float | None:
    """The mean in percent; None where a value is missing, or is no percent."""
    values = []
    for score, _ in cells:
        if score is None or score.value is None:
            return None
        value = value_in_table(score.value, score.metric, cast(Unit, score.unit))
        if value is None or unit_in_table(score.metric, cast(Unit, score.unit)) != "percent":
            return None
        values.append(value)
    return sum(values) / len(values) if values else None


def parse_parameters(text: str) -> float | None:
    """The number in a count of parameters, None where it is missing.

    >>> parse_parameters("110M"), parse_parameters("1.3 B"), parse_parameters("7,000"), parse_parameters("unknown")
    (110000000.0, 1300000000.0, 7000.0, None)
    """
    digits = text.strip().replace(",", "")
    scale = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}.get(digits[-1:].lower(), 1.0)
    try:
        number = float(digits[:-1] if scale > 1 else digits)
    except ValueError:
        return None
    return None if isnan(number) else number * scale
