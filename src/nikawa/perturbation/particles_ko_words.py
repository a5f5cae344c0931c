"""Blank-parted words of a Korean analysis: Kiwi's morphemes may end inside one, a phrase that is moved may not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nikawa.text import Token

_WRITTEN = ("SN", "SL", "SH")
"""Digits and foreign letters: signs that are part of a word, as punctuation is not."""
_JOINERS = frozenset("·・ㆍ‧∙•-/~∼&+")
"""Punctuation that makes one word of what stands on both sides."""


class Words:
    """Where words begin and end; a text without blanks has none, and each morpheme counts as one."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.spaced = any(a.end < b.start for a, b in pairwise(tokens))

    def start(self, i: int, lowest: int = 0) -> int:
        """The first token of the word that token i stands in, none before `lowest`."""
        while i > lowest and self.joined(i):
            i -= 1
        return i

    def end(self, i: int) -> int:
        """The token after the word that token i stands in."""
        i += 1
        while i < len(self.tokens) and self.joined(i):
            i += 1
        return i

    def written(self, i: int) -> str:
        """The word that begins with token i, as the text has it; contracted morphemes share characters."""
        text, done = "", self.tokens[i].start
        for token in self.tokens[i : self.end(i)]:
            text += token.surface[max(0, done - token.start) :]
            done = max(done, token.end)
        return text

    def joined(self, i: int) -> bool:
        """Whether token i and the one before it stand in one word."""
        before, token = self.tokens[i - 1], self.tokens[i]
        return (
            self.spaced and token.start <= before.end and not (_is_sign(before) or _is_sign(token))
        )


def _is_sign(token: Token) -> bool:
    tag = token.pos[0]
    return tag.startswith("S") and tag not in _WRITTEN


def parts_words(text: str, place: int) -> bool:
    """Whether a cut before the character at `place` goes through no word; in a text without blanks none does."""
    if not 0 < place < len(text) or not any(map(str.isspace, text)):
        return True
    return not (_within(text[place - 1]) and _within(text[place]))


def _within(character: str) -> bool:
    return character.isalnum() or character in _JOINERS
