"""Hash tags: #맛집, ＃猫の日. Not C#, not an address's #part, not #1 or #3위."""

from __future__ import annotations

import re

from nikawa.clean._patterns import removals
from nikawa.clean.base import Edit, Step

_CJK = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_PATTERN = re.compile(
    rf"(?:(?<![^\s(（\[「『【,.!?。、！？~…\"'”’{_CJK}])|(?<=[{_CJK}]))[#＃](?=_*[^\W\d_])\w+(?:[#＃](?=_*[^\W\d_])\w+)*"
)


def hashtags(text: str, language: str) -> list[Edit]:
    """Remove tags with their mark."""
    return removals(_PATTERN, text) if "#" in text or "＃" in text else []


STEPS = (Step("hashtags", "hash tags", 30, edits=hashtags),)
