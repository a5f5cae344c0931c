"""How well a vocabulary fits texts: nothing lost, how many tokens, how many of them run across a
morpheme boundary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from nikawa.pretrain.personal_data import RESERVED
from nikawa.pretrain.tokenizer import BLANK, FIRST_TEXT_ID
from nikawa.pretrain.vocabulary import FindStarts
from nikawa.records import Record

SAMPLE_TEXTS = 200
"""Texts of each set whose morphemes are looked at: segmenters are slow."""
MAX_TOKENS_SHOWN = 12
"""Longest tokens that are shown."""
_UNKNOWN_ID = RESERVED.index("[UNK]")
_BATCH_TEXTS = 2_000


class Coverage(Record, frozen=True, kw_only=True):
    """A vocabulary on one set of texts."""

    texts: str
    """What they are: a benchmark, or the held-out text."""
    count: int
    """How many texts."""
    characters: int
    """Without blanks."""
    pieces: int
    """Tokens."""
    pieces_a_character: float
    unknown: float
    """Share of tokens that are [UNK]."""
    in_bytes: float
    """Share of characters that are not in the vocabulary and are spelled in bytes."""
    exact: float
    """Share of texts that come back from their tokens exactly, up to the normal form."""
    crossing: float | None
    """Share of tokens (of a sample) that a morpheme boundary runs through; None where no segmenter
    was available."""


class CoverageReport(Record, frozen=True, kw_only=True):
    """All sets, and the composition of the vocabulary."""

    sets: tuple[Coverage, ...]
    """Each set of texts, and their sum where there are several."""
    longest: tuple[str, ...]
    """The longest tokens."""
    lengths: dict[str, int]
    """By number of characters, how many tokens stand for so many."""


def report_coverage(
    tokenizer: Any, sets: Iterable[tuple[str, Sequence[str]]], segmenter: FindStarts | None
) -> CoverageReport:
    """Measure a vocabulary on several named sets of texts and all together.

    `segmenter` finds the morphemes that tokens should not cross; without one that is not measured.
    """
    rows = [measure_coverage(tokenizer, name, list(texts), segmenter) for name, texts in sets]
    if len(rows) > 1:
        rows.append(_sum_coverage(rows))
    names = [name for name, number in tokenizer.get_vocab().items() if number >= FIRST_TEXT_ID]
    sizes = [len(name.removeprefix(BLANK)) or 1 for name in names]
    lengths = {str(size): sizes.count(size) for size in sorted(set(sizes))}
    longest = sorted(names, key=lambda name: (-len(name), name))[:MAX_TOKENS_SHOWN]
    return CoverageReport(sets=tuple(rows), longest=tuple(longest), lengths=lengths)


def measure_coverage(
    tokenizer: Any, name: str, texts: Sequence[str], segmenter: FindStarts | None
) -> Coverage:
    """Measure a vocabulary on one set of texts."""
    import numpy as np

    tokens = unknown = exact = 0
    for start in range(0, len(texts), _BATCH_TEXTS):
        batch = list(texts[start : start + _BATCH_TEXTS])
        encodings = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        decoded = tokenizer.decode_batch([e.ids for e in encodings], skip_special_tokens=False)
        tokens += sum(len(encoding.ids) for encoding in encodings)
        unknown += sum(encoding.ids.count(_UNKNOWN_ID) for encoding in encodings)
        for text, back in zip(batch, decoded, strict=True):
            exact += back.lstrip() == tokenizer.normalizer.normalize_str(text).lstrip()
    text = tokenizer.normalizer.normalize_str("\n".join(texts))
    text = text.replace(" ", "").replace("\n", "")
    characters, in_bytes = len(text), 0
    known = tokenizer.get_vocab()
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
        if chr(code) not in known:
            in_bytes += int(count)
    return Coverage(
        texts=name,
        count=len(texts),
        characters=characters,
        pieces=tokens,
        pieces_a_character=tokens / max(1, characters),
        unknown=unknown / max(1, tokens),
        in_bytes=in_bytes / max(1, characters),
        exact=exact / max(1, len(texts)),
        crossing=crossing_share(tokenizer, texts, segmenter) if segmenter and texts else None,
    )


def crossing_share(tokenizer: Any, texts: Sequence[str], segmenter: FindStarts) -> float:
    """The share of tokens that a morpheme boundary runs through.

    Blanks before a token do not count.
    """
    import numpy as np

    # a sample by content, independent of the order of the texts
    distinct = {text for text in texts if text}
    sample = sorted(distinct, key=lambda text: crc32(text.encode()))[:SAMPLE_TEXTS]
    encodings = tokenizer.encode_batch(sample, add_special_tokens=False)
    crossed = tokens = 0
    for text, encoding, boundaries in zip(sample, encodings, segmenter(sample), strict=True):
        spans = np.array(list(encoding.offsets), np.int64).reshape(-1, 2)
        starts, ends = spans[:, 0], spans[:, 1]
        is_blank = np.array([c.isspace() for c in text] + [False])
        starts = starts + (is_blank[starts] & (ends > starts))
        before_end = np.searchsorted(boundaries, ends, side="left")
        inside = before_end - np.searchsorted(boundaries, starts, side="right")
        crossed += int((inside > 0).sum())
        tokens += len(spans)
    return crossed / max(1, tokens)


def _sum_coverage(rows: Sequence[Coverage]) -> Coverage:
    """The sum of several sets; crossing as the mean over their tokens."""
    count = sum(row.count for row in rows)
    characters = sum(row.characters for row in rows)
    tokens = sum(row.pieces for row in rows)
    segmented = [row for row in rows if row.crossing is not None]
    crossing = None
    if segmented:
        crossed = math.fsum((row.crossing or 0) * row.pieces for row in segmented)
        crossing = crossed / max(1, sum(row.pieces for row in segmented))
    return Coverage(
        texts="all",
        count=count,
        characters=characters,
        pieces=tokens,
        pieces_a_character=tokens / max(1, characters),
        unknown=math.fsum(row.unknown * row.pieces for row in rows) / max(1, tokens),
        in_bytes=math.fsum(row.in_bytes * row.characters for row in rows) / max(1, characters),
        exact=math.fsum(row.exact * row.count for row in rows) / max(1, count),
        crossing=crossing,
    )
