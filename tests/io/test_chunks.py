"""Texts in stretches of a size."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from nikawa.io.chunks import by_characters


class Said(NamedTuple):
    text: str


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ("", []),
        ("a", [["a"]]),
        ("aa bb", [["aa", "bb"]]),
        ("aa bb cc", [["aa", "bb"], ["cc"]]),
        ("aaaaaaa b", [["aaaaaaa"], ["b"]]),
    ],
)
def test_a_stretch_ends_with_the_text_that_fills_it(texts: str, found: list[list[str]]) -> None:
    made = by_characters((Said(text) for text in texts.split()), 4)
    assert [[one.text for one in held] for held in made] == found
