"""The translation guidelines of JSICK (3.1) as checks: what a translation must be, and where it
leaves the guidelines.

- a subject with an indefinite article takes が, one with a definite article は;
- plural nouns for people take a suffix such as たち, single ones none;
- negation, passives, numbers and quantifiers of the English sentence are kept, and none is added.

The order of words and the choice of words are for people to judge. So is what a check finds: it
asks a bilingual to look.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nikawa.text import Token, analyser

JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff々]")
LATIN = re.compile(r"[A-Za-zＡ-Ｚａ-ｚ]{4,}")
"""Longer than the abbreviations that Japanese writes in Latin letters."""
MAX_CHARS_PER_WORD = 6
"""Characters of Japanese for a word of English beyond which a text is not a translation of one
sentence."""


class Departure(NamedTuple):
    """A guideline that a translation may have left."""

    guideline: str
    what: str
    """In Japanese, for the person who looks at it."""


NOT_JAPANESE = "no Japanese text"
ENGLISH_WORDS = "words left in English"
CONTROL_CHARACTERS = "line breaks or control characters"
FAR_LONGER = "far longer than the sentence"
FAULT_NOTES = {
    NOT_JAPANESE: "日本語の文ではありません",
    ENGLISH_WORDS: "英語のままの言葉があります",
    CONTROL_CHARACTERS: "改行か、見えない文字が入っています",
    FAR_LONGER: "英文に比べて長すぎます",
}
"""What the person who looks at a translation reads, by the reason of `fault`."""


def fault(english: str, japanese: str) -> str:
    """Why a text cannot be a translation at all; empty where it can."""
    if not JAPANESE.search(japanese):
        return NOT_JAPANESE
    if LATIN.search(japanese):
        return ENGLISH_WORDS
    if any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in japanese):
        return CONTROL_CHARACTERS
    if len(japanese) > MAX_CHARS_PER_WORD * max(4, len(english.split())):
        return FAR_LONGER
    return ""


def departures(pairs: Iterable[tuple[str, str]]) -> Iterator[list[Departure]]:
    """For each (English, Japanese) what a bilingual should look at."""
    texts = list(pairs)
    analysed = analyser("ipadic").analyse_many(japanese for _, japanese in texts)
    for (english, _), tokens in zip(texts, analysed, strict=True):
        yield [
            Departure(name, what)
            for name, check in CHECKS.items()
            for what in check(english, tokens)
        ]


SUBJECT = r"(?:(?!(?:is|are|was|were|and|who|with|in|on|of)\b)[\w'-]+ )*?"
PEOPLE = r"(?:men|women|boys|girls|children|kids|players|dancers|surfers|soldiers|ladies|guys)"
PERSON = r"(?:man|woman|boy|girl|child|kid|person|player|lady|guy)"
PLURAL = re.compile(
    rf"(?:the |some |two |three |four |several |many )?{SUBJECT}{PEOPLE}\b", re.IGNORECASE
)
SINGLE = re.compile(rf"(?:an?|the|one) {SUBJECT}{PERSON} (?:is|was|\w+s)\b", re.IGNORECASE)
MANY = (
    "たち",
    "達",
    "ら",
    "々",
    "人",
    "名",
    "複数",
    "大勢",
    "グループ",
    "チーム",
    "カップル",
    "同士",
)
NEGATION = re.compile(
    r"\b(?:no(?:body|thing|ne|r|t)?|never|neither|without|cannot)\b|n't\b", re.IGNORECASE
)
IMPLIED = re.compile(
    r"\b(?:un\w{3,}|in\w{5,}|dis\w{3,}|\w+less(?:ly)?|empty|deserted|few|hardly|barely|alone)\b",
    re.IGNORECASE,
)
"""English words that Japanese may well put as a negation."""
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be)(?: not)? being \w+|\b(?:is|are|was|were)(?: not)? \w+(?:ed|en|wn|ught) by\b",
    re.IGNORECASE,
)
PARTICIPLE = re.compile(
    r"\b(?:being|by)\b|\w(?:ed|en|wn|un|ut|lt|pt|ught|de|ung|ang|st|nt|rd|ld)\b", re.IGNORECASE
)
NUMBERS = {
    "two": "二2２両",
    "three": "三3３",
    "four": "四4４",
    "five": "五5５",
    "six": "六6６",
    "seven": "七7７",
    "eight": "八8８",
    "nine": "九9９",
    "ten": "十1１",
}
_QUANTIFIER_WORDS = {
    r"some|several|a few": ("いくつ", "いくら", "何", "数", "ある", "複数", "一部", "若干"),
    r"many|lots of|a lot of": ("多", "たくさん", "沢山", "大勢", "いっぱい", "数々", "大量"),
    r"all|every|each(?! other)": (
        "すべて",
        "全",
        "みな",
        "みんな",
        "皆",
        "どの",
        "各",
        "それぞれ",
        "あらゆる",
    ),
}
QUANTIFIERS = {
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE): kept
    for words, kept in _QUANTIFIER_WORDS.items()
}


def _markers(tokens: Sequence[Token]) -> Iterator[tuple[str, int]]:
    """Nominative が and topic は that follow a noun, with their places."""
    for place, token in enumerate(tokens):
        after_noun = place > 0 and tokens[place - 1].pos[0] in ("名詞", "記号")
        if after_noun and (token.surface, token.pos[:2]) in ((GA, CASE), (WA, TOPIC)):
            yield token.surface, place


GA, WA, CASE, TOPIC = "が", "は", ("助詞", "格助詞"), ("助詞", "係助詞")


def check_articles(english: str, tokens: Sequence[Token]) -> Iterator[str]:
    """An indefinite subject takes が, a definite one は."""
    first = next(iter(english.lower().split()), "")
    particles = {particle for particle, _ in _markers(tokens)}
    if first in ("a", "an") and particles == {WA}:
        yield "不定冠詞(a, an)の主語は「が」で訳します"
    if first == "the" and particles == {GA}:
        yield "定冠詞(the)の主語は「は」で訳します"


def check_plural(english: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Plural subjects that are people take a suffix, single ones none."""
    text = "".join(token.surface for token in tokens)
    if PLURAL.match(english) and not any(word in text for word in MANY):
        yield "主語は複数形です(「たち」など)"
    place = next((place for _, place in _markers(tokens)), 0)
    if SINGLE.match(english) and place and tokens[place - 1].surface in ("たち", "達"):
        yield "主語は単数形です(「たち」は不要)"


