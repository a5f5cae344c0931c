"""Text to sub-words with the characters each stands for, and sub-words to framed inputs of one or two texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nikawa.errors import BadInput


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

    def __init__(self, tokenizer: Any, words: Any = None) -> None:
        self.tokenizer = tokenizer
        self._words = words
        """Text to words, for vocabularies learned on segmented text; None: as it is."""
        self.frame = _frame(tokenizer)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of many texts at once, without special ones."""
        if not texts:
            return []
        whole = [self._segmented(text) for text in texts]
        found: list[list[int]] = self.tokenizer(whole, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False, verbose=False)["input_ids"]  # fmt: skip
        return found

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """The pieces of many texts with the characters each stands for, counted in the text as given."""
        whole = [self._segmented(text) for text in texts]
        if self._words is None and getattr(self.tokenizer, "is_fast", False):
            found = self.tokenizer(
                whole, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            return [Pieces(ids, [(a, b) for a, b in spans]) for ids, spans in zip(found["input_ids"], found["offset_mapping"], strict=True)]  # fmt: skip
        from nikawa.models._encoder.align import align

        made = []
        for text, ids in zip(texts, self.ids(texts), strict=True):
            words = self.tokenizer.convert_ids_to_tokens(ids)
            made.append(Pieces(ids, align(text, words, self.tokenizer.unk_token)))
        return made

    def _segmented(self, text: str) -> str:
        return text if self._words is None else " ".join(self._words(text))

    def pair(self, first: Sequence[int], second: Sequence[int] | None, longest: int) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
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


def fit(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of two texts to keep: pieces fall from the longer, from the second where they are equal."""
    over = first + second - room
    if over <= 0:
        return first, second
    level = min(over, abs(first - second))
    first, second = (first - level, second) if first > second else (first, second - level)
    rest = over - level
    return max(0, first - rest // 2), max(0, second - (rest - rest // 2))


def _frame(tokenizer: Any) -> Frame:
    """Learn the special pieces by framing two known pieces."""
    bare = tokenizer("1", add_special_tokens=False)["input_ids"]
    if not bare:
        raise BadInput("the tokenizer makes nothing of '1'", cure="take another tokenizer")
    alone = tokenizer("1")["input_ids"]
    both = tokenizer("1", "1", return_token_type_ids=True)
    ids, kinds = both["input_ids"], both["token_type_ids"]
    at = _find(alone, bare, 0)
    a = _find(ids, bare, 0)
    b = _find(ids, bare, a + len(bare))
    typed = "token_type_ids" in tokenizer.model_input_names
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
