"""Curves of a report as SVG: scores by amounts of something, losses by steps. No script, no outside file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log10

from nikawa.reporting.agreement_plots import text
from nikawa.reporting.page_plots import SHAPES, WIDTH, Axis, Dot, axis_of, label, legend, mark, svg
from nikawa.reporting.page_source import source

TALL, LEFT, APART = 256.0, 56.0, 46.0
"""Pixels: of a plot's height, of what stands left of it, between two names below it."""
SMALL, LOW = 330.0, 150.0
"""Width and height of a plot that stands beside others."""


@dataclass(frozen=True)
class Path:
    """A curve: (x, dot) from left to right."""

    name: str
    points: Sequence[tuple[float, Dot]]


def _counted(amount: float) -> str:
    return f"{amount:,.0f}"


@dataclass(frozen=True)
class Scale:
    """How amounts lie along the bottom, and how large the picture is."""

    below: str
    """What the amounts are."""
    log: bool = True
    shown: Callable[[float], str] = _counted
    wide: float = WIDTH
    tall: float = TALL

    def place(self, amount: float) -> float:
        """Where an amount is on the axis, before it is pixels."""
        return log10(amount) if self.log else amount

    def axis(self, amounts: Sequence[float]) -> Axis:
        """An axis that holds all amounts with a little room."""
        ends = (self.place(amounts[0]), self.place(amounts[-1])) if amounts else (0.0, 1.0)
        least = 0.3 if self.log else 1e-9
        room = 0.05 if self.log else max(0.03 * (ends[1] - ends[0]), least)
        return Axis(ends[0] - room, max(ends[1], ends[0] + least) + room, LEFT, self.wide - 20)


def curves(paths: Sequence[Path], title: str, scale: Scale, within: tuple[float, float]) -> str:
    """Values against amounts; what is not above 0 is not on a logarithmic axis."""
    key, top = legend([path.name for path in paths], scale.wide)
    bottom = top + scale.tall
    amounts = sorted({x for path in paths for x, _ in path.points if x > 0 or not scale.log})
    across = scale.axis(amounts)
    values = [v for path in paths for _, d in path.points for v in (d.value, d.low, d.high)]
    up = axis_of(values, bottom, top, within)
    parts = [*_across(up, scale.wide - 20.0), *_names(amounts, across, scale, bottom), *key]
    for i, path in enumerate(paths):
        parts += _curve(i, path, scale, across, up)
    return svg(scale.wide, bottom + 48, parts, title)


def _across(up: Axis, right: float) -> Iterator[str]:
    """Rules across the plot with their values."""
    for t in up.ticks():
        yield f'<path class="rule" d="M{LEFT},{up.at(t):.1f}H{right}"/>'
    for t in up.ticks():
        yield label(LEFT - 8, up.at(t) + 4.5, f"{t:g}", "soft", "end")


def _names(amounts: Iterable[float], across: Axis, scale: Scale, bottom: float) -> Iterator[str]:
    """Amounts below the plot, as many as have room, and what they are."""
    spots: list[float] = []
    for amount in amounts:
        x = across.at(scale.place(amount))
        if all(abs(x - other) > APART for other in spots):
            spots.append(x)
            yield label(x, bottom + 18, scale.shown(amount), "soft", "middle")
    yield label((LEFT + scale.wide - 20) / 2, bottom + 40, scale.below, "soft", "middle")


def _curve(i: int, path: Path, scale: Scale, across: Axis, up: Axis) -> Iterator[str]:
    known = [
        (across.at(scale.place(x)), up.at(dot.value), dot)
        for x, dot in path.points
        if (x > 0 or not scale.log) and dot.value is not None
    ]
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


def trails(found: Sequence[Trail], title: str, below: str, top: float) -> str:
    """Thin lines from step 0 on; `top` is the greatest value of the axis, which begins at 0."""
    key, first = legend([trail.name for trail in found], SMALL)
    bottom, right = first + LOW, SMALL - 20
    last = max(trail.points[-1][0] for trail in found)
    across, up = Axis(0, last, LEFT, right), _from_zero(top, bottom, first)
    scale = Scale(below, log=False, wide=SMALL)
    parts = [*_across(up, right), *_names(across.ticks(), across, scale, bottom), *key]
    for i, trail in enumerate(found):
        line = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in trail.points)
        hint = f"<title>{text(trail.note)}</title>"
        parts.append(
            f'<polyline class="thin s{i % SHAPES}" points="{line}"{source(trail.source)}>{hint}</polyline>'
        )
        x, y = trail.points[-1]
        parts.append(mark(across.at(x), up.at(y), i, trail.note, trail.source))
    return svg(SMALL, bottom + 48, parts, title)


def _from_zero(top: float, bottom: float, first: float) -> Axis:
    """An upright axis from 0 to a round value."""
    rough = Axis(0, top or 1.0, bottom, first)
    step = rough.ticks()[1]
    return Axis(0, step * ceil((top or 1.0) / step - 1e-9), bottom, first)
