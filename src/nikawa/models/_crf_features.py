"""What a character tagger sees of a character: its neighbours, their scripts, and the word it stands in.

Spaces are no positions of their own: they part words, and an entity that runs over one needs no tag for it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import accumulate

_WORDS = re.compile(r"\S+")
_GRAMS = ((-1, 1), (0, 2), (-2, 1), (-1, 2), (0, 3), (-3, 1), (0, 4))
"""Where the n-grams of characters around a position start and end."""
EDGE = "▁"
PAD = EDGE * 4


def places(text: str) -> list[int]:
    """The positions of a text that carry a tag: all but its spaces."""
    return [i for i, character in enumerate(text) if not character.isspace()]


def features(text: str) -> list[list[str]]:
    """The features of every position that carries a tag, in their order."""
    words = [found.group() for found in _WORDS.finditer(text)]
    shapes = [squeeze(word) for word in words]
    around, scripts = (PAD + EDGE.join(side) + PAD for side in (words, map(_scripts, words)))
    starts = accumulate((len(word) + 1 for word in words), initial=len(PAD))
    found: list[list[str]] = []
    for number, (word, start) in enumerate(zip(words, starts, strict=False)):
        shared = _of_word(words, shapes, number)
        found += [
            [*shared, *_inside(word, i), *_window(around, scripts, start + i)]
            for i in range(len(word))
        ]
    return found


def _of_word(words: list[str], shapes: list[str], number: int) -> list[str]:
    """What all characters of a word share: the word, its neighbours and its end, where particles stand."""
    word = words[number]
    before = words[number - 1] if number else EDGE
    after = words[number + 1] if number + 1 < len(words) else EDGE
    return [
        "bias",
        f"w={word}",
        f"w-={before}",
        f"w+={after}",
        f"s={shapes[number]}",
        f"e1={word[-1]}",
        f"e2={word[-2:]}",
        f"b-={before[-2:]}",
        f"a+={after[:2]}",
        f"ww={before[-1]}|{word[-1]}",
    ]


def _inside(word: str, i: int) -> list[str]:
    """The word up to this character and from it on, and how far both ends are."""
    return [f"l={word[: i + 1]}", f"r={word[i:]}", f"at={min(i, 5)}|{min(len(word) - i, 6)}"]


def _window(around: str, scripts: str, at: int) -> list[str]:
    found = [f"{k}={around[at + k]}" for k in (-3, -2, -1, 0, 1, 2, 3)]
    found += [f"{a}:{b}={around[at + a : at + b]}" for a, b in _GRAMS]
    found += [f"t{k}={scripts[at + k]}" for k in (-2, -1, 0, 1, 2)]
    found += [
        f"t3={scripts[at - 1 : at + 2]}",
        f"t5={scripts[at - 2 : at + 3]}",
        f"ct={around[at]}{scripts[at + 1]}",
    ]
    return found


def _scripts(word: str) -> str:
    return "".join(map(script, word))


def squeeze(word: str) -> str:
    """The scripts of a word, each run once: `HDH` of a number between Hangul."""
    shape = _scripts(word)
    return "".join(a for a, b in zip(shape, " " + shape, strict=False) if a != b)


@cache
def script(character: str) -> str:
    """One letter for the kind of a character: its script for letters, else digit, mark or symbol."""
    name = unicodedata.name(character, "")
    for word, letter in _SCRIPTS:
        if name.startswith(word):
            return letter
    return unicodedata.category(character)[0].lower()


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
