"""Japanese morphemes (IPADIC) to phrases: content words with the particles or endings that close them.

Each phrase is of one kind, told by its end; that is all the structure the rules for case particles need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from nikawa.text import Token

Kind = Literal[
    "subject",  # … が, は, も
    "argument",  # … を, に, で
    "case",  # another particle or several: へ, から, には
    "of",  # … の
    "list",  # … と, や, か, or a noun before a comma
    "modifier",  # before a noun: an adnominal predicate, a prenominal
    "adverb",
    "te",  # … て
    "while",  # … ながら
    "and",  # a predicate in its continuative form
    "if",  # another conjunctive particle: ば, ので, が
    "final",  # a predicate that ends a sentence
    "link",  # そして
    "bare",
]
PREDICATES = frozenset({"te", "while", "and", "if", "final"})
SUBJECTS = frozenset("がはも")
ARGUMENTS = {"を": "o", "に": "ni", "で": "de"}

_COMMAS = frozenset("、，,")
STOPS = frozenset("。．.！？!?")
_CONJUGATED = frozenset({"動詞", "形容詞", "助動詞"})
_DEPENDENT = frozenset({"非自立", "接尾"})
_ADNOMINAL = frozenset({"基本形", "体言接続"})
_STAYING = frozenset({"いる", "ある", "おる", "しまう"})


class Phrase(NamedTuple):
    """Tokens `first` to `end` (exclusive; a comma or full stop after them not counted)."""

    first: int
    end: int
    kind: Kind
    mark: str
    """Its particle, where it is a subject or argument."""
    comma: bool
    """Whether a comma or full stop follows."""
    verbal: bool
    """Whether it holds a verb."""


def phrases(tokens: Sequence[Token]) -> list[Phrase]:
    """The phrases of an analysis, in order."""
    found: list[Phrase] = []
    first, verbal, last = 0, False, len(tokens) - 1
    for i, token in enumerate(tokens):
        word = token.pos[0]
        if word == "記号":
            stop = token.surface in STOPS
            if stop or token.surface in _COMMAS:
                _pause(found, first, i, verbal, stop)
                first, verbal = i + 1, False
            continue
        verbal = verbal or word == "動詞"
        after = tokens[i + 1] if i < last else None
        closed = _CLOSERS[word](tokens, first, i, after) if word in _CLOSERS else None
        if closed is not None:
            kind, mark = closed
            found.append(Phrase(first, i + 1, kind, mark, comma=False, verbal=verbal))
            first, verbal = i + 1, False
    if first <= last:
        found.append(Phrase(first, last + 1, "bare", "", comma=False, verbal=verbal))
    return found


def _pause(found: list[Phrase], first: int, end: int, verbal: bool, stop: bool) -> None:
    """Close what stands before a comma or full stop, or note the pause on the phrase already closed."""
    if first < end:
        found.append(Phrase(first, end, "bare" if stop else "list", "", comma=True, verbal=verbal))
    elif found:
        found[-1] = found[-1]._replace(comma=True)


_Closed = tuple[Kind, str] | None


def _particle(tokens: Sequence[Token], first: int, i: int, after: Token | None) -> _Closed:
    token = tokens[i]
    kind = token.pos[1]
    if kind == "接続助詞":
        return _conjunctive(token, after)
    if after is not None and after.pos[0] == "助詞":
        return None
    if kind == "連体化":
        return "of", ""
    mark = token.surface
    start = i
    while start > first and joins(tokens[start - 1]):
        start -= 1
        mark = tokens[start].surface + mark
    before = tokens[start - 1] if start > first else None
    return _marked(mark, kind, before)


def joins(token: Token) -> bool:
    """Whether a token before a particle is part of the mark (に in には); か and だけ belong to the noun (誰か)."""
    return token.pos[0] == "助詞" and not token.pos[1].startswith("副助詞")


def _marked(mark: str, kind: str, before: Token | None) -> _Closed:
    if kind == "並立助詞" or mark in ("や", "か"):
        return "list", ""
    if before is not None and _nominal(before):
        if mark in SUBJECTS and kind in ("格助詞", "係助詞"):
            return "subject", mark
        if mark in ARGUMENTS and kind == "格助詞" and not (mark == "に" and _adjectival(before)):
            return "argument", mark
    return ("of" if mark.endswith("の") else "case"), ""


def _nominal(token: Token) -> bool:
    """Whether a particle after it marks a noun phrase; not so in 見ては and 動かずに."""
    return token.pos[0] != "助動詞" and token.cform not in _ADNOMINAL


def _adjectival(token: Token) -> bool:
    """静か, 情熱的, 楽しそう: に makes an adverb of them."""
    return any(field.endswith("語幹") for field in token.pos[1:3])


def _conjunctive(token: Token, after: Token | None) -> _Closed:
    te = token.surface in ("て", "で")
    if after is not None:
        helper = after.pos[0] == "動詞" and (
            after.pos[1] == "非自立" or (te and after.base in _STAYING)
        )
        if helper or after.pos[0] == "助詞":
            return None
    return ("te" if te else "while" if token.surface in ("ながら", "つつ") else "if"), ""


def _conjugated(tokens: Sequence[Token], _: int, i: int, after: Token | None) -> _Closed:
    token = tokens[i]
    if after is None or after.surface in STOPS:
        return "final", ""
    if _continues(token, after):
        return None
    if token.cform in _ADNOMINAL:
        return "modifier", ""
    if token.pos[0] == "形容詞":
        return "adverb", ""
    return ("te" if token.base == "だ" and token.surface == "で" else "and"), ""


def _continues(token: Token, after: Token) -> bool:
    """Whether the next token belongs to the same predicate, or to the noun made of it."""
    word, kind = after.pos[0], after.pos[1]
    if word in ("助動詞", "助詞"):
        return True
    if word == "記号":
        return after.surface not in _COMMAS
    if word in ("動詞", "形容詞"):
        # compound verbs: 跳び + 越える
        return kind in _DEPENDENT or (word == token.pos[0] == "動詞" and token.cform == "連用形")
    return word == "名詞" and kind in _DEPENDENT and token.cform.startswith("連用")


def _prenominal(*_: object) -> _Closed:
    return "modifier", ""


def _adverb(_: Sequence[Token], __: int, ___: int, after: Token | None) -> _Closed:
    return None if after is not None and after.pos[0] in ("助詞", "助動詞") else ("adverb", "")


def _link(*_: object) -> _Closed:
    return "link", ""


_CLOSERS: dict[str, Callable[[Sequence[Token], int, int, Token | None], _Closed]] = {
    "助詞": _particle,
    "連体詞": _prenominal,
    "副詞": _adverb,
    "接続詞": _link,
    **dict.fromkeys(_CONJUGATED, _conjugated),
}
