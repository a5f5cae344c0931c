"""Entity and character F1 of KLUE-NER.

Tags are B-X, I-X and O, a character each. Entity F1 is strict: an entity starts at B-X and runs over the I-X
that follow; an I-X with no such start is no entity. Macro over the types that occur (seqeval 1.2.2, strict
IOB2). Character F1: macro over tags.

What the reference does: it drops space characters first, so that an entity beginning on a space loses its B
and is none; and its character F1 averages O in and counts a tag nobody uses as 1.0, though paper and
docstring say O is left out. `documented` keeps spaces, leaves O out and averages over the tags that occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from nikawa.metrics._metric import Additive, Floats, Ints, Items, Metric, Mode, f1
from nikawa.metrics.classes import from_counts, macro_f1_of, split_counts

TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")
OUTSIDE = -1


def tag_codes(types: Sequence[str]) -> dict[str, int]:
    """B-X is 2x, I-X 2x+1, O the last code."""
    table = {f"{prefix}-{kind}": 2 * i + j for i, kind in enumerate(types) for j, prefix in enumerate("BI")}
    return {**table, "O": 2 * len(types)}


def entities(codes: Ints, outside: int) -> tuple[Ints, Ints]:
    """Starts of the entities of a tag sequence and, for each, end and type packed in one number."""
    kind, inner = codes // 2, (codes % 2 == 1) & (codes != outside)
    joins = np.zeros(len(codes), dtype=bool)
    joins[1:] = inner[1:] & (kind[1:] == kind[:-1])
    heads = np.flatnonzero(~joins)
    ends = np.append(heads[1:], len(codes))
    real = (codes[heads] % 2 == 0) & (codes[heads] != outside)
    return heads[real], ends[real] * outside + kind[heads[real]]


def entity_counts(gold: Ints, answer: Ints, sentence: Ints, k: int) -> Floats:
    """Sentences by 3k: right, answered and gold entities of each type.

    The sequences hold all sentences, an O between two of them; `sentence` tells whose each position is.
    """
    outside, n = 2 * k, int(sentence[-1]) + 1 if len(sentence) else 0
    counts = np.zeros((3, n * k))
    found = []
    for row, codes in ((2, gold), (1, answer)):
        starts, packed = entities(codes, outside)
        cell = sentence[starts] * k + packed % outside
        counts[row] = np.bincount(cell, minlength=n * k)
        at = np.full(len(codes), OUTSIDE)
        at[starts] = packed
        found.append((at, starts, cell))
    (gold_at, starts, cell), (answer_at, _, _) = found
    counts[0] = np.bincount(cell[answer_at[starts] == gold_at[starts]], minlength=n * k)
    return counts.reshape(3, n, k).transpose(1, 0, 2).reshape(n, 3 * k)


def character_counts(gold: Ints, answer: Ints, sentence: Ints, tags: int) -> Floats:
    """Sentences by 3 tags: right, answered and gold characters of each tag."""
    n = int(sentence[-1]) + 1 if len(sentence) else 0
    rows = (
        np.bincount((sentence * tags + gold)[gold == answer], minlength=n * tags),
        np.bincount(sentence * tags + answer, minlength=n * tags),
        np.bincount(sentence * tags + gold, minlength=n * tags),
    )
    return np.stack(rows).reshape(3, n, tags).transpose(1, 0, 2).reshape(n, 3 * tags).astype(np.float64)


def with_o(sums: Floats) -> Floats:
    """The reference's mean over all tags, O among them; a tag nobody uses counts 1."""
    values: Floats = f1(*split_counts(sums), undefined=1.0).mean(axis=-1)
    return values


def without_o(sums: Floats) -> Floats:
    """The mean over the tags that occur, O left out."""
    return macro_f1_of(np.concatenate([part[..., :-1] for part in split_counts(sums)], axis=-1))


