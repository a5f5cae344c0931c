"""Japanese endings of statements: plain (する, だ) to polite (します, です) and back, by IPADIC's tokens and our conjugation.

Each sentence outside quotation marks is looked at; ね and よ may follow. Questions, requests, and sentences that end in a noun stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from nikawa.errors import BadInput
from nikawa.perturbation._surface import replace_stretches, surface_perturbation
from nikawa.perturbation.base import analyse_text
from nikawa.text import Analyser, Token
from nikawa.text.conjugate import conjugate

_STOPS = frozenset("。．.！!")
_OPEN, _SHUT = frozenset("「『（(“"), frozenset("」』）)”")
_LAST = frozenset({"ね", "よ"})
_POLITE_VERBS = {
    "ます": "dictionary",
    "ました": "past",
    "ません": "negative",
    "ませんでした": "negative_past",
    "ましょう": "volitional",
}
_COPULAS = {"です": "だ", "でした": "だった", "でしょう": "だろう"}
_POLITE_COPULAS = {plain: polite for polite, plain in _COPULAS.items()} | {
    "である": "です",
    "であった": "でした",
}
_AFTER_NOUN = ("名詞", "副詞", "接頭詞")

WINDOW = 24
"""Tokens before the end of a sentence that are looked at."""
_WEATHER = (
    "雨",
    "雪",
    "霰",
    "あられ",
    "雹",
    "ひょう",
    "霙",
    "みぞれ",
    "霜",
    "灰",
    "しぐれ",
    "時雨",
)
"""What falls (降る); all else gets off (降りる)."""

_Tail = tuple[int, str] | None
"""The token from which the sentence's end changes, and what stands there then."""


