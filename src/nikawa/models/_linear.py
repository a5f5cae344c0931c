"""What the linear models share: how a label or a score is learned from a matrix, and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from itertools import pairwise
from math import log
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import not_fitted
from nikawa.records import Example, Kind, Prediction, Task

FOLDS = 5
"""Parts of the training data that are held out in turn while settings are chosen."""
FEWEST = 100
"""Examples below which nothing is held out: the choice would be chance."""
MOST = 10_000
"""Examples that settings are chosen on: enough to tell them apart, and the choice stays quick."""
STRENGTHS = (1.0, 4.0, 16.0)
LIMITS = tuple(sorted((step / 20 for step in range(1, 20)), key=lambda limit: abs(limit - 0.5)))
"""How likely the second of two labels must be; of equals the one nearest to a half."""
TOLERANCE = 1e-5
"""Largest slope a fit may stop at: tf-idf rows are so small that all weights at 0 would pass a coarser one."""


def sklearn(module: str) -> Any:
    """A module of scikit-learn, loaded when it is needed."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise missing_extra("the package 'scikit-learn'", "models") from None


def refuse_other_kinds(name: str, task: Task, kinds: Sequence[Kind]) -> None:
    """A model is asked for the kinds it answers only."""
    if task.kind not in kinds:
        raise BadInput(
            f"{name} does not answer {task.kind} tasks", cure=f"it answers: {', '.join(kinds)}"
        )


def lot(seed: int, key: str) -> int:
    """A number drawn for an item: the same whatever stands beside it."""
    return int.from_bytes(blake2b(f"{seed}\0{key}".encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Choice:
    """How labels are learned."""

    strength: float
    weights: str | None
    limit: float = 0.5
    """How likely the second of two labels must be to be answered."""


class Linear:
    """Logistic regression for labels, ridge regression kept on the task's scale for scores.

    A strength that is not given is the one that does best, by the task's first metric, on training data held out in
    five folds of whole groups; with it, class weights where that metric counts classes alike, and of two labels how
    likely the second must be to be answered. Then all of it is learned.
    """

    def __init__(
        self, strength: float | None, penalty: float, seed: int, balance: bool | None = None
    ) -> None:
        self._strength, self._penalty, self._seed, self._balance = strength, penalty, seed, balance
        self._fitted: Any = None

    def fit(self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]) -> None:
        """Learn from one row an example; those with one key are held out together."""
        linear = sklearn("linear_model")
        if task.kind == "similarity":
            self._fitted = linear.Ridge(alpha=self._penalty, solver="lsqr").fit(rows, gold)
            return
        if len(set(gold)) < 2:
            raise BadInput(
                f"all examples are {gold[0]!r}: there is nothing to tell apart", cure="add others"
            )
        chosen = self._chosen(task, rows, gold, keys)
        self._fitted = _logistic(chosen.strength, chosen.weights).fit(rows, gold)
        if (
            len(set(gold)) == 2
        ):  # the likelier label is the answer, so that the limit goes into the probabilities
            self._fitted.intercept_ -= log(chosen.limit / (1 - chosen.limit))

    def predict(
        self, name: str, task: Task, rows: Any, examples: Sequence[Example]
    ) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._fitted is None:
            raise not_fitted(name, task)
        if task.kind == "similarity":
            low, high = task.scale or (float("-inf"), float("inf"))
            values = self._fitted.predict(rows).tolist()
            return [
                Prediction(example=e.id, answer=min(max(v, low), high))
                for e, v in zip(examples, values, strict=True)
            ]
        labels = self._fitted.classes_.tolist()
        shares = self._fitted.predict_proba(rows).tolist()
        return [
            _answer(e.id, dict(zip(labels, row, strict=True)))
            for e, row in zip(examples, shares, strict=True)
        ]

    def _chosen(self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]) -> Choice:
        """How to learn; of equals the strongest penalty."""
        alike = _counts_classes_alike(task) if self._balance is None else self._balance
        order = sorted(range(len(keys)), key=lambda i: (lot(self._seed, keys[i]), i))[:MOST]
        parts = _folds(order, keys)
        few = len(keys) < FEWEST or any({gold[i] for i in kept} != set(gold) for kept, _ in parts)
        if self._strength is not None or few:
            return Choice(self._strength or 1.0, "balanced" if self._balance else None)
        weights = (
            (None, "balanced")
            if alike and self._balance is None
            else ("balanced" if alike else None,)
        )
        grid = [Choice(strength, weight) for weight in weights for strength in STRENGTHS]
        found = [_reached(task, rows, gold, parts, choice) for choice in grid]
        return max(found, key=lambda one: one[0])[1]


