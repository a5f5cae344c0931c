"""Attachment scores of KLUE-DP.

What the reference computes as UAS is the macro F1 of the head's position taken as a class (position 1, 2,
…), and as LAS the macro F1 of relation types, where types from the 16th on fall together and a word with a wrong
head gets an artificial type. That type enters the mean with F1 0: one wrong head in 22,496 words lowers
a perfect LAS to 94.1. `documented`: UAS is the share of words with the right head; LAS leaves the
artificial type out of the mean. The micro forms are the plain shares in both modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics.base import (
    Additive,
    Floats,
    Ints,
    Items,
    Metric,
    Mode,
    from_sums,
    ratio,
    refuse_no_items,
)
from nikawa.metrics.classes import group_counts, macro_f1_of

COMMON_TYPE = 15
"""Index of the first relation type that falls into the common class."""
PADDING = -1
UNKNOWN_TYPE = -4
"""Type of an answered label outside the label set: never right."""
MAX_DENSE_SPAN = 4096
"""Span of class numbers up to which a column each is cheaper than looking up those that occur."""


Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Words:
    """Heads and types of all words, which were answered, and how many each sentence has."""

    gold_heads: Ints
    gold_types: Ints
    heads: Ints
    types: Ints
    lengths: Ints
    read: Flags
    """False for the words of an answer that could not be read."""

    @cached_property
    def sentence(self) -> Ints:
        """Whose each word is."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def head_right(self) -> Flags:
        """Which words have the right head."""
        return np.asarray((self.heads == self.gold_heads) & self.read)

    @cached_property
    def both_right(self) -> Flags:
        """Which words have the right head and relation."""
        gold, types = np.minimum(self.gold_types, COMMON_TYPE), np.minimum(self.types, COMMON_TYPE)
        return np.asarray(self.head_right & (types == gold))

    def sum_by_sentence(self, values: Flags) -> Floats:
        """How many words of each sentence are marked."""
        sums: Any = np.bincount(self.sentence, weights=values, minlength=len(self.lengths))
        return np.asarray(sums, dtype=np.float64)

    def share_by_sentence(self, values: Flags) -> Floats:
        """What share of the words of each sentence is marked."""
        return self.sum_by_sentence(values) / np.maximum(self.lengths, 1)

    def count(self, gold: Ints, answer: Ints, answered: Flags) -> Floats:
        """Sentences by 3 classes: right, answered and gold of every class."""
        gold, answer, k = number_classes(gold, answer)
        n, base = len(self.lengths), self.sentence * k
        hits = (base + gold)[(gold == answer) & answered]
        cells = (hits, (base + answer)[answered], base + gold)
        return group_counts([np.bincount(cell, minlength=n * k) for cell in cells], n, k)


def number_classes(gold: Ints, answer: Ints) -> tuple[Ints, Ints, int]:
    """Both sides numbered from 0, and how many numbers there are."""
    both = np.concatenate([gold, answer])
    if not len(both):
        return gold, answer, 1
    low, high = int(both.min()), int(both.max())
    if high - low < MAX_DENSE_SPAN:
        return gold - low, answer - low, high - low + 1
    values, place = np.unique(both, return_inverse=True)
    return place[: len(gold)], place[len(gold) :], len(values)


def flatten_trees(items: Items) -> Words:
    """Trees as arrays; an answer that could not be read has no head right."""
    labels = items.labels or sorted({label for tree in items.gold for label in tree["labels"]})
    place = {label: i for i, label in enumerate(labels)}
    read = [answer is not None for answer in items.answers]
    pairs = zip(items.gold, items.answers, strict=True)
    trees = [gold if answer is None else answer for gold, answer in pairs]
    lengths = np.array([len(tree["heads"]) for tree in items.gold], dtype=np.int64)
    if [len(tree["heads"]) for tree in trees] != lengths.tolist():
        raise BadInput(
            "an answer has more or fewer words than its sentence",
            cure="add a head for every word",
        )
    return Words(
        _flat(tree["heads"] for tree in items.gold),
        _flat(
            [place.get(label, UNKNOWN_TYPE + 1) for label in tree["labels"]] for tree in items.gold
        ),
        _flat(tree["heads"] for tree in trees),
        _flat([place.get(label, UNKNOWN_TYPE) for label in tree["labels"]] for tree in trees),
        lengths,
        np.repeat(np.array(read, dtype=bool), lengths),
    )


