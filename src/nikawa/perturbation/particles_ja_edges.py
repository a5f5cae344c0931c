"""Where a Japanese clause begins: the left edge of the subject phrase that a rewrite moves or passes over.

Adverbials without a comma go with the subject, as in the published JSICK sets (庭で狐が). A bracket, a conjunction, a
subordinate clause or another subject stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.perturbation.particles_ja_phrases import PREDICATES, STOPS, Phrase
from nikawa.text import Token

_SPANS = frozenset({"間", "あいだ"})
"""Nouns of time that IPADIC does not know as such."""
_BOUND = frozenset({"接尾", "非自立", "副詞可能"})
_PREDICATIVE = frozenset({"動詞", "形容詞", "助動詞"})


def brackets(tokens: Sequence[Token]) -> list[int]:
    """For each token the innermost bracket still open after it, or -1."""
    stack: list[int] = []
    found: list[int] = []
    for i, token in enumerate(tokens):
        if token.pos[1] == "括弧開":
            stack.append(i)
        elif token.pos[1] == "括弧閉" and stack:
            stack.pop()
        found.append(stack[-1] if stack else -1)
    return found


def adverbial(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether a time or number stands alone before the noun phrase: 毎朝新聞を, 一頭、草原を; not 夏祭りを, 明日の新聞を."""
    i = first
    while i < end and (_timely(tokens[i]) or _counts(tokens[i])):
        i += 1
    if i in (first, end):
        return False
    last, after = tokens[i - 1], tokens[i]
    if after.pos[1] == "読点":
        return any(token.pos[1] != "数" for token in tokens[first:i])
    opens = after.pos[0] in ("接頭詞", "連体詞") or (
        after.pos[0] == "名詞" and after.pos[1] not in _BOUND
    )
    return opens and _timely(last) and len(last.surface) > 1


def _timely(token: Token) -> bool:
    """A noun that may stand as an adverb; 後 of 後輪 is none."""
    return token.pos[1] == "副詞可能" or tuple(token.pos[1:3]) == ("接尾", "副詞可能")


def _counts(token: Token) -> bool:
    return token.pos[1] in ("数", "数接続") or "助数詞" in token.pos[1:3]


class Edges:
    """The left edges within one analysis."""

    def __init__(self, tokens: Sequence[Token], phrases: Sequence[Phrase]) -> None:
        self.tokens, self.phrases = tokens, phrases
        self.open = brackets(tokens)

    def start(self, k: int, floor: int) -> int:
        """The token that the subject closed by phrase k starts with; `floor` is the last phrase already used, or 0."""
        p = self.phrases[k].end - 1
        return max(self._start(k, floor, p), self.open[p] + 1, self._behind_quotation(k))

    def _start(self, k: int, floor: int, p: int) -> int:
        edge = None
        between = False  # whether a predicate stands between phrase i and the subject
        for i in range(k, floor - 1, -1):
            phrase = self.phrases[i]
            same = self.open[phrase.end - 1] == self.open[p]
            if self._opens_with_time(i) and self.open[phrase.first] == self.open[p]:
                return phrase.first + 1
            if i == k:
                continue
            if same and self._stops(i, between):
                return self.phrases[i + 1].first
            if same and phrase.comma and phrase.kind == "subject":
                return self.phrases[i + 1 if edge is None else edge].first
            if same and phrase.kind in PREDICATES and edge is None:
                edge = i + 1
            between = between or self.predicative(i)
        return self.phrases[floor + 1 if floor else 0].first

    def _behind_quotation(self, k: int) -> int:
        """The token after a bracket that closes a whole sentence, or nothing, right before the subject: 「雨だ。」狐が."""
        phrase = self.phrases[k]
        for t in range(phrase.end - 1, phrase.first - 1, -1):
            if self.tokens[t].pos[1] == "括弧閉" and (
                t == 0 or self.tokens[t - 1].surface in STOPS
            ):
                return t + 1
        return 0

    def _stops(self, i: int, between: bool) -> bool:
        """Whether the clause begins after phrase i whatever stands before that."""
        phrase = self.phrases[i]
        if phrase.kind in PREDICATES or phrase.kind == "modifier":
            return phrase.comma or (
                phrase.kind in PREDICATES and (not between or self._conditional(phrase))
            )
        if phrase.kind == "link":
            return self._conjunction(i)
        if phrase.kind == "subject":
            return not phrase.comma and (phrase.mark == "は" or not between)
        return phrase.comma and self._pauses(phrase, between)

    def _conditional(self, phrase: Phrase) -> bool:
        """… ば, たら, と, ので."""
        return phrase.kind == "if" or self.tokens[phrase.end - 1].cform == "仮定形"

    def _pauses(self, phrase: Phrase, between: bool) -> bool:
        """Whether a comma after the phrase sets it apart: 昨日、 and 庭で、 but not 赤、青の; a full stop always does."""
        if self.tokens[phrase.end].surface in STOPS:
            return True
        if phrase.kind == "list":
            noun = self.tokens[phrase.end - 1]
            return "副詞可能" in noun.pos[1:3] or noun.surface in _SPANS
        return not between

    def _conjunction(self, i: int) -> bool:
        """しかし at the head of a clause; not そして or または between nouns."""
        if i == 0:
            return not any(t.pos[0] == "名詞" for t in self.tokens[: self.phrases[0].end])
        before = self.phrases[i - 1]
        alone = self.phrases[i].end - self.phrases[i].first == 1
        return alone and (before.kind in PREDICATES or (before.comma and before.kind != "list"))

    def _opens_with_time(self, i: int) -> bool:
        """とき or 間 of a clause before, without a comma: 来たとき / 狸が."""
        first, before = self.phrases[i].first, self.phrases[i - 1]
        if (
            i == 0
            or before.kind != "modifier"
            or not before.verbal
            or first + 1 >= self.phrases[i].end
        ):
            return False
        noun, after = self.tokens[first], self.tokens[first + 1]
        timely = tuple(noun.pos[1:3]) == ("非自立", "副詞可能") or noun.surface in _SPANS
        return timely and after.pos[0] != "助詞"

    def predicative(self, i: int) -> bool:
        """Whether phrase i holds a predicate, which a subject before it may be that of."""
        phrase = self.phrases[i]
        return any(token.pos[0] in _PREDICATIVE for token in self.tokens[phrase.first : phrase.end])
