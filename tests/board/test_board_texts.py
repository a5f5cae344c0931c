"""The messages of submitters and owners: the same keys and values in every language, and each is used."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from nikawa.board.words import account_messages, owner_messages
from nikawa.serve.languages import LANGUAGES

BOARD = Path(__file__).parents[2] / "src" / "nikawa" / "board"
PREFIXES = ("account_", "flag_", "reason_", "sign_up_", "state_", "submission_", "unit_")
"""What keys begin with that are put together from a state or a code."""


@pytest.mark.parametrize("read", [account_messages, owner_messages])
def test_every_language_has_the_same_keys_and_values(read: object) -> None:
    assert callable(read)
    tables = [read(language) for language in LANGUAGES]
    for table in tables[1:]:
        assert list(table) == list(tables[0])
        for key, text in table.items():
            wanted, found = (
                {name for _, name, _, _ in Formatter().parse(one) if name is not None}
                for one in (tables[0][key], text)
            )
            assert found == wanted, key


def test_every_message_is_used() -> None:
    files = [*BOARD.glob("*.py"), *BOARD.rglob("*.html"), *BOARD.rglob("*.js")]
    code = "".join(file.read_text("utf-8") for file in files)
    for key in (*account_messages("en"), *owner_messages("en")):
        is_named = re.search(rf"""["'`]{re.escape(key)}["'`]""", code) is not None
        assert is_named or key.startswith(PREFIXES), key
