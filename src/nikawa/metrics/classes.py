"""Precision, recall and F1 over classes (YNAT, KLUE-RE, KLUE-STS, JSICK).

F1 of a class is 2 tp / (answered + gold). Macro: the plain mean over classes that occur in gold or answers,
so a class nobody uses is not counted and a class only answered counts 0 (scikit-learn's `macro` without
`labels`). Micro: F1 of the summed counts over all classes but the one that means "nothing".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nikawa.metrics.accuracy import right
from nikawa.metrics.base import (
    Additive,
    Floats,
    Ints,
    Items,
    Metric,
    Mode,
    codes,
    f1,
    golden_items,
    ratio,
)

THRESHOLD = 3.0
"""From this similarity on, KLUE-STS calls a pair a paraphrase."""


def class_counts(gold: Ints, answer: Ints, k: int) -> Floats:
    """Items by 3k: right, answered and gold of each class. A code of -1 is no class."""
    n, rows = len(gold), np.arange(len(gold))
    counts = np.zeros((n, 3, k + 1))
    hit = gold == answer
    counts[rows[hit], 0, gold[hit]] = 1
    counts[rows, 1, answer] = 1
    counts[rows, 2, gold] = 1
    return counts[:, :, :k].reshape(n, 3 * k)  # code -1 fell into the last column, cut here


def split_counts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Right, answered, gold by class from summed statistics."""
    hits, answered, wanted = np.split(sums, 3, axis=-1)
    return hits, answered, wanted


def over_present(values: Floats, answered: Floats, wanted: Floats) -> Floats:
    """Mean over the classes that occur; NaN where none does."""
    present = (answered + wanted) > 0
    return ratio((values * present).sum(-1), present.sum(-1).astype(np.float64), np.nan)


def macro_f1_of(sums: Floats) -> Floats:
    """Macro F1 from summed class counts."""
    hits, answered, wanted = split_counts(sums)
    return over_present(f1(hits, answered, wanted), answered, wanted)


def macro_precision_of(sums: Floats) -> Floats:
    """Macro precision from summed class counts; a class never answered counts 0."""
    hits, answered, wanted = split_counts(sums)
    return over_present(ratio(hits, answered), answered, wanted)


def macro_recall_of(sums: Floats) -> Floats:
    """Macro recall from summed class counts; a class without gold counts 0."""
    hits, answered, wanted = split_counts(sums)
    return over_present(ratio(hits, wanted), answered, wanted)


def micro_f1_of(sums: Floats) -> Floats:
    """F1 of the counts added up over classes; 0 where nothing was answered nor wanted."""
    hits, answered, wanted = split_counts(sums)
    return f1(hits.sum(-1), answered.sum(-1), wanted.sum(-1))


def from_counts(
    counts: Floats, finish: Callable[[Floats], Floats], detail: Floats | None
) -> Additive:
    """A class metric and its value."""
    return Additive(counts, finish, float(finish(counts.sum(axis=0))), detail)


def _macro(finish: Callable[[Floats], Floats]) -> Callable[[Items, Mode], Additive]:
    def evaluate(items: Items, mode: Mode = "official") -> Additive:
        labels = _occurring(items)
        counts = class_counts(codes(items.gold, labels), codes(items.answers, labels), len(labels))
        return from_counts(counts, finish, right(items.gold, items.answers))

    return evaluate


macro_f1 = _macro(macro_f1_of)
macro_precision = _macro(macro_precision_of)
macro_recall = _macro(macro_recall_of)


def relation_micro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Micro F1 without the first label, which says there is no relation."""
    real = [label for label in (items.labels or _occurring(items)) if label != _nothing(items)]
    counts = class_counts(codes(items.gold, real), codes(items.answers, real), len(real))
    none = (
        codes(items.gold, real) == -1
    )  # an item without a relation is no hit, whatever was answered
    counts[none, : len(real)] = 0
    return from_counts(counts, micro_f1_of, right(items.gold, items.answers))


def _occurring(items: Items) -> list[Any]:
    return sorted({*items.labels, *items.gold, *items.answers} - {None}, key=str)


def _nothing(items: Items) -> Any:
    return items.labels[0] if items.labels else "no_relation"


def paraphrase_f1(items: Items, mode: Mode = "official") -> Additive:
    """F1 of the pairs at or above 3.0; answers are compared as they are, without rounding."""
    gold = np.array([0 if g >= THRESHOLD else -1 for g in items.gold], dtype=np.int64)
    answer = np.array(
        [-1 if a is None or a < THRESHOLD else 0 for a in items.answers], dtype=np.int64
    )
    counts = class_counts(gold, answer, 1)
    counts[gold == -1, 0] = 0
    detail = [
        float(a is not None and g == c) for a, g, c in zip(items.answers, gold, answer, strict=True)
    ]
    return from_counts(counts, micro_f1_of, np.array(detail, dtype=np.float64))


def _golden_macro(case: dict[str, Sequence[int]]) -> float:
    return macro_f1(golden_items(case), "official").value * 100


def _golden_relation(case: dict[str, Sequence[int]]) -> float:
    return relation_micro_f1(golden_items(case, range(30))).value * 100


def _golden_paraphrase(case: dict[str, Sequence[float]]) -> float:
    return paraphrase_f1(golden_items(case)).value * 100


LABELLED = ("text", "inference", "choice", "relation")
METRICS = (
    Metric(
        "macro-f1",
        macro_f1,
        "Mean F1 of the classes that occur.",
        kinds=LABELLED,
        balances_classes=True,
    ),
    Metric(
        "macro-precision",
        macro_precision,
        "Mean precision of the classes that occur.",
        kinds=LABELLED,
        balances_classes=True,
    ),
    Metric(
        "macro-recall",
        macro_recall,
        "Mean recall of the classes that occur.",
        kinds=LABELLED,
        balances_classes=True,
    ),
    Metric(
        "relation-micro-f1",
        relation_micro_f1,
        "F1 over all relations but no_relation.",
        kinds=("relation",),
    ),
    Metric(
        "paraphrase-f1",
        paraphrase_f1,
        "F1 of pairs with a similarity of 3 or more.",
        kinds=("similarity",),
    ),
)
GOLDEN = {
    "ynat_macro_f1": _golden_macro,
    "klue_re_micro_f1": _golden_relation,
    "klue_sts_f1": _golden_paraphrase,
}
