"""Models that answer tasks, by name: one file or folder per kind of model, found by scanning this folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    SpendingScope,
    Trainable,
    ignore_progress,
    read_settings,
)
from nikawa.registry import Registry, collect_plugins
from nikawa.text.compose import compose_text

__all__ = [
    "Model",
    "ModelName",
    "Predictor",
    "Setup",
    "Trainable",
    "find_model",
    "model",
    "models",
    "parse_model_name",
]

MAX_LABEL_CHARS = 80
"""Most characters of a user's name for a model."""


@cache
def models() -> Registry[Model]:
    """All kinds of model by name.

    The name of a kind that takes an argument (`replay:FILE`) does not include the argument.
    """
    table: Registry[Model] = Registry("model")
    for kind in collect_plugins(Model, "MODELS", "nikawa.models", sys.modules[__name__]):
        table.add(kind.name, kind)
    return table


@dataclass(frozen=True)
class ModelName:
    """A model as a user names it: `majority`, `replay:FILE`, `mine=encoder:models/base`."""

    kind: str
    """The name of the kind of model; `find_model` checks that it exists."""
    argument: str | None = None
    """The text after the colon, often a path; None without a colon."""
    label: str = ""
    """The user's name for the model, the text before `=`; empty without one."""

    @property
    def full(self) -> str:
        """Kind and argument: `encoder:models/base`. This is what a run stores."""
        return self.kind if self.argument is None else f"{self.kind}:{self.argument}"

    @property
    def short(self) -> str:
        """The full name without the folders of its path: `encoder:base`."""
        if self.argument is None:
            return self.kind
        return f"{self.kind}:{self.argument.rstrip('/').rpartition('/')[2]}"


def parse_model_name(text: str, *, may_have_label: bool = False) -> ModelName:
    """Read the name of a model. `find_model` checks whether its kind exists.

    With `may_have_label`, the user's own name may come first (`NAME=`). Raises BadInput for a label
    that cannot name a model.

    >>> parse_model_name("encoder:models/base").short
    'encoder:base'
    >>> parse_model_name("mine=replay:a=b.jsonl", may_have_label=True)
    ModelName(kind='replay', argument='a=b.jsonl', label='mine')
    """
    kind, colon, argument = text.partition(":")
    is_path = bool(colon) and kind in models()  # then `=` is part of the path: replay:a=b.jsonl
    if not may_have_label or "=" not in text or is_path:
        return ModelName(kind, argument if colon else None)
    label, _, rest = text.partition("=")
    label = compose_text(label.strip())  # the same name on every operating system
    if not label or len(label) > MAX_LABEL_CHARS or ":" in label or not label.isprintable():
        what = f"{label!r} cannot name a model" if label else "the name of a model is empty"
        cure = f"write NAME={rest}; NAME has 1 to {MAX_LABEL_CHARS} visible characters and no colon"
        raise BadInput(what, cure=cure)
    return replace(parse_model_name(rest), label=label)


def find_model(name: str) -> tuple[Model, str]:
    """Return the kind of model for a full name (`majority`, `replay:FILE`), and the text after the
    colon.

    Raises UnknownName for a name that is not registered, and BadInput for a missing or superfluous
    argument.
    """
    parsed = parse_model_name(name)
    head = parsed.kind
    kind = models()[head]
    if kind.argument and not parsed.argument:
        raise BadInput(
            f"the model {head} needs a {kind.argument}", cure=f"write {head}:{kind.argument}"
        )
    if parsed.argument is not None and not kind.argument:
        raise BadInput(f"the model {head} takes nothing after its name", cure=f"write {head}")
    return kind, parsed.argument or ""


def model(
    name: str,
    *,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    progress: Progress = ignore_progress,
    score: Scorer | None = None,
    spending: SpendingScope | None = None,
) -> Predictor:
    """Make a model by its full name. One that is `Trainable` must be fitted before it answers.

    - `settings` replaces defaults of the model's settings; an unknown name or a wrong type raises BadInput.
    - `folder` is where a long training stores its state, to resume from it.
    - `score` measures answers to dev, for models that stop early or keep their best state.
    - `spending` names the runs that share a budget with this one; without it, the budget is for this model only.
    """
    kind, argument = find_model(name)
    setup = Setup(argument, seed, settings or {}, folder, progress, score, spending)
    if kind.settings is not None:
        read_settings(kind.settings, setup)
    elif setup.settings:
        raise BadInput(f"the model {kind.name} has no settings", cure="remove them")
    return kind.make(setup)
