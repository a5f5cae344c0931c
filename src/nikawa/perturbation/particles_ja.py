"""Japanese case particles: scramble, swap or delete が and を, に or で of a clause (JSICK stress
sets).

A clause is `pre + [S p] + [X q] + post`, p one of が, は, も, and q one of を, に, で. The second
particle of a swap is always が. `_particles` has the operations and their paper.

The published JSICK stress sets were cut from depccg's parse trees. The rules here follow what those
trees do, read off the phrases alone: where a relative clause inside the second phrase takes the
subject with it, where two clauses share one subject. Each clause carries the reason why it would be
passed over, or "".

Against the published choice among the 4,927 test premises F1 is 0.97 (o) and 0.98 (de). A
dependency parser adds nothing: GiNZA's subject with an adjacent sister gives 0.93 and 0.96, and
where it must agree with these rules 0.96 and 0.96.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from nikawa.perturbation._particles import ONLY_PARTICLES, Clause, make_perturbations
from nikawa.perturbation.base import Stretch, Tokens
from nikawa.text import Token

MAX_PHRASES = 40
"""Phrases that the second noun phrase may hold; keeps hostile text linear."""
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
"""Forms that stand before a noun."""
_STAYING = frozenset({"いる", "ある", "おる", "しまう"})
"""Helpers after て that IPADIC may take for verbs of their own."""


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
            if (is_verb and is_helper) or after.pos[0] == "助詞":
                return None
        if is_te:
            return "te", ""
        return ("while" if token.surface in ("ながら", "つつ") else "if"), ""
    if after is not None and after.pos[0] == "助詞":
        return None
    if kind == "連体化":
        return "of", ""
    mark, start = token.surface, i
    while start > first and _joins_mark(tokens[start - 1]):
        start -= 1
        mark = tokens[start].surface + mark
    if kind == "並立助詞" or mark in ("や", "か"):
        return "list", ""
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


def _joins_mark(token: Token) -> bool:
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
    return word == "名詞" and kind in _DEPENDENT and token.cform.startswith("連用")


# Edges: where a clause begins. Adverbials without a comma go with the subject, as in the published JSICK sets (庭で狐が). A
# bracket, a conjunction, a subordinate clause or another subject stays where it is.

_TIME_NOUNS = frozenset({"間", "あいだ"})
"""Nouns of time that IPADIC does not know as such."""
_BOUND = frozenset({"接尾", "非自立", "副詞可能"})
"""Kinds of nouns that do not begin a noun phrase after a time or number."""


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
            if token.pos[1] == "括弧開":
                stack.append(i)
            elif token.pos[1] == "括弧閉" and stack:
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
        """Whether the clause begins after phrase i whatever stands before that."""
        phrase = self.phrases[i]
        if phrase.kind in PREDICATES:
            # … ば, たら, と, ので
            last = self.tokens[phrase.last]
            is_conditional = phrase.kind == "if" or last.cform == "仮定形"
            return phrase.comma or not is_predicate_between or is_conditional
        if phrase.kind == "modifier":
            return phrase.comma
        if phrase.kind == "link":
            return self._is_conjunction(i)
        if phrase.kind == "subject":
            return not phrase.comma and (phrase.mark == "は" or not is_predicate_between)
        return phrase.comma and self._pauses(phrase, is_predicate_between)

    def _pauses(self, phrase: Phrase, is_predicate_between: bool) -> bool:
        """Whether a comma after the phrase sets it apart: 昨日、 and 庭で、 but not 赤、青の.

        A full stop always does.
        """
        if self.tokens[phrase.end].surface in STOPS:
            return True
        if phrase.kind == "list":
            noun = self.tokens[phrase.end - 1]
            return "副詞可能" in noun.pos[1:3] or noun.surface in _TIME_NOUNS
        return not is_predicate_between

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


def _opens_with_adverbial(tokens: Tokens, first: int, end: int) -> bool:
    """Whether a time or number stands alone before the noun phrase: 毎朝新聞を, 一頭、草原を; not 夏祭りを,
    明日の新聞を.
    """
    i = first
    while i < end:
        tags = tokens[i].pos[1:3]
        is_number = tags[0] in ("数", "数接続") or "助数詞" in tags
        if not is_number and not _is_time(tokens[i]):
            break
        i += 1
    if i in (first, end):
        return False
    last, after = tokens[i - 1], tokens[i]
    if after.pos[1] == "読点":
        return any(token.pos[1] != "数" for token in tokens[first:i])
    is_free_noun = after.pos[0] == "名詞" and after.pos[1] not in _BOUND
    opens_phrase = after.pos[0] in ("接頭詞", "連体詞") or is_free_noun
    return opens_phrase and _is_time(last) and len(last.surface) > 1


def _is_time(token: Token) -> bool:
    """A noun that may stand as an adverb; 後 of 後輪 is none."""
    return token.pos[1] == "副詞可能" or tuple(token.pos[1:3]) == ("接尾", "副詞可能")


# Clauses: a subject directly followed by an を, に or で phrase.

_CLAUSE_NOUNS = frozenset({"の", "こと", "よう", "まま"})
"""After a predicate these make it a clause of its own, not a modifier."""
_NOT_CASE = frozenset({"ため", "よう", "こと", "まま", "一緒"})
"""Before に these make an adverbial, no argument."""


class Sentence:
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

    def find_clauses(self, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case; they do not overlap."""
        clauses: list[Clause] = []
        k = floor = 0
        while k < len(self.phrases):
            m = self._find_argument(k, case)
            if m is not None:
                clauses.append(self._make_clause(k, m, floor))
                k = floor = m
            k += 1
        return clauses

    def _make_clause(self, k: int, m: int, floor: int) -> Clause:
        """The clause of subject k and argument m, with the reason against it.

        `floor` is the last phrase already used.
        """
        start = self.edges.start(k, floor)
        p, q = self.phrases[k].last, self.phrases[m].last
        subject = [token.surface for token in self.tokens[start:p]]
        argument = [token.surface for token in self.tokens[p + 1 : q]]
        if not subject:
            against = "no noun before the particle"  # 「は
        elif subject == argument:
            against = "the same noun twice"
        else:
            against = self._find_separation(k, m) or self._find_other_reason(k, m)
        return Clause(start, p, q, against)

    def _find_argument(self, k: int, case: str) -> int | None:
        """The phrase that holds q, if phrase k holds p and all between them is one noun phrase."""
        if self.phrases[k].kind != "subject" or self.phrases[k].comma:
            return None
        m = k + 1
        while m < min(len(self.phrases), k + MAX_PHRASES):
            phrase = self.phrases[m]
            if phrase.kind in ("argument", "case", "subject"):
                inside = self._find_relative(k, m)
                if inside is None:
                    is_case = phrase.kind == "argument" and ARGUMENTS[phrase.mark] == case
                    return m if is_case and not phrase.comma else None
                m = inside
            else:
                # What a noun phrase can go on after; an adverb may stand in it, but not begin it.
                kinds = ["list"] if phrase.comma else ["list", "modifier", "of"]
                if not phrase.comma and m > k + 1:
                    kinds.append("adverb")
                if phrase.kind not in kinds:
                    return None
            m += 1
        return None

    def _find_relative(self, k: int, m: int) -> int | None:
        """The predicate of the relative clause that phrase m stands in, if it does not take the
        subject k with it.
        """
        g = self.governors[m]
        phrase = self.phrases[m]
        if phrase.kind == "subject" and self._is_adjective(m + 1):
            return m + 1  # 丈が高い草
        if g < 0 or self.phrases[g].kind != "modifier" or g + 1 >= len(self.phrases):
            return None
        has_comma = any(other.comma for other in self.phrases[m : g + 1])
        if has_comma or g - m > MAX_PHRASES:
            return None
        if self._makes_noun_clause(g):
            return None
        is_object = phrase.kind == "argument" and self.phrases[k].mark == "が"
        return None if is_object and self._takes_subject(m, g) else g

    def _is_adjective(self, i: int) -> bool:
        """Whether phrase i is an adjective before a noun: 高い, not 走る."""
        if i >= len(self.phrases):
            return False
        return self.phrases[i].kind == "modifier" and not self.phrases[i].verbal

    def _makes_noun_clause(self, g: int) -> bool:
        """Whether の, こと or the like after predicate g makes a noun clause or an adverbial of it."""
        after = self.phrases[g + 1]
        noun = self.tokens[after.first]
        if noun.pos[1] != "非自立":
            return False
        return noun.surface in _CLAUSE_NOUNS or (noun.surface == "ため" and after.kind != "of")

    def _takes_subject(self, m: int, g: int) -> bool:
        """Whether the parser read [S が X q V] as one relative clause: で always, に passive, を
        progressive.
        """
        predicate = self.phrases[g]
        words = self.tokens[predicate.first : predicate.end]
        mark = self.phrases[m].mark
        if mark == "に":
            return any(word.base in ("れる", "られる") for word in words)
        return mark == "で" or (len(words) > 1 and words[-1].base == "いる")

    def _find_separation(self, k: int, m: int) -> str:
        """Why subject and second phrase would not be those of one predicate."""
        p, q = self.phrases[k].last, self.phrases[m].last
        if self.edges.open[p] != self.edges.open[q]:
            return "a bracket opens or closes between them"
        if _opens_with_adverbial(self.tokens, p + 1, q):
            return "an adverbial stands between them"
        kinds_before = [phrase.kind for phrase in self.phrases[max(0, k - 2) : k]]
        if kinds_before == ["subject", "argument"]:
            if self.phrases[k - 1].comma:
                return "two subjects share the predicate"  # 兄が弟に、妹が姉に
            if self._is_adjective(k + 1):
                return "the subject is that of the adjective"  # 狐が笛を / 尾が長い犬に
        # Whether a subject stands between phrase m and the next predicate; not so 丈が高い草に.
        end = min(len(self.phrases), m + MAX_PHRASES)
        for i in range(m + 1, end):
            if self.edges.holds_predicate(i):
                return ""
            if self.phrases[i].mark == "が" and not self._is_adjective(i + 1):
                return "another subject follows"
        return ""

    def _find_other_reason(self, k: int, m: int) -> str:
        """Why the published sets would pass a clause over, though its two phrases are those of one
        predicate.
        """
        argument, after = self.phrases[m], self.phrases[k + 1]
        is_ga = self.phrases[k].mark == "が"
        if is_ga and after.kind == "modifier" and after.verbal:
            return "the subject may be that of the relative clause"
        if argument.mark == "に" and self.tokens[argument.end - 2].surface in _NOT_CASE:
            return "an adverbial, no argument"
        if is_ga and self._is_coordination(k, m):
            return "the second phrase is a coordination"
        g = self.governors[m]
        return "" if g < 0 else self._find_sharing(is_ga, argument.mark, g)

    def _is_coordination(self, k: int, m: int) -> bool:
        """Whether nouns are joined at the top of X: シャツと帽子を, not 青と白の服を."""
        for i in range(k + 1, m):
            is_inside = i == k + 1 and self.phrases[i + 1].kind == "of"
            if self.phrases[i].kind == "list" and not is_inside:
                return not self.phrases[i].comma
        return False

    def _find_sharing(self, is_ga: bool, mark: str, g: int) -> str:
        """Why the subject would belong to a later predicate as well, and attach to that one."""
        phrase = self.phrases[g]
        last = self.tokens[phrase.last]
        if phrase.kind == "while":
            later = self.phrases[g + 1 : g + 1 + MAX_PHRASES]
            if not any(other.mark == "を" for other in later):
                return "a clause of circumstance"
        if phrase.kind == "and" and not is_ga and (not phrase.comma or last.base == "ぬ"):
            return "the topic is shared by two predicates"
        if phrase.kind == "te":
            if not is_ga:
                return "the topic is shared by two predicates"
            # In … ていて, い is a helper, not the verb.
            helper = self.tokens[phrase.end - 2]
            is_progressive = helper.base == "いる" and helper.pos[1] == "非自立"
            if not phrase.comma and mark != "で" and not is_progressive:
                return "the subject is shared by two predicates"
        return ""


