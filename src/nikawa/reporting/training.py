"""How systems learned: the losses that models told of, run by run."""

from __future__ import annotations

from math import isfinite
from typing import Any

from nikawa.reporting.page_source import inside
from nikawa.reporting.page_traces import Trace, Training
from nikawa.reporting.runs import Answered, SystemRuns, TaskRuns
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


def _trace(run: Answered) -> Trace | None:
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
