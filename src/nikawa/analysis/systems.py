"""The runs to analyse, as systems: runs that differ in their seeds alone belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path

from msgspec.structs import replace

from nikawa.analysis.results import System
from nikawa.datasets.custom import card_of
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput
from nikawa.records import Example, Prediction, Task
from nikawa.runs.material import gather
from nikawa.runs.store import RUN, StoredRun, stored_runs
from nikawa.runs.value import RunSpec

Answers = Mapping[str, Prediction]


@dataclass(frozen=True)
class Loaded:
    """A system with its examples and answers."""

    system: System
    spec: RunSpec
    """That of the first seed."""
    task: Task
    """As published."""
    sets: dict[str, list[Example]]
    """Set to the examples whose gold may be shown."""
    answers: dict[str, list[Answers]]
    """Set to the answers of each seed."""
    names: dict[str, str]
    """Set to its full name: `jsick:test`."""
    called: str
    """The dataset as references name it: one of one's own by its card, wherever it lies."""

    @property
    def stem(self) -> str:
        """How its files are called."""
        return replace(self.spec, seed=0).folder


@dataclass(frozen=True)
class Found:
    """Runs by system, and those that were left out."""

    systems: list[list[StoredRun]]
    left_out: dict[str, str] = field(default_factory=dict)


def find_runs(names: Iterable[str | Path]) -> list[StoredRun]:
    """The runs of folders, of folders of runs, and of patterns; each once."""
    found: dict[Path, StoredRun] = {}
    for name in names:
        for path in _matching(str(name)):
            runs = [StoredRun(path)] if (path / RUN).is_file() else stored_runs(path)
            if not runs:
                raise BadInput(
                    "holds no run", file=path, cure="name a folder that nikawa run wrote"
                )
            found.update((run.path.resolve(), run) for run in runs)
    return list(found.values())


def _matching(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return [path]
    if path.is_file():
        raise BadInput("is a file", file=path, cure="name a run's folder, or a folder of runs")
    matches = [Path(match) for match in sorted(glob(name)) if (Path(match) / RUN).is_file()]  # noqa: PTH207 — the pattern may be absolute
    if not matches:
        raise BadInput(
            "no such folder, and no run matches",
            file=path,
            cure="name a folder that nikawa run wrote",
        )
    return matches


def by_system(runs: Sequence[StoredRun]) -> Found:
    """Finished results by system, seeds in order; the same run twice counts once."""
    groups: dict[str, dict[int, StoredRun]] = {}
    left_out: dict[str, str] = {}
    for run in runs:
        try:
            spec = run.spec
        except BadInput as problem:
            left_out[run.path.name] = str(problem)
            continue
        if spec.stage != "result":
            left_out[run.path.name] = "a run of a sweep, on the set settings are chosen on"
        elif not run.done:
            left_out[run.path.name] = "not finished"
        else:
            groups.setdefault(replace(spec, seed=0).hash, {}).setdefault(spec.seed, run)
    if not groups:
        why = "; ".join(sorted(set(left_out.values()))) or "there is none"
        raise BadInput(
            f"no finished run to analyse: {why}", cure="nikawa run list shows their state"
        )
    return Found([[part[seed] for seed in sorted(part)] for part in groups.values()], left_out)


def load_systems(found: Found, reader: ExampleReader) -> tuple[list[Loaded], dict[str, str]]:
    """Every system whose data is here as it was and whose files are whole, and why others are left out.

    Where there is none, the first fault is raised.
    """
    loaded: list[Loaded] = []
    left_out = dict(found.left_out)
    fault: BadInput | None = None
    for runs in found.systems:
        try:
            loaded.append(load_system(runs, reader))
        except BadInput as problem:
            fault = fault or problem
            left_out |= {run.path.name: str(problem) for run in runs}
    if not loaded and fault is not None:
        raise fault
    return loaded, left_out


def load_system(runs: Sequence[StoredRun], reader: ExampleReader) -> Loaded:
    """Examples and answers of the runs of one system; files that were changed are told."""
    for run in runs:
        run.check()
    spec = runs[0].spec
    material = gather(spec, reader)
    every = {
        name: [_read(run, name, material.task, examples) for run in runs]
        for name, examples in material.sets.items()
    }
    sets = {name: [e for e in examples if not e.hidden] for name, examples in material.sets.items()}
    names = dict(
        zip(material.sets, spec.protocol.evaluate, strict=False)
    )  # folds answer the first alone
    card, language = card_of(material.task.dataset)
    system = _system(runs, spec, material.task, language)
    return Loaded(system, spec, material.task, sets, every, names, card.name)


def _read(run: StoredRun, name: str, task: Task, examples: Sequence[Example]) -> Answers:
    return {prediction.example: prediction for prediction in run.predictions(name, task, examples)}


def _system(runs: Sequence[StoredRun], spec: RunSpec, task: Task, language: str) -> System:
    trained = [run.about().trained for run in runs]
    return System(
        task=task.name,
        kind=task.kind,
        dataset=task.dataset,
        language=language,
        model=spec.model,
        settings=spec.settings,
        variation=spec.variation.title,
        inputs=spec.variation.inputs,
        share=spec.variation.share,
        shots=spec.variation.shots,
        train=spec.protocol.train,
        mark=spec.protocol.mark,
        seeds=tuple(run.spec.seed for run in runs),
        runs=tuple(run.path.name for run in runs),
        trained=round(sum(trained) / len(trained)),
    )
