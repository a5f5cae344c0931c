"""Starts of morphemes alone are those of the whole analysis."""

from __future__ import annotations

import pytest

from nikawa.errors import BadInput
from nikawa.text import analyser
from nikawa.text.morpheme_starts import find_starts

TEXTS = ["庭師は港で手紙を拾った。", "", "  a\u3000b\r\nÐ c ", "駅の 時計", "長い文。" * 3000]


@pytest.mark.parametrize("name", ["ja", "unidic", "juman"])
def test_japanese_is_the_same_as_the_analysis(name: str) -> None:
    whole = [[token.start for token in tokens] for tokens in analyser(name).analyse_many(TEXTS)]
    assert find_starts(TEXTS, name) == whole


@pytest.mark.parametrize("name", ["ko", "mecab-ko"])
def test_korean_contractions_begin_once(name: str) -> None:
    (places,) = find_starts(["선장은 노래를 했다."], name)
    assert places == sorted(set(places))
    assert {0, 2, 4, 8, 9} <= set(places)


def test_a_nul_is_refused() -> None:
    with pytest.raises(BadInput, match="NUL"):
        find_starts(["a\0b"], "ja")
