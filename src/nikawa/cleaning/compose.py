"""Hangul and kana that were written in parts, as characters again (see `nikawa.text.compose`)."""

from __future__ import annotations

from nikawa.cleaning.base import Edit, Step
from nikawa.text.compose import find_compositions


def compose(text: str, language: str) -> list[Edit]:
    """Put letters together; what makes no single character stays."""
    return list(find_compositions(text))


STEPS = (Step("compose", "Hangul and kana written in parts (NFD)", 12, edits=compose),)
