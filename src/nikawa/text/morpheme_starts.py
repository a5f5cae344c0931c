"""Where morphemes begin, and nothing else: MeCab's own short output is several times as fast as
whole tokens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from nikawa.text.analysers import DEFAULTS, analyser
from nikawa.text.engine import check_text, find_cuts, require, space_for_mecab

_MECAB = {
    "ipadic": ("ipadic", "ja"),
    "unidic": ("unidic_lite", "ja-unidic"),
    "juman": ("jumandic", "ja-juman"),
}
"""Analysers that are MeCab with a dictionary package, and the extra that brings it."""


def find_starts(texts: Sequence[str], name: str) -> list[list[int]]:
    """For each text the places, ascending, at which a morpheme begins, by the analyser called
    `name` (or of a language).

    The same as the starts of `analyse`, less those of Korean morphemes that share a character with
    the one before.
    """
    name = DEFAULTS.get(name, name)
    if name in _MECAB:
        parse = _mecab_splitter(name)
        return [find_starts_by_mecab(text, parse) for text in texts]
    all_starts = []
    for tokens in analyser(name, cache=0).analyse_many(texts):
        starts, end = [], 0
        for token in tokens:
            if token.start >= end:
                starts.append(token.start)
            end = max(end, token.end)
        all_starts.append(starts)
    return all_starts


@cache
def _mecab_splitter(name: str) -> Callable[[str], str]:
    """MeCab that writes words with blanks between them, loaded once."""
    package, extra = _MECAB[name]
    folder = require(package, extra).DICDIR
    tagger: Any = require("fugashi", extra).GenericTagger
    parse = tagger(f'-r {os.devnull} -d "{folder}" -O wakati').parse
    return lambda text: str(parse(text))


def find_starts_by_mecab(text: str, parse: Callable[[str], str]) -> list[int]:
    """The starts of one text.

    `parse` is MeCab with the output `wakati`, words with blanks between them.
    """
    check_text(text)
    safe, starts = space_for_mecab(text), list[int]()
    for first, last in pairwise(find_cuts(text)):
        end = first
        for word in filter(None, parse(safe[first:last]).rstrip("\n").split(" ")):
            start = safe.find(word, end)
            end = start + len(word)
            starts.append(start)
    return starts
