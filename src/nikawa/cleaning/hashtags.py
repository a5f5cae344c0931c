"""Hash tags: #맛집, ＃猫の日. Not C#, #1, a colour (#ff9500), a channel (#sig-docs) or an address's
#part.

Where blanks part words, a tag goes on to the next one. In Japanese it ends where Latin letters do,
and a long run of kana and kanji is not a tag: it is a sentence after a mark.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import replace_matches

_CJK = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BEFORE = rf"(?:(?<![^\s(（\[「『【,.!?。、！？~…\"'”’])|(?<=[{_CJK}]))"
_MARK = r"[#＃](?=_*[^\W\d_])(?!(?:[0-9A-Fa-f]{3}){1,2}(?!\w))"
_LATIN = r"[A-Za-z0-9_]++(?!-\w)"
_MAX_TAG_CHARS = 15


def _compile(word: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE}{_MARK}(?:{word})(?:{_MARK}(?:{word}))*")


_PATTERNS = {
    "ja": _compile(rf"{_LATIN}|(?![A-Za-z0-9_])\w{{1,{_MAX_TAG_CHARS}}}+(?![\w-])"),
    "ko": _compile(r"\w++(?!-\w)"),
}


def hashtags(text: str, language: str) -> list[Edit]:
    """Remove tags with their mark."""
    return replace_matches(_PATTERNS[language], text) if "#" in text or "＃" in text else []


STEPS = (Step("hashtags", "hash tags", 30, edits=hashtags),)
