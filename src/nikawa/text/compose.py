"""Hangul and kana that were written in pieces (NFD, as macOS writes file names): every syllable one character again.

Only these two are composed: full NFC would also replace kanji that Unicode calls compatible, such as those of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

_PIECE = re.compile("[\u1161-\u1175\u11a8-\u11c2\u3099\u309a]")
"""What follows the first piece of a character; most texts hold none."""
_PIECES = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]|[\u3041-\u30fe][\u3099\u309a]"
)
"""Letters of a syllable, a syllable and its final, kana and its mark."""


def find_compositions(text: str) -> Iterator[tuple[int, int, str]]:
    """(Start, end, the one character) of pieces that make one; か and a half-voiced mark make none."""
    for found in _PIECES.finditer(text) if _PIECE.search(text) else ():
        whole = normalize("NFC", found[0])
        if len(whole) == 1:
            yield found.start(), found.end(), whole


def compose_text(text: str) -> str:
    """The text with its Hangul and kana composed."""
    if not _PIECE.search(text):
        return text
    return _PIECES.sub(lambda found: normalize("NFC", found[0]), text)
