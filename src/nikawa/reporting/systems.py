"""The runs of a report: found, held against their markers, put together by system, read with their examples."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import typed
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, MissingData
from nikawa.io.json import encode_json
from nikawa.records import Example, Prediction, Task
from nikawa.reporting.sources import address
from nikawa.runs.material import Material, gather, task_of
from nikawa.runs.store import PREDICTIONS, RUN, StoredRun, stored_runs
from nikawa.runs.value import RunSpec, SetScores


@dataclass(frozen=True)
class Answered:
    """One run: what it is, its scores and its answers."""

    stored: StoredRun
    spec: RunSpec
    scores: tuple[SetScores, ...]
    answers: dict[str, list[Prediction]]
    """Set to answers, in the order of its examples."""
    folder: str
    """Its folder as an address from the folder of the report."""

    def answers_place(self, name: str) -> str:
        """Where the answers to a set are, as an address."""
        return f"{self.folder}/{PREDICTIONS}/{address(name)}.jsonl"


@dataclass(frozen=True)
class SystemRuns:
    """A system on one task: runs that differ in their seeds alone."""

    name: str
    runs: tuple[Answered, ...]

    @property
    def spec(self) -> RunSpec:
        """Of its first run."""
        return self.runs[0].spec


@dataclass(frozen=True)
class TaskRuns:
    """The systems that answered the same examples of a task."""

    name: str
    task: Task
    main: str
    """The set the result is told on."""
    sets: dict[str, list[Example]]
    systems: tuple[SystemRuns, ...]
    shares: tuple[SystemRuns, ...] = ()
    """Systems that learned from a part of the training data, for learning curves."""


def scored_items(part: TaskRuns, name: str = "") -> list[Example]:
    """The items of a set (else the main one) that are scored: those whose labels are not hidden."""
    return [example for example in part.sets[name or part.main] if not example.hidden]


def find_runs(given: Sequence[str]) -> list[StoredRun]:
    """Finished runs of what a user names: run folders, folders of runs, or patterns of either."""
    found: dict[Path, StoredRun] = {}
    for run in (run for place in places(given) for run in _below(place)):
        found.setdefault(run.path.resolve(), run)
    if not found:
        raise BadInput(
            "holds no finished run",
            file=given[0],
            cure="run: nikawa run --model M --tasks T --out DIR",
        )
    return list(found.values())


def places(given: Sequence[str]) -> Iterator[Path]:
    """Folders that a user names, or patterns of them match."""
    for word in given:
        found = [Path(word)] if Path(word).exists() else _matching(word)
        if not found:
            raise BadInput(
                "no such run", file=word, cure="name a run's folder, or the folder nikawa run wrote"
            )
        yield from found


def _matching(pattern: str) -> list[Path]:
    """Folders that match a pattern the shell left alone."""
    path = Path(pattern)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    root = Path(path.anchor) if path.is_absolute() else Path()
    return (
        sorted(root.glob(str(Path(*parts)))) if parts and any(c in pattern for c in "*?[") else []
    )


def _below(place: Path) -> list[StoredRun]:
    if (place / RUN).is_file():
        run = StoredRun(place)
        if not run.done:
            raise BadInput(
                "is not finished", file=place, cure="start the command that made it again"
            )
        return [run]
    if not place.is_dir():
        raise BadInput(
            "is no run", file=place, cure="name a run's folder, or the folder nikawa run wrote"
        )
    return [run for run in stored_runs(place) if run.done and run.spec.stage == "result"]


@dataclass
class Reader:
    """Reads runs with their examples; runs that rest on the same sets share them."""

    data: Path | None
    out: Path | None = None
    """The folder that addresses are seen from; None: paths as they were given."""
    kept: dict[bytes, Material] = field(default_factory=dict)

    def material(self, spec: RunSpec) -> Material:
        """The examples a run answered, as published."""
        key = encode_json(
            (spec.task, spec.protocol, spec.data, spec.variation.train, spec.variation.labels)
        )
        if key not in self.kept:
            self.kept[key] = gather(spec, ExampleReader(self.data))
        return self.kept[key]

    def read(self, stored: StoredRun, material: Material) -> Answered:
        """A run with its answers, which must fit the examples."""
        stored.check()
        sets = {
            name: stored.predictions(name, material.task, examples)
            for name, examples in material.sets.items()
        }
        return Answered(
            stored, stored.spec, tuple(stored.scores()), sets, seen_from(self.out, stored.path)
        )


def seen_from(out: Path | None, path: Path) -> str:
    """A path as an address from a folder; whole where there is no way from the one to the other."""
    if out is not None:
        try:
            path = Path(os.path.relpath(path, out))
        except ValueError:  # on another drive
            path = path.absolute()
    return address(path.as_posix())


def task_runs(
    runs: Iterable[StoredRun], data: Path | None = None, out: Path | None = None
) -> list[TaskRuns]:
    """Runs by task and answered examples, in the order of the registered tasks; `out` is the folder of the report."""
    reader = Reader(data, out)
    parts: dict[tuple[str, tuple[str, ...], str], tuple[Material, list[Answered]]] = {}
    for stored in runs:
        material = _material(reader, stored)
        main = next(iter(material.sets))
        key = (
            stored.spec.task,
            (main, *(example.id for example in material.sets[main])),
            _content(stored.spec),
        )
        parts.setdefault(key, (material, []))[1].append(reader.read(stored, material))
    order = {
        task.name: i for i, task in enumerate(t for b in benchmarks().values() for t in b.tasks)
    }
    found = sorted(
        parts.items(), key=lambda part: (order.get(part[0][0], len(order)), part[0][1][0])
    )
    named = _apart(
        [(task, f"on {names[0]}", f"({m.task.dataset})") for (task, names, _), (m, _) in found]
    )
    return [_task_runs(name, *part) for name, (_, part) in zip(named, found, strict=True)]


def _material(reader: Reader, stored: StoredRun) -> Material:
    """The examples of a run; where they are not here as they were, say which run asks for them."""
    try:
        return reader.material(stored.spec)
    except MissingData:
        raise
    except BadInput as problem:
        if problem.file is not None:
            raise
        raise BadInput(
            problem.what, file=stored.path, cure=f"{problem.cure}; or report the other runs alone"
        ) from problem


def _content(spec: RunSpec) -> str:
    """The digest of a dataset of one's own: ids do not tell two of them apart."""
    main = spec.protocol.evaluate[0]
    return "" if spec.own is UNSET else next((d.digest for d in spec.data if d.name == main), "")


