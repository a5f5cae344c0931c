"""Japanese by GiNZA: Sudachi's morphemes with dependency heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nikawa.text.engine import join_tokens, require
from nikawa.text.protocol import Engine, Token

EXTRA = "ja-ginza"
_ASCII_SPACE = " \t\n\r\x0b\x0c"


def load_ginza() -> Engine:
    """GiNZA without its entity recogniser, which nothing here asks for.

    White space is left out; a word that depends on it gets the next governor up the tree.
    """
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
            return list(join_tokens((tokens(text[:half]), tokens(text[half:])), (0, half)))

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        try:
            analyses = [_tokens(doc) for doc in language.pipe(texts)]
        except error:
            analyses = [tokens(text) for text in texts]
        return iter(analyses)

    return run


def _tokens(doc: Any) -> list[Token]:
    """The words of spaCy's analysis as tokens, their heads by place among these."""
    words = [word for word in doc if word.text.strip(_ASCII_SPACE)]
    index = {word.i: i for i, word in enumerate(words)}
    tokens = []
    for i, word in enumerate(words):
        governor = word.head  # the nearest that is not white space; a word without one is a root
        while governor.i not in index and governor.head.i != governor.i:
            governor = governor.head
        ctype, _, cform = next(iter(word.morph.get("Inflection")), "").partition(";")
        token = Token(
            surface=word.text,
            base=word.lemma_ or word.text,
            pos=tuple(word.tag_.split("-")),
            reading=next(iter(word.morph.get("Reading")), ""),
            ctype=ctype,
            cform=cform,
            start=word.idx,
            end=word.idx + len(word.text),
            form=word.text,
            norm=word.norm_,
            notes=word.pos_,
            head=index.get(governor.i, i),
            deprel=word.dep_,
        )
        tokens.append(token)
    return tokens
