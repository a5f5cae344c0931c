"""Punctuation that may stand or be missing: the last full stop, and commas where nothing hangs on them.

A Japanese comma goes where a particle stands before it and no kana after it (ここで、はきもの is not ここではきもの); a Korean one where
a connective ending stands before it. One is put behind the first topic は. Commas of lists and questions stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nikawa.perturbation._surface import replace_stretches, surface_perturbation
from nikawa.perturbation.base import analyse_text
from nikawa.text import Analyser, Token

_KANA = ("\u3041", "\u3097")
_HOLDS = ("助動詞", "記号", "助詞")


def _drop_ja(text: str, analyser: Analyser) -> str:
    tokens = analyse_text(text, analyser) if "、" in text else ()
    commas = [
        (token.start, token.end, "")
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.surface == "、" and _needless(before, after)
    ]
    return _without_stop(replace_stretches(text, commas), "。")


def _needless(before: Token, after: Token) -> bool:
    particle = before.pos[0] == "助詞" and before.pos[1] != "並立助詞"
    return particle and not _KANA[0] <= after.surface[0] < _KANA[1] and after.pos[0] != "記号"


def _drop_ko(text: str, analyser: Analyser) -> str:
    tokens = analyse_text(text, analyser) if "," in text else ()
    commas = [
        (token.start, token.end, "")
        for before, token in pairwise(tokens)
        if token.surface == "," and before.pos[0] == "EC" and text[token.end : token.end + 1] == " "
    ]
    return _without_stop(replace_stretches(text, commas), ".")


def _without_stop(text: str, stop: str) -> str:
    """The text without its last full stop; … and other rows of stops are something else."""
    kept = text.rstrip()
    alone = kept.endswith(stop) and not kept.endswith(stop * 2)
    return kept.removesuffix(stop) if alone else text


def _add_ja(text: str, analyser: Analyser) -> str:
    topic = _topic(analyse_text(text, analyser)) if "は" in text else None
    return _with_stop(text if topic is None else f"{text[:topic]}、{text[topic:]}", "。")


def _topic(tokens: Sequence[Token]) -> int | None:
    """Where the first topic ends; not in ではない, nor where a pause stands already."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.surface == "は" and token.pos[1] == "係助詞":
            bound = before.pos[0] != "名詞" or after.pos[0] in _HOLDS or after.pos[1] == "非自立"
            return None if bound else token.end
    return None


def _add_ko(text: str, _: Analyser) -> str:
    return _with_stop(text, ".")


def _with_stop(text: str, stop: str) -> str:
    return text + stop if text[-1:].isalpha() else text


PERTURBATIONS = (
    surface_perturbation(
        "punctuation-drop",
        "ja",
        "drop the last 。 and commas after particles",
        _drop_ja,
        ("ipadic",),
    ),
    surface_perturbation(
        "punctuation-add", "ja", "add a last 。 and a comma after the topic", _add_ja, ("ipadic",)
    ),
    surface_perturbation(
        "punctuation-drop",
        "ko",
        "drop the last full stop and commas between clauses",
        _drop_ko,
        ("kiwi",),
    ),
    surface_perturbation("punctuation-add", "ko", "add a last full stop", _add_ko),
)
