"""Japanese endings of statements: plain (する, だ) to polite (します, です) and back, by IPADIC's tokens
and our conjugation.

Each sentence outside quotation marks is looked at; ね and よ may follow. Questions, requests, and
sentences that end in a noun stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from nikawa.errors import BadInput
from nikawa.perturbation._surface import surface_perturbation
from nikawa.perturbation.base import Stretch, Tokens, analyse_text, replace_stretches
from nikawa.text import Analyser, Token
from nikawa.text.conjugation_ja import conjugate

MAX_TOKENS = 24
"""Tokens before the end of a sentence that are looked at."""
_STOPS = frozenset("。．.！!")
_OPEN, _SHUT = frozenset("「『（(“"), frozenset("」』）)”")
_FINAL_PARTICLES = frozenset({"ね", "よ"})
_POLITE_VERBS = {
    "ます": "dictionary",
    "ました": "past",
    "ません": "negative",
    "ませんでした": "negative_past",
    "ましょう": "volitional",
}
"""Polite ending to the plain form of the verb before it."""
_COPULAS = {"です": "だ", "でした": "だった", "でしょう": "だろう"}
_POLITE_COPULAS = {plain: polite for polite, plain in _COPULAS.items()} | {
    "である": "です",
    "であった": "でした",
}
"""Plain copula to the polite one."""
_AFTER_NOUN = ("名詞", "副詞", "接頭詞")
"""Word classes after which a copula is one, not part of a verb or adjective."""
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

Ending = tuple[int, str] | None
"""How many tokens at the end of a sentence change, and what replaces them; None where nothing
changes."""


def _find_ends(tokens: Tokens) -> Iterator[int]:
    """Where the predicate of each sentence ends (token, exclusive), quotations left out."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.surface in _OPEN) - (token.surface in _SHUT)
        after = tokens[i + 1].surface if i + 1 < len(tokens) else "。"
        if depth == 0 and after[0] in _STOPS and token.surface[0] not in _STOPS:
            is_final_particle = token.surface in _FINAL_PARTICLES and token.pos[0] == "助詞"
            yield i if is_final_particle else i + 1


def change_endings(
    text: str, analyser: Analyser, *, find_ending: Callable[[Tokens], Ending]
) -> str:
    """The text with the ends of its sentences changed.

    `find_ending` gets the last tokens of a sentence.
    """
    tokens = analyse_text(text, analyser)
    stretches: list[Stretch] = []
    for end in _find_ends(tokens):
        try:
            ending = find_ending(tokens[max(0, end - MAX_TOKENS) : end])
        except BadInput:  # a word of an unknown class
            continue
        if ending is not None:
            count, new = ending
            first, last = tokens[end - count], tokens[end - 1]
            stretches.append((first.start, last.end, new))
    return replace_stretches(text, stretches)


def _join_last(tokens: Tokens, count: int) -> str:
    """The text of the last tokens; empty if no token is before them."""
    if len(tokens) <= count:
        return ""
    return "".join(token.surface for token in tokens[-count:])


def to_plain(tokens: Tokens) -> Ending:
    """The plain words for a polite ending: 走ります to 走る, 猫です to 猫だ; None without such an
    ending, or in doubt.
    """
    for count in (4, 2, 1):
        ending = _join_last(tokens, count)
        if not ending:
            continue
        before = tokens[-count - 1]
        if ending in _POLITE_VERBS and (before.pos[0] == "動詞" or before.base == "ある"):
            verb = _find_verb(tokens[: -count - 1], before)
            if verb is None:
                return None
            base, verb_class = verb
            return count + 1, conjugate(base, _POLITE_VERBS[ending], verb_class)
        if ending in _COPULAS and tokens[-count].base == "です":
            if ending == "でしょう":
                return count, "だろう"
            if before.pos[0] in _AFTER_NOUN:
                return count, _COPULAS[ending]
            is_adjectival = before.pos[0] in ("形容詞", "助動詞") and before.base != "ん"
            if ending == "です" and is_adjectival and before.cform == "基本形":
                return count + 1, before.surface
            return None
    return None


