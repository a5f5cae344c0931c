"""A task of a report, put together: scores, tests, analyses, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from nikawa.analysis.stored import ACROSS, FOLDER, Analyses
from nikawa.datasets.custom import card_of
from nikawa.metrics import metrics
from nikawa.records import Example
from nikawa.reporting.page_data import Analysed, Note, Section, Sourced
from nikawa.reporting.page_source import address, inside
from nikawa.reporting.runs import SystemRuns, TaskRuns, scored_items
from nikawa.reporting.scores import Compared, pair_rows, part_rows, system_rows
from nikawa.reporting.training import training_of

T = TypeVar("T")


def task_section(
    part: TaskRuns, compared: Compared, analyses: Analyses | None, notes: tuple[Note, ...]
) -> Section:
    """One task of the page."""
    task, (card, language) = part.task, card_of(part.task.dataset)
    rows = system_rows(part, compared)
    spec = part.systems[0].spec
    found = Section(
        name=part.name,
        title=card.title,
        dataset=task.dataset,
        kind=task.kind,
        language=language,
        set=part.main,
        n=len(scored_items(part)),
        protocol=spec.protocol.mark,
        protocol_why=spec.protocol.why,
        metrics=tuple(m for m in task.metrics if any(m in r.metrics for r in rows)),
        lower_is_better=tuple(m for m in task.metrics if metrics()[m].better == "lower"),
        labels=task.labels,
        rows=rows,
        pairs=pair_rows(part, compared),
        parts=tuple(part_rows(part)),
        training=training_of(part),
        findings=notes,
        derived=tuple(name for name, found in part.sets.items() if _derived(found)),
    )
    return found if analyses is None else _analysed(found, part, analyses)


def _analysed(found: Section, part: TaskRuns, analyses: Analyses) -> Section:
    """A section with the analyses of its systems, in the order of its rows."""
    each = dict(zip(analyses.index.analyses, analyses.each, strict=True))
    names = {s.name: f"{_stem(s)}--{part.main}.json" for s in part.systems}
    own = tuple(
        Analysed(
            system=row.system,
            analysis=each[names[row.system]],
            source=f"{FOLDER}/{address(names[row.system])}",
        )
        for row in found.rows
        if names[row.system] in each
    )
    across, name = analyses.across, part.task.name
    order = {row.system: i for i, row in enumerate(found.rows)}
    stress = [s for s in across.stress if s.task == name]
    stress.sort(
        key=lambda s: order.get(
            f"{s.model} ({s.variation})" if s.variation else s.model, len(order)
        )
    )
    main = [c for c in across.curves if c.task == name and c.set == part.main and len(c.points) > 1]
    return replace(
        found,
        analysed=own,
        curves=_sourced("curves", across.curves, main),
        stress=_sourced("stress", across.stress, stress),
        partial=_sourced(
            "partial",
            across.partial,
            [p for p in across.partial if (p.task, p.set) == (name, part.main)],
        ),
        suspects=_sourced(
            "suspects", across.suspects, [s for s in across.suspects if s.task == name and s.items]
        ),
    )


def _sourced(key: str, every: Sequence[T], kept: Sequence[T]) -> tuple[Sourced[T], ...]:
    """What is kept of a list of `across.json`, each with its place there."""
    place = {id(one): inside(f"{FOLDER}/{ACROSS}", key, i) for i, one in enumerate(every)}
    return tuple(Sourced(found=one, source=place[id(one)]) for one in kept)


def _derived(examples: Sequence[Example]) -> bool:
    """Whether every example was made from another one."""
    return bool(examples) and all(e.origin is not None and e.origin.parents for e in examples)


def _stem(system: SystemRuns) -> str:
    return replace(system.spec, seed=0).folder
