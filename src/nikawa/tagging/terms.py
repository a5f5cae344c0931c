"""The pattern language of tag packs.

`a|b` matches either, a final `...` matches any continuation, `!base/pos` matches anything else. A term
that ends in `+` matches one or more morphemes in a row, one that ends in `?` matches one or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from nikawa.text import Token

ANY = "..."
"""Alone: anything. At the end: anything that begins so. The dictionaries' own `*` is a field like
any other."""
EITHER = "|"
NOT = "!"
MANY = "+"
OPTIONAL = "?"


@dataclass(frozen=True)
class Choice:
    """A set of strings and of beginnings of strings."""

    whole: frozenset[str]
    starts: tuple[str, ...]
    known_pos: dict[tuple[str, ...], bool] = field(default_factory=dict, compare=False)
    """Tag fields that were looked up before, and whether they are in the set."""

    def has_pos(self, pos: tuple[str, ...]) -> bool:
        """Whether the joined tag fields are in the set; an analyser has few different ones."""
        known = self.known_pos.get(pos)
        if known is None:
            known = self.known_pos[pos] = ",".join(pos) in self
        return known

    def __contains__(self, text: object) -> bool:
        return text in self.whole or (bool(self.starts) and str(text).startswith(self.starts))


@dataclass(frozen=True)
class Term:
    """What a neighbouring morpheme must be, or must not be; a missing neighbour is not anything."""

    base: Choice
    pos: Choice
    negated: bool = False
    count: str = ""
    """`+` for one or more in a row, `?` for one or none, empty for exactly one."""

    def meets(self, token: Token | None) -> bool:
        """Whether the morpheme fits."""
        fits = token is not None and token.base in self.base and self.pos.has_pos(token.pos)
        return fits is not self.negated


def meet_terms(
    terms: tuple[Term, ...], tokens: Sequence[Token], place: int, step: Literal[1, -1]
) -> bool:
    """Whether the morphemes from `place` on meet the terms.

    `step` is 1 to read forwards and -1 to read backwards; the terms are in text order either way.
    A term with `+` or `?` takes as many morphemes as it can and does not give any back.
    """
    last = len(tokens)
    for term in terms if step == 1 else reversed(terms):
        fits = term.meets(tokens[place] if 0 <= place < last else None)
        if not fits and term.count == OPTIONAL:
            continue
        if not fits:
            return False
        place += step
        while term.count == MANY and 0 <= place < last and term.meets(tokens[place]):
            place += step
    return True


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
    """The terms of `한|두/MM 개/NNB`: white space separates terms, the last `/` base and tag."""
    terms = []
    for term in text.split():
        count = term[-1] if term[-1] in (MANY, OPTIONAL) else ""
        word = term.removesuffix(count)
        negated = word.startswith(NOT) and not word.startswith(f"{NOT}/")
        base, _, pos = word.removeprefix(NOT if negated else "").rpartition("/")
        if not base or not pos:
            raise ValueError(f"{term!r} is not of the form base/pos")
        terms.append(Term(parse_choice(base), parse_choice(pos), negated, count))
    return tuple(terms)
