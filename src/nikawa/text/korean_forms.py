"""Korean particles, the copula and verb endings in the shape their neighbour asks for.

Rules and short lists of the irregular stems do it, so that it works without a dictionary; `join` hands any row of morphemes
to Kiwi, against which the rules are tested.

    >>> attach("학교", "을/를"), attach("서울", "(으)로"), copula("의사", "past"), inflect("돕다", "past")
    ('학교를', '서울로', '의사였다', '도왔다')
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from nikawa.errors import BadInput, unknown
from nikawa.text._hangul import final, is_syllable, is_written
from nikawa.text._korean_stems import add

PAIRS = (
    ("은", "는"),
    ("이", "가"),
    ("을", "를"),
    ("과", "와"),
    ("으로", "로"),
    ("아", "야"),
    ("이나", "나"),
    ("이랑", "랑"),
    ("이든", "든"),
    ("이든지", "든지"),
    ("이라도", "라도"),
    ("이야말로", "야말로"),
    ("이라고", "라고"),
    ("이란", "란"),
    ("이며", "며"),
    ("이여", "여"),
    ("이나마", "나마"),
    ("으로서", "로서"),
    ("으로써", "로써"),
    ("으로부터", "로부터"),
    ("으로는", "로는"),
    ("으로도", "로도"),
    ("이라는", "라는"),
    ("이라면", "라면"),
)
"""Particles of two shapes: after a consonant, after a vowel."""

_SHAPES = {shape: pair for pair in PAIRS for shape in pair}
_SHAPES |= {f"{a}/{b}": (a, b) for a, b in PAIRS} | {f"{b}/{a}": (a, b) for a, b in PAIRS}
_SHAPES |= {f"({a[0]}){b}": (a, b) for a, b in PAIRS if a[1:] == b}
_SHAPES |= {f"{a}({b})": (a, b) for a, b in PAIRS}

COPULA = {
    "dictionary": ("이다", "이다"),
    "past": ("이었다", "였다"),
    "connective": ("이고", "고"),
    "polite": ("이에요", "예요"),
    "polite_past": ("이었어요", "였어요"),
    "formal": ("입니다", "입니다"),
    "formal_past": ("이었습니다", "였습니다"),
    "modifier": ("인", "인"),
    "past_modifier": ("이었던", "였던"),
    "future_modifier": ("일", "일"),
    "conditional": ("이면", "면"),
    "because": ("이어서", "여서"),
    "but": ("이지만", "지만"),
    "past_connective": ("이었고", "였고"),
    "nominal": ("임", "임"),
}
"""Forms of 이다 after a consonant and after a vowel."""

FORMS = {
    "dictionary": "다",
    "stem": "",
    "infinitive": "어",
    "past": "어ㅆ다",
    "present": "는다",
    "future": "을 것이다",
    "connective": "고",
    "past_connective": "어ㅆ고",
    "sequence": "어서",
    "conditional": "으면",
    "while": "으면서",
    "and": "으며",
    "because": "으니",
    "but": "지만",
    "past_but": "어ㅆ지만",
    "purpose": "으러",
    "intention": "으려고",
    "until": "을 때까지",
    "when": "을 때",
    "past_when": "어ㅆ을 때",
    "before": "기 전",
    "after": "은 후",
    "since": "은 이래",
    "negative_stem": "지",
    "nominal": "기",
    "noun": "음",
    "modifier": "는",
    "past_modifier": "은",
    "future_modifier": "을",
    "retrospective": "던",
    "past_retrospective": "어ㅆ던",
    "progressive": "고 있다",
    "progressive_past": "고 있었다",
    "negative": "지 않는다",
    "negative_past": "지 않았다",
    "cannot": "지 못한다",
    "cannot_past": "지 못했다",
    "polite": "어요",
    "polite_past": "어ㅆ어요",
    "formal": "습니다",
    "formal_past": "어ㅆ습니다",
    "imperative": "어라",
    "propositive": "자",
    "perfect": "어 있다",
    "perfect_past": "어 있었다",
}
"""Form by name, as its ending. 은, 을, 는다 and 습니다 take the shape the stem asks for."""

RESULTATIVE = frozenset(
    {
        "가다",
        "걸리다",
        "나가다",
        "나오다",
        "남다",
        "눕다",
        "달리다",
        "들어가다",
        "떠나다",
        "뜨다",
        "모이다",
        "서다",
        "소속되다",
        "속하다",
        "숨다",
        "쌓이다",
        "앉다",
        "오다",
        "익숙해지다",
        "입원하다",
        "잠기다",
        "피다",
    }
)
"""Verbs whose state is told by -어 있다 (앉아 있다), where others have -고 있다 (살고 있다)."""

_SOFT = {"은": "으ㄴ", "을": "으ㄹ", "음": "으ㅁ", "습": "으ㅂ"}
_STATES = ("있", "없")


def has_final(word: str) -> bool | None:
    """Whether the word, as it is read, ends in a consonant; None where that is unknown (a kanji, an emoji)."""
    found = final(word)
    return None if found is None else found != "\0"


def attach(noun: str, particle: str, like: str = "") -> str:
    """The noun with the particle in its right shape; the particle may be given in either shape or as `은/는`, `(으)로`.

    `like` is a particle that somebody wrote after this noun: it tells how MP3 is read (MP3가, so MP3를). Where the reading is
    unknown both shapes are written, as Korean does: 은(는). Others are added as they are.
    """
    pair = _SHAPES.get(particle)
    if pair is None:
        if "/" in particle or "(" in particle:
            raise unknown("particle", particle, _SHAPES)
        return noun + particle
    shown = _SHAPES.get(like)
    if shown is None or like not in shown or is_written(noun) or _after_l(pair) or _after_l(shown):
        return noun + _shape(noun, pair)
    return noun + pair[shown.index(like)]


def _after_l(pair: tuple[str, str]) -> bool:
    """로 follows ㄹ as well as a vowel: it tells nothing of 을 or 를, nor they of it."""
    return pair[0].startswith("으로")


def _shape(noun: str, pair: tuple[str, str]) -> str:
    sound = final(noun)
    if sound is None:
        return f"({pair[0][0]}){pair[1]}" if pair[0][1:] == pair[1] else f"{pair[0]}({pair[1]})"
    if sound == "\0" or (sound == "ㄹ" and _after_l(pair)):
        return pair[1]
    return pair[0]


def copula(noun: str, form: str = "dictionary") -> str:
    """The noun with a form of 이다: 학생이었다, 의사였다; `negative` and `negative_past` with 아니다."""
    negative = {"negative": " 아니다", "negative_past": " 아니었다"}
    if form in negative:
        return attach(noun, "이/가") + negative[form]
    if form not in COPULA:
        raise unknown("form of the copula", form, [*COPULA, *negative])
    return noun + COPULA[form][has_final(noun) is False]


@lru_cache(maxsize=1 << 16)
def inflect(verb: str, form: str, adjective: bool = False, irregular: str | None = None) -> str:
    """A form of a verb (or adjective) given in its dictionary form, which ends in 다.

    `irregular` names the class (`ㄷ ㅂ ㅅ ㅎ 르 러`, "" for regular) where two verbs share a spelling: 묻다 is to ask, unless "".
    """
    stem = verb.removesuffix("다")
    if stem == verb or not stem or not is_syllable(stem[-1]):
        raise BadInput(
            f"{verb!r} is not the dictionary form of a Korean verb",
            cure="give it in 다, such as 먹다",
        )
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    ending = _ending(stem, form, adjective)
    return _inflected(stem, ending, irregular)


def _ending(stem: str, form: str, adjective: bool) -> str:
    """The ending, changed where adjectives and 있다, 없다 differ from verbs."""
    ending = FORMS[form]
    state = adjective or stem.endswith(_STATES)
    if form == "present":
        return "다" if state else ("는다" if final(stem) not in ("\0", "ㄹ") else "으ㄴ다")
    if form == "negative" and state:
        return "지 않다"
    if form == "modifier" and adjective and not stem.endswith(_STATES):
        return "은"
    if form == "past_modifier" and state:
        return "어ㅆ던"
    return ending


def _inflected(stem: str, ending: str, irregular: str | None) -> str:
    if not ending:
        return stem
    if ending.startswith("습") and final(stem) not in ("\0", "ㄹ"):
        return stem + ending
    soft = _SOFT.get(ending[0])
    return add(stem, soft + ending[1:] if soft else ending, irregular)


def join(morphemes: Iterable[tuple[str, str]]) -> str:
    """Kiwi's own joining of (form, tag) morphemes: [("돕", "VV-I"), ("었", "EP"), ("다", "EF")] gives 도왔다."""
    from nikawa.text.korean import joined

    return joined(list(morphemes))
