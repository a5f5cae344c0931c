"""Japanese phrases by IPADIC's tags: what the rules on particles read of a sentence, and where the
subject of a clause begins.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

from nikawa.perturbation._particles import word_set
from nikawa.perturbation.base import Tokens
from nikawa.text import Token

STOPS = frozenset("。．.！？!?")
"""Marks that end a sentence."""
SUBJECTS = frozenset("がはも")
"""Particles of a subject, the topic's among them."""
ARGUMENTS = {"を": "o", "に": "ni", "で": "de"}
"""Particle to the name of its case."""

# Phrases: content words with the particles or endings that close them. The end of a phrase tells its kind; that is all the
# structure the rules need.

Kind = Literal[
    "subject",  # … が, は, も
    "argument",  # … を, に, で
    "case",  # another particle or several: へ, から, には
    "of",  # … の
    "list",  # … と, や, か, or a noun before a comma
    "modifier",  # before a noun: an adnominal predicate, a prenominal
    "adverb",
    "te",  # … て
    "while",  # … ながら
    "and",  # a predicate in its continuative form
    "if",  # another conjunctive particle: ば, ので, が
    "final",  # a predicate that ends a sentence
    "link",  # そして
    "bare",
]
Closing = tuple[Kind, str] | None
"""Kind and particle of the phrase that a token closes; None where it closes none."""
PREDICATES = frozenset({"te", "while", "and", "if", "final"})
"""Kinds of phrases that end in a predicate."""
_COMMAS = frozenset("、，,")
_CONJUGATED = frozenset({"動詞", "形容詞", "助動詞"})
_DEPENDENT = frozenset({"非自立", "接尾"})
_ADNOMINAL = frozenset({"基本形", "体言接続"})
"""Forms that come before a noun."""
_STAYING = frozenset({"いる", "ある", "おる", "しまう"})
"""Helpers after て that IPADIC may take for verbs of their own."""


_AFTER_TEWA = frozenset(
    {"なる", "いける", "だめ", "いい", "よい", "良い", "かまう", "構う", "いる", "ある", "おる"}
)
"""After ては and ても these make one predicate: してはならない."""


class Phrase(NamedTuple):
    """Tokens `first` to `end` (exclusive; a comma or full stop after them not counted)."""

    first: int
    end: int
    kind: Kind
    mark: str
    """Its particle, where it is a subject or argument."""
    comma: bool
    """Whether a comma or full stop follows."""
    verbal: bool
    """Whether it holds a verb."""

    @property
    def last(self) -> int:
        """Its last token, which is the particle of a subject or argument."""
        return self.end - 1


def find_phrases(tokens: Tokens) -> list[Phrase]:
    """The phrases of an analysis (IPADIC), in order."""
    phrases: list[Phrase] = []
    first, is_verbal = 0, False
    for i, token in enumerate(tokens):
        if token.pos[0] == "記号":
            is_stop = token.surface in STOPS
            if is_inside_word(tokens, i):
                continue
            if is_stop or token.surface in _COMMAS:
                if first < i:
                    kind: Kind = "bare" if is_stop else "list"
                    phrases.append(Phrase(first, i, kind, "", comma=True, verbal=is_verbal))
                elif phrases:
                    phrases[-1] = phrases[-1]._replace(comma=True)
                first, is_verbal = i + 1, False
            continue
        is_verbal = is_verbal or token.pos[0] == "動詞"
        closing = close_phrase(tokens, first, i)
        if closing is not None:
            phrases.append(Phrase(first, i + 1, *closing, comma=False, verbal=is_verbal))
            first, is_verbal = i + 1, False
    if first < len(tokens):
        phrases.append(Phrase(first, len(tokens), "bare", "", comma=False, verbal=is_verbal))
    return phrases


def is_inside_word(tokens: Tokens, i: int) -> bool:
    """Whether a point or comma is inside a number or a Latin word: 3.5, 1,000, Node.js."""
    if tokens[i].surface not in ".．,，" or not 0 < i < len(tokens) - 1:
        return False
    before, after = tokens[i - 1], tokens[i + 1]
    is_joined = before.end == tokens[i].start and tokens[i].end == after.start
    sides = unicodedata.normalize("NFKC", before.surface[-1:] + after.surface[:1])
    return is_joined and sides.isascii() and sides.isalnum()


