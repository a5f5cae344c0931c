"""Scores: a number alone, after a cue (「類似度は3.5です」), with its unit, or out of the scale (4/5)."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from nikawa.io.answers.readings import BOXED, CUE, JSON, LINE, SENTENCE, WHOLE, Offer, Reading
from nikawa.io.answers.replies import MAX_REPLY_CHARS, FoldedText, blank_thoughts, is_refusal, quote
from nikawa.io.answers.statements import (
    BOX,
    BULLET,
    CLOSING,
    OPENING,
    STOPPING,
    StatementFinder,
    compile_grammar,
    find_answer_fields,
    find_end,
    make_vocabulary,
    strip_around,
)

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PLAIN_NUMBER = re.compile(r"(?<![\d.])(?<!\d,)-?\d+(?:\.\d+)?(?![.,]?\d)")
_DIGITS, _BLANKS = re.compile(r"\d+"), re.compile(r"[ \t]*")
_OUT_OF = re.compile(r"\s*\(?(?:/|out of|最大|max\.?)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_RANGE = re.compile(r"[^()\n]{0,8}?\d+(?:\.\d+)?\s*(?:[-~〜–]|から|to|에서)\s*(\d+(?:\.\d+)?)")
_ZERO_TO = re.compile(
    r"0(?:\.0)?\s*(?:[-~〜–]|から|to|에서)\s*\d+(?:\.\d+)?[点점]?(?:で評価すると|の尺度で|で評価して|\s*:)\s*",
    re.IGNORECASE,
)
"""The scale before the score: 「0〜5で評価すると3」."""
_LEGEND = re.compile(r"\s*:\s*\S")
"""What makes a number the name of something: 「スコア 5: 同義」, 3:2."""
_BEHIND_SCALE = re.compile(r"[\s、,の中で]*")
_BRACKET = re.compile(r"\s*\(([^()\n]{1,30})\)")
_LINE_END = re.compile(r"\s*(?:[(\[][^()\[\]]{0,20}[)\]])?[\s。.!)\]*]*")

_NO_VALUES = make_vocabulary(())


def read_number(raw: Any, scale: tuple[float, float], offer: Offer | None = None) -> Reading:
    """A finite number: of a number, of a text that is nothing else, or of one that states a score.

    A plain number is taken as it is, also outside the scale, unless the scale was offered; one out
    of prose must be on the scale.
    """
    if type(raw) is float and offer is None and math.isfinite(raw):
        return Reading(raw)
    if type(raw) in (int, float):
        value = to_float(raw)
        return _check_number(value, 0, len(str(raw)), WHOLE, offer.scale if offer else None)
    if not isinstance(raw, str):
        return Reading(why="not a number")
    if raw.isascii() and _NUMBER.fullmatch(raw):
        return _check_number(float(raw), 0, len(raw), WHOLE, offer.scale if offer else None)
    text = strip_around(unicodedata.normalize("NFKC", raw))
    if text.casefold().lstrip("+-") in ("nan", "inf", "infinity"):
        return Reading(why="not a finite number")
    if _NUMBER.fullmatch(text):
        return _check_number(float(text), 0, len(raw), WHOLE, offer.scale if offer else None)
    return read_stated_number(raw, scale)


def _check_number(
    value: float, start: int, end: int, pattern: str, scale: tuple[float, float] | None
) -> Reading:
    if not math.isfinite(value):
        return Reading(why="not a finite number")
    if scale is not None and not scale[0] <= value <= scale[1]:
        return Reading(
            why=f"outside the scale: {value:g} is not between {scale[0]:g} and {scale[1]:g}"
        )
    return Reading(value, None, start, end, pattern)


def read_stated_number(raw: str, scale: tuple[float, float]) -> Reading:
    """The last score that a free text states, which must be on the scale."""
    shift = max(0, len(raw) - MAX_REPLY_CHARS)
    text = blank_thoughts(raw)[shift:]
    if not text.strip():
        is_cut = bool(raw.strip())
        return Reading(why="the text ends inside its thoughts" if is_cut else "empty")
    folded = FoldedText.fold(text)
    readings: list[tuple[int, Reading]] = []
    for value, start, end in find_answer_fields(text):
        inner = read_number(value, scale)
        if inner.answer is not None:
            reading = _check_number(inner.answer, start, end, JSON, scale)
            readings.append((start, reading))
    for at, begin, stop, pattern in find_scores(folded.text, scale[1]):
        start, end = folded.span(begin, stop)
        number = re.match(r"-?\d+(?:\.\d+)?", folded.text[begin:stop])
        if number is None:  # a range, or out of another scale
            readings.append((folded.places[at], Reading(why=pattern)))
        else:
            reading = _check_number(float(number[0]), start + shift, end + shift, pattern, scale)
            readings.append((folded.places[at], reading))
    if readings:
        at, reading = max(readings, key=lambda pair: pair[0])
        corrections = compile_grammar().correction.finditer(folded.text)
        if any(folded.places[mark.start()] > at for mark in corrections):
            return Reading(why="takes back what it gave, and gives no other number for sure")
        return reading
    if is_refusal(text.strip()):
        return Reading(why=f"refusal: {quote(text)}")
    if _PLAIN_NUMBER.search(folded.text):
        return Reading(why=f"not a number: {quote(text)} holds one without giving it as the score")
    return Reading(why="not a number")


def find_scores(text: str, high: float) -> Iterator[tuple[int, int, int, str]]:
    """(Place, start, end, pattern) of each score that a text states.

    Where the pattern is a reason, start and end are the same.
    """
    grammar = compile_grammar()
    for start, (at, pattern) in find_score_starts(text).items():
        number = _PLAIN_NUMBER.match(text, start)
        if number is None:
            continue
        end = number.end()
        if grammar.range.match(text, end):
            yield at, start, start, "gives a range, not a number"
            continue
        out_of = _OUT_OF.match(text, end)
        top = out_of[1] if out_of else find_scale_behind(text, end)
        if top and (top == "%" or float(top) != high):
            shown = "percent" if top == "%" else f"out of {top}"
            yield at, start, start, f"another scale: {shown}, not {high:g}"
        elif is_stated_score(text, out_of.end() if out_of else end, pattern):
            yield at, number.start(), number.end(), pattern


def find_scale_behind(text: str, end: int) -> str | None:
    """The top of the scale in brackets behind a number: 4（10点満点）, 0.8 (0〜1), 0.8 (80%)."""
    grammar = compile_grammar()
    bracket = _BRACKET.match(text, find_end(grammar.unit, text, end))
    if bracket is None:
        return None
    if bracket[1].strip().endswith("%"):
        return "%"
    if match := _RANGE.match(bracket[1]):
        return match[1]
    for number in _PLAIN_NUMBER.finditer(bracket[1]):
        if grammar.scale_word.match(bracket[1], number.end()):
            return number[0]
    return None


def find_score_starts(text: str) -> dict[int, tuple[int, str]]:
    """Where a score may begin, with the place and the pattern that leads there."""
    grammar = compile_grammar()
    starts: dict[int, tuple[int, str]] = {}

    def add(start: int, at: int, pattern: str) -> None:
        for _ in range(4):
            start = find_end(OPENING, text, start)
            filler = grammar.filler.match(text, start)
            if filler is None:
                break
            start = filler.end()
        start = find_end(_ZERO_TO, text, start)
        scale = _DIGITS.match(text, start)
        word = grammar.scale_word.match(text, scale.end()) if scale else None
        if word:  # 「5段階中4」
            start = find_end(_BEHIND_SCALE, text, word.end())
        starts.setdefault(start, (at, pattern))

    for cue in grammar.score_cue.finditer(text):
        add(cue.end(), cue.start(), CUE)
    for box in BOX.finditer(text):
        add(box.start(1), box.start(), BOXED)
    place, lines = 0, list[tuple[int, str]]()
    for line in text.split("\n"):
        if line.strip():
            lines.append((place, line))
        place += len(line) + 1
    alone = [bool(_PLAIN_NUMBER.fullmatch(line.strip(" \t-*•・.。"))) for _, line in lines]
    is_list = any(first and second for first, second in pairwise(alone))
    for (place, line), is_alone in zip(lines, alone, strict=True):
        # several numbers, each in a line of its own, are a list, such as the points of the scale
        if is_alone and is_list:
            continue
        bullet = BULLET.match(line)
        add(place + (bullet.end() if bullet else 0), place, LINE)
    for mark in grammar.correction.finditer(text):
        add(mark.end(), mark.start(), CUE)
    numbers = list(_PLAIN_NUMBER.finditer(text))
    if numbers and len({match[0] for match in numbers}) == 1:  # no other number is there
        starts.setdefault(numbers[-1].start(), (numbers[-1].start(), SENTENCE))
    return starts


def is_stated_score(text: str, end: int, pattern: str) -> bool:
    """Whether what follows a number, up to `end`, ends it as a score.

    Alone in a line, nothing but a unit, an ending and the scale in brackets may follow; at the end
    of the last sentence, nothing else may follow in the text.
    """
    grammar = compile_grammar()
    behind = find_end(grammar.unit, text, find_end(CLOSING, text, end))
    if grammar.scale_word.match(text, end) or grammar.doubt.match(text, behind):
        return False
    if grammar.negation.match(text, behind) or _LEGEND.match(text, behind):
        return False
    behind = find_end(CLOSING, text, behind)
    word = find_end(_BLANKS, text, behind)
    if not STOPPING.match(text, behind):
        if not grammar.ending.match(text, word):
            return False
        if StatementFinder(text, _NO_VALUES).is_taken_back(word):
            return False
    if pattern not in (LINE, SENTENCE):
        return True
    stop = text.find("\n", behind)
    rest = text[behind : stop if stop >= 0 else len(text)]
    ending = grammar.ending.match(rest.lstrip(" \t"))
    if ending:
        rest = rest.lstrip(" \t")[ending.end() :]
    is_last = stop < 0 or not text[stop:].strip()
    return bool(_LINE_END.fullmatch(rest)) and (pattern == LINE or is_last)


def to_float(number: float) -> float:
    """`number` as a float, infinite where it is an integer past all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf
