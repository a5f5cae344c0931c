"""Placeholders of personal data as pieces of a vocabulary: [EMAIL], [URL], [MENTION], [PHONE], [ID]."""

from __future__ import annotations

import re

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The pieces a model of the BERT family steers by, in the order of their numbers."""
STAND_INS = {
    "<email>": "[EMAIL]",
    "<url>": "[URL]",
    "<mention>": "[MENTION]",
    "<phone>": "[PHONE]",
    "<identity>": "[ID]",
}
"""What cleaning leaves in the place of personal data, and the piece that stands for it."""
PLACEHOLDERS = tuple(STAND_INS.values())
RESERVED = (*SPECIALS, *PLACEHOLDERS)

_RESERVED = re.compile("|".join(map(re.escape, RESERVED)))
_STAND_IN = re.compile("|".join(map(re.escape, STAND_INS)))


def guarded(text: str) -> str:
    """The text with reserved words it happens to hold in small letters: a page about [MASK] must not mask anything."""
    return _RESERVED.sub(lambda found: found.group().lower(), text) if "[" in text else text


def with_placeholders(text: str) -> str:
    """The stand-ins of cleaning as pieces of the vocabulary."""
    return _STAND_IN.sub(lambda found: STAND_INS[found.group()], text) if "<" in text else text
