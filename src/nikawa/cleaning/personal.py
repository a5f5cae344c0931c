"""Personal data in texts that are about to leave this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nikawa.cleaning import steps
from nikawa.cleaning.engine import Passage
from nikawa.cleaning.invisible import invisible

_SELECTORS = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Characters that change how the one before looks, if anything: cleaning keeps them."""


def find_personal_data(texts: Iterable[str], language: str) -> tuple[str, ...]:
    """The kinds of personal data that the cleaning steps find: `email`, `phone`, `identity`, …

    Invisible characters hide none: each text is also searched without them, as a reader sees it.

    >>> find_personal_data(["連絡先は hong@example.com です。", "晴れです。"], "ja")
    ('email',)
    >>> find_personal_data(["電話は 090-12\\u200b34-5678 です。"], "ja")
    ('phone',)
    """
    detectors = [step for step in steps().values() if step.pii and step.edits is not None]
    kinds = {
        step.name: None
        for text in texts
        for shown in dict.fromkeys((text, remove_invisible(text, language)))
        for step in detectors
        if step.edits is not None and step.edits(shown, language)
    }
    return tuple(kinds)


def remove_invisible(text: str, language: str) -> str:
    """A text without the characters that a reader does not see."""
    edits = invisible(text, language)
    shown = Passage(text).apply(edits).text if edits else text
    return shown if shown.isascii() else _SELECTORS.sub("", shown)
