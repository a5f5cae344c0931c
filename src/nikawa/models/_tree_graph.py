"""A graph parser: the projective tree whose arcs score best together.

A tree's score is the sum over its arcs of w·f(dependent, head), as in McDonald, Crammer & Pereira (2005). The weights
make the right head of each word likely, p(h|d) ∝ exp w·f(d, h), by stochastic gradient steps whose size shrinks a
weight at a time (AdaGrad: Duchi, Hazan & Singer 2011). If no tree of the examples has a head to the left, as in Korean
and Japanese, none is given. Labels come from a linear classifier afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.models._eisner import LOW, eisner
from nikawa.models._structured import check_kind, drawn
from nikawa.models._tree_features import BITS, Atoms, Ids, arc_features, atoms_of
from nikawa.models._tree_labels import Labels
from nikawa.models._trees import trees_of, words_of
from nikawa.models.base import Progress, _silent, not_fitted
from nikawa.models.tree_graph import KINDS, Settings
from nikawa.records import Example, Prediction, Task

Scores = NDArray[np.float64]
Weights = NDArray[np.float32]
ROOM = 256 << 20
"""Bytes of features held between epochs; those of further sentences are made anew each time."""
NEGLIGIBLE = 1e-3
"""An arc whose probability is off by less teaches nothing."""


class Graph:
    """The model; it can be pickled once it has learned."""

    name = "tree-graph"

    def __init__(self, settings: Settings, seed: int, progress: Progress) -> None:
        self._settings, self._seed, self._progress = settings, seed, progress
        self._weights: Weights | None = None
        self._left = True
        self._labels = Labels()

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the arcs, then the labels of right arcs."""
        check_kind(self.name, KINDS, task)
        trees = trees_of(task, examples)
        words = [words_of(task, example) for example in examples]
        atoms = [atoms_of(row) for row in words]
        heads = [np.array(tree["heads"], dtype=np.int64) for tree in trees]
        self._left = any(bool(((h > 0) & (h <= np.arange(len(h)))).any()) for h in heads)
        features = _Held(atoms)
        learner = Learner(1 << BITS, self._settings.rate)
        for epoch in range(self._settings.epochs):
            for i in self._order(examples, epoch):
                ids = features.of(i)
                learner.step(ids, self._masked(learner.scores(ids)), heads[i])
            self._progress("epochs", epoch + 1, self._settings.epochs)
        self._weights = learner.weights
        self._labels.fit(atoms, heads, [tree["labels"] for tree in trees])

    def _order(self, examples: Sequence[Example], epoch: int) -> list[int]:
        return sorted(range(len(examples)), key=lambda i: drawn(self._seed, epoch, examples[i].id))

    def _masked(self, scores: Scores) -> Scores:
        """No word is its own head; where heads are to the right, only the last word hangs on the root."""
        n = len(scores)
        place, head = np.arange(1, n + 1)[:, None], np.arange(n + 1)[None, :]
        barred = (place == head) if self._left else (head <= place) & ((head > 0) | (place < n))
        scores[barred] = LOW
        return scores

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best tree of each sentence."""
        if self._weights is None:
            raise not_fitted(self.name, task)
        return [self._answer(task, example, self._weights) for example in examples]

    def _answer(self, task: Task, example: Example, weights: Weights) -> Prediction:
        atoms = atoms_of(words_of(task, example))
        if len(atoms) == 2:
            return Prediction(example=example.id, answer={"heads": [], "labels": []})
        scores = weights[arc_features(atoms)].sum(axis=-1, dtype=np.float64)
        heads = eisner(self._masked(scores))
        answer = {"heads": heads.tolist(), "labels": self._labels.predict(atoms, heads)}
        return Prediction(example=example.id, answer=answer)

    def __getstate__(self) -> dict[str, Any]:
        """Weights that are not 0, with their places: most are."""
        state = {**self.__dict__, "_progress": _silent}
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


class _Held:
    """Features of sentences: made when first asked for, and held while there is room."""

    def __init__(self, atoms: Sequence[Atoms]) -> None:
        self._atoms = atoms
        self._held: dict[int, Ids] = {}
        self._room = ROOM

    def of(self, i: int) -> Ids:
        """The features of all arcs of a sentence."""
        found = self._held.get(i)
        if found is None:
            found = arc_features(self._atoms[i])
            if found.nbytes <= self._room:
                self._held[i] = found
                self._room -= found.nbytes
        return found


class Learner:
    """Weights, and how far each has been moved already."""

    def __init__(self, size: int, rate: float) -> None:
        self.weights: Weights = np.zeros(size, dtype=np.float32)
        self._moved = np.full(size, 1e-6, dtype=np.float32)
        self._rate = rate

    def scores(self, features: Ids) -> Scores:
        """The score of every arc."""
        total: Scores = self.weights[features].sum(axis=-1, dtype=np.float64)
        return total

    def step(self, features: Ids, scores: Scores, gold: NDArray[np.int64]) -> None:
        """Make the gold heads of a sentence likelier."""
        wrong = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong /= wrong.sum(axis=1, keepdims=True)
        wrong[np.arange(len(gold)), gold] -= 1.0
        told = np.abs(wrong) > NEGLIGIBLE
        ids, where = np.unique(features[told], return_inverse=True)
        slope = np.bincount(
            where.ravel(), np.repeat(wrong[told], features.shape[-1]), len(ids)
        ).astype(np.float32)
        self._moved[ids] += slope * slope
        self.weights[ids] -= self._rate * slope / np.sqrt(self._moved[ids])
