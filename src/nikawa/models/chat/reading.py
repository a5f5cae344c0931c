"""How a free text is read: JSON inside it, an option, a number. What cannot be read is `Unreadable`, with the reason."""

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


class Unreadable(Exception):
    """An answer that cannot be read; the message is the reason."""


@dataclass(frozen=True)
class Options:
    """The answers to choose from: the key that is asked for, the word that is shown, the value that is meant."""

    keys: tuple[str, ...]
    words: tuple[str, ...]
    values: tuple[Any, ...]

    def shown(self) -> str:
        """One a line."""
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
    """The first whole JSON object (or list) in a text, None where there is none."""
    decoder = json.JSONDecoder()
    marks = "{[" if kind is not dict else "{"
    starts = (i for i, c in enumerate(text) if c in marks)
    for start, _ in zip(starts, range(MAX_JSON_STARTS), strict=False):
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, kind):
            return found
    return None


def read_option(text: str, options: Options) -> Any:
    """The value of the one option a text names: by its key, after a cue, or by its word; two are as bad as none."""
    found = find_json(text)
    if found is not None and len(found) == 1:
        text = str(next(iter(found.values())))
    folded = unicodedata.normalize("NFKC", text).strip()
    named = _by_key(folded, options.keys) or _by_word(folded, options)
    if len(named) != 1:
        raise Unreadable(f"{quote(text)} names {'no' if not named else 'more than one'} option")
    return options.values[named.pop()]


def _by_key(text: str, keys: Sequence[str]) -> set[int]:
    places = {key: i for i, key in enumerate(keys)}
    if text.strip("\"'`*().。、[]「」") in places:
        return {places[text.strip("\"'`*().。、[]「」")]}
    if any(len(key) > 1 for key in keys):
        return set()
    letter = f"(?<![A-Za-z])([{''.join(keys)}])(?![A-Za-z]| [a-z])"
    cued = list(
        re.finditer(rf"(?i:{_CUE})[^A-Za-z\n]{{0,8}}(?i:is )?[^A-Za-z\n]{{0,4}}{letter}", text)
    )
    if re.match(rf"[\"'`*(\[「]*{letter}", text):
        text = text.partition("\n")[0]
    elif cued:  # the last one: what comes before it may be thinking aloud
        text = text[cued[-1].start(1) :].partition("\n")[0]
    return {places[found] for found in re.findall(letter, text)}


def _by_word(text: str, options: Options) -> set[int]:
    """Options whose word, or own name, stands in the text; a word inside a longer one that matched is not meant."""
    pairs = enumerate(zip(options.words, map(str, options.values), strict=True))
    spelt = (
        (unicodedata.normalize("NFKC", name).casefold(), i) for i, pair in pairs for name in pair
    )
    names = {name: i for name, i in spelt if not name.isdigit()}
    named, rest = set(), text.casefold()
    for name in sorted(names, key=len, reverse=True):
        if name and name in rest:
            named.add(names[name])
            rest = rest.replace(name, "\0")
    return named


def read_number(text: str, low: float, high: float) -> float:
    """The one number a text gives, which must lie on the scale."""
    found = find_json(text)
    if found is not None and len(found) == 1:
        text = str(next(iter(found.values())))
    folded = unicodedata.normalize("NFKC", text).strip().replace("−", "-")
    alone = re.fullmatch(rf"({_NUMBER.pattern})\s*(?:点|점|/\s*{high:g}(?:\.0)?)?[.。]?", folded)
    cued = re.search(rf"{_CUE}[^\d\n-]{{0,8}}({_NUMBER.pattern})", folded, re.IGNORECASE)
    numbers = {alone[1]} if alone else {cued[1]} if cued else set(_NUMBER.findall(folded))
    if len(numbers) != 1:
        raise Unreadable(f"{quote(text)} gives {'no number' if not numbers else 'several numbers'}")
    value = float(numbers.pop())
    if not low <= value <= high:
        raise Unreadable(f"{value:g} is not between {low:g} and {high:g}")
    return value


def count_occurrence(text: str, span: Span) -> int:
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
            raise Unreadable(f"{quote(str(entity.get('label')))} is no label")
        met[words] += 1
        start, end = _place(folded, words, entity.get("occurrence", met[words]))
        found[start, end] = Span(start, end, label)
    return _apart(list(found.values()))


def _place(folded: _Folded, words: str, number: Any) -> tuple[int, int]:
    places = folded.places(words) or folded.places(words.strip())
    if not places:
        raise Unreadable(f"{quote(words)} is not in the text")
    if len(places) == 1:
        return places[0]
    if not isinstance(number, int) or not 1 <= number <= len(places):
        raise Unreadable(
            f"{quote(words)} is in the text {len(places)} times, not where it was said to be"
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
