"""Rules of what workers write, checked while they type and again when they submit.

Negation is found by its written forms, without an analyser, so that the answer comes in the time of a key press: words
that only look like it (少ない, 안내, 못지않게) are set aside first. Distance is Levenshtein over the longer text.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from nikawa.collect.form import REFUSED, Problem
from nikawa.text.distance import relative_distance

MAX_TEXT_CHARS = 2000
"""Most characters of one text a worker writes."""

_JA_NOT = re.compile(
    "少な[いくかけ]|すくな[いくかけ]|危な[いくかけ]|あぶな[いくかけ]|幼な[いくかけ]|切な[いくかけ]|儚な[いくかけ]"
    "|はかな[いくかけ]|もったいな[いくかけ]|つまらな[いくかけ]|仕方な[いくかけ]|間もなく|まもなく|なくな[るっりら]"
    "|必ず|まず|ずつ|かならず|みず|きずな|おのずから|相変わらず|あいかわらず|思わず|はずれ|はず(?=だ|で|が|の|。)|せずにはいられな[いかく]"
)
_JA = re.compile(
    "な(?:い|かっ|かろ|く(?!な[るっりら])|けれ|きゃ|さそう)|ません|ずに|(?<=[ぁ-ん一-龯])ず(?=、|。|$)|(?<=[かがさたなばまらせ])ぬ|無い|非ず"
)
_KO_NOT = re.compile(
    "못지않|아니나 다를까|안내|안전|안경|안녕|안정|안타|안방|안쪽|끊임없이|어쩔 수 없이"
)
_KO = re.compile(
    r"않|(?<![가-힣])안(?=\s|[되돼했하갔가왔오])|(?<![가-힣])못(?=\s|[하했되돼])|아니(?!라도|면)|아닌|아닙|없(?!이)|없이|말[고라](?=\s|$)"
)
_EN = re.compile(
    r"\b(?:not|no(?:body|thing|where|ne|r)?|never|neither|cannot|without)\b|n['’]t\b",
    re.IGNORECASE,
)


def count_negations(text: str) -> int:
    """How many negations a Japanese, Korean or English text holds.

    >>> count_negations("犬は走っていない。")
    1
    """
    rest = _KO_NOT.sub(" ", _JA_NOT.sub(" ", text))
    return sum(len(pattern.findall(rest)) for pattern in (_JA, _KO, _EN))


def is_far(first: str, second: str, limit: float) -> bool:
    """Whether two texts are this distance apart or more; a text that is far longer is not even compared."""
    longest = max(len(first), len(second), 1)
    if abs(len(first) - len(second)) >= limit * longest:
        return True
    return relative_distance(first, second) >= limit


class CheckedTexts(NamedTuple):
    """The texts of an answer after the checks that all forms share."""

    texts: list[str]
    """All texts, stripped; empty if the answer does not have the required number of texts."""
    problems: list[Problem]
    sound: dict[str, str]
    """Those without a problem so far, by the field they were written in."""


def check_written(value: Any, count: int) -> CheckedTexts:
    """Check that a value has the required number of texts, and check each text; the form then checks the valid ones.

    >>> check_written(["a dog", "a dog"], 2).sound
    {'text-0': 'a dog'}
    """
    is_list = isinstance(value, list) and len(value) == count
    if not is_list or not all(isinstance(text, str) for text in value):
        return CheckedTexts([], [Problem(REFUSED)], {})
    texts = [text.strip() for text in value]
    problems = check_texts(texts)
    fields = {f"text-{place}": text for place, text in enumerate(texts)}
    for problem in problems:
        fields.pop(problem.where, None)
    return CheckedTexts(texts, problems, fields)


def check_texts(texts: list[str]) -> list[Problem]:
    """Texts that are missing, too long, of several lines, or the same as an earlier one."""
    problems: list[Problem] = []
    for place, text in enumerate(texts):
        where = f"text-{place}"
        if not text:
            problems.append(Problem("text_missing", where=where))
        elif len(text) > MAX_TEXT_CHARS:
            problems.append(Problem("text_long", {"most": MAX_TEXT_CHARS}, where))
        elif "\n" in text or "\r" in text:
            problems.append(Problem("text_lines", where=where))
        elif text in texts[:place]:
            problems.append(Problem("text_twice", where=where))
    return problems


def check_marked(text: str, start: Any, context: str, longest: int, where: str) -> list[Problem]:
    """Whether a text was marked in a paragraph: the paragraph contains it at `start`, and it is not too long.

    `start` may be anything a page sends; `where` is the field a problem is shown at.
    """
    if not text.strip():
        return [Problem("answer_missing", where=where)]
    if type(start) is not int or start < 0 or context[start : start + len(text)] != text:
        return [Problem("answer_absent", where=where)]
    if len(text) > longest:
        return [Problem("text_long", {"most": longest}, where)]
    return []
