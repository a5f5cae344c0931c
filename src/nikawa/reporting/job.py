"""Report runs: tables, figures and a page that tell how good models are, how sure that is, and where they fail."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as exchanged
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from msgspec.structs import replace

from nikawa.analysis.job import How, compute
from nikawa.analysis.results import ACROSS, FOLDER, INDEX, Analyses
from nikawa.datasets.custom import card_of, name_of
from nikawa.errors import BadInput
from nikawa.io.atomic import refuse_existing
from nikawa.io.json import pack_json
from nikawa.metrics import metrics
from nikawa.records import Example, Record
from nikawa.reporting.choices import find_choices, find_choosing
from nikawa.reporting.findings import Finding, data_commands, findings
from nikawa.reporting.items import cut_at, example_items, text_lengths
from nikawa.reporting.page import write_report
from nikawa.reporting.page_data import Analysed, Note, Page, RunRow, Section, Sourced
from nikawa.reporting.scores import Compared, compare_tasks, pair_rows, part_rows, system_rows
from nikawa.reporting.sources import address, inside
from nikawa.reporting.systems import (
    SystemRuns,
    TaskRuns,
    find_runs,
    remake,
    scored_items,
    seen_from,
    task_runs,
    titled,
)
from nikawa.reporting.training import training_of
from nikawa.runs.store import StoredRun
from nikawa.version import __version__

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


__all__ = ["Options", "Reported", "report"]

BUDGET = 2_500_000
"""Characters of texts a page holds; beyond that the longest are cut."""
MARKER = "numbers.json"
"""What a folder has that a report may replace."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How to report."""

    data: Path | None = None
    title: str = ""
    digits: int = 1
    """Of percentages; fractions get two more."""
    rounds: int | None = None
    """Of paired tests; None: 2,000, and more where many tests are made."""
    analyses: bool = True
    dataset: bool = True
    """Tell of the dataset: agreement, artifacts."""
    made: str = ""
    """When the report was made; without it the same runs give the same bytes."""
    overwrite: bool = False
    told: Progress = field(default=lambda what: None)


class Reported(Record, frozen=True, kw_only=True):
    """What was written."""

    page: str
    files: tuple[str, ...]
    bytes: int
    """Of the page."""
    runs: int
    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    examples: int


def report(runs: Sequence[str], out: Path, options: Options | None = None) -> Reported:
    """Report runs (folders, folders of runs, patterns) into a folder."""
    how = options or Options()
    _refuse(out, how.overwrite)
    how.told("reading runs")
    found = find_runs(runs)
    results = [run for run in found if run.spec.stage == "result"]
    found, choosing = results or found, find_choosing(runs) if results else []
    parts = task_runs(found, how.data, out)
    how.told("comparing systems")
    compared = compare_tasks(parts, how.rounds)
    how.told("analysing")
    analyses = compute(found, data=how.data, how=How()).analyses if how.analyses else None
    how.told("drawing the page")
    told = {part.name: findings(part, how.data) if how.dataset else () for part in parts}
    notes = {name: tuple(one.note for one in each) for name, each in told.items()}
    page = _page(parts, compared, analyses, notes, how)
    page = _with_choices(page, parts, choosing, out)
    page = replace(page, commands=(*page.commands, _command(runs, out, how)))
    cut = cut_at((n for part in parts for n in text_lengths(part)), BUDGET)
    items = {
        part.name: example_items(_best_first(part, section), section.language, cut)
        for part, section in zip(parts, page.sections, strict=True)
    }
    extra = {**_files(analyses), **_found_files(each for found in told.values() for each in found)}
    place = write_report(out, page, items, extra=extra, digits=how.digits, overwrite=how.overwrite)
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    return Reported(
        page=str(place),
        files=tuple(files),
        bytes=place.stat().st_size,
        runs=len(page.runs),
        systems=page.systems,
        tasks=tuple(part.name for part in parts),
        examples=sum(map(len, items.values())),
    )


def _refuse(out: Path, overwrite: bool) -> None:
    """Say what is in the way before the work; a folder that is no report is never replaced."""
    refuse_existing(out, overwrite)
    if (
        out.exists()
        and not (out / MARKER).is_file()
        and not (out.is_dir() and not any(out.iterdir()))
    ):
        raise BadInput("is no report", file=out, cure="choose another folder: --out DIR")


