"""Users addressed by name: @gildong, ＠hanako. Not an address's @, not "@ 3,000원"."""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import replace_matches

_PATTERN = re.compile(r"(?<![A-Za-z0-9._%+@＠-])[@＠](?=_*[^\W\d_])\w(?:[\w.-]{0,62}\w)?")


def mention(text: str, language: str) -> list[Edit]:
    """Find mentions."""
    return replace_matches(_PATTERN, text, "<mention>") if "@" in text or "＠" in text else []


STEPS = (Step("mention", "mentions of users", 52, edits=mention, pii=True),)
