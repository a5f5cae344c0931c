"""The pictures of a board, as SVG made on the server: an interval in each row of a table, and the scores over time.

Colours and lines are classes of the report's `base.css` and of `board.css`, so a picture follows dark mode and print. Every text is escaped.
A picture repeats what the table next to it says in numbers; screen readers get a summary of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import cast

from markupsafe import Markup

from nikawa.board.records import SystemKind
from nikawa.board.views import ComparisonView, MetricView, ScoreView
from nikawa.metrics.units import value_in_table
from nikawa.records import Unit
from nikawa.reporting.label_placement import Box, LabelledPoint, place_labels, text_width
from nikawa.reporting.markup import text
from nikawa.reporting.plots import NO_BOUND, SIZE, Axis, fit_axis, label, shorten

BAR_WIDTH, BAR_HEIGHT = 168.0, 22.0
BAR_MARGIN = 8.0
MIN_SYSTEMS_TO_CUT = 6
"""Systems from which on a low one may be off the axis."""
MIN_REACH = 3.0
BAR_REACH, HISTORY_REACH = 1.2, 3.0
MIN_WIRE_PIXELS = 12.0
"""Distance from which on a line leads from a point to its name."""
DAY = 86_400.0


@dataclass(frozen=True)
class HistorySize:
    """The size of the plot over time, and how much it names."""

    name: str
    width: float
    height: float
    most_names: int
    """Records that have their names next to them: the latest ones."""
    name_pixels: float
    most_dates: int

    @property
    def frame(self) -> Box:
        """Where points may be."""
        return Box(46, 14, self.width - 14, self.height - 34)


HISTORY_SIZES = (
    HistorySize("wide", 820.0, 320.0, 10, 190.0, 8),
    HistorySize("narrow", 350.0, 280.0, 4, 130.0, 4),
)
"""For screens and paper, and for phones: the style sheet shows one of them."""


def in_percent(score: ScoreView, value: float | None) -> float | None:
    """A value of a score as tables show it: in percent, unless its metric has none."""
    return value_in_table(value, score.metric, cast(Unit, score.unit))


def fit_scores(
    scores: Iterable[ScoreView | None], metric: MetricView, left: float, right: float
) -> Axis:
    """An axis that covers all values and intervals of a metric."""
    values: list[float | None] = []
    scale = 1.0
    for score in scores:
        if score is None or score.value is None:
            continue
        values += [in_percent(score, value) for value in (score.value, score.low, score.high)]
        if in_percent(score, 1.0) == 100.0 or score.unit == "percent":
            scale = 100.0
    most = NO_BOUND if metric.high > NO_BOUND else metric.high * scale
    axis = fit_axis(values, left, right, (metric.low * scale, most))
    if axis.high > axis.low:
        return axis
    return Axis(axis.low - 1.0, axis.high + 1.0, left, right)


def choose_focus(
    points: Sequence[tuple[SystemKind, ScoreView]], metric: MetricView, reach: float
) -> list[ScoreView]:
    """The scores that an axis must cover: those of systems, unless baselines and people are all there is.

    A baseline far below would press all intervals into dots. Of many systems, the tail is cut off: those further behind the
    median than `reach` times the way from the median to the best, or `MIN_REACH` intervals if that is more.
    """
    systems = [score for kind, score in points if kind in ("submission", "run")]
    chosen = systems or [score for _, score in points]
    if len(chosen) < MIN_SYSTEMS_TO_CUT:
        return chosen
    sign = -1.0 if metric.better == "lower" else 1.0

    def goodness(score: ScoreView) -> float:
        return sign * cast(float, score.value)

    ordered = sorted(chosen, key=goodness)
    median = goodness(ordered[len(ordered) // 2])
    widths = sorted((s.high or 0.0) - (s.low or 0.0) for s in chosen)
    room = max(reach * (goodness(ordered[-1]) - median), MIN_REACH * widths[len(widths) // 2])
    return [score for score in chosen if median - goodness(score) <= room]


def fit_bars(points: Sequence[tuple[SystemKind, ScoreView]], metric: MetricView) -> Axis:
    """The axis that the intervals of a table share."""
    return fit_scores(
        choose_focus(points, metric, BAR_REACH), metric, BAR_MARGIN, BAR_WIDTH - BAR_MARGIN
    )


def draw_bar(score: ScoreView, axis: Axis, kind: SystemKind, ticks: Sequence[float]) -> Markup:
    """The value and interval of a row, on the grid of its table; hidden from screen readers, which get the numbers."""
    value, low, high = (in_percent(score, one) for one in (score.value, score.low, score.high))
    middle = BAR_HEIGHT / 2
    parts = [f'<path class="rule" d="M{axis.at(t):.1f},0V{BAR_HEIGHT:.0f}"/>' for t in ticks]
    if value is not None and not axis.low <= value <= axis.high:
        parts.append(_draw_beyond(value < axis.low, middle, kind))
        return _picture(BAR_WIDTH, BAR_HEIGHT, parts, 'class="bar" aria-hidden="true"')
    if low is not None and high is not None:
        parts.append(
            f'<path class="interval k-{kind}" d="M{axis.at(low):.1f},{middle}H{axis.at(high):.1f}"/>'
        )
    if value is not None:
        parts.append(draw_mark(axis.at(value), middle, kind))
    return _picture(BAR_WIDTH, BAR_HEIGHT, parts, 'class="bar" aria-hidden="true"')


def _draw_beyond(is_left: bool, y: float, kind: SystemKind) -> str:
    """An arrow at the edge for a value that is off the axis."""
    x, way = (BAR_MARGIN, 1) if is_left else (BAR_WIDTH - BAR_MARGIN, -1)
    return f'<path class="beyond k-{kind}" d="M{x + 6 * way:.1f},{y - 4}L{x:.1f},{y}L{x + 6 * way:.1f},{y + 4}"/>'


def bar_ticks(axis: Axis) -> list[float]:
    """At most three round values above a table's intervals.

    >>> bar_ticks(Axis(0, 100, left=0, right=160))
    [0.0, 40.0, 80.0]
    """
    ticks = axis.ticks()
    return ticks[:: max(1, (len(ticks) - 1) // 2)][:3]


def draw_bar_scale(axis: Axis, ticks: Sequence[float]) -> Markup:
    """The scale above a table's intervals."""
    parts = []
    for tick in ticks:
        x = axis.at(tick)
        anchor = "middle"
        wide = text_width(f"{tick:g}", 12) / 2
        if x - wide < 0:
            x, anchor = 0.0, "start"
        elif x + wide > BAR_WIDTH:
            x, anchor = BAR_WIDTH, "end"
        parts.append(label(x, 12, f"{tick:g}", "soft", anchor))
    return _picture(BAR_WIDTH, 16, parts, 'class="bar" aria-hidden="true"')


