"""The differences of a study as a picture: one row per task and metric, one mark with its interval per pair of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nikawa.io.atomic import atomic_write
from nikawa.metrics import metrics
from nikawa.reporting.page import standalone
from nikawa.reporting.plots import Dot, PlotRow, draw_dots
from studies._pairs import Contest

Pair = tuple[str, str]
POINTS = (-100.0, 100.0)
PICTURE = "results.svg"


def write_differences(
    path: Path, found: Sequence[Contest], pairs: Mapping[Pair, str], title: str
) -> None:
    """Write the picture; `pairs` names the pairs (first and second model) in the order of their marks."""
    with atomic_write(path, overwrite=True) as file:
        file.write(
            standalone(
                draw_dots(
                    rows(found, pairs), title, POINTS, list(dict.fromkeys(pairs.values())), 0.0
                )
            ).encode()
        )


def in_order(found: Sequence[Contest], epochs: Mapping[str, Mapping[str, float]]) -> list[Contest]:
    """Contests by task as a study lists them, each task's own training before others."""
    order = {
        task: place for place, task in enumerate(task for each in epochs.values() for task in each)
    }
    return sorted(found, key=lambda one: (order.get(one.task, len(order)), one.variation))


def rows(found: Sequence[Contest], pairs: Mapping[Pair, str]) -> list[PlotRow]:
    """One row per task, training set and metric in percent, with the mark of every compared pair."""
    series = list(dict.fromkeys(pairs.values()))
    dots: dict[str, dict[str, Dot]] = {}
    for one in found:
        name = pairs.get((one.first, one.second))
        if name is not None and metrics()[one.metric].scaled:
            where = " ".join(
                filter(
                    None,
                    (
                        one.task,
                        one.variation.removeprefix("trained on ").replace(f"{one.task}:", ""),
                    ),
                )
            )
            dots.setdefault(f"{where}, {one.metric}", {})[name] = Dot(
                one.difference, one.low, one.high, series.index(name), f"{name}: {one.text}"
            )
    return [
        PlotRow(row, [held[name] for name in series if name in held]) for row, held in dots.items()
    ]
