"""`baseline`: the best model of a task that needs nothing but this package and trains on a processor in minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, Predictor, Setup, Trainable, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Task

BEST: Mapping[str, tuple[str, ...]] = {
    "text": ("char-linear",),
    "inference": ("pair-linear", "char-linear"),
    "similarity": ("pair-linear", "char-linear"),
    "choice": ("nearest-choice",),
    "reading": ("span-overlap",),
    "tagging": ("crf",),
    "relation": ("relation-context",),
    "tree": ("tree-graph", "right-headed"),
    "dialogue": ("ontology-match",),
}
"""Kind of task to the models that answer it, the best first; `majority` where there is none."""
FLOOR = "majority"


class BaselineSettings(msgspec.Struct, forbid_unknown_fields=True):
    """Which model stands behind the name."""

    model: str = ""
    """Empty: the best of the task."""


def pick(task: Task) -> str:
    """The name of the model that `baseline` stands for on a task."""
    from nikawa.models import models

    return next((name for name in BEST[task.kind] if name in models()), FLOOR)


class Baseline:
    """Hands everything to the model behind it."""

    name = "baseline"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._chosen = settings_of(BaselineSettings, setup).model
        self._model: Predictor | None = None
        if self._chosen == self.name:
            raise BadInput("baseline cannot stand for itself", cure="name another model")

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Make the model of the task and let it learn."""
        from nikawa.models import named

        kind, argument = named(self._chosen or pick(task))
        self._model = kind.make(replace(self._setup, argument=argument, settings={}))
        if isinstance(self._model, Trainable):
            self._model.fit(task, examples, dev)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers of the model behind the name."""
        if self._model is None:
            raise not_fitted(self.name, task)
        return self._model.predict(task, examples)


MODELS = (
    Model(
        "baseline",
        "the best model of the task that needs nothing",
        get_args(Kind),
        Baseline,
        BaselineSettings,
    ),
)
