"""Korean case particles: scramble, swap or delete 이/가 and 을/를, 에/에게 or 에서 of a clause.

A clause is `pre + [S p] + [X q] + post`, p one of 이/가, 께서, 은/는, 도, and q one of the case. The
second particle of a swap is always 이/가. `_particles` has the operations and their paper.

What lies between the two particles must be one noun phrase. A relative clause inside it is passed
over where it cannot take the subject with it: behind a topic (은/는, 도), and where its predicate
describes (낡은, 깨진, 숲에 있는). Else the clause carries the reason why it is not eligible.

Particles take the shape their new noun asks for (곰을, 여우를), pronouns theirs (나를, 내가). 에 and 에게 are
no such shapes: which of them stands after a noun says whether it lives, so the one that was there
is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple

from nikawa.perturbation._particles import ONLY_PARTICLES, Clause, make_perturbations, word_set
from nikawa.perturbation.base import Stretch, Tokens
from nikawa.text import Token
from nikawa.text.conjugation_ko import attach

MAX_PHRASES = 40
"""Phrases that a noun phrase may hold; keeps hostile text linear."""
PAUSES = frozenset({"SP", "SF", "SE"})
"""Tags of commas, full stops and ellipses."""

# Phrases: what each is, which case it bears, and whether a predicate describes or acts.

Kind = Literal[
    "subject",
    "topic",
    "argument",
    "case",
    "of",
    "list",
    "modifier",
    "adverb",
    "link",
    "and",
    "final",
    "bare",
]
CASES = {
    "을": "eul",
    "를": "eul",
    "ᆯ": "eul",
    "에": "e",
    "에게": "e",
    "한테": "e",
    "께": "e",
    "에서": "eseo",
}
"""Particle to the name of its case; ᆯ is 를 run into its noun (날, 그걸)."""
CLAUSE_NOUNS = word_set("것 거 줄 수 때 동안 후 뒤 전 다음 채 듯 만큼 대로 중 사이 순간 적 바")
"""After a predicate these make a clause of its own of it, not a modifier."""
_SUBJECTS = frozenset({"이", "가", "께서"})
_TOPICS = frozenset({"은", "는", "ᆫ", "도"})
"""Particles of a topic, which is the subject unless another one follows."""
_LIMITS = frozenset({"만", "까지", "조차", "마저"})
"""Particles that a case may follow: 여우만이."""
_NOMINAL = ("NN", "NP", "NR", "XSN", "SL", "SH", "SN", "SW", "SSC", "ETN", "W_")
"""How the tags of nouns, pronouns, numbers and foreign words begin."""
_PREDICATES = frozenset({"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"})
"""Tags of verbs, adjectives and the copula."""
_PREDICATE_ENDS: dict[str, Kind] = {"ETM": "modifier", "EF": "final", "EC": "and"}
_WORDS: dict[str, Kind] = {"MM": "modifier", "MAJ": "link", "IC": "link", "MAG": "adverb"}
"""Tags of words that are phrases of their own, and of which kind."""
_DESCRIBING = frozenset({"VA", "VCP", "VCN", "XSA"})
"""Tags of adjectives and the copula."""
_THERE = frozenset({"있", "없", "계시"})
"""Verbs of being there, which describe as adjectives do."""
_RESULTS = word_set(
    "놓이 쌓이 열리 닫히 걸리 덮이 박히 적히 섞이 묶이 잠기 매달리 "
    "남 죽 마르 젖 익 썩 얼 녹 식 늙 낡 되 당하"
)
"""Verbs that say how a thing is: their subject is the noun they stand before."""
_TRANSITIVE = frozenset({"가지", "던지", "만지", "지"})
"""Verbs in 지 that are no such passives (깨지다, 버려지다)."""


class Phrase(NamedTuple):
    """Tokens `first` to `end` (exclusive)."""

    first: int
    end: int
    kind: Kind
    mark: str = ""
    """The case of an argument."""
    comma: bool = False
    """Whether a comma or full stop follows."""
    acts: bool = False
    """Whether a modifier is a verb that may have a subject of its own: 잡은, not 낡은 or 깨진."""
    predicate: bool = False
    """Whether it ends in a predicate."""

    @property
    def last(self) -> int:
        """Its last token, which is the particle of a subject or argument."""
        return self.end - 1


def find_phrases(tokens: Tokens) -> list[Phrase]:
    """The phrases of an analysis (Kiwi), in order.

    Punctuation other than a pause stays with its neighbour.
    """
    phrases: list[Phrase] = []
    first = 0
    for i, token in enumerate(tokens):
        tag = token.pos[0]
        if tag in PAUSES:
            if first < i:
                phrases.append(Phrase(first, i, "bare", comma=True))
            elif phrases:
                phrases[-1] = phrases[-1]._replace(comma=True)
            first = i + 1
            continue
        if tag in ("VV", "VA") and i > first and _is_nominal(tokens[i - 1]):
            phrases.append(Phrase(first, i, "bare"))
            first = i
        phrase = close_phrase(tokens, first, i)
        if phrase is not None:
            phrases.append(phrase)
            first = i + 1
    if first < len(tokens):
        phrases.append(Phrase(first, len(tokens), "bare"))
    return phrases


def _is_nominal(token: Token) -> bool:
    """Whether a particle after it marks a noun phrase."""
    return token.pos[0].startswith(_NOMINAL)


def close_phrase(tokens: Tokens, first: int, i: int) -> Phrase | None:
    """The phrase from token `first` that token i closes."""
    tag = tokens[i].pos[0]
    after = tokens[i + 1].pos[0] if i + 1 < len(tokens) else ""
    if tag.startswith("J"):
        goes_on = after.startswith("J") or after == "VCP"
        return None if goes_on else close_with_particles(tokens, first, i)
    if tag in _PREDICATE_ENDS:
        if tag == "EC" and (after == "VX" or after.startswith("J")):
            return None
        acts = tag == "ETM" and _acts(tokens[first : i + 1])
        return Phrase(first, i + 1, _PREDICATE_ENDS[tag], acts=acts, predicate=True)
    if tag in _WORDS and not (tag == "MAG" and after.startswith(("J", "XS", "VCP"))):
        return Phrase(first, i + 1, _WORDS[tag])
    # 동안, 후 or 전 of a clause, bare before the next noun: 닦는 동안 곰이.
    is_clause_noun = tokens[i].form in CLAUSE_NOUNS and i > 0
    if is_clause_noun and tokens[i - 1].pos[0] in ("ETM", "ETN"):
        is_before_noun = after.startswith(("NN", "NP", "NR", "MM"))
        return Phrase(first, i + 1, "link") if is_before_noun else None
    return None


def close_with_particles(tokens: Tokens, first: int, i: int) -> Phrase:
    """The phrase that ends in a run of particles."""
    start = i
    while start > first and tokens[start - 1].pos[0].startswith("J"):
        start -= 1
    tag, form = tokens[i].pos[0], tokens[i].form
    kind: Kind = "case"
    mark = ""
    has_noun = start > first and _is_nominal(tokens[start - 1])
    if tag in ("JKG", "JC"):
        kind = "of" if tag == "JKG" else "list"
    elif has_noun and all(token.form in _LIMITS for token in tokens[start:i]):
        if tag == "JKS" and form in _SUBJECTS:
            kind = "subject"
        elif tag in ("JKO", "JKB") and form in CASES:
            kind, mark = "argument", CASES[form]
        elif tag == "JX" and form in _TOPICS and start == i:
            kind = "topic"
    return Phrase(first, i + 1, kind, mark)


def _acts(tokens: Tokens) -> bool:
    """Whether a verb before a noun may have a subject other than that noun: 여우가 잡은, 축제가 시작되는 (날)."""
    verbs = [token for token in tokens if token.pos[0] in _PREDICATES]
    if not verbs:
        return False
    is_lasting = tokens[-1].form != "는"
    return not _describes(verbs[0], is_lasting) and not _describes(verbs[-1], is_lasting)


def _describes(verb: Token, is_lasting: bool) -> bool:
    """Whether the verb says how a thing is.

    A passive does so in what has come of it (깨진), not while it goes on.
    """
    tag, form = verb.pos[0], verb.form
    if tag in _DESCRIBING or (form in _THERE and tag != "VX"):
        return True
    is_passive = form.endswith("지") and (form not in _TRANSITIVE or tag == "VX")
    return is_lasting and (is_passive or form in _RESULTS)


# Words: Kiwi's morphemes may end inside a blank-separated word, a phrase that is moved may not.

_WRITTEN = ("SN", "SL", "SH")
"""Digits and foreign letters: signs that are part of a word, as punctuation is not."""
_JOINERS = frozenset("·・ㆍ‧∙•-/~∼&+")
"""Punctuation that makes one word of what stands on both sides."""


class Words:
    """Where words begin and end.

    A text without blanks has none, and each morpheme counts as one.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.has_blanks = any(a.end < b.start for a, b in pairwise(tokens))

    def start(self, i: int, lowest: int = 0) -> int:
        """The first token of the word that token i stands in, none before `lowest`."""
        while i > lowest and self.is_joined(i):
            i -= 1
        return i

    def end(self, i: int) -> int:
        """The token after the word that token i stands in."""
        i += 1
        while i < len(self.tokens) and self.is_joined(i):
            i += 1
        return i

    def text(self, i: int) -> str:
        """The word that begins with token i, as the text has it.

        Contracted morphemes share characters.
        """
        text, done = "", self.tokens[i].start
        for token in self.tokens[i : self.end(i)]:
            text += token.surface[max(0, done - token.start) :]
            done = max(done, token.end)
        return text

    def is_joined(self, i: int) -> bool:
        """Whether token i and the one before it stand in one word."""
        before, token = self.tokens[i - 1], self.tokens[i]
        if not self.has_blanks or token.start > before.end:
            return False
        return not _is_sign(before) and not _is_sign(token)


