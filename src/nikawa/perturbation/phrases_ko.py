"""Korean phrases by Kiwi's tags: what the rules on particles read of a sentence, and where words begin
and end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

from msgspec.structs import replace

from nikawa.perturbation._particles import word_set
from nikawa.perturbation.base import Tokens
from nikawa.text import Token

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
CLAUSE_NOUNS = word_set(
    "것 거 줄 수 때 동안 후 뒤 전 다음 채 듯 만큼 대로 중 사이 순간 적 바 경우 데 즉시 무렵 당시 이래 김"
)
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
"""Verbs that say how a thing is: their subject is the noun after them."""
_DEMONSTRATIVES = frozenset(
    {"이러하", "그러하", "저러하", "어떠하", "이렇", "그렇", "저렇", "어떻"}
)
"""Adjectives that point and have no phrases of their own: 이러한 상황."""
_RELATIONAL = word_set(
    "있 없 같 다르 가깝 멀 많 적 크 작 좋 비슷 유사 필요 가능 적합 민감 취약 능 가득 유리 불리 익숙 유명 중요 충실 지나 높 낮"
)
"""Adjectives that may have a phrase of their own."""
_MAKING = word_set(
    "만들 사 쓰 찍 짓 그리 굽 끓이 짜 낳 키우 기르 고르 줍 찾 모으 따 잡 싸 볶 튀기 담그 꺾 심 접 가지 먹 입 읽 새기"
)
"""Verbs that have no receiver."""
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
        is_adverb = tag == "EC" and tokens[i].form == "게" and tokens[i - 1].pos[0] in ("VA", "XSA")
        if is_adverb:
            return Phrase(first, i + 1, "adverb")  # 빠르게
        if tag == "ETM" and i - first == 1 and tokens[first].form in _DEMONSTRATIVES:
            return Phrase(first, i + 1, "modifier")
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
    after = tokens[i + 1].form if i + 1 < len(tokens) else ""
    is_clause = start > first and tokens[start - 1].pos[0] == "EC"
    if is_clause and after not in ("아니", "안", "되", "좋", "괜찮"):  # 하여서는 아니 된다
        return Phrase(first, i + 1, "and", predicate=True)  # 넣지 않고는
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
"""Punctuation that joins both of its sides to one word."""


class Words:
    """Where words begin and end.

    A text without blanks has none, and each morpheme counts as one.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.has_blanks = any(a.end < b.start for a, b in pairwise(tokens))

    def start(self, i: int, lowest: int = 0) -> int:
        """The first token of the word that token i is in, from `lowest` on."""
        while i > lowest and self.is_joined(i):
            i -= 1
        return i

    def end(self, i: int) -> int:
        """The token after the word that token i is in."""
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
        """Whether token i and the one before it are in one word."""
        before, token = self.tokens[i - 1], self.tokens[i]
        if not self.has_blanks or token.start > before.end:
            return False
        if self._is_inside_name(i) or self._is_inside_name(i - 1):
            return True
        return not _is_sign(before) and not _is_sign(token)

    def _is_inside_name(self, i: int) -> bool:
        """Whether token i is a point or the like inside a Latin name: tf.Graph."""
        if self.tokens[i].surface not in (".", "_") or not 0 < i < len(self.tokens) - 1:
            return False
        before, after = self.tokens[i - 1], self.tokens[i + 1]
        is_joined = before.end == self.tokens[i].start and self.tokens[i].end == after.start
        return is_joined and before.pos[0] in _WRITTEN and after.pos[0] in _WRITTEN


def _is_sign(token: Token) -> bool:
    """Whether it is punctuation or another sign that is no part of a word."""
    tag = token.pos[0]
    return tag.startswith("S") and tag not in _WRITTEN


def is_between_words(text: str, place: int) -> bool:
    """Whether a cut before the character at `place` goes through no word.

    In a text without blanks no cut does.
    """
    if not 0 < place < len(text) or not any(map(str.isspace, text)):
        return True
    neighbours = text[place - 1 : place + 1]
    return not all(char.isalnum() or char in _JOINERS for char in neighbours)


TIMES = word_set(
    "아침 점심 저녁 밤 낮 새벽 오전 오후 어제 오늘 내일 모레 그저께 지금 요즘 주말 평일 봄 여름 가을 겨울 "
    "시 분 초 년 월 일 주 때 날 해 순간 시간 정오 자정 작년 올해 내년 옛날 "
    "월요일 화요일 수요일 목요일 금요일 토요일 일요일 "
    "명절 연휴 방학 휴가 생일 크리스마스 성탄절 설날 추석 설 학기 며칠 하루 이틀 사흘 나흘 열흘 보름 "
    "처음 마지막 다음 이번 지난번 지난달 지난주 지난해 이튿날 당시 평소 최근"
)
"""Nouns of time."""


