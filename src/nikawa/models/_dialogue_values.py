"""Values of an ontology in what people say: names without regard to blanks and case, numbers, times of day.

Korean and Japanese numerals and clock times are read, in digits or in words; a time without its half of the day can
be either of two.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

DIGIT = {
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
_NUMERAL = "|".join(sorted((name for name in DIGIT if name != "1"), key=len, reverse=True))
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
    """Characters of a text that may stand for a value."""

    start: int
    end: int
    value: str
    how: str
    """`name`, `number`, `time`, or `other-half` for a time that is twelve hours away from the plain reading."""


def plain(text: str) -> str:
    """Text as values are compared: compatibility forms and case folded; blanks stay."""
    return unicodedata.normalize("NFKC", text).casefold()


def kind_of(values: Iterable[str]) -> str:
    """What most values of a slot are: `number`, `time` or `name`."""
    found = list(values)
    for kind, pattern in (("number", r"\d+"), ("time", r"\d{1,2}:\d{2}")):
        if found and 2 * sum(re.fullmatch(pattern, value) is not None for value in found) > len(
            found
        ):
            return kind
    return "name"


def numbers(text: str) -> Iterator[Mention]:
    """Whole numbers in digits, and numerals before a counter."""
    for found in _COUNTED.finditer(text):
        word = found[2] or found[3]
        value = int(found[1]) if found[1] else DIGIT[word]
        yield Mention(*found.span(), str(value), "number")


def times(text: str) -> Iterator[Mention]:
    """Times of day as `HH:MM`."""
    for found in _CLOCK.finditer(text):
        if int(found[1]) < 24 and int(found[2]) < 60:
            yield Mention(*found.span(), f"{int(found[1]):02}:{found[2]}", "time")
    for found in _SPOKEN.finditer(text):
        hour = int(found[2]) if found[2].isdecimal() else DIGIT[found[2]]
        minute = 30 if found[3] else int(found[4]) if found[4] else _minute(found[5] or "")
        if hour > 24 or minute > 59:
            continue
        first, second = _halves(found[1], hour)
        yield Mention(*found.span(), f"{first:02}:{minute:02}", "time")
        if second is not None:
            yield Mention(*found.span(), f"{second:02}:{minute:02}", "other-half")


def _halves(half: str | None, hour: int) -> tuple[int, int | None]:
    """The hour of the day, and the other one it may be where nothing says which half is meant."""
    if half in LATE:
        return (hour + 12 if hour < 12 else hour) % 24, None
    if half in EARLY:
        return hour % 12 if hour == 12 else hour % 24, None
    return hour % 24, (hour + 12) % 24 if hour <= 12 else None


def _minute(words: str) -> int:
    """Minutes in Sino-Korean or Japanese numerals; 0 for none."""
    tens, ten, ones = words.replace("十", "십").partition("십")
    if not ten:
        return _SINO.get(words, 0)
    return 10 * (_SINO.get(tens, 1) if tens else 1) + _SINO.get(ones, 0)


class Names:
    """Finds known names: the longest at each place, by their first character and their lengths."""

    def __init__(self, values: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        lengths: dict[str, set[int]] = defaultdict(set)
        for value in sorted(values):
            key = "".join(plain(value).split())
            if key and self._known.setdefault(key, value) == value:
                lengths[key[0]].add(len(key))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def find(self, text: str) -> Iterator[Mention]:
        """Mentions from left to right, none inside another; `text` is `plain`."""
        places = [i for i, character in enumerate(text) if not character.isspace()]
        letters = "".join(text[i] for i in places)
        at = 0
        while at < len(letters):
            size = next(
                (
                    s
                    for s in self._lengths.get(letters[at], ())
                    if letters[at : at + s] in self._known
                ),
                0,
            )
            if size:
                value = self._known[letters[at : at + size]]
                yield Mention(places[at], places[at + size - 1] + 1, value, "name")
            at += size or 1
