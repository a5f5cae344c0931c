"""The artifact test as a picture: share of a label against the number of examples with a token, with the line of significance.

After Figure 3 of the JAMP paper (Figure 1 of Gardner et al., 2021). The SVG is written by hand: it needs no library,
follows the reader's light or dark scheme, and its text stays text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log10
from pathlib import Path

import numpy as np

from nikawa.checks.artifacts import Pair, Table
from nikawa.io.atomic import atomic_write
from nikawa.reporting.label_placement import Box, LabelledPoint, place_labels, text_width
from nikawa.reporting.markup import text

WIDTH, HEIGHT = 960, 720
FRAME = Box(64, 84, WIDTH - 24, HEIGHT - 56)
SIZE = 13
MAX_PAIRS_NAMED = 60
"""Points over the line that are labelled; the least likely first."""
MAX_PIXELS_OF_SHARED_NAME = 2.5
"""Pixels within which points of one label share a name tag."""
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#aa3f8f", "#8a6d00", "#3b3b98", "#a8323e", "#4d7c0f")
DARK = ("#5bb8f0", "#ff8f5a", "#35d0a2", "#e58ac9", "#e0b83a", "#a5a5f5", "#f0808a", "#a3d160")


@dataclass(frozen=True)
class Axes:
    """From examples and share to pixels; examples on a logarithmic axis."""

    decades: int

    def x(self, n: float) -> float:
        """Pixels from the left."""
        return FRAME.left + (FRAME.right - FRAME.left) * log10(n) / self.decades

    def y(self, share: float) -> float:
        """Pixels from the top; the frame reaches a little beyond 0 and 1 so that dots stay whole."""
        return FRAME.bottom - 8 - (FRAME.bottom - FRAME.top - 16) * share


def write_scatter(
    path: Path, table: Table, over: Sequence[Pair], *, title: str, overwrite: bool = False
) -> None:
    """Write the picture, whole or not at all."""
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(draw_scatter(table, over, title).encode())


def draw_scatter(table: Table, over: Sequence[Pair], title: str) -> str:
    """The picture of a table as SVG.

    Every pair of a token and a label is a pale dot. `over` are the pairs over the line, the least likely first: they are drawn
    strongly, and the first 60 are labelled with their tokens.
    """
    axes = Axes(max(1, ceil(log10(max(2, int(table.totals.max()))))))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{text(title)}</title>",
        f"<style>{write_style(len(table.labels))}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        *draw_heading(table, over, title),
        *draw_grid(axes, len(table.labels)),
    ]
    for i in range(len(table.labels)):  # one path per label; coinciding dots are drawn once
        pairs = np.unique(np.column_stack([table.totals, table.counts[:, i]]), axis=0).tolist()
        spots = dict.fromkeys(f"{axes.x(n):.1f} {axes.y(k / n):.1f}" for n, k in pairs)
        dots = "".join(f"M{spot}h0" for spot in spots)
        parts.append(f'<path class="dots d{i}" d="{dots}"/>')
    line = trace_line(table, axes)
    if line:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        parts.append(f'<path class="line" d="M{points}"/>')
    parts += [*draw_pairs_over_line(table, over, axes, line), "</svg>"]
    return "\n".join(parts) + "\n"


def write_style(labels: int) -> str:
    """The style sheet: colours of labels for light and dark schemes, fonts, shapes."""
    fonts = '"Noto Sans CJK JP","Noto Sans CJK KR","Noto Sans JP","Noto Sans KR",sans-serif'

    def colours(palette: tuple[str, ...]) -> str:
        return "".join(f"--c{i}:{palette[i % len(palette)]};" for i in range(labels))

    classes = "".join(
        f".d{i}{{stroke:var(--c{i})}}.o{i}{{fill:var(--c{i})}}.w{i}{{stroke:var(--c{i})}}"
        for i in range(labels)
    )
    return (
        f"svg{{--paper:#fff;--ink:#1f2328;--soft:#656d76;--rule:#e3e6ea;{colours(LIGHT)}}}"
        f"@media(prefers-color-scheme:dark){{svg{{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--rule:#262c36;{colours(DARK)}}}}}"
        f"text{{font:{SIZE}px {fonts};fill:var(--ink)}}.soft{{fill:var(--soft)}}.head{{font-size:17px;font-weight:bold}}"
        ".paper{fill:var(--paper)}.rule{stroke:var(--rule)}.null{stroke:var(--soft);stroke-dasharray:5 4}"
        ".line{fill:none;stroke:var(--ink);stroke-width:1.6}"
        ".dots{fill:none;stroke-width:3.4;stroke-linecap:round;stroke-opacity:.4}"
        ".over{stroke:var(--paper)}.wire{stroke-width:.8;stroke-opacity:.75}"
        ".tag{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}"
        + classes
    )


def draw_heading(table: Table, over: Sequence[Pair], title: str) -> Iterator[str]:
    """The title, what was tested, and the legend of labels."""
    yield f'<text class="head" x="{FRAME.left}" y="28">{text(title)}</text>'
    words = (
        f"{table.examples.sum():,} examples, {len(table.tokens):,} tokens; {len(over):,} significant pairs "
        f"(one-sided binomial test, p < {table.alpha:g}/{len(table.tokens):,})"
    )
    if len(over) > MAX_PAIRS_NAMED:
        words += f"; the {MAX_PAIRS_NAMED} least likely have names"
    yield f'<text class="soft" x="{FRAME.left}" y="49">{text(words)}</text>'
    x = FRAME.left + 6
    for i, label in enumerate(table.labels):
        yield f'<circle class="o{i}" cx="{x:.1f}" cy="66" r="4.5"/>'
        yield f'<text x="{x + 10:.1f}" y="70.5">{text(label)}</text>'
        x += 34 + text_width(label, SIZE)


def draw_grid(axes: Axes, labels: int) -> Iterator[str]:
    """Rules and values of both axes, and the line of chance."""
    for power in range(axes.decades + 1):
        x = axes.x(10**power)
        yield f'<path class="rule" d="M{x:.1f},{FRAME.top}V{FRAME.bottom}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{FRAME.bottom + 20}" text-anchor="middle">{10**power:,}</text>'
    for tenth in range(0, 11, 2):
        y = axes.y(tenth / 10)
        yield f'<path class="rule" d="M{FRAME.left},{y:.1f}H{FRAME.right}"/>'
        yield f'<text class="soft" x="{FRAME.left - 8}" y="{y + 4.5:.1f}" text-anchor="end">{tenth / 10:.1f}</text>'
    null = axes.y(1 / labels)
    yield f'<path class="null" d="M{FRAME.left},{null:.1f}H{FRAME.right}"/>'
    yield f'<text class="soft" x="{FRAME.left + 4}" y="{null - 5:.1f}">chance, 1/{labels}</text>'
    middle = (FRAME.left + FRAME.right) / 2
    yield f'<text class="soft" x="{middle}" y="{FRAME.bottom + 42}" text-anchor="middle">examples with the token</text>'
    turn = f"translate(20 {(FRAME.top + FRAME.bottom) / 2}) rotate(-90)"
    yield f'<text class="soft" transform="{turn}" text-anchor="middle">share of these with the label</text>'


def trace_line(table: Table, axes: Axes) -> list[tuple[float, float]]:
    """The line as pixels, from the least n that can be over it."""
    top = 10**axes.decades
    every = np.arange(1, min(top, 100) + 1)
    spaced = np.geomspace(1, top, 400).astype(np.int64)
    n = np.unique(np.concatenate([every, spaced]))
    pairs = zip(n.tolist(), table.line(n).tolist(), strict=True)
    return [(axes.x(n), axes.y(k / n)) for n, k in pairs if k <= n]


def draw_pairs_over_line(
    table: Table, over: Sequence[Pair], axes: Axes, line: list[tuple[float, float]]
) -> Iterator[str]:
    """The significant pairs as dots with their tokens; a line leads to a name that is away from its dot."""
    numbers = {label: i for i, label in enumerate(table.labels)}
    marks = name_pairs(over[:MAX_PAIRS_NAMED], axes, numbers)
    dots = [(axes.x(pair.n), axes.y(pair.share)) for pair in over]
    tags = place_labels(marks, dots, line, FRAME)
    for mark, box in zip(marks, tags, strict=True):
        x, y = box.nearest(mark.x, mark.y)
        if (x - mark.x) ** 2 + (y - mark.y) ** 2 > 81:
            yield f'<path class="wire w{mark.group}" d="M{mark.x:.1f},{mark.y:.1f}L{x:.1f},{y:.1f}"/>'
    for pair, (x, y) in zip(over, dots, strict=True):
        words = f"{pair.token} → {pair.label}: {pair.count:,} of {pair.n:,}, {pair.share:.3f}"
        yield (
            f'<circle class="over o{numbers[pair.label]}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
            f"<title>{text(words)}</title></circle>"
        )
    for mark, box in zip(marks, tags, strict=True):
        yield f'<text class="tag" x="{box.left:.1f}" y="{box.bottom - 4:.1f}">{text(mark.text)}</text>'


def name_pairs(over: Sequence[Pair], axes: Axes, numbers: dict[str, int]) -> list[LabelledPoint]:
    """Name tags; points of one label that all but coincide share one."""
    points: list[LabelledPoint] = []
    for pair in over:
        x, y = axes.x(pair.n), axes.y(pair.share)
        group = numbers[pair.label]
        for i, other in enumerate(points):
            distance = max(abs(other.x - x), abs(other.y - y))
            if other.group == group and distance < MAX_PIXELS_OF_SHARED_NAME:
                points[i] = other._replace(text=f"{other.text} · {pair.token}")
                break
        else:
            points.append(LabelledPoint(x, y, pair.token, group, SIZE))
    return points
