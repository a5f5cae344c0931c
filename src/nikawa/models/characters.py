"""A linear model on character n-grams: no analyser, no graphics card, and hard to beat on surface cues.

Each input has its own n-grams of 1 to 3 characters (inside lines, across words), weighted by tf-idf with sublinear
counts. Labels are learned by logistic regression, scores by ridge regression kept inside the task's scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models._linear import Linear, refuse_other_kinds, sklearn
from nikawa.models.base import Model, gold_of, not_fitted, settings_of, text_of
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("text", "inference", "similarity")
"""What it can answer: one label or one score for texts."""
COMMON = 20_000
"""Examples from which n-grams that occur in a single one are left out."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    strength: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Inverse of the penalty on weights of labels; None: chosen on held-out training data."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Penalty on weights of scores."""
    balance: bool | None = None
    """Whether rare labels weigh as much as frequent ones; None: as the task's first metric has it."""


class Ngrams:
    """The n-grams of each input, side by side in one sparse matrix."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._vectors: dict[str, Any] = {}

    def fit(self, names: Sequence[str], examples: Sequence[Example]) -> None:
        """Learn which n-grams there are."""
        kind = sklearn("feature_extraction.text").TfidfVectorizer
        least = 2 if len(examples) >= COMMON else 1
        self._vectors = {
            name: kind(
                analyzer="char", ngram_range=(1, self._longest), sublinear_tf=True, min_df=least
            ).fit([text_of(example, name) for example in examples])
            for name in names
        }

    def rows(self, examples: Sequence[Example]) -> Any:
        """One row an example."""
        from scipy.sparse import hstack  # a part of scikit-learn's own needs

        parts = [
            v.transform([text_of(e, name) for e in examples]) for name, v in self._vectors.items()
        ]
        return parts[0] if len(parts) == 1 else hstack(parts).tocsr()


class Characters:
    """The model; it can be pickled once it has learned."""

    name = "char-linear"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._ngrams: Ngrams | None = None
        self._linear = self._fresh()

    def _fresh(self) -> Linear:
        s = self._settings
        return Linear(s.strength, s.penalty, self._seed, s.balance)

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the n-grams, then their weights."""
        refuse_other_kinds(self.name, task, KINDS)
        gold, ngrams, linear = (
            gold_of(task, examples),
            Ngrams(self._settings.longest),
            self._fresh(),
        )
        ngrams.fit(task.inputs, examples)
        linear.fit(task, ngrams.rows(examples), gold, [e.group or e.id for e in examples])
        self._ngrams, self._linear = ngrams, linear

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._ngrams is None:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        return self._linear.predict(self.name, task, self._ngrams.rows(examples), examples)


MODELS = (
    Model(
        "char-linear",
        "linear on character n-grams of each text",
        KINDS,
        lambda setup: Characters(settings_of(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
