"""Hangul and kana written in pieces."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.text.compose import compose_text, find_compositions

LETTERS = st.text(
    st.characters(min_codepoint=0x1100, max_codepoint=0x11FF)
    | st.characters(min_codepoint=0x3041, max_codepoint=0x30FF)
    | st.sampled_from("ᄀᄒ\u1161\u1175\u11a8\u11c2가갔힣かはハヽ\u3099\u309a"),
    max_size=12,
)
KEPT = st.text(st.sampled_from("e\u0301\ufa19\u212b가각ガ、 "), max_size=8)


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ("か\u3099っこうと\u30cf\u309aン", "がっこうとパン"),
        ("\u30fd\u3099 \u309d\u3099 \u30f2\u3099", "ヾ ゞ ヺ"),
        ("\u1107\u1161다\u1105\u1169 \u1100\u1161\u11bb다", "바다로 갔다"),
        ("\uac00\u11bb다", "갔다"),
        ("\u1100\u1100\u1161\u11a8\u11a8", "\u1100각\u11a8"),
        (
            "か\u309a, 갔\u11bb, 옛말 \u1112\u119e과 ㅋㅋ",
            "か\u309a, 갔\u11bb, 옛말 \u1112\u119e과 ㅋㅋ",
        ),
    ],
)
def test_pieces(pieces: str, whole: str) -> None:
    assert compose_text(pieces) == whole


@given(LETTERS)
def test_of_hangul_and_kana_it_is_nfc(text: str) -> None:
    assert compose_text(text) == normalize("NFC", text)


@given(KEPT)
def test_other_characters_stay(text: str) -> None:
    assert compose_text(text) == text


@given(LETTERS)
def test_the_places_of_compositions_make_the_same_text(text: str) -> None:
    made, end = "", 0
    for start, stop, whole in find_compositions(text):
        assert len(whole) == 1 < stop - start
        made, end = made + text[end:start] + whole, stop
    assert made + text[end:] == compose_text(text)