def _find_verb(tokens: Tokens, verb: Token) -> tuple[str, str] | None:
    """Dictionary form and class of a verb; None where the stem is that of two verbs and nothing
    says of which.
    """
    if verb.surface in ("下り", "報い"):  # 下る or 下りる, 報う or 報いる
        return None
    if verb.surface not in ("降り", "おり") or verb.pos[1] != "自立":
        return verb.base, _class_of(verb)
    before = tokens[-1].surface if tokens else ""
    if before == "を":
        return verb.surface + "る", "一段"
    if verb.surface == "おり":
        return None
    for noun, particle in pairwise(tokens):
        if particle.surface in ("が", "は", "も") and noun.surface.endswith(_WEATHER):
            return "降る", "五段・ラ行"
    return ("降りる", "一段") if before in ("で", "から") else None


def to_polite(tokens: Tokens) -> Ending:
    """The polite words for a plain ending: 走る to 走ります, 高くない to 高くありません; None without
    such an ending.
    """
    for count in (3, 2, 1):
        ending = _join_last(tokens, count)
        if ending in _POLITE_COPULAS and tokens[-count].ctype == "特殊・ダ":
            is_after_noun = tokens[-count - 1].pos[0] in _AFTER_NOUN
            is_copula = is_after_noun or ending == "だろう"
            return (count, _POLITE_COPULAS[ending]) if is_copula else None
    last = tokens[-1] if tokens else None
    if last is None or not last.ctype:
        return None
    before = tokens[-2] if len(tokens) > 1 else None
    if before is not None and before.pos[0] == "動詞" and last.surface in ("う", "よう"):
        return 2, _make_polite(before)[:-1] + "しょう"
    if before is not None and last.ctype == "特殊・タ":
        if before.pos[0] == "動詞":
            # 食べすぎだ is no past, 飲んだ is.
            is_nominal = last.surface == "だ" and before.cform != "連用タ接続"
            return None if is_nominal else (2, _make_polite(before)[:-1] + "した")
        if before.base == "ない":
            return _make_polite_negative(tokens, 2, "ませんでした")
        return (1, last.surface + "です") if _is_adjectival(before) else None
    if last.cform != "基本形":
        return None
    if last.pos[0] == "動詞":
        return 1, _make_polite(last)
    if last.base == "ない":
        return _make_polite_negative(tokens, 1, "ません")
    return (1, last.surface + "です") if _is_adjectival(last) else None


def _make_polite_negative(tokens: Tokens, count: int, polite: str) -> Ending:
    """走らない: 走りません; 高くない, 猫ではない, 本がない: …ありません."""
    if len(tokens) <= count:
        return None
    before = tokens[-count - 1]
    if before.pos[0] == "動詞":
        return count + 1, _make_polite(before).removesuffix("ます") + polite
    if before.pos[0] in ("助詞", "形容詞") or before.surface in ("で", "じゃ"):
        return count, "あり" + polite
    return None


def _is_adjectival(token: Token) -> bool:
    """Whether です makes it polite: 高い, 走りたい, 猫らしい."""
    is_auxiliary = token.pos[0] == "助動詞" and token.base in ("たい", "らしい")
    return token.pos[0] == "形容詞" or is_auxiliary


def _make_polite(verb: Token) -> str:
    """The verb with ます."""
    return conjugate(verb.base, "polite", _class_of(verb))


def _class_of(verb: Token) -> str:
    """The conjugation class that IPADIC names; raises `BadInput` for a word without one."""
    if not verb.ctype:
        raise BadInput(f"{verb.surface!r} does not conjugate")
    return verb.ctype


PERTURBATIONS = (
    surface_perturbation(
        "polite",
        "ja",
        "end statements politely (です, ます)",
        partial(change_endings, find_ending=to_polite),
        ("ipadic",),
    ),
    surface_perturbation(
        "plain",
        "ja",
        "end statements plainly (だ, する)",
        partial(change_endings, find_ending=to_plain),
        ("ipadic",),
    ),
)
