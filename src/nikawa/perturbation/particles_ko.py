"""Korean case particles: scramble, swap or delete 이/가 and 을/를, 에/에게 or 에서 of a clause.

A clause is `pre + [S p] + [X q] + post`, p one of 이/가, 께서, 은/는, 도, and q one of the case. The
second particle of a swap is always 이/가. `_particles` has the operations and their paper.

Everything between the two particles must be one noun phrase. A relative clause inside it is passed over
if it cannot take the subject with it: after a topic (은/는, 도), and if its predicate describes (낡은,
깨진, 숲에 있는). Otherwise the clause carries a doubt.

Particles take the shape that their new noun needs (곰을, 여우를), pronouns theirs (나를, 내가). After a swap,
에 becomes 에게 if its new noun is known to be a person or an animal, and 에게 becomes 에 after an
organisation or a thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nikawa.perturbation._particles import (
    ONLY_PARTICLES,
    Clause,
    Doubt,
    make_perturbations,
)
from nikawa.perturbation.base import Stretch, Tokens
from nikawa.perturbation.doubts_ko import RELATIVE, find_phrase_doubts, find_topic_doubts
from nikawa.perturbation.phrases_ko import (
    CLAUSE_NOUNS,
    MAX_PHRASES,
    PAUSES,
    TIMES,
    Analysis,
    is_between_words,
    repair_tokens,
)
from nikawa.perturbation.words_ko import acts, is_intransitive, is_person
from nikawa.text.conjugation_ko import attach

# Clauses: a subject directly followed by an 을/를, 에/에게 or 에서 phrase.


_SENTENCE_ADVERBS = frozenset({"만약", "만일", "가령", "혹시", "설령", "물론", "사실", "아마"})
"""Said of the whole clause: they stay in front of it, whether Kiwi takes them for nouns or not."""
_INSIDE_RELATIVE = ("subject", "argument", "case", "of", "list", "modifier", "adverb", "bare")


_FINAL_NOUNS = frozenset({"말", "예정", "계획", "방침", "전망", "모양", "셈"})
"""Nouns that with the copula make a longer predicate."""
_JOINING = frozenset({"또는", "및", "혹은", "내지", "겸"})
"""Words between two nouns of one phrase."""


class Sentence(Analysis):
    """An analysis with its clauses."""

    def find_clauses(self, case: str) -> list[Clause]:
        """The clauses with a subject and an argument in `case` at once after it, left to right."""
        clauses: list[Clause] = []
        k = floor = 0
        while k < len(self.phrases):
            argument = self._find_argument(k, case)
            inside = self.phrases[k + 1 : argument[0]] if argument is not None else []
            is_outer = any(phrase.kind in ("subject", "topic") for phrase in inside)
            # 10만 명이 넘는 도시가 조례를: the subject nearer to the argument is its subject.
            if argument is not None and not (argument[1] and is_outer):
                m, against = argument
                start = self._find_start(k, floor)
                against = against or self._find_reason(start, k, m)
                doubts = [Doubt(against, 0)] if against else []
                doubts += find_phrase_doubts(self, k, m)
                if self.phrases[k].kind == "topic":
                    doubts += find_topic_doubts(self, k, m)
                clauses.append(self._make_clause(start, k, m, *doubts))
                k = floor = m
            k += 1
        return clauses

    def find_pair(self, case: str) -> Clause | None:
        """The first subject and the first argument in `case` after it, with anything between them."""
        for k, phrase in enumerate(self.phrases):
            if phrase.kind in ("subject", "topic"):
                for m in range(k + 1, len(self.phrases)):
                    if self.phrases[m].mark == case:
                        start = self._find_start(k, 0)
                        return self._make_clause(start, k, m, Doubt(ONLY_PARTICLES, 0))
                return None
        return None

    def _make_clause(self, start: int, k: int, m: int, *doubts: Doubt) -> Clause:
        return Clause(start, self.phrases[k].last, self.phrases[m].last, doubts)

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
                if inside is not None and (is_topic or self._needs_no_subject(k, inside)):
                    if phrase.kind in ("argument", "case") and self._is_apart(m, inside):
                        return None  # 기관의 장에게 심의에 필요한 자료를
                    m = inside + 1
                    continue
                if phrase.kind != "argument" or phrase.mark != case or phrase.comma:
                    return None
                is_separate = inside is not None and not self._subject_follows(inside)
                return m, against or (RELATIVE if is_separate else "")
            if not self._continues_noun_phrase(m):
                return None
            if not is_topic and not self._needs_no_subject(k, m):
                against = RELATIVE
            m += 1
        return None

    def _needs_no_subject(self, k: int, g: int) -> bool:
        """Whether the subject k is not that of the modifier g, because the noun after g is: 낡은, 깨진,
        (바위 밑에) 숨은 토끼.
        """
        if not self.phrases[g].acts:
            return True
        if self.tokens[self.phrases[k].last - 1].pos[0] == "NNB":
            return False  # 100명이 넘는 승객
        noun, words = self.phrases[g].end, self.tokens[self.phrases[g].first : self.phrases[g].end]
        return noun < len(self.tokens) and is_person(self.tokens, noun) and is_intransitive(words)

    def _is_apart(self, m: int, g: int) -> bool:
        """Whether phrase m may belong to a later predicate than the modifier g: a time, or a phrase
        with another one between.
        """
        noun = self.tokens[self.phrases[m].last - 1]
        is_time = noun.form in TIMES and noun.form != "다음"  # 다음과 같은
        if is_time or noun.form in ("년대", "세기", "기간", "시기", "시절"):
            return True
        return any(phrase.kind in ("argument", "case") for phrase in self.phrases[m + 1 : g])

    def _subject_follows(self, g: int) -> bool:
        """Whether another subject is between predicate g and the next one: 경찰이 행방을 쫓는 남자를 주민이 봤다."""
        end = self.governors[g] if self.governors[g] >= 0 else len(self.phrases)
        return any(phrase.kind in ("subject", "topic") for phrase in self.phrases[g + 1 : end])

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
        """The predicate of the relative clause that phrase m is in."""
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
        head = self.phrases[g].end
        words = self.tokens[head : head + 2]
        if len(words) == 2 and words[0].form in _FINAL_NOUNS and words[1].pos[0] == "VCP":
            return True  # 줬단 말이야, 열릴 예정이다
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
                    is_purpose = self.tokens[before.last].form in ("러", "으러")  # 구경하러 모인
                    words = [token.form for token in self.tokens[before.first : before.end]]
                    is_outside = words[-1] in ("는", "은") and words[0] in CLAUSE_NOUNS  # 후에는
                    is_inside = is_purpose or before.kind in _INSIDE_RELATIVE
                    if before.comma or is_outside or not is_inside:
                        break
                    i -= 1
        first, end = self.phrases[i].first, self.phrases[k].end
        while first < end - 2 and self.tokens[first].pos[0] in ("SO", "SW", "SB"):
            first += 1  # - 내부 콜백이
        while first < end - 2 and (self._is_time(first) or self._opens_quotation(first, end)):
            first += 1
        # The whole blank-separated word: Kiwi takes 하 of the name 하은 for an interjection.
        start = self.words.start(first, self.phrases[floor].end if floor else 0)
        if start < first and self.words.text(start) in TIMES:  # 어제 taken for 어 and 제
            return min(self.words.end(start), end - 2)
        return start

    def _joins_subject(self, i: int) -> bool:
        """Whether phrase i belongs to the noun phrase that goes on after it."""
        phrase, after = self.phrases[i], self.phrases[i + 1]
        if phrase.comma:
            return False
        if phrase.kind == "adverb":
            is_degree = self.tokens[phrase.last].form in ("거의", "바로", "약")  # 거의 대부분의
            return is_degree or (after.kind == "modifier" and after.predicate and not after.acts)
        if phrase.kind == "link":  # 공단 또는 / 법인은
            is_longer = phrase.end - phrase.first > 1
            return is_longer and self.tokens[phrase.last].form in _JOINING
        return phrase.kind in ("modifier", "of", "list")

    def _opens_quotation(self, first: int, end: int) -> bool:
        """Whether a quotation begins here that goes on behind the subject."""
        tags = [token.pos[0] for token in self.tokens[first:end]]
        return tags[0] == "SSO" and "SSC" not in tags

    def _is_time(self, first: int) -> bool:
        """Whether a word of time, or an adverb of the whole clause, is before the noun."""
        token, after = self.tokens[first], self.tokens[first + 1]
        if token.form in _SENTENCE_ADVERBS and token.end < after.start:
            return True
        is_time = token.form in TIMES and token.form not in ("다음", "마지막", "이번", "처음")
        return is_time and after.pos[0].startswith(("NN", "NP", "MM"))

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
        if before is not None and before.kind == "bare" and before.comma:
            is_listed = acts(self.tokens, before.last) and self.phrases[k].first == start
            if is_listed:
                return "the subject is a coordination"  # 팬, 노동자들도
        if start and self.tokens[start - 1].form in _JOINING:
            return "the subject is a coordination"  # 공단 또는 / 법인은
        marks = [phrase.mark for phrase in between]
        has_pause = any(phrase.comma and phrase.kind in ("bare", "list") for phrase in between)
        if has_pause and self.phrases[m].mark in marks:
            return "two phrases share the predicate"  # 영국에서 7위, 미국에서 8위를 기록했다
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
    """The two phrases of a clause, with and without their particles.

    `start` and `end` are their limits in the text, `gap` is the text between them.
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
        self.is_movable = all(is_between_words(text, place) for place in cuts)
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


