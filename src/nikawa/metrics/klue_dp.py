"""Attachment scores of KLUE-DP.

What the reference computes as UAS is the macro F1 of the head's position taken as a class (position 1, 2,
…), and as LAS the macro F1 of relation types, where types from the 16th on fall together and a word with a wrong
head gets an artificial type. That type enters the mean with F1 0: one wrong head in 22,496 words lowers
a perfect LAS to 94.1. `documented`: UAS is the share of words with the right head; LAS leaves the
artificial type out of the mean. The micro forms are the plain shares in both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nikawa.metrics._metric import Additive, Floats, Ints, Items, Metric, Mode, ratio
from nikawa.metrics.classes import from_counts, macro_f1_of

OTHERS = 15
"""Index of the first relation type that falls into the common class."""
PADDING = -1


class Words:
    """Heads and types of all words, and whose sentence each is."""

    def __init__(self, gold: Sequence[tuple[Ints, Ints]], answer: Sequence[tuple[Ints, Ints]]) -> None:
        self.gold_heads, self.gold_types = _joined(gold)
        self.heads, self.types = _joined(answer)
        self.sentence = np.repeat(np.arange(len(gold)), [len(heads) for heads, _ in gold])
        self.sentences = len(gold)

    def count(self, gold: Ints, answer: Ints) -> Floats:
        """Sentences by 3k: right, answered, gold of class 0, 1, …; a negative answer is no class."""
        k, answered = int(max(gold.max(initial=0), answer.max(initial=0))) + 1, answer >= 0
        g, a = self.sentence * k + gold, self.sentence[answered] * k + answer[answered]
        size = self.sentences * k
        rows = [np.bincount(x, minlength=size) for x in (g[gold == answer], a, g)]
        stacked = np.stack(rows).reshape(3, self.sentences, k).transpose(1, 0, 2)
        return stacked.reshape(self.sentences, 3 * k).astype(np.float64)


def _joined(trees: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not trees:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([heads for heads, _ in trees]), np.concatenate([types for _, types in trees])


def words(items: Items) -> Words:
    """Trees as arrays; an answer that could not be read has no head right."""
    place = {label: i for i, label in enumerate(items.labels)}
    gold = [_tree(tree, place) for tree in items.gold]
    answer = [
        _tree(a, place) if a is not None else _nothing(g) for a, g in zip(items.answers, gold, strict=True)
    ]
    return Words(gold, answer)


def _tree(tree: dict[str, Any], place: dict[str, int]) -> tuple[Ints, Ints]:
    heads = np.array(tree["heads"], dtype=np.int64)
    return heads, np.array([place.get(label, -2) for label in tree["labels"]], dtype=np.int64)


def _nothing(gold: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    return np.full(len(gold[0]), -2), np.full(len(gold[0]), -2)


def uas_macro(found: Words) -> Additive:
    """Macro F1 with the head's position as the class."""
    return from_counts(
        found.count(found.gold_heads, found.heads), macro_f1_of, _share(found, _head_right(found))
    )


def las_macro(found: Words, artificial: bool) -> Additive:
    """Macro F1 of types; with the artificial class, the reference's value."""
    gold = np.where(found.gold_types >= OTHERS, OTHERS, found.gold_types)
    types = np.where(found.types >= OTHERS, OTHERS, found.types)
    wrong = OTHERS + 1 if artificial else -1
    answer = np.where(_head_right(found), types, wrong)
    return from_counts(found.count(gold, answer), macro_f1_of, _share(found, gold == answer))


def micro(found: Words, hit: Any) -> Additive:
    """Share of all words that are right."""
    hits = np.bincount(found.sentence, weights=hit, minlength=found.sentences)
    total = np.bincount(found.sentence, minlength=found.sentences).astype(np.float64)
    return from_counts(
        np.column_stack([hits, total]), lambda s: ratio(s[..., 0], s[..., 1], np.nan), _share(found, hit)
    )


def _head_right(found: Words) -> Any:
    return found.heads == found.gold_heads


def _both_right(found: Words) -> Any:
    same = np.minimum(found.types, OTHERS) == np.minimum(found.gold_types, OTHERS)
    return _head_right(found) & same


def _share(found: Words, hit: Any) -> Floats:
    """Share of right words in each sentence."""
    hits = np.bincount(found.sentence, weights=hit, minlength=found.sentences)
    return hits / np.maximum(np.bincount(found.sentence, minlength=found.sentences), 1)


def uas(items: Items, mode: Mode = "official") -> Additive:
    """Unlabelled attachment."""
    found = words(items)
    return uas_macro(found) if mode == "official" else micro(found, _head_right(found))


def las(items: Items, mode: Mode = "official") -> Additive:
    """Labelled attachment."""
    return las_macro(words(items), artificial=mode == "official")


def _micro_of(hit: Callable[[Words], Any]) -> Callable[[Items, Mode], Additive]:
    def evaluate(items: Items, mode: Mode = "official") -> Additive:
        found = words(items)
        return micro(found, hit(found))

    return evaluate


def encoded(batches: Sequence[dict[str, Any]]) -> Words:
    """Batches of padded index lists, as the reference holds them, without their padding."""
    gold, answer = [], []
    for batch in batches:
        rows = zip(
            *(batch[name] for name in ("gold_heads", "gold_types", "pred_heads", "pred_types")), strict=True
        )
        for gold_heads, gold_types, heads, types in rows:
            arrays = [np.array(row, dtype=np.int64) for row in (gold_heads, gold_types, heads, types)]
            real = arrays[0] != PADDING
            gold.append((arrays[0][real], arrays[1][real]))
            answer.append((arrays[2][real], arrays[3][real]))
    return Words(gold, answer)


def _golden(case: Sequence[dict[str, Any]]) -> dict[str, float]:
    found = encoded(case)
    values = {
        "uas_macro_f1": uas_macro(found),
        "uas_micro_f1": micro(found, _head_right(found)),
        "las_macro_f1": las_macro(found, artificial=True),
        "las_micro_f1": micro(found, _both_right(found)),
    }
    return {name: evaluation.value * 100 for name, evaluation in values.items()}


HEADS = "The reference takes the head's position for a class; documented is the share of right heads."
ARTIFICIAL = (
    "The reference's mean holds an artificial class for wrong heads, always 0; documented leaves it out."
)
METRICS = (
    Metric("uas", uas, "Words with the right head.", HEADS, kinds=("tree",)),
    Metric("las", las, "Words with the right head and relation.", ARTIFICIAL, kinds=("tree",)),
    Metric("uas-micro", _micro_of(_head_right), "Share of words with the right head.", kinds=("tree",)),
    Metric(
        "las-micro",
        _micro_of(_both_right),
        "Share of words with the right head and relation.",
        kinds=("tree",),
    ),
)
GOLDEN = {"klue_dp": _golden}
