"""(verb, case, noun) triples from Japanese text, by adjacency of morphemes or by a dependency parser.

By adjacency: a chain of noun and case particle, adverbs allowed between, up to a verb: 机に本をそっと置いた gives 置く with
ニ 机 and ヲ 本. The owner of an object (英語の本を) is kept as ノ~ヲ. Nouns that stand together are one noun. Passive and causative verbs are skipped, since their cases differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from nikawa.generation.frame_counts import Triple
from nikawa.text import Token

CASES = {
    "が": "ガ",
    "を": "ヲ",
    "に": "ニ",
    "で": "デ",
    "から": "カラ",
    "まで": "マデ",
    "へ": "ヘ",
    "と": "ト",
    "より": "ヨリ",
}
VOICE = frozenset({"れる", "られる", "せる", "させる"})
_NOUNS = frozenset({"一般", "サ変接続", "固有名詞", "形容動詞語幹", "接尾", "ナイ形容詞語幹"})
_SUFFIXES = frozenset({"一般", "地域", "サ変接続", "人名"})
_CASE_TAGS = frozenset({("格助詞", "一般"), ("副助詞", "*")})
_OWNER = "ノ"
"""Where the chain keeps a noun with の until the noun it belongs to is known."""
_LONGEST = 3
"""Morphemes in a compound: longer runs are mostly names and headings."""
_WORD = re.compile(r"[ぁ-ヿ一-鿿々ー]+")

Extractor = Callable[[Sequence[Token]], Iterator[Triple]]


def adjacent(tokens: Sequence[Token]) -> Iterator[Triple]:
    """The triples of one analysed text (IPADIC), by adjacency."""
    chain: dict[str, str] = {}
    i, end = 0, len(tokens)
    while i < end:
        kind = tokens[i].pos[0]
        if kind == "名詞":
            i, noun = _noun(tokens, i)
            i = _after_noun(tokens, i, noun, chain)
            if i < 0:
                i = -i
                yield from _flush(tokens, i, noun + "する", chain)
        elif kind == "動詞":
            if tokens[i].pos[1] == "自立":
                yield from _flush(tokens, i, tokens[i].base, chain)
            chain.clear()
            i += 1
        elif kind == "接頭詞":
            i += 1
        else:
            if kind != "副詞":
                chain.clear()
            i += 1


def _noun(tokens: Sequence[Token], i: int) -> tuple[int, str]:
    """Where the run of nouns ends, and the compound; empty where one of them is no content noun."""
    start = i
    good = i == 0 or tokens[i - 1].pos[0] != "接頭詞"
    while i < len(tokens) and tokens[i].pos[0] == "名詞":
        pos = tokens[i].pos
        if pos[1] not in _NOUNS or (pos[1] == "接尾" and (i == start or pos[2] not in _SUFFIXES)):
            good = False
        if i > start and tokens[i].start != tokens[i - 1].end:  # a blank between them: no one word
            good = False
        i += 1
    word = "".join(token.surface for token in tokens[start:i])
    return i, word if good and i - start <= _LONGEST and _WORD.fullmatch(word) else ""


def _after_noun(tokens: Sequence[Token], i: int, noun: str, chain: dict[str, str]) -> int:
    """Take a case particle into the chain; a negative index says that する follows: the noun is the verb."""
    if i >= len(tokens):
        return i
    token, owner = tokens[i], chain.pop(_OWNER, "")
    if token.surface == "の" and token.pos[1] == "連体化":
        chain[_OWNER] = noun
        return i + 1
    if token.surface in CASES and token.pos[0] == "助詞" and token.pos[1:3] in _CASE_TAGS:
        _extend(chain, CASES[token.surface], noun, owner)
        return i + 1
    if (
        token.pos[0] == "動詞"
        and token.base == "する"
        and noun
        and tokens[i - 1].pos[1] == "サ変接続"
    ):
        return -i
    chain.clear()
    return i


def _extend(chain: dict[str, str], case: str, noun: str, owner: str) -> None:
    if case in chain:
        chain.clear()
    chain[case] = noun
    if case == "ヲ" and owner:
        chain["ノ~ヲ"] = owner


def _flush(tokens: Sequence[Token], i: int, verb: str, chain: dict[str, str]) -> Iterator[Triple]:
    """Give the chain to the verb at `i` unless it is passive or causative."""
    voice = i + 1 < len(tokens) and tokens[i + 1].pos[0] == "動詞" and tokens[i + 1].base in VOICE
    chain.pop(_OWNER, None)
    if not voice and _WORD.fullmatch(verb):
        for case, noun in chain.items():
            if noun:
                yield verb, case, noun
    chain.clear()


def parsed(tokens: Sequence[Token]) -> Iterator[Triple]:
    """The triples of one text analysed with heads (GiNZA)."""
    children: dict[int, list[int]] = {}
    for i, token in enumerate(tokens):
        if token.head is not None and token.head != i:
            children.setdefault(token.head, []).append(i)
    for i, token in enumerate(tokens):
        if token.pos[0] == "名詞" and token.head is not None and token.head != i:
            cases = [tokens[c] for c in children.get(i, ()) if tokens[c].deprel == "case"]
            if (
                len(cases) == 1
                and cases[0].surface in CASES
                and (verb := _governor(tokens, token.head, children))
            ):
                noun = _compound(tokens, i, children)
                if _WORD.fullmatch(noun):
                    yield verb, CASES[cases[0].surface], noun


def _governor(tokens: Sequence[Token], i: int, children: dict[int, list[int]]) -> str:
    """The verb at `i`, empty where it is none or not in the active voice."""
    helpers = [
        tokens[c]
        for c in children.get(i, ())
        if tokens[c].deprel in ("aux", "aux:pass", "compound")
    ]
    if any(h.base in VOICE for h in helpers):
        return ""
    if tokens[i].pos[0] == "動詞":
        return tokens[i].base
    light = any(h.base == "する" and h.pos[0] == "動詞" for h in helpers)
    return tokens[i].surface + "する" if light and tokens[i].pos[0] == "名詞" else ""


def _compound(tokens: Sequence[Token], i: int, children: dict[int, list[int]]) -> str:
    parts = [c for c in children.get(i, ()) if tokens[c].deprel == "compound" and c < i]
    first = min(parts, default=i)
    return (
        "".join(token.surface for token in tokens[first : i + 1])
        if len(parts) == i - first
        and all(a.end == b.start for a, b in pairwise(tokens[first : i + 1]))
        else tokens[i].surface
    )


def sentences_in(tokens: Iterable[Token]) -> int:
    """How many sentences a text has: the ends it marks, and what is left after the last one."""
    ends, open_ = 0, False
    for token in tokens:
        if token.surface in "。！？!?":
            ends += open_
            open_ = False
        else:
            open_ = True
    return ends + open_
