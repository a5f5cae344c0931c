"""What a newsroom adds to its text: datelines, reporters' names, agencies, credits of pictures, copyright lines.

Only forms that prose does not have: 기자 and 記者 as words of a sentence stay.
"""

from __future__ import annotations

from nikawa.cleaning._patterns import merged, removals
from nikawa.cleaning._press_ja import PATTERNS as JAPANESE
from nikawa.cleaning._press_ko import PATTERNS as KOREAN
from nikawa.cleaning.base import Edit, Step

_PATTERNS = {"ja": JAPANESE, "ko": KOREAN}
_MARKS = {
    language: sorted({mark for marks, _ in patterns for mark in marks})
    for language, patterns in _PATTERNS.items()
}


def press(text: str, language: str) -> list[Edit]:
    """Remove what the newsroom added."""
    edits: list[Edit] = []
    there = {mark for mark in _MARKS[language] if mark in text}
    if not there:
        return edits
    for marks, pattern in _PATTERNS[language]:
        if not there.isdisjoint(marks):
            edits += removals(pattern, text)
    return merged(edits) if edits else edits


STEPS = (Step("press", "reporters, agencies, picture credits, copyright lines", 40, edits=press),)
