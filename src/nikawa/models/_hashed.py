"""A linear classifier on names of features: hashed, each example of length 1, one label against all others.

Logistic loss with an L2 penalty, by averaged stochastic gradient steps (scikit-learn's SGDClassifier) in the order the
examples come in. Only the weights are kept, and only of features that more than one example has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nikawa.models._structured import sklearn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH = 1 << 18


def matrix(rows: Iterable[Iterable[str]]) -> Any:
    """Examples by hashed features, as a sparse matrix."""
    hasher = sklearn("feature_extraction").FeatureHasher(
        WIDTH, input_type="string", alternate_sign=False
    )
    return sklearn("preprocessing").normalize(hasher.transform(rows), copy=False)


class Linear:
    """The classifier; one label alone is always answered."""

    def __init__(self, penalty: float, epochs: int) -> None:
        import numpy as np

        self._penalty, self._epochs = penalty, epochs
        self.names: list[str] = []
        self._kept: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._weights: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._bias: Floats = np.zeros(0)

    def fit(self, found: Any, gold: Sequence[str], usual: str | None = None) -> None:
        """Learn from a matrix; features that only examples of the `usual` label have are left out."""
        import numpy as np

        self.names = sorted(set(gold))
        if len(self.names) < 2:
            return
        told = found if usual is None else found[np.array([label != usual for label in gold])]
        self._kept = np.flatnonzero(told.getnnz(axis=0) > 1).astype(np.int32)
        linear = sklearn("linear_model").SGDClassifier(
            loss="log_loss",
            alpha=self._penalty,
            max_iter=self._epochs,
            tol=None,
            shuffle=False,
            average=True,
        )
        linear.fit(found[:, self._kept], gold)
        self._weights, self._bias = linear.coef_.astype(np.float32), linear.intercept_

    def shares(self, found: Any) -> Floats:
        """The probability of each label, made to sum to 1."""
        import numpy as np

        if len(self.names) == 1:
            return np.ones((found.shape[0], 1))
        scores = found[:, self._kept] @ self._weights.T + self._bias
        if len(self.names) == 2:  # one row stands for both
            scores = np.concatenate([-scores, scores], axis=1)
        shares = 1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0)))
        total: Floats = shares / shares.sum(axis=1, keepdims=True)
        return total
