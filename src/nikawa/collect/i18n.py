"""The words of the pages, by language: one TOML file each, with the same keys."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from types import MappingProxyType
from typing import Any

from nikawa.collect.form import LANGUAGES, Form


@cache
def messages(language: str) -> Mapping[str, str]:
    """All messages of a language; one we do not speak gets English."""
    chosen = language if language in LANGUAGES else "en"
    text = (files("nikawa.collect") / "messages" / f"{chosen}.toml").read_text("utf-8")
    return MappingProxyType(tomllib.loads(text))


def table(language: str, form: Form) -> dict[str, str]:
    """The messages of the pages and of a form."""
    return {**messages(language), **form.words.get(language, form.words.get("en", {}))}


def say(
    language: str, key: str, values: Mapping[str, Any] | None = None, form: Form | None = None
) -> str:
    """A message with its values filled in; a key nobody wrote a message for is shown as it is."""
    text = (messages(language) if form is None else table(language, form)).get(key, key)
    given = values or {}
    wanted = {name for _, name, _, _ in Formatter().parse(text) if name}
    return text.format(**{name: given.get(name, "") for name in wanted}) if wanted else text


def accepted(header: str, first: str) -> str:
    """The language of a browser's Accept-Language, `first` where it asks for none of ours."""
    for part in header.split(","):
        tag = part.split(";")[0].strip().lower()[:2]
        if tag in LANGUAGES:
            return tag
    return first
