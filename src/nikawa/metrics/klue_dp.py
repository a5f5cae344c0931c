"""Attachment scores of KLUE-DP.

What the reference computes as UAS is the macro F1 of the head's position taken as a class (position 1, 2,
…), and as LAS the macro F1 of relation types, where types from the 16th on fall together and a word with a wrong
head gets an artificial type. That type enters the mean with F1 0: one wrong head in 22,496 words lowers
a perfect LAS to 94.1. `documented`: UAS is the share of words with the right head; LAS leaves the
artificial type out of the mean. The micro forms are the plain shares in both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics.base import Additive, Floats, Ints, Items, Metric, Mode, ratio, refuse_nothing
from nikawa.metrics.classes import from_counts, macro_f1_of

OTHERS = 15
"""Index of the first relation type that falls into the common class."""
PADDING = -1
UNKNOWN = -4
"""Type of an answered label outside the label set: never right."""
DENSE = 4096
"""Span of class numbers up to which a column each is cheaper than looking up those that occur."""


@dataclass(frozen=True)
class Words:
    """Heads and types of all words, which were answered, and how many each sentence has."""

    gold_heads: Ints
    gold_types: Ints
    heads: Ints
    types: Ints
    lengths: Ints
    read: NDArray[np.bool_]
    """False for the words of an answer that could not be read."""

    @property
    def sentence(self) -> Ints:
        """Whose each word is."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def count(self, gold: Ints, answer: Ints, answered: NDArray[np.bool_]) -> Floats:
        """Sentences by 3 classes: right, answered and gold of every class."""
        gold, answer, k = _dense(gold, answer)
        n, base = len(self.lengths), self.sentence * k
        rows = [
            np.bincount(x, minlength=n * k)
            for x in (
                (base + gold)[(gold == answer) & answered],
                (base + answer)[answered],
                base + gold,
            )
        ]
        return (
            np.stack(rows).reshape(3, n, k).transpose(1, 0, 2).reshape(n, 3 * k).astype(np.float64)
        )


def _dense(gold: Ints, answer: Ints) -> tuple[Ints, Ints, int]:
    """Both sides numbered from 0, and how many numbers there are."""
    both = np.concatenate([gold, answer])
    if not len(both):
        return gold, answer, 1
    low, high = int(both.min()), int(both.max())
    if high - low < DENSE:
        return gold - low, answer - low, high - low + 1
    values, place = np.unique(both, return_inverse=True)
    return place[: len(gold)], place[len(gold) :], len(values)


def words(items: Items) -> Words:
    """Trees as arrays; an answer that could not be read has no head right."""
    labels = items.labels or sorted({label for tree in items.gold for label in tree["labels"]})
    place = {label: i for i, label in enumerate(labels)}
    read = [answer is not None for answer in items.answers]
    trees = [
        gold if answer is None else answer
        for gold, answer in zip(items.gold, items.answers, strict=True)
    ]
    lengths = np.array([len(tree["heads"]) for tree in items.gold], dtype=np.int64)
    if [len(tree["heads"]) for tree in trees] != lengths.tolist():
        raise BadInput(
            "an answered tree has more or fewer words than its sentence",
            cure="give every word a head",
        )
    return Words(
        _flat(tree["heads"] for tree in items.gold),
        _flat([place.get(label, UNKNOWN + 1) for label in tree["labels"]] for tree in items.gold),
        _flat(tree["heads"] for tree in trees),
        _flat([place.get(label, UNKNOWN) for label in tree["labels"]] for tree in trees),
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


def uas_macro(found: Words) -> Additive:
    """Macro F1 with the head's position as the class."""
    counts = found.count(found.gold_heads, found.heads, found.read)
    return from_counts(counts, macro_f1_of, _share(found, _head_right(found)))


def las_macro(found: Words, artificial: bool) -> Additive:
    """Macro F1 of types; with the artificial class, the reference's value."""
    gold, types = np.minimum(found.gold_types, OTHERS), np.minimum(found.types, OTHERS)
    right = _head_right(found)
    answer = np.where(right, types, OTHERS + 1)
    counts = found.count(gold, answer, found.read if artificial else right)
    return from_counts(counts, macro_f1_of, _share(found, gold == answer))


def micro(found: Words, hit: Any) -> Additive:
    """Share of all words that are right."""
    hits = np.bincount(found.sentence, weights=hit, minlength=len(found.lengths))
    counts = np.column_stack([hits, found.lengths.astype(np.float64)])
    return from_counts(counts, lambda s: ratio(s[..., 0], s[..., 1], np.nan), _share(found, hit))


def _head_right(found: Words) -> Any:
    return (found.heads == found.gold_heads) & found.read


def _both_right(found: Words) -> Any:
    same = np.minimum(found.types, OTHERS) == np.minimum(found.gold_types, OTHERS)
    return _head_right(found) & same


def _share(found: Words, hit: Any) -> Floats:
    """Share of right words in each sentence."""
    hits = np.bincount(found.sentence, weights=hit, minlength=len(found.lengths))
    return hits / np.maximum(found.lengths, 1)


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


FIELDS = ("gold_heads", "gold_types", "pred_heads", "pred_types")


def encoded(rows: Sequence[dict[str, Sequence[int]]]) -> Words:
    """Sentences as index lists, the way the reference holds them, without their padding."""
    gold_heads, gold_types, heads, types = (_flat([row[name] for row in rows]) for name in FIELDS)
    lengths = np.fromiter((len(row["gold_heads"]) for row in rows), np.int64, len(rows))
    if not len(gold_heads) == len(gold_types) == len(heads) == len(types):
        raise BadInput(
            "gold and answers differ in length", cure="give a head and a type for every word"
        )
    real = gold_heads != PADDING
    if not real.all():
        lengths = np.bincount(np.repeat(np.arange(len(rows)), lengths)[real], minlength=len(rows))
        gold_heads, gold_types, heads, types = (
            x[real] for x in (gold_heads, gold_types, heads, types)
        )
    return Words(gold_heads, gold_types, heads, types, lengths, np.ones(len(heads), dtype=bool))


def _golden(case: Sequence[dict[str, Any]]) -> dict[str, float]:
    rows = [
        dict(zip(FIELDS, row, strict=True))
        for batch in case
        for row in zip(*(batch[name] for name in FIELDS), strict=True)
    ]
    found = encoded(rows)
    if not len(found.heads):
        refuse_nothing()
    values = {
        "uas_macro_f1": uas_macro(found),
        "uas_micro_f1": micro(found, _head_right(found)),
        "las_macro_f1": las_macro(found, artificial=True),
        "las_micro_f1": micro(found, _both_right(found)),
    }
    return {name: evaluation.value * 100 for name, evaluation in values.items()}


HEADS = (
    "The reference takes the head's position for a class; documented is the share of right heads."
)
ARTIFICIAL = "The reference's mean holds an artificial class for wrong heads, always 0; documented leaves it out."
METRICS = (
    Metric("uas", uas, "Words with the right head.", HEADS, kinds=("tree",)),
    Metric("las", las, "Words with the right head and relation.", ARTIFICIAL, kinds=("tree",)),
    Metric(
        "uas-micro", _micro_of(_head_right), "Share of words with the right head.", kinds=("tree",)
    ),
    Metric(
        "las-micro",
        _micro_of(_both_right),
        "Share of words with the right head and relation.",
        kinds=("tree",),
    ),
)
GOLDEN = {"klue_dp": _golden}
