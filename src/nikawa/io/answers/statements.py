"""What a free text states: the value behind a cue, before a verdict, alone in a line or in JSON.

A statement that is denied, asked or assumed does not count, one that offers two values is unclear, and of
several the last counts. `Vocabulary` has the values as regular expressions, `StatementFinder` finds
them in a text, `read_reply` chooses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from nikawa.io.answers.phrases import load_phrases, match_any
from nikawa.io.answers.readings import BOXED, CUE, JSON, LEAD, LINE, SENTENCE, VERDICT
from nikawa.io.answers.replies import (
    FIRST_ORDINAL,
    MAX_REPLY_CHARS,
    FoldedText,
    blank_thoughts,
    is_refusal,
    quote,
    scan_json,
)

ANSWER_FIELDS = ("answer", "label", "score", "prediction", "choice", "答え", "回答", "정답", "답")
"""Fields of a JSON object that hold the answer, where it has several fields."""
CONFLICT = -1
"""The place of a value that is two: the letter of one choice with the text of another."""
MAX_CLAUSE_CHARS = 120
"""Characters behind a value in which its denial is looked for."""
MAX_FILLER_CHARS = 8
"""Characters of the longest word that may come between a verdict's clause and its value."""
RETRACTED = -2
"""The place of a statement that takes back the one before and gives no other."""
_OPEN = r"(?:[\s\"'`*_~「『《〈【(\[{<$]|\\(?:boxed|text|textbf|mathrm|mathbf)\{){0,16}"
_CLOSE = r"[\"'`*_~」』》〉】)\]}>$]{0,8}"
_STOP = r"(?:\Z|[とで](?=[、,。\n]|\Z)|\n|[。!,、;:(\[|」』】]|\.(?!\d)|\s[-–—(|]|\s*\Z)"
_SENTENCE_END = re.compile(r"[。!?\n]|\.(?=\s|\Z)")
BULLET = re.compile(r"[ \t]*(?:[-*•・#>]+[ \t]+|\d{1,2}[.)][ \t]+)?")
AROUND = " \t\n\r\u3000\"'`“”‘’「」『』()（）[]<>*"
FINAL_STOPS = "。．.、,"
_LEAD = re.compile(r"^(?:answer|label|答え|回答|解答|정답|답)\s*(?:[:：]|は)\s*", re.IGNORECASE)


def strip_around(text: str) -> str:
    """`text` without quotes, brackets, a final stop and a lead such as `Answer:`.

    >>> strip_around("答え：「含意」。")
    '含意'
    """
    text = text.strip(AROUND)
    text = _LEAD.sub("", text).strip(AROUND)
    return text.rstrip(FINAL_STOPS).strip(AROUND)


def fold_text(text: str) -> str:
    """`text` bare, without difference of case and width."""
    return strip_around(unicodedata.normalize("NFKC", text)).casefold()


class Statement(NamedTuple):
    """A place of a text that gives an answer, or offers several."""

    start: int
    end: int
    place: int | None
    """The place among the values; None where several are offered, `CONFLICT` where two disagree."""
    pattern: str
    at: int
    """Its position: the last statement counts."""


@dataclass(frozen=True)
class Vocabulary:
    """The values a text may name, as regular expressions over folded text."""

    words: re.Pattern[str]
    """Words that may occur in a sentence."""
    short: re.Pattern[str]
    """Words that count alone and after a cue only; the others are among them."""
    place_of: Mapping[str, int]
    """The place of each lower-case word."""
    keys: Mapping[str, int] = field(default_factory=dict)
    """The place of each letter."""
    digits: int = 0
    """How many values a bare number counts from 0; 0: numbers mean nothing."""
    size: int = 0
    """How many values ordinals count from 1; 0: they mean nothing."""


