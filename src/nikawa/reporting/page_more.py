"""More of a system on a task: calibration, and overlap of the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from nikawa.analysis.results import Overlap
from nikawa.records import Unit
from nikawa.reporting.fragments import Cell, counted, detail, figures, number, slug, table, text
from nikawa.reporting.page_data import Analysed, Number
from nikawa.reporting.plots import Dot, reliability
from nikawa.reporting.sources import inside, source, source_line
from nikawa.stats.results import Figure


class Named(Protocol):
    """What figures are called after."""

    @property
    def name(self) -> str:
        """As it stands on the page."""
        ...


def figure(picture: str, found: Named, kind: str, place: str) -> str:
    """A picture with what it is from and the name of its file."""
    if not picture:
        return ""
    file = f"figures/{slug(found.name)}-{kind}.svg"
    made = f'{source_line(place)}<a class="file" href="{file}">svg</a>'
    parts = ' class="parts"' if picture.count("</svg>") > 1 else ""
    return f"<figure{parts}{source(place)}>{picture}<figcaption>{made}</figcaption></figure>"


def dot(found: Number | Figure, series: int = 0, note: str = "", place: str = "") -> Dot:
    """A number as a dot."""
    return Dot(found.value, found.low, found.high, series, note, place)


def spread(found: Figure, unit: Unit, place: str, n: int = 0) -> Number:
    """A figure of an analysis as a number of the page."""
    return Number(
        value=found.value,
        low=found.low,
        high=found.high,
        sd=found.sd,
        unit=unit,
        n=n or found.n,
        source=place,
    )


def reliability_plot(part: Analysed) -> str:
    """Share right against probability; empty where a model gives none."""
    found = part.analysis.calibration
    if found is None:
        return ""
    bins = [(b.confidence, b.accuracy, b.low, b.high, b.n) for b in found.bins]
    place = inside(part.source, "calibration", "bins")
    return reliability(bins, f"Reliability of {part.system}", place)


def calibration(analysed: Sequence[Analysed]) -> str:
    """How far probabilities can be trusted, a plot a system."""
    shown, places = [], []
    for part in analysed:
        found = part.analysis.calibration
        if found is None:
            continue
        words = (
            f"calibration error {found.ece:.3f}, Brier {figures(found.brier.value, 'fraction', 1)}"
        )
        chance = (
            "no more than chance makes"
            if found.ece <= found.ece_chance
            else "more than chance makes"
        )
        places.append(inside(part.source, "calibration"))
        shown.append(
            f"<figure{source(places[-1])}><figcaption>{text(part.system)}<span class=ci>{text(words)} ({chance})</span>"
            f"</figcaption>{reliability_plot(part)}</figure>"
        )
    if not shown:
        return ""
    words = "How often answers of a given probability are right. Below the diagonal a model is surer than it should be."
    return (
        f'<div class="block"><h3>Calibration</h3><p class="soft">{words}</p><div class="multiples">{"".join(shown)}</div>'
        f"{source_line(*places)}</div>"
    )


def overlap(analysed: Sequence[Analysed], digits: int) -> str:
    """How much of one input is found in the other, and what that has to do with being right."""
    parts = [
        (part, part.analysis.overlap) for part in analysed if part.analysis.overlap is not None
    ]
    if not parts:
        return ""
    first, places = parts[0][1], [inside(part.source, "overlap") for part, _ in parts]
    words = (
        f"Of the words of the {first.of}, a share of {figures(first.mean.value, 'fraction', 1)} is found in the "
        f"{first.inside} on average (segmentation: {first.segmentation})."
    )
    labels = ", ".join(f"{label} {share:.3f}" for label, share in first.labels.items())
    words += f" By gold: {labels}." if labels else ""
    rows = [row for part, found in parts for row in _overlap_rows(part, found, digits)]
    names = ["system", "overlap", "n", first.metric, "Spearman's ρ"]
    shown = table(names, rows, range(1, 5), f"{first.metric} by overlap", " ".join(places))
    told = f'<p class="soft"{source(places[0])}>{text(words)}</p>'
    return detail("Overlap of the inputs", told + shown + source_line(*places))


def _overlap_rows(part: Analysed, found: Overlap, digits: int) -> Iterator[list[str | Cell]]:
    unit, place = part.analysis.unit, inside(part.source, "overlap")
    relation = spread(found.correlation, "fraction", inside(place, "correlation"))
    for i, one in enumerate(found.bins):
        own = inside(place, "bins", i)
        score = Number(value=one.value, low=one.low, high=one.high, unit=unit, n=one.n, source=own)
        yield [
            "" if i else text(part.system),
            Cell(f"{one.least:.2f}–{one.most:.2f}", own),
            counted(one.n, inside(own, "n")),
            number(score, digits),
            "" if i else number(relation, 1),
        ]
