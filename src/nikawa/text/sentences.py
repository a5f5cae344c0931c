"""Sentence boundaries as offsets: `text[span.start:span.end]` is a sentence, and only white space lies between two.

The rules of a language say what may end a sentence; this file finds the candidates, pairs brackets and quotes (nothing
is split inside a closed pair), and turns ends into spans. Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from nikawa.errors import BadInput, unknown
from nikawa.records import Span
from nikawa.text._engine import need_text

Method = Literal["rules", "kiwi"]


class Rules(NamedTuple):
    """What a language knows about the ends of its sentences."""

    events: re.Pattern[str]
    """Everything worth a look: brackets, marks, runs of line breaks."""
    pairs: dict[str, str]
    """Opening bracket or quote to its closing one."""
    end: Callable[[str, int, re.Match[str]], int]
    """(text, start of the sentence, mark) -> where the sentence ends, or -1."""
    closed: Callable[[str, int, int, int], int]
    """(text, start of the sentence, opening, closing) -> where it ends after a closed pair, or -1."""


def sentences(
    text: str, language: str, *, newline: bool = True, method: Method = "rules"
) -> list[Span]:
    """The sentences of `text`. `newline`: whether a single line break ends one (a blank line always does).

    `method="kiwi"` asks Kiwi, which also finds ends without a full stop (Korean only, slower).
    """
    need_text(text)
    if language not in ("ja", "ko"):
        raise unknown("language with sentence rules", str(language), ("ja", "ko"))
    if method == "kiwi":
        return _by_kiwi(text, language)
    if method != "rules":
        raise unknown("method", method, ("rules", "kiwi"))
    return split(text, _rules(language), newline)


def _rules(language: str) -> Rules:
    if language == "ja":
        from nikawa.text.sentences_ja import RULES as JAPANESE

        return JAPANESE
    from nikawa.text.sentences_ko import RULES as KOREAN

    return KOREAN


def _by_kiwi(text: str, language: str) -> list[Span]:
    if language != "ko":
        raise BadInput(
            "Kiwi splits Korean only", cure="leave out the method, or set the language to ko"
        )
    from nikawa.text.analysers import analyser
    from nikawa.text.korean import kiwi_sentences

    analyser("kiwi")  # loads the model once, under its lock
    return kiwi_sentences(text)


def split(text: str, rules: Rules, newline: bool) -> list[Span]:
    """Split by rules; see `sentences`."""
    events = [m for m in rules.events.finditer(text) if newline or not _single_break(m.group())]
    partner = _partners(events, rules.pairs)
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
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def _single_break(mark: str) -> bool:
    return mark[0] == "\n" and mark.count("\n") == 1


def _partners(events: list[re.Match[str]], pairs: dict[str, str]) -> dict[int, int]:
    """Indices of brackets that have a partner on the same line; a lone one is text like any other."""
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
            partner[i] = _close(stack, waiting, mark)
            partner[partner[i]] = i
        elif mark in pairs:
            stack.append((pairs[mark], i))
            waiting[pairs[mark]] += 1
    return partner


def _close(stack: list[tuple[str, int]], waiting: Counter[str], mark: str) -> int:
    while True:
        wanted, index = stack.pop()
        waiting[wanted] -= 1
        if wanted == mark:
            return index


def blank(text: str, start: int, end: int) -> bool:
    """Whether only white space lies between; far apart, the answer is no without a look, to stay linear."""
    return end - start < 100 and not text[start:end].strip()


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append(Span(start, end))
