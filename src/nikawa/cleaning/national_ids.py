"""Numbers a state gave a person: the Korean 주민등록번호 and the Japanese My Number.

A Korean number needs a possible date and, written without its dash, the right check digit (those
given since October 2020 have none). A My Number needs its check digit: one in eleven of other
twelve-digit numbers has it too.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import to_plain_digits

_KOREAN = re.compile(
    r"(?<![\d.,-])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?: ?- ?|)[1-8]\d{6}(?![\d-])"
)
_JAPANESE = re.compile(r"(?<![\d.,-])\d{4}([- ]?)\d{4}\1\d{4}(?![\d-]|[.,]\d)")
_NO_DIGIT = re.compile(r"\D")
_KOREAN_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
_JAPANESE_WEIGHTS = (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)


def korean_check(digits: str) -> int:
    """The thirteenth digit that belongs to the first twelve."""
    return (11 - _weighted_sum(digits, _KOREAN_WEIGHTS) % 11) % 10


def japanese_check(digits: str) -> int:
    """The twelfth digit that belongs to the first eleven (Ordinance No. 85 of 2014 of the Ministry
    of Internal Affairs).
    """
    rest = _weighted_sum(digits, _JAPANESE_WEIGHTS) % 11
    return 0 if rest <= 1 else 11 - rest


def _weighted_sum(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def identity(text: str, language: str) -> list[Edit]:
    """Find numbers of persons; both countries' in either language."""
    plain = to_plain_digits(text)
    if not plain:
        return []
    spans = []
    for match in _KOREAN.finditer(plain):
        digits = _NO_DIGIT.sub("", match.group())
        if "-" in match.group() or korean_check(digits) == int(digits[12]):
            spans.append(match.span())
    for match in _JAPANESE.finditer(plain):
        digits = _NO_DIGIT.sub("", match.group())
        if len(set(digits)) > 1 and japanese_check(digits) == int(digits[11]):
            spans.append(match.span())
    return [(start, end, "<identity>") for start, end in sorted(spans)]


STEPS = (Step("identity", "resident and My Numbers", 54, edits=identity, pii=True),)
