"""Entity and character F1 of KLUE-NER.

Tags are B-X, I-X and O, a character each. Entity F1 is strict: an entity starts at B-X and runs over the I-X
that follow; an I-X without such a start is not an entity. Macro over the types that occur (seqeval 1.2.2, strict
IOB2). Character F1: macro over tags.

What the reference does: it drops space characters first, so that an entity beginning on a space loses its B
and is lost; and its character F1 includes O in the average and counts an unused tag as 1.0, although paper and
docstring say O is left out. `documented` keeps spaces, leaves O out and averages over the tags that occur.

Spans become tags. An answer in tags is scored by its tags, because spans cannot express everything that tags can: the
character F1 counts an I-X without its B-X, and a tag on a space is dropped with the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    f1,
    from_sums,
    refuse_no_items,
)
from nikawa.metrics.classes import group_counts, macro_f1_of, split_counts
from nikawa.records import Span, Tagged

TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")
NO_ENTITY = -1
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Tags:
    """Tag codes of all sentences on both sides, an O behind each sentence."""

    gold: Codes
    answer: Codes
    lengths: Ints
    """Positions of each sentence, the O behind it counted."""
    types: int
    """B-X is 2x, I-X 2x+1, O the last code, twice this."""

    @property
    def sentence(self) -> Ints:
        """Whose each position is."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def tag_codes(types: Sequence[str]) -> dict[str, int]:
    """B-X is 2x, I-X 2x+1, O the last code."""
    table = {
        f"{prefix}-{kind}": 2 * i + j
        for i, kind in enumerate(types)
        for j, prefix in enumerate("BI")
    }
    return {**table, "O": 2 * len(types)}


def encode_tags(
    gold: Sequence[Sequence[int]], answer: Sequence[Sequence[int]], types: int = len(TYPES)
) -> Tags:
    """Sentences as lists of codes, as in the reference."""
    lengths = list(map(len, gold))
    if lengths != list(map(len, answer)):
        raise BadInput("gold and answers differ in length", cure="add a tag for every character")
    end = bytes([2 * types])
    sides = [
        np.frombuffer(end.join(map(bytes, side)) + (end if side else b""), np.uint8)
        for side in (gold, answer)
    ]
    return Tags(sides[0], sides[1], np.array(lengths, dtype=np.int64) + 1, types)


def find_entities(codes: Codes, outside: int) -> tuple[Ints, Ints]:
    """Starts of the entities of a tag sequence and, for each, end and type packed in one number."""
    kind, inner = codes >> 1, (codes & 1).astype(bool)
    heads_here = np.ones(len(codes), dtype=bool)
    heads_here[1:] = ~(inner[1:] & (kind[1:] == kind[:-1]))
    heads = np.flatnonzero(heads_here)
    ends = np.append(heads[1:], len(codes))
    first = codes[heads]
    real = (first & 1 == 0) & (first != outside)
    return heads[real], ends[real] * outside + kind[heads[real]]


def entity_counts(tags: Tags) -> Floats:
    """Sentences by 3 types: right, answered and gold entities of each type."""
    k, n, outside = tags.types, len(tags.lengths), 2 * tags.types
    last = np.cumsum(tags.lengths)
    rows, packed_at = [], np.full(len(tags.gold), NO_ENTITY)
    for codes in (tags.answer, tags.gold):
        starts, packed = find_entities(codes, outside)
        cell = np.searchsorted(last, starts, side="right") * k + packed % outside
        rows.append(np.bincount(cell, minlength=n * k))
        if codes is tags.answer:
            packed_at[starts] = packed
    hits = np.bincount(cell[packed_at[starts] == packed], minlength=n * k)
    return group_counts((hits, *rows), n, k)


