"""E-mail addresses: hong@example.com, ｈｏｎｇ＠ｅｘａｍｐｌｅ．ｃｏｍ.

Also with Hangul or kana right behind (…com으로).
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import replace_matches, to_half_width

# Bounded and possessive-like: a long run of letters without @ must not be tried from every start.
_PATTERN = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}(?![A-Za-z0-9])"
)


def email(text: str, language: str) -> list[Edit]:
    """Find addresses."""
    if "＠" in text:
        text = to_half_width(text)
    return replace_matches(_PATTERN, text, "<email>") if "@" in text else []


STEPS = (Step("email", "e-mail addresses", 50, edits=email, pii=True),)
