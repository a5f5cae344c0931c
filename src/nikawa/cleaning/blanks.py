"""Runs of white space: one space, or one line break where there was one; none at the ends."""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step

_PATTERN = re.compile(r"\s{2,}|[^\S \n]|^\s|\s$")


def blanks(text: str, language: str) -> list[Edit]:
    """Make every run of white space one."""
    edits: list[Edit] = []
    if text == " ".join(text.split()):
        return edits
    for found in _PATTERN.finditer(text):
        inside = found.start() > 0 and found.end() < len(text)
        new = ("\n" if "\n" in found.group() else " ") if inside else ""
        edits.append((found.start(), found.end(), new))
    return edits


STEPS = (Step("blanks", "repeated and odd blanks", 15, edits=blanks),)
