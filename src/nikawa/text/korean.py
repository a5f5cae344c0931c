"""Korean by Kiwi or by MeCab with mecab-ko-dic.

Kiwi takes contractions apart (했 is 하 and 었), so its tokens may share characters: `surface` is what the text has,
`form` the morpheme. mecab-ko keeps the contraction as one token whose `form` joins the parts: 하+았.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from nikawa.records import Span
from nikawa.text._engine import check, cuts, require, spaced
from nikawa.text.protocol import Engine, Token

_PREDICATES = {"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"}


def load_kiwi() -> Engine:
    """Kiwi, one text at a time: its own batches use threads, which hang after a fork."""
    tokenize = _kiwi().tokenize

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        for text in texts:
            yield [_from_kiwi(text, m) for m in tokenize(text)]

    return run


@cache
def _kiwi() -> Any:
    return require("kiwipiepy", "ko").Kiwi(num_workers=1)


def kiwi_sentences(text: str) -> list[Span]:
    """Kiwi's own sentence splitter; white space around a sentence is left out."""
    check(text)
    places = cuts(text)
    found = []
    for start, end in pairwise(places):
        found += [
            Span(start + s.start, start + s.end) for s in _kiwi().split_into_sents(text[start:end])
        ]
    return found


def joined(morphemes: list[tuple[str, str]]) -> str:
    """The text of (form, tag) morphemes, with the allomorphs and contractions they ask for."""
    return str(_kiwi().join(morphemes))


def _from_kiwi(text: str, m: Any) -> Token:
    start = m.start
    end = start + m.len
    tag, _, regular = m.tag.partition("-")
    base, form = _base(m.form, tag), m.form
    return Token(text[start:end], base, (tag,), "", regular, "", start, end, form, base)


def _base(form: str, tag: str) -> str:
    return form + "다" if tag in _PREDICATES else form


def load_mecab_ko() -> Engine:
    """MeCab with mecab-ko-dic."""
    parse = require("mecab", "ko-mecab").MeCab().parse

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        for text in texts:
            safe = spaced(text)
            yield _from_mecab(text, safe, parse(safe))

    return run


def _from_mecab(text: str, safe: str, found: Any) -> list[Token]:
    tokens, end = [], 0
    for m in found:
        # Its own spans are wrong where the text starts with white space.
        start = safe.find(m.surface, end)
        end = start + len(m.surface)
        tokens.append(_mecab_token(m.feature, text[start:end], start))
    return tokens


def _mecab_token(feature: Any, surface: str, start: int) -> Token:
    end = start + len(surface)
    pos = tuple(feature.pos.split("+"))
    parts = _parts(feature.expression) if feature.type == "Inflect" else []
    form = "+".join(parts) or surface
    base = _base(parts[0] if parts else surface, pos[0])
    notes = feature.expression or feature.semantic or ""
    return Token(surface, base, pos, "", "", "", start, end, form, base, notes)


def _parts(expression: str | None) -> list[str]:
    """The forms in `하/VV/*+았/EP/*`."""
    return [part.split("/")[0] for part in (expression or "").split("+") if part]
