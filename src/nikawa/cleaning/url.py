"""Web addresses: https://…, www.…, and bare names of sites with a well-known ending
(example.co.kr/news).
"""

from __future__ import annotations

import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import replace_matches, to_half_width

_CHARACTER = r"[A-Za-z0-9\-._~:/?#\[\]@!$&'*+,;=%]"
_LAST = r"[A-Za-z0-9\-_~/#@$&*+=%]"
_ENDINGS = r"(?:com|net|org|edu|gov|info|co\.kr|or\.kr|go\.kr|ac\.kr|re\.kr|pe\.kr|ne\.kr|co\.jp|or\.jp|go\.jp|ac\.jp|ne\.jp|gr\.jp|lg\.jp|ed\.jp)"
_SHORT = r"(?:kr|jp|me|be|ly|gl|gd|tv|io)"
"""Endings that are taken only with a path behind them: bit.ly/3abc."""
_PATTERN = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?i:https?|ftp|ttps?)://|(?i:www)\.){_CHARACTER}*{_LAST}"
    # Endings in small letters only: ASP.NET is no site.
    rf"|(?<![A-Za-z0-9@＠._-])[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{0,3}}\.(?:{_ENDINGS}(?![A-Za-z0-9-]|\.[A-Za-z])|{_SHORT}(?=/[A-Za-z0-9]))"
    rf"(?:/{_CHARACTER}*{_LAST})?/?"
)


def url(text: str, language: str) -> list[Edit]:
    """Find addresses."""
    if "．" in text or "：／／" in text:
        text = to_half_width(text)
    return replace_matches(_PATTERN, text, "<url>") if "." in text or "://" in text else []


STEPS = (Step("url", "web addresses", 51, edits=url, pii=True),)
