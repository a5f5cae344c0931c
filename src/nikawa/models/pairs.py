"""A linear model for pairs of texts: what only the left has, what only the right has, and how much they share.

An n-gram that one side lacks (a negation, another particle, another noun) is a feature of its own side. It counts
once as it is and again in proportion to the overlap of the pair: a lone ない means contradiction between nearly equal
sentences and little between others. Figures of overlap and their products are features too. No list of cue words is
used: cues come from the examples. With one input it is a linear model of that input's n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models.base import Model, check_kind, get_gold, not_fitted_error, read_settings
from nikawa.models.characters import CharNgrams
from nikawa.models.linear import LinearModel
from nikawa.models.overlap import Overlap, make_products, split_pairs
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("inference", "similarity")
FIGURE_SIZE, LONE_SIZE = 0.3, 0.5
"""What figures of overlap and lone n-grams are multiplied by: a larger feature is penalised less."""


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


class PairFeatures:
    """The features of pairs: figures of overlap with their products, and the n-grams that only one side has."""

    def __init__(self, task: Task, settings: Settings) -> None:
        self._task = task
        self._overlap = Overlap(settings.longest, settings.least)
        self._products = make_products()

    def fit_transform(self, examples: Sequence[Example]) -> Any:
        """Learn the n-grams and the scale of the figures; one row an example."""
        left, right = split_pairs(self._task, examples)
        counts = self._overlap.fit(left, right).counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self._make_rows(self._products.fit_transform(figures), figures, counts)

    def transform(self, examples: Sequence[Example]) -> Any:
        """One row an example."""
        left, right = split_pairs(self._task, examples)
        counts = self._overlap.counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self._make_rows(self._products.transform(figures), figures, counts)

    @staticmethod
    def _make_rows(products: Any, figures: Any, counts: tuple[Any, Any, Any]) -> Any:
        from scipy.sparse import csr_matrix, diags, hstack

        one, other, shared = counts
        overlap = diags(figures[:, 0])
        lone = [((side - shared) > 0).astype(float) * LONE_SIZE for side in (one, other)]
        near = [overlap @ part for part in lone]
        return hstack([csr_matrix(products * FIGURE_SIZE), *lone, *near]).tocsr()


class PairLinear:
    """The model; it can be pickled once it has learned."""

    name = "pair-linear"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._learned: tuple[PairFeatures | CharNgrams, LinearModel] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the n-grams and figures, then their weights."""
        check_kind(self.name, KINDS, task)
        gold = get_gold(task, examples)
        features: PairFeatures | CharNgrams
        if len(task.inputs) == 2:
            features = PairFeatures(task, self._settings)
            rows = features.fit_transform(examples)
        else:
            features = CharNgrams(self._settings.longest)
            features.fit(task.inputs, examples)
            rows = features.transform(examples)
        linear = LinearModel(self._settings.strength, self._settings.penalty, self._seed)
        linear.fit(task, rows, gold, [e.group or e.id for e in examples])
        self._learned = (features, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        features, linear = self._learned
        return linear.predict(self.name, task, features.transform(examples), examples)


MODELS = (
    Model(
        "pair-linear",
        "linear on what two texts share and what only one of them has",
        KINDS,
        lambda setup: PairLinear(read_settings(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
