"""Hangul written otherwise: as compatibility jamo (ㅇㅕㅇㅜ), or decomposed as some file systems store
it (NFD).

Both can be read back without doubt: every syllable starts with one consonant before its vowel.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import product

from nikawa.perturbation._surface import surface_perturbation
from nikawa.text import Analyser
from nikawa.text.conjugation_ko import FIRST_SYLLABLE, TAILS, VOWELS

_SYLLABLES = re.compile("[가-힣]+")
_LEADS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"


@cache
def compatibility_table() -> dict[int, str]:
    """The code of every syllable to its compatibility jamo."""
    tails = [tail.strip("\0") for tail in TAILS]
    jamo = map("".join, product(_LEADS, VOWELS, tails))
    return dict(enumerate(jamo, start=FIRST_SYLLABLE))


def write_compatibility_jamo(text: str, _: Analyser) -> str:
    """The text with every syllable as compatibility jamo.

    >>> write_compatibility_jamo("여우", None)
    'ㅇㅕㅇㅜ'
    """
    return text.translate(compatibility_table())


def decompose(text: str, _: Analyser) -> str:
    """The text with every syllable in NFD."""
    return _SYLLABLES.sub(lambda match: unicodedata.normalize("NFD", match[0]), text)


PERTURBATIONS = (
    surface_perturbation(
        "jamo-compatibility",
        "ko",
        "write every syllable as compatibility jamo (ㅇㅕㅇㅜ)",
        write_compatibility_jamo,
    ),
    surface_perturbation(
        "jamo-nfd", "ko", "decompose every syllable (NFD); it looks the same", decompose
    ),
)
