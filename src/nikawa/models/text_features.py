"""What several baselines see of a text: n-grams of its characters, and their scripts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache

_SCRIPTS = (
    ("HANGUL SYLLABLE", "H"),
    ("HANGUL", "J"),
    ("CJK UNIFIED", "K"),
    ("HIRAGANA", "R"),
    ("KATAKANA", "T"),
    ("LATIN CAPITAL", "A"),
    ("LATIN SMALL", "a"),
    ("FULLWIDTH LATIN", "A"),
    ("FULLWIDTH DIGIT", "n"),
)
"""How the Unicode name of a character begins, and the letter for its script."""


def char_ngrams(text: str, shortest: int, longest: int) -> Iterator[str]:
    """All n-grams of `shortest` to `longest` characters, the short ones first.

    >>> list(char_ngrams("あいう", 2, 3))
    ['あい', 'いう', 'あいう']
    """
    for size in range(shortest, longest + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]


@cache
def script_of(character: str) -> str:
    """One letter for the kind of a character: its script for letters, else digit, mark or symbol."""
    name = unicodedata.name(character, "")
    for prefix, letter in _SCRIPTS:
        if name.startswith(prefix):
            return letter
    return unicodedata.category(character)[0].lower()


def script_shape(word: str) -> str:
    """The scripts of a word, each run once.

    >>> script_shape("제12회")
    'HnH'
    """
    shape = "".join(map(script_of, word))
    return "".join(a for a, b in zip(shape, " " + shape, strict=False) if a != b)