def _reached(
    task: Task,
    rows: Any,
    gold: Sequence[Any],
    parts: Sequence[tuple[list[int], list[int]]],
    choice: Choice,
) -> tuple[float, Choice]:
    """What a choice reaches on what it did not learn from, with the best limit where there are two labels."""
    measure = _measure(task)
    truth, labels = [gold[i] for _, held in parts for i in held], sorted(set(gold))
    shares = [
        row
        for kept, held in parts
        for row in _logistic(choice.strength, choice.weights)
        .fit(rows[kept], [gold[i] for i in kept])
        .predict_proba(rows[held])
        .tolist()
    ]
    if len(labels) > 2 or choice.weights:  # weighted classes have moved the limit already
        return float(measure(truth, [labels[row.index(max(row))] for row in shares])), choice
    found = [
        (float(measure(truth, [labels[row[1] > limit] for row in shares])), limit)
        for limit in LIMITS
    ]
    value, limit = max(found, key=lambda one: one[0])
    return value, replace(choice, limit=limit)


def _folds(order: Sequence[int], keys: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """(Learned from, held out) for each fold; those with one key, which stand together, are in one fold."""
    bounds = [0]
    for fold in range(1, FOLDS + 1):
        bound = max(bounds[-1], fold * len(order) // FOLDS)
        while 0 < bound < len(order) and keys[order[bound]] == keys[order[bound - 1]]:
            bound += 1
        bounds.append(bound)
    return [([*order[:a], *order[b:]], list(order[a:b])) for a, b in pairwise(bounds) if a < b]


def weights_of(rows: Any, labels: Any, strength: float, *, intercept: bool) -> Any:
    """A weight a column that tells two classes apart; only columns in use are learned, since hashing leaves most empty."""
    import numpy as np

    used = np.flatnonzero(rows.getnnz(axis=0))
    kind = sklearn("linear_model").LogisticRegression
    fitted = kind(C=strength, solver="liblinear", fit_intercept=intercept, random_state=0)
    found = np.zeros(rows.shape[1])
    found[used] = fitted.fit(rows[:, used], labels).coef_.ravel()
    return found


def _logistic(strength: float, weights: str | None) -> Any:
    kind = sklearn("linear_model").LogisticRegression
    return kind(C=strength, class_weight=weights, solver="newton-cg", tol=TOLERANCE, max_iter=1000)


def _measure(task: Task) -> Any:
    """What the task is judged by first."""
    metrics, first = sklearn("metrics"), task.metrics[:1]
    if first == ("mcc",):
        return metrics.matthews_corrcoef
    if first == ("macro-f1",):
        return lambda gold, found: metrics.f1_score(gold, found, average="macro")
    return metrics.accuracy_score


def _counts_classes_alike(task: Task) -> bool:
    """Whether rare classes count as much as frequent ones in what the task is judged by first."""
    return task.metrics[:1] in (("mcc",), ("macro-f1",))


def _answer(example: str, scores: dict[Any, float]) -> Prediction:
    best = max(scores, key=lambda label: scores[label])
    return Prediction(example=example, answer=best, scores={str(k): v for k, v in scores.items()})