def draw_mark(x: float, y: float, kind: SystemKind, note: str = "", is_record: bool = True) -> str:
    """The mark of a system by its kind: a dot, a hollow square for a baseline, a diamond for people."""
    hint = f"<title>{text(note)}</title>" if note else ""
    faint = "" if is_record else " faint"
    if kind == "human":
        shape = f"M{x:.1f},{y - 5.4:.1f}l5.4,5.4l-5.4,5.4l-5.4,-5.4Z"
    elif kind in ("baseline", "run"):
        shape = f"M{x - 3.7:.1f},{y - 3.7:.1f}h7.4v7.4h-7.4Z"
    else:
        shape = f"M{x - 3.9:.1f},{y:.1f}a3.9,3.9 0 1 0 7.8,0a3.9,3.9 0 1 0 -7.8,0Z"
    return f'<path class="mark-{kind}{faint}" d="{shape}">{hint}</path>'


@dataclass(frozen=True)
class HistoryPoint:
    """A system in the plot over time."""

    name: str
    kind: SystemKind
    at: float
    score: ScoreView
    note: str
    """Its name, date, value and interval, as the pointer shows them."""


def find_records(points: Sequence[HistoryPoint], metric: MetricView) -> list[HistoryPoint]:
    """The points that were the best when they came, in order; people are no record."""
    best: float | None = None
    records = []
    for point in sorted(points, key=lambda point: point.at):
        value = point.score.value
        if value is None or point.kind == "human":
            continue
        is_better = best is None or (value < best if metric.better == "lower" else value > best)
        if is_better:
            best = value
            records.append(point)
    return records