def _best_first(part: TaskRuns, section: Section) -> TaskRuns:
    """The systems in the order of the section's rows: the best is looked at first."""
    order = {row.system: i for i, row in enumerate(section.rows)}
    return exchanged(
        part, systems=tuple(sorted(part.systems, key=lambda system: order[system.name]))
    )


def _page(
    parts: Sequence[TaskRuns],
    compared: Compared,
    analyses: Analyses | None,
    notes: Mapping[str, tuple[Note, ...]],
    how: Options,
) -> Page:
    sections = tuple(task_section(part, compared, analyses, notes[part.name]) for part in parts)
    order = {row.system: None for found in sections for row in found.rows}
    return Page(
        title=how.title or _title(parts),
        version=__version__,
        systems=tuple(_ranked(sections, list(order))),
        sections=sections,
        runs=tuple(
            _run_row(run.stored, run.folder, s.name)
            for part in parts
            for s in (*part.systems, *part.shares)
            for run in s.runs
        ),
        commands=tuple(
            dict.fromkeys((*data_commands(p.task.dataset for p in parts), *_remakes(parts)))
        ),
        rounds=compared.rounds,
        tests=compared.tests,
        made=how.made,
    )


def _with_choices(
    page: Page, parts: Sequence[TaskRuns], runs: Sequence[StoredRun], out: Path
) -> Page:
    """The page with the settings that were tried, where runs that chose among them were given too."""
    own, others = find_choices(parts, runs, out)
    sections = (replace(found, choices=own.get(found.name)) for found in page.sections)
    rows = (_run_row(run, seen_from(out, run.path), titled(run.spec)) for run in runs)
    return replace(page, sections=tuple(sections), choices=others, choosing=tuple(rows))


def _title(parts: Sequence[TaskRuns]) -> str:
    datasets = list(dict.fromkeys(name_of(part.task.dataset) for part in parts))
    return "Report: " + (", ".join(datasets) if len(datasets) <= 4 else f"{len(datasets)} datasets")


def _ranked(sections: Sequence[Section], systems: list[str]) -> list[str]:
    """Systems by their mean rank over the tasks they were run on."""
    places = {
        system: [
            i for found in sections for i, row in enumerate(found.rows) if row.system == system
        ]
        for system in systems
    }
    return sorted(systems, key=lambda system: (sum(places[system]) / len(places[system]), system))


def _files(analyses: Analyses | None) -> dict[str, bytes]:
    """The analyses the page shows, as files beside it; sheets for workers are written by `nikawa analyse`."""
    if analyses is None:
        return {}
    named = zip(analyses.index.analyses, analyses.each, strict=True)
    found: dict[str, object] = dict(named)
    found |= {ACROSS: analyses.across, INDEX: analyses.index}
    return {
        f"{FOLDER}/{name}": pack_json(value, Path(name)) + b"\n" for name, value in found.items()
    }


def _found_files(findings: Iterable[Finding]) -> dict[str, bytes]:
    """What stands behind notes about datasets, as files beside the page."""
    kept = [(unquote(one.file), one.whole) for one in findings if one.whole is not None]
    return {file: pack_json(whole, Path(file)) + b"\n" for file, whole in kept}


def _run_row(stored: StoredRun, folder: str, system: str) -> RunRow:
    spec, about = stored.spec, stored.about()
    return RunRow(
        folder=folder,
        task=spec.task,
        system=system,
        seed=spec.seed,
        settings=spec.settings,
        data=tuple((d.name, d.version, d.digest, d.n) for d in spec.data),
        packages=about.packages,
        python=about.python,
    )


def _remakes(parts: Sequence[TaskRuns]) -> list[str]:
    """A command a system."""
    return [
        remake(s.spec, [run.spec.seed for run in s.runs], _parent(s.runs[0].stored))
        for part in parts
        for s in (*part.systems, *part.shares)
    ]


def _parent(run: StoredRun) -> str:
    return run.path.parent.as_posix()


def _command(runs: Sequence[str], out: Path, how: Options) -> str:
    words = ["nikawa", "report", *runs, "--out", str(out)]
    words += ["--title", how.title] if how.title else []
    words += ["--digits", str(how.digits)] if how.digits != Options.digits else []
    words += ["--rounds", str(how.rounds)] if how.rounds else []
    words += [] if how.analyses else ["--no-analyses"]
    words += [] if how.dataset else ["--no-dataset"]
    return shlex.join(words)
