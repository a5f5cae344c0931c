"""A graph parser: the projective tree whose arcs score best together.

A tree's score is the sum over its arcs of w·f(dependent, head), as in McDonald, Crammer & Pereira
(2005). The weights make the right head of each word likely, p(h|d) ∝ exp w·f(d, h), by stochastic
gradient steps whose size shrinks for each weight separately (AdaGrad: Duchi, Hazan & Singer 2011). If no
tree of the examples has a head to the left, as in Korean and Japanese, none is answered. Labels
come from logistic regression afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.models.base import (
    Progress,
    check_kind,
    draw_number,
    ignore_progress,
    load_sklearn,
    not_fitted_error,
)
from nikawa.models.trees.decoding import BARRED, best_projective_tree
from nikawa.models.trees.features import (
    BITS,
    Atoms,
    Ids,
    arc_features,
    label_features,
    sentence_atoms,
)
from nikawa.models.trees.sentences import KINDS, get_trees, get_words
from nikawa.records import Example, Prediction, Task

Scores = NDArray[np.float64]
Weights = NDArray[np.float32]
Heads = NDArray[np.int64]
MAX_CACHE_BYTES = 256 << 20
"""Bytes of features kept between epochs; those of further sentences are computed again each time."""
NEGLIGIBLE = 1e-3
"""An arc whose probability is off by less teaches nothing."""
LABEL_STRENGTH = 1.0
"""Inverse of the penalty on the weights of labels."""


class GraphParser:
    """The model; it can be pickled once it has learned."""

    name = "tree-graph"

    def __init__(self, epochs: int, rate: float, seed: int, progress: Progress) -> None:
        """`rate` is how far the first step of a weight goes."""
        self._epochs = epochs
        self._rate = rate
        self._seed = seed
        self._progress = progress
        self._weights: Weights | None = None
        self._has_left_heads = True
        self._labels = LabelClassifier()

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the arcs, then the labels of gold arcs."""
        check_kind(self.name, KINDS, task)
        trees = get_trees(task, examples)
        atoms = [sentence_atoms(get_words(task, example)) for example in examples]
        heads = [np.array(tree["heads"], dtype=np.int64) for tree in trees]
        self._has_left_heads = any(
            bool(((own > 0) & (own <= np.arange(len(own)))).any()) for own in heads
        )
        features = _FeatureCache(atoms)
        learner = ArcLearner(1 << BITS, self._rate)
        for epoch in range(self._epochs):
            keys = [draw_number(self._seed, epoch, example.id) for example in examples]
            for i in sorted(range(len(examples)), key=keys.__getitem__):
                ids = features.get(i)
                learner.step(ids, self._bar_arcs(learner.score(ids)), heads[i])
            self._progress("epochs", epoch + 1, self._epochs)
        self._weights = learner.weights
        self._labels.fit(atoms, heads, [tree["labels"] for tree in trees])

    def _bar_arcs(self, scores: Scores) -> Scores:
        """No word is its own head.

        Where heads are to the right, only the last word depends on the root.
        """
        n = len(scores)
        place = np.arange(1, n + 1)[:, None]
        head = np.arange(n + 1)[None, :]
        if self._has_left_heads:
            barred = place == head
        else:
            barred = (head <= place) & ((head > 0) | (place < n))
        scores[barred] = BARRED
        return scores

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best tree of each sentence."""
        if self._weights is None:
            raise not_fitted_error(self.name, task)
        predictions = []
        for example in examples:
            answer: dict[str, Any] = {"heads": [], "labels": []}
            atoms = sentence_atoms(get_words(task, example))
            if len(atoms) > 2:
                scores = self._weights[arc_features(atoms)].sum(axis=-1, dtype=np.float64)
                heads = best_projective_tree(self._bar_arcs(scores))
                answer = {"heads": heads.tolist(), "labels": self._labels.predict(atoms, heads)}
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions

    def __getstate__(self) -> dict[str, Any]:
        """Weights that are not 0, with their places: most are 0."""
        state = {**self.__dict__, "_progress": ignore_progress}
        if self._weights is not None:
            places = np.flatnonzero(self._weights)
            state["_weights"] = (places.astype(np.int32), self._weights[places])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._weights is not None:
            places, values = state["_weights"]
            self._weights = np.zeros(1 << BITS, dtype=np.float32)
            self._weights[places] = values


class _FeatureCache:
    """Features of sentences: computed when first needed, and kept while there is room."""

    def __init__(self, atoms: Sequence[Atoms]) -> None:
        self._atoms = atoms
        self._features: dict[int, Ids] = {}
        self._room = MAX_CACHE_BYTES

    def get(self, i: int) -> Ids:
        """The features of all arcs of a sentence."""
        features = self._features.get(i)
        if features is None:
            features = arc_features(self._atoms[i])
            if features.nbytes <= self._room:
                self._features[i] = features
                self._room -= features.nbytes
        return features


class ArcLearner:
    """The weights of arcs, and how far each has been moved already."""

    def __init__(self, size: int, rate: float) -> None:
        self.weights: Weights = np.zeros(size, dtype=np.float32)
        self._squared_slopes = np.full(size, 1e-6, dtype=np.float32)
        self._rate = rate

    def score(self, features: Ids) -> Scores:
        """The score of every arc."""
        total: Scores = self.weights[features].sum(axis=-1, dtype=np.float64)
        return total

    def step(self, features: Ids, scores: Scores, gold: Heads) -> None:
        """Make the gold heads of a sentence likelier."""
        errors = np.exp(scores - scores.max(axis=1, keepdims=True))
        errors /= errors.sum(axis=1, keepdims=True)
        errors[np.arange(len(gold)), gold] -= 1.0
        relevant = np.abs(errors) > NEGLIGIBLE
        ids, where = np.unique(features[relevant], return_inverse=True)
        repeated = np.repeat(errors[relevant], features.shape[-1])
        slope = np.bincount(where.ravel(), repeated, len(ids)).astype(np.float32)
        self._squared_slopes[ids] += slope * slope
        self.weights[ids] -= self._rate * slope / np.sqrt(self._squared_slopes[ids])


class LabelClassifier:
    """Logistic regression for the labels of arcs: one row of weights per known feature, one column per
    label.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._known: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._weights: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._bias: NDArray[np.float32] = np.zeros(0, dtype=np.float32)

    def fit(
        self, atoms: Sequence[Atoms], heads: Sequence[Heads], labels: Sequence[Sequence[str]]
    ) -> None:
        """Learn from right arcs; features that only one word has are left out."""
        from scipy.sparse import csr_matrix  # scikit-learn itself needs scipy

        gold = [label for row in labels for label in row]
        self._names = sorted(set(gold))
        if len(self._names) < 2:  # nothing to tell apart
            return
        ids = np.concatenate([label_features(a, h) for a, h in zip(atoms, heads, strict=True)])
        every, columns, counts = np.unique(ids, return_inverse=True, return_counts=True)
        words, templates = ids.shape
        ends = np.arange(0, words * templates + 1, templates)
        ones = np.ones(words * templates)
        matrix = csr_matrix((ones, columns.ravel(), ends), shape=(words, len(every)))
        kept = np.flatnonzero(counts > 1) if (counts > 1).any() else np.arange(len(every))
        self._known = every[kept]
        linear = load_sklearn("linear_model").LogisticRegression(C=LABEL_STRENGTH, max_iter=200)
        linear.fit(matrix[:, kept], gold)
        weights, bias = linear.coef_, linear.intercept_
        if len(self._names) == 2:  # one row of weights serves both
            weights = np.concatenate([-weights, weights])
            bias = np.concatenate([-bias, bias])
        self._weights = weights.T.astype(np.float32)
        self._bias = bias.astype(np.float32)

    def predict(self, atoms: Atoms, heads: Heads) -> list[str]:
        """The likeliest label of every word."""
        if len(self._names) < 2:
            return self._names * len(heads)
        ids = label_features(atoms, heads)
        places = np.minimum(np.searchsorted(self._known, ids), len(self._known) - 1)
        known = (self._known[places] == ids)[..., None]
        scores = (self._weights[places] * known).sum(axis=1) + self._bias
        return [self._names[best] for best in scores.argmax(axis=1)]
