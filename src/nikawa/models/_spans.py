"""Pieces of a text that could answer a question, and what describes each: no analyser, only scripts and places.

Pieces begin and end where the script changes; a Hangul word may also end one or two characters early, where a
particle may begin. Everything about the pieces of one text is computed at once, in arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SEPARATOR = " [SEP] "
"""Stands between title and paragraph in JSQuAD; the title is no evidence."""
_RUN = re.compile(
    r"(?P<han>[一-鿿々〆ヶ]+)|(?P<kata>[ァ-ヺー・]+)|(?P<hira>[ぁ-ゖ]+)|(?P<hangul>[가-힣]+)|(?P<latin>[A-Za-zＡ-Ｚａ-ｚ]+)"
    r"|(?P<digit>[0-9０-９.,，．]*[0-9０-９])|(?P<blank>\s+)|(?P<opens>[「『《（(【〈“\"'‘])|(?P<stops>[。！？!?\n])|(?P<other>.)",
    re.S,
)
KINDS = ("han", "kata", "hira", "hangul", "latin", "digit", "blank", "opens", "stops", "other")
_CODE = {name: i for i, name in enumerate(KINDS)}
HIRA, HANGUL, BLANK, OPENS, STOPS, OTHER = (
    _CODE[n] for n in ("hira", "hangul", "blank", "opens", "stops", "other")
)
LONGEST, REACH = 30, 9
"""Characters of a piece, and runs it may go over."""
WINDOWS = (6, 15, 40)
"""Characters on either side in which words of the question are looked for."""
BITS = 18
DENSE = 12 + 2 * len(WINDOWS)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Text:
    """A text in runs of one script, and the pieces of it that may answer."""

    body: str
    first: int
    """Where the paragraph begins, behind a title."""
    starts: Ints
    ends: Ints
    begins_with: Ints
    """Script of the first run of each piece."""
    ends_with: Ints
    runs: Ints
    """Runs each piece goes over."""
    sentence: Ints
    """Number of the sentence each character is in."""

    @cached_property
    def pieces(self) -> list[str]:
        """The words of every piece."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.body[start:end] for start, end in places]


@lru_cache(maxsize=64)
def pieces(body: str) -> Text:
    """Every piece of a text that may answer; questions on one text come one after another."""
    cut = body.find(SEPARATOR)
    first = 0 if cut < 0 else cut + len(SEPARATOR)
    runs = [(m.start(), m.end(), _CODE[m.lastgroup or "other"]) for m in _RUN.finditer(body, first)]
    rows = [row for i in range(len(runs)) for row in _from(runs, i)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    stops = np.zeros(len(body) + 1, dtype=np.int64)
    stops[[start + 1 for start, _, kind in runs if kind == STOPS]] = 1
    start, end, begins, ends, over = table.T
    return Text(body, first, start, end, begins, ends, over, np.cumsum(stops))


def _from(runs: list[tuple[int, int, int]], i: int) -> list[tuple[int, int, int, int, int]]:
    """The pieces that begin with run `i`: start, end, script of the first and last run, number of runs."""
    start, end, kind = runs[i]
    if kind in (BLANK, STOPS, OTHER) or (kind == HIRA and end - start < 2):
        return []
    found = []
    for count, (_, stop, last) in enumerate(runs[i : i + REACH], start=1):
        if last == STOPS or stop - start > LONGEST:
            break
        if last in (BLANK, OPENS):
            continue
        found.append((start, stop, kind, last, count))
        if last == HANGUL:
            begun = runs[i + count - 1][0]
            found += [(start, stop - k, kind, last, count) for k in (1, 2) if stop - k > begun]
    return found


def dense(text: Text, question: str, rare: dict[str, float]) -> Floats:
    """One row a piece: how much of the question stands around it and in it, its length and place."""
    weight = rare.get("", 1.0)
    asked = {question[i : i + 2] for i in range(len(question) - 1)}
    body, s, e = text.body, text.starts, text.ends
    total = sum(rare.get(gram, weight) for gram in asked) or 1.0
    met = [
        rare.get(body[i : i + 2], weight) if body[i : i + 2] in asked else 0.0
        for i in range(len(body))
    ]
    sums = np.concatenate([[0.0], np.cumsum(met)]) / total
    last, first = len(body), text.first
    own = sums[e] - sums[s]
    columns = [own, own * 10 / (e - s), np.log(e - s), (e - s) / LONGEST, text.runs / REACH]
    for size in WINDOWS:
        columns += [
            sums[s] - sums[np.maximum(s - size, first)],
            sums[np.minimum(e + size, last)] - sums[e],
        ]
    edges = np.flatnonzero(np.diff(text.sentence, prepend=-1))
    low, high = edges[text.sentence[s]], np.append(edges[1:], last)[text.sentence[s]]
    around = sums[high] - sums[low] - own
    best = around.max() if len(around) else 0.0
    columns += [around, around - best, (s - low) / 50, (high - e) / 50, (s - first) / 300]
    inside = np.array([piece in question for piece in text.pieces], dtype=float)
    return np.column_stack([*columns, np.log1p(s - first), inside])


def hashed(text: Text, cues: Ints, some: Sequence[int] | slice = slice(None)) -> Ints:
    """One row a piece, of all or `some`: numbers of its features, alone and beside each cue of the question."""
    codes = np.array([0, 0, *map(ord, text.body), 0, 0], dtype=np.int64)
    s, e = text.starts[some] + 2, text.ends[some] + 2
    begins, ends, runs = text.begins_with[some], text.ends_with[some], text.runs[some]
    before, after, first, last = codes[s - 1], codes[e], codes[s], codes[e - 1]
    shape = (begins * 16 + ends) * 16 + np.minimum(runs, 4) * 4 + np.minimum((e - s) // 4, 3)
    alone = [
        before,
        after,
        last,
        first,
        shape,
        before * 65_537 + codes[s - 2],
        after * 65_537 + codes[e + 1],
        before * 65_537 + after,
        last * 65_537 + after,
        last * 65_537 + codes[e - 2],
        begins * 64 + before,
        ends * 65_537 + after,
    ]
    beside = [shape, last, after, before, begins * 16 + ends]
    found = [_mixed(column, n)[:, None] for n, column in enumerate(alone, start=1)]
    for n, column in enumerate(beside, start=101):
        found.append(_mixed(_mixed(column, n)[:, None] * 4_194_301 + cues[None, :], n))
    return np.concatenate(found, axis=1)


def _mixed(values: Ints, salt: int) -> Ints:
    """Spread numbers over the table of weights, each group of features in its own way."""
    spread = (values.astype(np.uint64) + np.uint64(salt * 1_000_003)) * _MIX
    return (spread >> np.uint64(64 - BITS)).astype(np.int64)
