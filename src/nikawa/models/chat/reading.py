"""How a free text is read: JSON inside it, an option, a number. What cannot be read is `Unreadable`, with the reason."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.errors import clip

QUOTED = 40
"""Characters of an answer quoted in a reason."""
STARTS = 50
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


def unthought(text: str) -> str:
    """A text without what a model thought aloud before it."""
    return _THOUGHT.sub("", text).strip()


def refuses(text: str) -> bool:
    """Whether a text that holds no answer declines to give one."""
    return bool(_SORRY.search(text[:400]))


def quoted(text: str) -> str:
    """The beginning of an answer, for a reason."""
    return repr(clip(" ".join(text.split()), QUOTED)) if text.strip() else "nothing"


def json_in(text: str, kind: type | tuple[type, ...] = dict) -> Any:
    """The first whole JSON object (or list) in a text, None where there is none."""
    decoder = json.JSONDecoder()
    marks = "{[" if kind is not dict else "{"
    starts = (i for i, c in enumerate(text) if c in marks)
    for start, _ in zip(starts, range(STARTS), strict=False):
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, kind):
            return found
    return None


def read_option(text: str, options: Options) -> Any:
    """The value of the one option a text names: by its key, after a cue, or by its word; two are as bad as none."""
    found = json_in(text)
    if found is not None and len(found) == 1:
        text = str(next(iter(found.values())))
    folded = unicodedata.normalize("NFKC", text).strip()
    named = _by_key(folded, options.keys) or _by_word(folded, options)
    if len(named) != 1:
        raise Unreadable(f"{quoted(text)} names {'no' if not named else 'more than one'} option")
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
    found = json_in(text)
    if found is not None and len(found) == 1:
        text = str(next(iter(found.values())))
    folded = unicodedata.normalize("NFKC", text).strip().replace("−", "-")
    alone = re.fullmatch(rf"({_NUMBER.pattern})\s*(?:点|점|/\s*{high:g}(?:\.0)?)?[.。]?", folded)
    cued = re.search(rf"{_CUE}[^\d\n-]{{0,8}}({_NUMBER.pattern})", folded, re.IGNORECASE)
    numbers = {alone[1]} if alone else {cued[1]} if cued else set(_NUMBER.findall(folded))
    if len(numbers) != 1:
        raise Unreadable(
            f"{quoted(text)} gives {'no number' if not numbers else 'several numbers'}"
        )
    value = float(numbers.pop())
    if not low <= value <= high:
        raise Unreadable(f"{value:g} is not between {low:g} and {high:g}")
    return value
