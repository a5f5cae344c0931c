"""Training of systems: the losses that models recorded, run by run.

`collect_training` reads them from `about.json` of the runs (`model.history`, entries with `step` and `loss`), `training_block`
shows a small plot a system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from markupsafe import Markup

from nikawa.reporting.fragments import block, detail, multiples
from nikawa.reporting.markup import fragment, slug
from nikawa.reporting.page_data import Section, Trace, TrainingCurves
from nikawa.reporting.plots import Trail, draw_trails
from nikawa.reporting.sources import inside, source_line
from nikawa.reporting.systems import ReportRun, TaskRuns
from nikawa.runs.store import ABOUT

MAX_RUNS_TRACED = 8
"""Runs of a system that are traced."""
MAX_POINTS_OF_TRACE = 160
"""Points of a trace; of more, evenly spaced ones are kept."""


MAX_SYSTEMS_SHOWN = 4
"""Systems that are shown at once; the others are to be opened."""


def collect_training(task: TaskRuns) -> tuple[TrainingCurves, ...]:
    """The losses of every system that keeps them."""
    training = []
    for system in task.systems:
        traces = [trace for trace in map(trace_loss, system.runs) if trace is not None]
        if traces:
            training.append(
                TrainingCurves(
                    system=system.name,
                    traces=tuple(traces[:MAX_RUNS_TRACED]),
                    runs=len(traces),
                    folds=system.spec.protocol.folds,
                )
            )
    return tuple(training)


def trace_loss(run: ReportRun) -> Trace | None:
    """The loss of a run by step; None if its model recorded no loss, or of one step only.

    Of very many steps evenly spaced ones are kept, the first and the last among them.
    """
    history = run.loaded.about.model.get("history")
    known: list[tuple[int, Any, Any]] = []
    for i, entry in enumerate(history if isinstance(history, list) else ()):
        if not isinstance(entry, dict):
            continue
        step, loss = entry.get("step"), entry.get("loss")
        # Other entries are scores on dev, or of another model's making.
        if all(isinstance(value, int | float) and isfinite(value) for value in (step, loss)):
            known.append((i, step, loss))
    if len(known) < 2:
        return None
    last = len(known) - 1
    kept: Sequence[int] = range(len(known))
    if last >= MAX_POINTS_OF_TRACE:
        most = MAX_POINTS_OF_TRACE
        kept = sorted({round(k * last / (most - 1)) for k in range(most)})
    place = inside(f"{run.folder}/{ABOUT}", "model", "history")
    return Trace(
        seed=run.spec.seed,
        points=tuple((int(known[k][1]), float(known[k][2])) for k in kept),
        source=place,
        end=inside(place, known[-1][0], "loss"),
    )


def training_block(section: Section) -> str:
    """One plot per system, the best first; empty if no model recorded its losses."""
    order = {row.system: i for i, row in enumerate(section.rows)}
    every = sorted(section.training, key=lambda one: order.get(one.system, len(order)))
    if not every:
        return ""
    shown = [show_training(section, one) for one in every]
    content = multiples(shown[:MAX_SYSTEMS_SHOWN])
    more = shown[MAX_SYSTEMS_SHOWN:]
    if more:
        place = f"{section.place}/training"
        content += detail(f"{len(more)} more systems", multiples(more), place)
    content += source_line(*(trace.source for one in every for trace in one.traces))
    words = "The mean training loss by step, with one line per seed. A lower loss does not always mean a better score."
    return block("Training", content, words)


def show_training(section: Section, one: TrainingCurves) -> Markup:
    """The plot of one system with its last loss."""
    ends = [trace.points[-1][1] for trace in one.traces]
    low, high = f"{min(ends):.3f}", f"{max(ends):.3f}"
    words = f"last loss {low if low == high else f'{low}–{high}'}"
    if one.runs > len(one.traces):
        words += f", {len(one.traces)} of {one.runs} seeds"
    if one.folds:
        words += f", last of {one.folds} folds"
    return fragment(
        "small_figure",
        caption=one.system,
        words=words,
        words_place=" ".join(trace.end for trace in one.traces),
        picture=training_plot(section, one),
        place=" ".join(trace.source for trace in one.traces),
    )


def training_plot(section: Section, one: TrainingCurves) -> str:
    """The losses of a system; all systems of a task share the upright axis."""
    lines = []
    for trace in one.traces:
        step, loss = trace.points[-1]
        words = f"{one.system}, seed {trace.seed}: {loss:.4g} at step {step:,}"
        lines.append(Trail(f"seed {trace.seed}", trace.points, words, trace.end))
    losses = []
    for each in section.training:
        for trace in each.traces:
            losses += [loss for _, loss in trace.points]
    title = f"Loss of {one.system} on {section.name} by step"
    return draw_trails(lines, title, "steps", max(losses))


def training_pictures(section: Section) -> Iterator[tuple[str, str]]:
    """The plots under the names of their files."""
    for one in section.training:
        yield f"{slug(section.name)}-training-{slug(one.system)}", training_plot(section, one)
