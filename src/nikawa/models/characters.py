"""A linear model on character n-grams: no analyser, no GPU, and hard to beat on surface cues.

Each input has its own n-grams of 1 to 3 characters (inside lines, across words), weighted by tf-idf with sublinear
counts. Labels are learned by logistic regression, scores by ridge regression kept inside the task's scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models.base import (
    Model,
    check_kind,
    get_gold,
    get_text,
    load_sklearn,
    not_fitted_error,
    read_settings,
)
from nikawa.models.linear import LinearModel
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("text", "inference", "similarity")
"""What it can answer: one label or one score for texts."""
MIN_EXAMPLES_TO_DROP_RARE = 20_000
"""Examples from which on n-grams that occur in a single one are left out."""


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


class CharNgrams:
    """The tf-idf of the n-grams of each input, side by side in one sparse matrix."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._vectorizers: dict[str, Any] = {}

    def fit(self, names: Sequence[str], examples: Sequence[Example]) -> None:
        """Learn which n-grams the inputs of these names have."""
        vectorizer = load_sklearn("feature_extraction.text").TfidfVectorizer
        self._vectorizers = {}
        for name in names:
            self._vectorizers[name] = vectorizer(
                analyzer="char",
                ngram_range=(1, self._longest),
                sublinear_tf=True,
                min_df=2 if len(examples) >= MIN_EXAMPLES_TO_DROP_RARE else 1,
            ).fit([get_text(example, name) for example in examples])

    def transform(self, examples: Sequence[Example]) -> Any:
        """One row an example."""
        from scipy.sparse import hstack  # scikit-learn itself needs scipy

        parts = [
            vectorizer.transform([get_text(example, name) for example in examples])
            for name, vectorizer in self._vectorizers.items()
        ]
        return parts[0] if len(parts) == 1 else hstack(parts).tocsr()


class CharLinear:
    """The model; it can be pickled once it has learned."""

    name = "char-linear"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._learned: tuple[CharNgrams, LinearModel] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the n-grams, then their weights."""
        check_kind(self.name, KINDS, task)
        settings = self._settings
        gold = get_gold(task, examples)
        ngrams = CharNgrams(settings.longest)
        ngrams.fit(task.inputs, examples)
        linear = LinearModel(settings.strength, settings.penalty, self._seed, settings.balance)
        linear.fit(task, ngrams.transform(examples), gold, [e.group or e.id for e in examples])
        self._learned = (ngrams, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        ngrams, linear = self._learned
        return linear.predict(self.name, task, ngrams.transform(examples), examples)


MODELS = (
    Model(
        "char-linear",
        "linear on character n-grams of each text",
        KINDS,
        lambda setup: CharLinear(read_settings(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
