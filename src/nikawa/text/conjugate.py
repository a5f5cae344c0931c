"""Forms of Japanese verbs and adjectives, from the conjugation class of IPADIC or UniDic.

    >>> conjugate("行く", "past"), conjugate("生ずる", "te"), conjugate("来る", "negative", "カ変・来ル")
    ('行った', '生じて', '来ない')

A class is asked of the dictionary only where the ending leaves it open: every る that is not する, ずる or 来る.
"""

from __future__ import annotations

from functools import lru_cache

from nikawa.errors import BadInput, unknown
from nikawa.text._conjugation_ja import FORMS, SPECIAL, SPECIAL_ENDINGS, USUAL, build

__all__ = ["FORMS", "conjugate", "conjugation_class", "forms"]

_BY_DICTIONARY = {
    "一段": "一段",
    "上一段": "一段",
    "下一段": "一段",
    "カ変": "カ変",
    "カ行変格": "カ変",
    "サ変": "サ変",
    "サ行変格": "サ変",
    "ザ行変格": "サ変",
    "形容詞": "形容詞",
    "特殊・ダ": "形容動詞",
    "助動詞-ダ": "形容動詞",
    "特殊・ナイ": "形容詞",
    "特殊・タイ": "形容詞",
    "助動詞-ナイ": "形容詞",
    "助動詞-タイ": "形容詞",
}
_ENDS = {
    "一段": ("る",),
    "カ変": ("る",),
    "サ変": ("る", "す"),
    "形容詞": ("い",),
    "形容動詞": ("",),
}
_GODAN = {
    ending: f"五段・{row}"
    for ending, row in zip("くぐすつぬぶむるう", "カガサタナバマラワ", strict=True)
}
_A_U_O = frozenset(
    "あかがさざただなはばぱまやらわうくぐすずつづぬふぶぷむゆるおこごそぞとどのほぼぽもよろゃゅょ"
)

_I_E = frozenset("いきぎしじちにひびみりえけげせぜてでねへべめれ")


def conjugate(word: str, form: str, ctype: str | None = None) -> str:
    """A form (a name of `FORMS`) of a word in its dictionary form. 行く, past: 行った.

    `ctype` is the class as IPADIC or UniDic names it; without it the analyser is asked where the spelling leaves a doubt.
    """
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    made = _forms(word, ctype or "")
    if form not in made:
        raise BadInput(f"{word!r} has no {form} form", cure="ask for another form, or another word")
    return made[form]


def forms(word: str, ctype: str | None = None) -> dict[str, str]:
    """Every form the word has, by name."""
    return dict(_forms(word, ctype or ""))


@lru_cache(maxsize=1 << 14)
def _forms(word: str, ctype: str) -> dict[str, str]:
    return build(word, conjugation_class(word, ctype or None))


def conjugation_class(word: str, ctype: str | None = None) -> str:
    """The class: 五段 and its row (`五段・カ`), `一段`, `サ変`, `カ変`, `形容詞`, `形容動詞`, or an irregular of its own."""
    if word in SPECIAL:
        return SPECIAL[word]
    for endings, name in SPECIAL_ENDINGS:
        if word.endswith(endings):
            return name
    if ctype:
        return _named(word, ctype)
    return USUAL.get(word) or _by_ending(word) or _named(word, _ask(word))


def _named(word: str, ctype: str) -> str:
    """Our class for the dictionary's."""
    if ctype.endswith(("得ル", "ア行-ウル")) and word.endswith("うる"):
        return "うる"
    for start, name in _BY_DICTIONARY.items():
        if ctype.startswith(start) and word[-1:] and word.endswith(_ENDS[name]):
            return name
    if "ウ音便" in ctype and word.endswith("う"):
        return "五段・ウ音便"
    if ctype.startswith("五段") and word[-1:] in _GODAN:
        return _GODAN[word[-1]]
    raise BadInput(
        f"{word!r} does not conjugate as {ctype!r}"
        if ctype
        else f"{word!r} is not a dictionary form",
        cure="give the dictionary form of a verb or adjective and its IPADIC or UniDic class",
    )


def _by_ending(word: str) -> str | None:
    """The class where the last characters settle it."""
    last = word[-1:]
    if len(word) < 2:
        return None
    if last == "る":
        return _by_ending_ru(word)
    if last == "い":
        return "形容詞"
    if last == "だ":
        return "形容動詞"
    return _GODAN.get(last)


def _by_ending_ru(word: str) -> str | None:
    if len(word) > 2 and word[-2] == "う":
        return "うる" if word[-3] in _I_E else None  # ありうる; 見うる and ほうる are asked for
    if word[-2] in _A_U_O:
        return _GODAN["る"]
    # A kanji, then い or え, then る: 一段 without exception, where IPADIC may offer a literary 五段 (駆ける).
    return "一段" if word[-2] in _I_E and len(word) > 2 and word[-3] >= "一" else None


def _ask(word: str) -> str:
    """What IPADIC says of the last word of the text; the bare word may be taken for another, a sentence seldom."""
    if not word:
        return ""
    from nikawa.text.analysers import analyser

    ja = analyser("ja")
    for text in (word, f"人が{word}。", f"物を{word}。"):
        for token in reversed(ja.analyse(text)):
            if token.ctype and word.endswith(token.base) and token.surface == token.base:
                return token.ctype
    return ""
