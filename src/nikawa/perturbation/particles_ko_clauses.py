"""Which clauses of a Korean sentence have a subject directly followed by an 을/를, 에/에게 or 에서 phrase.

What lies between the two particles must be one noun phrase. A relative clause inside it is passed over where it
cannot take the subject with it: behind a topic (은/는, 도), and where its predicate describes (낡은, 깨진, 숲에 있는). Else the
clause found carries the reason why it is not eligible.
"""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.perturbation.particles_ja_clauses import Clause
from nikawa.perturbation.particles_ko_phrases import CLAUSE_NOUNS, Phrase, phrases
from nikawa.perturbation.particles_ko_words import Words
from nikawa.text import Token

LONGEST = 40
"""Phrases that a noun phrase may hold; keeps hostile text linear."""
RELATIVE = "the subject may be that of the relative clause"
_TIMES = frozenset(
    {
        "아침",
        "점심",
        "저녁",
        "밤",
        "낮",
        "새벽",
        "오전",
        "오후",
        "어제",
        "오늘",
        "내일",
        "모레",
        "그저께",
        "지금",
        "요즘",
        "주말",
        "평일",
        "봄",
        "여름",
        "가을",
        "겨울",
        "시",
        "분",
        "초",
        "년",
        "월",
        "일",
        "주",
        "때",
        "날",
        "해",
        "순간",
        "시간",
        "정오",
        "자정",
        "작년",
        "올해",
        "내년",
        "옛날",
        "월요일",
        "화요일",
        "수요일",
        "목요일",
        "금요일",
        "토요일",
        "일요일",
        "처음",
        "마지막",
        "다음",
        "이번",
        "지난번",
        "지난달",
        "지난주",
        "지난해",
        "이튿날",
        "당시",
        "평소",
        "최근",
    }
)
_SENTENCE_ADVERBS = frozenset({"만약", "만일", "가령", "혹시", "설령", "물론", "사실", "아마"})
"""Said of the whole clause: they stay in front of it, whether Kiwi takes them for nouns or not."""
_ADVERBIAL = frozenset(
    {
        "때문",
        "전",
        "후",
        "동안",
        "중",
        "사이",
        "덕분",
        "대신",
        "김",
        "바람",
        "뒤",
        "결과",
        "가운데",
        "만",
        "반면",
    }
)
"""Before 에 and 에서 these make an adverbial of a clause, no argument."""
_COMPOUND = frozenset(
    {
        "대하",
        "관하",
        "의하",
        "따르",
        "비하",
        "위하",
        "통하",
        "비롯하",
        "향하",
        "불구하",
        "인하",
        "걸치",
    }
)
"""Verbs that make one word of meaning with the particle before them: 에 대해, 을 위해."""


