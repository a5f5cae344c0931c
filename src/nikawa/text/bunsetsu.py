"""Bunsetsu: the phrases of Japanese, a content word with what follows it, from tokens with UniDic's tags.

A token begins a bunsetsu if it is a content word, unless it belongs to the one before it: nouns in a row are a compound, a
prefix goes with the next word, and する after a noun, auxiliary verbs after て and suffixes go with what they follow. Opening
brackets go with the next word, all other marks with the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.text.protocol import Token

CONTENT = (
    "名詞",
    "代名詞",
    "動詞",
    "形容詞",
    "形状詞",
    "副詞",
    "連体詞",
    "接続詞",
    "感動詞",
    "接頭辞",
)
NOUNS = ("名詞", "代名詞", "接頭辞", "接尾辞", "形状詞")
OPENING = "「『（(［[｛{〈《【〔“‘"
DEPENDENT = "非自立可能"
"""The tag of words that may follow another without a meaning of their own: する, いる, もらう, ない."""


def list_bunsetsu(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of a sentence, bunsetsu by bunsetsu.

    >>> def token(surface, *pos): return Token(surface, surface, pos)
    >>> tokens = [token("犬", "名詞"), token("が", "助詞", "格助詞"), token("走る", "動詞", "一般"), token("。", "補助記号")]
    >>> ["".join(one.surface for one in phrase) for phrase in list_bunsetsu(tokens)]
    ['犬が', '走る。']
    """
    phrases: list[list[Token]] = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        if not phrases or begins_bunsetsu(token, before):
            phrases.append([])
        phrases[-1].append(token)
    return phrases


def begins_bunsetsu(token: Token, before: Token | None) -> bool:
    """Whether a token begins a bunsetsu after another token."""
    if before is None:
        return True
    if before.surface in OPENING:
        return False
    if token.surface in OPENING:
        return True
    kind = token.pos[0] if token.pos else ""
    if kind not in CONTENT:
        return False
    last = before.pos[0] if before.pos else ""
    if last == "接頭辞":
        return False
    if kind in NOUNS and last in NOUNS and "副詞可能" not in before.pos:
        return False
    if DEPENDENT in token.pos and kind in ("動詞", "形容詞"):
        follows_te = before.surface in ("て", "で", "ちゃ") and "接続助詞" in before.pos
        is_suru = token.base in ("する", "為る", "できる", "出来る") and last in (
            "名詞",
            "接尾辞",
            "形状詞",
        )
        return not (follows_te or is_suru or last in ("動詞", "形容詞", "助動詞"))
    return not (kind == "動詞" and last == "動詞")


def list_phrases(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Each bunsetsu as written, with its tokens."""
    for phrase in list_bunsetsu(tokens):
        yield "".join(token.surface for token in phrase), phrase
