"""`char-linear`: a linear model on character n-grams: no analyser, no GPU, and hard to beat on
surface cues.

Each input has its own n-grams of 1 to 3 characters (inside lines, across words), weighted by tf-idf
with sublinear counts. Labels are learned by logistic regression, scores by ridge regression kept
inside the task's scale.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from nikawa.models.base import Model, read_settings
from nikawa.models.linear import Features, LinearModel, LinearTextModel
from nikawa.models.text_features import CharNgrams
from nikawa.records import Task


class CharSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    strength: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Inverse of the penalty on weights of labels; None: chosen on held-out training data."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Penalty on weights of scores."""
    balance: bool | None = None
    """Whether rare labels weigh as much as frequent ones; None: as the task's first metric has it.
    """


class CharLinear(LinearTextModel):
    """The model; it can be pickled once it has learned."""

    name = "char-linear"
    kinds = ("text", "inference", "similarity")

    def __init__(self, settings: CharSettings = CharSettings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        super().__init__()
        self._settings, self._seed = settings, seed

    def make_features(self, task: Task) -> Features:
        """The n-grams of each input."""
        return CharNgrams(task.inputs, self._settings.longest)

    def make_linear(self) -> LinearModel:
        """With a strength that is chosen, unless the settings have one."""
        settings = self._settings
        return LinearModel(
            self._seed,
            strength=settings.strength,
            penalty=settings.penalty,
            balance=settings.balance,
        )


MODELS = (
    Model(
        "char-linear",
        "linear model on character n-grams of each text",
        CharLinear.kinds,
        lambda setup: CharLinear(read_settings(CharSettings, setup), setup.seed),
        settings=CharSettings,
    ),
)