def _is_sign(token: Token) -> bool:
    """Whether it is punctuation or another sign that is no part of a word."""
    tag = token.pos[0]
    return tag.startswith("S") and tag not in _WRITTEN


def _is_between_words(text: str, place: int) -> bool:
    """Whether a cut before the character at `place` goes through no word.

    In a text without blanks no cut does.
    """
    if not 0 < place < len(text) or not any(map(str.isspace, text)):
        return True
    neighbours = text[place - 1 : place + 1]
    return not all(char.isalnum() or char in _JOINERS for char in neighbours)


# Clauses: a subject directly followed by an 을/를, 에/에게 or 에서 phrase.

RELATIVE = "the subject may be that of the relative clause"
"""Why a clause is not eligible whose second phrase holds a verb that acts."""
_TIMES = word_set(
    "아침 점심 저녁 밤 낮 새벽 오전 오후 어제 오늘 내일 모레 그저께 지금 요즘 주말 평일 봄 여름 가을 겨울 "
    "시 분 초 년 월 일 주 때 날 해 순간 시간 정오 자정 작년 올해 내년 옛날 "
    "월요일 화요일 수요일 목요일 금요일 토요일 일요일 "
    "처음 마지막 다음 이번 지난번 지난달 지난주 지난해 이튿날 당시 평소 최근"
)
_SENTENCE_ADVERBS = frozenset({"만약", "만일", "가령", "혹시", "설령", "물론", "사실", "아마"})
"""Said of the whole clause: they stay in front of it, whether Kiwi takes them for nouns or not."""
_ADVERBIAL = word_set("때문 전 후 동안 중 사이 덕분 대신 김 바람 뒤 결과 가운데 만 반면")
"""Before 에 and 에서 these make an adverbial of a clause, no argument."""
_COMPOUND = word_set("대하 관하 의하 따르 비하 위하 통하 비롯하 향하 불구하 인하 걸치")
"""Verbs that make one word of meaning with the particle before them: 에 대해, 을 위해."""
_INSIDE_RELATIVE = ("subject", "argument", "case", "of", "list", "modifier", "adverb", "bare")


