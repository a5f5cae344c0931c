"""A linear model on character n-grams: no analyser, no graphics card, and hard to beat on surface cues.

Each input has its own n-grams of 1 to 3 characters, weighted by tf-idf (inside lines, across words). Labels are
learned by logistic regression, scores by ridge regression kept inside the task's scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import Model, gold_of, not_fitted
from nikawa.models.base import text_of as _text
from nikawa.records import Example, Kind, Prediction, Task

NGRAMS = (1, 3)
KINDS: tuple[Kind, ...] = ("text", "inference", "similarity")
"""What it can answer: one label or one score for texts."""


def _sklearn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise missing_extra("the package 'scikit-learn'", "models") from None


class Characters:
    """The model; it can be pickled once it has learned."""

    name = "char-linear"

    def __init__(self) -> None:
        self._vectors: dict[str, Any] = {}
        self._linear: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the n-grams, then their weights."""
        if task.kind not in KINDS:
            raise BadInput(f"{self.name} does not answer {task.kind} tasks", cure=f"it answers: {', '.join(KINDS)}")  # fmt: skip
        gold, text = gold_of(task, examples), _sklearn("feature_extraction.text")
        self._vectors = {
            name: text.TfidfVectorizer(analyzer="char", ngram_range=NGRAMS) for name in task.inputs
        }
        for name, vector in self._vectors.items():
            vector.fit([_text(example, name) for example in examples])
        linear = _sklearn("linear_model")
        if task.kind != "similarity" and len(set(gold)) < 2:
            raise BadInput(f"all examples are {gold[0]!r}: there is nothing to tell apart", cure="add others")
        similar = task.kind == "similarity"
        self._linear = (
            linear.Ridge(solver="lsqr")
            if similar
            else linear.LogisticRegression(solver="newton-cg", max_iter=1000)
        )
        self._linear.fit(self._matrix(examples), gold)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._linear is None:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        if task.kind == "similarity":
            low, high = task.scale or (float("-inf"), float("inf"))
            values = self._linear.predict(self._matrix(examples)).tolist()
            return [Prediction(example=e.id, answer=min(max(v, low), high)) for e, v in zip(examples, values, strict=True)]  # fmt: skip
        labels = self._linear.classes_.tolist()
        rows = self._linear.predict_proba(self._matrix(examples)).tolist()
        return [_answer(example.id, dict(zip(labels, row, strict=True))) for example, row in zip(examples, rows, strict=True)]  # fmt: skip

    def _matrix(self, examples: Sequence[Example]) -> Any:
        from scipy.sparse import hstack  # a part of scikit-learn's own needs

        parts = [v.transform([_text(e, name) for e in examples]) for name, v in self._vectors.items()]
        return parts[0] if len(parts) == 1 else hstack(parts).tocsr()


def _answer(example: str, scores: dict[Any, float]) -> Prediction:
    best = max(scores, key=lambda label: scores[label])
    return Prediction(example=example, answer=best, scores={str(k): v for k, v in scores.items()})


MODELS = (Model("char-linear", "linear on character n-grams of each text", KINDS, lambda _: Characters()),)