def check_negation(english: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Negation is kept, and none is added."""
    here = any(
        token.surface in ("ず", "なし", "無し")
        or (token.pos[0] in ("助動詞", "形容詞") and token.base in ("ない", "ぬ", "ん", "無い"))
        for token in tokens
    )
    there = bool(NEGATION.search(english))
    if there and not here:
        yield "英文の否定が訳にありません"
    if here and not there and not IMPLIED.search(english):
        yield "英文にない否定が訳にあります"


def check_passive(english: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Passives are kept, and none is added."""
    here = any(
        token.pos[:2] == ("動詞", "接尾") and token.base in ("れる", "られる", "せられる")
        for token in tokens
    )
    if PASSIVE.search(english) and not here:
        yield "英文は受身です"
    if here and not PARTICIPLE.search(english):
        yield "英文にない受身が訳にあります"


def check_quantity(english: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Numbers and quantifiers are kept."""
    text = "".join(token.surface for token in tokens)
    for word in re.findall(r"[a-z]+", english.lower()):
        if word in NUMBERS and not any(sign in text for sign in NUMBERS[word]):
            yield f"数({word})が訳にありません"
    for pattern, kept in QUANTIFIERS.items():
        if (match := pattern.search(english)) and not any(word in text for word in kept):
            yield f"量化({match[0].lower()})が訳にありません"


Check = Callable[[str, Sequence[Token]], Iterator[str]]
CHECKS: dict[str, Check] = {
    "articles": check_articles,
    "plural": check_plural,
    "negation": check_negation,
    "passive": check_passive,
    "quantity": check_quantity,
}
"""The guidelines that can be checked, by name."""
