"""Sentences with too much of another script.

KLUE drops a Korean sentence with more than 10 Chinese or Japanese characters; here a Japanese one
with as many Hangul syllables goes too, one that is Chinese (many kanji, no kana), and any whose
letters are mostly foreign.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Settings, Step

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\uff66-\uff9d"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_SCRIPTS = {"ja": f"{_HAN}{_KANA}", "ko": _HANGUL}
_OWN = {language: re.compile(f"[{own}]") for language, own in _SCRIPTS.items()}
_FOREIGN = {language: re.compile(rf"[^\W\d_{own}]") for language, own in _SCRIPTS.items()}
"""Letters of any other script: few in most sentences, so that counting them is cheap."""
_OTHER = {
    "ja": (re.compile(f"[{_HANGUL}]"), "Hangul"),
    "ko": (re.compile(f"[{_HAN}{_KANA}]"), "Chinese or Japanese"),
}
_STAND_IN = re.compile(r"<(?:email|url|mention|phone|identity)>")
_ANY_KANA = re.compile(f"[{_KANA}]")
MIN_CHINESE_LETTERS = 20
"""Letters of a Japanese text without kana from which it is taken for Chinese."""


def script(text: str, settings: Settings) -> str:
    """Why the sentence is not in the language, or nothing."""
    text = _STAND_IN.sub("", text) if "<" in text else text
    other, name = _OTHER[settings.language]
    foreign = len(_FOREIGN[settings.language].findall(text))
    if foreign and (count := len(other.findall(text))) > settings.max_other:
        return f"{count} {name} characters"
    pattern = _OWN[settings.language]
    # without foreign letters it does not matter how many there are
    own = len(pattern.findall(text)) if foreign else int(pattern.search(text) is not None)
    if own < settings.min_own * (own + foreign) or not own + foreign:
        return f"{own} of {own + foreign} letters are of the language"
    if settings.language == "ja" and not _ANY_KANA.search(text):
        kanji = len(pattern.findall(text))
        if kanji >= MIN_CHINESE_LETTERS:
            return f"{kanji} kanji without kana"
    return ""


STEPS = (Step("script", "too much other script", 110, fault=script),)