def fit_history(
    points: Sequence[HistoryPoint], metric: MetricView, bottom: float = 1.0, top: float = 0.0
) -> Axis:
    """The axis of scores over time, which covers people too."""
    systems = [(point.kind, point.score) for point in points if point.kind != "human"]
    covered = choose_focus(systems, metric, HISTORY_REACH)
    covered += [point.score for point in points if point.kind == "human"]
    return fit_scores(covered, metric, bottom, top)


def has_points_off_axis(points: Sequence[HistoryPoint], metric: MetricView) -> bool:
    """Whether scores are so far behind that the plot leaves them to the table."""
    up = fit_history(points, metric)
    return not all(is_on_axis(point, up) for point in points)


def draw_history(
    points: Sequence[HistoryPoint],
    metric: MetricView,
    title: str,
    words: Mapping[str, str],
    now: float,
    size: HistorySize,
) -> Markup:
    """Scores over time: each system with its interval, the best so far as steps, people as a line across.

    `words` has `human`, and `summary` for screen readers. Returns nothing where no point has a value.
    """
    shown = [point for point in points if point.score.value is not None]
    if not shown:
        return Markup("")
    frame = size.frame
    people = [point for point in shown if point.kind == "human"]
    systems = [point for point in shown if point.kind != "human"]
    times = [point.at for point in systems] or [now]
    across = _time_axis(min(times), min(max(now, *times), max(times) + 30 * DAY), frame)
    up = fit_history(shown, metric, frame.bottom, frame.top)
    systems = [point for point in systems if is_on_axis(point, up)]
    parts = [*_draw_grid(up, across, size)]
    taken = list[tuple[float, float]]()
    for point in people:
        y = up.at(cast(float, in_percent(point.score, point.score.value)))
        parts.append(f'<path class="human-line" d="M{frame.left:.1f},{y:.1f}H{frame.right:.1f}"/>')
        parts.append(label(frame.left + 4, y - 6, words["human"], "soft halo human"))
        taken += [(x, y) for x in _spread(frame.left, frame.right)]
        taken += [
            (frame.left + x, y - 10) for x in range(0, int(text_width(words["human"], SIZE)), 8)
        ]
    records = find_records(systems, metric)
    parts.append(_draw_steps(records, across, up, frame))
    for point in sorted(systems, key=lambda point: point in records):
        parts += _draw_point(point, across, up, point in records)
    taken += _sample_steps(records, across, up, frame)
    parts += _name_records(records[-size.most_names :], systems, across, up, size, taken)
    id = f"history-{size.name}"
    attributes = f'class="history {size.name}" role="img" aria-labelledby="{id} {id}-more"'
    head = f'<title id="{id}">{text(title)}</title><desc id="{id}-more">{text(words["summary"])}</desc>'
    return _picture(size.width, size.height, [head, *parts], attributes)


def is_on_axis(point: HistoryPoint, up: Axis) -> bool:
    """Whether a point is on the axis; one that is not stays in the table only."""
    value = in_percent(point.score, point.score.value)
    return value is not None and up.low <= value <= up.high


def _spread(left: float, right: float) -> Iterator[float]:
    """Places along a line, close enough that no name fits between."""
    x = left
    while x <= right:
        yield x
        x += 12.0


