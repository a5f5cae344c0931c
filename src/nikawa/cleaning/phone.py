"""Telephone numbers of Korea and Japan, with dashes, brackets, blanks or the country's prefix.

A number must begin with 0, + or a service prefix and have as many digits as such numbers have, so that years
(1592-1598), dates (2021-03-04) and scores stay.
"""

from __future__ import annotations

import re

from nikawa.cleaning._digits import plain_digits
from nikawa.cleaning.base import Edit, Step

_EDGE, _AFTER = r"(?<![\d.,-])", r"(?![\d-]|[.,]\d)"
_KOREAN = re.compile(
    rf"{_EDGE}(?:"
    r"(?:\(?\+?82\)?[-. ]?\(?0?\)?|0)1[016789][-. ]?\d{3,4}[-. ]?\d{4}"  # mobile
    r"|(?:\(?\+82\)?[-. ]?\(?0?\)?|\(?0)(?:2|[3-6][1-5]|70|50\d)(?:\)?[-. ]?\d{3,4}[-.]| \d{3,4} )\d{4}"  # by area
    r"|080[-.]\d{3,4}[-.]\d{4}"
    r"|(?<![제第])(?:1544|1566|1577|1588|1599|1600|1644|1661|1666|1670|1688|1800|1811|1833|1855|1877|1899)-\d{4}"
    rf"){_AFTER}"
)
_JAPANESE = re.compile(
    rf"{_EDGE}(?:"
    r"(?:\(?\+81\)?[-. ]?\(?0?\)?|0)[789]0[-. ]?\d{4}[-. ]?\d{4}"  # mobile
    r"|0120[- ]?\d{3}[- ]?\d{3}|0800[- ]\d{3}[- ]\d{4}|0570[- ]\d{3}[- ]\d{3}"
    r"|(?:\(?\+81\)?[- ]|\(?0)(?=[\d() -]{9,13}(?!\d))(?:\d{1,4}(?:\)|[- (])\d{1,4}(?:\)|-)|(?:[36]|[1-9]\d{1,3}) \d{3,4} )\d{4}"
    rf"){_AFTER}"
)
_DIGITS = re.compile(r"\D")
_YEARS = re.compile(r"(1\d{3})-(1\d{3}|20\d\d)")


def phone(text: str, language: str) -> list[Edit]:
    """Find numbers; both countries' in either language."""
    plain = plain_digits(text)
    if not plain:
        return []
    found = {m.span() for m in _KOREAN.finditer(plain) if not _years(m.group())}
    found |= {
        m.span() for m in _JAPANESE.finditer(plain) if 9 <= len(_DIGITS.sub("", m.group())) <= 13
    }
    edits: list[Edit] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if not edits or start >= edits[-1][1]:
            edits.append((start, end, "<phone>"))
    return edits


def _years(number: str) -> bool:
    """Whether a number of a service is rather a stretch of years: 1588-1598, but not 1588-1588."""
    found = _YEARS.fullmatch(number)
    return found is not None and found[1] < found[2]


STEPS = (Step("phone", "telephone numbers", 53, edits=phone, pii=True),)
