"""Analyse stored runs: scores, calibration and errors. Nothing is run again.

`analyse` writes the folder `analyses/`, `compute_analyses` gives the same in memory, `analyse_systems` takes runs that are
loaded already; `read_analyses` reads the folder back.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import UNSET

from nikawa.analysis.across_systems import compare_partial_inputs, learning_curves, stress_systems
from nikawa.analysis.answers import ItemSets, SystemAnswers, match_system
from nikawa.analysis.results import (
    ACROSS,
    ANALYSES,
    INDEX,
    SUSPECTS,
    Across,
    Analyses,
    Analysis,
    Index,
    System,
    name_file,
    read_analyses,
)
from nikawa.analysis.set_analysis import (
    AnalysisOptions,
    Overlaps,
    cross_tabulate,
    measure_calibration,
    rank_surprises,
    score_whole,
    slice_answers,
    tabulate_confusion,
)
from nikawa.analysis.suspects import (
    SuspectItems,
    collect_command,
    find_suspects,
    write_suspect_sheet,
)
from nikawa.datasets.reader import open_reader
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, private_files, refuse_existing
from nikawa.io.file_names import join_inside
from nikawa.io.json import read_json
from nikawa.io.task_sheet import CELLS, SHEET, TASKS
from nikawa.metrics import metrics
from nikawa.runs.load import FoundRuns, LoadedSystem, find_runs, load_systems
from nikawa.runs.store import StoredRun, write_json

__all__ = [
    "Analyses",
    "AnalysisOptions",
    "analyse",
    "analyse_systems",
    "analyses_folder",
    "collect_commands",
    "compute_analyses",
    "read_analyses",
]

NO_METRIC = "no metric is defined for its answers"
HIDDEN = "its labels are hidden: if you have them, pass --hidden, and --keys FILE if they are in a key file"
MAX_RESAMPLES_IF_SLOW = 200
"""Resamples of metrics that are not sums, such as a rank correlation."""
COMMAND_OPTIONS = {
    "--metric": "metric",
    "--resamples": "resamples",
    "--seed": "seed",
    "--tokeniser": "tokeniser",
    "--top": "top",
    "--workers-each": "workers",
}
"""Option of the command line to the field of `AnalysisOptions`."""

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the current analysis, the number done, and the total."""


@dataclass(frozen=True)
class ComputedAnalyses:
    """Analyses in memory, with the items of the sheets for workers."""

    analyses: Analyses
    sheets: tuple[SuspectItems, ...]


