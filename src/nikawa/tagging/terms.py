"""The small language of patterns: `a|b` is either, a final `...` is "begins so", `!base/pos` is
"not this one".
"""

from __future__ import annotations

from dataclasses import dataclass

from nikawa.text import Token

ANY = "..."
"""Alone: anything. At the end: anything that begins so. The dictionaries' own `*` is a field like
any other."""
EITHER = "|"
NOT = "!"


@dataclass(frozen=True)
class Choice:
    """A set of strings and of beginnings of strings."""

    whole: frozenset[str]
    starts: tuple[str, ...]

    def __contains__(self, text: object) -> bool:
        return text in self.whole or (bool(self.starts) and str(text).startswith(self.starts))


@dataclass(frozen=True)
class Term:
    """What a neighbouring morpheme must be, or must not be; a missing neighbour is not anything."""

    base: Choice
    pos: Choice
    negated: bool = False

    def meets(self, token: Token | None) -> bool:
        """Whether the morpheme fits."""
        fits = token is not None and token.base in self.base and token.tag in self.pos
        return fits is not self.negated


def alternatives(text: str) -> list[str]:
    """The alternatives of `a|b`; a `ValueError` says what is wrong with them.

    >>> alternatives("ない|ぬ")
    ['ない', 'ぬ']
    """
    parts = text.split(EITHER)
    if not all(part and part == part.strip() for part in parts):
        raise ValueError(f"{text!r} has an empty alternative or stray white space")
    return parts


def parse_choice(text: str) -> Choice:
    """The strings that `text` stands for."""
    parts = alternatives(text)
    starts = tuple(part.removesuffix(ANY) for part in parts if part.endswith(ANY))
    return Choice(frozenset(part for part in parts if not part.endswith(ANY)), starts)


def parse_terms(text: str) -> tuple[Term, ...]:
    """The terms of `한|두/MM 개/NNB`, parted by white space; the last `/` parts base and tag."""
    terms = []
    for word in text.split():
        negated = word.startswith(NOT) and not word.startswith(f"{NOT}/")
        base, _, pos = word.removeprefix(NOT if negated else "").rpartition("/")
        if not base or not pos:
            raise ValueError(f"{word!r} is not of the form base/pos")
        terms.append(Term(parse_choice(base), parse_choice(pos), negated))
    return tuple(terms)
