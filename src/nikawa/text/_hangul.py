"""Hangul syllables as numbers, and the sound a written word ends in, whatever it is written with."""

from __future__ import annotations

import re
import unicodedata

FIRST, LAST = 0xAC00, 0xD7A3
TAILS = "\0ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"

_DIGITS = dict(zip("0123456789", "ㅇㄹ\0ㅁ\0\0ㄱㄹㄹ\0", strict=True))
_POWERS = {1: "ㅂ", 2: "ㄱ", 3: "ㄴ", 4: "ㄴ", 8: "ㄱ", 12: "\0", 16: "ㅇ"}
"""십 백 천 만 억 조 경: what a number with so many zeros at its end is read with."""
_LETTERS = {"l": "ㄹ", "m": "ㅁ", "n": "ㄴ", "r": "ㄹ"}
"""The letters whose Korean names end in a consonant: 엘 엠 엔 알."""
_UNITS = {
    "%": "\0",
    "℃": "\0",
    "°": "\0",
    "㎞": "\0",
    "㎏": "ㅁ",
    "㎝": "\0",
    "㎜": "\0",
    "㎡": "\0",
    "℉": "\0",
    "$": "\0",
    "€": "\0",
    "km": "\0",
    "cm": "\0",
    "mm": "\0",
    "m": "\0",
    "kg": "ㅁ",
    "g": "ㅁ",
    "mg": "ㅁ",
    "l": "\0",
    "ml": "\0",
    "t": "ㄴ",
}
"""Final sounds of units after a number: 퍼센트, 도, 미터, 그램, 리터, 톤."""
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_CLOSERS = "\"'”’」』》〉)]】〕} \t.,!?…。、"
_BRACKETED = re.compile(r"(?<=\S)\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
_AFTER_NUMBER = re.compile(r"[0-9]\s?([A-Za-z]{1,2}|[^\w\s])$")
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?$")
_WORD = re.compile(r"[A-Za-z]+$")
_STOPPED = re.compile(r"(?:^|[^aeiou])(?:[aeiou]|oo)(?:ck|[bckpt])$")


def is_syllable(character: str) -> bool:
    """Whether it is a composed Hangul syllable."""
    return FIRST <= ord(character) <= LAST


def split(character: str) -> tuple[int, str, str]:
    """A syllable as lead (number), vowel and tail; the tail is NUL where there is none."""
    code = ord(character) - FIRST
    return code // 588, VOWELS[code % 588 // 28], TAILS[code % 28]


def build(lead: int, vowel: str, tail: str = "\0") -> str:
    """The syllable of these parts."""
    return chr(FIRST + lead * 588 + VOWELS.index(vowel) * 28 + TAILS.index(tail))


def with_tail(text: str, tail: str) -> str:
    """The text with the tail of its last syllable replaced."""
    lead, vowel, _ = split(text[-1])
    return text[:-1] + build(lead, vowel, tail)


def final(text: str) -> str | None:
    """The consonant a word ends in as it is read, NUL after a vowel, None where the reading is unknown.

    Closing quotes and brackets do not count; 서울(Seoul) ends as 서울 does; 3 is read 삼, 10 십, L 엘, km 킬로미터.
    """
    text = _core(text)
    if not text:
        return None
    last = text[-1]
    if is_syllable(last):
        return split(last)[2]
    if "ㄱ" <= last <= "ㅎ":
        return "ㄹ" if last == "ㄹ" else "ㄱ"  # the names of the consonants end in one: 기역, 리을
    if "ㅏ" <= last <= "ㅣ":
        return "\0"
    return _foreign(text)


def is_written(text: str) -> bool:
    """Whether the sound a word ends in is written in Hangul, so that nothing has to be guessed."""
    return is_syllable((_core(text) or " ")[-1])


def _core(text: str) -> str:
    text, before = unicodedata.normalize("NFC", text).translate(_HALF_WIDTH), None
    while text != before:
        before = text
        text = _BRACKETED.sub("", text)
        if not _BRACKETED.search(text):
            text = text.rstrip(_CLOSERS)
    return text


def _foreign(text: str) -> str | None:
    unit = _AFTER_NUMBER.search(text)
    if unit and unit[1].lower() in _UNITS:
        return _UNITS[unit[1].lower()]
    if number := _NUMBER.search(text):
        return _number(number[0])
    if word := _WORD.search(text):
        return _latin(word[0])
    return _UNITS.get(text[-1])


def _number(number: str) -> str:
    digits = number.replace(",", "")
    if "." in digits or not digits.strip("0") or not digits.endswith("0"):
        return _DIGITS[digits[-1]]
    zeros = len(digits) - len(digits.rstrip("0"))
    unit = max((power for power in (16, 12, 8, 4) if power <= zeros), default=0) or zeros
    return _POWERS[unit]


def _latin(word: str) -> str:
    """Letters one by one when in capitals; else a guess from English spelling: Seoul ㄹ, Tom ㅁ, book ㄱ, test none."""
    if word.isupper() or len(word) == 1:
        return _LETTERS.get(word[-1].lower(), "\0")
    word = word.lower()
    if re.search(r"(?:l|[^aeiou]le)$", word):
        return "ㄹ"
    if re.search(r"(?:m|[aeiou]me)$", word):
        return "ㅁ"
    if re.search(r"(?:n|ng|[aeiou]ne)$", word):
        return "ㄴ"
    return "ㄱ" if _STOPPED.search(word) else "\0"
