"""Free text that holds an answer: what a model thought aloud, JSON inside prose, refusals.

`FoldedText` compares without difference of width and composition and knows where each character
came from, so that a reading can point into the text as it was written.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from nikawa.errors import clip
from nikawa.io.answers.phrases import load_phrases, match_any

MAX_QUOTED_CHARS = 40
"""Characters of an answer quoted in a reason."""
MAX_JSON_STARTS = 50
"""Brackets at which JSON may begin that are tried."""
MAX_REPLY_CHARS = 100_000
"""Characters of a reply that an answer is looked for in, from its end."""
FIRST_ORDINAL = 0xE000
"""A private character of each circled number: ② is the second, 2 may count from 0."""

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = re.compile(rf"\s*{_THOUGHT.pattern}", _THOUGHT.flags)
_THOUGHT_END = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:eos|end_of_turn|end_of_text)>")
CIRCLED = {
    **{chr(0x2460 + i): i + 1 for i in range(20)},
    **{chr(start + i): i + 1 for start in (0x2776, 0x2780, 0x278A) for i in range(10)},
    **{chr(0x24F5 + i): i + 1 for i in range(10)},
}
"""Circled numbers, each with what it counts."""
_SAME = {"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-"}


class FoldedText(NamedTuple):
    """A text in the normal form that is compared, and where each of its characters came from."""

    text: str
    places: list[int]
    """The place in the original of each character; one more at the end."""

    @classmethod
    def fold(cls, original: str) -> FoldedText:
        """The folded form of a text."""
        parts, places = [], []
        for place, character in enumerate(original):
            if character in CIRCLED:
                part = chr(FIRST_ORDINAL + CIRCLED[character])
            else:
                part = _SAME.get(character) or unicodedata.normalize("NFKC", character)
            parts.append(part)
            places.extend([place] * len(part))
        return cls("".join(parts), [*places, len(original)])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that a part of the folded text came from."""
        if start >= end:
            return self.places[start], self.places[start]
        return self.places[start], self.places[end - 1] + 1


def find_thoughts_end(text: str) -> int:
    """Where the reply begins behind what a model thought aloud; the end where it never stops.

    >>> find_thoughts_end("<think>A?</think>B")
    17
    """
    end = 0
    while match := _THOUGHT_START.match(text, end):
        end = match.end()
    if (match := _THOUGHT_END.match(text, end)) and "<think" not in text[end : match.end()].lower():
        end = match.end()  # the prompt opened the block
    return end


def blank_thoughts(text: str) -> str:
    """The text with blanks in place of what a model thought aloud, and of marks such as
    `<|im_end|>`: places stay as they were.
    """
    if "<" not in text:
        return text
    end = find_thoughts_end(text)
    rest = _THOUGHT.sub(lambda match: " " * len(match[0]), text[end:])
    return " " * end + _SPECIAL_TOKEN.sub(lambda match: " " * len(match[0]), rest)


def is_refusal(text: str) -> bool:
    """Whether a text that holds no answer declines to give one."""
    return bool(_refusals().search(unicodedata.normalize("NFKC", text[:400])))


@cache
def _refusals() -> re.Pattern[str]:
    return re.compile(match_any(load_phrases().refusals), re.IGNORECASE)


def quote(text: str) -> str:
    """The beginning of an answer, for a reason."""
    return repr(clip(" ".join(text.split()), MAX_QUOTED_CHARS)) if text.strip() else "nothing"


def scan_json(text: str, kind: type | tuple[type, ...] = dict) -> Iterator[tuple[Any, int, int]]:
    """Each whole JSON object (or list) in a text, with its start and end."""
    decoder = json.JSONDecoder()
    marks = "{[" if kind is not dict else "{"
    tried, place = 0, 0
    while tried < MAX_JSON_STARTS and place < len(text):
        if text[place] not in marks:
            place += 1
            continue
        tried += 1
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(value, kind):
            yield (_replace_surrogates(value) if "\\u" in text else value), place, end
            place = end
        else:
            place += 1


def _replace_surrogates(value: Any) -> Any:
    """A value of JSON without halves of surrogate pairs, which an escape can name and no file can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_replace_surrogates(part) for part in value]
    if isinstance(value, dict):
        return {
            _replace_surrogates(name): _replace_surrogates(part) for name, part in value.items()
        }
    return value


def find_json(text: str, kind: type | tuple[type, ...] = dict) -> Any:
    """Return the first complete JSON object (or list) in a text, or None.

    >>> find_json('Here it is: {"answer": "A"}.')
    {'answer': 'A'}
    """
    return next((value for value, _, _ in scan_json(text, kind)), None)
