"""Invisible characters: zero-width ones, byte order marks, direction marks, soft hyphens,
controls.

The joiner inside an emoji (👩‍🚀) stays, and so do variation selectors, which choose between forms of
a kanji.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import replace_matches

_UNSEEN = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0001-\U000e001f"
)
_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_PATTERN = re.compile(f"[{_UNSEEN}]+|\u200d(?:(?<![{_EMOJI}]\u200d)|(?![{_EMOJI}]))")


def invisible(text: str, language: str) -> list[Edit]:
    """Remove characters that take no room."""
    if (
        text.isprintable() and "\u3164" not in text and "\uffa0" not in text
    ):  # the fillers count as letters
        return []
    return replace_matches(_PATTERN, text)


STEPS = (Step("invisible", "zero-width, BOM and control characters", 10, edits=invisible),)
