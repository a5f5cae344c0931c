"""How a free text is read: JSON inside it, an option, a number, spans.

What cannot be read is `Unreadable`, with the reason. Nothing is repaired or guessed: two options
are as bad as none, and one entity that is not in the text makes the answer unreadable. Nothing here
knows of a server or a task.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nikawa.errors import clip
from nikawa.records import Span

MAX_QUOTED_CHARS = 40
"""Characters of an answer quoted in a reason."""
MAX_JSON_STARTS = 50
"""Brackets at which JSON may begin that are tried."""

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CUE = r"(?:答え|回答|解答|正解|정답|답변|답|answer|label|スコア|類似度|点数|점수|유사도|score)"
_SORRY = re.compile(
    r"申し訳(?:あり|ござい)|お(?:答え|手伝い)(?:でき|する(?:こと)?(?:は|が)でき)|回答(?:でき|を差し控)|죄송|도와드릴 수 없|답변(?:할|드릴) 수 없"
    r"|\bI(?:'m| am) (?:sorry|unable|not able)|\bI (?:cannot|can't|can’t|won't)\b|\bAs an AI\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\d.])[-−]?\d+(?:\.\d+)?(?!\.?\d)")
_AROUND_KEY = "\"'`*().。、[]「」"


class Unreadable(Exception):
    """An answer that cannot be read; the message is the reason."""


@dataclass(frozen=True)
class AnswerOptions:
    """The answers to choose from: the key that is asked for, the word that is shown, the value that
    is meant.
    """

    keys: tuple[str, ...]
    words: tuple[str, ...]
    values: tuple[Any, ...]

    def format(self) -> str:
        """One a line: `KEY: word`, or the key alone where the word is the same."""
        pairs = zip(self.keys, self.words, strict=True)
        return "\n".join(key if key == word else f"{key}: {word}" for key, word in pairs)

    def key_of(self, value: Any) -> str:
        """The key of a value."""
        return self.keys[self.values.index(value)]


def strip_thoughts(text: str) -> str:
    """A text without what a model thought aloud before it."""
    return _THOUGHT.sub("", text).strip()


def is_refusal(text: str) -> bool:
    """Whether a text that holds no answer declines to give one."""
    return bool(_SORRY.search(text[:400]))


def quote(text: str) -> str:
    """The beginning of an answer, for a reason."""
    return repr(clip(" ".join(text.split()), MAX_QUOTED_CHARS)) if text.strip() else "nothing"


def find_json(text: str, kind: type | tuple[type, ...] = dict) -> Any:
    """The first whole JSON object (or list) in a text, None where there is none.

    >>> find_json('Here it is: {"answer": "A"}.')
    {'answer': 'A'}
    """
    decoder = json.JSONDecoder()
    marks = "{[" if kind is not dict else "{"
    starts = (i for i, c in enumerate(text) if c in marks)
    for start, _ in zip(starts, range(MAX_JSON_STARTS), strict=False):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, kind):
            return value
    return None


def find_list(text: str, field: str) -> list[Any]:
    """The list that the JSON of an answer holds, under its field or bare."""
    value = find_json(text, (dict, list))
    if isinstance(value, dict):
        value = value.get(field)
    if not isinstance(value, list):
        raise Unreadable(f"{quote(text)} holds no list of {field}")
    return value


def _unwrap_json(text: str) -> str:
    """The value of a JSON object with a single field, else the text as it is."""
    value = find_json(text)
    if value is None or len(value) != 1:
        return text
    return str(next(iter(value.values())))


def read_option(text: str, options: AnswerOptions) -> Any:
    """The value of the one option a text names: by its key, after a cue, or by its word.

    A text that names two is as unreadable as one that names none.
    """
    text = _unwrap_json(text)
    folded = unicodedata.normalize("NFKC", text).strip()
    places = _find_option_keys(folded, options.keys) or _find_option_words(folded, options)
    if len(places) != 1:
        count = "more than one" if places else "no"
        raise Unreadable(f"{quote(text)} names {count} option")
    return options.values[places.pop()]


def _find_option_keys(text: str, keys: Sequence[str]) -> set[int]:
    """Places of the options whose key the text gives, alone or as a letter after a cue."""
    places = {key: i for i, key in enumerate(keys)}
    bare = text.strip(_AROUND_KEY)
    if bare in places:
        return {places[bare]}
    if any(len(key) > 1 for key in keys):
        return set()
    letter = f"(?<![A-Za-z])([{''.join(keys)}])(?![A-Za-z]| [a-z])"
    after_cue = rf"(?i:{_CUE})[^A-Za-z\n]{{0,8}}(?i:is )?[^A-Za-z\n]{{0,4}}{letter}"
    cued = list(re.finditer(after_cue, text))
    if re.match(rf"[\"'`*(\[「]*{letter}", text):
        text = text.partition("\n")[0]
    elif cued:  # the last one: what comes before it may be thinking aloud
        text = text[cued[-1].start(1) :].partition("\n")[0]
    return {places[key] for key in re.findall(letter, text)}


def _find_option_words(text: str, options: AnswerOptions) -> set[int]:
    """Places of the options whose word, or own name, stands in the text.

    A word inside a longer one that matched is not meant.
    """
    place_of: dict[str, int] = {}
    for place, names in enumerate(zip(options.words, map(str, options.values), strict=True)):
        for name in names:
            folded = unicodedata.normalize("NFKC", name).casefold()
            if folded and not folded.isdigit():
                place_of[folded] = place
    places, rest = set(), text.casefold()
    for name in sorted(place_of, key=len, reverse=True):
        if name in rest:
            places.add(place_of[name])
            rest = rest.replace(name, "\0")
    return places


def read_number(text: str, low: float, high: float) -> float:
    """The one number a text gives, which must lie on the scale."""
    text = _unwrap_json(text)
    folded = unicodedata.normalize("NFKC", text).strip().replace("−", "-")
    alone = re.fullmatch(rf"({_NUMBER.pattern})\s*(?:点|점|/\s*{high:g}(?:\.0)?)?[.。]?", folded)
    cued = re.search(rf"{_CUE}[^\d\n-]{{0,8}}({_NUMBER.pattern})", folded, re.IGNORECASE)
    match = alone or cued
    numbers = {match[1]} if match else set(_NUMBER.findall(folded))
    if len(numbers) != 1:
        count = "no number" if not numbers else "several numbers"
        raise Unreadable(f"{quote(text)} gives {count}")
    value = float(numbers.pop())
    if not low <= value <= high:
        raise Unreadable(f"{value:g} is not between {low:g} and {high:g}")
    return value


def count_occurrence(text: str, span: Span) -> int:
    """Which of the places that hold the same words a span is, from 1."""
    words = text[span.start : span.end]
    return sum(1 for start in _find_all(text, words) if start <= span.start)


def find_spans(text: str, entities: Sequence[Any], label_of: dict[str, str]) -> list[Span]:
    """The spans that entities of text, occurrence and label mean, in the order of the text.

    `label_of` has the label by the case-folded name an answer may call it. Entities without an
    occurrence are counted in order.
    """
    folded, seen = _FoldedText(text), Counter[str]()
    spans: dict[tuple[int, int], Span] = {}
    for entity in entities:
        if not isinstance(entity, dict) or not isinstance(entity.get("text"), str):
            raise Unreadable("an entity has no text")
        words, name = entity["text"], str(entity.get("label"))
        label = label_of.get(name.casefold())
        if label is None:
            raise Unreadable(f"{quote(name)} is no label")
        seen[words] += 1
        start, end = folded.find(words, entity.get("occurrence", seen[words]))
        spans[start, end] = Span(start, end, label)
    ordered = sorted(spans.values(), key=lambda span: (span.start, span.end))
    for one, other in pairwise(ordered):
        if other.start < one.end:
            raise Unreadable("two entities overlap")
    return ordered


def _find_all(text: str, words: str) -> Iterator[int]:
    """All places at which the words begin, overlapping ones too."""
    start = text.find(words) if words else -1
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


class _FoldedText:
    """A text with its characters taken apart (width, composed syllables), and where each part came
    from.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = [unicodedata.normalize("NFKD", c) for c in text]
        self.folded = "".join(parts)
        self.place_of = [i for i, part in enumerate(parts) for _ in part]

    def find(self, words: str, number: Any) -> tuple[int, int]:
        """Start and end of the n-th place that holds the words, from 1.

        Where there is one place, the number does not matter.
        """
        places = self._find_all(words) or self._find_all(words.strip())
        if not places:
            raise Unreadable(f"{quote(words)} is not in the text")
        if len(places) == 1:
            return places[0]
        if not isinstance(number, int) or not 1 <= number <= len(places):
            what = f"{quote(words)} is in the text {len(places)} times"
            raise Unreadable(f"{what}, not where it was said to be")
        return places[number - 1]

    def _find_all(self, words: str) -> list[tuple[int, int]]:
        """Where the words stand as they are, else where they stand but for how they are written."""
        exact = [(start, start + len(words)) for start in _find_all(self.text, words)]
        return exact or list(self._find_folded(unicodedata.normalize("NFKD", words)))

    def _find_folded(self, words: str) -> Iterator[tuple[int, int]]:
        place_of = self.place_of
        for start in _find_all(self.folded, words):
            end = start + len(words)
            is_whole_start = start == 0 or place_of[start - 1] != place_of[start]
            is_whole_end = end == len(place_of) or place_of[end] != place_of[end - 1]
            if is_whole_start and is_whole_end:
                yield place_of[start], place_of[end - 1] + 1
