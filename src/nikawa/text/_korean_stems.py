"""Korean stems before endings: vowel harmony, contraction and the irregular classes.

An ending is written by what it starts with: 어… asks for harmony (아, 어, 여), 으… loses 으 after a vowel or ㄹ,
the rest is added as it is, with ㄹ lost before ㄴ, ㅅ and ㅂ. ㄴ and ㄹ after 으 close the syllable before: 가 + 으ㄴ is 간.
"""

from __future__ import annotations

from nikawa.text._hangul import build, split, with_tail

_CHANGES_D = ("걷", "긷", "깨닫", "내닫", "눋", "듣", "묻", "붇", "싣", "일컫", "치닫")
_CHANGES_S = ("긋", "낫", "붓", "잇", "잣", "젓", "짓")
_KEEPS_B = ("꼬집", "꼽", "뽑", "씹", "업", "입", "잡", "접", "좁", "집", "수줍")
_KEEPS_H = ("낳", "넣", "놓", "닿", "땋", "빻", "쌓", "좋", "찧")
_ADDS_REO = ("이르", "푸르")
_ONLY_DROPS = ("따르", "치르", "들르", "다다르", "우러르")
_NARROW = {"ㅏ": "ㅐ", "ㅓ": "ㅐ", "ㅑ": "ㅒ", "ㅕ": "ㅖ"}
_MERGED = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}
_BEFORE_EU = {"ㅂ": ("\0", "우"), "ㅎ": ("\0", ""), "ㄷ": ("ㄹ", "으"), "ㅅ": ("\0", "으")}
"""Irregular stems before 으: the new tail, and what stands for 으."""
_WHOLE = {"여": (1, "해"), "러": (0, "러"), "우": (1, "퍼")}
"""Classes whose form in 어 needs no rule: characters dropped, characters added."""
_SILENT = frozenset("ㅏㅓㅐㅔㅕㅑ")
_SHORT_I = frozenset("기끼띠미비삐시이피")
"""One-syllable stems in ㅣ that keep it in writing: 피었다, 비었다."""


def irregular_class(stem: str) -> str:
    """`ㄷ ㅂ ㅅ ㅎ 르 러 여 우`, or "" for a regular stem. Of two homographs the commoner: 묻다 is to ask, 걷다 to walk."""
    if stem.endswith("하"):
        return "여"
    if stem.endswith("르") and len(stem) > 1:
        if stem.endswith(_ADDS_REO):
            return "러"
        return "" if stem.endswith(_ONLY_DROPS) else "르"
    if stem == "푸":
        return "우"
    tail = split(stem[-1])[2]
    changes = {
        "ㄷ": stem.endswith(_CHANGES_D),
        "ㅅ": stem.endswith(_CHANGES_S),
        "ㅂ": not stem.endswith(_KEEPS_B),
        "ㅎ": not stem.endswith(_KEEPS_H),
    }
    return tail if changes.get(tail) else ""


def add(stem: str, ending: str, irregular: str | None = None) -> str:
    """The stem with the ending. `irregular` overrides the class where the dictionary has two verbs of one spelling."""
    kind = irregular_class(stem) if irregular is None else irregular
    if ending.startswith("어"):
        return _close(_infinitive(stem, kind), ending[1:])
    if ending.startswith("으"):
        return _soft(stem, ending[1:], kind)
    if split(stem[-1])[2] == "ㄹ" and ending[0] in "는니네느나시":
        stem = with_tail(stem, "\0")
    return stem + ending


def _close(text: str, rest: str) -> str:
    """Add what may start with a lone consonant, which closes the last syllable: 가 + ㅆ다 is 갔다."""
    if rest and "ㄱ" <= rest[0] <= "ㅎ":
        return with_tail(text, rest[0]) + rest[1:]
    return text + rest


def _soft(stem: str, rest: str, kind: str) -> str:
    tail = split(stem[-1])[2]
    if kind in _BEFORE_EU:
        new_tail, added = _BEFORE_EU[kind]
        return _close(with_tail(stem, new_tail) + added, rest)
    if tail == "ㄹ":
        return _after_l(stem, rest)
    return _close(stem if tail == "\0" else stem + "으", rest)


def _after_l(stem: str, rest: str) -> str:
    """ㄹ stays before ㅁ (삶, 살면) and 러, 려, and goes before ㄴ, ㅂ, ㅅ, 오 and a closing ㄹ."""
    if rest[0] == "ㅁ":
        return with_tail(stem, "ㄻ") + rest[1:]
    return _close(with_tail(stem, "\0") if rest[0] in "ㄴㅂㄹ니세시십오" else stem, rest)


def _infinitive(stem: str, kind: str) -> str:
    """The form in 아 or 어: 먹어, 가, 와, 도와, 들어, 몰라, 해."""
    if kind in _WHOLE:
        dropped, added = _WHOLE[kind]
        return stem[: len(stem) - dropped] + added
    if kind == "르":
        return with_tail(stem[:-1], "ㄹ") + ("라" if _bright(stem[-2:-1]) else "러")
    if kind == "ㅂ":
        return with_tail(stem, "\0") + ("와" if stem.endswith(("돕", "곱")) else "워")
    if kind == "ㅎ":
        lead, vowel, _ = split(stem[-1])
        return stem[:-1] + build(lead, _NARROW.get(vowel, vowel))
    if kind in ("ㄷ", "ㅅ"):
        return with_tail(stem, "ㄹ" if kind == "ㄷ" else "\0") + (
            "아" if _bright(stem[-1]) else "어"
        )
    return _regular(stem)


def _regular(stem: str) -> str:
    lead, vowel, tail = split(stem[-1])
    if tail != "\0":
        return stem + ("아" if _bright(stem[-1]) else "어")
    if vowel == "ㅡ":
        bright = len(stem) > 1 and _bright(stem[-2])
        return stem[:-1] + build(lead, "ㅏ" if bright else "ㅓ")
    if vowel in _SILENT:
        return stem
    if vowel in _MERGED and stem not in _SHORT_I:
        return stem[:-1] + build(lead, _MERGED[vowel])
    return stem + "어"


def _bright(syllable: str) -> bool:
    return split(syllable)[1] in "ㅏㅑㅗ"
