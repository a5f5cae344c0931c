"""The relation of two entities by their context: a linear model on hashed features, one against all others.

Logistic loss with an L2 penalty, by averaged stochastic gradient steps in an order that the seed and the ids make.
Scores are the probabilities of each relation, made to sum to 1; a relation that no example has gets 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models._relation_features import features
from nikawa.models._structured import check_kind, drawn, sklearn, visible
from nikawa.models.base import Model, Setup, gold_of, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Span, Task

KINDS: tuple[Kind, ...] = ("relation",)
WIDTH = 1 << 18
BLOCK = 4096
"""Examples turned into features at once: what a large file needs stays small."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are learned."""

    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1e-6
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 10


class Relation:
    """The model: a row of weights a relation, over the features that more than one example has."""

    name = "relation-context"

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._names: list[str] = []
        self._kept: Any = None
        self._weights: Any = None
        self._bias: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the weights of every relation that has an example."""
        check_kind(self.name, KINDS, task)
        gold = gold_of(task, examples)
        self._names = sorted(set(gold))
        if len(self._names) < 2:  # nothing to tell apart
            return
        order = sorted(range(len(gold)), key=lambda i: drawn(self._seed, examples[i].id))
        found = _matrix(task, [examples[i] for i in order])
        self._kept = (found.getnnz(axis=0) > 1).nonzero()[0]
        linear = sklearn("linear_model").SGDClassifier(
            loss="log_loss", alpha=self._settings.penalty, max_iter=self._settings.epochs, tol=None, shuffle=False,
            average=True, random_state=self._seed,
        )  # fmt: skip
        linear.fit(found[:, self._kept], [gold[i] for i in order])
        self._weights, self._bias = linear.coef_.astype("float32"), linear.intercept_

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest relation, with the probability of each."""
        if not self._names:
            raise not_fitted(self.name, task)
        blocks = (examples[i : i + BLOCK] for i in range(0, len(examples), BLOCK))
        return [answer for block in blocks for answer in self._answers(task, block)]

    def _answers(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        empty = dict.fromkeys(task.labels, 0.0)
        return [
            Prediction(example=e.id, answer=self._names[row.index(max(row))], scores={**empty, **dict(zip(self._names, row, strict=True))})
            for e, row in zip(examples, self._shares(task, examples), strict=True)
        ]  # fmt: skip

    def _shares(self, task: Task, examples: Sequence[Example]) -> list[list[float]]:
        """The probability of each known relation, made to sum to 1."""
        import numpy as np

        if len(self._names) == 1:
            return [[1.0]] * len(examples)
        scores = _matrix(task, examples)[:, self._kept] @ self._weights.T + self._bias
        if len(self._names) == 2:  # one row stands for both
            scores = np.concatenate([-scores, scores], axis=1)
        shares = 1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0)))
        found: list[list[float]] = (shares / shares.sum(axis=1, keepdims=True)).tolist()
        return found


def _matrix(task: Task, examples: Sequence[Example]) -> Any:
    """Examples by hashed features, each row of length 1."""
    hasher = sklearn("feature_extraction").FeatureHasher(WIDTH, input_type="string", alternate_sign=False)
    found = hasher.transform(_named(task, example) for example in examples)
    return sklearn("preprocessing").normalize(found, copy=False)


def _named(task: Task, example: Example) -> list[str]:
    seen = visible(task, example)
    size = len(seen["text"]) if isinstance(seen.get("text"), str) else None
    for role in ("subject", "object"):
        span = seen.get(role)
        if role in task.inputs and not (isinstance(span, Span) and _within(span, size)):
            what = f"example {example.id!r} has no {role} within its text"
            raise BadInput(what, cure="give the entity as start, end (exclusive) and label")
    return features(seen)


def _within(span: Span, size: int | None) -> bool:
    return 0 <= span.start < span.end and (size is None or span.end <= size)


def _make(setup: Setup) -> Relation:
    return Relation(settings_of(Settings, setup), setup.seed)


MODELS = (
    Model("relation-context", "linear on two entities and the text around them", KINDS, _make, Settings),
)
