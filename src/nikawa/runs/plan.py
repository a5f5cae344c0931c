"""From what is asked for (tasks, models, seeds, settings, variations) to a list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import declared_protocol, find_tasks, is_custom
from nikawa.datasets.names import custom_path
from nikawa.datasets.reader import DataVersion, ExampleReader, source_task
from nikawa.errors import BadInput
from nikawa.models import Model, Trainable, find_model, model, models
from nikawa.models.base import Setup, read_settings
from nikawa.records import Task
from nikawa.runs.protocol import choose_protocol
from nikawa.runs.records import FILE, EvaluationProtocol, RunSpec, Stage, Variation, short_name
from nikawa.runs.store import digest_of
from nikawa.spec import name_and_split
from nikawa.text.compose import compose_text

MAX_NAME_CHARS = 80
"""Most characters of a name."""


def split_model_name(given: str) -> tuple[str, str]:
    """`mine=replay:FILE` as the user's name for a model and the model; the name is empty where there is none."""
    name, equals, model = given.partition("=")
    kind, colon, _ = name.partition(":")
    if not equals or (colon and kind in models()):  # the path has the sign: replay:a=b.jsonl
        return "", given
    name = compose_text(name.strip())  # one name, whichever system it was typed on
    if not name or len(name) > MAX_NAME_CHARS or ":" in name or not name.isprintable():
        what = f"{name!r} cannot name a model" if name else "a model is given an empty name"
        cure = f"write NAME={model}, NAME of up to {MAX_NAME_CHARS} characters that can be seen, and no colon"
        raise BadInput(what, cure=cure)
    return name, model


def refuse_shared_names(given: Iterable[str]) -> None:
    """A name stands for one model: two under it could not be told apart in a table."""
    known: dict[str, str] = {}
    for name, predictor in map(split_model_name, dict.fromkeys(given)):
        called = name or predictor
        if known.setdefault(called, predictor) != predictor:
            raise BadInput(
                f"{called!r} names {known[called]} and {predictor}",
                cure="give each a name of its own",
            )


Settings = dict[str, Any]


