"""Presets: named choices of seeds, settings, grids and variations, one readable TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.lines import read_whole
from nikawa.runs.plan import RunRequest

PRESETS = Path(__file__).parent / "presets"


class TaskPreset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a preset says of one task."""

    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    grid: dict[str, list[Any]] = msgspec.field(default_factory=dict)


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a preset file; what the command line says goes before it."""

    seeds: int | None = None
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    grid: dict[str, list[Any]] = msgspec.field(default_factory=dict)
    shares: list[float] = msgspec.field(default_factory=list)
    shots: int = 0
    choose_seeds: int = 0
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
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), Preset)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise BadInput(
            f"is no preset: {problem}", file=path, cure="docs/run.md shows one"
        ) from None


def apply_preset(preset: Preset, request: RunRequest) -> RunRequest:
    """The request with what the preset says where it says nothing itself."""
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
    single = {name: _single(general, part, request) for name, part in preset.task.items()}
    return replace(general, per_task=single)


def _grid(grid: dict[str, list[Any]], request: RunRequest) -> dict[str, tuple[Any, ...]]:
    """The preset's grid less what the request sets, and the request's."""
    kept = {name: tuple(values) for name, values in grid.items() if name not in request.settings}
    return {**kept, **request.grid}


def _single(general: RunRequest, part: TaskPreset, request: RunRequest) -> RunRequest:
    grid = {**general.grid, **_grid(part.grid, request)}
    fixed = {name: value for name, value in part.settings.items() if name not in request.grid}
    settings = {**general.settings, **fixed, **request.settings}
    return replace(
        general,
        settings=settings,
        grid={n: v for n, v in grid.items() if n not in fixed or n in part.grid},
    )
