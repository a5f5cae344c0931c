"""Brackets with nothing in them, as extraction leaves them: 실복()은, 鴨川（、）は."""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step

_OPENING, _CLOSING = "(（[［{｛【〔「『〈《", ")）]］}｝】〕」』〉》"
_PARTNER = dict(zip(_CLOSING, _OPENING, strict=True))
_EMPTY = re.compile(
    "|".join(rf"{re.escape(o)}[\s,，、;；]*+{re.escape(c)}" for c, o in _PARTNER.items())
)
_TOKEN = re.compile(
    rf"[{re.escape(_OPENING)}]|[{re.escape(_CLOSING)}]|[^\s,，、;；{re.escape(_OPENING + _CLOSING)}]+"
)


def brackets(text: str, language: str) -> list[Edit]:
    """Remove empty pairs, and with them those that hold nothing but empty pairs."""
    edits: list[Edit] = []
    if not _EMPTY.search(text):
        return edits
    openings: list[int] = []
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in _OPENING:
            openings.append(token.start())
        elif openings and _PARTNER.get(mark) == text[openings[-1]]:
            start = openings.pop()
            while edits and edits[-1][0] > start:
                edits.pop()
            edits.append((start, token.end(), ""))
        else:
            openings.clear()
    return edits


STEPS = (Step("brackets", "empty brackets", 80, edits=brackets),)
