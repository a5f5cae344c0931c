"""The plots of a report, written as SVG: rows of dots with whiskers, curves, losses by step, heat maps, reliability.

| function | shows |
|---|---|
| `draw_dots` | values with intervals, a row each: scores of systems, slices, answers under perturbation |
| `draw_curves` | values against amounts: learning curves, scores by setting |
| `draw_trails` | many values by step: losses of training runs |
| `draw_heat` | counts of gold against answers |
| `draw_reliability` | share of right answers against probability |

Every function returns markup whose texts are escaped. Colours and shapes are classes of `base.css`: `c0` to `c5` are the
marks of systems, `s0` to `s5` their lines. `data-src` names the source file of a mark. A plot that would be taller than
a sheet of paper comes in parts of whole rows, since a browser cuts no picture between rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, inf, isinf, log10
from typing import TypeVar

from markupsafe import Markup

from nikawa.metrics import metrics
from nikawa.reporting.label_placement import text_width
from nikawa.reporting.markup import join, source, text
from nikawa.reporting.sources import inside

T = TypeVar("T")
SHEET_HEIGHT = 720.0
"""Pixels of rows that fit on a sheet, A4 or letter, with a heading and a legend."""


NO_BOUND = 1e9
"""Stands for the highest value of a metric that has none."""
SIZE, ROW, WIDTH = 13, 26, 720
SHAPES = 6
MIN_HEIGHT_FOR_TOP_TICKS = 500
"""Pixels from which on a plot names its ticks at the top too."""
GROUP = 32
"""Pixels that the name of a group of rows takes."""


def split_rows(
    rows: Sequence[T], tall: Callable[[Sequence[T]], float], tallest: float, step: float
) -> list[Sequence[T]]:
    """The rows in as few parts as can be, of about the same height, none taller than `tallest` but a single row.

    `tall` is the height of some rows together; `step` how finely heights are tried.
    """
    count = len(fill_parts(rows, tall, tallest))
    if count < 2:
        return [rows]
    height = tall(rows) / count
    parts = fill_parts(rows, tall, min(height, tallest))
    while len(parts) > count:
        height += step
        parts = fill_parts(rows, tall, min(height, tallest))
    return parts


def fill_parts(
    rows: Sequence[T], tall: Callable[[Sequence[T]], float], tallest: float
) -> list[Sequence[T]]:
    """The rows in parts, each as full as `tallest` allows; a taller row is a separate part."""
    parts = []
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or tall(rows[start : end + 1]) > tallest:
            parts.append(rows[start:end])
            start = end
    return parts


@dataclass(frozen=True)
class Dot:
    """A value with its interval; `series` is the number of its system."""

    value: float | None
    low: float | None = None
    high: float | None = None
    series: int = 0
    note: str = ""
    source: str = ""
    ring: bool = False
    """Whether a curve draws a ring around it."""


@dataclass(frozen=True)
class PlotRow:
    """A named row of dots; rows of one group are drawn together."""

    name: str
    dots: Sequence[Dot]
    group: str = ""
    note: str = ""
    """At the right edge, such as n."""


@dataclass(frozen=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """The place of a value; a value outside the axis is put on the edge."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Four to eight round values.

        >>> Axis(0, 100, left=0, right=500).ticks()
        [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        """
        step = _step(self.high - self.low)
        first = ceil(self.low / step - 1e-9)
        last = floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


def _step(span: float) -> float:
    rough = span / 6
    power = 10.0 ** floor(log10(rough))
    return float(next(power * k for k in (1, 2, 5, 10) if power * k >= rough))


def fit_axis(
    values: Iterable[float | None], left: float, right: float, within: tuple[float, float]
) -> Axis:
    """An axis that covers all values with a margin, and nothing beyond the possible range."""
    known = [value for value in values if value is not None] or [0.0]
    least, most = within
    spread = max(known) - min(known)
    room = max(spread * 0.06, (most - least) * 0.01)
    low = max(least, min(known) - room)
    high = min(most, max(known) + room)
    step = _step(high - low) if high > low else 1.0
    return Axis(floor(low / step) * step, ceil(high / step) * step, left, right)


def possible_values(unit: str, metric: str) -> tuple[float, float]:
    """What values are possible, for axes."""
    declared = metrics()[metric]
    scale = 100.0 if unit == "percent" else 1.0
    high = NO_BOUND if isinf(declared.high) else declared.high * scale
    return declared.low * scale, high


def svg(width: float, height: float, parts: Iterable[str], title: str) -> Markup:
    """A picture with its title for those who cannot see it; its parts are markup already."""
    return Markup(  # noqa: S704 — every text of a part went through `text`
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img"><title>{text(title)}</title>{"".join(parts)}</svg>'
    )


def mark(x: float, y: float, series: int, note: str = "", place: str = "") -> str:
    """A system's mark: shape and colour by its number."""
    shapes = (
        f"M{x - 4.5:.1f},{y:.1f}a4.5,4.5 0 1 0 9,0a4.5,4.5 0 1 0 -9,0Z",
        f"M{x - 4:.1f},{y - 4:.1f}h8v8h-8Z",
        f"M{x:.1f},{y - 5.2:.1f}l5.2,9h-10.4Z",
        f"M{x:.1f},{y - 5.6:.1f}l5.6,5.6l-5.6,5.6l-5.6,-5.6Z",
        f"M{x:.1f},{y + 5.2:.1f}l5.2,-9h-10.4Z",
        f"M{x - 5:.1f},{y - 1.6:.1f}h3.4v-3.4h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4Z",
    )
    hint = f"<title>{text(note)}</title>" if note else ""
    return f'<path class="m c{series % SHAPES}" d="{shapes[series % SHAPES]}"{source(place)}>{hint}</path>'


def label(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """A text at a place."""
    classes = f' class="{kind}"' if kind else ""
    return f'<text{classes} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def shorten(words: str, width: float) -> str:
    """A text that fits into so many pixels; the middle goes, since names often differ at their ends.

    >>> shorten("bert-base-japanese-v3", 100)
    'bert-b…se-v3'
    """
    if text_width(words, SIZE) <= width:
        return words
    kept = len(words) - 1
    while kept > 1 and text_width(_without_middle(words, kept), SIZE) > width:
        kept -= 1
    return _without_middle(words, kept)


def _without_middle(words: str, kept: int) -> str:
    end = kept // 2
    return f"{words[: kept - end].rstrip()}…{words[len(words) - end :].lstrip()}"


def draw_dots(
    rows: Sequence[PlotRow],
    title: str,
    within: tuple[float, float],
    series: Sequence[str] = (),
    rule: float | None = None,
    tallest: float = inf,
) -> str:
    """Rows of dots with whiskers on one axis; `rule` is a value to read them against.

    `within` are the least and the greatest possible value, `series` the names of systems for the legend. Rows that are
    taller than `tallest` together come as several pictures with the same axis, each of whole rows.
    """
    left = min(300.0, 16 + max((text_width(row.name, SIZE) for row in rows), default=0))
    right = WIDTH - 24 - max((text_width(row.note, SIZE) for row in rows), default=0)
    values = [rule]
    for row in rows:
        for dot in row.dots:
            values += [dot.value, dot.low, dot.high]
    axis = fit_axis(values, left + 8, right - 8, within)
    frame = _Frame(axis, left, right, rule)
    parts = split_rows(rows, add_heights, tallest, ROW)
    if len(parts) == 1:
        return draw_dot_rows(rows, title, frame, series)
    pictures = []
    for i, part in enumerate(parts, start=1):
        name = f"{title}, part {i} of {len(parts)}"
        pictures.append(draw_dot_rows(part, name, frame, series))
    return join(pictures)


@dataclass(frozen=True)
class _Frame:
    """What the parts of a plot share."""

    axis: Axis
    left: float
    right: float
    rule: float | None


def add_heights(rows: Sequence[PlotRow]) -> float:
    """The height of some rows and of the names of their groups."""
    groups = [group for group, _ in groupby(rows, key=lambda row: row.group) if group]
    return sum(map(_height, rows)) + GROUP * len(groups)


def draw_dot_rows(
    rows: Sequence[PlotRow], title: str, frame: _Frame, series: Sequence[str]
) -> Markup:
    """One picture of rows on the axis that all parts of the plot share."""
    axis, rule = frame.axis, frame.rule
    body, y = legend(series) if len(series) > 1 else ([], 8.0)
    names_top_ticks = sum(map(_height, rows)) > MIN_HEIGHT_FOR_TOP_TICKS
    if names_top_ticks:
        y += 14.0
    first = y
    for group, members in groupby(rows, key=lambda row: row.group):
        if group:
            body.append(label(0, y + 24, group, "group"))
            y += GROUP
        for row in members:
            body += draw_dot_row(row, frame, y)
            y += _height(row)
            if len(row.dots) > 1:
                body.append(f'<path class="rule" d="M0,{y:.1f}H{WIDTH}"/>')
    ticks = axis.ticks()
    grid = [f'<path class="rule" d="M{axis.at(t):.1f},{first:.1f}V{y:.1f}"/>' for t in ticks]
    if rule is not None:
        grid.append(f'<path class="mean" d="M{axis.at(rule):.1f},{first:.1f}V{y:.1f}"/>')
    ends = [label(axis.at(t), y + 17, f"{t:g}", "soft", "middle") for t in ticks]
    if names_top_ticks:
        ends += [label(axis.at(t), first - 5, f"{t:g}", "soft", "middle") for t in ticks]
    return svg(WIDTH, y + 24, [*grid, *body, *ends], title)


def _height(row: PlotRow) -> float:
    return float(max(ROW, 11 * len(row.dots) + 16)) if len(row.dots) > 1 else ROW


def legend(series: Sequence[str], width: float = WIDTH) -> tuple[list[str], float]:
    """The marks of systems with their names, in as many lines as they need, and where they end."""
    parts = list[str]()
    x, y = 6.0, 9.0
    for i, name in enumerate(series):
        shown = shorten(name, width - 24)
        wide = 36 + text_width(shown, SIZE)
        if x > 6.0 and x + wide > width:
            x, y = 6.0, y + 22
        parts += [mark(x, y, i), label(x + 11, y + 4.5, shown)]
        x += wide
    return parts, y + 21


def draw_dot_row(row: PlotRow, frame: _Frame, y: float) -> Iterator[str]:
    """The name of a row, its note at the right edge, and its dots below one another with their whiskers."""
    axis = frame.axis
    middle = y + _height(row) / 2
    short = shorten(row.name, frame.left - 6)
    whole = f"<title>{text(row.name)}</title>" if short != row.name else ""
    yield label(0, middle + 4.5, short, "name").replace("</text>", f"{whole}</text>")
    if row.note:
        yield label(WIDTH - 2, middle + 4.5, row.note, "soft", "end")
    gap = 11.0
    for i, dot in enumerate(row.dots):
        if dot.value is None:
            continue
        own = middle + (i - (len(row.dots) - 1) / 2) * gap
        if dot.low is not None and dot.high is not None:
            yield f'<path class="whisker s{dot.series % SHAPES}" d="M{axis.at(dot.low):.1f},{own:.1f}H{axis.at(dot.high):.1f}"/>'
        yield mark(axis.at(dot.value), own, dot.series, dot.note, dot.source)


CURVE_HEIGHT, CURVE_LEFT, MIN_PIXELS_BETWEEN_NAMES = 256.0, 56.0, 46.0
"""Pixels: of a plot's height, of the margin on its left, between two names below it."""
SMALL_WIDTH, SMALL_HEIGHT = 330.0, 150.0
"""Width and height of a plot in a row of plots."""


@dataclass(frozen=True)
class PlotCurve:
    """A curve: (x, dot) from left to right."""

    name: str
    points: Sequence[tuple[float, Dot]]


@dataclass(frozen=True)
class AmountScale:
    """The scale of amounts along the bottom, and the size of the picture."""

    below: str
    """What the amounts are."""
    log: bool = True
    shown: Callable[[float], str] = "{:,.0f}".format
    wide: float = WIDTH
    tall: float = CURVE_HEIGHT

    def place(self, amount: float) -> float:
        """Where an amount is on the axis, before it is pixels."""
        return log10(amount) if self.log else amount

    def axis(self, amounts: Sequence[float]) -> Axis:
        """An axis that covers all amounts with a margin."""
        low, high = 0.0, 1.0
        if amounts:
            low, high = self.place(amounts[0]), self.place(amounts[-1])
        least = 0.3 if self.log else 1e-9
        room = 0.05 if self.log else max(0.03 * (high - low), least)
        high = max(high, low + least)
        return Axis(low - room, high + room, CURVE_LEFT, self.wide - 20)


def draw_curves(
    curves: Sequence[PlotCurve], title: str, scale: AmountScale, within: tuple[float, float]
) -> str:
    """Values against amounts; what is not above 0 is not on a logarithmic axis."""
    key, top = legend([curve.name for curve in curves], scale.wide)
    bottom = top + scale.tall
    amounts = set()
    values: list[float | None] = []
    for curve in curves:
        for amount, dot in curve.points:
            values += [dot.value, dot.low, dot.high]
            if amount > 0 or not scale.log:
                amounts.add(amount)
    across = scale.axis(sorted(amounts))
    up = fit_axis(values, bottom, top, within)
    rules = _across(up, scale.wide - 20.0)
    parts = [*rules, *_names(sorted(amounts), across, scale, bottom), *key]
    for i, curve in enumerate(curves):
        parts += draw_curve(i, curve, scale, across, up)
    return svg(scale.wide, bottom + 48, parts, title)


def _across(up: Axis, right: float) -> Iterator[str]:
    """Rules across the plot with their values."""
    for t in up.ticks():
        yield f'<path class="rule" d="M{CURVE_LEFT},{up.at(t):.1f}H{right}"/>'
    for t in up.ticks():
        yield label(CURVE_LEFT - 8, up.at(t) + 4.5, f"{t:g}", "soft", "end")


def _names(
    amounts: Iterable[float], across: Axis, scale: AmountScale, bottom: float
) -> Iterator[str]:
    """Amounts below the plot, as many as have room, and what they are."""
    spots: list[float] = []
    for amount in amounts:
        x = across.at(scale.place(amount))
        if all(abs(x - other) > MIN_PIXELS_BETWEEN_NAMES for other in spots):
            spots.append(x)
            yield label(x, bottom + 18, scale.shown(amount), "soft", "middle")
    yield label((CURVE_LEFT + scale.wide - 20) / 2, bottom + 40, scale.below, "soft", "middle")


def draw_curve(
    i: int, curve: PlotCurve, scale: AmountScale, across: Axis, up: Axis
) -> Iterator[str]:
    """A curve with its marks and whiskers; a chosen point has a ring."""
    known = []
    for amount, dot in curve.points:
        if dot.value is not None and (amount > 0 or not scale.log):
            known.append((across.at(scale.place(amount)), up.at(dot.value), dot))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in known)
    yield f'<polyline class="path s{i % SHAPES}" points="{line}"/>'
    for x, y, dot in known:
        if dot.low is not None and dot.high is not None:
            yield f'<path class="whisker s{i % SHAPES}" d="M{x:.1f},{up.at(dot.low):.1f}V{up.at(dot.high):.1f}"/>'
        if dot.ring:
            yield f'<circle class="path s{i % SHAPES}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
        yield mark(x, y, i, dot.note, dot.source)


@dataclass(frozen=True)
class Trail:
    """Many values by step, drawn as a thin line; the last is marked."""

    name: str
    points: Sequence[tuple[float, float]]
    note: str = ""
    source: str = ""


def draw_trails(lines: Sequence[Trail], title: str, below: str, top: float) -> str:
    """Thin lines from step 0 on; `top` is the greatest value of the axis, which begins at 0."""
    key, first = legend([trail.name for trail in lines], SMALL_WIDTH)
    bottom = first + SMALL_HEIGHT
    right = SMALL_WIDTH - 20
    last = max(trail.points[-1][0] for trail in lines)
    across = Axis(0, last, CURVE_LEFT, right)
    top = top or 1.0
    step = Axis(0, top, bottom, first).ticks()[1]
    up = Axis(0, step * ceil(top / step - 1e-9), bottom, first)  # from 0 to a round value
    scale = AmountScale(below, log=False, wide=SMALL_WIDTH)
    parts = [*_across(up, right), *_names(across.ticks(), across, scale, bottom), *key]
    for i, trail in enumerate(lines):
        line = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in trail.points)
        hint = f"<title>{text(trail.note)}</title>"
        parts.append(
            f'<polyline class="thin s{i % SHAPES}" points="{line}"{source(trail.source)}>{hint}</polyline>'
        )
        x, y = trail.points[-1]
        parts.append(mark(across.at(x), up.at(y), i, trail.note, trail.source))
    return svg(SMALL_WIDTH, bottom + 48, parts, title)


