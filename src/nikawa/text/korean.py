"""Korean by Kiwi or by MeCab with mecab-ko-dic.

Kiwi takes contractions apart (했 is 하 and 었), so its tokens may share characters: `surface` is what
the text has, `form` the morpheme. mecab-ko keeps the contraction as one token whose `form` joins
the parts: 하+았.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from nikawa.records import Span
from nikawa.text.engine import check_text, find_cuts, require, space_for_mecab
from nikawa.text.protocol import Engine, Token

_PREDICATES = {"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"}


def load_kiwi() -> Engine:
    """Kiwi, one text at a time: its own batches use threads, which hang after a fork."""
    tokenize = _kiwi().tokenize

    def analyse(text: str) -> list[Token]:
        tokens = []
        for m in tokenize(text):
            start, end = m.start, m.start + m.len
            tag, _, regular = m.tag.partition("-")
            base = _base(m.form, tag)
            tokens.append(
                Token(text[start:end], base, (tag,), "", regular, "", start, end, m.form, base)
            )
        return tokens

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        return map(analyse, texts)

    return run


@cache
def _kiwi() -> Any:
    return require("kiwipiepy", "ko").Kiwi(num_workers=1)


def split_by_kiwi(text: str) -> list[Span]:
    """Kiwi's own sentence splitter; white space around a sentence is left out."""
    check_text(text)
    spans = []
    for start, end in pairwise(find_cuts(text)):
        for sentence in _kiwi().split_into_sents(text[start:end]):
            spans.append(Span(start + sentence.start, start + sentence.end))
    return spans


def join_morphemes(morphemes: list[tuple[str, str]]) -> str:
    """The text of (form, tag) morphemes, with the allomorphs and contractions they ask for.

    [("돕", "VV-I"), ("었", "EP"), ("다", "EF")] gives 도왔다.
    """
    return str(_kiwi().join(morphemes))


def _base(form: str, tag: str) -> str:
    return form + "다" if tag in _PREDICATES else form


def load_mecab_ko() -> Engine:
    """MeCab with mecab-ko-dic."""
    parse = require("mecab", "ko-mecab").MeCab().parse

    def analyse(text: str) -> list[Token]:
        safe = space_for_mecab(text)
        tokens, end = [], 0
        for m in parse(safe):
            # Its own spans are wrong where the text starts with white space.
            start = safe.find(m.surface, end)
            end = start + len(m.surface)
            feature, surface = m.feature, text[start:end]
            pos = tuple(feature.pos.split("+"))
            forms = []
            if feature.type == "Inflect":  # 하/VV/*+았/EP/*
                parts = (feature.expression or "").split("+")
                forms = [part.split("/")[0] for part in parts if part]
            base = _base(forms[0] if forms else surface, pos[0])
            token = Token(
                surface,
                base,
                pos,
                start=start,
                end=end,
                form="+".join(forms) or surface,
                norm=base,
                notes=feature.expression or feature.semantic or "",
            )
            tokens.append(token)
        return tokens

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        return map(analyse, texts)

    return run
