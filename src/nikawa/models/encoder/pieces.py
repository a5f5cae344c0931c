"""Text to sub-words with the characters each stands for, and sub-words to framed inputs of one or two texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.encoder.align import align
from nikawa.models.encoder.settle import settle

Words = Callable[[str], Iterable[tuple[int, int]]]
"""Start and end (exclusive) of the words of a text, in order."""


@dataclass(frozen=True)
class Pieces:
    """Sub-words of one text; `spans[i]` are the characters piece i stands for (empty where none)."""

    ids: list[int]
    spans: list[tuple[int, int]]


@dataclass(frozen=True)
class Frame:
    """The special pieces around one text and around two, and the segment of each part."""

    one: tuple[list[int], list[int]]
    two: tuple[list[int], list[int], list[int]]
    segments: tuple[int, int]
    """The segment of the first and of the second text; the specials take that of the text before them."""
    typed: bool
    """Whether the model takes segments at all."""


class Reader:
    """A tokenizer with the word segmentation it was trained on."""

    def __init__(
        self, tokenizer: Any, words: Words | None = None, segments: int | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self._words = words
        """Text to the places of its words, for vocabularies learned on segmented text; None: as it is."""
        self.frame = _frame(tokenizer, segments)
        self.lost: Counter[str] = Counter()
        """Characters that no piece stands for, of the texts whose characters were asked for."""
        self.counted: set[str] = set()
        """The rows, by their keys, whose lost characters are among them."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of many texts at once, without special ones."""
        return self.raw([self.segmented(text)[0] for text in texts])

    def raw(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of texts that are segmented already."""
        if not texts:
            return []
        found: list[list[int]] = self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return found

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """The pieces of many texts with the characters each stands for, counted in the text as given."""
        if not texts:
            return []
        whole = [self.segmented(text) for text in texts]
        made = []
        for text, (_, places), (ids, spans) in zip(
            texts, whole, self._found([w for w, _ in whole]), strict=True
        ):
            settled, lost = settle(text, spans if places is None else _back(spans, places))
            self.lost.update(lost)
            made.append(Pieces(ids, settled))
        return made

    def _found(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Pieces and their places in texts that are segmented already."""
        if getattr(self.tokenizer, "is_fast", False):
            found = self.tokenizer(
                list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            return list(zip(found["input_ids"], found["offset_mapping"], strict=True))
        unknown = self.tokenizer.unk_token
        ids = self.raw(texts)
        names = [self.tokenizer.convert_ids_to_tokens(row) for row in ids]
        return [
            (row, align(text, words, unknown))
            for text, row, words in zip(texts, ids, names, strict=True)
        ]

    def segmented(self, text: str) -> tuple[str, list[int] | None]:
        """The text with a blank between words, and the place each character (and the end) had before."""
        if self._words is None:
            return text, None
        parts: list[str] = []
        places: list[int] = []
        for start, end in cover(text, self._words(text)):
            places += [start] if parts else []
            parts.append(text[start:end])
            places += range(start, end)
        return " ".join(parts), [*places, len(text)]

    @cached_property
    def digest(self) -> str:
        """What the tokenizer is known by; ask once its vocabulary is whole."""
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        told = (
            fast.to_str()
            if fast is not None and hasattr(fast, "to_str")
            else repr((sorted(self.tokenizer.get_vocab().items()), str(self.tokenizer)))
        )
        return blake2b(f"{self.frame}{told}".encode(), digest_size=16).hexdigest()

    def pair(
        self, first: Sequence[int], second: Sequence[int] | None, longest: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Input ids and segments of one or two texts, the longer cut first until they fit."""
        frame = self.frame
        if second is None:
            before, after = frame.one
            first = first[: longest - len(before) - len(after)]
            ids = [*before, *first, *after]
            return np.array(ids), np.full(len(ids), frame.segments[0])
        before, between, after = frame.two
        room = longest - len(before) - len(between) - len(after)
        a, b = fit(len(first), len(second), room)
        ids = [*before, *first[:a], *between, *second[:b], *after]
        head = len(before) + a + len(between)
        segments = [frame.segments[0]] * head + [frame.segments[1]] * (len(ids) - head)
        return np.array(ids), np.array(segments)


def cover(text: str, words: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Words that share no character, with what lies between them: each character but white space stands in one.

    Korean morphemes may share a syllable; it stays with the first.
    """
    made: list[tuple[int, int]] = []
    at = 0
    for first, end in [*words, (len(text), len(text))]:
        between = text[at:first]
        if between.strip():
            left = at + len(between) - len(between.lstrip())
            made.append((left, at + len(between.rstrip())))
        start, at = max(first, at), max(at, end)
        if text[start:at].strip():
            made.append((start, at))
    return made


def _back(spans: Iterable[tuple[int, int]], places: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of a segmented text as those of the text it was."""
    return [(places[a], places[b - 1] + 1 if b > a else places[a]) for a, b in spans]


def fit(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of two texts to keep: pieces fall from the longer, from the second where they are equal."""
    over = first + second - room
    if over <= 0:
        return first, second
    level = min(over, abs(first - second))
    first, second = (first - level, second) if first > second else (first, second - level)
    rest = over - level
    return max(0, first - rest // 2), max(0, second - (rest - rest // 2))


def _frame(tokenizer: Any, segments: int | None) -> Frame:
    """Learn the special pieces by framing two known pieces; a model of fewer segments than they have is given none."""
    bare = tokenizer("1", add_special_tokens=False)["input_ids"]
    if not bare:
        raise BadInput("the tokenizer makes nothing of '1'", cure="take another tokenizer")
    alone = tokenizer("1")["input_ids"]
    both = tokenizer("1", "1", return_token_type_ids=True)
    ids, kinds = both["input_ids"], both["token_type_ids"]
    at = _find(alone, bare, 0)
    a = _find(ids, bare, 0)
    b = _find(ids, bare, a + len(bare))
    typed = "token_type_ids" in tokenizer.model_input_names and max(kinds) < (segments or len(ids))
    return Frame(
        one=(alone[:at], alone[at + len(bare) :]),
        two=(ids[:a], ids[a + len(bare) : b], ids[b + len(bare) :]),
        segments=(kinds[a], kinds[b]) if typed else (0, 0),
        typed=typed,
    )


def _find(whole: list[int], part: list[int], start: int) -> int:
    for place in range(start, len(whole) - len(part) + 1):
        if whole[place : place + len(part)] == part:
            return place
    raise BadInput("the tokenizer changes a text inside a pair", cure="take another tokenizer")