def _flat(rows: Iterable[Sequence[int]]) -> Ints:
    """All numbers of all rows; by way of bytes where they fit, which is many times faster."""
    rows = list(rows)
    try:
        return np.frombuffer(b"".join(map(bytes, rows)), np.uint8).astype(np.int64)
    except ValueError:
        return np.fromiter(chain.from_iterable(rows), np.int64)


def uas_macro(words: Words) -> Additive:
    """Macro F1 with the head's position as the class."""
    counts = words.count(words.gold_heads, words.heads, words.read)
    return from_sums(counts, macro_f1_of, words.share_by_sentence(words.head_right))


def las_macro(words: Words, artificial: bool) -> Additive:
    """Macro F1 of types; with the artificial class, the reference's value."""
    gold, types = np.minimum(words.gold_types, COMMON_TYPE), np.minimum(words.types, COMMON_TYPE)
    answer = np.where(words.head_right, types, COMMON_TYPE + 1)
    counts = words.count(gold, answer, words.read if artificial else words.head_right)
    return from_sums(counts, macro_f1_of, words.share_by_sentence(gold == answer))


def share_of_words(words: Words, right: Flags) -> Additive:
    """Share of all words that are right."""
    counts = np.column_stack([words.sum_by_sentence(right), words.lengths.astype(np.float64)])
    detail = words.share_by_sentence(right)
    return from_sums(counts, lambda sums: ratio(sums[..., 0], sums[..., 1], np.nan), detail)


def uas(items: Items, mode: Mode = "official") -> Additive:
    """Unlabelled attachment."""
    return uas_macro(items.compute_once(flatten_trees)) if mode == "official" else uas_micro(items)


def las(items: Items, mode: Mode = "official") -> Additive:
    """Labelled attachment."""
    return las_macro(items.compute_once(flatten_trees), artificial=mode == "official")


def uas_micro(items: Items, mode: Mode = "official") -> Additive:
    """Share of words with the right head."""
    words = items.compute_once(flatten_trees)
    return share_of_words(words, words.head_right)


def las_micro(items: Items, mode: Mode = "official") -> Additive:
    """Share of words with the right head and relation."""
    words = items.compute_once(flatten_trees)
    return share_of_words(words, words.both_right)


FIELDS = ("gold_heads", "gold_types", "pred_heads", "pred_types")


def encode_words(rows: Sequence[dict[str, Sequence[int]]]) -> Words:
    """Sentences as index lists, as in the reference, without padding."""
    gold_heads, gold_types, heads, types = (_flat([row[name] for row in rows]) for name in FIELDS)
    lengths = np.fromiter((len(row["gold_heads"]) for row in rows), np.int64, len(rows))
    if not len(gold_heads) == len(gold_types) == len(heads) == len(types):
        raise BadInput(
            "gold and answers differ in length", cure="add a head and a type for every word"
        )
    real = gold_heads != PADDING
    if not real.all():
        lengths = np.bincount(np.repeat(np.arange(len(rows)), lengths)[real], minlength=len(rows))
        gold_heads, gold_types, heads, types = (
            column[real] for column in (gold_heads, gold_types, heads, types)
        )
    return Words(gold_heads, gold_types, heads, types, lengths, np.ones(len(heads), dtype=bool))


def golden_case(case: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The four scores of batches of index lists, in percent."""
    rows = [
        dict(zip(FIELDS, row, strict=True))
        for batch in case
        for row in zip(*(batch[name] for name in FIELDS), strict=True)
    ]
    words = encode_words(rows)
    if not len(words.heads):
        refuse_no_items()
    values = {
        "uas_macro_f1": uas_macro(words),
        "uas_micro_f1": share_of_words(words, words.head_right),
        "las_macro_f1": las_macro(words, artificial=True),
        "las_micro_f1": share_of_words(words, words.both_right),
    }
    return {name: evaluation.value * 100 for name, evaluation in values.items()}


HEADS = "The reference treats the head's position as a class; the documented metric is the share of correct heads."
ARTIFICIAL = "The reference's mean includes an artificial class for wrong heads, which is always 0; the documented metric leaves it out."
METRICS = (
    Metric("uas", uas, "Words with the correct head.", HEADS, kinds=("tree",)),
    Metric("las", las, "Words with the correct head and relation.", ARTIFICIAL, kinds=("tree",)),
    Metric("uas-micro", uas_micro, "Share of words with the correct head.", kinds=("tree",)),
    Metric(
        "las-micro",
        las_micro,
        "Share of words with the correct head and relation.",
        kinds=("tree",),
    ),
)
GOLDEN = {"klue_dp": golden_case}
