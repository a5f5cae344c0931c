"""Precision, recall and F1 over classes (YNAT, KLUE-RE, KLUE-STS, JSICK).

F1 of a class is 2 tp / (answered + gold). Macro: the plain mean over classes that occur in gold or answers,
so an unused class is not counted and a class that only answers have counts 0 (scikit-learn's `macro` without
`labels`). Micro: F1 of the summed counts over all classes except the one that means "nothing".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.metrics.accuracy import mark_items
from nikawa.metrics.base import (
    Additive,
    Floats,
    Ints,
    Items,
    Metric,
    Mode,
    encode_labels,
    f1,
    from_sums,
    golden_items,
    ratio,
)
from nikawa.records import CLASS_KINDS

Counts = NDArray[np.uint8]

PARAPHRASE_THRESHOLD = 3.0
"""From this similarity on, KLUE-STS calls a pair a paraphrase."""


def class_counts(gold: Ints, answer: Ints, k: int) -> Counts:
    """Items by 3k: right, answered and gold of each class, one byte each. A code of -1 is not a class."""
    counts = np.zeros((len(gold), 3 * k), dtype=np.uint8)
    for code in range(k):
        is_gold, is_answer = gold == code, answer == code
        counts[:, code] = is_gold & is_answer
        counts[:, k + code] = is_answer
        counts[:, 2 * k + code] = is_gold
    return counts


def split_counts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Right, answered, gold by class from summed statistics."""
    hits, answered, wanted = np.split(sums, 3, axis=-1)
    return hits, answered, wanted


def group_counts(rows: Sequence[Ints], n: int, k: int) -> Floats:
    """Groups by 3k, from right, answered and gold of each class of each group; a row has n times k counts."""
    by_group = np.stack(rows).reshape(3, n, k).transpose(1, 0, 2)
    return by_group.reshape(n, 3 * k).astype(np.float64)


def mean_over_present(values: Floats, answered: Floats, wanted: Floats) -> Floats:
    """Mean over the classes that occur; NaN where none does."""
    present = (answered + wanted) > 0
    total = (values * present).sum(-1)
    return ratio(total, present.sum(-1).astype(np.float64), np.nan)


def macro_f1_of(sums: Floats) -> Floats:
    """Macro F1 from summed class counts."""
    hits, answered, wanted = split_counts(sums)
    return mean_over_present(f1(hits, answered, wanted), answered, wanted)


def macro_precision_of(sums: Floats) -> Floats:
    """Macro precision from summed class counts; a class never answered counts 0."""
    hits, answered, wanted = split_counts(sums)
    return mean_over_present(ratio(hits, answered), answered, wanted)


def macro_recall_of(sums: Floats) -> Floats:
    """Macro recall from summed class counts; a class without gold counts 0."""
    hits, answered, wanted = split_counts(sums)
    return mean_over_present(ratio(hits, wanted), answered, wanted)


def micro_f1_of(sums: Floats) -> Floats:
    """F1 of the counts added up over classes; 0 where nothing was answered nor wanted."""
    hits, answered, wanted = split_counts(sums)
    return f1(hits.sum(-1), answered.sum(-1), wanted.sum(-1))


def macro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Mean F1 of the classes that occur.

    >>> round(macro_f1(Items(gold=["a", "a", "b"], answers=["a", "b", "b"])).value, 4)
    0.6667
    """
    return _over_classes(items, macro_f1_of)


def macro_precision(items: Items, mode: Mode = "official") -> Additive:
    """Mean precision of the classes that occur."""
    return _over_classes(items, macro_precision_of)


def macro_recall(items: Items, mode: Mode = "official") -> Additive:
    """Mean recall of the classes that occur."""
    return _over_classes(items, macro_recall_of)


def _over_classes(items: Items, finish: Callable[[Floats], Floats]) -> Additive:
    """A metric of the summed class counts."""
    counts = items.compute_once(item_class_counts)
    return from_sums(counts, finish, items.compute_once(mark_items))


def item_class_counts(items: Items) -> Counts:
    """The counts of each item over the classes that occur."""
    labels = _occurring_labels(items)
    gold, answers = encode_labels(items.gold, labels), encode_labels(items.answers, labels)
    return class_counts(gold, answers, len(labels))


def _occurring_labels(items: Items) -> list[Any]:
    return sorted({*items.labels, *items.gold, *items.answers} - {None}, key=str)


def relation_micro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Micro F1 without the first label, which means no relation."""
    nothing = items.labels[0] if items.labels else "no_relation"
    every = items.labels or _occurring_labels(items)
    relations = [label for label in every if label != nothing]
    gold, answers = encode_labels(items.gold, relations), encode_labels(items.answers, relations)
    counts = class_counts(gold, answers, len(relations))
    # an item without a relation is never a hit
    counts[gold == -1, : len(relations)] = 0
    return from_sums(counts, micro_f1_of, items.compute_once(mark_items))


def paraphrase_f1(items: Items, mode: Mode = "official") -> Additive:
    """F1 of the pairs at or above 3.0; answers are compared as they are, without rounding."""
    gold = [0 if score >= PARAPHRASE_THRESHOLD else -1 for score in items.gold]
    answers = [
        -1 if score is None or score < PARAPHRASE_THRESHOLD else 0 for score in items.answers
    ]
    counts = class_counts(np.array(gold, np.int64), np.array(answers, np.int64), 1)
    right = [
        float(score is not None and g == a)
        for score, g, a in zip(items.answers, gold, answers, strict=True)
    ]
    return from_sums(counts, micro_f1_of, np.array(right, dtype=np.float64))


METRICS = (
    Metric(
        "macro-f1",
        macro_f1,
        "Mean F1 of the classes that occur.",
        kinds=CLASS_KINDS,
        balances_classes=True,
    ),
    Metric(
        "macro-precision",
        macro_precision,
        "Mean precision of the classes that occur.",
        kinds=CLASS_KINDS,
        balances_classes=True,
    ),
    Metric(
        "macro-recall",
        macro_recall,
        "Mean recall of the classes that occur.",
        kinds=CLASS_KINDS,
        balances_classes=True,
    ),
    Metric(
        "relation-micro-f1",
        relation_micro_f1,
        "F1 over all relations except no_relation.",
        kinds=("relation",),
    ),
    Metric(
        "paraphrase-f1",
        paraphrase_f1,
        "F1 of pairs with a similarity of 3 or more.",
        kinds=("similarity",),
    ),
)
GOLDEN: dict[str, Callable[[Any], float]] = {
    "ynat_macro_f1": lambda case: macro_f1(golden_items(case)).value * 100,
    "klue_re_micro_f1": lambda case: relation_micro_f1(golden_items(case, range(30))).value * 100,
    "klue_sts_f1": lambda case: paraphrase_f1(golden_items(case)).value * 100,
}
