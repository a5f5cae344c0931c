"""Text to sub-words with the characters of each, and sub-words to framed inputs of one or
two texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.encoder.alignment import Place, align_subwords, make_disjoint
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.settings import WordFinder

REFERENCE_FORMS = {"none": "", "fullwidth": "zenhan"}
"""The setting `normalise` to the form of `nikawa.text.normalise`: full width is what JGLUE's reference
gives the models of NICT and Waseda, down to its hyphen and tilde."""
Framed = tuple[np.ndarray, np.ndarray]
"""Input ids and segments of one sequence, special tokens included."""


@dataclass(frozen=True)
class Subwords:
    """The sub-words of one text.

    `spans[i]` are the characters of sub-word i (possibly empty).
    """

    ids: list[int]
    spans: list[Place]


@dataclass(frozen=True)
class Frame:
    """The special tokens around one text and around two, and the segment of each part."""

    one: tuple[list[int], list[int]]
    two: tuple[list[int], list[int], list[int]]
    segments: tuple[int, int]
    """The segment of the first and of the second text; special tokens take that of the text before
    them."""
    typed: bool
    """Whether the model takes segments at all."""

    @classmethod
    def learn(cls, tokenizer: Any, segments: int | None) -> Frame:
        """Learn the special tokens by framing a known text.

        A model of fewer segments than they have is given none.
        """
        bare = tokenizer("1", add_special_tokens=False)["input_ids"]
        if not bare:
            raise BadInput("the tokenizer returns no token for '1'", cure="use another tokenizer")
        alone = tokenizer("1")["input_ids"]
        both = tokenizer("1", "1", return_token_type_ids=True)
        ids, kinds = both["input_ids"], both["token_type_ids"]
        at = _find_part(alone, bare, 0)
        a = _find_part(ids, bare, 0)
        b = _find_part(ids, bare, a + len(bare))
        takes_segments = "token_type_ids" in tokenizer.model_input_names
        typed = takes_segments and max(kinds) < (segments or len(ids))
        return cls(
            one=(alone[:at], alone[at + len(bare) :]),
            two=(ids[:a], ids[a + len(bare) : b], ids[b + len(bare) :]),
            segments=(kinds[a], kinds[b]) if typed else (0, 0),
            typed=typed,
        )


class SubwordReader:
    """A tokenizer with the normal form and the word segmentation it was trained on."""

    def __init__(
        self,
        tokenizer: Any,
        find_words: WordFinder | None = None,
        segments: int | None = None,
        normal_form: str = "none",
    ) -> None:
        """Wrap a tokenizer of transformers.

        - `find_words` gives the places of words, for vocabularies learned on segmented text; None: as it is.
        - `segments` is how many segments the model tells apart, where that is known.
        - `normal_form` is a form of `nikawa.text.normalise`, applied before words are found.
        """
        self.tokenizer = tokenizer
        self._find_words = find_words
        self._normal_form = REFERENCE_FORMS.get(normal_form, normal_form)
        self.frame = Frame.learn(tokenizer, segments)
        self.lost: Counter[str] = Counter()
        """Characters that no sub-word represents, of the texts that `read` was called with."""
        self.counted: set[str] = set()
        """The rows, by their keys, whose lost characters are in `lost`."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The sub-words of many texts at once, without special tokens."""
        return self.tokenize([self.segment(text)[0] for text in texts])

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The sub-words of texts that are segmented already."""
        if not texts:
            return []
        ids: list[list[int]] = self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return ids

    def read(self, texts: Sequence[str]) -> list[Subwords]:
        """The sub-words of many texts with the characters of each, counted in the text as
        given.
        """
        if not texts:
            return []
        segmented = [self.segment(text) for text in texts]
        aligned = self._align([text for text, _ in segmented])
        results = []
        for text, (_, origins), (ids, spans) in zip(texts, segmented, aligned, strict=True):
            places = spans
            if origins is not None:  # back to the text as it was given
                places = []
                for a, b in spans:
                    start, _ = origins[a]
                    places.append((start, origins[b - 1][1] if b > a else start))
            disjoint, lost = make_disjoint(text, places)
            self.lost.update(lost)
            results.append(Subwords(ids, disjoint))
        return results

    def _align(self, texts: Sequence[str]) -> list[tuple[list[int], list[Place]]]:
        """Sub-words and their places in texts that are segmented already."""
        if getattr(self.tokenizer, "is_fast", False):
            encoded = self.tokenizer(
                list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            return list(zip(encoded["input_ids"], encoded["offset_mapping"], strict=True))
        aligned = []
        for text, ids in zip(texts, self.tokenize(texts), strict=True):
            names = self.tokenizer.convert_ids_to_tokens(ids)
            aligned.append((ids, align_subwords(text, names, self.tokenizer.unk_token)))
        return aligned

    def segment(self, text: str) -> tuple[str, list[Place] | None]:
        """The text in its normal form with a blank between words, and the place each character (and
        the end) had in the text as given; None for the places if nothing changed.

        The special tokens of the tokenizer keep their form: `[SEP]` in a JSQuAD paragraph is no text.
        """
        if not self._normal_form:
            if self._find_words is None:
                return text, None
            return self._join_words(text, [(i, i + 1) for i in range(len(text))], len(text))
        from nikawa.text.normalise import normalise_with_offsets

        parts: list[str] = []
        origins: list[Place] = []
        for start, end, is_special in self._split_special(text):
            if is_special:
                part, places = text[start:end], [(i, i + 1) for i in range(start, end)]
            else:
                form = normalise_with_offsets(text[start:end], self._normal_form)
                part = form.text
                places = [
                    (start + first, start + last)
                    for first, last in zip(form.starts, form.ends, strict=True)
                ]
                if self._find_words is not None:
                    part, places = self._join_words(part, places, end)
                    places = places[:-1]
            if parts and part and self._find_words is not None:
                parts.append(" ")
                origins.append((start, start))
            parts.append(part)
            origins += places
        return "".join(parts), [*origins, (len(text), len(text))]

    def _join_words(self, text: str, places: Sequence[Place], end: int) -> tuple[str, list[Place]]:
        """The words of a text with a blank between them, and the place of each character, given the
        places of the text's own; then the `end`.
        """
        assert self._find_words is not None
        parts: list[str] = []
        origins: list[Place] = []
        for first, last in cover_text(text, self._find_words(text)):
            if parts:  # the blank before this word
                origins.append(places[first])
            parts.append(text[first:last])
            origins += places[first:last]
        return " ".join(parts), [*origins, (end, end + 1)]

    def _split_special(self, text: str) -> list[tuple[int, int, bool]]:
        """The stretches of a text: start, end, and whether it is a special token."""
        stretches: list[tuple[int, int, bool]] = []
        at = 0
        for match in self._special_tokens.finditer(text):
            if match.start() > at:
                stretches.append((at, match.start(), False))
            stretches.append((*match.span(), True))
            at = match.end()
        if at < len(text):
            stretches.append((at, len(text), False))
        return stretches

    @cached_property
    def _special_tokens(self) -> re.Pattern[str]:
        """What matches a special token of the tokenizer, the longest first."""
        names = sorted(
            map(str, self.tokenizer.all_special_tokens), key=lambda name: (-len(name), name)
        )
        return re.compile("|".join(map(re.escape, names)) or r"(?!)")

    @cached_property
    def digest(self) -> str:
        """A digest of the tokenizer; call this when its vocabulary is complete."""
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is not None and hasattr(fast, "to_str"):
            content = fast.to_str()
        else:
            content = repr((sorted(self.tokenizer.get_vocab().items()), str(self.tokenizer)))
        return blake2b(f"{self.frame}{content}".encode(), digest_size=16).hexdigest()

    def frame_texts(
        self, first: Sequence[int], second: Sequence[int] | None, longest: int
    ) -> Framed:
        """Input ids and segments of one or two texts with special tokens, the longer text cut first
        until they fit.
        """
        frame = self.frame
        if second is None:
            before, after = frame.one
            first = first[: longest - len(before) - len(after)]
            ids = [*before, *first, *after]
            return np.array(ids), np.full(len(ids), frame.segments[0])
        before, between, after = frame.two
        room = longest - len(before) - len(between) - len(after)
        a, b = _fit_lengths(len(first), len(second), room)
        ids = [*before, *first[:a], *between, *second[:b], *after]
        segments = np.full(len(ids), frame.segments[1])
        segments[: len(before) + a + len(between)] = frame.segments[0]
        return np.array(ids), segments

    def add_tokens(self, rows: Rows, pairs: Sequence[Framed]) -> Rows:
        """Put input ids, and segments where the model takes them, into the rows.

        `pairs` are those of each sequence.
        """
        rows.tokens["input_ids"] = [ids for ids, _ in pairs]
        if self.frame.typed:
            rows.tokens["token_type_ids"] = [segments for _, segments in pairs]
        rows.pads["input_ids"] = self.tokenizer.pad_token_id or 0
        return rows


def cover_text(text: str, words: Iterable[Place]) -> list[Place]:
    """Words that share no character, and the text between them: each character except white space is
    in one.

    Korean morphemes may share a syllable; it stays with the first.
    """
    covered: list[Place] = []
    at = 0
    for first, end in [*words, (len(text), len(text))]:
        between = text[at:first]
        if between.strip():
            left = at + len(between) - len(between.lstrip())
            covered.append((left, at + len(between.rstrip())))
        start = max(first, at)
        at = max(at, end)
        if text[start:at].strip():
            covered.append((start, at))
    return covered


def _fit_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of two texts to keep: sub-words are cut from the longer, from the second where they
    are equal.
    """
    over = first + second - room
    if over <= 0:
        return first, second
    level = min(over, abs(first - second))
    if first > second:
        first -= level
    else:
        second -= level
    rest = over - level
    return max(0, first - rest // 2), max(0, second - (rest - rest // 2))


def _find_part(whole: list[int], part: list[int], start: int) -> int:
    for place in range(start, len(whole) - len(part) + 1):
        if whole[place : place + len(part)] == part:
            return place
    raise BadInput(
        "the tokenizer encodes a text differently inside a pair", cure="use another tokenizer"
    )
