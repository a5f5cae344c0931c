"""Hangul written otherwise: as compatibility jamo (ㅇㅕㅇㅜ), or decomposed as some file systems store it (NFD).

Both can be read back without doubt: every syllable starts with one consonant before its vowel.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from nikawa.perturbation._surface import surface_perturbation
from nikawa.text import Analyser

_SYLLABLES = re.compile("[가-힣]+")
_LEADS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_TAILS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")


@cache
def compatibility_table() -> dict[int, str]:
    """The code of every syllable to its compatibility jamo."""
    jamo = (lead + vowel + tail for lead in _LEADS for vowel in _VOWELS for tail in _TAILS)
    return dict(enumerate(jamo, start=0xAC00))


def write_compatibility_jamo(text: str, _: Analyser) -> str:
    """The text with every syllable as compatibility jamo."""
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