@dataclass(frozen=True)
class RunRequest:
    """What is asked for; every combination of it is run."""

    tasks: tuple[str, ...]
    """Tasks, datasets, suites, or dataset folders and records files of one's own."""
    models: tuple[str, ...]
    """Models, each with a name of one's own before it or not: `majority`, `mine=replay:FILE`."""
    seeds: tuple[int, ...] = (0,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the models that have them."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Settings with several values, one of which is chosen on dev."""
    inputs: tuple[str, ...] = ()
    """The inputs that are kept; empty: all."""
    shares: tuple[float, ...] = (1.0,)
    """Shares of the training data, each a run of its own."""
    shots: int = 0
    train: tuple[str, ...] = ()
    """Training sets instead of the task's own."""
    labels: Mapping[str, str] = field(default_factory=dict)
    choose_seeds: int = 0
    """How many of the seeds choose among the values of a grid; 0: all of them."""
    per_task: Mapping[str, RunRequest] = field(default_factory=dict)
    """Settings and grid of single tasks, from a preset."""


@dataclass(frozen=True)
class Family:
    """Runs that differ in seed and settings only: a row of the table, once settings are chosen."""

    task: Task
    predictor: str
    variation: Variation
    protocol: EvaluationProtocol
    seeds: tuple[int, ...]
    options: tuple[Settings, ...]
    """The settings to choose among; one: nothing to choose."""
    data: tuple[DataVersion, ...]
    reader: ExampleReader
    choosers: tuple[int, ...] = ()
    """The seeds settings are chosen by; empty: all."""
    name: str = field(default="", kw_only=True)
    """What the user calls the model; empty: its own name."""

    @property
    def model(self) -> str:
        """What tables call the model: the user's name, else its own with the whole path."""
        return self.name or self.predictor

    def runs(self, settings: Settings, stage: Stage = "result") -> list[RunSpec]:
        """A run a seed."""
        return [
            RunSpec(
                task=self.task.name,
                predictor=self.predictor,
                seed=seed,
                settings=settings,
                variation=self.variation,
                protocol=self.protocol,
                data=self._data(stage),
                stage=stage,
                own=self.task if is_custom(self.task.dataset) else msgspec.UNSET,
                name=self.name or msgspec.UNSET,
            )
            for seed in (self.choosers if stage == "selection" and self.choosers else self.seeds)
        ]

    def _data(self, stage: Stage) -> tuple[DataVersion, ...]:
        protocol = self.protocol
        evaluated = () if stage == "selection" else protocol.evaluate
        chosen_on = (protocol.select,) if protocol.select and not protocol.select_share else ()
        names = dict.fromkeys((*protocol.train, *chosen_on, *evaluated))
        return (*(self.reader.describe(name) for name in names), *self.data)

    def choosing(self) -> list[RunSpec]:
        """The runs settings are chosen by; none where there is no choice."""
        if len(self.options) == 1:
            return []
        return [run for settings in self.options for run in self.runs(settings, "selection")]


@dataclass(frozen=True)
class Plan:
    """What is to be run, and what of a suite cannot be."""

    families: tuple[Family, ...]
    left_out: tuple[str, ...]


def plan_runs(request: RunRequest, data: Path | None = None) -> Plan:
    """Every family of runs that is asked for; a part of a suite that cannot be run is left out and told."""
    _check(request)
    reader, families, left_out = ExampleReader(data), list[Family](), list[str]()
    for name in request.tasks:
        asked = find_tasks(name, reader.custom)
        for task, given in product(asked, request.models):
            try:
                families += _families(task, given, request.per_task.get(task.name, request), reader)
            except BadInput as problem:
                if len(asked) == 1:
                    raise
                left_out.append(f"{task.name}: {problem}")
    if not families:
        raise BadInput(
            "nothing of it can be run", cure=left_out[0] if left_out else "name tasks and models"
        )
    _refuse_namesakes(families)
    unique = {(f.task.name, f.model, msgspec.json.encode(f.variation)): f for f in families}
    return Plan(tuple(unique.values()), tuple(dict.fromkeys(left_out)))


def _refuse_namesakes(families: Iterable[Family]) -> None:
    """Two datasets of one's own that are called alike could not be told apart in a table."""
    places: dict[str, str] = {}
    for name, place in ((f.task.name, f.task.dataset) for f in families):
        if places.setdefault(name, place) != place:
            what = f"{places[name]} and {place} are both called {name}"
            raise BadInput(what, cure="rename one of them, or run one at a time")


def _check(request: RunRequest) -> None:
    """Refuse what no task or model could make good."""
    models = [find_model(split_model_name(given)[1])[0] for given in request.models]
    refuse_shared_names(request.models)
    asked = (request, *request.per_task.values())
    for name in sorted({name for part in asked for name in (*part.settings, *part.grid)}):
        if not any(name in _setting_names(kind) for kind in models):
            known = sorted({known for kind in models for known in _setting_names(kind)})
            cure = f"they have: {', '.join(known)}" if known else "none of them has settings"
            raise BadInput(f"no model here has the setting {name!r}", cure=cure)
    for name in sorted(
        {name for part in asked for name, values in part.grid.items() if not values}
    ):
        raise BadInput(f"the grid of {name!r} has no value", cure=f"write --grid {name}=V1,V2")
    for share in request.shares:
        if not 0 < share <= 1:
            raise BadInput(
                f"{share} is no share", cure="write numbers above 0 and up to 1: 0.25,0.5,1.0"
            )
    if not request.seeds:
        raise BadInput("no seed is given", cure="give at least one")
    if request.choose_seeds < 0:
        raise BadInput(
            f"{request.choose_seeds} seeds cannot choose", cure="write a number from 0 on"
        )
    if request.shots < 0:
        raise BadInput(f"{request.shots} shots cannot be drawn", cure="write a number from 0 on")
    if request.labels and not request.train:
        raise BadInput(
            "labels are renamed in other training sets only", cure="name them: --train DATASET"
        )


def _setting_names(kind: Model) -> set[str]:
    return (
        {f.encode_name for f in msgspec.structs.fields(kind.settings)} if kind.settings else set()
    )


def _families(
    task: Task, given: str, request: RunRequest, reader: ExampleReader
) -> Iterator[Family]:
    name, predictor = split_model_name(given)
    kind, argument = find_model(predictor)
    if task.kind not in kind.kinds:
        raise BadInput(
            f"{kind.name} does not answer {task.kind} tasks",
            cure=f"it answers: {', '.join(kind.kinds)}",
        )
    options = _different(_options(kind, task, request))
    made = model(predictor, settings=options[0] | runtime_settings(kind, request.settings))
    shown = any(settings.get("shots", "shots" not in _setting_names(kind)) for settings in options)
    learns = (
        isinstance(made, Trainable) and shown
    )  # one that is shown examples, but none, learns nothing
    files = tuple(_files(predictor, kind.home(argument), options))
    for variation in _variations(task, request):
        for train in variation.train:
            reader.training_examples(
                train, task, variation.labels
            )  # labels that do not fit are told now
        protocol = choose_protocol(task, variation, reader, learns=learns, sweep=len(options) > 1)
        yield Family(
            task,
            predictor,
            variation,
            protocol,
            request.seeds,
            options,
            files,
            reader,
            request.seeds[: request.choose_seeds],
            name=name,
        )


def _files(predictor: str, argument: str, options: Sequence[Settings]) -> Iterator[DataVersion]:
    """Files and folders a model is made from, or that a setting names, are a part of what defines the run."""
    told = {value for settings in options for value in settings.values() if isinstance(value, str)}
    for name, path in (
        (short_name(predictor), argument),
        *((value, value) for value in sorted(told)),
    ):
        if path and ("/" in path or "." in path) and Path(path).exists():
            yield DataVersion(name=name, version=FILE, digest=digest_of(Path(path)), n=0)


def _different(options: Iterable[Settings]) -> tuple[Settings, ...]:
    """Settings without repeats: a grid may name a value twice, or one that holds anyway."""
    return tuple(
        {msgspec.json.encode(settings, order="sorted"): settings for settings in options}.values()
    )


def runtime_settings(kind: Model, settings: Mapping[str, Any]) -> Settings:
    """Settings that tell how the work is done, which define nothing."""
    return {name: settings[name] for name in kind.outside if name in settings}


def _options(kind: Model, task: Task, request: RunRequest) -> Iterator[Settings]:
    """Every combination of settings the model has, checked; those that say what holds anyway are left out."""
    known = _setting_names(kind)
    fixed = {name: value for name, value in request.settings.items() if name in known}
    grid = {name: values for name, values in request.grid.items() if name in known}
    for values in product(*grid.values()):
        settings = {**fixed, **dict(zip(grid, values, strict=True))}
        if kind.settings is None:
            yield {}
            continue
        made = read_settings(kind.settings, Setup(settings=settings))
        plain = msgspec.to_builtins(made)
        defaults = {f.encode_name: f.default for f in msgspec.structs.fields(kind.settings)}
        given = {
            name: plain[name] for name in settings if name in plain and name not in kind.outside
        }
        kept = {name: value for name, value in given.items() if value != defaults[name]}
        shown = (
            {"shots": "all"} if request.shots and "shots" in known and "shots" not in kept else {}
        )
        yield kept | shown | _picked(kind, task, kept)


def _picked(kind: Model, task: Task, settings: Settings) -> Settings:
    """The model that `baseline` stands for is written down: what it is may change with a later version."""
    if kind.name != "baseline" or settings.get("model"):
        return {}
    from nikawa.models.baseline import choose_baseline

    return {"model": choose_baseline(task)}


def _variations(task: Task, request: RunRequest) -> Iterator[Variation]:
    inputs = _kept(task, request.inputs)
    own = declared_protocol(task.dataset).training_sets
    trainings: Sequence[tuple[str, ...]] = (
        [request.train] if request.train else [(), *((t,) for t in own)]
    )
    for train, share in product(trainings, request.shares):
        named_sets = tuple(_spelled(name, task) for name in train)
        if named_sets == (f"{task.dataset}:train",):  # as without being told
            named_sets = ()
        labels = dict(request.labels) if named_sets else {}
        yield Variation(
            inputs=inputs, share=share, shots=request.shots, train=named_sets, labels=labels
        )


def _kept(task: Task, inputs: tuple[str, ...]) -> tuple[str, ...]:
    for name in inputs:
        if name not in task.inputs:
            raise BadInput(
                f"{task.name} has no input {name!r}", cure=f"it has: {', '.join(task.inputs)}"
            )
    return () if set(inputs) == set(task.inputs) else tuple(n for n in task.inputs if n in inputs)


def _spelled(name: str, task: Task) -> str:
    """A training set by its full name, after a look at whether the task can learn from it."""
    source_task(name, task)
    dataset, _ = name_and_split(name)
    if dataset in benchmarks():
        return f"{name}:train" if name == dataset else name
    path, split = custom_path(name)
    home = is_custom(task.dataset) and path.resolve() == Path(task.dataset).resolve()
    return f"{task.dataset}:{split or 'train'}" if home else name
