"""Sentences with too much of another script.

KLUE drops a Korean sentence with more than 10 Chinese or Japanese characters; here a Japanese one with as many Hangul
syllables goes too, one that is Chinese (many kanji, no kana), and any whose letters are mostly foreign.
"""

from __future__ import annotations

import re

from nikawa.clean.base import Settings, Step

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\uff66-\uff9d"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_OWN = {"ja": re.compile(f"[{_HAN}{_KANA}]"), "ko": re.compile(f"[{_HANGUL}]")}
_OTHER = {
    "ja": (re.compile(f"[{_HANGUL}]"), "Hangul"),
    "ko": (re.compile(f"[{_HAN}{_KANA}]"), "Chinese or Japanese"),
}
_STAND_IN = re.compile(r"<(?:email|url|mention|phone|identity)>")
_LETTER = re.compile(r"[^\W\d_]")
_ANY_KANA = re.compile(f"[{_KANA}]")
CHINESE = 20
"""Letters of a Japanese text without kana from which it is taken for Chinese."""


def script(text: str, settings: Settings) -> str:
    """Why the sentence is not in the language, or nothing."""
    text = _STAND_IN.sub("", text)
    other, name = _OTHER[settings.language]
    count = len(other.findall(text))
    if count > settings.max_other:
        return f"{count} {name} characters"
    letters, own = len(_LETTER.findall(text)), len(_OWN[settings.language].findall(text))
    if own < settings.min_own * letters or not letters:
        return f"{own} of {letters} letters are of the language"
    if settings.language == "ja" and own >= CHINESE and not _ANY_KANA.search(text):
        return f"{own} kanji without kana"
    return ""


STEPS = (Step("script", "too much other script", 110, fault=script),)