def character_counts(tags: Tags) -> Floats:
    """Sentences by 3 tags: right, answered and gold positions of each tag, the O behind a sentence among them."""
    n, k = len(tags.lengths), 2 * tags.types + 1
    base = tags.sentence * k
    at_gold = base + tags.gold
    rows = (
        np.bincount(at_gold[tags.gold == tags.answer], minlength=n * k),
        np.bincount(base + tags.answer, minlength=n * k),
        np.bincount(at_gold, minlength=n * k),
    )
    return group_counts(rows, n, k)


def character_totals(tags: Tags) -> Floats:
    """The sums of `character_counts` over sentences, from one table of gold against answer."""
    k = 2 * tags.types + 1
    cells = tags.gold.astype(np.uint16) * np.uint16(k) + tags.answer
    table = np.bincount(cells, minlength=k * k).reshape(k, k)
    totals = [table.diagonal(), table.sum(axis=0), table.sum(axis=1)]
    return np.concatenate(totals).astype(np.float64)


def official_char_f1(tags: Tags) -> float:
    """The reference's character F1 of encoded sentences, its two positions more a sentence counted in."""
    totals = character_totals(tags)
    totals[2 * tags.types :: 2 * tags.types + 1] += len(tags.lengths)
    return float(mean_with_o(totals))


def mean_with_o(sums: Floats) -> Floats:
    """The reference's mean over all tags, including O; an unused tag counts as 1."""
    values: Floats = f1(*split_counts(sums), undefined=1.0).mean(axis=-1)
    return values


def mean_without_o(sums: Floats) -> Floats:
    """The mean over the tags that occur, O left out."""
    without_o = [part[..., :-1] for part in split_counts(sums)]
    return macro_f1_of(np.concatenate(without_o, axis=-1))


def tag_sequences(items: Items, mode: Mode) -> Tags:
    """Tags of all items; `official` drops spaces, as the reference's reader does."""
    types = items.labels or TYPES
    place, outside = {kind: i for i, kind in enumerate(types)}, 2 * len(types)
    texts = [inputs["text"] for inputs in items.inputs]
    lengths = np.array([len(text) + 1 for text in texts], dtype=np.int64)
    offsets = np.cumsum(lengths) - lengths
    gold, answer = (
        fill_codes(side, offsets, lengths, place, outside) for side in (items.gold, items.answers)
    )
    if mode == "official":
        letters = "".join(text + "\n" for text in texts).encode("utf-32-le", "surrogatepass")
        kept = np.frombuffer(letters, np.uint32) != ord(" ")
        gold, answer = gold[kept], answer[kept]
        lengths = np.add.reduceat(kept, offsets, dtype=np.int64) if len(offsets) else lengths
    return Tags(gold, answer, lengths, len(types))


def fill_codes(
    side: Iterable[Any], offsets: Ints, lengths: Ints, place: dict[str, int], outside: int
) -> Codes:
    """Codes of each character: of the tags where an answer was given as tags, else of its spans."""
    codes = np.full(int(lengths.sum()), outside, dtype=np.uint8)
    table = tag_codes(tuple(place))
    for offset, length, answer in zip(offsets.tolist(), lengths.tolist(), side, strict=True):
        own = codes[offset : offset + length - 1]
        if isinstance(answer, Tagged):
            put_tags(own, answer.tags, table)
        else:
            put_spans(own, answer or (), place)
    return codes


def put_tags(codes: Codes, tags: Sequence[str], table: dict[str, int]) -> None:
    """Write an answer given as tags, one a character, into the codes of its text."""
    wrong = next((tag for tag in dict.fromkeys(tags) if tag not in table), None)
    if wrong is not None or len(tags) != len(codes):
        what = "" if wrong is None else f"{wrong!r} among "
        raise BadInput(
            f"{what}{len(tags)} tags do not fit a text of {len(codes)} characters",
            cure=f"pass one per character, each one of {', '.join(table)}",
        )
    codes[:] = np.frombuffer(bytes(map(table.__getitem__, tags)), np.uint8)


