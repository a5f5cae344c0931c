"""Models that answer tasks, by name: one file a model, found by scan."""

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
    _silent,
    settings_of,
)
from nikawa.registry import Registry, collect_plugins

__all__ = ["Model", "Predictor", "Setup", "Trainable", "model", "models", "named"]


@cache
def models() -> Registry[Model]:
    """Each model by its name; a name that takes an argument stands here without it."""
    table: Registry[Model] = Registry("model")
    for kind in collect_plugins(Model, "MODELS", "nikawa.models", sys.modules[__name__]):
        table.add(kind.name, kind)
    return table


def named(name: str) -> tuple[Model, str]:
    """The model of a full name (`majority`, `replay:FILE`) and what follows the colon."""
    head, colon, argument = name.partition(":")
    found = models()[head]
    if found.argument and not argument:
        raise BadInput(
            f"the model {head} needs a {found.argument}", cure=f"write {head}:{found.argument}"
        )
    if colon and not found.argument:
        raise BadInput(f"the model {head} takes nothing after its name", cure=f"write {head}")
    return found, argument


def model(
    name: str,
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    progress: Progress = _silent,
    score: Scorer | None = None,
) -> Predictor:
    """A fresh model; one that learns must be fitted before it answers."""
    found, argument = named(name)
    setup = Setup(argument, seed, settings or {}, folder, progress, score)
    if found.settings is not None:
        settings_of(found.settings, setup)
    elif setup.settings:
        raise BadInput(f"the model {found.name} has no settings", cure="leave them out")
    return found.make(setup)
