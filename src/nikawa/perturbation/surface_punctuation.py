"""Optional punctuation: the last full stop, and commas that do not change the meaning.

A Japanese comma is dropped if a particle is before it and no kana after it (ここで、はきもの is not
ここではきもの), a Korean one if a connective ending is before it. A comma is added after the first topic
は. Commas of lists and questions stay.
"""

from __future__ import annotations

from itertools import pairwise

from nikawa.perturbation._surface import surface_perturbation
from nikawa.perturbation.base import analyse_text, replace_stretches
from nikawa.text import Analyser

_FIRST_KANA, _AFTER_KANA = "\u3041", "\u3097"
_BOUND = ("助動詞", "記号", "助詞")
"""What may not follow the topic where a comma is put."""


def drop_ja(text: str, analyser: Analyser) -> str:
    """The Japanese text without its last 。 and without the commas after particles."""
    tokens = analyse_text(text, analyser) if "、" in text else ()
    commas = []
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_after_particle = before.pos[0] == "助詞" and before.pos[1] != "並立助詞"
        is_before_kana = _FIRST_KANA <= after.surface[0] < _AFTER_KANA
        is_needless = is_after_particle and not is_before_kana and after.pos[0] != "記号"
        if token.surface == "、" and is_needless:
            commas.append((token.start, token.end, ""))
    return drop_stop(replace_stretches(text, commas), "。")


def drop_ko(text: str, analyser: Analyser) -> str:
    """The Korean text without its last full stop and without the commas between clauses."""
    tokens = analyse_text(text, analyser) if "," in text else ()
    commas = []
    for before, token in pairwise(tokens):
        is_between_clauses = before.pos[0] == "EC" and text[token.end : token.end + 1] == " "
        if token.surface == "," and is_between_clauses:
            commas.append((token.start, token.end, ""))
    return drop_stop(replace_stretches(text, commas), ".")


def drop_stop(text: str, stop: str) -> str:
    """The text without its last full stop; … and other rows of stops are something else."""
    kept = text.rstrip()
    is_alone = kept.endswith(stop) and not kept.endswith(stop * 2)
    return kept.removesuffix(stop) if is_alone else text


def add_ja(text: str, analyser: Analyser) -> str:
    """The Japanese text with a comma after its first topic and a 。 at its end.

    ではない gets no comma, and neither does a topic that a pause follows already.
    """
    if "は" not in text:
        return add_stop(text, "。")
    tokens = analyse_text(text, analyser)
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.surface == "は" and token.pos[1] == "係助詞":
            is_bound = after.pos[0] in _BOUND or after.pos[1] == "非自立"
            if before.pos[0] == "名詞" and not is_bound:
                text = f"{text[: token.end]}、{text[token.end :]}"
            break
    return add_stop(text, "。")


def add_stop(text: str, stop: str) -> str:
    """The text with a full stop, where it ends in a letter."""
    return text + stop if text[-1:].isalpha() else text


PERTURBATIONS = (
    surface_perturbation(
        "punctuation-drop",
        "ja",
        "drop the last 。 and commas after particles",
        drop_ja,
        ("ipadic",),
    ),
    surface_perturbation(
        "punctuation-add", "ja", "add a last 。 and a comma after the topic", add_ja, ("ipadic",)
    ),
    surface_perturbation(
        "punctuation-drop",
        "ko",
        "drop the last full stop and commas between clauses",
        drop_ko,
        ("kiwi",),
    ),
    surface_perturbation(
        "punctuation-add", "ko", "add a last full stop", lambda text, _: add_stop(text, ".")
    ),
)
