"""Whether the forms a verb has in a problem are forms of one verb.

Where the dictionary form is shown, the other forms are computed from it. Elsewhere the dictionary forms that could have
given the text are tried: a form is right when one of them is a verb of the dictionary and conjugates to it, wrong when
those of the dictionary conjugate otherwise or the text is another form of a verb. A verb no dictionary has is let pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.text import Token

_ROWS = {
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
_STATE = {"progressive": ("いる", "te"), "progressive_past": ("いた", "te")}


def find_wrong_forms(shown: Mapping[str, str]) -> list[str]:
    """The texts that are not what their form's name says; `shown` maps forms of one verb to texts."""
    plain = dict(_taken_apart(shown))
    base = shown.get("dictionary")
    return [text for form, (text, core) in plain.items() if not _right(form, core, base)]


def _taken_apart(shown: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Form to (text, the inflected word in it): 住んでいる is 住んで with いる."""
    for form, text in shown.items():
        auxiliary, _ = _STATE.get(form, ("", ""))
        yield (
            form,
            (
                text,
                text.removesuffix(auxiliary) if auxiliary and text.endswith(auxiliary) else text,
            ),
        )


@lru_cache(maxsize=1 << 14)
def _right(form: str, text: str, base: str | None) -> bool:
    name = _STATE.get(form, ("", form))[1]
    if name == "dictionary":
        return ends_in_verb(text)
    if base is not None:
        made = _made(base, name)
        return made is None or _written_as(made, text)
    if name not in _ROWS:
        return True
    tried = list(_candidates(text, name))
    known = [word for word in tried if is_verb(word)]
    if known:
        return any(_written_as(_made(word, name), text) for word in known)
    return bool(tried) and not _other_form(text, name)


def _written_as(made: str | None, text: str) -> bool:
    """Whether a form is the text; 来る is written きた as well as 来た."""
    return made is not None and text in (made, made.replace("来", "き"))


def _candidates(text: str, form: str) -> Iterator[str]:
    if text.endswith(("きた", "来た", "きて", "来て")):
        yield text[:-2] + "来る"
    for ending, originals in _ROWS[form]:
        if text.endswith(ending):
            stem = text[: len(text) - len(ending)]
            yield from (stem + original for original in originals)


def _other_form(text: str, form: str) -> bool:
    """Whether the text is another form of a verb of the dictionary: 生ずるた holds 生ずる, 建て is the stem of 建てる."""
    if form in ("past", "te") and is_verb(text[:-1]):
        return True
    return form == "te" and any(
        is_verb(word) and _made(word, "stem") == text for word in _candidates(text, "stem")
    )


@cache
def is_verb(word: str) -> bool:
    """Whether the dictionary has the word as a verb in its dictionary form, compounds and Xする among them."""
    if word.endswith(("する", "来る")):
        return True
    # A compound has a verb's stem in front; a noun there means that the dictionary does not know the word.
    return ends_in_verb(word) and all(token.pos[0] == "動詞" for token in _tokens(word))


def ends_in_verb(word: str) -> bool:
    """Whether the word's last morpheme is a verb in its dictionary form."""
    last = _tokens(word)[-1:]
    return any(token.pos[0] == "動詞" and token.base == token.surface for token in last)


@cache
def _tokens(word: str) -> tuple[Token, ...]:
    from nikawa.text import analyser

    return analyser("ja").analyse(word)


def _made(base: str, form: str) -> str | None:
    from nikawa.text.conjugate import conjugate

    try:
        return conjugate(base, form, _CLASSES.get(base))
    except BadInput:
        return None
