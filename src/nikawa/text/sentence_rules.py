"""Splits a text into sentences by the rules of a language.

The rules decide what ends a sentence. This module finds the candidates, pairs brackets and quotes
(nothing is split inside a closed pair), and turns ends into spans. The time is linear in the length
of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from nikawa.records import Span

EMOJI = "\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
"""Emoji as a class of a regular expression, without its brackets."""


class SentenceRules(NamedTuple):
    """The rules of a language for the ends of its sentences."""

    events: re.Pattern[str]
    """Everything that can matter: brackets, marks, runs of line breaks."""
    pairs: dict[str, str]
    """Opening bracket or quote to its closing one."""
    end: Callable[[str, int, re.Match[str]], int]
    """(text, start of the sentence, mark) -> where the sentence ends, or -1."""
    closed: Callable[[str, int, int, int], int]
    """(text, start of the sentence, opening, closing) -> where it ends after a closed pair, or -1.
    """


def split_by_rules(text: str, rules: SentenceRules, newline: bool) -> list[Span]:
    """The sentences of a text.

    `newline`: whether a single line break ends one (a blank line always does).
    """
    events = list(rules.events.finditer(text))
    if not newline:
        events = [e for e in events if e.group()[0] != "\n" or e.group().count("\n") > 1]
    partner = pair_brackets(events, rules.pairs)
    spans: list[Span] = []
    start, depth, opening = 0, 0, 0
    for i, event in enumerate(events):
        at, end = event.start(), -1
        if at < start:
            continue
        if i in partner:
            if partner[i] > i:
                depth += 1
                opening = at if depth == 1 else opening
                continue
            depth -= 1
            end = rules.closed(text, start, opening, at) if depth == 0 else -1
        elif depth == 0:
            end = at if text[at] == "\n" else rules.end(text, start, event)
        if end >= 0:
            _add_stripped(spans, text, start, end)
            start = end
    _add_stripped(spans, text, start, len(text))
    return spans


def is_blank(text: str, start: int, end: int) -> bool:
    """Whether there is only white space between two positions.

    Positions far apart count as not blank, so that the time stays linear.
    """
    return end - start < 100 and not text[start:end].strip()


def pair_brackets(events: list[re.Match[str]], pairs: dict[str, str]) -> dict[int, int]:
    """Indices of brackets that have a partner on the same line.

    A lone bracket is plain text.
    """
    partner: dict[int, int] = {}
    closing = set(pairs.values())
    stack: list[tuple[str, int]] = []
    waiting: Counter[str] = Counter()
    for i, event in enumerate(events):
        mark = event.group()
        if mark[0] == "\n":
            stack.clear()
            waiting.clear()
        elif mark in closing and waiting[mark]:
            expected = ""
            while expected != mark:  # those between were never closed
                expected, opening = stack.pop()
                waiting[expected] -= 1
            partner[i], partner[opening] = opening, i
        elif mark in pairs:
            stack.append((pairs[mark], i))
            waiting[pairs[mark]] += 1
    return partner


def _add_stripped(spans: list[Span], text: str, start: int, end: int) -> None:
    """Add a sentence without the white space around it; skip one that is only white space."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append(Span(start, end))
