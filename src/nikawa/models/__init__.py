"""Models that answer tasks, by name: one file or folder a kind of model, found by a folder scan."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.base import (
    Model,
    Predictor,
    Progress,
    Scorer,
    Setup,
    Trainable,
    ignore_progress,
    read_settings,
)
from nikawa.registry import Registry, collect_plugins

__all__ = ["Model", "Predictor", "Setup", "Trainable", "find_model", "model", "models"]


@cache
def models() -> Registry[Model]:
    """All kinds of model by name; one that takes an argument (`replay:FILE`) has its name without it."""
    table: Registry[Model] = Registry("model")
    for kind in collect_plugins(Model, "MODELS", "nikawa.models", sys.modules[__name__]):
        table.add(kind.name, kind)
    return table


def find_model(name: str) -> tuple[Model, str]:
    """The kind of model that a full name means (`majority`, `replay:FILE`), and what follows the colon.

    Raises UnknownName for a name that is not registered, and BadInput where an argument is missing or not taken.
    """
    head, colon, argument = name.partition(":")
    kind = models()[head]
    if kind.argument and not argument:
        raise BadInput(
            f"the model {head} needs a {kind.argument}", cure=f"write {head}:{kind.argument}"
        )
    if colon and not kind.argument:
        raise BadInput(f"the model {head} takes nothing after its name", cure=f"write {head}")
    return kind, argument


def model(
    name: str,
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    progress: Progress = ignore_progress,
    score: Scorer | None = None,
) -> Predictor:
    """Make a model by its full name. One that is `Trainable` must be fitted before it answers.

    - `settings` replaces defaults of the model's settings; an unknown name or a wrong type raises BadInput.
    - `folder` is where a long training stores its state, to resume from it.
    - `score` measures answers to dev, for models that stop early or keep their best state.
    """
    kind, argument = find_model(name)
    setup = Setup(argument, seed, settings or {}, folder, progress, score)
    if kind.settings is not None:
        read_settings(kind.settings, setup)
    elif setup.settings:
        raise BadInput(f"the model {kind.name} has no settings", cure="leave them out")
    return kind.make(setup)
