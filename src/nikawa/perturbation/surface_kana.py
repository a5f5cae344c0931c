"""Kana script: words of one kana written in the other, as manga, menus and children's books do."""

from __future__ import annotations

import re

from nikawa.perturbation._surface import replace_stretches, surface_perturbation
from nikawa.perturbation.base import analyse_text
from nikawa.text import Analyser, Token

_KATAKANA = re.compile("(?<![ヵ-ヺヽ-ヿ])[ァ-ヴー]{2,}(?![ヵ-ヺヽ-ヿ])")
_HIRAGANA = re.compile("[ぁ-ゔー]{2,}")
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F5)}
_TO_KATAKANA = {hiragana: katakana for katakana, hiragana in _TO_HIRAGANA.items()}
_NOUNS = frozenset({"一般", "固有名詞", "形容動詞語幹", "サ変接続"})


def _hiragana(text: str, _: Analyser) -> str:
    return _KATAKANA.sub(lambda found: found[0].translate(_TO_HIRAGANA), text)


def _katakana(text: str, analyser: Analyser) -> str:
    if not _HIRAGANA.search(text):
        return text
    changes = []
    for token in analyse_text(text, analyser):
        word = _stem(token)
        if _HIRAGANA.fullmatch(word):
            changes.append((token.start, token.start + len(word), word.translate(_TO_KATAKANA)))
    return replace_stretches(text, changes)


def _stem(token: Token) -> str:
    """The part of a content word that may change script: カブって keeps its ending. "" for other words."""
    word, kind = token.pos[0], token.pos[1]
    if word == "動詞" and kind == "自立":
        same = 0
        while (
            same < min(len(token.surface), len(token.base) - 1)
            and token.surface[same] == token.base[same]
        ):
            same += 1
        return token.surface[:same]
    content = (
        (word == "名詞" and kind in _NOUNS)
        or (word == "形容詞" and kind == "自立")
        or word == "副詞"
    )
    return token.surface if content else ""


PERTURBATIONS = (
    surface_perturbation(
        "kana-hiragana", "ja", "write katakana words in hiragana (かめら)", _hiragana
    ),
    surface_perturbation(
        "kana-katakana",
        "ja",
        "write hiragana content words in katakana (リンゴ)",
        _katakana,
        ("ipadic",),
    ),
)
