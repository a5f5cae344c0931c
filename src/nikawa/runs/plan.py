"""From a request (tasks, models, seeds, settings, variations) to a list of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import is_custom
from nikawa.datasets.names import custom_path
from nikawa.datasets.reader import DataVersion, ExampleReader, source_task
from nikawa.datasets.task_lookup import declared_protocol, find_tasks
from nikawa.errors import BadInput
from nikawa.io.remote import to_path
from nikawa.models import Model, Trainable, find_model, model, parse_model_name
from nikawa.models.base import Setup, check_kind, read_settings
from nikawa.models.secrets import environment_secrets, mask_secrets
from nikawa.records import Task
from nikawa.runs.protocol import choose_protocol
from nikawa.runs.records import FILE, EvaluationProtocol, RunSpec, Stage, Variation
from nikawa.runs.request import RunRequest, check_request
from nikawa.runs.store import digest_of
from nikawa.spec import name_and_split

Settings = dict[str, Any]


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
    given: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    """The settings as requested, including secrets and settings that do not define a run."""

    @property
    def model(self) -> str:
        """What tables call the model: the user's name, else its own with the whole path."""
        return self.name or self.predictor

    @property
    def title(self) -> str:
        """Task, model and variation on one line, for messages."""
        short = parse_model_name(self.model).short
        return " ".join(filter(None, (self.task.name, short, self.variation.title)))

    def runs(self, settings: Settings, stage: Stage = "result") -> list[RunSpec]:
        """One run per seed, with these settings."""
        protocol = self.protocol
        seeds = self.seeds
        sets = [*protocol.train]
        if protocol.select and not protocol.select_share:
            sets.append(protocol.select)
        if stage == "result":
            sets += protocol.evaluate
        elif self.choosers:
            seeds = self.choosers
        versions = [self.reader.describe(name) for name in dict.fromkeys(sets)]
        return [
            RunSpec(
                task=self.task.name,
                predictor=self.predictor,
                seed=seed,
                settings=settings,
                variation=self.variation,
                protocol=protocol,
                data=(*versions, *self.data),
                stage=stage,
                own=self.task if is_custom(self.task.dataset) else msgspec.UNSET,
                name=self.name or msgspec.UNSET,
            )
            for seed in seeds
        ]

    def selection_runs(self) -> list[RunSpec]:
        """The runs that choose settings; empty without a choice."""
        if len(self.options) == 1:
            return []
        return [run for settings in self.options for run in self.runs(settings, "selection")]


@dataclass(frozen=True)
class Plan:
    """What is to be run, and what of a suite cannot be."""

    families: tuple[Family, ...]
    left_out: tuple[str, ...]


def plan_runs(request: RunRequest, data: Path | None = None) -> Plan:
    """Every family of runs that a request names; `data` is the folder of datasets.

    Raises BadInput for a task that cannot be run. One that is a part of a suite is skipped instead;
    `Plan.left_out` says why.
    """
    check_request(request)
    reader = ExampleReader(data)
    families: list[Family] = []
    left_out: dict[str, None] = {}
    for name in request.tasks:
        tasks = find_tasks(name, reader.custom)
        for task, model_name in product(tasks, request.models):
            task_request = request.per_task.get(task.name, request)
            try:
                families += plan_families(task, model_name, task_request, reader)
            except BadInput as problem:
                if len(tasks) == 1:
                    raise
                left_out[f"{task.name}: {problem}"] = None
    if not families:
        cure = next(iter(left_out), "choose other tasks or models")
        raise BadInput("none of the tasks can run", cure=cure)
    places: dict[str, str] = {}
    unique: dict[tuple[str, str, bytes], Family] = {}
    for family in families:
        name, place = family.task.name, family.task.dataset
        if places.setdefault(name, place) != place:  # a table could not distinguish them
            what = f"{places[name]} and {place} are both named {name}"
            raise BadInput(what, cure="rename one of them, or run one at a time")
        unique[name, family.model, msgspec.json.encode(family.variation)] = family
    return Plan(tuple(unique.values()), tuple(left_out))


def plan_families(
    task: Task, model_name: str, request: RunRequest, reader: ExampleReader
) -> Iterator[Family]:
    """The families of one task and one model, as the user wrote it: one for each variation of the
    request.
    """
    name = parse_model_name(model_name, may_have_label=True)
    kind, argument = find_model(name.full)
    check_kind(kind.name, kind.kinds, task)
    # a grid may repeat a value, or contain the default
    options = {
        msgspec.json.encode(settings, order="sorted"): settings
        for settings in combine_settings(kind, task, request, argument)
    }
    settings = tuple(options.values())
    made = model(name.full, settings=settings[0] | runtime_settings(kind, request.settings))
    # a model that is shown examples learns nothing where it is shown none
    takes_shots = "shots" in kind.default_settings
    is_shown_any = any(option.get("shots", not takes_shots) for option in settings)
    learns = isinstance(made, Trainable) and is_shown_any
    files = tuple(_digest_files(kind, name.short, kind.home(argument), settings))
    shipped = {
        title: digest
        for each in settings
        for title, digest in kind.shipped_files(task, each).items()
    }
    files += tuple(
        DataVersion(name=title, version=FILE, digest=digest, n=0)
        for title, digest in shipped.items()
    )
    for variation in vary_request(task, request):
        for train in variation.train:
            # refuses labels that do not fit before any run begins
            reader.training_examples(train, task, variation.labels)
        protocol = choose_protocol(task, variation, reader, learns=learns, sweep=len(settings) > 1)
        # a limit that leaves nothing out is the run of the whole sets
        cuts = variation.limit and _cuts_any_set(variation.limit, protocol, task, reader)
        yield Family(
            task=task,
            predictor=name.full,
            variation=replace(variation, limit=variation.limit if cuts else 0),
            protocol=protocol,
            seeds=request.seeds,
            options=settings,
            data=files,
            reader=reader,
            choosers=request.seeds[: request.choose_seeds],
            name=name.label,
            given=request.settings,
        )


