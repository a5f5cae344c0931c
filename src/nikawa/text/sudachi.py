"""Japanese by Sudachi: mode C (the longest units) and mode A (the shortest)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from nikawa.text.engine import require
from nikawa.text.protocol import Engine, Token

EXTRA = "ja-sudachi"
MAX_WORDS_KEPT = 1 << 16
"""Words whose entries are kept; beyond it all are forgotten."""
_Word = tuple[str, tuple[str, ...], str, str, str, str]
"""Base, tags, reading, conjugation class, conjugation form, normal form."""
_ASCII_SPACE = " \t\n\r\x0b\x0c"


def load_sudachi() -> Engine:
    """Sudachi with the core dictionary, mode C."""
    return _sudachi("C")


def load_sudachi_a() -> Engine:
    """Sudachi with the core dictionary, mode A."""
    return _sudachi("A")


@cache
def load_dictionary() -> Any:
    """Sudachi's core dictionary, which both modes share."""
    package = require("sudachipy", EXTRA)
    require("sudachidict_core", EXTRA)
    return package.Dictionary(dict="core")


def _sudachi(mode: str) -> Engine:
    dictionary = load_dictionary()
    package = require("sudachipy", EXTRA)
    tokenizer = dictionary.create(mode=getattr(package.SplitMode, mode))
    error = require("sudachipy.errors", EXTRA).SudachiError
    known: dict[int, _Word] = {}

    def analyse(text: str, offset: int = 0) -> list[Token]:
        try:
            morphemes = tokenizer.tokenize(text)
        except error:
            # A few characters grow eighteenfold when Sudachi normalises them, past its own limit.
            half = len(text) // 2
            return analyse(text[:half], offset) + analyse(text[half:], offset + half)
        tokens: list[Token] = []
        start = 0
        for m in morphemes:
            first, end = m.begin(), m.end()
            # The later parts of a ligature (㍿ is two words in mode A) are empty: they share its characters.
            start = first if first < end else start
            surface = text[start:end]
            if surface.strip(_ASCII_SPACE):
                base, pos, reading, ctype, cform, norm = _look_up_word(m, known)
                span = (start + offset, end + offset)
                token = Token(surface, base, pos, reading, ctype, cform, *span, surface, norm)
                tokens.append(token)
        return tokens

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        return map(analyse, texts)

    return run


def _look_up_word(m: Any, known: dict[int, _Word]) -> _Word:
    """What the dictionary says of a word, asked once.

    Unknown words share ids and are asked every time.
    """
    number = m.word_id()
    if (word := known.get(number)) is not None:
        return word
    pos = m.part_of_speech()
    ctype, cform = ("" if field == "*" else field for field in pos[4:6])
    norm = m.normalized_form()
    word = (m.dictionary_form() or norm, pos[:4], m.reading_form(), ctype, cform, norm)
    if not m.is_oov():
        if len(known) >= MAX_WORDS_KEPT:
            known.clear()
        known[number] = word
    return word