def _apart(words: Sequence[tuple[str, ...]]) -> list[str]:
    """Names of as few words as tell them apart."""
    names = [first for first, *_ in words]
    for place in range(1, len(words[0]) if words else 0):
        again = Counter(names)
        names = [
            f"{n} {w[place]}".rstrip() if again[n] > 1 else n
            for n, w in zip(names, words, strict=True)
        ]
    return names


def _task_runs(name: str, material: Material, answered: Sequence[Answered]) -> TaskRuns:
    sets = {k: list(v) for k, v in material.sets.items()}
    whole = [
        run for run in answered if run.spec.variation.share == 1.0 and not run.spec.variation.shots
    ]
    rest = [run for run in answered if run not in whole] if whole else []
    shown = tuple(_systems(whole or answered))
    return TaskRuns(name, material.task, next(iter(sets)), sets, shown, tuple(_systems(rest)))


def _systems(answered: Iterable[Answered]) -> Iterator[SystemRuns]:
    """Runs by everything but the seed; names tell them apart."""
    groups: dict[bytes, list[Answered]] = {}
    for run in answered:
        spec = run.spec
        key = encode_json((spec.model, spec.settings, spec.variation, spec.protocol, spec.data))
        groups.setdefault(key, []).append(run)
    specs = [runs[0].spec for runs in groups.values()]
    words = [(titled(spec), _settings(spec, specs), f"#{spec.hash[:4]}") for spec in specs]
    for name, runs in zip(_apart(words), groups.values(), strict=True):
        yield SystemRuns(name, tuple(sorted(runs, key=lambda run: run.spec.seed)))


def _settings(spec: RunSpec, others: Sequence[RunSpec]) -> str:
    """The settings by which it differs from others of its name; nothing where it is not them."""
    alike = [other.settings for other in others if titled(other) == titled(spec)]
    keys = dict.fromkeys(key for settings in alike for key in settings)
    differ = [
        key for key in keys if len({encode_json(settings.get(key)) for settings in alike}) > 1
    ]
    told = ", ".join(f"{key}={spec.settings[key]}" for key in differ if key in spec.settings)
    return f"[{told or 'default'}]" if differ else ""


def titled(spec: RunSpec) -> str:
    """What a system is called: its model, and how it departs from the task."""
    return f"{spec.model} ({spec.variation.title})" if spec.variation.title else spec.model


def remake(spec: RunSpec, seeds: Sequence[int], out: str) -> str:
    """The command that makes the runs of a system anew."""
    from shlex import quote

    kept = spec.variation
    given = spec.predictor if spec.name is UNSET else f"{spec.name}={spec.predictor}"
    words = ["nikawa run", f"--model {quote(given)}", f"--tasks {quote(typed(task_of(spec)))}"]
    words += [f"--seeds {_seeds(seeds)}"]
    words += [f"--set {quote(f'{key}={value}')}" for key, value in spec.settings.items()]
    words += [f"--inputs {','.join(kept.inputs)}"] if kept.inputs else []
    words += [f"--share {kept.share:g}"] if kept.share != 1.0 else []
    words += [f"--shots {kept.shots}"] if kept.shots else []
    words += [f"--train {quote(','.join(kept.train))}"] if kept.train else []
    words += [f"--label {quote(f'{old}={new}')}" for old, new in kept.labels.items()]
    return " ".join([*words, f"--out {quote(out)}"])


def _seeds(seeds: Sequence[int]) -> str:
    """As `nikawa run` reads them: 3 for 0, 1 and 2; a lone number other than 0 has a comma behind it."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")