class Sentence:
    """An analysis with what the rules look up many times.

    Phrases are named by their places: k the subject, m the argument.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.phrases = find_phrases(tokens)
        self.words = Words(tokens)
        self.governors = [-1] * len(self.phrases)
        """For each phrase the next predicate after it, or -1."""
        nearest = -1
        for i in range(len(self.phrases) - 1, -1, -1):
            self.governors[i] = nearest
            if self.phrases[i].predicate:
                nearest = i

    def find_clauses(self, case: str) -> list[Clause]:
        """The clauses with a subject and an argument in `case` at once after it, left to right."""
        clauses: list[Clause] = []
        k = floor = 0
        while k < len(self.phrases):
            argument = self._find_argument(k, case)
            if argument is not None:
                m, against = argument
                start = self._find_start(k, floor)
                against = against or self._find_reason(start, k, m)
                clauses.append(self._make_clause(start, k, m, against))
                k = floor = m
            k += 1
        return clauses

    def find_pair(self, case: str) -> Clause | None:
        """The first subject and the first argument in `case` after it, whatever stands between."""
        for k, phrase in enumerate(self.phrases):
            if phrase.kind in ("subject", "topic"):
                for m in range(k + 1, len(self.phrases)):
                    if self.phrases[m].mark == case:
                        return self._make_clause(self._find_start(k, 0), k, m, ONLY_PARTICLES)
                return None
        return None

    def _make_clause(self, start: int, k: int, m: int, against: str) -> Clause:
        return Clause(start, self.phrases[k].last, self.phrases[m].last, against)

    def _find_argument(self, k: int, case: str) -> tuple[int, str] | None:
        """The phrase that bears the case, if all from phrase k to it is one noun phrase; and what
        speaks against it.
        """
        subject = self.phrases[k]
        if subject.kind not in ("subject", "topic") or subject.comma:
            return None
        is_topic = subject.kind == "topic"
        against, m = "", k + 1
        while m < min(len(self.phrases), k + MAX_PHRASES):
            phrase = self.phrases[m]
            if phrase.kind in ("argument", "case", "subject", "topic"):
                inside = self._find_relative(m)
                if inside is not None and (is_topic or not self.phrases[inside].acts):
                    m = inside + 1
                    continue
                if phrase.kind != "argument" or phrase.mark != case or phrase.comma:
                    return None
                return m, against or (RELATIVE if inside is not None else "")
            if not self._continues_noun_phrase(m):
                return None
            if phrase.acts and not is_topic:
                against = RELATIVE
            m += 1
        return None

    def _continues_noun_phrase(self, m: int) -> bool:
        """Whether a noun phrase can go on after phrase m."""
        phrase = self.phrases[m]
        if phrase.comma:
            return phrase.kind == "list"
        if phrase.kind == "adverb":
            if m + 1 >= len(self.phrases):
                return False
            after = self.phrases[m + 1]
            is_describing = after.kind == "modifier" and after.predicate and not after.acts
            return is_describing and not self._is_compound_part(m + 1)
        return phrase.kind in ("modifier", "of", "list") and not self._makes_noun_clause(m)

    def _is_compound_part(self, m: int) -> bool:
        """Whether a modifier is the first part of a word, 큰 of 큰길: nothing before it belongs to it."""
        end = self.phrases[m].end
        return end < len(self.tokens) and self.words.is_joined(end)

    def _find_relative(self, m: int) -> int | None:
        """The predicate of the relative clause that phrase m stands in."""
        g = self.governors[m]
        if g < 0 or self.phrases[g].kind != "modifier" or g + 1 >= len(self.phrases):
            return None
        if g - m > MAX_PHRASES or self._is_compound_part(g):
            return None
        has_comma = any(phrase.comma for phrase in self.phrases[m : g + 1])
        return None if has_comma or self._makes_noun_clause(g) else g

    def _makes_noun_clause(self, g: int) -> bool:
        """Whether 것, 때 or the like after predicate g makes a noun clause or an adverbial of it."""
        if not self.phrases[g].predicate or g + 1 >= len(self.phrases):
            return False
        return self.tokens[self.phrases[g + 1].first].form in CLAUSE_NOUNS

    def _find_start(self, k: int, floor: int) -> int:
        """The first token of the subject that phrase k ends."""
        i = k
        while i > floor and k - i < MAX_PHRASES and self._joins_subject(i - 1):
            i -= 1
            if self.phrases[i].predicate:
                # Where the relative clause begins: a topic stays outside.
                lowest = max(floor, k - MAX_PHRASES)
                while i > lowest:
                    before = self.phrases[i - 1]
                    if before.comma or before.kind not in _INSIDE_RELATIVE:
                        break
                    i -= 1
        first, end = self.phrases[i].first, self.phrases[k].end
        while first < end - 2 and (self._is_time(first) or self._opens_quotation(first, end)):
            first += 1
        # The whole blank-separated word: Kiwi takes 하 of the name 하은 for an interjection.
        start = self.words.start(first, self.phrases[floor].end if floor else 0)
        if start < first and self.words.text(start) in _TIMES:  # 어제 taken for 어 and 제
            return min(self.words.end(start), end - 2)
        return start

    def _joins_subject(self, i: int) -> bool:
        """Whether phrase i belongs to the noun phrase that goes on after it."""
        phrase, after = self.phrases[i], self.phrases[i + 1]
        if phrase.comma:
            return False
        if phrase.kind == "adverb":
            return after.kind == "modifier" and after.predicate and not after.acts
        return phrase.kind in ("modifier", "of", "list")

    def _opens_quotation(self, first: int, end: int) -> bool:
        """Whether a quotation begins here that goes on behind the subject."""
        tags = [token.pos[0] for token in self.tokens[first:end]]
        return tags[0] == "SSO" and "SSC" not in tags

    def _is_time(self, first: int) -> bool:
        """Whether a word of time, or one said of the whole clause, stands before the noun."""
        token, after = self.tokens[first], self.tokens[first + 1]
        if token.form in _SENTENCE_ADVERBS and token.end < after.start:
            return True
        return token.form in _TIMES and after.pos[0].startswith(("NN", "NP", "MM"))

    def _find_reason(self, start: int, k: int, m: int) -> str:
        """Why a clause is not eligible, "" where it is."""
        p, q = self.phrases[k].last, self.phrases[m].last
        if self.governors[m] < 0:
            return "no predicate follows"
        between = self.phrases[m + 1 : self.governors[m]]
        if any(phrase.kind in ("subject", "topic") for phrase in between):
            return "another subject follows"
        before = self.phrases[k - 1] if k else None
        if before is not None and before.kind == "argument" and before.comma:
            return "two subjects share the predicate"
        noun = self.tokens[q - 1].form
        if self.phrases[m].mark != "eul" and (noun in _TIMES or noun in _ADVERBIAL):
            return "a time or another adverbial, no argument"
        after = self.tokens[q + 1] if q + 1 < len(self.tokens) else None
        if after is not None and after.form in _COMPOUND:
            return "the particle is part of a compound (에 대해)"
        subject = [token.form for token in self.tokens[start:p]]
        argument = [token.form for token in self.tokens[p + 1 : q]]
        if subject == argument:
            return "the same noun twice"  # 제가 저를
        tags = [token.pos[0] for token in self.tokens[start:q]]
        if tags.count("SSO") != tags.count("SSC"):
            return "a bracket opens or closes between them"
        return ""


# Rewriting.

CUT = "a phrase begins or ends inside a word"
"""Why a phrase cannot be moved."""
_SIGNS = {"eul": ("",), "e": ("에", "한테", "께"), "eseo": ("에서",)}
"""What a text must hold to be worth an analysis; 를 may hide in any syllable (누굴)."""
_NOMINATIVE = {
    "나": "내가",
    "저": "제가",
    "너": "네가",
    "누구": "누가",
    "이거": "이게",
    "그거": "그게",
    "저거": "저게",
}
"""Pronouns that change before 가."""
Noun = tuple[str, bool]
"""A noun phrase without its particle, and whether a pronoun ends it."""


class ClauseParts:
    """The two phrases of a clause, as they stand and without their particles.

    `start` and `end` are where they begin and end in the text, `gap` is what lies between them.
    """

    def __init__(self, text: str, tokens: Tokens, clause: Clause) -> None:
        p, q = tokens[clause.subject], tokens[clause.argument]
        after = tokens[clause.subject + 1 :]
        self.start, self.end = tokens[clause.start].start, q.end
        argument_start = next(token.start for token in after if token.pos[0] not in PAUSES)
        self.subject_phrase = text[self.start : p.end]
        self.gap = text[p.end : argument_start]
        self.argument_phrase = text[argument_start : self.end]
        self.subject = _strip_particle(text, tokens, self.start, clause.subject)
        self.argument = _strip_particle(text, tokens, argument_start, clause.argument)
        self.subject_particle = p.form
        self.argument_particle = "를" if q.form == "ᆯ" else q.form
        cuts = (self.start, p.end, argument_start, self.end)
        self.is_movable = all(_is_between_words(text, place) for place in cuts)
        """Whether both phrases are whole words."""


def _strip_particle(text: str, tokens: Tokens, start: int, particle: int) -> Noun:
    """The phrase before its particle; a noun run into it (내가, 그걸) in the form it has alone."""
    noun = tokens[particle - 1]
    is_pronoun = noun.pos[0] == "NP"
    is_contracted = noun.end > tokens[particle].start
    if is_contracted or (is_pronoun and noun.form != noun.surface):
        return text[start : noun.start] + noun.form, is_pronoun
    return text[start : tokens[particle].start], is_pronoun


def attach_to_noun(noun: Noun, particle: str, old_particle: str = "") -> str:
    """The phrase with a particle in the shape it asks for.

    The one it had tells how a foreign word is read.
    """
    text, is_pronoun = noun
    if particle == "이/가" and is_pronoun:
        for pronoun, shape in _NOMINATIVE.items():
            if text == pronoun or text.endswith(f" {pronoun}"):
                return text.removesuffix(pronoun) + shape
    return attach(text, particle, old_particle)


class KoreanRules:
    """The rules of Korean, by Kiwi's tags."""

    language = "ko"
    analyser = "kiwi"
    cases: Mapping[str, str] = MappingProxyType({"eul": "을/를", "e": "에/에게", "eseo": "에서"})

    def may_hold(self, text: str, case: str) -> bool:
        """Whether a particle of the case may be in the text."""
        return any(sign in text for sign in _SIGNS[case])

    def find_clauses(self, tokens: Tokens, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case."""
        return Sentence(tokens).find_clauses(case)

    def find_pair(self, tokens: Tokens, case: str) -> Clause | None:
        """The first subject and the first argument in the case after it."""
        return Sentence(tokens).find_pair(case)

    def obstacle(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> str:
        """Why a phrase cannot stand elsewhere: a morpheme may end inside a word (사진에서 of 사진에서봤던)."""
        if operation != "scramble" or ClauseParts(text, tokens, clause).is_movable:
            return ""
        return CUT

    def rewrite_clause(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> Stretch:
        """The two phrases in another order, or with other particles, or without them."""
        parts = ClauseParts(text, tokens, clause)
        if operation == "scramble":
            first, second = parts.argument_phrase, parts.subject_phrase
        elif operation == "swap":
            old_first, old_second = parts.subject_particle, parts.argument_particle
            first = attach_to_noun(parts.subject, old_second, old_first)
            second = attach_to_noun(parts.argument, "이/가", old_second)
        else:
            first, second = parts.subject[0], parts.argument[0]
        return parts.start, parts.end, first + parts.gap + second


PERTURBATIONS = make_perturbations(KoreanRules())