def make_vocabulary(
    words: Iterable[tuple[str, int]],
    short: Iterable[tuple[str, int]] = (),
    keys: Mapping[str, int] | None = None,
    *,
    digits: int = 0,
    size: int = 0,
) -> Vocabulary:
    """The vocabulary of words with their places; a word of two places means neither."""

    def fold(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
        table: dict[str, int] = {}
        for word, place in pairs:
            folded = " ".join(FoldedText.fold(word).text.split()).lower()
            if folded:
                same = table.setdefault(folded, place) == place
                table[folded] = place if same else CONFLICT
        return table

    long = fold(words)
    every = {**fold(short), **long}
    prefixes = [p for p in load_phrases().negating_prefixes if not p.isascii()]
    denied = "".join(f"(?<!{re.escape(prefix)})" for prefix in prefixes)

    def compile_words(table: Iterable[str], behind: str) -> re.Pattern[str]:
        pairs = []
        for word in sorted(table, key=lambda text: (-len(text), text)):
            before = r"(?<![A-Za-z0-9_-])" if re.match(r"[a-z0-9]", word) else behind
            after = r"(?![A-Za-z0-9_]|-[a-z])" if re.search(r"[a-z0-9]\Z", word) else ""
            if word[-1:].isdigit():
                after = r"(?![A-Za-z0-9_]|\.\d)"
            pairs.append((before, f"{re.escape(word)}{after}"))
        # Neighbours share what must not come before them: a class of 30,000 characters takes 1 ms to compile.
        sources = [
            f"{before}(?:{'|'.join(word for _, word in group)})"
            for before, group in groupby(pairs, key=itemgetter(0))
        ]
        return re.compile("|".join(sources) or r"(?!)", re.IGNORECASE)

    return Vocabulary(
        # Without (?-i:…) every class of 30,000 characters is looked up in both cases: 12 ms a pattern.
        compile_words(long, f"(?<!(?-i:{_WORD_BEFORE.pattern}))"),
        compile_words(every, denied),
        every,
        dict(keys or {}),
        digits,
        size,
    )


@dataclass(frozen=True)
class Grammar:
    """The phrases, compiled."""

    cue: re.Pattern[str]
    false_cue: re.Pattern[str]
    score_cue: re.Pattern[str]
    filler: re.Pattern[str]
    ending: re.Pattern[str]
    predicate: re.Pattern[str]
    verdict: re.Pattern[str]
    negation: re.Pattern[str]
    negating_word: re.Pattern[str]
    doubt: re.Pattern[str]
    denial: re.Pattern[str]
    affirmation: re.Pattern[str]
    concession: re.Pattern[str]
    correction: re.Pattern[str]
    assumption: re.Pattern[str]
    conclusion: re.Pattern[str]
    alternative: re.Pattern[str]
    ordinal: re.Pattern[str]
    number_mark: re.Pattern[str]
    unit: re.Pattern[str]
    scale_word: re.Pattern[str]
    range: re.Pattern[str]


@cache
def compile_grammar() -> Grammar:
    """The phrases of all languages as regular expressions."""
    phrases = load_phrases()

    def compiled(source: str) -> re.Pattern[str]:
        return re.compile(source, re.IGNORECASE)

    correction = rf"{match_any(phrases.corrections)}[\s、,:;!.。~-]{{0,6}}"
    connective = r"(?:(?:しかし|でも|だが|ただし|하지만|그러나|but|however)[、,\s]{0,3})?"
    marks = r"[\]*_)}】」』\"'`]{0,6}"
    join = rf"\s{{0,3}}{match_any(phrases.joins)}\s{{0,3}}[:=]?"
    separator = r"[ \t]{0,3}(?:[:=→]|[-–—]{1,2}[ \t>])"
    strong = rf"{match_any(phrases.cues)}{marks}(?:{join}|{separator}|\s{{0,3}})"
    weak = rf"{match_any(phrases.weak_cues)}{marks}(?:{join}|{separator})"
    scale = r"(?:\s?\(\s?0(?:\.0)?\s?(?:[-~〜–]|から|to|에서)\s?\d+(?:\.\d+)?[^()\n]{0,6}\))?"
    score = (
        rf"{match_any((*phrases.score_cues, *phrases.cues))}{marks}{scale}{marks}"
        rf"(?:{join}|{separator}|\s{{0,3}})"
    )
    tail = r"[*_\"'`\s、,]{0,8}"
    return Grammar(
        cue=compiled(rf"(?:{strong}|{weak}){tail}"),
        false_cue=compiled(match_any(phrases.false_cues)),
        score_cue=compiled(rf"{score}{tail}"),
        # an English word is a word where a blank follows: "a dog", not "A가 아니라"
        filler=compiled(rf"{match_any(phrases.fillers)}(?:\s+|(?<![A-Za-z]))"),
        ending=compiled(match_any(phrases.endings)),
        predicate=compiled(match_any((*phrases.predicates, *phrases.endings))),
        verdict=compiled(rf"\s*{match_any(phrases.verdicts)}"),
        negation=compiled(rf"\s*{match_any(phrases.negations)}"),
        negating_word=compiled(match_any(phrases.negating_words)),
        doubt=compiled(rf"\s*{match_any(phrases.doubts)}"),
        denial=compiled(match_any(phrases.denials)),
        affirmation=compiled(match_any(phrases.affirmations)),
        concession=compiled(rf"{match_any(phrases.concessions)}\s*\Z"),
        correction=compiled(
            rf"(?:\A|(?<=[。!?\n.,、;]))[\s*_]{{0,4}}{connective}(?:{correction}){{1,3}}"
            r"(?:(?:it's|it is|it should be)\s+)?"
        ),
        assumption=compiled(match_any(phrases.assumptions)),
        conclusion=compiled(match_any(phrases.conclusions)),
        alternative=compiled(rf"\s*(?:[、,]\s*)?{match_any(phrases.alternatives)}\s*"),
        ordinal=compiled(match_any(phrases.ordinal_marks).replace("(?<![A-Za-z])", "")),
        number_mark=compiled(match_any(phrases.number_marks)),
        unit=compiled(rf"\s*{match_any(phrases.units)}"),
        scale_word=compiled(rf"\s*{match_any(phrases.scale_words)}"),
        range=compiled(rf"\s*{match_any(phrases.ranges)}\s*-?\d"),
    )


OPENING, CLOSING = re.compile(_OPEN), re.compile(_CLOSE)
STOPPING = re.compile(_STOP)
_CLAUSE_END = re.compile(r"[、,;:(]")
_REASON = re.compile(
    r"because|since|as the|as it|as there|and not|rather than|instead of|not|given|based on|so|for the"
    r"|なので|ので|이므로",
    re.IGNORECASE,
)
"""Endings behind which the reason begins, which may deny whatever it likes."""
_NOT = re.compile(r"not\s+", re.IGNORECASE)
_KEY_JOIN = re.compile(r"[\s.):,、の(「『\"'*\]-]{0,6}")
_MATCHED_KEY = re.compile(r"\s{0,2}[(\[「]\s{0,2}(.)\s{0,2}[)\]」]")
_LISTED = re.compile(r"[\"'`*_」』)\]]{0,4}\s{0,2}[,、;・/]")
"""What follows a word of a list."""
_WORD_BEFORE = re.compile(r"[A-Za-z0-9\u30a1-\u30fa\u30fc\u3400-\u9fff\u3005\uac00-\ud7a3]")
"""A character that makes what follows a part of a longer word; particles are in hiragana."""
BOX = re.compile(r"\\boxed\{\s*(?:\\text\{|\\mathrm\{|\\textbf\{)?([^{}\n]{1,200})\}")


class StatementFinder:
    """Finds what a text states, with one vocabulary."""

    def __init__(self, folded: str, vocabulary: Vocabulary) -> None:
        self.text, self.vocabulary, self.grammar = folded, vocabulary, compile_grammar()
        self.is_unclear_count = False
        """Whether a number was met that may count from 0 or from 1."""
        self.is_denied = False
        """Whether an answer was only denied."""
        self.has_list = False
        """Whether several lines are answers, such as choices that a model repeats."""
        self._last_words: dict[int, int] | None = None
        """Where the last word of each place begins, once that was looked for."""

    def match_value(self, start: int) -> tuple[int, int] | None:
        """The place and the end of the value that begins here."""
        text, vocabulary = self.text, self.vocabulary
        word = vocabulary.short.match(text, start)
        key = self.match_key(start)
        if word and (key is None or word.end() > key[1]):
            place, end = vocabulary.place_of[word[0].lower()], word.end()
            behind = _MATCHED_KEY.match(text, end)
            if behind and behind[1] in vocabulary.keys:
                return (place if vocabulary.keys[behind[1]] == place else CONFLICT), behind.end()
            return place, end
        if key is None:
            return None
        place, end = key
        join = _KEY_JOIN.match(text, end)
        again = vocabulary.words.match(text, join.end()) if join and vocabulary.keys else None
        if again and self._is_own_word(again):
            same = vocabulary.place_of[again[0].lower()] == place
            return (place if same else CONFLICT), again.end()
        return key

    def _is_own_word(self, match: re.Match[str]) -> bool:
        """Whether a word behind a key stands for itself: 「B: 綱」, not 「B: 綱を使うから」."""
        end, grammar = find_end(CLOSING, self.text, match.end()), self.grammar
        follows = (grammar.negation, grammar.doubt, grammar.verdict, grammar.alternative)
        return self.is_stated(end) or any(each.match(self.text, end) for each in follows)

    def match_key(self, start: int) -> tuple[int, int] | None:
        """The place and the end of a letter or number that begins here."""
        text, vocabulary = self.text, self.vocabulary
        letter = text[start : start + 1]
        if not letter:
            return None
        if letter.isascii() and letter.isalpha():
            is_part = text[start - 1 : start].isascii() and text[start - 1 : start].isalnum()
            behind = text[start + 1 : start + 2]
            if is_part or (behind.isascii() and (behind.isalnum() or behind == "'")):
                return None
            place = vocabulary.keys.get(letter, vocabulary.keys.get(letter.upper()))
            return None if place is None else (place, start + 1)
        if letter in vocabulary.keys:
            return vocabulary.keys[letter], start + 1
        ordinal = ord(letter) - FIRST_ORDINAL
        if vocabulary.size and 0 < ordinal <= 20:
            end = find_end(self.grammar.number_mark, text, start + 1)  # 「②番」 is the second, too
            return (ordinal - 1 if ordinal <= vocabulary.size else CONFLICT), end
        digits = re.compile(r"(?<![\d.])\d{1,2}(?![\d]|\.\d)").match(text, start)
        if digits is None or not (vocabulary.size or vocabulary.digits):
            return None
        number, end = int(digits[0]), digits.end()
        if mark := self.grammar.ordinal.match(text, end):
            return (number - 1, mark.end()) if 0 < number <= vocabulary.size else None
        if mark := self.grammar.number_mark.match(text, end):
            self.is_unclear_count = True
            return CONFLICT, mark.end()
        return (number, end) if number < vocabulary.digits else None

    def read_statement(self, start: int) -> tuple[int, int, int | None] | None:
        """Start, end and place of the answer that is stated from here on; None: nothing is."""
        begin = self._find_value_start(start)
        if begin is None:
            return None
        start, is_denied = begin
        match = self.match_value(start)
        if match is None:
            return None
        place, end = match
        if self._is_contradicted(start, end, place):
            return None
        after = find_end(CLOSING, self.text, end)
        negation = self.grammar.negation.match(self.text, after)
        if is_denied or negation:
            self.is_denied = True
            after = negation.end() if negation else after
            connector = re.compile(r"(?:\s|、|,|but|rather)*", re.IGNORECASE).match(
                self.text, after
            )
            return self.read_statement(connector.end()) if connector else None
        if self.grammar.doubt.match(self.text, after):
            return None
        alternative = self.grammar.alternative.match(self.text, after)
        if alternative:
            other = self._find_value_start(alternative.end())
            if other and not other[1] and (second := self.match_value(other[0])):
                behind = find_end(CLOSING, self.text, second[1])
                if self.grammar.negation.match(self.text, behind):
                    return start, end, place  # 「Bであり、Aではない」
                return start, second[1], place if second[0] == place else None
        return (start, end, place) if self.is_stated(after) else None

    def _is_contradicted(self, start: int, end: int, place: int) -> bool:
        """Whether a short word is followed by the word of another label: "No. It is entailed."

        Yes and no are labels alone; in a longer reply they may answer a question of its own.
        """
        vocabulary = self.vocabulary
        if vocabulary.words.match(self.text, start) or self.match_key(start):
            return False
        if self._last_words is None:
            matches = vocabulary.words.finditer(self.text)
            self._last_words = {vocabulary.place_of[m[0].lower()]: m.start() for m in matches}
        return any(other != place and at >= end for other, at in self._last_words.items())

    def _find_value_start(self, start: int) -> tuple[int, bool] | None:
        """Where the value begins behind fillers and brackets, and whether `not` denies it."""
        is_denied = False
        for _ in range(6):
            opened = find_end(OPENING, self.text, start)
            if self.match_value(opened) is not None:
                filler = self.grammar.filler.match(self.text, opened)
                # "a" may be a letter or an article: it is the article where a value follows
                word = find_end(OPENING, self.text, filler.end()) if filler else 0
                if filler is None or not self.vocabulary.words.match(self.text, word):
                    return opened, is_denied
            if match := _NOT.match(self.text, opened):
                is_denied, start = True, match.end()
            elif match := self.grammar.filler.match(self.text, opened):
                start = match.end()
            else:
                return None
        return None

    def is_stated(self, end: int) -> bool:
        """Whether what follows a value ends it as a statement."""
        text = self.text
        if STOPPING.match(text, end):
            return True
        start = end
        while start < len(text) and text[start] in " \t":
            start += 1
        if start >= len(text):
            return True
        match = self.grammar.ending.match(text, start)
        if match is None:
            return False
        if self.grammar.negation.match(text, start):
            return False
        return _REASON.fullmatch(match[0]) is not None or not self.is_taken_back(start)

    def is_taken_back(self, start: int) -> bool:
        """Whether the rest of a sentence, from behind a value on, denies, doubts or replaces it.

        「Bだとは思わない」, 「Bになるのは…」 and 「Bに見えますが、Dです」 hold an ending that states
        an answer, and yet state none. Within the clause any word of denial counts; in the next one
        only where the clause ends in a concession: 「Bであり、Aではない」 states B.
        """
        stop = min(len(self.text), start + MAX_CLAUSE_CHARS)
        end = _SENTENCE_END.search(self.text, start, stop)
        stop = end.start() if end else stop
        comma = _CLAUSE_END.search(self.text, start, stop)
        clause = self.text[start : comma.start() if comma else stop]
        if end and end[0] == "?" and not comma:
            return True
        if comma and self.grammar.concession.search(clause):
            clause = self.text[start:stop]
        at = start
        while at < start + len(clause):  # another value in the same breath
            if self.vocabulary.words.match(self.text, at) or self._is_letter(at):
                return True
            at += 1
        return bool(self.grammar.denial.search(self.grammar.affirmation.sub("", clause)))

    def _is_letter(self, start: int) -> bool:
        """Whether a Latin letter of a choice begins here; those of kana are parts of words."""
        return self.text[start].isascii() and self.match_key(start) is not None

    def find_cues(self) -> Iterator[Statement]:
        """Answers behind a cue: 「答えはB」, "The answer is (B)"."""
        false_starts = {match.end() for match in self.grammar.false_cue.finditer(self.text)}
        for cue in self.grammar.cue.finditer(self.text):
            if any(cue.start() < place <= cue.end() for place in false_starts):
                continue
            if self._is_assumed(cue.start()):
                continue
            if match := self.read_statement(cue.end()):
                yield Statement(*match, CUE, cue.start())

    def _is_assumed(self, start: int) -> bool:
        """Whether the sentence up to here is an assumption: 「もし前提が正しければ、」."""
        before = self.text[self._find_sentence_start(start) : start]
        match = self.grammar.assumption.search(before)
        return match is not None and not self.grammar.conclusion.search(before, match.start())

    def _find_sentence_start(self, place: int) -> int:
        begin = max(0, place - 200)
        place -= place == len(self.text) or self.text[place] in "。.!?\n"
        ends = [match.end() for match in _SENTENCE_END.finditer(self.text, begin, place)]
        return ends[-1] if ends else begin

    def find_corrections(self) -> Iterator[Statement]:
        """Places that take an answer back, with the one they give instead: 「いや、Dです」."""
        for mark in self.grammar.correction.finditer(self.text):
            match = self.read_statement(mark.end())
            at = mark.start()
            yield Statement(*match, CUE, at) if match else Statement(at, at, RETRACTED, CUE, at)

    def find_verdicts(self) -> Iterator[Statement]:
        """Answers before a verdict: 「Bが正解です」, "B is correct"."""
        for verdict in self.grammar.verdict.finditer(self.text):
            start = max(0, verdict.start() - 80)
            for begin in range(start, verdict.start()):
                match = self.match_value(begin)
                if match is None:
                    continue
                place, end = match
                opened = self._find_filler_before(begin)
                is_part = _WORD_BEFORE.match(self.text, begin - 1) if opened == begin > 0 else None
                if is_part or find_end(CLOSING, self.text, end) != verdict.start():
                    continue
                if self._is_denied_verdict(begin, verdict.end()):
                    break
                is_one = self._is_only_value(opened, place)
                yield Statement(begin, end, place if is_one else None, VERDICT, begin)
                break

    def _find_filler_before(self, begin: int) -> int:
        """Where a filler begins that ends here and opens its clause: 「よって選択肢Bが正しい」, not 「誤った選択肢Bを選んだ」."""
        for at in range(max(0, begin - MAX_FILLER_CHARS), begin):
            if self.grammar.filler.fullmatch(self.text, at, begin):
                before = self.text[max(0, at - MAX_FILLER_CHARS) : at]
                conclusions = self.grammar.conclusion.finditer(before)
                if not re.search(r"\w\Z", before) or any(
                    mark.end() == len(before) for mark in conclusions
                ):
                    return at
        return begin

    def _is_denied_verdict(self, begin: int, end: int) -> bool:
        before = self.text[self._find_sentence_start(begin) : begin]
        clause = _CLAUSE_END.split(before)[-1]
        if self.grammar.negating_word.search(clause) or self._is_assumed(begin):
            return True
        return _NOT.match(self.text, end + 1) is not None or self.is_taken_back(end)

    def _is_only_value(self, begin: int, place: int) -> bool:
        """Whether no other value is joined to the one that begins here: not 「AとBが正解」."""
        opened = begin
        while opened and OPENING.fullmatch(self.text, opened - 1, begin):
            opened -= 1
        for start in range(max(0, opened - 40), opened):
            match = self.match_value(start)
            if match is None or match[0] == place:
                continue
            joined = self.grammar.alternative.match(
                self.text, find_end(CLOSING, self.text, match[1])
            )
            if joined and joined.end() >= opened:
                return False
        return True

    def find_boxed(self) -> Iterator[Statement]:
        r"""Answers in `\boxed{…}`."""
        for box in BOX.finditer(self.text):
            match = self.match_value(find_end(OPENING, self.text, box.start(1)))
            if match and not re.search(r"\w", self.text[match[1] : box.end(1)]):
                yield Statement(box.start(1), match[1], match[0], BOXED, box.start())

    def find_lines(self) -> Iterator[Statement]:
        """Lines that are an answer and nothing else, unless they make up a list."""
        alone: list[Statement | None] = []
        place = 0
        for line in self.text.split("\n"):
            if line.strip():
                alone.append(self._read_line(place, place + len(line)))
            place += len(line) + 1
        values = {statement.place for statement in alone if statement}
        self.has_list = len(values) > 1
        for number, statement in enumerate(alone):
            if statement is None:
                continue
            is_last = number == len(alone) - 1
            if len(values) == 1 or (is_last and (number == 0 or alone[number - 1] is None)):
                yield statement

    def _read_line(self, start: int, stop: int) -> Statement | None:
        bullet = BULLET.match(self.text, start, stop)
        match = self.read_statement(bullet.end() if bullet else start)
        if match is None or match[1] > stop:
            return None
        begin, end, place = match
        rest = self.text[find_end(CLOSING, self.text, end) : stop].strip()
        if re.fullmatch(r"\([^()]*\)[。.]*", rest):
            rest = ""  # a remark in brackets behind the answer
        while rest := rest.strip(" \t\"'`*_~」』》〉】)]}>$。.!、,"):
            ending = self.grammar.ending.match(rest)
            if ending is None:
                return None
            rest = rest[ending.end() :]
        return Statement(begin, end, place, LINE, start)

    def find_leading_key(self) -> Iterator[Statement]:
        """A letter at the very beginning with the reason behind it: 「B. 船をつなぐから」."""
        if not self.vocabulary.keys:
            return
        lines = [line for line in self.text.split("\n") if line.strip()]
        start = find_end(OPENING, self.text, 0)
        key = self.match_key(start)
        if key is None or not lines or not self.text[start].isascii():
            return
        place, end = key
        first_end = self.text.find("\n", start)
        line = self.text[start : first_end if first_end >= 0 else len(self.text)]
        if not re.match(r"[\"'`*_」』)\]]{0,4}\s?[.):、,]", self.text[end:]):
            return
        others = {
            other[0]
            for other in map(self.match_key, range(end, start + len(line)))
            if other is not None and other[0] != place
        }
        second = lines[1] if len(lines) > 1 else ""
        is_list = bool(re.match(r"[\s(\[「*]*[A-Za-zア-コ1-9][.):]", second))
        if not others and not is_list:
            yield Statement(start, end, place, LEAD, start)

    def find_predicate(self) -> Statement | None:
        """The word that the last sentence ends in, where it is the only one that is not denied."""
        ends = [match.start() for match in _SENTENCE_END.finditer(self.text)]
        bounds = [-1, *ends, len(self.text)]
        for before, stop in zip(reversed(bounds[:-1]), reversed(bounds[1:]), strict=True):
            if self.text[before + 1 : stop].strip(" \t\n\"'`*_」』)"):
                return self._read_sentence(before + 1, stop)
        return None

    def _read_sentence(self, start: int, stop: int) -> Statement | None:
        if self.text[stop : stop + 1] == "?" or self.has_list:
            return None
        if self.grammar.false_cue.search(self.text, start, stop) or self._is_assumed(stop):
            return None
        # 「選択肢Aは鐘です」 tells what a choice says, not which one is chosen
        letters = map(self.match_key, range(start, stop) if self.vocabulary.size else ())
        if any(letter is not None for letter in letters):
            return None
        asserted: list[re.Match[str]] = []
        for match in self.vocabulary.words.finditer(self.text, start, stop):
            after = find_end(CLOSING, self.text, match.end())
            clause = self.text[max(start, match.start() - 60) : match.start()]
            clause = re.split(r"[,;、]", clause)[-1]
            if self.grammar.negating_word.search(clause) or self.grammar.negation.match(
                self.text, after
            ):
                self.is_denied = True
            else:
                asserted.append(match)
        # 「矛盾に見えるが、含意です」: the last clause decides, unless the words are a list
        comma = max(self.text.rfind(mark, start, stop) for mark in ",、;")
        if asserted and asserted[-1].start() > comma:
            earlier = [match for match in asserted if match.end() <= comma]
            if not any(_LISTED.match(self.text, match.end()) for match in earlier):
                asserted = [match for match in asserted if match.start() > comma]
        places = {self.vocabulary.place_of[match[0].lower()] for match in asserted}
        if len(places) != 1 or CONFLICT in places:
            return None
        last = asserted[-1]
        after = find_end(CLOSING, self.text, last.end())
        rest = self.text[after:stop].strip()
        while rest:
            predicate = self.grammar.predicate.match(rest)
            if predicate is None or self.grammar.negation.match(rest):
                return None
            if self.grammar.doubt.match(rest, predicate.end()):
                return None
            rest = rest[predicate.end() :].strip(" \t\"'`*_」』)")
        return Statement(last.start(), last.end(), places.pop(), SENTENCE, last.start())

    def find_all(self) -> Iterator[Statement]:
        """All statements, in no order."""
        yield from self.find_corrections()
        yield from self.find_cues()
        yield from self.find_verdicts()
        yield from self.find_boxed()
        yield from self.find_lines()
        yield from self.find_leading_key()


def find_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of a match that begins at `start`, or `start` without a match."""
    match = pattern.match(text, start)
    return match.end() if match else start


class ReadValue(NamedTuple):
    """The value that a reply names: its index, or the reason for a missing value."""

    place: int | None
    why: str | None = None
    start: int = 0
    end: int = 0
    pattern: str = ""


def read_reply(
    raw: str, vocabulary: Vocabulary, read_whole: Callable[[Any], int | None]
) -> ReadValue:
    """The value that a free text states.

    `read_whole` reads a text that is the value and nothing else; it is asked about JSON fields.
    """
    shift = max(0, len(raw) - MAX_REPLY_CHARS)
    text = blank_thoughts(raw)[shift:]
    if not text.strip():
        is_cut = bool(raw.strip())
        return ReadValue(None, "the text ends inside its thoughts" if is_cut else "empty")
    folded = FoldedText.fold(text)
    finder = StatementFinder(folded.text, vocabulary)
    readings: list[tuple[int, int | None, int, int, str]] = []
    objects: list[tuple[int, int]] = []
    for value, start, end in find_answer_fields(text, lambda name: read_whole(name) is not None):
        objects.append((start, end))
        place = read_whole(value)
        if place is None and isinstance(value, str):
            inner = list(StatementFinder(FoldedText.fold(value).text, vocabulary).find_lines())
            place = inner[-1].place if inner else None
        if place is not None:
            readings.append((start, place, start, end, JSON))
    for statement in finder.find_all():
        start, end = folded.span(statement.start, statement.end)
        at = folded.places[statement.at]
        if any(begin <= at < stop for begin, stop in objects):  # another field of the JSON
            continue
        readings.append((at, statement.place, start, end, statement.pattern))
    last_at, last_place = max(((r[0], r[1]) for r in readings), default=(-1, RETRACTED))
    if last_place == RETRACTED and (predicate := finder.find_predicate()):
        start, end = folded.span(predicate.start, predicate.end)
        if start > last_at:
            readings.append((start, predicate.place, start, end, SENTENCE))
    if all(reading[1] == RETRACTED for reading in readings):
        readings = []  # nothing was given before
    if readings:
        # of two patterns at one place the one that reads more counts
        _, place, start, end, pattern = max(readings, key=lambda r: (r[0], r[3] - r[2]))
        if place == CONFLICT:
            why = "the text of one choice and the place of another"
            if finder.is_unclear_count:
                why = "the number may count from 0 or from 1"
            return ReadValue(None, why)
        if place == RETRACTED:
            return ReadValue(None, "takes back what it gave, and gives no other answer for sure")
        if place is None:
            return ReadValue(None, f"gives more than one answer: {quote(text[start:end])}")
        return ReadValue(place, None, start + shift, end + shift, pattern)
    if is_refusal(text.strip()):
        return ReadValue(None, f"refusal: {quote(text)}")
    if finder.is_denied:
        return ReadValue(None, "says what the answer is not")
    if match := vocabulary.words.search(folded.text):
        return ReadValue(None, f"mentioned only: {quote(match[0])} is not given as the answer")
    return ReadValue(None)


def find_answer_fields(
    text: str, is_value: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[Any, int, int]]:
    """The answer in each JSON object of a text, with its place: the only field, or a known one.

    A field that is called as a value (`is_value`) says something about that value, and what is in
    it is no answer: {"contradiction": "no"}.
    """
    if "{" not in text:
        return
    for value, start, end in scan_json(text):
        if len(value) == 1:
            [(name, content)] = value.items()
            yield None if is_value(name) else content, start, end
            continue
        names = [name for name in value if str(name).strip().casefold() in ANSWER_FIELDS]
        if len(names) == 1:
            yield value[names[0]], start, end
