"""The user's request: tasks, models, seeds, settings; and presets, which fill in what the request
leaves open.

A preset is a named choice of seeds, settings, grids and variations: one readable TOML file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.toml import read_toml
from nikawa.models import find_model, parse_model_name

PRESETS = Path(__file__).parent / "presets"
MAX_SEEDS = 1_000
"""The maximum number of seeds that one number can mean."""


@dataclass(frozen=True)
class RunRequest:
    """The request; every combination of it is run."""

    tasks: tuple[str, ...]
    """Tasks, datasets, suites, or custom dataset folders and records files."""
    models: tuple[str, ...]
    """Models, with or without the user's own name: `majority`, `mine=replay:FILE`."""
    seeds: tuple[int, ...] = (0,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the models that have them."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Settings with several values, one of which is chosen on dev."""
    inputs: tuple[str, ...] = ()
    """The inputs that are kept; empty: all."""
    shares: tuple[float, ...] = (1.0,)
    """Shares of the training data, one run per share."""
    shots: int = 0
    train: tuple[str, ...] = ()
    """Training sets instead of the task's own."""
    labels: Mapping[str, str] = field(default_factory=dict)
    choose_seeds: int = 0
    """How many of the seeds choose among the values of a grid; 0: all of them."""
    limit: int = 0
    """The number of items of each set that are answered, from the first; 0: all of them."""
    per_task: Mapping[str, RunRequest] = field(default_factory=dict)
    """Settings and grid of single tasks, from a preset."""
    preset: Path | None = None
    """The file of the preset, for error messages."""


def check_request(request: RunRequest) -> None:
    """Refuse a request that no task or model could satisfy.

    Raises BadInput for an unknown model or setting, two models of one name, and numbers out of
    their range.
    """
    names = [parse_model_name(text, may_have_label=True).full for text in request.models]
    kinds = [find_model(name)[0] for name in names]
    refuse_shared_names(request.models)
    known = sorted({name for kind in kinds for name in kind.default_settings})
    parts = (request, *request.per_task.values())
    for name in sorted({name for part in parts for name in (*part.settings, *part.grid)}):
        if name not in known:
            cure = f"use one of: {', '.join(known)}" if known else "these models have no settings"
            raise BadInput(
                f"none of the models has the setting {name!r}", file=request.preset, cure=cure
            )
    grid = [item for part in parts for item in part.grid.items()]
    for name in sorted(name for name, values in grid if not values):
        cure = f"write --grid {name}=V1,V2"
        raise BadInput(f"the grid of {name!r} has no value", file=request.preset, cure=cure)
    for share in request.shares:
        if not 0 < share <= 1:
            cure = "write numbers above 0 and at most 1: 0.25,0.5,1.0"
            raise BadInput(f"{share} is not a share", cure=cure)
    if not request.seeds:
        raise BadInput("there is no seed", cure="pass at least one")
    cure = "write a number that is 0 or more"
    if request.choose_seeds < 0:
        raise BadInput(
            f"the number of seeds that choose settings is {request.choose_seeds}", cure=cure
        )
    if request.shots < 0:
        raise BadInput(f"the number of shots is {request.shots}", cure=cure)
    if request.limit < 0:
        raise BadInput(f"the limit is {request.limit} items", cure=cure)
    if request.labels and not request.train:
        what = "labels can only be renamed in other training sets"
        raise BadInput(what, cure="pass them with --train DATASET")


def refuse_shared_names(texts: Iterable[str]) -> None:
    """Raise BadInput if two models have the same name: a table could not distinguish them."""
    known: dict[str, str] = {}
    for text in texts:
        name = parse_model_name(text, may_have_label=True)
        title = name.label or name.full
        if known.setdefault(title, name.full) != name.full:
            what = f"{title!r} stands for both {known[title]} and {name.full}"
            raise BadInput(what, cure="give each model its own name")


class TaskPreset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a preset for one task."""

    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    grid: dict[str, list[Any]] = msgspec.field(default_factory=dict)


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a preset file; the command line overrides it."""

    seeds: Annotated[int, msgspec.Meta(ge=1, le=MAX_SEEDS)] | None = None
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    grid: dict[str, list[Any]] = msgspec.field(default_factory=dict)
    shares: list[Annotated[float, msgspec.Meta(gt=0, le=1)]] = msgspec.field(default_factory=list)
    shots: Annotated[int, msgspec.Meta(ge=0)] = 0
    choose_seeds: Annotated[int, msgspec.Meta(ge=0)] = 0
    inputs: list[str] = msgspec.field(default_factory=list)
    train: list[str] = msgspec.field(default_factory=list)
    task: dict[str, TaskPreset] = msgspec.field(default_factory=dict)


def preset_names() -> list[str]:
    """The presets that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def read_preset(name: str) -> Preset:
    """A preset by its name, or from a file."""
    path = Path(name) if name.endswith(".toml") else PRESETS / f"{name}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise BadInput("no such file", file=path, cure="check the path")
        raise unknown("preset", name, preset_names())
    cure = "see docs/run.md for an example"
    try:
        return msgspec.convert(read_toml(path, cure), Preset)
    except msgspec.ValidationError as problem:
        raise BadInput(f"is not a preset: {problem}", file=path, cure=cure) from None


def apply_preset(preset: Preset, request: RunRequest) -> RunRequest:
    """The request, completed from the preset."""
    general = replace(
        request,
        seeds=request.seeds or tuple(range(preset.seeds or 1)),
        settings={**preset.settings, **request.settings},
        grid=_grid(preset.grid, request),
        shares=request.shares if request.shares != (1.0,) else tuple(preset.shares) or (1.0,),
        shots=request.shots or preset.shots,
        choose_seeds=request.choose_seeds or preset.choose_seeds,
        inputs=request.inputs or tuple(preset.inputs),
        train=request.train or tuple(preset.train),
    )
    return replace(
        general,
        per_task={
            name: _apply_task_preset(general, part, request) for name, part in preset.task.items()
        },
    )


def _grid(grid: dict[str, list[Any]], request: RunRequest) -> dict[str, tuple[Any, ...]]:
    """The preset's grid without the settings of the request, and the request's grid."""
    kept = {name: tuple(values) for name, values in grid.items() if name not in request.settings}
    return {**kept, **request.grid}


def _apply_task_preset(general: RunRequest, part: TaskPreset, request: RunRequest) -> RunRequest:
    """The `general` request with the preset's settings for one task.

    The user's own `request` overrides both.
    """
    fixed = {name: value for name, value in part.settings.items() if name not in request.grid}
    grid = {**general.grid, **_grid(part.grid, request)}
    for name in fixed.keys() - part.grid.keys():
        grid.pop(name, None)
    return replace(general, settings={**general.settings, **fixed, **request.settings}, grid=grid)