class JapaneseRules:
    """The rules of Japanese, by IPADIC's tags."""

    language = "ja"
    analyser = "ipadic"
    cases: Mapping[str, str] = MappingProxyType({"o": "を", "ni": "に", "de": "で"})

    def may_hold(self, text: str, case: str) -> bool:
        """Whether the particle is in the text."""
        return self.cases[case] in text

    def find_clauses(self, tokens: Tokens, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case."""
        return Sentence(tokens).find_clauses(case)

    def find_pair(self, tokens: Tokens, case: str) -> Clause | None:
        """The first subject particle of a sentence and the first of the case after it."""
        start, subject = 0, None
        for i, token in enumerate(tokens):
            is_particle = token.pos[0] == "助詞" and token.pos[1] != "接続助詞"
            may_mark = is_particle or token.pos[0] == "助動詞"  # で taken for the copula
            if token.surface in STOPS:
                start, subject = i + 1, None
            elif subject is None:
                is_subject = is_particle and token.surface in SUBJECTS
                if i > start and is_subject and not _joins_mark(tokens[i - 1]):
                    subject = i
            elif i > subject + 1 and may_mark and ARGUMENTS.get(token.surface) == case:
                return Clause(start, subject, i, ONLY_PARTICLES)
        return None

    def obstacle(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> str:
        """Nothing: every clause can be rewritten."""
        return ""

    def rewrite_clause(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> Stretch:
        """The two phrases in another order, or with other particles, or without them."""
        start = tokens[clause.start].start
        p, q = tokens[clause.subject], tokens[clause.argument]
        subject, argument = text[start : p.start], text[p.end : q.start]
        new = {
            "scramble": f"{argument}{q.surface}{subject}{p.surface}",
            "swap": f"{subject}{q.surface}{argument}が",
            "delete": f"{subject}{argument}",
        }
        return start, q.end, new[operation]


PERTURBATIONS = make_perturbations(JapaneseRules())
