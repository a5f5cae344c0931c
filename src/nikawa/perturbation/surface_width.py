"""Width: letters, digits, signs and katakana to their full-width or half-width twins.

Spaces and quotes stay. The yen sign and the quotes are left alone: their twins in the old tables
(backslash, ”) are other characters.
"""

from __future__ import annotations

import re
import unicodedata

from nikawa.perturbation._surface import surface_perturbation
from nikawa.text import Analyser, normalise

_LEFT_ALONE = "\"'\\` \u3000"
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F) if chr(code) not in _LEFT_ALONE}
_NARROW: dict[int, int | str] = {wide: narrow for narrow, wide in _WIDE.items()}
_KATAKANA_AND_SIGNS = (0x3001, 0x3002, 0x300C, 0x300D, *range(0x30A1, 0x30FD))
_NARROW |= {code: normalise(chr(code), "halfwidth") for code in _KATAKANA_AND_SIGNS}
_NARROW_KANA = re.compile("[\uff61-\uff9f]+")


def write_full_width(text: str, _: Analyser) -> str:
    """The text in full width.

    >>> write_full_width("A-1 ｶﾞｽ", None)
    'Ａ－１ ガス'
    """
    text = _NARROW_KANA.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return text.translate(_WIDE)


def write_half_width(text: str, _: Analyser) -> str:
    """The text in half width.

    >>> write_half_width("Ａ－１ ガス", None)
    'A-1 ｶﾞｽ'
    """
    return text.translate(_NARROW)


PERTURBATIONS = (
    surface_perturbation(
        "width-full",
        "",
        "write letters, digits, signs and katakana full-width",
        write_full_width,
    ),
    surface_perturbation(
        "width-half",
        "",
        "write letters, digits, signs and katakana half-width",
        write_half_width,
    ),
)