def analyse(
    runs: Sequence[str | Path],
    *,
    out: Path | None = None,
    data: Path | None = None,
    options: AnalysisOptions | None = None,
    overwrite: bool = False,
    hidden: bool = False,
    keys: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Analyses:
    """Analyse runs (folders, folders of runs, patterns) and write `analyses/` next to them, or to `out`.

    `data` is the folder of published datasets. With `hidden`, for the owner of the labels, hidden labels count like others,
    also those of a file of `keys`; the written files then have mode 0600. Raises `BadInput` if the runs are in several folders
    and `out` is missing, and if the folder exists, unless `overwrite` is set.
    """
    options = options or AnalysisOptions()
    stored = find_runs(runs)
    folder = out or _folder_beside(stored)
    refuse_foreign(folder, overwrite)
    computed = compute_analyses(
        stored,
        data=data,
        options=options,
        command=build_command(runs, options, hidden=hidden, keys=keys),
        hidden=hidden,
        keys=keys,
        on_progress=on_progress,
    )
    with private_files(hidden), atomic_folder(folder, overwrite=overwrite) as place:
        analyses = computed.analyses
        for name, analysis in zip(analyses.index.analyses, analyses.each, strict=True):
            write_json(join_inside(place, name), analysis)
        for sheet in computed.sheets:
            write_suspect_sheet(place / sheet.suspects.sheet, sheet, options.workers)
        write_json(place / ACROSS, analyses.across)
        write_json(place / INDEX, analyses.index)
    return computed.analyses


def compute_analyses(
    runs: FoundRuns | Sequence[str | Path],
    *,
    data: Path | None = None,
    options: AnalysisOptions | None = None,
    command: str = "",
    hidden: bool = False,
    keys: Path | None = None,
    on_progress: OnProgress | None = None,
) -> ComputedAnalyses:
    """The analyses of some runs, nothing written; runs that cannot be read are listed in the index with the reason."""
    stored = runs if isinstance(runs, FoundRuns) else find_runs(runs)
    reader = open_reader(data, hidden=hidden, keys=keys)
    systems, faults = load_systems(stored.require_results(), reader, skip_faults=keys is None)
    return analyse_systems(
        systems,
        stored.skipped | faults,
        options=options,
        command=command,
        on_progress=on_progress,
    )


def analyse_systems(
    systems: Sequence[LoadedSystem],
    left_out: dict[str, str],
    *,
    options: AnalysisOptions | None = None,
    command: str = "",
    on_progress: OnProgress | None = None,
) -> ComputedAnalyses:
    """The analyses of systems that are loaded; `left_out` are the runs that are not among them, with the reason."""
    options = options or AnalysisOptions()
    kinds = metrics()[options.metric].kinds if options.metric else ()
    if options.metric and not any(system.task.kind in kinds for system in systems):
        cure = f"use it for {', '.join(kinds)} tasks"
        raise BadInput(f"{options.metric} does not score any of these tasks", cure=cure)
    left_out, item_sets = dict(left_out), ItemSets()
    every: list[SystemAnswers] = []
    for system in systems:
        metric = options.metric if system.task.kind in kinds else ""
        for name in system.sets.examples:
            answers = match_system(system, name, item_sets, metric)
            if answers is None:
                is_hidden = not system.sets.shown[name] and bool(system.sets.examples[name])
                left_out[f"{system.stem}--{name}"] = HIDDEN if is_hidden else NO_METRIC
            else:
                every.append(answers)
    overlaps = Overlaps(options)
    analyses: dict[str, Analysis] = {}
    for number, answers in enumerate(every):
        stem = answers.loaded.stem
        if on_progress is not None:
            on_progress(f"{stem} {answers.set}", number, len(every))
        analyses[name_file(stem, answers.set)] = analyse_set(answers, options, overlaps)
    check_keys(options.by, analyses.values())
    suspects, no_suspects = find_suspects(every, options)
    across = Across(
        partial=compare_partial_inputs(every, options),
        curves=learning_curves(every, options),
        stress=stress_systems(systems, options),
        suspects=tuple(each.suspects for each in suspects),
        no_suspects=no_suspects or UNSET,
    )
    index = Index(analyses=tuple(analyses), left_out=left_out, command=command)
    return ComputedAnalyses(
        Analyses(index, tuple(analyses.values()), across),
        tuple(each for each in suspects if each.items),
    )


def check_keys(keys: Iterable[str], analyses: Iterable[Analysis]) -> None:
    """Raise BadInput for a requested key that slices nothing."""
    every = list(analyses)
    for key in keys:
        if any(part.by == key for analysis in every for part in analysis.slices):
            continue
        reasons = [each.not_sliced[key] for each in every if key in each.not_sliced]
        reason = reasons[0] if reasons else "no item has this field"
        cure = "leave --by out to slice by every suitable field"
        raise BadInput(f"no result can be sliced by {key!r}: {reason}", cure=cure)


def analyse_set(answers: SystemAnswers, options: AnalysisOptions, overlaps: Overlaps) -> Analysis:
    """Everything about one system on one set."""
    if not all(hasattr(run, "statistics") for run in answers.sample.runs):
        # The metric reads all items again in each resample, so use fewer resamples.
        options = replace(options, resamples=min(options.resamples, MAX_RESAMPLES_IF_SLOW))
    slices, not_sliced = slice_answers(answers, options)
    calibration, no_calibration = measure_calibration(answers, options)
    overlap, no_overlap = overlaps.measure(answers)
    surprises, surprises_by = rank_surprises(answers, options)
    return Analysis(
        system=describe_system(answers.loaded),
        set=answers.set,
        n=answers.total,
        unanswered=answers.unanswered,
        metric=answers.metric.name,
        unit=answers.unit,
        better=answers.metric.better,
        score=score_whole(answers, options),
        resamples=options.resamples,
        seed=options.seed,
        slices=slices,
        not_sliced=not_sliced,
        cross=cross_tabulate(answers, options),
        confusion=tabulate_confusion(answers, options),
        calibration=calibration,
        no_calibration=no_calibration,
        overlap=overlap,
        no_overlap=no_overlap,
        surprises=surprises,
        surprises_by=surprises_by,
    )


def describe_system(loaded: LoadedSystem) -> System:
    """A system as it is stored."""
    spec, task = loaded.spec, loaded.task
    return System(
        task=task.name,
        kind=task.kind,
        dataset=task.dataset,
        language=loaded.sets.language,
        model=spec.model,
        settings=spec.settings,
        variation=spec.variation.title,
        inputs=spec.variation.inputs,
        share=spec.variation.share,
        shots=spec.variation.shots,
        train=spec.protocol.train,
        mark=spec.protocol.mark,
        seeds=loaded.seeds,
        runs=tuple(run.stored.path.name for run in loaded.runs),
        trained=loaded.trained,
    )


def collect_commands(folder: Path, analyses: Analyses) -> dict[str, str]:
    """For each sheet, the command that sends it to workers."""
    sheets = [suspects.sheet for suspects in analyses.across.suspects if suspects.sheet]
    commands = {}
    for sheet in sheets:
        project = f"second-look-{Path(sheet).name}" if len(sheets) > 1 else "second-look"
        commands[sheet] = collect_command(folder / sheet, project)
    return commands


def analyses_folder(runs: Sequence[str | Path], out: Path | None = None) -> Path:
    """Where the analyses of runs are written."""
    return out or _folder_beside(find_runs(runs))


def _folder_beside(stored: FoundRuns) -> Path:
    runs: list[StoredRun] = [*stored.results, *stored.choosing]
    parents = {run.path.resolve().parent for run in runs}
    if len(parents) > 1:
        raise BadInput("the runs are in several folders", cure="pass --out DIR")
    if not parents:
        stored.require_results()
    return parents.pop() / ANALYSES


def refuse_foreign(folder: Path, overwrite: bool) -> None:
    """Raise BadInput before the work if a file is in the way; foreign files, such as answers of workers, are never replaced."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        raise BadInput(
            "cannot be written", file=nearest, cure="choose another folder with --out DIR"
        )
    if not folder.exists():
        return
    refuse_existing(folder, overwrite)
    own = {INDEX, ACROSS}
    if (folder / INDEX).is_file():
        own |= set(read_json(folder / INDEX, Index).analyses)
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder)
        is_sheet = file.parts[0] == SUSPECTS and len(file.parts) == 3
        is_ours = str(file) in own or (is_sheet and file.name in (SHEET, TASKS, CELLS))
        if path.is_dir() or is_ours:
            continue
        what = f"contains a file that nikawa analyse did not write: {file}"
        raise BadInput(
            what, file=folder, cure="move it away, or choose another folder with --out DIR"
        )


def build_command(
    runs: Sequence[str | Path],
    options: AnalysisOptions,
    *,
    hidden: bool = False,
    keys: Path | None = None,
) -> str:
    """The command that reproduces the analyses."""
    default = AnalysisOptions()
    words = ["nikawa", "analyse", *map(str, runs)]
    for key in options.by:
        words += ["--by", key]
    for option, name in COMMAND_OPTIONS.items():
        value = getattr(options, name)
        if value != getattr(default, name):
            words += [option, str(value)]
    if hidden:
        words.append("--hidden")
    if keys is not None:
        words += ["--keys", str(keys)]
    return shlex.join(words)