def _sample_steps(
    records: Sequence[HistoryPoint], across: Axis, up: Axis, frame: Box
) -> Iterator[tuple[float, float]]:
    """Points along the steps, which names must not cover."""
    ends = [across.at(point.at) for point in records[1:]] + [frame.right]
    for i, (point, end) in enumerate(zip(records, ends, strict=True)):
        y = up.at(cast(float, in_percent(point.score, point.score.value)))
        yield from ((x, y) for x in _spread(across.at(point.at), end))
        if i + 1 < len(records):
            after = records[i + 1].score
            top = up.at(cast(float, in_percent(after, after.value)))
            yield from ((end, height) for height in _spread(min(y, top), max(y, top)))


def _draw_grid(up: Axis, across: Axis, size: HistorySize) -> Iterator[str]:
    frame = size.frame
    for tick in up.ticks():
        y = up.at(tick)
        yield f'<path class="rule" d="M{frame.left:.1f},{y:.1f}H{frame.right:.1f}"/>'
        yield label(frame.left - 8, y + 4.5, f"{tick:g}", "soft", "end")
    for at, words in date_ticks(across.low, across.high, size.most_dates):
        x = across.at(at)
        yield f'<path class="rule" d="M{x:.1f},{frame.bottom:.1f}v5"/>'
        half = text_width(words, 12) / 2
        x = min(max(x, half), size.width - half)
        yield label(x, frame.bottom + 21, words, "soft", "middle")


def _draw_steps(records: Sequence[HistoryPoint], across: Axis, up: Axis, frame: Box) -> str:
    if not records:
        return ""
    path = ""
    for i, point in enumerate(records):
        x = across.at(point.at)
        y = up.at(cast(float, in_percent(point.score, point.score.value)))
        path += f"M{x:.1f},{y:.1f}" if i == 0 else f"H{x:.1f}V{y:.1f}"
    return f'<path class="steps" d="{path}H{frame.right:.1f}"/>'


def _draw_point(point: HistoryPoint, across: Axis, up: Axis, is_record: bool) -> Iterator[str]:
    x = across.at(point.at)
    value, low, high = (
        in_percent(point.score, one)
        for one in (point.score.value, point.score.low, point.score.high)
    )
    faint = "" if is_record else " faint"
    if low is not None and high is not None:
        yield f'<path class="interval k-{point.kind}{faint}" d="M{x:.1f},{up.at(low):.1f}V{up.at(high):.1f}"/>'
    yield draw_mark(x, up.at(cast(float, value)), point.kind, point.note, is_record)


def _name_records(
    records: Sequence[HistoryPoint],
    systems: Sequence[HistoryPoint],
    across: Axis,
    up: Axis,
    size: HistorySize,
    taken: Sequence[tuple[float, float]],
) -> Iterator[str]:
    """Names next to the records, clear of points, steps and whatever else is there."""

    def spot(point: HistoryPoint) -> tuple[float, float]:
        value = cast(float, in_percent(point.score, point.score.value))
        return across.at(point.at), up.at(value)

    named = []
    for point in records:
        x, y = spot(point)
        named.append(LabelledPoint(x, y, shorten(point.name, size.name_pixels), 0, SIZE))
    dots = [*(spot(point) for point in systems), *taken]
    for name, place in zip(named, _place_names(tuple(named), tuple(dots), size.frame), strict=True):
        x, y = place.nearest(name.x, name.y)
        if (x - name.x) ** 2 + (y - name.y) ** 2 > MIN_WIRE_PIXELS**2:
            yield f'<path class="wire" d="M{name.x:.1f},{name.y:.1f}L{x:.1f},{y:.1f}"/>'
        middle = (place.left + place.right) / 2
        yield label(middle, place.bottom - 4, name.text, "halo", "middle")


@lru_cache(maxsize=64)
def _place_names(
    named: tuple[LabelledPoint, ...], dots: tuple[tuple[float, float], ...], frame: Box
) -> list[Box]:
    """Where names go: the same in each language and order of the table."""
    return place_labels(named, dots, (), frame)


