"""Markup of pages and pictures: everything that is shown passes through here, so that text stays text."""

from __future__ import annotations

import re
from html import escape

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(value: object) -> str:
    """Text for a page, with a replacement character for each that XML cannot hold."""
    return escape(_FORBIDDEN.sub("\ufffd", str(value)))
