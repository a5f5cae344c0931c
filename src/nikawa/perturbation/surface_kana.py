"""Kana script: words of one kana written in the other, as manga, menus and children's books do."""

from __future__ import annotations

import re

from nikawa.perturbation._surface import surface_perturbation
from nikawa.perturbation.base import analyse_text, replace_stretches
from nikawa.text import Analyser, Token

_KATAKANA = re.compile("(?<![ヵ-ヺヽ-ヿ])[ァ-ヴー]{2,}(?![ヵ-ヺヽ-ヿ])")
_HIRAGANA = re.compile("[ぁ-ゔー]{2,}")
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F5)}
_TO_KATAKANA = {hiragana: katakana for katakana, hiragana in _TO_HIRAGANA.items()}
_NOUNS = frozenset({"一般", "固有名詞", "形容動詞語幹", "サ変接続"})


def write_hiragana(text: str, _: Analyser) -> str:
    """The text with its katakana words in hiragana.

    >>> write_hiragana("カメラを持つ", None)
    'かめらを持つ'
    """
    return _KATAKANA.sub(lambda match: match[0].translate(_TO_HIRAGANA), text)


def write_katakana(text: str, analyser: Analyser) -> str:
    """The text with its hiragana content words in katakana; verbs keep their endings (カブって)."""
    if not _HIRAGANA.search(text):
        return text
    stretches = []
    for token in analyse_text(text, analyser):
        word = _changeable_part(token)
        if _HIRAGANA.fullmatch(word):
            end = token.start + len(word)
            stretches.append((token.start, end, word.translate(_TO_KATAKANA)))
    return replace_stretches(text, stretches)


def _changeable_part(token: Token) -> str:
    """The part of a content word that may change script, which is the stem of a verb.

    Other words give "".
    """
    word, kind = token.pos[0], token.pos[1]
    if word == "動詞" and kind == "自立":
        longest = min(len(token.surface), len(token.base) - 1)
        same = 0
        while same < longest and token.surface[same] == token.base[same]:
            same += 1
        return token.surface[:same]
    is_noun = word == "名詞" and kind in _NOUNS
    is_adjective = word == "形容詞" and kind == "自立"
    return token.surface if is_noun or is_adjective or word == "副詞" else ""


PERTURBATIONS = (
    surface_perturbation(
        "kana-hiragana", "ja", "write katakana words in hiragana (かめら)", write_hiragana
    ),
    surface_perturbation(
        "kana-katakana",
        "ja",
        "write hiragana content words in katakana (リンゴ)",
        write_katakana,
        ("ipadic",),
    ),
)
