"""Finds values of an ontology in what people say: names (blanks and case do not matter), numbers,
times of day.

Korean and Japanese numerals and clock times are read, in digits or in words. A time without its
half of the day has two readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

NUMERALS = {
    **dict.fromkeys(("한", "하나", "일", "혼자", "하루", "一", "1"), 1),
    **dict.fromkeys(("두", "둘", "이", "이틀", "二"), 2),
    **dict.fromkeys(("세", "셋", "석", "삼", "사흘", "三"), 3),
    **dict.fromkeys(("네", "넷", "넉", "사", "나흘", "四"), 4),
    **dict.fromkeys(("다섯", "오", "닷새", "五"), 5),
    **dict.fromkeys(("여섯", "육", "엿새", "六"), 6),
    **dict.fromkeys(("일곱", "칠", "七"), 7),
    **dict.fromkeys(("여덟", "팔", "八"), 8),
    **dict.fromkeys(("아홉", "구", "九"), 9),
    **dict.fromkeys(("열", "십", "十"), 10),
    **dict.fromkeys(("열한", "열하나", "십일", "十一"), 11),
    **dict.fromkeys(("열두", "열둘", "십이", "十二"), 12),
}
"""Numerals of both languages up to the hours of a clock."""
LATE = frozenset(("오후", "저녁", "밤", "낮", "午後", "夜", "夕方"))
EARLY = frozenset(("오전", "아침", "새벽", "午前", "朝"))
_NUMERAL = "|".join(sorted((name for name in NUMERALS if name != "1"), key=len, reverse=True))
_TENS = "이십|삼십|사십|오십|십|二十|三十|四十|五十|十"
_HALF = "|".join([*LATE, *EARLY])
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)")
_SPOKEN = re.compile(
    rf"({_HALF})?\s*(\d{{1,2}}|{_NUMERAL})\s*[시時](?!간)\s*(?:(반|半)|(?:(\d{{1,2}})|((?:{_TENS})?(?:{_NUMERAL})?))\s*[분分])?"
)
_COUNTED = re.compile(
    rf"(?<![\d:])(\d+)(?![\d:])|(?<!\w)({_NUMERAL})(?=\s*(?:명|분|사람|인|박|일|개|곳|군데|人|名|泊|日))|(?<!\w)(혼자|하루|이틀|사흘|나흘|닷새|엿새)"
)
_SINO = {
    name: value
    for value, names in enumerate(
        ("", "일一", "이二", "삼三", "사四", "오五", "육六", "칠七", "팔八", "구九")
    )
    for name in names
}


class Mention(NamedTuple):
    """Characters of a text that may express a value."""

    start: int
    end: int
    value: str
    how: str
    """`name`, `number`, `time`, or `other-half` for a time that is twelve hours away from the plain
    reading."""


def fold_text(text: str) -> str:
    """Text as values are compared: compatibility forms and case folded; blanks stay."""
    return unicodedata.normalize("NFKC", text).casefold()


def guess_kind(values: Iterable[str]) -> str:
    """What most values of a slot are: `number`, `time` or `name`."""
    texts = list(values)
    for kind, pattern in (("number", r"\d+"), ("time", r"\d{1,2}:\d{2}")):
        matches = sum(re.fullmatch(pattern, text) is not None for text in texts)
        if texts and 2 * matches > len(texts):
            return kind
    return "name"


def find_numbers(text: str) -> Iterator[Mention]:
    """Whole numbers in digits, and numerals before a counter."""
    for match in _COUNTED.finditer(text):
        value = int(match[1]) if match[1] else NUMERALS[match[2] or match[3]]
        yield Mention(*match.span(), str(value), "number")


def find_times(text: str) -> Iterator[Mention]:
    """Times of day as `HH:MM`."""
    for match in _CLOCK.finditer(text):
        if int(match[1]) < 24 and int(match[2]) < 60:
            yield Mention(*match.span(), f"{int(match[1]):02}:{match[2]}", "time")
    for match in _SPOKEN.finditer(text):
        half, hour_text, half_past, minute_digits, minute_words = match.groups()
        hour = int(hour_text) if hour_text.isdecimal() else NUMERALS[hour_text]
        if half_past:
            minute = 30
        elif minute_digits:
            minute = int(minute_digits)
        else:
            minute = _read_minute(minute_words or "")
        if hour > 24 or minute > 59:
            continue
        other = None
        if half in LATE:
            hour = (hour + 12 if hour < 12 else hour) % 24
        elif half in EARLY:
            hour = hour % 12 if hour == 12 else hour % 24
        else:
            other = (hour + 12) % 24 if hour <= 12 else None
            hour = hour % 24
        yield Mention(*match.span(), f"{hour:02}:{minute:02}", "time")
        if other is not None:
            yield Mention(*match.span(), f"{other:02}:{minute:02}", "other-half")


def _read_minute(words: str) -> int:
    """Minutes in Sino-Korean or Japanese numerals; 0 for none."""
    tens, ten, ones = words.replace("十", "십").partition("십")
    if not ten:
        return _SINO.get(words, 0)
    return 10 * (_SINO.get(tens, 1) if tens else 1) + _SINO.get(ones, 0)


class NameFinder:
    """Finds known names: the longest at each place, by their first character and their lengths."""

    def __init__(self, values: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        """Folded name without blanks to the value as it is."""
        lengths: dict[str, set[int]] = defaultdict(set)
        for value in sorted(values):
            key = "".join(fold_text(value).split())
            if key and self._names.setdefault(key, value) == value:
                lengths[key[0]].add(len(key))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def find(self, text: str) -> Iterator[Mention]:
        """Mentions from left to right, none inside another.

        `text` must be folded by `fold_text`.
        """
        places = [i for i, character in enumerate(text) if not character.isspace()]
        letters = "".join(text[i] for i in places)
        at = 0
        while at < len(letters):
            step = 1
            for size in self._lengths.get(letters[at], ()):
                value = self._names.get(letters[at : at + size])
                if value is not None:
                    yield Mention(places[at], places[at + size - 1] + 1, value, "name")
                    step = size
                    break
            at += step
