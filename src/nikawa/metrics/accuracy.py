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
    encode_labels,
    from_sums,
    golden_items,
    mean,
    ratio,
)
from nikawa.records import CLASS_KINDS


def accuracy(items: Items, mode: Mode = "official") -> Additive:
    """Share of right answers; NaN for no items at all.

    >>> accuracy(Items(gold=["a", "b"], answers=["a", "a"])).value
    0.5
    """
    return mean(items.compute_once(mark_items))


def mark_items(items: Items) -> Floats:
    """1.0 for each item answered right."""
    return mark_right(items.gold, items.answers)


def mark_right(gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
    """1.0 where the answer is the gold one."""
    pairs = zip(gold, answers, strict=True)
    return np.fromiter((g == a for g, a in pairs), np.float64, len(gold))


def mcc(items: Items, mode: Mode = "official") -> Additive:
    """Matthews correlation over the labels that occur; an unreadable answer is a separate class."""
    labels = sorted({*items.labels, *items.gold, *items.answers}, key=str)
    gold, answer = encode_labels(items.gold, labels), encode_labels(items.answers, labels)
    k = len(labels)
    eye = np.eye(max(k, 1))

    def finish(sums: Floats) -> Floats:
        hits, n = sums[..., 0], sums[..., 1]
        gold_counts, answer_counts = sums[..., 2 : 2 + k], sums[..., 2 + k :]
        covariance = hits * n - (gold_counts * answer_counts).sum(-1)
        gold_spread = n * n - (gold_counts * gold_counts).sum(-1)
        answer_spread = n * n - (answer_counts * answer_counts).sum(-1)
        return ratio(covariance, np.sqrt(gold_spread * answer_spread))

    statistics = np.column_stack([gold == answer, np.ones(len(gold)), eye[gold], eye[answer]])
    return from_sums(statistics, finish, items.compute_once(mark_items))


def _golden_accuracy(case: dict[str, list[int]]) -> float:
    return accuracy(Items(case["gold"], case["pred"])).value


METRICS = (
    Metric(
        "accuracy",
        accuracy,
        "Share of items with the correct answer.",
        kinds=CLASS_KINDS,
        names_in_tools={"llm-jp-eval": "exact_match"},
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
GOLDEN: dict[str, Callable[[Any], Any]] = {
    "jglue_accuracy": _golden_accuracy,
    "klue_nli_acc": lambda case: _golden_accuracy(case) * 100,
    "jcola_mcc": lambda case: {
        "mcc": lambda: mcc(golden_items(case)).value,
        "acc": lambda: _golden_accuracy(case),
    },
}