def put_spans(codes: Codes, spans: Iterable[Span], place: dict[str, int]) -> None:
    """Write the spans of an answer into the codes of its text."""
    for span in spans:
        if not 0 <= span.start < span.end <= len(codes) or span.label not in place:
            raise BadInput(
                f"span {span.start}-{span.end} {span.label} does not fit a text of {len(codes)} characters",
                cure=f"count in characters, end exclusive, with a label of {', '.join(place)}",
            )
        code = 2 * place[span.label]
        codes[span.start] = code
        codes[span.start + 1 : span.end] = code + 1


def entity_macro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Macro F1 of entities over the types that occur; NaN if neither side has an entity."""
    counts = entity_counts(items.compute_once(tag_sequences, mode))
    hits, answered, wanted = (part.sum(-1) for part in split_counts(counts))
    all_right = ((hits == answered) & (hits == wanted)).astype(np.float64)
    return from_sums(counts, macro_f1_of, all_right * _mark_read(items))


def char_macro_f1(items: Items, mode: Mode = "official") -> Additive:
    """Macro F1 of character tags; an answer that could not be read has none right."""
    counts = character_counts(items.compute_once(tag_sequences, mode))
    counts = count_ends(counts, 2 if mode == "official" else 0)
    tags = counts.shape[1] // 3
    counts[:, : 2 * tags] *= _mark_read(items)[:, None]
    hits, _, wanted = (part.sum(-1) for part in split_counts(counts))
    detail = hits / np.maximum(wanted, 1)
    return from_sums(counts, mean_with_o if mode == "official" else mean_without_o, detail)


def _mark_read(items: Items) -> Floats:
    """1.0 for each item whose answer could be read."""
    read = (answer is not None for answer in items.answers)
    return np.fromiter(read, np.float64, len(items.answers))


def count_ends(counts: Floats, ends: int) -> Floats:
    """Counts with `ends` positions of O a sentence, both sides right, in place of the one counted behind each.

    The reference has two: its tagger's first and last position.
    """
    tags = counts.shape[1] // 3
    counts[:, tags - 1 :: tags] += ends - 1
    return counts


def golden_case(case: dict[str, list[str]]) -> dict[str, Any]:
    """Both scores of one tag sequence in percent, and what the paper may have meant by leaving O out."""
    table = tag_codes(TYPES)
    gold, answer = ([[table[tag] for tag in case[side]]] for side in ("gold", "pred"))
    tags = encode_tags(gold, answer)
    characters = count_ends(character_counts(tags), 0).sum(axis=0)
    hits, answered, wanted = (part[:-1] for part in split_counts(characters))
    all_twelve = f1(hits, answered, wanted, undefined=1.0).mean()
    return {
        "entity_macro_f1": float(macro_f1_of(entity_counts(tags).sum(axis=0))) * 100,
        "char_macro_f1": lambda: (
            float(mean_with_o(characters)) * 100 if case["gold"] else refuse_no_items()
        ),
        "char_macro_f1_paper_without_O": {
            "mean_over_present_12": float(mean_without_o(characters)) * 100,
            "mean_over_all_12_absent_is_1": float(all_twelve) * 100,
        },
    }


SPACES = "The reference drops spaces first, so an entity that begins with one is lost; the documented metric keeps it."
WITH_O = "The reference includes O in the average and counts unused tags as 1.0; the documented metric does neither."
METRICS = (
    Metric(
        "entity-macro-f1",
        entity_macro_f1,
        "Mean F1 of whole entities by type.",
        SPACES,
        kinds=("tagging",),
        undefined="Neither gold nor the answers contain an entity.",
        needs_inputs=("text",),
    ),
    Metric(
        "char-macro-f1",
        char_macro_f1,
        "Mean F1 of character tags.",
        WITH_O,
        kinds=("tagging",),
        needs_inputs=("text",),
    ),
)
GOLDEN = {"klue_ner": golden_case}
