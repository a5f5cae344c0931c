"""Accuracy, and the Matthews correlation of two-way tasks.

Accuracy: share of items answered right (MARC-ja, JNLI, JCommonsenseQA, JCoLA, KLUE-NLI, JSICK, JAMP).
MCC (Matthews 1975, https://doi.org/10.1016/0005-2795(75)90109-9), as scikit-learn generalises it (Gorodkin
2004): (c s - Σ p_k t_k) / sqrt((s² - Σ p_k²)(s² - Σ t_k²)), with 0 where a side is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nikawa.metrics.base import (
    Additive,
    Floats,
    Items,
    Metric,
    Mode,
    codes,
    golden_items,
    mean,
    ratio,
)


def accuracy(items: Items, mode: Mode = "official") -> Additive:
    """Share of right answers; NaN for no items at all."""
    return mean(right(items.gold, items.answers))


def right(gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
    """1.0 where the answer is the gold one."""
    return np.fromiter((g == a for g, a in zip(gold, answers, strict=True)), np.float64, len(gold))


def mcc(items: Items, mode: Mode = "official") -> Additive:
    """Matthews correlation over the labels that occur; an unread answer is a class of its own."""
    labels = sorted({*items.labels, *items.gold, *items.answers}, key=str)
    gold, answer = codes(items.gold, labels), codes(items.answers, labels)
    eye = np.eye(max(len(labels), 1))
    statistics = np.column_stack([gold == answer, np.ones(len(gold)), eye[gold], eye[answer]])
    evaluation = Additive(
        statistics, lambda sums: _mcc(sums, len(labels)), 0.0, right(items.gold, items.answers)
    )
    value = float(evaluation.finish(statistics.sum(axis=0)))
    return Additive(statistics, evaluation.finish, value, evaluation.detail)


def _mcc(sums: Floats, k: int) -> Floats:
    hits, n = sums[..., 0], sums[..., 1]
    gold, answered = sums[..., 2 : 2 + k], sums[..., 2 + k :]
    covariance = hits * n - (gold * answered).sum(-1)
    spread = (n * n - (gold * gold).sum(-1)) * (n * n - (answered * answered).sum(-1))
    return ratio(covariance, np.sqrt(spread))


def _golden_accuracy(case: dict[str, list[int]]) -> float:
    return accuracy(Items(case["gold"], case["pred"])).value


def _golden_percent(case: dict[str, list[int]]) -> float:
    return _golden_accuracy(case) * 100


def _golden_mcc(case: dict[str, list[int]]) -> dict[str, Callable[[], float]]:
    return {"mcc": lambda: mcc(golden_items(case)).value, "acc": lambda: _golden_accuracy(case)}


METRICS = (
    Metric(
        "accuracy",
        accuracy,
        "Share of items answered right.",
        kinds=("text", "inference", "choice", "relation"),
    ),
    Metric(
        "mcc",
        mcc,
        "Matthews correlation: 0 for a constant answer, 1 for perfect.",
        kinds=("text", "inference"),
        low=-1.0,
        balances_classes=True,
    ),
)
GOLDEN = {
    "jglue_accuracy": _golden_accuracy,
    "klue_nli_acc": _golden_percent,
    "jcola_mcc": _golden_mcc,
}
