"""Width: letters, digits, signs and katakana to their full-width or half-width twins. Spaces and quotes stay.

The yen sign and the quotes are left alone: their twins in the old tables (backslash, ”) are other characters.
"""

from __future__ import annotations

import re
import unicodedata

from nikawa.perturbation._surface import surface_perturbation
from nikawa.text import Analyser, normalise

_LEFT_ALONE = "\"'\\` \u3000"
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F) if chr(code) not in _LEFT_ALONE}
_NARROW: dict[int, int | str] = {wide: narrow for narrow, wide in _WIDE.items()}
_NARROW |= {
    code: narrow
    for code in (*range(0x3001, 0x3003), 0x300C, 0x300D, *range(0x30A1, 0x30FD))
    if (narrow := normalise(chr(code), "halfwidth")) != chr(code)
}
_NARROW_KANA = re.compile("[\uff61-\uff9f]+")


def _full(text: str, _: Analyser) -> str:
    text = _NARROW_KANA.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return text.translate(_WIDE)


def _half(text: str, _: Analyser) -> str:
    return text.translate(_NARROW)


PERTURBATIONS = (
    surface_perturbation(
        "width-full", "", "write letters, digits, signs and katakana full-width", _full
    ),
    surface_perturbation(
        "width-half", "", "write letters, digits, signs and katakana half-width", _half
    ),
)