HEAT_CELL_HEIGHT, HEAT_TOP = 40.0, 42.0
MAX_SHADE = 0.62
"""How dark the cell of a whole row is: counts stay readable on it. Programs without CSS take it from here."""


@dataclass(frozen=True)
class Heat:
    """Counts by gold (rows) and answer (columns); `place` is where the counts are."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[float]]
    place: str = ""

    @property
    def left(self) -> float:
        """Where the cells begin."""
        return min(170.0, 14 + max(text_width(name, SIZE) for name in self.rows))

    @property
    def wide(self) -> float:
        """The width of a cell."""
        return max(52.0, min(128.0, 14 + max(text_width(name, SIZE) for name in self.columns)))


def draw_heat(table: Heat, title: str) -> str:
    """A picture of the counts; the shade is the share of the row."""
    left = table.left
    wide = table.wide
    parts = [label(left + len(table.columns) * wide / 2, 13, "answered", "soft", "middle")]
    parts += [
        label(left + (j + 0.5) * wide, 33, shorten(name, wide - 6), "", "middle")
        for j, name in enumerate(table.columns)
    ]
    for i, name in enumerate(table.rows):
        y = HEAT_TOP + (i + 0.5) * HEAT_CELL_HEIGHT + 4.5
        parts.append(label(left - 10, y, shorten(name, left - 12), "", "end"))
        parts += draw_heat_row(table, i)
    return svg(
        left + len(table.columns) * wide + 4,
        HEAT_TOP + len(table.rows) * HEAT_CELL_HEIGHT + 6,
        parts,
        title,
    )


def draw_heat_row(table: Heat, i: int) -> Iterator[str]:
    """The cells of one gold label; each is linked to its examples by `data-gold` and `data-answer`."""
    gold = table.rows[i]
    counts = table.cells[i]
    total = sum(counts) or 1.0
    y = HEAT_TOP + i * HEAT_CELL_HEIGHT
    for j, count in enumerate(counts):
        answer = table.columns[j]
        share = count / total
        x = table.left + j * table.wide
        note = f"gold {gold}, answer {answer}: {count:g} of {total:g} ({share:.1%})"
        place = inside(table.place, gold, answer) if count else inside(table.place, gold)
        kind = "hit" if answer == gold else "miss"
        yield (
            f'<g{source(place)}><rect class="{kind}" x="{x + 1:.1f}" y="{y + 1:.1f}" '
            f'width="{table.wide - 2:.1f}" height="{HEAT_CELL_HEIGHT - 2:.1f}" rx="3" data-gold="{text(gold)}" '
            f'data-answer="{text(answer)}" fill-opacity="{0.04 + MAX_SHADE * share:.3f}" style="--s:{share:.3f}"><title>{text(note)}</title></rect>'
        )
        middle = y + HEAT_CELL_HEIGHT / 2 + 4.5
        yield label(x + table.wide / 2, middle, format_count(count), "cell", "middle")
        yield "</g>"


def format_count(count: float) -> str:
    """A count, or the mean of counts over seeds with one decimal where it is not whole."""
    return f"{count:,.0f}" if abs(count - round(count)) < 0.05 else f"{count:,.1f}"


Bin = tuple[float, float, float, float, int]


def draw_reliability(bins: Sequence[Bin], title: str, place: str = "") -> str:
    """Share right against probability; the diagonal is what a calibrated model does."""
    side, left, top = 230.0, 44.0, 10.0
    right, bottom = left + side, top + side
    x = Axis(0, 1, left, right)
    y = Axis(0, 1, bottom, top)
    parts = [
        f'<path class="rule" d="M{x.at(t):.1f},{top}V{bottom}M{left},{y.at(t):.1f}H{right}"/>'
        for t in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [label(x.at(t), bottom + 17, f"{t:g}", "soft", "middle") for t in (0, 0.5, 1)]
    parts += [label(left - 8, y.at(t) + 4.5, f"{t:g}", "soft", "end") for t in (0, 0.5, 1)]
    parts.append(
        f'<path class="mean" d="M{x.at(0):.1f},{y.at(0):.1f}L{x.at(1):.1f},{y.at(1):.1f}"/>'
    )
    points = " ".join(f"{x.at(p):.1f},{y.at(share):.1f}" for p, share, *_ in bins)
    parts.append(f'<polyline class="path s0" points="{points}"/>')
    for i, (p, share, low, high, n) in enumerate(bins):
        parts.append(
            f'<path class="whisker s0" d="M{x.at(p):.1f},{y.at(low):.1f}V{y.at(high):.1f}"/>'
        )
        note = f"{n:,} answer{'' if n == 1 else 's'} with an average probability of {p:.2f}: {share:.1%} correct"
        parts.append(mark(x.at(p), y.at(share), 0, note, inside(place, i)))
    parts.append(label(left + side / 2, bottom + 36, "probability of the answer", "soft", "middle"))
    turn = f"translate(12 {top + side / 2:.0f}) rotate(-90)"
    parts.append(f'<text class="soft" transform="{turn}" text-anchor="middle">share correct</text>')
    return svg(right + 14, bottom + 44, parts, title)