def sequences(items: Items, mode: Mode) -> tuple[Ints, Ints, Ints, int]:
    """Gold and answered tag codes of all sentences, an O between two, whose each is, and the number of types."""
    types = items.labels or TYPES
    place, outside = {kind: i for i, kind in enumerate(types)}, 2 * len(types)
    texts = [inputs["text"] for inputs in items.inputs]
    lengths = np.array([len(text) + 1 for text in texts], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if texts else np.zeros(0, dtype=np.int64)
    sentence = np.repeat(np.arange(len(texts)), lengths)
    sides = [_fill(side, offsets, int(lengths.sum()), place, outside) for side in (items.gold, items.answers)]
    if mode == "official":
        spaces = np.fromiter(
            (c == " " for c in chain.from_iterable(t + "\n" for t in texts)), bool, len(sentence)
        )
        return sides[0][~spaces], sides[1][~spaces], sentence[~spaces], len(types)
    return sides[0], sides[1], sentence, len(types)


def _fill(side: Iterable[Any], offsets: Ints, size: int, place: dict[str, int], outside: int) -> Ints:
    codes = np.full(size, outside)
    for offset, spans in zip(offsets.tolist(), side, strict=True):
        for span in spans or ():
            code = 2 * place[span.label]
            codes[offset + span.start] = code
            codes[offset + span.start + 1 : offset + span.end] = code + 1
    return codes


def entity_macro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Macro F1 of entities over the types that occur; NaN where there is none on either side."""
    gold, answer, sentence, k = sequences(items, mode)
    counts = entity_counts(gold, answer, sentence, k)
    return from_counts(counts, macro_f1_of, _all_right(counts))


def char_macro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Macro F1 of character tags."""
    gold, answer, sentence, k = sequences(items, mode)
    inside = np.append(np.diff(sentence) == 0, False)  # the O between sentences is nobody's character
    counts = character_counts(gold[inside], answer[inside], sentence[inside], 2 * k + 1)
    counts = np.vstack([counts, np.zeros((len(items.gold) - len(counts), counts.shape[1]))])
    detail = counts[:, : 2 * k + 1].sum(1) / np.maximum(counts[:, 2 * (2 * k + 1) :].sum(1), 1)
    return from_counts(counts, with_o if mode == "official" else without_o, detail)


def _all_right(counts: Floats) -> Floats:
    hits, answered, wanted = (part.sum(-1) for part in split_counts(counts))
    whole: Floats = ((hits == answered) & (hits == wanted)).astype(np.float64)
    return whole


def _golden(case: dict[str, list[str]]) -> dict[str, Any]:
    table = tag_codes(TYPES)
    gold, answer = (np.array([table[tag] for tag in case[side]] + [table["O"]]) for side in ("gold", "pred"))
    sentence = np.zeros(len(gold), dtype=np.int64)
    entity = entity_counts(gold, answer, sentence, len(TYPES)).sum(axis=0)
    characters = character_counts(gold[:-1], answer[:-1], sentence[:-1], len(table)).sum(axis=0)
    hits, answered, wanted = (part[:-1] for part in split_counts(characters))
    all_twelve = f1(hits, answered, wanted, undefined=1.0).mean()
    return {
        "entity_macro_f1": float(macro_f1_of(entity)) * 100,
        "char_macro_f1": float(with_o(characters)) * 100,
        "char_macro_f1_paper_without_O": {
            "mean_over_present_12": float(without_o(characters)) * 100,
            "mean_over_all_12_absent_is_1": float(all_twelve) * 100,
        },
    }


SPACES = "The reference drops spaces first, so an entity that begins on one is lost; documented keeps it."
WITH_O = "The reference averages O in and counts unused tags as 1.0; documented leaves both out."
METRICS = (
    Metric(
        "entity-macro-f1", entity_macro_f1, "Mean F1 of whole entities by type.", SPACES, kinds=("tagging",)
    ),
    Metric("char-macro-f1", char_macro_f1, "Mean F1 of character tags.", WITH_O, kinds=("tagging",)),
)
GOLDEN = {"klue_ner": _golden}