def _ends(tokens: Sequence[Token]) -> Iterator[int]:
    """Where the predicate of each sentence ends (token, exclusive), quotations left out."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.surface in _OPEN) - (token.surface in _SHUT)
        after = tokens[i + 1].surface if i + 1 < len(tokens) else "。"
        if depth == 0 and after[0] in _STOPS and token.surface[0] not in _STOPS:
            yield i if token.surface in _LAST and token.pos[0] == "助詞" else i + 1


def _changed(text: str, analyser: Analyser, *, tail: Callable[[Sequence[Token]], _Tail]) -> str:
    tokens = analyse_text(text, analyser)
    changes = []
    for end in _ends(tokens):
        try:
            found = tail(tokens[max(0, end - WINDOW) : end])
        except BadInput:  # a word whose class nobody knows
            found = None
        if found is not None:
            first = tokens[end - found[0]]
            changes.append((first.start, tokens[end - 1].end, found[1]))
    return replace_stretches(text, changes)


def _joined(tokens: Sequence[Token], count: int) -> str:
    return "".join(token.surface for token in tokens[-count:]) if len(tokens) > count else ""


def _to_plain(tokens: Sequence[Token]) -> _Tail:
    """How many tokens go, and the plain words for them."""
    for count in (4, 2, 1):
        ending = _joined(tokens, count)
        before = tokens[-count - 1] if ending else None
        if before is None:
            continue
        if ending in _POLITE_VERBS and (before.pos[0] == "動詞" or before.base == "ある"):
            verb = _settled(tokens[: -count - 1], before)
            return verb and (count + 1, conjugate(verb[0], _POLITE_VERBS[ending], verb[1]))
        if ending in _COPULAS and tokens[-count].base == "です":
            return _plain_copula(before, ending, count)
    return None


def _settled(tokens: Sequence[Token], verb: Token) -> tuple[str, str] | None:
    """Dictionary form and class of a verb; None where the stem is that of two verbs and nothing says of which."""
    if verb.surface in ("下り", "報い"):  # 下る or 下りる, 報う or 報いる
        return None
    if verb.surface not in ("降り", "おり") or verb.pos[1] != "自立":
        return verb.base, _class(verb)
    before = tokens[-1].surface if tokens else ""
    if before == "を":
        return verb.surface + "る", "一段"
    if verb.surface == "おり":
        return None
    if any(_falls(noun, particle) for noun, particle in pairwise(tokens)):
        return "降る", "五段・ラ行"
    return ("降りる", "一段") if before in ("で", "から") else None


def _falls(noun: Token, particle: Token) -> bool:
    return particle.surface in ("が", "は", "も") and noun.surface.endswith(_WEATHER)


def _plain_copula(before: Token, ending: str, count: int) -> _Tail:
    if ending == "でしょう":
        return count, "だろう"
    if before.pos[0] in _AFTER_NOUN:
        return count, _COPULAS[ending]
    adjective = (
        before.pos[0] in ("形容詞", "助動詞") and before.cform == "基本形" and before.base != "ん"
    )
    return (count + 1, before.surface) if adjective and ending == "です" else None


def _to_polite(tokens: Sequence[Token]) -> _Tail:
    """How many tokens go, and the polite words for them."""
    for count in (3, 2, 1):
        ending = _joined(tokens, count)
        if ending in _POLITE_COPULAS and tokens[-count].ctype == "特殊・ダ":
            noun = tokens[-count - 1].pos[0] in _AFTER_NOUN
            return (count, _POLITE_COPULAS[ending]) if noun or ending == "だろう" else None
    last = tokens[-1] if tokens else None
    if last is None or not last.ctype:
        return None
    if last.surface in ("う", "よう") and len(tokens) > 1 and tokens[-2].pos[0] == "動詞":
        return 2, _masu(tokens[-2])[:-1] + "しょう"
    if last.ctype == "特殊・タ" and len(tokens) > 1:
        return _polite_past(tokens)
    if last.cform != "基本形":
        return None
    return _polite_present(tokens, last)


def _polite_present(tokens: Sequence[Token], last: Token) -> _Tail:
    if last.pos[0] == "動詞":
        return 1, _masu(last)
    if last.base == "ない":
        return _negative(tokens, 1, "ません")
    return (1, last.surface + "です") if _adjectival(last) else None


def _polite_past(tokens: Sequence[Token]) -> _Tail:
    before = tokens[-2]
    if before.pos[0] == "動詞":
        nominal = (
            tokens[-1].surface == "だ" and before.cform != "連用タ接続"
        )  # 食べすぎだ, not 飲んだ
        return None if nominal else (2, _masu(before)[:-1] + "した")
    if before.base == "ない":
        return _negative(tokens, 2, "ませんでした")
    return (1, tokens[-1].surface + "です") if _adjectival(before) else None


def _negative(tokens: Sequence[Token], count: int, polite: str) -> _Tail:
    """走らない: 走りません; 高くない, 猫ではない, 本がない: …ありません."""
    if len(tokens) <= count:
        return None
    before = tokens[-count - 1]
    if before.pos[0] == "動詞":
        return count + 1, _masu(before).removesuffix("ます") + polite
    whole = before.pos[0] in ("助詞", "形容詞") or before.surface in ("で", "じゃ")
    return (count, "あり" + polite) if whole else None


def _adjectival(token: Token) -> bool:
    return token.pos[0] == "形容詞" or (
        token.pos[0] == "助動詞" and token.base in ("たい", "らしい")
    )


def _masu(verb: Token) -> str:
    return conjugate(verb.base, "polite", _class(verb))


def _class(verb: Token) -> str:
    if not verb.ctype:
        raise BadInput(f"{verb.surface!r} does not conjugate")
    return verb.ctype


PERTURBATIONS = (
    surface_perturbation(
        "polite",
        "ja",
        "end statements politely (です, ます)",
        partial(_changed, tail=_to_polite),
        ("ipadic",),
    ),
    surface_perturbation(
        "plain",
        "ja",
        "end statements plainly (だ, する)",
        partial(_changed, tail=_to_plain),
        ("ipadic",),
    ),
)
