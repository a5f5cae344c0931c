"""Linear models on many sparse features; scikit-learn does the work.

- `hash_features`: names of features, hashed into the columns of a sparse matrix.
- `HashedClassifier`: a classifier on such a matrix.
- `fit_binary_weights`: the weights that separate two classes, for rankers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nikawa.models.base import load_sklearn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HASH_COLUMNS = 1 << 18
"""Columns that names of features are hashed into."""


def fit_binary_weights(rows: Any, labels: Any, *, strength: float, intercept: bool) -> Any:
    """One weight per column to separate two classes.

    `strength` is the inverse of the penalty on weights. Only columns in use are learned, since hashing leaves most of them empty; the others get 0.
    """
    import numpy as np

    used = np.flatnonzero(rows.getnnz(axis=0))
    classifier = load_sklearn("linear_model").LogisticRegression(
        C=strength, solver="liblinear", fit_intercept=intercept, random_state=0
    )
    weights = np.zeros(rows.shape[1])
    weights[used] = classifier.fit(rows[:, used], labels).coef_.ravel()
    return weights


def hash_features(rows: Iterable[Iterable[str]]) -> Any:
    """A sparse matrix from the names of features of each example; each row has length 1."""
    hasher = load_sklearn("feature_extraction").FeatureHasher(
        HASH_COLUMNS, input_type="string", alternate_sign=False
    )
    return load_sklearn("preprocessing").normalize(hasher.transform(rows), copy=False)


class HashedClassifier:
    """One label against all others, on the rows of `hash_features`; a label that has no rival is always answered.

    Logistic loss with an L2 penalty, by averaged stochastic gradient steps (scikit-learn's SGDClassifier) in the
    order of the examples. Only the weights are kept, and only of features that more than one example has.
    """

    def __init__(self, *, penalty: float, epochs: int) -> None:
        import numpy as np

        self._penalty, self._epochs = penalty, epochs
        self.names: list[str] = []
        """The labels, in the order of the columns of `predict_shares`."""
        self._columns: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._weights: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._bias: Floats = np.zeros(0)

    def fit(self, rows: Any, gold: Sequence[str], usual: str | None = None) -> None:
        """Learn from a matrix; features that only examples of the `usual` label have are left out."""
        import numpy as np

        self.names = sorted(set(gold))
        if len(self.names) < 2:
            return
        telling = rows if usual is None else rows[np.array([label != usual for label in gold])]
        self._columns = np.flatnonzero(telling.getnnz(axis=0) > 1).astype(np.int32)
        classifier = load_sklearn("linear_model").SGDClassifier(
            loss="log_loss",
            alpha=self._penalty,
            max_iter=self._epochs,
            tol=None,
            shuffle=False,
            average=True,
        )
        classifier.fit(rows[:, self._columns], gold)
        self._weights = classifier.coef_.astype(np.float32)
        self._bias = classifier.intercept_

    def predict_shares(self, rows: Any) -> Floats:
        """The probability of each label, made to sum to 1."""
        import numpy as np

        if len(self.names) == 1:
            return np.ones((rows.shape[0], 1))
        scores = rows[:, self._columns] @ self._weights.T + self._bias
        if len(self.names) == 2:  # one row of weights serves both
            scores = np.concatenate([-scores, scores], axis=1)
        shares = 1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0)))
        total: Floats = shares / shares.sum(axis=1, keepdims=True)
        return total
