"""Brackets with nothing in them, as extraction leaves them: 실복()은, 鴨川（、）は."""

from __future__ import annotations

import re

from nikawa.clean._patterns import removals
from nikawa.clean.base import Edit, Step

_OPENING, _CLOSING = "(（[［{｛【〔「『〈《", ")）]］}｝】〕」』〉》"
_PAIRS = zip(map(re.escape, _OPENING), map(re.escape, _CLOSING), strict=True)
_PATTERN = re.compile("|".join(rf"{opening}[\s,，、;；]*+{closing}" for opening, closing in _PAIRS))


def brackets(text: str, language: str) -> list[Edit]:
    """Remove empty pairs; a pair emptied by that goes in the next round."""
    return removals(_PATTERN, text)


STEPS = (Step("brackets", "empty brackets", 80, edits=brackets),)