def _cuts_any_set(
    limit: int, protocol: EvaluationProtocol, task: Task, reader: ExampleReader
) -> bool:
    """Whether a limit leaves out an item of a set that is answered."""
    sets = [*protocol.evaluate, *([protocol.select] if protocol.select else [])]
    return protocol.select_share > 0 or any(
        len(reader.examples(name, task)) > limit for name in sets
    )


def _digest_files(
    kind: Model, name: str, home: str, options: Sequence[Settings]
) -> Iterator[DataVersion]:
    """The files and folders that a model is made from (`home`) or that a setting names: they define
    the run too.

    Any text setting may name one. A plain word, such as a label, counts only in a setting that
    always names a path.
    """
    values = [item for settings in options for item in settings.items()]
    texts = {value: False for _, value in values if isinstance(value, str)}
    texts |= {value: True for key, value in values if key in kind.path_settings}
    paths = [(name, home, False), *((text, text, texts[text]) for text in sorted(texts))]
    for title, path, is_path in paths:
        if path and (is_path or "/" in path or "." in path) and Path(path).exists():
            yield DataVersion(name=title, version=FILE, digest=digest_of(Path(path)), n=0)


def runtime_settings(kind: Model, settings: Mapping[str, Any]) -> Settings:
    """The settings that change how the work is done, and not its result."""
    return {name: settings[name] for name in kind.runtime_settings if name in settings}


def combine_settings(
    kind: Model, task: Task, request: RunRequest, argument: str = ""
) -> Iterator[Settings]:
    """Every combination of the request's settings and grid that the model takes, without values
    that are the default, and with masks for secrets: they define no run, and are not stored.

    Settings that depend on the model's `argument` are resolved.

    Raises BadInput for a value of a wrong type or range.
    """
    if kind.settings is None:
        yield {}
        return
    defaults = kind.default_settings
    known = environment_secrets({**defaults, **request.settings})
    fixed = {name: value for name, value in request.settings.items() if name in defaults}
    grid = {name: values for name, values in request.grid.items() if name in defaults}
    for values in product(*grid.values()):
        settings = {**fixed, **dict(zip(grid, values, strict=True))}
        plain = msgspec.to_builtins(read_settings(kind.settings, Setup(settings=settings)))
        kept = {}
        for name in settings:
            is_stored = name in plain and name not in kind.runtime_settings
            if is_stored and plain[name] != defaults[name]:
                kept[name] = mask_secrets(plain[name], known, name)
                if name in grid and kept[name] != plain[name]:
                    cure = "pass it with --set: a secret does not change the answers of a model"
                    raise BadInput(f"--grid {name} contains a secret", cure=cure)
        if request.shots and "shots" in defaults:
            kept.setdefault("shots", "all")
        for name, value in kind.task_settings(task).items():
            kept.setdefault(name, value)
        yield dict(kind.resolve_settings(argument, kept))


def vary_request(task: Task, request: RunRequest) -> Iterator[Variation]:
    """Every way in which the request departs from the task as published: inputs, training sets,
    shares.

    Raises BadInput for an input that the task does not have, and a training set that it cannot
    learn from.
    """
    for name in request.inputs:
        if name not in task.inputs:
            cure = f"use one of: {', '.join(task.inputs)}"
            raise BadInput(f"{task.name} has no input {name!r}", cure=cure)
    inputs = tuple(name for name in task.inputs if name in request.inputs)
    if inputs == task.inputs:
        inputs = ()
    trainings: list[tuple[str, ...]] = [request.train]
    if not request.train:
        trainings += [(name,) for name in declared_protocol(task.dataset).training_sets]
    for names, share in product(trainings, request.shares):
        train = tuple(_complete_set_name(name, task) for name in names)
        if train == (f"{task.dataset}:train",):  # what it learns from anyway
            train = ()
        yield Variation(
            inputs=inputs,
            share=share,
            shots=request.shots,
            train=train,
            labels=dict(request.labels) if train else {},
            limit=request.limit,
        )


def _complete_set_name(name: str, task: Task) -> str:
    """The full name of a training set: `jnli` is `jnli:train`.

    Raises BadInput where the task cannot learn from it.
    """
    source_task(name, task)
    dataset, _ = name_and_split(name)
    if dataset in benchmarks():
        return f"{name}:train" if name == dataset else name
    path, split = custom_path(name)
    is_home = is_custom(task.dataset) and path.resolve() == to_path(task.dataset).resolve()
    return f"{task.dataset}:{split or 'train'}" if is_home else name
