"""The messages of visitors' pages: the same keys and values in each language, each used."""

from __future__ import annotations

import re

import pytest
from tests.contracts.test_page_languages import ALLOWED, check_words

from nikawa.board.records import Withheld
from nikawa.board.words import page_messages
from nikawa.serve.languages import LANGUAGES

FORMATS = {"HTML"}
"""Names that are the same in each language."""


def test_messages_have_the_same_keys_and_values_in_all_languages() -> None:
    tables = {language: page_messages(language) for language in LANGUAGES}
    assert set(tables["ja"]) == set(tables["ko"]) == set(tables["en"])
    for key in tables["en"]:
        values = {tuple(sorted(set(re.findall(r"\{(\w+)\}", t[key])))) for t in tables.values()}
        assert len(values) == 1 or key.endswith("_one"), key
        assert all(table[key].strip() for table in tables.values())


def test_every_reason_has_its_sentence() -> None:
    for reason in Withheld.__args__:  # type: ignore[attr-defined]
        assert {f"reason_{reason}", f"short_{reason}", f"compare_{reason}"} <= set(
            page_messages("en")
        )


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_messages_are_in_their_language(language: str) -> None:
    faults = [
        fault
        for key, text in page_messages(language).items()
        for fault in check_words(language, key, text)
        if not any(f"'{word}' is English" in fault for word in FORMATS | ALLOWED)
    ]
    assert faults == []
