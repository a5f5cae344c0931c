"""The messages of pages by language: one TOML file per language, with the same keys."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from types import MappingProxyType
from typing import Any

LANGUAGES = ("ja", "ko", "en")


@cache
def read_messages(package: str, folder: str, language: str) -> Mapping[str, str]:
    """The messages `folder/LANGUAGE.toml` of a package; other languages get English."""
    chosen = language if language in LANGUAGES else "en"
    text = (files(package) / folder / f"{chosen}.toml").read_text("utf-8")
    return MappingProxyType(tomllib.loads(text))


def fill_message(
    messages: Mapping[str, str], key: str, values: Mapping[str, Any] | None = None
) -> str:
    """A message with its values filled in; an unknown key is returned as it is.

    >>> fill_message({"left": "{left} left"}, "left", {"left": 3})
    '3 left'
    """
    text = messages.get(key, key)
    names = {name for _, name, _, _ in Formatter().parse(text) if name}
    if not names:
        return text
    known = values or {}
    return text.format(**{name: known.get(name, "") for name in names})


def accepted_language(header: str, default: str) -> str:
    """The first of our languages that a browser's Accept-Language names.

    >>> accepted_language("fr;q=0.9, ko-KR", "ja")
    'ko'
    """
    for part in header.split(","):
        tag = part.split(";")[0].strip().lower()[:2]
        if tag in LANGUAGES:
            return tag
    return default
