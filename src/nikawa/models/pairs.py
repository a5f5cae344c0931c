"""A linear model for pairs of texts: what only the left has, what only the right has, and how much they share.

An n-gram that one side lacks (a negation, another particle, another noun) is a feature of its own side; it counts
once as it is and again in proportion to the overlap of the pair, since a lone ない says contradiction between
near-equal sentences and little between others. Figures of overlap and their products stand beside. No word is written
down here: cues come from the examples. With one input it is a linear model of that input's n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models._linear import Linear, refuse_other_kinds
from nikawa.models.base import Model, gold_of, not_fitted, settings_of
from nikawa.models.characters import Ngrams
from nikawa.models.overlap import sides
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("inference", "similarity")
FIGURES, LONE = 0.3, 0.5
"""How large the figures of overlap and the lone n-grams stand beside each other: a larger one is penalised less."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    least: Annotated[int, msgspec.Meta(ge=1)] = 2
    """Texts an n-gram is in at least."""
    strength: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Inverse of the penalty on weights of labels."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """Penalty on weights of scores."""


class _Pairs:
    """The features of pairs."""

    def __init__(self, task: Task, settings: Settings) -> None:
        from nikawa.models._overlap import Overlap, curves

        self._task, self._overlap, self._curves = (
            task,
            Overlap(settings.longest, settings.least),
            curves(),
        )

    def fit(self, examples: Sequence[Example]) -> Any:
        left, right = sides(self._task, examples)
        counts = self._overlap.fit(left, right).counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self._joined(self._curves.fit_transform(figures), figures, counts)

    def rows(self, examples: Sequence[Example]) -> Any:
        left, right = sides(self._task, examples)
        counts = self._overlap.counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self._joined(self._curves.transform(figures), figures, counts)

    @staticmethod
    def _joined(curves: Any, figures: Any, counts: tuple[Any, Any, Any]) -> Any:
        from scipy.sparse import csr_matrix, diags, hstack

        one, other, shared = counts
        near = diags(figures[:, 0])
        lone = [((side - shared) > 0).astype(float) * LONE for side in (one, other)]
        return hstack(
            [csr_matrix(curves * FIGURES), *lone, *(near @ part for part in lone)]
        ).tocsr()


class _Single:
    """The features where a pair is not given: the n-grams of each input."""

    def __init__(self, task: Task, settings: Settings) -> None:
        self._names, self._ngrams = task.inputs, Ngrams(settings.longest)

    def fit(self, examples: Sequence[Example]) -> Any:
        self._ngrams.fit(self._names, examples)
        return self._ngrams.rows(examples)

    def rows(self, examples: Sequence[Example]) -> Any:
        return self._ngrams.rows(examples)


class PairLinear:
    """The model; it can be pickled once it has learned."""

    name = "pair-linear"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._learned: tuple[_Pairs | _Single, Linear] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the n-grams and figures, then their weights."""
        refuse_other_kinds(self.name, task, KINDS)
        gold, single = gold_of(task, examples), len(task.inputs) != 2
        features = (_Single if single else _Pairs)(task, self._settings)
        linear = Linear(self._settings.strength, self._settings.penalty, self._seed)
        linear.fit(task, features.fit(examples), gold, [e.group or e.id for e in examples])
        self._learned = (features, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._learned is None:
            raise not_fitted(self.name, task)
        features, linear = self._learned
        return (
            linear.predict(self.name, task, features.rows(examples), examples) if examples else []
        )


MODELS = (
    Model(
        "pair-linear",
        "linear on what two texts share and what only one of them has",
        KINDS,
        lambda setup: PairLinear(settings_of(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
