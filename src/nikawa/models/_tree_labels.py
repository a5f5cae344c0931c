"""The labels of a tree's arcs: logistic regression on features of the word, its head and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.models._structured import sklearn
from nikawa.models._tree_features import (
    ALL,
    END,
    FIRST,
    LAST,
    MARK,
    STEM,
    TAGSTEM,
    TWO,
    Atoms,
    Ids,
    Templates,
)

PENALTY = 1.0
Heads = NDArray[np.int64]


def label_features(atoms: Atoms, heads: Heads) -> Ids:
    """Words by templates: the word itself, its head, and its neighbours."""
    n = len(atoms) - 2
    word, head, before, after = atoms[1 : n + 1], atoms[heads], atoms[:n], atoms[2:]
    found = Templates()
    for column in (FIRST, LAST, TWO, ALL, STEM, END, TAGSTEM):
        found.add(word[:, column])
    for own, other in (
        (LAST, FIRST),
        (TWO, TWO),
        (END, LAST),
        (END, TAGSTEM),
        (ALL, FIRST),
        (ALL, TAGSTEM),
        (LAST, STEM),
        (STEM, STEM),
    ):
        found.add(word[:, own], head[:, other])
    for own, other in ((ALL, LAST), (TWO, TWO), (END, STEM)):
        found.add(word[:, own], after[:, other])
    found.add(word[:, ALL], before[:, LAST])
    found.add(word[:, ALL], word[:, MARK])
    found.add(word[:, END], word[:, STEM])
    found.add(word[:, TWO], (heads == np.arange(2, n + 2)).astype(np.uint64), head[:, FIRST])
    found.add(word[:, ALL], (heads == 0).astype(np.uint64))
    return found.stacked(n)


class Labels:
    """The classifier: a row of weights a known feature, a column a label."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._known: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._weights: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._bias: NDArray[np.float32] = np.zeros(0, dtype=np.float32)

    def fit(
        self, atoms: Sequence[Atoms], heads: Sequence[Heads], labels: Sequence[Sequence[str]]
    ) -> None:
        """Learn from right arcs."""
        gold = [label for row in labels for label in row]
        self._names = sorted(set(gold))
        if len(self._names) < 2:  # nothing to tell apart
            return
        ids = np.concatenate([label_features(a, h) for a, h in zip(atoms, heads, strict=True)])
        self._known, matrix = _matrix(ids)
        linear = sklearn("linear_model").LogisticRegression(C=PENALTY, max_iter=200)
        linear.fit(matrix, gold)
        weights, bias = linear.coef_, linear.intercept_
        if len(self._names) == 2:  # one row stands for both
            weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
        self._weights, self._bias = weights.T.astype(np.float32), bias.astype(np.float32)

    def predict(self, atoms: Atoms, heads: Heads) -> list[str]:
        """The likeliest label of every word."""
        if len(self._names) < 2:
            return self._names * len(heads)
        ids = label_features(atoms, heads)
        places = np.minimum(np.searchsorted(self._known, ids), len(self._known) - 1)
        known = (self._known[places] == ids)[..., None]
        scores = (self._weights[places] * known).sum(axis=1) + self._bias
        return [self._names[best] for best in scores.argmax(axis=1)]


def _matrix(ids: Ids) -> tuple[NDArray[np.int32], Any]:
    """The features met more than once (a feature of one word tells little), and which word has which."""
    from scipy.sparse import csr_matrix  # a part of scikit-learn's own needs

    every, columns, counts = np.unique(ids, return_inverse=True, return_counts=True)
    rows, templates = ids.shape
    ends = np.arange(0, rows * templates + 1, templates)
    matrix = csr_matrix(
        (np.ones(rows * templates), columns.ravel(), ends), shape=(rows, len(every))
    )
    kept = np.flatnonzero(counts > 1) if (counts > 1).any() else np.arange(len(every))
    return every[kept], matrix[:, kept]
