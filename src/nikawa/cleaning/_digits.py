"""Numbers as they are written: any digit and dash to its plain form, character by character."""

from __future__ import annotations

import re

_FROM = "０１２３４５６７８９－‐‑‒–—―−ー（）＋．"
_TABLE = str.maketrans(_FROM, "0123456789" + "-" * 9 + "()+.")
_ANY = re.compile("[0-9０-９]{3}")


def plain_digits(text: str) -> str:
    """The text with plain digits, dashes and brackets, as long as before; empty where no number of three digits is in it."""
    if not _ANY.search(text):
        return ""
    return text if text.isascii() else text.translate(_TABLE)
