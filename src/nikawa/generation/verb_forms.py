"""Whether the forms a verb has in a problem are forms of one verb.

Where the dictionary form is shown, the other forms are computed from it. Elsewhere the dictionary forms that could have
given the text are tried: a form is right when one of them is a verb of the dictionary and conjugates to it, wrong when
those of the dictionary conjugate otherwise or the text is another form of a verb. A verb that no dictionary has passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.text import Token

_ENDINGS = {
    "past": (
        ("した", ("す", "する")),
        ("いた", ("く",)),
        ("いだ", ("ぐ",)),
        ("んだ", ("む", "ぶ", "ぬ")),
        ("った", ("う", "つ", "る", "く")),
        ("うた", ("う",)),
        ("じた", ("ずる", "じる")),
        ("た", ("る",)),
    ),
    "te": (
        ("して", ("す", "する")),
        ("いて", ("く",)),
        ("いで", ("ぐ",)),
        ("んで", ("む", "ぶ", "ぬ")),
        ("って", ("う", "つ", "る", "く")),
        ("うて", ("う",)),
        ("じて", ("ずる", "じる")),
        ("て", ("る",)),
    ),
    "stem": (
        ("し", ("す", "する")),
        ("き", ("く",)),
        ("ぎ", ("ぐ",)),
        ("み", ("む",)),
        ("び", ("ぶ",)),
        ("に", ("ぬ",)),
        ("い", ("う", "る")),
        ("ち", ("つ",)),
        ("り", ("る",)),
        ("じ", ("ずる", "じる")),
        ("", ("る",)),
    ),
}
"""Form to endings and the endings the dictionary form may have had."""
_CLASSES = {"獲る": "五段・ラ行"}
"""The class of verbs the dictionary knows by their rarer reading alone: 獲る is とる before it is える."""
_STATES = {"progressive": ("いる", "te"), "progressive_past": ("いた", "te")}
"""Forms with an auxiliary: the auxiliary, and the form of the verb before it."""


def find_wrong_forms(forms: Mapping[str, str]) -> list[str]:
    """The texts that are not what their form's name says; `forms` maps forms of one verb to texts."""
    wrong = []
    for form, text in forms.items():
        name, core = form, text
        if form in _STATES:  # 住んでいる is 住んで with いる
            auxiliary, name = _STATES[form]
            core = text.removesuffix(auxiliary)
        if not _is_form(name, core, forms.get("dictionary")):
            wrong.append(text)
    return wrong


@lru_cache(maxsize=1 << 14)
def _is_form(form: str, text: str, base: str | None) -> bool:
    """Whether a text is that form of the verb `base`, or, without one, of a verb of the dictionary."""
    if form == "dictionary":
        return ends_in_verb(text)
    if base is not None:
        made = _conjugate(base, form)
        return made is None or _is_written_as(made, text)
    if form not in _ENDINGS:
        return True
    bases = _guess_bases(text, form)
    known = [word for word in bases if is_verb(word)]
    if known:
        return any(_is_written_as(_conjugate(word, form), text) for word in known)
    if not bases:
        return False
    # The text may be another form: 生ずるた holds 生ずる, 建て is the stem of 建てる.
    if form in ("past", "te") and is_verb(text[:-1]):
        return False
    return form != "te" or not any(
        is_verb(word) and _conjugate(word, "stem") == text for word in _guess_bases(text, "stem")
    )


def _is_written_as(made: str | None, text: str) -> bool:
    """Whether a form is the text; 来る is written きた as well as 来た."""
    return made is not None and text in (made, made.replace("来", "き"))


def _guess_bases(text: str, form: str) -> list[str]:
    """The dictionary forms that could have given the text."""
    bases = []
    if text.endswith(("きた", "来た", "きて", "来て")):
        bases.append(text[:-2] + "来る")
    for ending, base_endings in _ENDINGS[form]:
        if text.endswith(ending):
            stem = text[: len(text) - len(ending)]
            bases += [stem + base_ending for base_ending in base_endings]
    return bases


@cache
def is_verb(word: str) -> bool:
    """Whether the dictionary has the word as a verb in its dictionary form, compounds and Xする among them."""
    if word.endswith(("する", "来る")):
        return True
    # A compound has a verb's stem in front; a noun there means that the dictionary does not know the word.
    return ends_in_verb(word) and all(token.pos[0] == "動詞" for token in _analyse(word))


def ends_in_verb(word: str) -> bool:
    """Whether the word's last morpheme is a verb in its dictionary form."""
    last = _analyse(word)[-1:]
    return any(token.pos[0] == "動詞" and token.base == token.surface for token in last)


@cache
def _analyse(word: str) -> tuple[Token, ...]:
    from nikawa.text import analyser

    return analyser("ja").analyse(word)


def _conjugate(base: str, form: str) -> str | None:
    from nikawa.text.conjugation_ja import conjugate

    try:
        return conjugate(base, form, _CLASSES.get(base))
    except BadInput:
        return None
