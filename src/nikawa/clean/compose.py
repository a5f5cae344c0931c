"""Hangul and kana that were written in parts (NFD, as macOS writes file names): every syllable one character again.

Only these two are composed: full NFC would also replace kanji that Unicode calls compatible, such as those of names.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from nikawa.clean.base import Edit, Step

_PART = re.compile("[\u1161-\u1175\u11a8-\u11c2\u3099\u309a]")
_WHOLE = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]|[\u3041-\u30fe][\u3099\u309a]"
)


def composed(text: str) -> str:
    """The text with its Hangul and kana composed."""
    return _WHOLE.sub(lambda found: normalize("NFC", found[0]), text) if _PART.search(text) else text


def compose(text: str, language: str) -> list[Edit]:
    """Put letters together; what makes no single character (か and a half-voiced mark) stays."""
    if not _PART.search(text):
        return []
    found = ((part.start(), part.end(), normalize("NFC", part[0])) for part in _WHOLE.finditer(text))
    return [edit for edit in found if len(edit[2]) == 1]


STEPS = (Step("compose", "Hangul and kana written in parts (NFD)", 12, edits=compose),)
