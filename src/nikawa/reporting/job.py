"""Report runs: tables, figures and a page with scores, confidence intervals and errors of models."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar
from urllib.parse import unquote

from msgspec import UNSET, field
from msgspec.structs import replace

from nikawa.analysis.job import analyse_systems
from nikawa.analysis.results import ACROSS, ANALYSES, INDEX, Analyses, name_file
from nikawa.datasets.custom import is_custom
from nikawa.datasets.reader import open_reader
from nikawa.datasets.task_lookup import dataset_title, declared_protocol
from nikawa.errors import BadInput
from nikawa.io.atomic import private_files, refuse_existing
from nikawa.io.json import pack_json
from nikawa.metrics import metrics
from nikawa.metrics.units import TableUnit
from nikawa.records import Record
from nikawa.reporting.browser_items import collect_items, find_text_limit, text_lengths
from nikawa.reporting.dataset_notes import DatasetNote, DatasetNoteReader, data_commands
from nikawa.reporting.page import write_report
from nikawa.reporting.page_data import (
    Analysed,
    ModelNote,
    Page,
    RunRow,
    Section,
    SourcedFinding,
)
from nikawa.reporting.scores import compare_tasks, pair_rows, part_rows, system_rows
from nikawa.reporting.sources import NUMBERS, address, inside
from nikawa.reporting.systems import (
    TaskRuns,
    group_by_task,
    list_scored_again,
    relative_address,
    remake_command,
    title_system,
)
from nikawa.reporting.training import collect_training
from nikawa.reporting.tried_settings import find_choices
from nikawa.runs.load import CHOOSES_SETTINGS, find_runs, load_systems
from nikawa.runs.records import About, EvaluationProtocol, RunSpec
from nikawa.runs.store import StoredRun
from nikawa.scoring.compare import PairedTests
from nikawa.spec import name_and_split
from nikawa.tables import ShownAsTables
from nikawa.version import __version__

T = TypeVar("T")
MAX_TEXT_CHARS_OF_PAGE = 2_500_000
"""Maximum characters of texts in a page; the longest texts are cut beyond that."""
MAX_DATASETS_IN_TITLE = 4

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class ReportOptions:
    """How to report."""

    data: Path | None = None
    """The folder of published data; None for the usual one."""
    title: str = ""
    """Of the page; empty: the names of its datasets."""
    digits: int = 1
    """Of percentages; fractions get two more."""
    rounds: int | None = None
    """Of paired tests; None: 2,000, and more where many tests are made."""
    analyses: bool = True
    """Whether to analyse the runs: slices, confusion, calibration, learning curves, suspected label errors."""
    dataset: bool = True
    """Whether to describe the dataset: its card, agreement of workers, artifacts."""
    made: str = ""
    """When the report was made; without it the same runs give the same bytes."""
    overwrite: bool = False
    """Whether to replace an earlier report; any other folder is never replaced."""
    on_progress: OnProgress = lambda what: None
    """Called with the name of the next step."""
    unit: TableUnit = "percent"
    """Of the page, its plots and tables; `numbers.json` and the analyses are in the official unit in any case."""
    hidden: bool = False
    """Whether hidden labels count like others, for the owner of the labels; the written files then have mode 0600."""
    keys: Path | None = None
    """The key file with the labels that `nikawa data hide` took out of a dataset; needs `hidden`."""


class ReportResult(ShownAsTables, Record, frozen=True, kw_only=True, omit_defaults=True):
    """What was written."""

    headline_fields: ClassVar[tuple[str, ...]] = ("page", "runs", "systems", "tasks", "examples")
    plots_by: ClassVar[str] = "nikawa.reporting.notebook:link_page"

    page: str
    """The path of `index.html`."""
    files: tuple[str, ...]
    """Every file, the page too, as paths from the folder of the report."""
    bytes: int
    """Of the page."""
    runs: int
    """Results; runs that only chose settings are not counted."""
    systems: tuple[str, ...]
    """By their mean rank over tasks, the best first."""
    tasks: tuple[str, ...]
    examples: int
    """That can be looked at on the page, over all tasks."""
    scored_again: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Reason to the folders of the runs whose stored scores could not be taken: `its data changed`, …"""
    undefined: dict[str, str] = field(default_factory=dict)
    """Task and system to why it is in no comparison: too few of its answers could be read."""
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each reason (`not finished`, …), the runs in the named folders that are not on the page."""


def report(runs: Sequence[str], out: Path, options: ReportOptions | None = None) -> ReportResult:
    """Report runs into a folder: a page, tables for a paper, figures, and every number as JSON.

    `runs` are folders of runs, folders of several, or patterns; `out` is written whole or not at all. Every dataset, file
    of answers and card is read once. Scores are those that the runs stored, unless they are of other items or metrics than
    now: then the answers are scored again, and `scored_again` of the result has the reason.

    Raises BadInput where no run is finished, a file is not what its run wrote, data is not what the run was planned with,
    or something is in the way at `out`.

        report(["runs"], Path("report"), ReportOptions(title="Encoders on JSICK", digits=2))
    """
    options = options or ReportOptions()
    on_progress = options.on_progress
    refuse_other_folder(out, options.overwrite)
    on_progress("reading runs")
    runs_found = find_runs(runs)
    reader = open_reader(options.data, hidden=options.hidden, keys=options.keys)
    systems, _ = load_systems(runs_found.require_results(), reader)
    tasks = group_by_task(systems, out, on_progress)
    on_progress("comparing systems")
    compared = compare_tasks(tasks, options.rounds)
    analyses: Analyses | None = None
    if options.analyses:
        on_progress("analysing")
        analyses = analyse_systems(systems, {}).analyses
    on_progress("drawing the page")
    notes: dict[str, list[DatasetNote]] = {}
    if options.dataset:
        note_reader = DatasetNoteReader(options.data)
        notes = {task.name: list(note_reader.read(task)) for task in tasks}
    sections = []
    for task in tasks:
        sections.append(task_section(task, compared, analyses, notes.get(task.name, ())))
    page = make_page(tasks, sections, compared, options)
    page = add_choices(page, tasks, runs_found.choosing, out)
    page = replace(page, commands=(*page.commands, report_command(runs, out, options)))
    lengths = (length for task in tasks for length in text_lengths(task))
    cut = find_text_limit(lengths, MAX_TEXT_CHARS_OF_PAGE)
    items = {}
    for task, section in zip(tasks, page.sections, strict=True):
        by_name = {system.name: system for system in task.systems}
        best_first = tuple(by_name[row.system] for row in section.rows)
        ordered = dataclasses.replace(task, systems=best_first)
        items[task.name] = collect_items(ordered, section.language, cut)
    with private_files(options.hidden):
        place = write_report(
            out,
            page,
            items,
            extra=pack_further_files(analyses, notes),
            digits=options.digits,
            unit=options.unit,
            overwrite=options.overwrite,
        )
    left_out: dict[str, tuple[str, ...]] = {}
    for folder, why in sorted(runs_found.skipped.items()):
        if why != CHOOSES_SETTINGS:  # those have their own place on the page
            left_out[why] = (*left_out.get(why, ()), folder)
    paths = [path for path in out.rglob("*") if path.is_file()]
    files = sorted(str(path.relative_to(out)) for path in paths)
    return ReportResult(
        page=str(place),
        files=tuple(files),
        bytes=place.stat().st_size,
        runs=len(page.runs),
        systems=page.systems,
        tasks=tuple(task.name for task in tasks),
        examples=sum(map(len, items.values())),
        scored_again=list_scored_again(tasks),
        left_out=left_out,
        undefined={
            f"{each.task}: {each.system}": each.why for each in compared.comparison.undefined or ()
        },
    )


def refuse_other_folder(out: Path, overwrite: bool) -> None:
    """Raise BadInput before the work if a folder is in the way; a folder that is not a report is never replaced."""
    refuse_existing(out, overwrite)
    is_report = (out / NUMBERS).is_file()
    is_empty = out.is_dir() and not any(out.iterdir())
    if out.exists() and not is_report and not is_empty:
        raise BadInput("is not a report", file=out, cure="choose another folder with --out DIR")


def task_section(
    task: TaskRuns,
    compared: PairedTests,
    analyses: Analyses | None,
    notes: Sequence[DatasetNote] = (),
) -> Section:
    """One task of the page: scores, tests, analyses, notes."""
    card = task.answered.card
    rows = system_rows(task, compared)
    names = [name for name in task.task.metrics if any(name in row.metrics for row in rows)]
    lower = [name for name in task.task.metrics if metrics()[name].better == "lower"]
    protocol = task.systems[0].spec.protocol
    derived = []
    for name, examples in task.sets.items():
        origins = [example.origin for example in examples]
        if origins and all(origin is not None and origin.parents for origin in origins):
            derived.append(name)
    hidden = {name: len(each) - len(task.scored(name)) for name, each in task.sets.items()}
    section = Section(
        name=task.name,
        title=card.title,
        dataset=task.task.dataset,
        kind=task.task.kind,
        language=task.answered.language,
        set=task.main,
        n=len(task.scored()),
        hidden={name: count for name, count in hidden.items() if count} or UNSET,
        protocol=protocol.mark,
        protocol_why=protocol.why,
        departs=departs_from_field(protocol, task.task.dataset) or UNSET,
        metrics=tuple(names),
        lower_is_better=tuple(lower),
        labels=task.task.labels,
        rows=rows,
        pairs=pair_rows(task, compared),
        parts=tuple(part_rows(task)),
        training=collect_training(task),
        findings=tuple(each.note for each in notes),
        derived=tuple(derived),
        model_notes=collect_model_notes(task) or UNSET,
    )
    return section if analyses is None else add_analyses(section, task, analyses)


def collect_model_notes(task: TaskRuns) -> tuple[ModelNote, ...]:
    """The notes that the models of a task left in `about.json`, each once per system."""
    notes: dict[tuple[str, str], ModelNote] = {}
    for system in task.systems:
        for run in system.runs:
            texts = run.loaded.about.model.get("notes")
            for text in texts if isinstance(texts, list) else ():
                source = inside(f"{run.folder}/about.json", "model", "notes")
                note = ModelNote(system=system.name, text=str(text), source=source)
                notes.setdefault((note.system, note.text), note)
    return tuple(notes.values())


def departs_from_field(protocol: EvaluationProtocol, dataset: str) -> bool:
    """Whether a result was made otherwise than the field reports results on a published dataset.

    A custom dataset has no published protocol to depart from.
    """
    if not protocol.mark or is_custom(dataset):
        return False
    evaluated = protocol.evaluate[0]
    is_usual_split = name_and_split(evaluated)[1] == declared_protocol(dataset).reported_on
    return not is_usual_split or protocol.folds > 0 or evaluated in protocol.train


def add_analyses(section: Section, task: TaskRuns, analyses: Analyses) -> Section:
    """A section with the analyses of its systems, in the order of its rows."""
    by_file = dict(zip(analyses.index.analyses, analyses.each, strict=True))
    files = {s.name: name_file(s.loaded.stem, task.main) for s in task.systems}
    analysed = []
    for row in section.rows:
        file = files[row.system]
        if file in by_file:
            source = f"{ANALYSES}/{address(file)}"
            analysed.append(Analysed(system=row.system, analysis=by_file[file], source=source))
    across, name = analyses.across, task.task.name
    order = {row.system: i for i, row in enumerate(section.rows)}
    stress = sorted(
        (each for each in across.stress if each.task == name),
        key=lambda each: order.get(each.title, len(order)),
    )
    main = (name, task.main)
    curves = [c for c in across.curves if (c.task, c.set) == main and len(c.points) > 1]
    partial = [each for each in across.partial if (each.task, each.set) == main]
    suspects = [each for each in across.suspects if each.task == name and each.items]
    every_skipped = across.no_suspects or ()
    skipped = [each for each in every_skipped if (each.task, each.set) == main]
    return replace(
        section,
        analysed=tuple(analysed),
        curves=_with_sources("curves", across.curves, curves),
        stress=_with_sources("stress", across.stress, stress),
        partial=_with_sources("partial", across.partial, partial),
        suspects=_with_sources("suspects", across.suspects, suspects),
        no_suspects=_with_sources("no_suspects", every_skipped, skipped) or UNSET,
    )


def _with_sources(key: str, every: Sequence[T], kept: Sequence[T]) -> tuple[SourcedFinding[T], ...]:
    """What is kept of a list of `across.json`, each with its place there."""
    places = {id(one): inside(f"{ANALYSES}/{ACROSS}", key, i) for i, one in enumerate(every)}
    return tuple(SourcedFinding(found=one, source=places[id(one)]) for one in kept)


def make_page(
    tasks: Sequence[TaskRuns],
    sections: Sequence[Section],
    compared: PairedTests,
    options: ReportOptions,
) -> Page:
    """The page of the sections: systems by their mean rank over tasks, runs, and the commands that reproduce it."""
    ranks: dict[str, list[int]] = {}
    for section in sections:
        for rank, row in enumerate(section.rows):
            ranks.setdefault(row.system, []).append(rank)
    datasets = list(dict.fromkeys(dataset_title(task.task.dataset) for task in tasks))
    title = f"{len(datasets)} datasets"
    if len(datasets) <= MAX_DATASETS_IN_TITLE:
        title = ", ".join(datasets)

    def mean_rank(system: str) -> tuple[float, str]:
        return sum(ranks[system]) / len(ranks[system]), system

    rows = []
    commands = data_commands(tasks)
    for task in tasks:
        for system in (*task.systems, *task.shares):
            for run in system.runs:
                rows.append(_run_row(run.spec, run.loaded.about, run.folder, system.name))
            out = system.runs[0].stored.path.parent.as_posix()
            commands.append(remake_command(system.spec, system.loaded.seeds, out))
    return Page(
        title=options.title or f"Report: {title}",
        version=__version__,
        systems=tuple(sorted(ranks, key=mean_rank)),
        sections=tuple(sections),
        runs=tuple(rows),
        commands=tuple(dict.fromkeys(commands)),
        rounds=compared.rounds,
        tests=compared.tests,
        swaps=UNSET if compared.swaps is None else compared.swaps,
        made=options.made,
    )


def _run_row(spec: RunSpec, about: About, folder: str, system: str) -> RunRow:
    return RunRow(
        folder=folder,
        task=spec.task,
        system=system,
        seed=spec.seed,
        settings=spec.settings,
        data=tuple((data.name, data.version, data.digest, data.n) for data in spec.data),
        packages=about.packages,
        python=about.python,
        usage=usage if isinstance(usage := about.model.get("usage"), dict) else UNSET,
    )


def add_choices(
    page: Page, tasks: Sequence[TaskRuns], runs: Sequence[StoredRun], out: Path
) -> Page:
    """The page with the settings that were tried, where runs that chose among them were given too."""
    by_task, others = find_choices(tasks, runs, out)
    sections = [replace(each, choices=by_task.get(each.name)) for each in page.sections]
    rows = []
    for run in runs:
        folder = relative_address(out, run.path)
        rows.append(_run_row(run.spec, run.about(), folder, title_system(run.spec)))
    return replace(page, sections=tuple(sections), choices=others, choosing=tuple(rows))


def pack_further_files(
    analyses: Analyses | None, notes: dict[str, list[DatasetNote]]
) -> dict[str, bytes]:
    """The analyses of the page, and the data of its notes about datasets, as files next to it.

    Sheets for workers are written by `nikawa analyse`.
    """
    values: dict[str, object] = {}
    if analyses is not None:
        for name, analysis in zip(analyses.index.analyses, analyses.each, strict=True):
            values[f"{ANALYSES}/{name}"] = analysis
        values[f"{ANALYSES}/{ACROSS}"] = analyses.across
        values[f"{ANALYSES}/{INDEX}"] = analyses.index
    for each in notes.values():
        values |= {unquote(one.file): one.whole for one in each if one.whole is not None}
    return {file: pack_json(value, Path(file)) + b"\n" for file, value in values.items()}


def report_command(runs: Sequence[str], out: Path, options: ReportOptions) -> str:
    """The command that makes this report; options that are as they come are left out."""
    words = ["nikawa", "report", *runs, "--out", str(out)]
    if options.title:
        words += ["--title", options.title]
    if options.digits != ReportOptions.digits:
        words += ["--digits", str(options.digits)]
    if options.unit != ReportOptions.unit:
        words += ["--unit", options.unit]
    if options.rounds:
        words += ["--rounds", str(options.rounds)]
    if not options.analyses:
        words.append("--no-analyses")
    if not options.dataset:
        words.append("--no-dataset")
    if options.hidden:
        words.append("--hidden")
    if options.keys is not None:
        words += ["--keys", str(options.keys)]
    return shlex.join(words)
