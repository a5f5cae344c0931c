"""How systems learned: the losses that models told of, run by run."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from nikawa.reporting.fragments import detail, slug, text
from nikawa.reporting.page_data import Section, Trace, Training
from nikawa.reporting.plots import Trail, trails
from nikawa.reporting.sources import inside, source, source_line
from nikawa.reporting.systems import ReportRun, SystemRuns, TaskRuns
from nikawa.runs.store import ABOUT

LINES = 8
"""Runs of a system that are traced."""
POINTS = 160
"""Points of a trace; of more, evenly spaced ones are kept."""


def training_of(part: TaskRuns) -> tuple[Training, ...]:
    """The losses of every system that keeps them."""
    found = (_training(system) for system in part.systems)
    return tuple(one for one in found if one is not None)


def _training(system: SystemRuns) -> Training | None:
    traces = [trace for trace in map(_trace, system.runs) if trace is not None]
    if not traces:
        return None
    shown = tuple(traces[:LINES])
    return Training(
        system=system.name, traces=shown, runs=len(traces), folds=system.spec.protocol.folds
    )


def _trace(run: ReportRun) -> Trace | None:
    """The loss of a run by step; nothing where its model tells none, or of one step alone."""
    told = run.stored.about().model.get("history")
    each = enumerate(told if isinstance(told, list) else ())
    known = [(i, entry["step"], entry["loss"]) for i, entry in each if _is_loss(entry)]
    if len(known) < 2:
        return None
    last = len(known) - 1
    kept = (
        sorted({round(k * last / (POINTS - 1)) for k in range(POINTS)})
        if last >= POINTS
        else range(len(known))
    )
    place = inside(f"{run.folder}/{ABOUT}", "model", "history")
    return Trace(
        seed=run.spec.seed,
        points=tuple((int(known[k][1]), float(known[k][2])) for k in kept),
        source=place,
        end=inside(place, known[-1][0], "loss"),
    )


def _is_loss(entry: Any) -> bool:
    """Whether an entry is a step with its loss; others are scores on dev, or of another model's making."""
    pair = (entry.get("step"), entry.get("loss")) if isinstance(entry, dict) else ()
    return bool(pair) and all(isinstance(v, int | float) and isfinite(v) for v in pair)


OPEN = 4
"""Systems that are shown at once; the others are to be opened."""


def training(found: Section) -> str:
    """A plot a system, the best first; empty where no model tells of its losses."""
    each = _best_first(found)
    if not each:
        return ""
    figures = [_figure(found, one) for one in each]
    words = "The mean loss on the training data by step, a line a seed. A lower loss is not yet a better score."
    more = _multiples(figures[OPEN:])
    further = (
        detail(f"{len(each) - OPEN} more systems", more, f"{found.place}/training") if more else ""
    )
    places = (trace.source for one in each for trace in one.traces)
    return f'<div class="block"><h3>Training</h3><p class="soft">{words}</p>{_multiples(figures[:OPEN])}{further}{source_line(*places)}</div>'


def _best_first(found: Section) -> list[Training]:
    order = {row.system: i for i, row in enumerate(found.rows)}
    return sorted(found.training, key=lambda one: order.get(one.system, len(order)))


def _multiples(figures: list[str]) -> str:
    return f'<div class="multiples">{"".join(figures)}</div>' if figures else ""


def _figure(found: Section, one: Training) -> str:
    ends = [trace.points[-1][1] for trace in one.traces]
    low, high = f"{min(ends):.3f}", f"{max(ends):.3f}"
    words = f"last loss {low if low == high else f'{low}–{high}'}"
    words += f", {len(one.traces)} of {one.runs} seeds" if one.runs > len(one.traces) else ""
    words += f", of the last of {one.folds} folds" if one.folds else ""
    places = " ".join(trace.source for trace in one.traces)
    ends_at = source(" ".join(trace.end for trace in one.traces))
    return (
        f"<figure{source(places)}><figcaption>{text(one.system)}<span class=ci{ends_at}>{text(words)}</span></figcaption>"
        f"{training_plot(found, one)}</figure>"
    )


def training_plot(found: Section, one: Training) -> str:
    """The losses of a system; all systems of a task share the upright axis."""
    lines = [
        Trail(
            f"seed {trace.seed}",
            trace.points,
            f"{one.system}, seed {trace.seed}: {trace.points[-1][1]:.4g} at step {trace.points[-1][0]:,}",
            trace.end,
        )
        for trace in one.traces
    ]
    top = max(loss for each in found.training for trace in each.traces for _, loss in trace.points)
    return trails(lines, f"Loss of {one.system} on {found.name} by step", "steps", top)


def training_pictures(found: Section) -> Iterator[tuple[str, str]]:
    """The plots under the names of their files."""
    for one in found.training:
        yield f"{slug(found.name)}-training-{slug(one.system)}", training_plot(found, one)
