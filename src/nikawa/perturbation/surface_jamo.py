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
def _table() -> dict[int, str]:
    parts = (lead + vowel + tail for lead in _LEADS for vowel in _VOWELS for tail in _TAILS)
    return dict(enumerate(parts, start=0xAC00))


def _compatibility(text: str, _: Analyser) -> str:
    return text.translate(_table())


def _decomposed(text: str, _: Analyser) -> str:
    return _SYLLABLES.sub(lambda found: unicodedata.normalize("NFD", found[0]), text)


PERTURBATIONS = (
    surface_perturbation(
        "jamo-compatibility",
        "ko",
        "write every syllable as compatibility jamo (ㅇㅕㅇㅜ)",
        _compatibility,
    ),
    surface_perturbation(
        "jamo-nfd", "ko", "decompose every syllable (NFD); it looks the same", _decomposed
    ),
)
