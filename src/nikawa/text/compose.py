"""Hangul and kana that were written in parts (NFD, as macOS writes file names): every syllable one
character again.

Only these two are composed: full NFC would also replace kanji that Unicode calls compatible, such
as those of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

_LATER_PART = re.compile("[\u1161-\u1175\u11a8-\u11c2\u3099\u309a]")
"""What follows the first part of a character; most texts hold none."""
_PARTS = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]|[\u3041-\u30fe][\u3099\u309a]"
)
"""Letters of a syllable, a syllable and its final, kana and its mark."""


def find_compositions(text: str) -> Iterator[tuple[int, int, str]]:
    """(Start, end, the one character) of parts that make one.

    か and a half-voiced mark do not make one.
    """
    if not _LATER_PART.search(text):
        return
    for parts in _PARTS.finditer(text):
        whole = normalize("NFC", parts[0])
        if len(whole) == 1:
            yield parts.start(), parts.end(), whole


def compose_text(text: str) -> str:
    """The text with its Hangul and kana composed.

    >>> compose_text("\u304b\u3099")
    'が'
    """
    if not _LATER_PART.search(text):
        return text
    return _PARTS.sub(lambda parts: normalize("NFC", parts[0]), text)
