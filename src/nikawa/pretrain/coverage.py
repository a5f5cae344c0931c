"""How well a vocabulary fits texts: nothing lost, how many pieces, how many of them run across a morpheme boundary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from nikawa.pretrain.personal import RESERVED
from nikawa.pretrain.tokenizer import BLANK, FIRST
from nikawa.pretrain.vocabulary import Cuts
from nikawa.records import Record

SAMPLE = 200
"""Texts of each set whose morphemes are looked at: segmenters are slow."""
LONGEST = 12
"""Longest pieces that are shown."""
_UNKNOWN = RESERVED.index("[UNK]")
_BATCH = 2_000


class Coverage(Record, frozen=True, kw_only=True):
    """A vocabulary on one set of texts."""

    texts: str
    """What they are: a benchmark, or the held-out text."""
    count: int
    characters: int
    """Without blanks."""
    pieces: int
    pieces_a_character: float
    unknown: float
    """Share of pieces that are [UNK]."""
    in_bytes: float
    """Share of characters that are no piece of the vocabulary and spelled in bytes."""
    exact: float
    """Share of texts that come back from their pieces exactly, up to the normal form."""
    crossing: float | None
    """Share of pieces (of a sample) that a morpheme boundary runs through; None where no segmenter was at hand."""


class CoverageReport(Record, frozen=True, kw_only=True):
    """All sets, and what the vocabulary is made of."""

    sets: tuple[Coverage, ...]
    longest: tuple[str, ...]
    lengths: dict[str, int]
    """By number of characters, how many pieces stand for so many."""


class _Sum(NamedTuple):
    pieces: int
    unknown: int
    exact: int


def cover(tokenizer: Any, name: str, texts: Sequence[str], cuts: Cuts | None) -> Coverage:
    """Measure a vocabulary on one set of texts."""
    parts = [_encoded(tokenizer, texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
    pieces, unknown, exact = (
        (sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0, 0)
    )
    characters, spelled = _characters(tokenizer, texts)
    return Coverage(
        texts=name,
        count=len(texts),
        characters=characters,
        pieces=pieces,
        pieces_a_character=pieces / max(1, characters),
        unknown=unknown / max(1, pieces),
        in_bytes=spelled / max(1, characters),
        exact=exact / max(1, len(texts)),
        crossing=_crossing(tokenizer, _drawn(texts), cuts) if cuts is not None and texts else None,
    )


def _encoded(tokenizer: Any, texts: Sequence[str]) -> _Sum:
    found = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    back = tokenizer.decode_batch([each.ids for each in found], skip_special_tokens=False)
    same = sum(
        a == tokenizer.normalizer.normalize_str(b).lstrip()
        for a, b in zip(map(str.lstrip, back), texts, strict=True)
    )
    return _Sum(
        sum(len(each.ids) for each in found), sum(each.ids.count(_UNKNOWN) for each in found), same
    )


def _characters(tokenizer: Any, texts: Sequence[str]) -> tuple[int, int]:
    """Characters without blanks, and those of them that are no piece."""
    import numpy as np

    text = tokenizer.normalizer.normalize_str("\n".join(texts)).replace(" ", "").replace("\n", "")
    codes, counts = np.unique(
        np.frombuffer(text.encode("utf-32-le"), np.uint32), return_counts=True
    )
    own = tokenizer.get_vocab()
    other = [int(count) for code, count in zip(codes, counts, strict=True) if chr(code) not in own]
    return len(text), sum(other)


def _drawn(texts: Sequence[str]) -> list[str]:
    """A sample by content, the same wherever the texts stand."""
    return sorted({text for text in texts if text}, key=lambda text: crc32(text.encode()))[:SAMPLE]


def _crossing(tokenizer: Any, texts: list[str], cuts: Cuts) -> float:
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    pairs = [
        _crossed(text, each.offsets, places)
        for text, each, places in zip(texts, found, cuts(texts), strict=True)
    ]
    return sum(crossed for crossed, _ in pairs) / max(1, sum(count for _, count in pairs))


def _crossed(
    text: str, offsets: Iterable[tuple[int, int]], places: Sequence[int]
) -> tuple[int, int]:
    """(Pieces a boundary runs through, pieces); blanks before a piece do not count."""
    import numpy as np

    spans = np.array(list(offsets), np.int64).reshape(-1, 2)
    blank = np.array([c.isspace() for c in text] + [False])
    starts = spans[:, 0] + (blank[spans[:, 0]] & (spans[:, 1] > spans[:, 0]))
    inner = np.searchsorted(places, spans[:, 1], side="left") - np.searchsorted(
        places, starts, side="right"
    )
    return int((inner > 0).sum()), len(spans)


def report(
    tokenizer: Any, sets: Iterable[tuple[str, Sequence[str]]], cuts: Cuts | None
) -> CoverageReport:
    """Measure a vocabulary on several sets of texts and all together."""
    kept = [(name, list(texts)) for name, texts in sets]
    rows = [cover(tokenizer, name, texts, cuts) for name, texts in kept]
    if len(rows) > 1:
        rows.append(_whole(rows))
    names = [name for name, number in tokenizer.get_vocab().items() if number >= FIRST]
    sizes = [len(name.removeprefix(BLANK)) or 1 for name in names]
    lengths = {str(size): sizes.count(size) for size in sorted(set(sizes))}
    longest = sorted(names, key=lambda name: (-len(name), name))[:LONGEST]
    return CoverageReport(sets=tuple(rows), longest=tuple(longest), lengths=lengths)


def _whole(rows: Sequence[Coverage]) -> Coverage:
    """The sum of several sets; crossing as the mean over their pieces."""
    characters, pieces, count = (
        sum(getattr(row, name) for row in rows) for name in ("characters", "pieces", "count")
    )
    told = [row for row in rows if row.crossing is not None]
    crossing = math.fsum((row.crossing or 0) * row.pieces for row in told) / max(
        1, sum(row.pieces for row in told)
    )
    return Coverage(
        texts="all",
        count=count,
        characters=characters,
        pieces=pieces,
        pieces_a_character=pieces / max(1, characters),
        unknown=math.fsum(row.unknown * row.pieces for row in rows) / max(1, pieces),
        in_bytes=math.fsum(row.in_bytes * row.characters for row in rows) / max(1, characters),
        exact=math.fsum(row.exact * row.count for row in rows) / max(1, count),
        crossing=crossing if told else None,
    )
