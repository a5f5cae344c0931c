"""How systems learned: the loss by step, a line a seed."""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.reporting.page_curves import Trail, trails
from nikawa.reporting.page_data import Section
from nikawa.reporting.page_source import source, source_line
from nikawa.reporting.page_traces import Training
from nikawa.reporting.page_words import detail, slug, text

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
