"""Balanced accuracy: the mean, over the labels that occur in gold, of the share of their items answered right.

    balanced accuracy = (1 / K) Σ_k right_k / n_k

Brodersen, Ong, Stephan, Buhmann (2010), The balanced accuracy and its posterior distribution.
https://doi.org/10.1109/ICPR.2010.764
"""

from __future__ import annotations

import numpy as np

from nikawa.metrics import Evaluation, Items, Metric, Mode
from nikawa.metrics.base import Floats, encode_labels, from_sums, ratio
from nikawa.records import CLASS_KINDS


def balanced_accuracy(items: Items, mode: Mode = "official") -> Evaluation:
    """The metric as a function of sums over items, so that Nikawa can resample it.

    >>> balanced_accuracy(Items(gold=["a", "a", "a", "b"], answers=["a", "a", "a", "a"])).value
    0.5
    """
    labels = sorted(set(items.gold), key=str)
    k = len(labels)
    of_label = np.eye(max(k, 1))[encode_labels(items.gold, labels)]
    pairs = zip(items.gold, items.answers, strict=True)
    right = np.array([float(gold == answer) for gold, answer in pairs])

    def finish(sums: Floats) -> Floats:
        hits, counts = sums[..., :k], sums[..., k:]
        present = counts > 0
        return ratio((ratio(hits, counts) * present).sum(-1), present.sum(-1), np.nan)

    return from_sums(np.hstack([of_label * right[:, None], of_label]), finish, right)


METRICS = (
    Metric(
        "balanced-accuracy",
        balanced_accuracy,
        "Mean share of right answers over the labels.",
        kinds=CLASS_KINDS,
        balances_classes=True,
    ),
)
