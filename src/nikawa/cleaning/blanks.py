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
    for match in _PATTERN.finditer(text):
        if match.start() == 0 or match.end() == len(text):
            new = ""
        else:
            new = "\n" if "\n" in match.group() else " "
        edits.append((match.start(), match.end(), new))
    return edits


STEPS = (Step("blanks", "repeated and odd blanks", 15, edits=blanks),)
