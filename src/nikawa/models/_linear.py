"""What the linear models share: how a label or a score is learned from a matrix, and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import not_fitted
from nikawa.records import Example, Kind, Prediction, Task

HELD = 5
"""One example in so many is held out while settings are chosen."""
FEWEST = 100
"""Examples below which nothing is held out: the choice would be chance."""
MOST = 10_000
"""Examples that settings are chosen on: enough to tell them apart, and the choice stays quick."""
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
        raise BadInput(f"{name} does not answer {task.kind} tasks", cure=f"it answers: {', '.join(kinds)}")


def lot(seed: int, key: str) -> int:
    """A number drawn for an item: the same whatever stands beside it."""
    return int.from_bytes(blake2b(f"{seed}\0{key}".encode(), digest_size=8).digest(), "big")


class Linear:
    """Logistic regression for labels, ridge regression kept on the task's scale for scores.

    Strength and class weights that are not given are those that do best, by the task's own metric, on a fifth of
    the training data that is held out, group by group; then all of it is learned.
    """

    def __init__(self, strength: float | None, penalty: float, seed: int) -> None:
        self._strength, self._penalty, self._seed = strength, penalty, seed
        self._fitted: Any = None

    def fit(self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]) -> None:
        """Learn from one row an example; those with one key are held out together."""
        linear = sklearn("linear_model")
        if task.kind == "similarity":
            self._fitted = linear.Ridge(alpha=self._penalty, solver="lsqr").fit(rows, gold)
            return
        if len(set(gold)) < 2:
            raise BadInput(f"all examples are {gold[0]!r}: there is nothing to tell apart", cure="add others")
        self._fitted = _logistic(*self._chosen(task, rows, gold, keys)).fit(rows, gold)

    def predict(self, name: str, task: Task, rows: Any, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._fitted is None:
            raise not_fitted(name, task)
        if task.kind == "similarity":
            low, high = task.scale or (float("-inf"), float("inf"))
            values = self._fitted.predict(rows).tolist()
            return [Prediction(example=e.id, answer=min(max(v, low), high)) for e, v in zip(examples, values, strict=True)]  # fmt: skip
        labels = self._fitted.classes_.tolist()
        shares = self._fitted.predict_proba(rows).tolist()
        return [_answer(e.id, dict(zip(labels, row, strict=True))) for e, row in zip(examples, shares, strict=True)]  # fmt: skip

    def _chosen(self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]) -> tuple[float, str | None]:  # fmt: skip
        """The strength and class weights to learn with."""
        if self._strength is not None:
            return self._strength, None
        order = sorted(range(len(keys)), key=lambda i: (lot(self._seed, keys[i]), i))[:MOST]
        bound = len(order) // HELD
        while 0 < bound < len(order) and keys[order[bound]] == keys[order[bound - 1]]:
            bound += 1  # a group stays whole
        held, kept = order[:bound], order[bound:]
        if len(keys) < FEWEST or {gold[i] for i in kept} != set(gold):
            return 1.0, None
        measure, asks_classes = _measure(task)
        grid = [(c, w) for w in ((None, "balanced") if asks_classes else (None,)) for c in (1.0, 4.0, 16.0)]
        truth = [gold[i] for i in held]

        def reached(choice: tuple[float, str | None]) -> float:
            fitted = _logistic(*choice).fit(rows[kept], [gold[i] for i in kept])
            return float(measure(truth, fitted.predict(rows[held])))

        return max(grid, key=reached)


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


def _measure(task: Task) -> tuple[Any, bool]:
    """What the task is judged by, and whether rare classes count in it as much as frequent ones."""
    metrics = sklearn("metrics")
    if "mcc" in task.metrics:
        return metrics.matthews_corrcoef, True
    if task.metrics[:1] == ("macro-f1",):
        return lambda gold, found: metrics.f1_score(gold, found, average="macro"), True
    return metrics.accuracy_score, False


def _answer(example: str, scores: dict[Any, float]) -> Prediction:
    best = max(scores, key=lambda label: scores[label])
    return Prediction(example=example, answer=best, scores={str(k): v for k, v in scores.items()})
