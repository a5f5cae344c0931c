"""`baseline`: the best model of a task that needs nothing but this package and trains on a CPU in
minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, Predictor, Setup, Trainable, not_fitted_error, read_settings
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
"""Kind of task to the models that answer it, the best first; `majority` if none of them is
registered."""
FALLBACK = "majority"


class BaselineSettings(msgspec.Struct, forbid_unknown_fields=True):
    """Which model answers."""

    model: str = ""
    """Empty: the best of the task."""


def choose_baseline(task: Task) -> str:
    """The name of the model that `baseline` uses for a task."""
    from nikawa.models import models

    return next((name for name in BEST[task.kind] if name in models()), FALLBACK)


class Baseline:
    """Passes everything to the model that it chose for the task."""

    name = "baseline"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model_name = read_settings(BaselineSettings, setup).model
        self._model: Predictor | None = None
        if self._model_name == self.name:
            raise BadInput("baseline cannot refer to itself", cure="name another model")

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Make the model of the task and fit it."""
        from nikawa.models import find_model

        kind, argument = find_model(self._model_name or choose_baseline(task))
        self._model = kind.make(replace(self._setup, argument=argument, settings={}))
        if isinstance(self._model, Trainable):
            self._model.fit(task, examples, dev)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers of the chosen model."""
        if self._model is None:
            raise not_fitted_error(self.name, task)
        return self._model.predict(task, examples)


MODELS = (
    Model(
        "baseline",
        "the recommended model for the task; needs no download and no GPU",
        get_args(Kind),
        Baseline,
        BaselineSettings,
        task_settings=lambda task: {"model": choose_baseline(task)},
    ),
)
