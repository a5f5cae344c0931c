"""Linear models that several baselines use, built on scikit-learn.

- `LinearModel`: logistic or ridge regression on the rows of a matrix, with settings chosen on held-out data.
- `LinearTextModel`: a model that is a `LinearModel` over features of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any, Protocol

from nikawa.errors import BadInput
from nikawa.models.base import (
    check_kind,
    draw_number,
    get_gold,
    load_sklearn,
    not_fitted_error,
)
from nikawa.records import Example, Kind, Prediction, Task

if TYPE_CHECKING:
    pass

HELD_OUT_FOLDS = 5
"""Parts of the training data that are held out in turn while settings are chosen."""
MIN_EXAMPLES_TO_CHOOSE = 100
"""Below this number of examples nothing is held out: the choice would be random."""
MAX_EXAMPLES_TO_CHOOSE = 10_000
"""Examples that choose settings: enough to compare them, and few enough to stay fast."""
STRENGTHS = (1.0, 4.0, 16.0)
"""Inverse penalties to choose from."""
THRESHOLDS = tuple(sorted((step / 20 for step in range(1, 20)), key=lambda t: abs(t - 0.5)))
"""How likely the second of two labels must be; of equally good ones the nearest to a half is chosen."""
TOLERANCE = 1e-5
"""Tolerance of the solver: tf-idf rows are so small that a coarser one would accept all weights at 0."""


@dataclass(frozen=True)
class LogisticOptions:
    """How labels are learned."""

    strength: float
    weights: str | None
    """Class weights as scikit-learn names them: `balanced`, or None."""
    threshold: float = 0.5
    """How likely the second of two labels must be to be answered."""

    def make_classifier(self) -> Any:
        """A fresh logistic regression."""
        return load_sklearn("linear_model").LogisticRegression(
            C=self.strength,
            class_weight=self.weights,
            solver="newton-cg",
            tol=TOLERANCE,
            max_iter=1000,
        )


class LinearModel:
    """Logistic regression for labels, ridge regression kept on the task's scale for scores.

    A strength that is not given is the one that does best, by the task's first metric, on training data held out in
    five folds of whole groups; with it, class weights where that metric counts classes alike, and of two labels how
    likely the second must be to be answered. Then the model learns from all of the data.
    """

    def __init__(
        self,
        seed: int,
        *,
        strength: float | None,
        penalty: float,
        balance: bool | None = None,
    ) -> None:
        """`seed` orders the examples that settings are chosen on.

        `strength` is the inverse of the penalty on the weights of labels (scikit-learn's C); None chooses one. `penalty` is that
        of scores (ridge's alpha). `balance` says whether classes weigh alike; None chooses that too.
        """
        self._strength = strength
        self._penalty = penalty
        self._seed = seed
        self._balance = balance
        self._fitted: Any = None

    def fit(self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]) -> None:
        """Learn from one row per example; rows with the same key are held out together."""
        if task.kind == "similarity":
            ridge = load_sklearn("linear_model").Ridge(alpha=self._penalty, solver="lsqr")
            self._fitted = ridge.fit(rows, gold)
            return
        labels = set(gold)
        if len(labels) < 2:
            raise BadInput(
                f"all examples have the label {gold[0]!r}", cure="add examples with other labels"
            )
        options = self._choose_options(task, rows, gold, keys)
        self._fitted = options.make_classifier().fit(rows, gold)
        if len(labels) == 2:
            # The likelier label is the answer, so the threshold goes into the probabilities.
            self._fitted.intercept_ -= log(options.threshold / (1 - options.threshold))

    def predict(self, task: Task, rows: Any, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        predictions = []
        if task.kind == "similarity":
            low, high = task.scale or (float("-inf"), float("inf"))
            for example, value in zip(examples, self._fitted.predict(rows).tolist(), strict=True):
                predictions.append(
                    Prediction(example=example.id, answer=min(max(value, low), high))
                )
            return predictions
        labels = self._fitted.classes_.tolist()
        for example, row in zip(examples, self._fitted.predict_proba(rows).tolist(), strict=True):
            scores = dict(zip(map(str, labels), row, strict=True))
            answer = labels[row.index(max(row))]
            predictions.append(Prediction(example=example.id, answer=answer, scores=scores))
        return predictions

    def _choose_options(
        self, task: Task, rows: Any, gold: Sequence[Any], keys: Sequence[str]
    ) -> LogisticOptions:
        """The options that do best on held-out data; of equally good ones those with the strongest penalty."""
        order = sorted(range(len(keys)), key=lambda i: (draw_number(self._seed, keys[i]), i))
        folds = split_folds(order[:MAX_EXAMPLES_TO_CHOOSE], keys)
        labels = set(gold)
        too_few = len(keys) < MIN_EXAMPLES_TO_CHOOSE or any(
            {gold[i] for i in kept} != labels for kept, _ in folds
        )
        if self._strength is not None or too_few:
            strength = STRENGTHS[0] if self._strength is None else self._strength
            return LogisticOptions(strength, "balanced" if self._balance else None)
        measure = find_balanced_metric(task)
        weights: tuple[str | None, ...] = ("balanced",) if self._balance else (None,)
        if self._balance is None and measure is not None:
            weights = (None, "balanced")
        measure = measure or load_sklearn("metrics").accuracy_score
        results = []
        for weight in weights:
            for strength in STRENGTHS:
                options = LogisticOptions(strength, weight)
                results.append(score_options(options, measure, rows, gold, folds))
        return max(results, key=lambda result: result[0])[1]


class Features(Protocol):
    """What a linear model sees of examples: a matrix with one row each."""

    def fit_transform(self, examples: Sequence[Example]) -> Any:
        """Learn what features there are; one row per example."""
        ...

    def transform(self, examples: Sequence[Example]) -> Any:
        """One row per example, of the features that were learned."""
        ...


class LinearTextModel(ABC):
    """A model that is a `LinearModel` over features of its own; it can be pickled once it has learned."""

    name: str = ""
    kinds: tuple[Kind, ...] = ()

    def __init__(self) -> None:
        self._learned: tuple[Features, LinearModel] | None = None

    @abstractmethod
    def make_features(self, task: Task) -> Features:
        """Fresh features for a task; raises BadInput for one that has none."""

    @abstractmethod
    def make_linear(self) -> LinearModel:
        """A fresh linear model."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the features, then their weights."""
        check_kind(self.name, self.kinds, task)
        features = self.make_features(task)
        gold = get_gold(task, examples)
        linear = self.make_linear()
        groups = [example.group or example.id for example in examples]
        linear.fit(task, features.fit_transform(examples), gold, groups)
        self._learned = (features, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest label with the probability of each, or the score."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        features, linear = self._learned
        return linear.predict(task, features.transform(examples), examples)


GoldMeasure = Callable[[Sequence[Any], Sequence[Any]], float]
"""How good answers (second) to gold (first) are."""
Fold = tuple[list[int], list[int]]
"""The places of the items to learn from, and of those held out."""


def find_balanced_metric(task: Task) -> GoldMeasure | None:
    """The task's first metric if a rare class counts as much as a frequent one in it, else None."""
    from nikawa.metrics import Items, metrics

    name = task.metrics[0] if task.metrics else ""
    if name not in metrics() or not metrics()[name].balances_classes:
        return None
    metric = metrics()[name]

    def measure(gold: Sequence[Any], answers: Sequence[Any]) -> float:
        items = Items(gold, answers, labels=sorted({*gold, *answers}))
        return metric.evaluate(items, "official").value

    return measure


def score_options(
    options: LogisticOptions,
    measure: GoldMeasure,
    rows: Any,
    gold: Sequence[Any],
    folds: Sequence[Fold],
) -> tuple[float, LogisticOptions]:
    """What options reach on held-out data, and the options with the best threshold where there are two labels."""
    labels = sorted(set(gold))
    truth: list[Any] = []
    shares: list[list[float]] = []
    for training, held_out in folds:
        classifier = options.make_classifier()
        classifier.fit(rows[training], [gold[i] for i in training])
        shares += classifier.predict_proba(rows[held_out]).tolist()
        truth += [gold[i] for i in held_out]
    if len(labels) > 2 or options.weights:  # balanced classes have moved the threshold already
        answers = [labels[row.index(max(row))] for row in shares]
        return float(measure(truth, answers)), options
    results = []
    for threshold in THRESHOLDS:
        answers = [labels[row[1] > threshold] for row in shares]
        results.append((float(measure(truth, answers)), threshold))
    value, threshold = max(results, key=lambda result: result[0])
    return value, replace(options, threshold=threshold)


def split_folds(order: Sequence[int], keys: Sequence[str]) -> list[Fold]:
    """(Learned from, held out) for each fold; items with one key, which are neighbours, are in one fold."""
    bounds = [0]
    for fold in range(1, HELD_OUT_FOLDS + 1):
        bound = max(bounds[-1], fold * len(order) // HELD_OUT_FOLDS)
        while 0 < bound < len(order) and keys[order[bound]] == keys[order[bound - 1]]:
            bound += 1
        bounds.append(bound)
    folds = []
    for start, end in pairwise(bounds):
        if start < end:
            folds.append(([*order[:start], *order[end:]], list(order[start:end])))
    return folds
