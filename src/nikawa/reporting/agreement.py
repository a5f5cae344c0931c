"""A page about the agreement of judgements: measures with intervals, distribution, workers, confusion. One HTML file.

The plots are SVG: no script, no outside file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from msgspec import Struct
from numpy.typing import NDArray

from nikawa.aggregation.kappa import confusion_by_pair, has_few_pairs, pair_kappas
from nikawa.aggregation.measure import MAX_CATEGORIES
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import holds_trees
from nikawa.io.atomic import atomic_folder
from nikawa.reporting.label_placement import Box, LabelledPoint, place_labels, text_width
from nikawa.reporting.markup import TEMPLATES, render, text

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeReport, MeasureRow
    from nikawa.aggregation.machines import GroupAgreement

Floats = NDArray[np.float64]
SIZE = 13
BAR_STEP = 26
"""Pixels from one bar to the next."""
BINS = 20
MAX_BARS = 30
"""Categories above which numbers are put into bins, and labels beyond the most frequent left out."""
MAX_WORKERS_NAMED = 20
"""Workers named on the map: the farthest from the middle."""
FRAME = Box(70, 14, 700, 380)


def wrap_picture(width: float, height: float, parts: Sequence[str], title: str) -> Markup:
    """A picture that takes the colours of the page."""
    return Markup(  # noqa: S704 — every text of a part went through `text`
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">'
        f"<title>{text(title)}</title>{''.join(parts)}</svg>"
    )


def shorten_name(name: object, limit: float = 180) -> str:
    """A name short enough for a margin."""
    short = str(name)
    while text_width(short, SIZE) > limit:
        short = short.removesuffix("…")[:-1] + "…"
    return short


def draw_interval(value: float, low: float, high: float) -> Markup:
    """A dot with its interval on a line to 1: from -1 where the interval reaches below 0, else from 0."""
    left = -1.0 if low < 0 else 0.0
    x, a, b = (8 + 144 * (min(max(v, left), 1.0) - left) / (1 - left) for v in (value, low, high))
    return wrap_picture(
        160,
        18,
        [
            '<path class="rule" d="M8,9H152"/>',
            f'<path class="wire" d="M{a:.1f},9H{b:.1f}"/>',
            f'<circle class="dot" cx="{x:.1f}" cy="9" r="4"/>',
        ],
        f"{value:.4f}, {low:.4f} to {high:.4f}",
    )


def draw_distribution(table: Table) -> Markup:
    """How often each answer was given; numbers of very many kinds in bins."""
    counts = np.bincount(table.answer, minlength=len(table.categories))
    if len(counts) <= MAX_BARS:
        return draw_bars(table.categories, counts.tolist(), len(table))
    if table.numeric:
        heights, edges = np.histogram(table.numbers, bins=BINS)
        names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
        return draw_bars(names, heights.tolist(), len(table))
    top = np.argsort(-counts, kind="stable")[:MAX_BARS]
    most_frequent = [table.categories[i] for i in top.tolist()]
    return draw_bars(most_frequent, counts[top].tolist(), len(table))


def draw_bars(names: Sequence[object], counts: Sequence[int], total: int) -> Markup:
    """One bar per name, with its share of the total."""
    margin = 16 + max((text_width(shorten_name(name), SIZE) for name in names), default=0)
    most = max(counts, default=0)
    parts = []
    for row, (name, count) in enumerate(zip(names, counts, strict=True)):
        y = row * BAR_STEP
        long = 420 * count / most
        share = f"{count:,} ({100 * count / total:.1f}%)"
        parts += [
            f'<text x="{margin - 8:.0f}" y="{y + 17}" text-anchor="end">{text(shorten_name(name))}</text>',
            f'<rect class="bar" x="{margin:.0f}" y="{y + 3}" width="{long:.1f}" height="{BAR_STEP - 7}" rx="2"/>',
            f'<text class="soft" x="{margin + long + 8:.0f}" y="{y + 17}">{share}</text>',
        ]
    return wrap_picture(margin + 560, len(names) * BAR_STEP + 4, parts, "Answers")


def draw_standing(counts: dict[str, int]) -> Markup:
    """Unanimous, majority, none, incomplete as one bar."""
    total = max(1, sum(counts.values()))
    bar_end = legend_end = 0.0
    parts = []
    for i, (name, count) in enumerate(counts.items()):
        if not count:
            continue
        wide = 700 * count / total
        words = f"{name} {count:,} ({100 * count / total:.1f}%)"
        parts += [
            f'<rect class="s{i}" x="{bar_end:.1f}" y="0" width="{wide:.1f}" height="26"/>',
            f'<rect class="s{i}" x="{legend_end:.0f}" y="38" width="11" height="11" rx="2"/>',
            f'<text x="{legend_end + 17:.0f}" y="48">{text(words)}</text>',
        ]
        bar_end += wide
        legend_end += 40 + text_width(words, SIZE)
    return wrap_picture(max(720, legend_end), 56, parts, "Items")


def locate_workers(table: Table) -> tuple[Floats, Floats, str, str]:
    """The place of each worker: (x, y, name of x, name of y).

    Labels: answers given, and how often another worker's answer about the same item is the same. Numbers: how far
    a worker's answers are from the mean of the others', with and without their sign.
    """
    answers_to_item = table.per_item()[table.item]
    has_others = answers_to_item > 1
    others = np.maximum(answers_to_item - 1, 1)
    if table.numeric:
        total = np.bincount(table.item, table.numbers, minlength=len(table.items))[table.item]
        mean_of_others = (total - table.numbers) / others
        off = np.where(has_others, table.numbers - mean_of_others, 0.0)
        return (
            _mean_by_worker(table, off, has_others),
            _mean_by_worker(table, np.abs(off), has_others),
            "mean difference from the others",
            "mean distance from the others",
        )
    answers = np.bincount(table.worker, minlength=len(table.workers))
    same = (table.counts()[table.item, table.answer] - 1) / others
    return (
        answers.astype(np.float64),
        _mean_by_worker(table, same, has_others),
        "answers",
        "share of other workers' answers that are the same",
    )


def _mean_by_worker(table: Table, values: Floats, counted: NDArray[np.bool_]) -> Floats:
    weights = counted.astype(np.float64)
    top = np.bincount(table.worker, values * weights, minlength=len(table.workers))
    bottom = np.bincount(table.worker, weights, minlength=len(table.workers))
    means: Floats = np.where(bottom > 0, top / np.maximum(bottom, 1), np.nan)
    return means


def draw_workers(table: Table) -> Markup:
    """Every worker as a dot; the farthest from the middle by name."""
    x, y, across, up = locate_workers(table)
    is_log = not table.numeric and bool(x.max() > 10 * max(1.0, x.min()))
    shown = np.flatnonzero(~np.isnan(y)).tolist()
    wide = _Axis.of(x[shown], logarithmic=is_log, from_zero=not (table.numeric or is_log))
    high = _Axis.of(y[shown])
    px = FRAME.left + (FRAME.right - FRAME.left) * wide.part(x[shown])
    py = FRAME.bottom - (FRAME.bottom - FRAME.top) * high.part(y[shown])
    spots = list(zip(px.tolist(), py.tolist(), strict=True))
    parts = list(draw_axes(wide, high, (across, up)))
    for i, (left, top) in zip(shown, spots, strict=True):
        words = f"{table.workers[i]}: {across} {x[i]:,.4g}, {up} {y[i]:.3f}"
        parts.append(
            f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="4"><title>{text(words)}</title></circle>'
        )
    away = np.hypot((px - np.median(px)) / 630, (py - np.median(py)) / 366)
    points = []
    for i in np.argsort(-away, kind="stable")[:MAX_WORKERS_NAMED].tolist():
        name = shorten_name(table.workers[shown[i]], 120)
        left, top = spots[i]
        points.append(LabelledPoint(left, top, name, 0, SIZE))
    for point, box in zip(points, place_labels(points, spots, [], FRAME), strict=True):
        parts.append(
            f'<text class="tag" x="{box.left:.1f}" y="{box.bottom - 4:.1f}">{text(point.text)}</text>'
        )
    return wrap_picture(720, 440, parts, "Workers")


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Floats, *, logarithmic: bool = False, from_zero: bool = False) -> _Axis:
        """An axis that covers the values, with a margin."""
        scaled = np.log10(values) if logarithmic else values
        low = 0.0 if from_zero else float(scaled.min())
        high = float(scaled.max())
        pad = 0.08 * (high - low) or max(0.05, 0.05 * abs(high))
        return cls(low if from_zero else low - pad, high + pad, logarithmic)

    def part(self, values: Floats) -> Floats:
        """How far along the axis each value is."""
        scaled = np.log10(values) if self.logarithmic else values
        shares: Floats = (scaled - self.low) / (self.high - self.low)
        return shares

    def ticks(self) -> list[float]:
        """Four or so round values."""
        if self.logarithmic:
            powers = range(floor(self.low), ceil(self.high) + 1)
            marks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
            return [mark for mark in marks if self.low <= log10(mark) <= self.high]
        rough = (self.high - self.low) / 4
        unit = 10.0 ** floor(log10(rough))
        step = unit * next(digit for digit in (1, 2, 5, 10) if digit * unit >= rough)
        return [step * i for i in range(ceil(self.low / step), floor(self.high / step) + 1)]


def draw_axes(x: _Axis, y: _Axis, names: tuple[str, str]) -> Iterator[str]:
    """The rules of both axes with their values, and what each axis shows."""
    for value in x.ticks():
        at = FRAME.left + (FRAME.right - FRAME.left) * float(x.part(np.array(value)))
        yield f'<path class="rule" d="M{at:.1f},{FRAME.top}V{FRAME.bottom}"/>'
        yield f'<text class="soft" x="{at:.1f}" y="{FRAME.bottom + 20}" text-anchor="middle">{_tick(value)}</text>'
    for value in y.ticks():
        at = FRAME.bottom - (FRAME.bottom - FRAME.top) * float(y.part(np.array(value)))
        yield f'<path class="rule" d="M{FRAME.left},{at:.1f}H{FRAME.right}"/>'
        yield f'<text class="soft" x="{FRAME.left - 8}" y="{at + 4:.1f}" text-anchor="end">{_tick(value)}</text>'
    middle = (FRAME.left + FRAME.right) / 2
    yield f'<text class="soft" x="{middle:.0f}" y="{FRAME.bottom + 46}" text-anchor="middle">{text(names[0])}</text>'
    turn = f"translate(18 {(FRAME.top + FRAME.bottom) / 2:.0f}) rotate(-90)"
    yield f'<text class="soft" transform="{turn}" text-anchor="middle">{text(names[1])}</text>'


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 6):g}"


def count_coincidences(table: Table) -> Floats:
    """Categories by categories: given one worker's answer (row), the share of each answer among the others (column).

    These are the coincidences of Krippendorff's alpha (Krippendorff, 2004) with each row divided by its sum: a pair of answers
    to an item that m workers judged counts 1 / (m - 1). A row without any pair is 0.
    """
    counts = table.counts().astype(np.float64)
    weights = 1 / np.maximum(counts.sum(axis=1) - 1, 1)
    weighted = counts * weights[:, None]
    pairs = counts.T @ weighted - np.diag(weighted.sum(axis=0))
    total = pairs.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(pairs, total, out=np.zeros_like(pairs), where=total > 0)
    return shares


def draw_shares(names: Sequence[object], cells: Floats, title: str, digits: int = 2) -> Markup:
    """A square of shares, darker for more; NaN stays empty."""
    short = [shorten_name(name, 140) for name in names]
    margin = 16 + max(text_width(name, SIZE) for name in short)
    side = max(34.0, min(64.0, 560 / len(names)))
    head = 20 + 0.75 * min(margin, 150)
    parts = []
    for i, name in enumerate(short):
        middle = side * (i + 0.5)
        turn = f"translate({margin + middle:.1f} {head - 8:.1f}) rotate(-40)"
        parts += [
            f'<text x="{margin - 8:.0f}" y="{head + middle + 4:.1f}" text-anchor="end">{text(name)}</text>',
            f'<text transform="{turn}">{text(name)}</text>',
        ]
    for (i, j), value in np.ndenumerate(cells):
        if np.isnan(value):
            continue
        x = margin + side * j
        y = head + side * i
        strong = min(max(float(value), 0.0), 1.0)
        parts.append(
            f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{side - 2:.1f}" height="{side - 2:.1f}" '
            f'rx="2" fill-opacity="{0.04 + 0.86 * strong:.3f}"/>'
            f'<text class="{"on" if strong > 0.7 else "off"}" x="{x + side / 2 - 1:.1f}" '
            f'y="{y + side / 2 + 4:.1f}" text-anchor="middle">{value:.{digits}f}</text>'
        )
    wide = margin + side * len(names) + 0.77 * min(margin, 150)
    return wrap_picture(wide, head + side * len(names) + 4, parts, title)


def write_page(folder: Path, report: AgreeReport, table: Table, *, overwrite: bool = False) -> Path:
    """Write `index.html`, which needs nothing else, into a new folder, and return its path.

    `table` contains the judgements that `report` was made from. Raises BadInput if the folder exists and `overwrite` is False.
    """
    with atomic_folder(folder, overwrite=overwrite) as place:
        (place / "index.html").write_text(render_page(report, table), encoding="utf-8")
    return folder / "index.html"


def draw_plots(report: AgreeReport, table: Table) -> dict[str, Markup]:
    """The plots of the judgements that a report was made from, by what they show."""
    plots: dict[str, Markup] = {}
    if report.counts:
        plots["items"] = draw_standing(report.counts)
    if find_kind(table) is not None or holds_spans(table) or holds_trees(table):
        counts = list(report.distribution.values())
        if counts:
            names = [name or "without a label" for name in report.distribution]
            plots["parts"] = draw_bars(names, counts, sum(counts))
    else:
        plots["answers"] = draw_distribution(table)
        if len(table.categories) <= MAX_CATEGORIES:
            shares = count_coincidences(table)
            plots["coincidences"] = draw_shares(
                table.categories, shares, "Answers by other workers' answers"
            )
        plots["workers"] = draw_workers(table)
        if has_few_pairs(table):
            plots["kappas"] = draw_kappas(table)
    return plots


def name_parts(table: Table) -> str:
    """What the answers are lists of, as the page counts them by label; empty: they are single answers."""
    kind = find_kind(table)
    if kind is not None:
        return kind.heading
    return "Spans" if holds_spans(table) else "Arcs" if holds_trees(table) else ""


def render_page(report: AgreeReport, table: Table) -> str:
    """The page of an agreement report, with the plots of the judgements it was made from."""
    made = render(
        "agreement.html",
        title=f"Agreement: {report.judgements}, {report.question}",
        style=(TEMPLATES / "agreement.css").read_text("utf-8"),
        report=report,
        arcs=report.arcs if isinstance(report.arcs, tuple) else (),
        plots=draw_plots(report, table),
        parts=name_parts(table),
        whisker=draw_measure,
        machines=report.machines if isinstance(report.machines, Struct) else None,
        interval=draw_group,
    )
    return str(made)


def draw_group(row: GroupAgreement) -> str:
    """The agreement of two groups with its interval; empty where it is not bounded by -1 and 1."""
    if row.value is None or row.low is None or row.high is None or row.low < -1 or row.high > 1:
        return ""
    return draw_interval(row.value, row.low, row.high)


def draw_kappas(table: Table) -> Markup:
    """Kappa of each pair of workers; no worker is compared with itself."""
    kappas = pair_kappas(confusion_by_pair(table))
    np.fill_diagonal(kappas, np.nan)
    order = sorted(range(len(table.workers)), key=lambda i: str(table.workers[i]))
    names = [table.workers[i] for i in order]
    return draw_shares(names, kappas[order][:, order], "Kappa between workers")


def draw_measure(row: MeasureRow) -> str:
    """A measure with its interval; empty where it is not bounded by -1 and 1."""
    if row.value is None or row.low is None or row.high is None:
        return ""
    is_bounded = row.low >= -1 and row.high <= 1 and not row.name.startswith(("variance", "sd"))
    return draw_interval(row.value, row.low, row.high) if is_bounded else ""
