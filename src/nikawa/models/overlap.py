"""Similarity by what two texts share: ridge regression on a dozen figures of character overlap, no word of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models._linear import Linear, refuse_other_kinds
from nikawa.models.base import Model, gold_of, not_fitted, settings_of, text_of
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("similarity",)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    """Penalty on the weights."""


class CharOverlap:
    """The model; it needs few examples, since it has few weights."""

    name = "char-overlap"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._learned: tuple[Any, Any, Linear] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn how rare n-grams are, then what each figure weighs."""
        from nikawa.models._overlap import Overlap, curves

        refuse_other_kinds(self.name, task, KINDS)
        if len(task.inputs) != 2:
            raise BadInput(
                f"{self.name} compares two texts, not {len(task.inputs)}", cure="use char-linear"
            )
        gold, (left, right) = gold_of(task, examples), sides(task, examples)
        overlap, bends, linear = (
            Overlap(self._settings.longest).fit(left, right),
            curves(),
            Linear(1.0, self._settings.penalty, self._seed),
        )
        rows = bends.fit_transform(overlap.figures(left, right, overlap.counts(left, right)))
        linear.fit(task, rows, gold, [e.group or e.id for e in examples])
        self._learned = (overlap, bends, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The score of each pair."""
        if self._learned is None:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        overlap, bends, linear = self._learned
        left, right = sides(task, examples)
        rows = bends.transform(overlap.figures(left, right, overlap.counts(left, right)))
        return linear.predict(self.name, task, rows, examples)


def sides(task: Task, examples: Sequence[Example]) -> tuple[list[str], list[str]]:
    """The two texts of every pair."""
    one, other = task.inputs
    return [text_of(e, one) for e in examples], [text_of(e, other) for e in examples]


MODELS = (
    Model(
        "char-overlap",
        "similarity by the characters two texts share",
        KINDS,
        lambda setup: CharOverlap(settings_of(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
