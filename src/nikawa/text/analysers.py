"""The analysers by name, each loaded when it is first used."""

from __future__ import annotations

from functools import cache as once
from importlib import import_module
from typing import cast

import msgspec

from nikawa.errors import unknown
from nikawa.registry import Registry
from nikawa.text.engine import CACHE_CHARACTERS, LoadedAnalyser, SharedEngine, new_lock
from nikawa.text.protocol import Analyser, Engine


class AnalyserInfo(msgspec.Struct, frozen=True):
    """The facts about an analyser that do not need its packages."""

    name: str
    """The name to pass to `analyser`."""
    language: str
    """`ja`, `ko`, or "" for any."""
    extra: str
    """The extra that installs its packages, or "" if it needs none."""
    loader: str
    """`module:function` inside this package."""


ANALYSERS: Registry[AnalyserInfo] = Registry("analyser")
"""Every analyser, the default of each language first."""
DEFAULTS = {"ja": "ipadic", "ko": "kiwi"}
"""Language code to its default analyser."""
_NAMING = new_lock()

for _info in (
    AnalyserInfo("ipadic", "ja", "ja", "japanese:load_ipadic"),
    AnalyserInfo("unidic", "ja", "ja-unidic", "japanese:load_unidic"),
    AnalyserInfo("juman", "ja", "ja-juman", "japanese:load_juman"),
    AnalyserInfo("jumanpp", "ja", "", "jumanpp:load_jumanpp"),
    AnalyserInfo("sudachi", "ja", "ja-sudachi", "sudachi:load_sudachi"),
    AnalyserInfo("sudachi-a", "ja", "ja-sudachi", "sudachi:load_sudachi_a"),
    AnalyserInfo("ginza", "ja", "ja-ginza", "ginza:load_ginza"),
    AnalyserInfo("kiwi", "ko", "ko", "korean:load_kiwi"),
    AnalyserInfo("mecab-ko", "ko", "ko-mecab", "korean:load_mecab_ko"),
    AnalyserInfo("characters", "", "", "plain:load_characters"),
    AnalyserInfo("whitespace", "", "", "plain:load_whitespace"),
):
    ANALYSERS.add(_info.name, _info)


def analyser(name: str, *, cache: int = CACHE_CHARACTERS) -> Analyser:
    """The analyser called `name`, or the default of a language (`ja`, `ko`).

    The dictionary loads now, once per process. `cache` is the number of characters of text whose
    analyses are kept; 0 turns the cache off. Raises `MissingExtra` if its packages are not
    installed.

    >>> [token.surface for token in analyser("whitespace").analyse("곰이 잔다")]
    ['곰이', '잔다']
    """
    if not isinstance(name, str) or not isinstance(cache, int):
        what, wrong = ("name", name) if not isinstance(name, str) else ("cache", cache)
        raise TypeError(
            f"the {what} of an analyser cannot be {wrong!r}: write analyser('ja') or analyser('ja', cache=0)"
        )
    name = DEFAULTS.get(name, name)
    if name not in ANALYSERS:
        raise unknown("analyser", name, [*ANALYSERS, *DEFAULTS])
    with _NAMING:
        loaded = _named_analyser(name, cache)
    _shared_engine(name).run([])  # loads the dictionary now, not at the first text
    return loaded


def load_again(name: str, cache: int) -> Analyser:
    """The same in another process; see `LoadedAnalyser.__reduce__`."""
    return analyser(name, cache=cache)


@once
def _named_analyser(name: str, cache: int) -> LoadedAnalyser:
    return LoadedAnalyser(name, ANALYSERS[name].language, _shared_engine(name), cache)


@once
def _shared_engine(name: str) -> SharedEngine:
    """The engine that all analysers of this name use, whatever their caches.

    It is loaded at its first use.
    """

    def load() -> Engine:
        module, function = ANALYSERS[name].loader.split(":")
        return cast(Engine, getattr(import_module(f"nikawa.text.{module}"), function)())

    return SharedEngine(load)
