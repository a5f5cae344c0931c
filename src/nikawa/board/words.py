"""The messages of a board's pages in the language of the reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nikawa.serve.languages import fill_message, read_messages

PACKAGE = "nikawa.board"


def page_messages(language: str) -> Mapping[str, str]:
    """The messages of the pages for visitors, and of what all pages share."""
    return read_messages(PACKAGE, "messages", language)


def account_messages(language: str) -> Mapping[str, str]:
    """The messages of the submitters' pages, and of refusals that they get."""
    return read_messages(PACKAGE, "messages/account", language)


def owner_messages(language: str) -> Mapping[str, str]:
    """The messages of the owner's pages; they are apart, so that no other page carries them."""
    return read_messages(PACKAGE, "messages/owner", language)


def say(language: str, key: str, values: Mapping[str, Any] | None = None) -> str:
    """A message with its values; whole numbers get separators, and a count of one its own sentence.

    >>> say("en", "items_count", {"count": 1}), say("en", "items_count", {"count": 2000})
    ('1 item', '2,000 items')
    """
    messages, known = page_messages(language), dict(values or {})
    if known.get("count") == 1 and f"{key}_one" in messages:
        key = f"{key}_one"
    shown = {
        name: f"{value:,}" if isinstance(value, int) else value for name, value in known.items()
    }
    return fill_message(messages, key, shown)