def choose_dative(tokens: Tokens, i: int, particle: str) -> str:
    """에 or 에게 for the noun that token i ends; another particle, or that of an unknown noun, stays."""
    if particle == "에" and is_person(tokens, i):
        return "에게"
    if (
        particle in ("에게", "한테", "께")
        and tokens[i].pos[0] == "NNG"
        and not is_person(tokens, i)
    ):
        return "에"
    return particle


class KoreanRules:
    """The rules of Korean, by Kiwi's tags."""

    language = "ko"
    analyser = "kiwi"
    parsers: tuple[str, ...] = ()
    cases: Mapping[str, str] = MappingProxyType({"eul": "을/를", "e": "에/에게", "eseo": "에서"})

    def may_hold(self, text: str, case: str) -> bool:
        """Whether a particle of the case may be in the text."""
        return any(sign in text for sign in _SIGNS[case])

    def repair(self, tokens: Tokens) -> Tokens:
        """The analysis with known slips of Kiwi corrected."""
        return repair_tokens(tokens)

    def find_clauses(self, tokens: Tokens, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case."""
        return Sentence(tokens).find_clauses(case)

    def find_pair(self, tokens: Tokens, case: str) -> Clause | None:
        """The first subject and the first argument in the case after it."""
        return Sentence(tokens).find_pair(case)

    def obstacle(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> str:
        """Why a phrase cannot move: a morpheme may end inside a word (사진에서 of 사진에서봤던)."""
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
            dative = choose_dative(tokens, clause.subject - 1, old_second)
            first = attach_to_noun(parts.subject, dative, old_first)
            second = attach_to_noun(parts.argument, "이/가", old_second)
        else:
            first, second = parts.subject[0], parts.argument[0]
        return parts.start, parts.end, first + parts.gap + second


PERTURBATIONS = make_perturbations(KoreanRules())
