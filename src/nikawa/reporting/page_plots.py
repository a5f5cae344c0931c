"""The plots of a report as SVG: intervals, dots by slice, and what other plots are made of. No script, no outside file.

Colours are CSS variables, so that a plot follows the light or dark scheme of what holds it; systems differ in shape too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, inf, log10

from nikawa.reporting._labels import text_width
from nikawa.reporting.agreement_plots import text
from nikawa.reporting.page_sheets import in_parts
from nikawa.reporting.page_source import source

SIZE, ROW, WIDTH = 13, 26, 720
SHAPES = 6
TALL = 500
"""Pixels from which on a plot names its ticks at the top too."""
GROUP = 32
"""Pixels that the name of a group of rows takes."""


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
class Line:
    """A named row of dots; rows of one group stand together."""

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
        """Where a value is; what lies outside is put on the edge."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Four to eight round values."""
        step = _step(self.high - self.low)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


def _step(span: float) -> float:
    rough = span / 6
    power = 10.0 ** floor(log10(rough))
    return float(next(power * k for k in (1, 2, 5, 10) if power * k >= rough))


def axis_of(
    values: Iterable[float | None], left: float, right: float, within: tuple[float, float]
) -> Axis:
    """An axis that holds all values with a little room, and nothing beyond what is possible."""
    known = [value for value in values if value is not None] or [0.0]
    low, high = min(known), max(known)
    room = max((high - low) * 0.06, (within[1] - within[0]) * 0.01)
    low, high = max(within[0], low - room), min(within[1], high + room)
    step = _step(high - low) if high > low else 1.0
    return Axis(floor(low / step) * step, ceil(high / step) * step, left, right)


def within(unit: str, metric: str) -> tuple[float, float]:
    """What values are possible, for axes."""
    top = 100.0 if unit == "percent" else 1.0
    if metric == "mse":
        return 0.0, 1e9
    return (-top if metric in ("pearson", "spearman", "mcc") else 0.0), top


def svg(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """A picture with its title for those who cannot see it."""
    return (
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


def shortened(words: str, width: float) -> str:
    """A text that fits into so many pixels; the middle goes, since names often differ at their ends."""
    if text_width(words, SIZE) <= width:
        return words
    kept = len(words) - 1
    while kept > 1 and text_width(_without_middle(words, kept), SIZE) > width:
        kept -= 1
    return _without_middle(words, kept)


def _without_middle(words: str, kept: int) -> str:
    end = kept // 2
    return f"{words[: kept - end].rstrip()}…{words[len(words) - end :].lstrip()}"


def dot_plot(
    lines: Sequence[Line],
    title: str,
    within: tuple[float, float],
    series: Sequence[str] = (),
    rule: float | None = None,
    tallest: float = inf,
) -> str:
    """Rows of dots with whiskers on one axis; `rule` is a value to read them against.

    Rows that are taller than `tallest` together come as several pictures with the same axis, each of whole rows.
    """
    left = min(300.0, 16 + max((text_width(line.name, SIZE) for line in lines), default=0))
    right = WIDTH - 24 - max((text_width(line.note, SIZE) for line in lines), default=0)
    values = [v for line in lines for dot in line.dots for v in (dot.value, dot.low, dot.high)]
    axis = axis_of([*values, rule], left + 8, right - 8, within)
    parts = in_parts(lines, _tall, tallest, ROW)
    names = [f"{title}, part {i} of {len(parts)}" for i in range(1, len(parts) + 1)]
    return "".join(
        _dots(part, name, _Frame(axis, left, right, rule), series)
        for part, name in zip(parts, names if len(parts) > 1 else [title], strict=True)
    )


@dataclass(frozen=True)
class _Frame:
    """What the parts of a plot share."""

    axis: Axis
    left: float
    right: float
    rule: float | None


def _tall(lines: Sequence[Line]) -> float:
    """The height of some rows and of the names of their groups."""
    groups = sum(1 for group, _ in groupby(lines, key=lambda line: line.group) if group)
    return sum(map(_height, lines)) + GROUP * groups


def _dots(lines: Sequence[Line], title: str, frame: _Frame, series: Sequence[str]) -> str:
    axis, rule = frame.axis, frame.rule
    key, top = legend(series) if len(series) > 1 else ([], 8.0)
    tall = sum(map(_height, lines)) > TALL
    body, y = key, top + (14.0 if tall else 0.0)
    first = y
    for group, found in groupby(lines, key=lambda line: line.group):
        if group:
            body.append(label(0, y + 24, group, "group"))
            y += GROUP
        for line in found:
            body += _row(line, axis, (y, _height(line)), (frame.left, frame.right))
            y += _height(line)
            if len(line.dots) > 1:
                body.append(f'<path class="rule" d="M0,{y:.1f}H{WIDTH}"/>')
    grid = [f'<path class="rule" d="M{axis.at(t):.1f},{first:.1f}V{y:.1f}"/>' for t in axis.ticks()]
    rows = (y + 17, first - 5) if tall else (y + 17,)
    ends = [
        label(axis.at(t), row, f"{t:g}", "soft", "middle") for row in rows for t in axis.ticks()
    ]
    if rule is not None:
        grid.append(f'<path class="mean" d="M{axis.at(rule):.1f},{first:.1f}V{y:.1f}"/>')
    return svg(WIDTH, y + 24, [*grid, *body, *ends], title)


def _height(line: Line) -> float:
    return float(max(ROW, 11 * len(line.dots) + 16)) if len(line.dots) > 1 else ROW


def legend(series: Sequence[str], width: float = WIDTH) -> tuple[list[str], float]:
    """The marks of systems with their names, in as many lines as they need, and where they end."""
    found, x, y = list[str](), 6.0, 9.0
    for i, name in enumerate(series):
        shown = shortened(name, width - 24)
        wide = 36 + text_width(shown, SIZE)
        if x > 6.0 and x + wide > width:
            x, y = 6.0, y + 22
        found += [mark(x, y, i), label(x + 11, y + 4.5, shown)]
        x += wide
    return found, y + 21


def _row(
    line: Line, axis: Axis, place: tuple[float, float], sides: tuple[float, float]
) -> Iterator[str]:
    y, high = place
    short = shortened(line.name, sides[0] - 6)
    whole = f"<title>{text(line.name)}</title>" if short != line.name else ""
    yield label(0, y + high / 2 + 4.5, short, "name").replace("</text>", f"{whole}</text>")
    yield label(WIDTH - 2, y + high / 2 + 4.5, line.note, "soft", "end") if line.note else ""
    gap = 11.0
    for i, dot in enumerate(line.dots):
        if dot.value is None:
            continue
        middle = y + high / 2 + (i - (len(line.dots) - 1) / 2) * gap
        if dot.low is not None and dot.high is not None:
            yield f'<path class="whisker s{dot.series % SHAPES}" d="M{axis.at(dot.low):.1f},{middle:.1f}H{axis.at(dot.high):.1f}"/>'
        yield mark(axis.at(dot.value), middle, dot.series, dot.note, dot.source)