def close_phrase(tokens: Tokens, first: int, i: int) -> Closing:
    """What token i closes of a phrase that begins with token `first`."""
    token, word = tokens[i], tokens[i].pos[0]
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if word == "助詞":
        return close_with_particle(tokens, first, i, after)
    if word in _CONJUGATED:
        if after is None or after.surface in STOPS:
            return "final", ""
        if _continues_predicate(token, after):
            return None
        if token.cform in _ADNOMINAL:
            return "modifier", ""
        if word == "形容詞":
            return "adverb", ""
        return ("te" if token.base == "だ" and token.surface == "で" else "and"), ""
    if word == "副詞":
        goes_on = after is not None and after.pos[0] in ("助詞", "助動詞")
        return None if goes_on else ("adverb", "")
    if word == "接続詞" and after is not None and after.surface == "の":
        return None  # 一方の箱
    if word in ("連体詞", "接続詞"):
        return ("modifier" if word == "連体詞" else "link"), ""
    return None


def close_with_particle(tokens: Tokens, first: int, i: int, after: Token | None) -> Closing:
    """Kind and particle of the phrase that the particle `i` closes.

    `after` is the token behind it.
    """
    token, kind = tokens[i], tokens[i].pos[1]
    if kind == "接続助詞":
        is_te = token.surface in ("て", "で")
        if after is not None:
            is_verb = after.pos[0] == "動詞"
            is_helper = after.pos[1] == "非自立" or (is_te and after.base in _STAYING)
            is_contracted = is_te and (after.pos[0] == "助動詞" or after.base == "たらしい")
            if (is_verb and is_helper) or is_contracted or after.pos[0] == "助詞":
                return None  # 飲んで(い)た
        if is_te:
            return "te", ""
        return ("while" if token.surface in ("ながら", "つつ") else "if"), ""
    if after is not None and after.pos[0] == "助詞":
        return None
    if kind == "連体化":
        return "of", ""
    if "終助詞" in kind or token.surface == "って":  # 食べてるよ, 待ってるって
        ends = after is None or after.surface in STOPS
        if ends and any(one.pos[0] in _CONJUGATED for one in tokens[first:i]):
            return "final", ""
    mark, start = token.surface, i
    while start > first and joins_mark(tokens[start - 1]):
        start -= 1
        mark = tokens[start].surface + mark
    if kind == "並立助詞" or mark in ("や", "か"):
        return "list", ""
    if mark.startswith(("て", "で")) and tokens[start].pos[1] == "接続助詞":  # 抜いてから, 見ては
        is_helped = after is not None and after.base in _AFTER_TEWA
        return None if is_helped else ("if", "")
    before = tokens[start - 1] if start > first else None
    # A particle marks a noun phrase; not so in 見ては and 動かずに.
    if before is not None and before.pos[0] != "助動詞" and before.cform not in _ADNOMINAL:
        if mark in SUBJECTS and kind in ("格助詞", "係助詞"):
            return "subject", mark
        # に makes an adverb of 静か, 情熱的, 楽しそう.
        is_adjectival = any(tag.endswith("語幹") for tag in before.pos[1:3])
        if mark in ARGUMENTS and kind == "格助詞" and not (mark == "に" and is_adjectival):
            return "argument", mark
    return ("of" if mark.endswith("の") else "case"), ""


def joins_mark(token: Token) -> bool:
    """Whether a token before a particle is part of the mark (に in には).

    か and だけ belong to the noun (誰か).
    """
    return token.pos[0] == "助詞" and not token.pos[1].startswith("副助詞")


def _continues_predicate(token: Token, after: Token) -> bool:
    """Whether the next token belongs to the same predicate, or to the noun made of it."""
    word, kind = after.pos[0], after.pos[1]
    if word in ("助動詞", "助詞"):
        return True
    if word == "記号":
        return after.surface not in _COMMAS
    if word in ("動詞", "形容詞"):
        # compound verbs: 跳び + 越える
        return kind in _DEPENDENT or (word == token.pos[0] == "動詞" and token.cform == "連用形")
    is_stem = token.cform.startswith(("連用", "ガル"))  # 高さ
    return word == "名詞" and kind in _DEPENDENT and is_stem


# Edges: where a clause begins. Adverbials without a comma go with the subject, as in the published JSICK sets (庭で狐が). A
# bracket, a conjunction, a subordinate clause or another subject stays where it is.

_TIME_NOUNS = frozenset({"間", "あいだ"})
"""Nouns of time that IPADIC does not know as such."""


