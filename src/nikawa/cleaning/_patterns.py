"""Edits from regular expressions."""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit

_NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}


def narrow(text: str) -> str:
    """The text with full-width ASCII made plain, as long as before."""
    return text.translate(_NARROW)


def removals(pattern: re.Pattern[str], text: str, new: str = "") -> list[Edit]:
    """Each match replaced by `new`; empty matches do nothing."""
    return [(m.start(), m.end(), new) for m in pattern.finditer(text) if m.end() > m.start()]


def merged(edits: list[Edit]) -> list[Edit]:
    """Edits of several patterns in order, those dropped that overlap one before."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept
