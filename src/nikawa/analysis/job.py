"""Analyse stored runs: how good, how sure, and where they fail. Nothing is run again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nikawa.analysis.across import curves, partial_inputs, stresses
from nikawa.analysis.overlap import Overlaps
from nikawa.analysis.results import (
    ACROSS,
    FOLDER,
    INDEX,
    SUSPECTS,
    Across,
    Analyses,
    Analysis,
    Index,
    read_analyses,
)
from nikawa.analysis.sample import Sitting, sit
from nikawa.analysis.set_analysis import (
    How,
    calibrated,
    confused,
    crossed,
    sliced,
    surprised,
    whole,
)
from nikawa.analysis.suspects import Doubted, collect_command, suspects, write_sheet
from nikawa.analysis.systems import Loaded, by_system, find_runs, load_systems
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.json import read_json
from nikawa.metrics import metrics
from nikawa.recipes.sheet import CELLS, SHEET, TASKS
from nikawa.runs.store import StoredRun, write_json

__all__ = ["Analyses", "How", "analyse", "compute", "place_of", "read_analyses", "sheets_of"]

NOTHING = "no metric is defined for its answers"
SLOW = 200
"""Resamples of metrics that are no sums, such as a rank correlation."""
Progress = Callable[[str, int, int], None]
"""What is being analysed, how many are done, and of how many."""


@dataclass(frozen=True)
class Computed:
    """Analyses in memory, with the items of the sheets for workers."""

    analyses: Analyses
    sheets: tuple[Doubted, ...]


def analyse(
    runs: Sequence[str | Path],
    *,
    out: Path | None = None,
    data: Path | None = None,
    how: How | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Analyses:
    """Analyse runs (folders, folders of runs, patterns) and write `analyses/` beside them, or to `out`."""
    found = find_runs(runs)
    place = out or _beside(found)
    _refuse(place, overwrite)
    computed = compute(found, data=data, how=how, command=_command(runs, how), progress=progress)
    with atomic_folder(place, overwrite=overwrite) as folder:
        _write(folder, computed, (how or How()).workers)
    return computed.analyses


def compute(
    runs: Sequence[StoredRun],
    *,
    data: Path | None = None,
    how: How | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Computed:
    """The analyses of some runs, nothing written."""
    settings = how or How()
    systems, left_out = load_systems(by_system(runs), ExampleReader(data))
    _check_metric(systems, settings.metric)
    places = [
        (loaded, name, _sit(loaded, name, settings)) for loaded in systems for name in loaded.sets
    ]
    sittings = [sitting for _, _, sitting in places if sitting is not None]
    left_out |= {
        f"{loaded.stem}--{name}": NOTHING for loaded, name, sitting in places if sitting is None
    }
    overlaps, tell = Overlaps(settings), progress or (lambda what, done, total: None)
    each: dict[str, Analysis] = {}
    for number, sitting in enumerate(sittings):
        tell(f"{sitting.loaded.stem} {sitting.set}", number, len(sittings))
        fitting = _affordable(sitting, settings)
        each[f"{sitting.loaded.stem}--{sitting.set}.json"] = analysis(sitting, fitting, overlaps)
    _check_keys(settings.by, each.values())
    doubted = suspects(sittings, settings)
    across = Across(
        partial=partial_inputs(sittings, settings),
        curves=curves(sittings, settings),
        stress=stresses(systems, settings),
        suspects=tuple(found for found, *_ in doubted),
    )
    index = Index(analyses=tuple(each), left_out=left_out, command=command)
    return Computed(
        Analyses(index, tuple(each.values()), across), tuple(one for one in doubted if one[2])
    )


def _sit(loaded: Loaded, name: str, how: How) -> Sitting | None:
    kinds = metrics()[how.metric].kinds if how.metric else ()
    return sit(loaded, name, how.metric if loaded.task.kind in kinds else "")


def _affordable(sitting: Sitting, how: How) -> How:
    """Fewer resamples for a metric that must see all items anew in each of them."""
    sums = all(hasattr(run, "statistics") for run in sitting.sample.runs)
    return how if sums else replace(how, resamples=min(how.resamples, SLOW))


def _check_metric(systems: Iterable[Loaded], name: str) -> None:
    if name and not any(loaded.task.kind in metrics()[name].kinds for loaded in systems):
        kinds = ", ".join(metrics()[name].kinds)
        raise BadInput(f"{name} scores none of these tasks", cure=f"it is for {kinds} tasks")


def _check_keys(keys: Iterable[str], each: Iterable[Analysis]) -> None:
    """A key that was asked for must slice something."""
    found = list(each)
    for key in keys:
        if not any(part.by == key for one in found for part in one.slices):
            whys = [one.not_sliced[key] for one in found if key in one.not_sliced]
            cure = "leave --by out to slice by all that fits"
            raise BadInput(
                f"nothing can be sliced by {key!r}: {whys[0] if whys else 'no item has it'}",
                cure=cure,
            )


def analysis(sitting: Sitting, how: How, overlaps: Overlaps) -> Analysis:
    """Everything about one system on one set."""
    parts, passed = sliced(sitting, how)
    calibration, no_calibration = calibrated(sitting, how)
    overlap, no_overlap = overlaps.of(sitting)
    worst, ranked = surprised(sitting, how)
    return Analysis(
        system=sitting.loaded.system,
        set=sitting.set,
        n=sitting.total,
        unanswered=sitting.unanswered,
        metric=sitting.metric.name,
        unit=sitting.unit,
        better=sitting.metric.better,
        score=whole(sitting, how),
        resamples=how.resamples,
        seed=how.seed,
        slices=parts,
        not_sliced=passed,
        cross=crossed(sitting, how),
        confusion=confused(sitting, how),
        calibration=calibration,
        no_calibration=no_calibration,
        overlap=overlap,
        no_overlap=no_overlap,
        surprises=worst,
        surprises_by=ranked,
    )


def sheets_of(place: Path, found: Analyses) -> dict[str, str]:
    """Sheet to the command that takes it to workers."""
    sheets = [s.sheet for s in found.across.suspects if s.sheet]
    names = {
        sheet: f"second-look-{Path(sheet).name}" if len(sheets) > 1 else "second-look"
        for sheet in sheets
    }
    return {sheet: collect_command(place / sheet, name) for sheet, name in names.items()}


def place_of(runs: Sequence[str | Path], out: Path | None = None) -> Path:
    """Where the analyses of runs are written."""
    return out or _beside(find_runs(runs))


def _beside(runs: Sequence[StoredRun]) -> Path:
    parents = {run.path.resolve().parent for run in runs}
    if len(parents) > 1:
        raise BadInput("the runs are in several folders", cure="say where to write: --out DIR")
    return parents.pop() / FOLDER


def _refuse(place: Path, overwrite: bool) -> None:
    """Say what is in the way before the work; nothing of anybody else is replaced."""
    nearest = next(path for path in (place, *place.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        raise BadInput("cannot be written", file=nearest, cure="choose another place: --out DIR")
    if not place.exists():
        return
    refuse_existing(place, overwrite)
    foreign = _foreign(place)
    if foreign:
        what = f"holds what no analysis wrote: {foreign[0]}"
        raise BadInput(what, file=place, cure="move it away, or choose another place: --out DIR")


def _foreign(place: Path) -> list[str]:
    """Files that are not of analyses, such as answers that workers sent back."""
    own = {INDEX, ACROSS}
    if (place / INDEX).is_file():
        own |= set(read_json(place / INDEX, Index).analyses)
    sheet = {SHEET, TASKS, CELLS}
    files = [path.relative_to(place) for path in sorted(place.rglob("*")) if not path.is_dir()]
    return [
        str(file)
        for file in files
        if str(file) not in own
        and not (file.parts[0] == SUSPECTS and len(file.parts) == 3 and file.name in sheet)
    ]


def _write(folder: Path, computed: Computed, workers: int) -> None:
    found = computed.analyses
    for name, each in zip(found.index.analyses, found.each, strict=True):
        write_json(folder / name, each)
    for suspected, sitting, items in computed.sheets:
        write_sheet(folder / suspected.sheet, sitting, items, workers)
    write_json(folder / ACROSS, found.across)
    write_json(folder / INDEX, found.index)


def _command(runs: Sequence[str | Path], how: How | None) -> str:
    """The command that makes the same again."""
    settings, default = how or How(), How()
    words = ["nikawa", "analyse", *map(str, runs)]
    words += [word for key in settings.by for word in ("--by", key)]
    for option, name in OPTIONS.items():
        value = getattr(settings, name)
        if value != getattr(default, name):
            words += [option, str(value)]
    return shlex.join(words)


OPTIONS = {
    "--metric": "metric",
    "--resamples": "resamples",
    "--seed": "seed",
    "--tokeniser": "tokeniser",
    "--top": "top",
    "--workers-each": "workers",
}
"""Option of the command line to the field of `How`."""