def is_verbal_han(before: list[Token], token: Token) -> bool:
    """Whether 한, read as the number, is the modifier of a 하다 verb: 승격한 구단."""
    if token.form != "한" or token.pos[0] != "MM" or not before:
        return False
    return before[-1].pos[0] == "NNG" and before[-1].end == token.start


_CUT_STEMS = {"우": "울", "여": "열", "노": "놀"}
"""Nouns that Kiwi reads in 우는, 여는 and 노는, and the stems that they are."""


def is_cut_verb(rest: Tokens) -> bool:
    """Whether 는 and a noun follow: 여는 괄호."""
    return len(rest) > 1 and rest[0].form == "는" and rest[1].pos[0].startswith("NN")


def repair_tokens(tokens: Tokens) -> Tokens:
    """The analysis with four slips of Kiwi corrected: the particle of 71.4%가 read as the verb 가다,
    누군가 read as a clause, 한 of 승격한 read as a number, and verbs such as 우는 read as a noun.
    """
    repaired: list[Token] = []
    i = 0
    while i < len(tokens):
        token, rest = tokens[i], tokens[i + 1 : i + 3]
        tags = [one.pos[0] for one in rest]
        is_after_sign = bool(repaired) and repaired[-1].pos[0] in ("SW", "SN", "SL", "SSC")
        is_joined = is_after_sign and repaired[-1].end == token.start
        if is_joined and token.form == "가" and token.surface == "가" and tags[:1] == ["EC"]:
            repaired.append(replace(token, base="가", pos=("JKS",)))
            i += 2
        elif token.form == "누구" and tags == ["VCP", "EC"] and rest[1].form == "ᆫ가":
            repaired.append(replace(token, surface="누군가", form="누군가", end=rest[1].end))
            i += 3
        elif token.form in _CUT_STEMS and token.pos[0] == "NNG" and is_cut_verb(rest):
            repaired.append(replace(token, base=f"{_CUT_STEMS[token.form]}다", pos=("VV",)))
            repaired.append(replace(rest[0], base="는", pos=("ETM",)))
            i += 2
        elif is_verbal_han(repaired, token):
            repaired.append(replace(token, base="하다", pos=("XSV",), form="하"))
            repaired.append(replace(token, base="ᆫ", pos=("ETM",), form="ᆫ"))
            i += 1
        else:
            repaired.append(token)
            i += 1
    return tuple(repaired)


class Analysis:
    """An analysis with what the rules look up many times.

    Phrases are named by their places: k the subject, m the argument.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.phrases = find_phrases(tokens)
        self.words = Words(tokens)
        self.governors = [-1] * len(self.phrases)
        """For each phrase the next predicate after it, or -1."""
        nearest = nearest_with_phrases = nearest_giving = -1
        for i in range(len(self.phrases) - 1, -1, -1):
            phrase = self.phrases[i]
            self.governors[i] = nearest
            if phrase.kind in ("argument", "case"):
                is_receiver = tokens[phrase.last].form in ("에게", "한테", "께")
                self.governors[i] = nearest_giving if is_receiver else nearest_with_phrases
            if phrase.predicate:
                nearest = i
                if self._takes_phrases(i):
                    nearest_with_phrases = i
                    if self._takes_receiver(i):
                        nearest_giving = i

    def _takes_phrases(self, g: int) -> bool:
        """Whether a phrase other than a subject may belong to predicate g: 숲에 있는, not 다양한."""
        phrase = self.phrases[g]
        words = self.tokens[phrase.first : phrase.end]
        is_adjective = any(token.pos[0] in ("VA", "XSA", "VCP", "VCN") for token in words)
        is_longer = phrase.end < len(self.tokens) and self.tokens[phrase.end].form in CLAUSE_NOUNS
        if phrase.kind != "modifier" or not is_adjective or is_longer:
            return True
        return any(token.form in _RELATIONAL for token in words)

    def _takes_receiver(self, g: int) -> bool:
        """Whether a phrase with 에게 may belong to predicate g: 나에게 보낸, not 나에게 / 손수 만든."""
        phrase = self.phrases[g]
        verbs = [one for one in self.tokens[phrase.first : phrase.end] if one.pos[0] in _PREDICATES]
        is_plain = bool(verbs) and all(verb.pos[0] == "VV" for verb in verbs)
        return phrase.kind != "modifier" or not is_plain or verbs[0].form not in _MAKING

    def find_last_predicate(self, g: int) -> int:
        """The last predicate of the sentence that predicate g is in."""
        while (
            not self.phrases[g].comma and self.phrases[g].kind != "final" and self.governors[g] >= 0
        ):
            g = self.governors[g]
        return g