def _time_axis(first: float, last: float, frame: Box) -> Axis:
    room = max((last - first) * 0.04, DAY / 2 if last > first else 3 * DAY)
    return Axis(first - room, last + room, frame.left + 4, frame.right - 4)


MIN_TICK_DAYS = (1, 2, 7, 14)
TICK_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)


def date_ticks(low: float, high: float, most: int = 8) -> list[tuple[float, str]]:
    """Round dates between two moments, about so many at most, with their names: days, months or years.

    >>> [name for _, name in date_ticks(0, 40 * 86_400)]
    ['1970-01-01', '1970-01-08', '1970-01-15', '1970-01-22', '1970-01-29', '1970-02-05']
    """
    span = (high - low) / DAY
    for days in MIN_TICK_DAYS:
        if span / days <= most - 1:
            return list(_day_ticks(low, high, days))
    months = next((m for m in TICK_MONTHS if span / (30.4 * m) <= most - 1), TICK_MONTHS[-1])
    return list(_month_ticks(low, high, months))


def _day_ticks(low: float, high: float, days: int) -> Iterator[tuple[float, str]]:
    start = datetime.fromtimestamp(low, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if start.timestamp() < low:
        start += timedelta(days=1)
    while start.timestamp() <= high:
        yield start.timestamp(), start.strftime("%Y-%m-%d")
        start += timedelta(days=days)


def _month_ticks(low: float, high: float, months: int) -> Iterator[tuple[float, str]]:
    first = datetime.fromtimestamp(low, UTC)
    number = (first.year * 12 + first.month - 1) // months * months
    while True:
        at = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC).timestamp()
        if at > high:
            return
        if at >= low:
            name = f"{number // 12}" if months % 12 == 0 else f"{number // 12}-{number % 12 + 1:02}"
            yield at, name
        number += months


def _picture(width: float, height: float, parts: Iterable[str], attributes: str) -> Markup:
    return Markup(  # noqa: S704  (every text of a part went through `text`)
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" {attributes}>{"".join(parts)}</svg>'
    )


def fit_differences(rows: Sequence[ComparisonView]) -> Axis | None:
    """The axis that the differences of a comparison share, around zero; None where there is nothing to draw."""
    ends = [
        abs(end)
        for row in rows
        for end in (row.difference, row.low, row.high)
        if end is not None and row.low is not None
    ]
    if not ends:
        return None
    most = max(max(ends) * 1.05, 0.1)
    half = fit_axis([0.0, most], BAR_WIDTH / 2, BAR_WIDTH - BAR_MARGIN, (0.0, 2 * most)).high
    return Axis(-half, half, BAR_MARGIN, BAR_WIDTH - BAR_MARGIN)


def draw_difference(row: ComparisonView, axis: Axis, ticks: Sequence[float]) -> Markup:
    """A difference with its interval; the line of zero is stronger."""
    middle = BAR_HEIGHT / 2
    parts = [f'<path class="rule" d="M{axis.at(t):.1f},0V{BAR_HEIGHT:.0f}"/>' for t in ticks]
    parts.append(f'<path class="mean" d="M{axis.at(0):.1f},0V{BAR_HEIGHT:.0f}"/>')
    if row.low is not None and row.high is not None:
        ends = f"M{axis.at(row.low):.1f},{middle}H{axis.at(row.high):.1f}"
        parts.append(f'<path class="interval k-submission" d="{ends}"/>')
    if row.difference is not None:
        parts.append(draw_mark(axis.at(row.difference), middle, "submission"))
    return _picture(BAR_WIDTH, BAR_HEIGHT, parts, 'class="bar" aria-hidden="true"')


def draw_key(kind: SystemKind) -> Markup:
    """The mark of a kind, for the words below a plot."""
    return _picture(12, 12, [draw_mark(6, 6, kind)], 'class="key" aria-hidden="true"')
