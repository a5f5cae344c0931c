"""Telephone numbers of Korea and Japan, with dashes, brackets, blanks or the country's prefix.

A number must begin with 0, + or a service prefix and have as many digits as such numbers have, so
that years (1592-1598), dates (2021-03-04) and scores stay.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import merge_edits, to_plain_digits

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
_NO_DIGIT = re.compile(r"\D")
_YEARS = re.compile(r"(1\d{3})-(1\d{3}|20\d\d)")


def phone(text: str, language: str) -> list[Edit]:
    """Find numbers; both countries' in either language."""
    plain = to_plain_digits(text)
    if not plain:
        return []
    edits: set[Edit] = set()
    for match in _KOREAN.finditer(plain):
        years = _YEARS.fullmatch(match.group())
        # 1588-1598 is rather a stretch of years than a service, 1588-1588 is not
        if years is None or years[1] >= years[2]:
            edits.add((*match.span(), "<phone>"))
    for match in _JAPANESE.finditer(plain):
        if 9 <= len(_NO_DIGIT.sub("", match.group())) <= 13:
            edits.add((*match.span(), "<phone>"))
    return merge_edits(list(edits))


STEPS = (Step("phone", "telephone numbers", 53, edits=phone, pii=True),)
