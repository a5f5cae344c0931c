"""Scripts that a text may have to be written in."""

from __future__ import annotations

import re
from typing import Literal

Script = Literal[
    "japanese",
    "korean",
    "any",
    "arabic",
    "cyrillic",
    "devanagari",
    "greek",
    "han",
    "hebrew",
    "latin",
    "thai",
]
SCRIPTS: dict[str, re.Pattern[str]] = {
    "japanese": re.compile("[ぁ-んァ-ヶ]"),
    "korean": re.compile("[가-힣]"),
    "any": re.compile(r"\w"),
    "arabic": re.compile("[\u0620-\u064a]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "devanagari": re.compile("[\u0904-\u0939]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "han": re.compile("[\u4e00-\u9fff]"),
    "hebrew": re.compile("[\u05d0-\u05ea]"),
    "latin": re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    "thai": re.compile("[\u0e01-\u0e30]"),
}
OWN_WORDS = ("japanese", "korean", "any")
"""Scripts whose absence has words of its own."""


def name_script_fault(script: str) -> str:
    """The message for a text without a letter of a script."""
    return f"not_{script}" if script in OWN_WORDS else "not_script"