TIME_COUNTERS = word_set(
    "年 月 日 時 分 秒 週間 週 年間 か月 ヶ月 カ月 ヵ月 日間 時間 世紀 年代 年度 時半 月間 泊"
)
"""Counters of time: 3月21日, 二年間."""


def is_time_noun(tokens: Tokens, i: int) -> bool:
    """Whether token i is a noun that may be an adverb, or a number of hours, days or years."""
    noun = tokens[i]
    if "副詞可能" in noun.pos[1:3] or noun.surface in _TIME_NOUNS:
        return True
    return noun.surface in TIME_COUNTERS and i > 0 and tokens[i - 1].pos[1] == "数"


_OPENINGS = frozenset(
    {"通常", "普通", "通例", "普段", "結果", "一方", "他方", "結局", "最後", "最初"}
)
"""Nouns that before a comma open a sentence: 通常、."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
"""Brackets that IPADIC takes for nouns."""


class Edges:
    """The left edges of subject phrases within one analysis: what a rewrite moves or passes over
    begins there.
    """

    def __init__(self, tokens: Tokens, phrases: Sequence[Phrase]) -> None:
        self.tokens, self.phrases = tokens, phrases
        self.open: list[int] = []
        """For each token the innermost bracket still open after it, or -1."""
        stack: list[int] = []
        for i, token in enumerate(tokens):
            if token.pos[1] == "括弧開" or token.surface in _OPENING:
                stack.append(i)
            elif (token.pos[1] == "括弧閉" or token.surface in _CLOSING) and stack:
                stack.pop()
            self.open.append(stack[-1] if stack else -1)

    def start(self, k: int, floor: int) -> int:
        """The token that the subject closed by phrase k starts with.

        `floor` is the last phrase already used, or 0.
        """
        p = self.phrases[k].last
        clause_start = self._clause_start(k, floor, p)
        return max(clause_start, self.open[p] + 1, self._after_quotation(k))

    def _clause_start(self, k: int, floor: int, p: int) -> int:
        """Where the clause begins, by the phrases before the subject.

        `p` is the subject's particle.
        """
        edge = None
        is_predicate_between = False  # between phrase i and the subject
        for i in range(k, floor - 1, -1):
            phrase = self.phrases[i]
            if self._opens_with_time(i) and self.open[phrase.first] == self.open[p]:
                return phrase.first + 1
            if i == k:
                continue
            if self.open[phrase.last] == self.open[p]:  # in the same bracket
                if self._stops(i, is_predicate_between):
                    return self.phrases[i + 1].first
                if phrase.comma and phrase.kind == "subject":
                    return self.phrases[i + 1 if edge is None else edge].first
                if phrase.kind in PREDICATES and edge is None:
                    edge = i + 1
            is_predicate_between = is_predicate_between or self.holds_predicate(i)
        return self.phrases[floor + 1 if floor else 0].first

    def _after_quotation(self, k: int) -> int:
        """The token after a bracket that closes a whole sentence, or nothing, right before the
        subject: 「雨だ。」狐が.
        """
        phrase = self.phrases[k]
        for t in range(phrase.end - 1, phrase.first - 1, -1):
            is_closing = self.tokens[t].pos[1] == "括弧閉"
            if is_closing and (t == 0 or self.tokens[t - 1].surface in STOPS):
                return t + 1
        return 0

    def _stops(self, i: int, is_predicate_between: bool) -> bool:
        """Whether the clause begins after phrase i, with anything before that."""
        phrase = self.phrases[i]
        if phrase.kind in PREDICATES:
            # … ば, たら, と, ので
            last = self.tokens[phrase.last]
            is_conditional = phrase.kind == "if" or last.cform == "仮定形"
            return phrase.comma or not is_predicate_between or is_conditional
        if phrase.kind == "modifier":
            return phrase.comma
        if phrase.kind == "case" and self.tokens[phrase.last].surface == "は":
            return True  # 私には父が
        if phrase.kind == "link":
            return self._is_conjunction(i)
        if phrase.kind == "subject":
            return not phrase.comma and (phrase.mark == "は" or not is_predicate_between)
        return phrase.comma and self._pauses(i)

    def _pauses(self, i: int) -> bool:
        """Whether a comma after phrase i sets it apart: 昨日、 and 庭で、 but not 赤、青の.

        A full stop always does.
        """
        phrase = self.phrases[i]
        if phrase.kind != "list" or self.tokens[phrase.end].surface in STOPS:
            return True
        if self.tokens[phrase.last].pos[0] in ("感動詞", "フィラー"):
            return True  # ねえ、
        is_action = "サ変接続" in self.tokens[phrase.last].pos[1:3]
        if is_action and i and self.phrases[i - 1].mark in ("を", "に"):
            return True  # 存続を嘆願、
        if phrase.last == phrase.first and self.tokens[phrase.first].surface in _OPENINGS:
            return True
        is_question = self.tokens[phrase.last].surface == "か"  # 幸か不幸か、
        last = phrase.last
        if self.tokens[last].pos[1] == "括弧閉":
            opening = self.open[last - 1] - 1  # 1489年（延徳元年）、
            last = opening if opening >= phrase.first else last
        return is_question or is_time_noun(self.tokens, last)

    def _is_conjunction(self, i: int) -> bool:
        """しかし at the head of a clause; not そして or または between nouns."""
        if i == 0:
            opening = self.tokens[: self.phrases[0].end]
            return all(token.pos[0] != "名詞" for token in opening)
        before = self.phrases[i - 1]
        is_alone = self.phrases[i].end - self.phrases[i].first == 1
        is_after_pause = before.comma and before.kind != "list"
        return is_alone and (is_after_pause or before.kind in PREDICATES)

    def _opens_with_time(self, i: int) -> bool:
        """とき or 間 of a clause before, without a comma: 来たとき / 狸が."""
        first, before = self.phrases[i].first, self.phrases[i - 1]
        if i == 0 or before.kind != "modifier" or not before.verbal:
            return False
        if first + 1 >= self.phrases[i].end:
            return False
        noun, after = self.tokens[first], self.tokens[first + 1]
        is_time = tuple(noun.pos[1:3]) == ("非自立", "副詞可能") or noun.surface in _TIME_NOUNS
        return is_time and after.pos[0] != "助詞"

    def holds_predicate(self, i: int) -> bool:
        """Whether phrase i holds a predicate, which a subject before it may be that of."""
        phrase = self.phrases[i]
        tokens = self.tokens[phrase.first : phrase.end]
        return any(token.pos[0] in _CONJUGATED for token in tokens)


class Analysis:
    """An analysis with what the rules look up many times.

    Phrases are named by their places: k the subject, m the argument.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.phrases = find_phrases(tokens)
        self.edges = Edges(tokens, self.phrases)
        self.governors = [-1] * len(self.phrases)
        """For each phrase the next predicate after it, or -1."""
        nearest = -1
        for i in range(len(self.phrases) - 1, -1, -1):
            self.governors[i] = nearest
            phrase = self.phrases[i]
            if phrase.kind in PREDICATES or (phrase.kind == "modifier" and phrase.verbal):
                nearest = i

    def is_adjective(self, i: int) -> bool:
        """Whether phrase i is an adjective before a noun: 高い, not 走る."""
        if i >= len(self.phrases):
            return False
        return self.phrases[i].kind == "modifier" and not self.phrases[i].verbal

    def makes_noun_clause(self, g: int) -> bool:
        """Whether の, こと or the like after predicate g makes a noun clause or an adverbial of it, or
        a longer predicate (行われる予定だ).
        """
        if g + 1 >= len(self.phrases):
            return False
        after = self.phrases[g + 1]
        noun = self.tokens[after.first]
        if after.kind == "final" and noun.surface in _FINAL_NOUNS:
            return after.end - after.first > 1 and self.tokens[after.first + 1].pos[0] == "助動詞"
        if noun.pos[1] not in ("非自立", "特殊"):
            return False
        following = self.tokens[after.first + 1 : after.first + 3]
        if noun.surface == "もの" and [token.base for token in following] == ["と", "する"]:
            return True  # 提出するものとする
        is_linked = after.end - after.first > 1 and self.tokens[after.first + 1].surface == "な"
        if noun.surface in ("よう", "そう", "みたい") and is_linked:
            return False  # 撫でるような媚
        return noun.surface in _CLAUSE_NOUNS or (noun.surface == "ため" and after.kind != "of")


_CLAUSE_NOUNS = frozenset({"の", "ん", "こと", "よう", "そう", "まま", "みたい"})
"""After a predicate these make it a clause of its own, not a modifier."""
_FINAL_NOUNS = frozenset(
    {"予定", "方針", "見込み", "見通し", "模様", "計画", "考え", "構え", "意向", "はず", "つもり"}
)
"""With the copula these make a longer predicate."""