class _Sentence:
    """An analysis with what the rules ask of it many times."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.phrases = phrases(tokens)
        self.words = Words(tokens)
        self.governors = self._governors()

    def _governors(self) -> list[int]:
        """For each phrase the next predicate after it, or -1."""
        nearest, found = -1, [-1] * len(self.phrases)
        for i in range(len(self.phrases) - 1, -1, -1):
            found[i] = nearest
            if self.phrases[i].predicate:
                nearest = i
        return found

    def clauses(self, case: str) -> list[Clause]:
        found: list[Clause] = []
        k = floor = 0
        while k < len(self.phrases):
            if self.phrases[k].kind in ("subject", "topic") and not self.phrases[k].comma:
                hit = self._argument(k, case)
                if hit is not None:
                    m, against = hit
                    clause = self.clause(k, m, floor, against)
                    found.append(
                        clause._replace(against=against or self._against(clause.start, k, m))
                    )
                    k = floor = m
            k += 1
        return found

    def clause(self, k: int, m: int, floor: int, against: str) -> Clause:
        start = self._start(k, floor)
        return Clause(start, self.phrases[k].end - 1, self.phrases[m].end - 1, against)

    def _argument(self, k: int, case: str) -> tuple[int, str] | None:
        """The phrase that bears the case, if all from phrase k to it is one noun phrase; and what speaks against it."""
        topic = self.phrases[k].kind == "topic"
        against, m = "", k + 1
        while m < min(len(self.phrases), k + LONGEST):
            phrase = self.phrases[m]
            if phrase.kind in ("argument", "case", "subject", "topic"):
                inside = self._relative(m)
                if inside is not None and (topic or not self.phrases[inside].acts):
                    m = inside + 1
                    continue
                fits = phrase.kind == "argument" and phrase.mark == case and not phrase.comma
                return (m, against or (RELATIVE if inside is not None else "")) if fits else None
            if not self._within(m):
                return None
            if phrase.acts and not topic:
                against = RELATIVE
            m += 1
        return None

    def _within(self, m: int) -> bool:
        """Whether a noun phrase can go on after phrase m."""
        phrase = self.phrases[m]
        if phrase.comma:
            return phrase.kind == "list"
        if phrase.kind == "adverb":
            return m + 1 < len(self.phrases) and self._describing(m + 1)
        return phrase.kind in ("modifier", "of", "list") and not self._nominal(m)

    def _describing(self, m: int) -> bool:
        phrase = self.phrases[m]
        return (
            phrase.kind == "modifier"
            and phrase.predicate
            and not phrase.acts
            and not self._compound(m)
        )

    def _compound(self, m: int) -> bool:
        """Whether a modifier is the first part of a word, 큰 of 큰길: nothing before it belongs to it."""
        return self.phrases[m].end < len(self.tokens) and self.words.joined(self.phrases[m].end)

    def _relative(self, m: int) -> int | None:
        """The predicate of the relative clause that phrase m stands in."""
        g = self.governors[m]
        if (
            g < 0
            or self.phrases[g].kind != "modifier"
            or g + 1 >= len(self.phrases)
            or g - m > LONGEST
        ):
            return None
        if self._compound(g):
            return None
        if any(self.phrases[i].comma for i in range(m, g + 1)) or self._nominal(g):
            return None
        return g

    def _nominal(self, g: int) -> bool:
        """Whether 것, 때 or the like after predicate g makes a noun clause or an adverbial of it."""
        if not self.phrases[g].predicate or g + 1 >= len(self.phrases):
            return False
        return self.tokens[self.phrases[g + 1].first].form in CLAUSE_NOUNS

    def _start(self, k: int, floor: int) -> int:
        """The first token of the subject that phrase k ends."""
        i = k
        while i > floor and k - i < LONGEST and self._joins(self.phrases[i - 1], self.phrases[i]):
            i -= 1
            if self.phrases[i].predicate:
                i = self._clause_start(i, max(floor, k - LONGEST))
        first = self.phrases[i].first
        while first < self.phrases[k].end - 2 and (self._is_time(first) or self._opens(first, k)):
            first += 1
        return self._whole_word(first, self.phrases[floor].end if floor else 0, k)

    def _whole_word(self, first: int, lowest: int, k: int) -> int:
        """The first token of the blank-parted word: Kiwi takes 하 of the name 하은 for an interjection."""
        start = self.words.start(first, lowest)
        if start < first and self.words.written(start) in _TIMES:  # 어제 taken for 어 and 제
            return min(self.words.end(start), self.phrases[k].end - 2)
        return start

    def _opens(self, first: int, k: int) -> bool:
        """Whether a quotation begins here that goes on behind the subject."""
        tokens = self.tokens[first : self.phrases[k].end]
        return tokens[0].pos[0] == "SSO" and all(token.pos[0] != "SSC" for token in tokens)

    @staticmethod
    def _joins(before: Phrase, phrase: Phrase) -> bool:
        if before.comma:
            return False
        if before.kind == "adverb":
            return phrase.kind == "modifier" and phrase.predicate and not phrase.acts
        return before.kind in ("modifier", "of", "list")

    def _clause_start(self, i: int, floor: int) -> int:
        """Where the relative clause begins whose predicate is phrase i: a topic stays outside."""
        inside = ("subject", "argument", "case", "of", "list", "modifier", "adverb", "bare")
        while i > floor and self.phrases[i - 1].kind in inside and not self.phrases[i - 1].comma:
            i -= 1
        return i

    def _is_time(self, first: int) -> bool:
        """Whether a word of time, or one said of the whole clause, stands before the noun."""
        token, after = self.tokens[first], self.tokens[first + 1]
        if token.form in _SENTENCE_ADVERBS and token.end < after.start:
            return True
        return token.form in _TIMES and after.pos[0].startswith(("NN", "NP", "MM"))

    def _against(self, start: int, k: int, m: int) -> str:
        q = self.phrases[m].end - 1
        noun = self.tokens[q - 1].form
        if self.governors[m] < 0:
            return "no predicate follows"
        if any(
            self.phrases[i].kind in ("subject", "topic") for i in range(m + 1, self.governors[m])
        ):
            return "another subject follows"
        if k and self.phrases[k - 1].kind == "argument" and self.phrases[k - 1].comma:
            return "two subjects share the predicate"
        if self.phrases[m].mark != "eul" and (noun in _TIMES or noun in _ADVERBIAL):
            return "a time or another adverbial, no argument"
        if q + 1 < len(self.tokens) and self.tokens[q + 1].form in _COMPOUND:
            return "the particle is part of a compound (에 대해)"
        return self._unfit(start, self.phrases[k].end - 1, q)

    def _unfit(self, start: int, p: int, q: int) -> str:
        """What the words themselves speak against: one noun twice (제가 저를), a quotation that only one of them is in."""
        if [token.form for token in self.tokens[start:p]] == [
            token.form for token in self.tokens[p + 1 : q]
        ]:
            return "the same noun twice"
        tags = [token.pos[0] for token in self.tokens[start:q]]
        return (
            "a bracket opens or closes between them"
            if tags.count("SSO") != tags.count("SSC")
            else ""
        )


def clauses(tokens: Sequence[Token], case: str) -> list[Clause]:
    """The clauses with a subject and an argument in `case` at once after it, left to right."""
    return _Sentence(tokens).clauses(case)


def first_pair(tokens: Sequence[Token], case: str) -> Clause | None:
    """The first subject and the first argument in `case` after it, whatever stands between."""
    sentence = _Sentence(tokens)
    kinds = [phrase.kind for phrase in sentence.phrases]
    k = next((i for i, kind in enumerate(kinds) if kind in ("subject", "topic")), None)
    if k is None:
        return None
    after = range(k + 1, len(kinds))
    m = next((i for i in after if sentence.phrases[i].mark == case), None)
    return None if m is None else sentence.clause(k, m, 0, "only the particles are there")
