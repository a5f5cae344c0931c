"""What steps share that go by regular expressions: edits from matches, and plain forms of letters
and digits.

A plain form is as long as the text, so that a place in it is the same place in the text.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit

_HALF_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_PLAIN_DIGITS = str.maketrans(
    "０１２３４５６７８９－‐‑‒–—―−ー（）＋．", "0123456789" + "-" * 9 + "()+."
)
_THREE_DIGITS = re.compile("[0-9０-９]{3}")


def replace_matches(pattern: re.Pattern[str], text: str, new: str = "") -> list[Edit]:
    """Edits that replace each match by `new`; empty matches do nothing."""
    return [(m.start(), m.end(), new) for m in pattern.finditer(text) if m.end() > m.start()]


def merge_edits(edits: list[Edit]) -> list[Edit]:
    """Edits of several patterns in order, those dropped that overlap one before."""
    merged: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not merged or edit[0] >= merged[-1][1]:
            merged.append(edit)
    return merged


def to_half_width(text: str) -> str:
    """The text with full-width ASCII made plain."""
    return text.translate(_HALF_WIDTH)


def to_plain_digits(text: str) -> str:
    """The text with plain digits, dashes and brackets.

    Empty where no number of three digits is in it.
    """
    if not _THREE_DIGITS.search(text):
        return ""
    return text if text.isascii() else text.translate(_PLAIN_DIGITS)
