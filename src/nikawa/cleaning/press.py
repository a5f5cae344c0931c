"""What a newsroom adds to its text: datelines, reporters' names, agencies, credits of pictures,
copyright lines.

Only forms that prose does not have: 기자 and 記者 as words of a sentence stay.
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import merge_edits, replace_matches
from nikawa.cleaning.press_ja import PATTERNS as JAPANESE
from nikawa.cleaning.press_ko import PATTERNS as KOREAN

_PATTERNS = {
    language: [(marks, re.compile(pattern, re.MULTILINE)) for marks, pattern in patterns]
    for language, patterns in (("ja", JAPANESE), ("ko", KOREAN))
}
_ALL_MARKS = {
    language: sorted({mark for marks, _ in patterns for mark in marks})
    for language, patterns in _PATTERNS.items()
}


def press(text: str, language: str) -> list[Edit]:
    """Remove what the newsroom added."""
    edits: list[Edit] = []
    present = {mark for mark in _ALL_MARKS[language] if mark in text}
    if not present:
        return edits
    for marks, pattern in _PATTERNS[language]:
        if not present.isdisjoint(marks):
            edits += replace_matches(pattern, text)
    return merge_edits(edits) if edits else edits


STEPS = (Step("press", "reporters, agencies, picture credits, copyright lines", 40, edits=press),)
