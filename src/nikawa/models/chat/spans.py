"""From the words of an answer to exact characters: the n-th place where a text holds them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from nikawa.models.chat.reading import Unreadable, quoted
from nikawa.records import Span


def occurrence(text: str, span: Span) -> int:
    """Which of the places that hold the same words a span is, from 1."""
    return sum(1 for start in _places(text, text[span.start : span.end]) if start <= span.start)


def find_spans(text: str, entities: Sequence[Any], label_of: dict[str, str]) -> list[Span]:
    """The spans that entities of text, occurrence and label mean, in the order of the text."""
    folded, found, met = _Folded(text), {}, Counter[str]()
    for entity in entities:
        if not isinstance(entity, dict) or not isinstance(entity.get("text"), str):
            raise Unreadable("an entity has no text")
        words, label = entity["text"], label_of.get(str(entity.get("label")).casefold())
        if label is None:
            raise Unreadable(f"{quoted(str(entity.get('label')))} is no label")
        met[words] += 1
        start, end = _place(folded, words, entity.get("occurrence", met[words]))
        found[start, end] = Span(start, end, label)
    return _apart(list(found.values()))


def _place(folded: _Folded, words: str, number: Any) -> tuple[int, int]:
    places = folded.places(words) or folded.places(words.strip())
    if not places:
        raise Unreadable(f"{quoted(words)} is not in the text")
    if len(places) == 1:
        return places[0]
    if not isinstance(number, int) or not 1 <= number <= len(places):
        raise Unreadable(
            f"{quoted(words)} is in the text {len(places)} times, not where it was said to be"
        )
    return places[number - 1]


def _apart(spans: list[Span]) -> list[Span]:
    spans.sort(key=lambda span: (span.start, span.end))
    for one, other in pairwise(spans):
        if other.start < one.end:
            raise Unreadable("two entities overlap")
    return spans


def _places(text: str, words: str) -> Iterator[int]:
    start = text.find(words) if words else -1
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


class _Folded:
    """A text with its characters taken apart (width, composed syllables), and where each part came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = [unicodedata.normalize("NFKD", c) for c in text]
        self.folded = "".join(parts)
        self.home = [i for i, part in enumerate(parts) for _ in part]

    def places(self, words: str) -> list[tuple[int, int]]:
        """Where the words stand as they are, else where they stand but for how they are written."""
        exact = [(start, start + len(words)) for start in _places(self.text, words)]
        return exact or list(self._loose(unicodedata.normalize("NFKD", words)))

    def _loose(self, words: str) -> Iterator[tuple[int, int]]:
        home, size = self.home, len(words)
        for start in _places(self.folded, words):
            end = start + size
            whole_start = start == 0 or home[start - 1] != home[start]
            whole_end = end == len(home) or home[end] != home[end - 1]
            if whole_start and whole_end:
                yield home[start], home[end - 1] + 1
