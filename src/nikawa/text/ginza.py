"""Japanese by GiNZA: Sudachi's morphemes with dependency heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nikawa.text._engine import join, require
from nikawa.text.protocol import Engine, Token

EXTRA = "ja-ginza"
_ASCII_SPACE = " \t\n\r\x0b\x0c"


def load_ginza() -> Engine:
    """GiNZA without its entity recogniser, which nothing here asks for."""
    spacy = require("spacy", EXTRA)
    require("ginza", EXTRA)
    require("ja_ginza", EXTRA)
    error = require("sudachipy.errors", EXTRA).SudachiError
    language = spacy.load("ja_ginza", exclude=["ner"])

    def tokens(text: str) -> list[Token]:
        try:
            return _tokens(language(text))
        except error:
            # A few characters grow eighteenfold when Sudachi normalises them, past its own limit.
            half = len(text) // 2
            return list(join((tokens(text[:half]), tokens(text[half:])), (0, half)))

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        try:
            found = [_tokens(doc) for doc in language.pipe(texts)]
        except error:
            found = [tokens(text) for text in texts]
        return iter(found)

    return run


def _tokens(doc: Any) -> list[Token]:
    words = [word for word in doc if word.text.strip(_ASCII_SPACE)]
    index = {word.i: i for i, word in enumerate(words)}
    return [_token(word, i, index) for i, word in enumerate(words)]


def _token(word: Any, i: int, index: dict[int, int]) -> Token:
    surface, start = word.text, word.idx
    ctype, _, cform = next(iter(word.morph.get("Inflection")), "").partition(";")
    return Token(
        surface,
        word.lemma_ or surface,
        tuple(word.tag_.split("-")),
        next(iter(word.morph.get("Reading")), ""),
        ctype,
        cform,
        start,
        start + len(surface),
        surface,
        word.norm_,
        word.pos_,
        _head(word, i, index),
        word.dep_,
    )


def _head(word: Any, i: int, index: dict[int, int]) -> int:
    """The nearest governor that is not white space; a word without one is a root."""
    governor = word.head
    while governor.i not in index and governor.head.i != governor.i:
        governor = governor.head
    return index.get(governor.i, i)
