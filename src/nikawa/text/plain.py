"""Analysers that need no dictionary: every character, or what white space separates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nikawa.text.protocol import Engine, Token

_CHARACTER = re.compile(r"\S")
_WORD = re.compile(r"\S+")


def load_characters() -> Engine:
    """Every character that is not white space."""
    return _splitter(_CHARACTER)


def load_whitespace() -> Engine:
    """Every stretch without white space: the eojeol of Korean."""
    return _splitter(_WORD)


def _splitter(pattern: re.Pattern[str]) -> Engine:
    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        for text in texts:
            tokens = []
            for match in pattern.finditer(text):
                word, (start, end) = match.group(), match.span()
                tokens.append(Token(word, word, (), start=start, end=end, form=word, norm=word))
            yield tokens

    return run
