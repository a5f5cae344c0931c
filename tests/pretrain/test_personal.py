"""Placeholders, and reserved words that a text holds by itself."""

from __future__ import annotations

import pytest

from nikawa.pretrain.personal_data import RESERVED, STAND_INS, lower_reserved, put_placeholders


def test_stand_ins_become_pieces() -> None:
    assert put_placeholders("<email> と <url><phone>、<b>") == "[EMAIL] と [URL][PHONE]、<b>"
    assert set(STAND_INS.values()) < set(RESERVED)


@pytest.mark.parametrize("word", RESERVED)
def test_a_reserved_word_of_the_text_itself_is_none(word: str) -> None:
    assert lower_reserved(f"その {word} は[0]番") == f"その {word.lower()} は[0]番"
