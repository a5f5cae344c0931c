"""The square plots of a report as SVG: counts by gold and answer, and how far probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nikawa.reporting._labels import text_width
from nikawa.reporting.agreement_plots import text
from nikawa.reporting.page_plots import SIZE, Axis, label, mark, shortened, svg
from nikawa.reporting.page_source import inside, source

SIDE, TOP = 40.0, 42.0
DEEP = 0.62
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


def heat(found: Heat, title: str) -> str:
    """A picture of the counts; the shade is the share of the row."""
    left, wide = found.left, found.wide
    parts = [label(left + len(found.columns) * wide / 2, 13, "answered", "soft", "middle")]
    parts += [
        label(left + (j + 0.5) * wide, 33, shortened(name, wide - 6), "", "middle")
        for j, name in enumerate(found.columns)
    ]
    for i, name in enumerate(found.rows):
        y = TOP + (i + 0.5) * SIDE + 4.5
        parts.append(label(left - 10, y, shortened(name, left - 12), "", "end"))
        parts += _cells(found, i)
    return svg(left + len(found.columns) * wide + 4, TOP + len(found.rows) * SIDE + 6, parts, title)


def _cells(found: Heat, i: int) -> Iterator[str]:
    name, y, total = found.rows[i], TOP + i * SIDE, sum(found.cells[i]) or 1.0
    for j, count in enumerate(found.cells[i]):
        answer, share, x = found.columns[j], count / total, found.left + j * found.wide
        note = f"gold {name}, answered {answer}: {count:g} of {total:g} ({share:.1%})"
        place = inside(found.place, name, *([answer] if count else []))
        yield (
            f'<g{source(place)}><rect class="{"hit" if answer == name else "miss"}" x="{x + 1:.1f}" y="{y + 1:.1f}" '
            f'width="{found.wide - 2:.1f}" height="{SIDE - 2:.1f}" rx="3" data-gold="{text(name)}" '
            f'data-answer="{text(answer)}" fill-opacity="{0.04 + DEEP * share:.3f}" style="--s:{share:.3f}"><title>{text(note)}</title></rect>'
        )
        yield (
            label(x + found.wide / 2, y + SIDE / 2 + 4.5, _count(count), "cell", "middle") + "</g>"
        )


def _count(count: float) -> str:
    return f"{count:,.0f}" if abs(count - round(count)) < 0.05 else f"{count:,.1f}"


Bin = tuple[float, float, float, float, int]


def reliability(bins: Sequence[Bin], title: str, place: str = "") -> str:
    """Share right against probability; the diagonal is what a calibrated model does."""
    side, left, top = 230.0, 44.0, 10.0
    x, y = Axis(0, 1, left, left + side), Axis(0, 1, top + side, top)
    parts = [
        f'<path class="rule" d="M{x.at(t):.1f},{top}V{top + side}M{left},{y.at(t):.1f}H{left + side}"/>'
        for t in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [label(x.at(t), top + side + 17, f"{t:g}", "soft", "middle") for t in (0, 0.5, 1)]
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
        note = f"{n:,} answers with probability {p:.2f} on average: {share:.1%} right"
        parts.append(mark(x.at(p), y.at(share), 0, note, inside(place, i)))
    parts.append(
        label(left + side / 2, top + side + 36, "probability of the answer", "soft", "middle")
    )
    turn = f"translate(12 {top + side / 2:.0f}) rotate(-90)"
    parts.append(f'<text class="soft" transform="{turn}" text-anchor="middle">share right</text>')
    return svg(left + side + 14, top + side + 44, parts, title)
