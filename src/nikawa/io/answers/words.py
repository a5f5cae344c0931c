"""Words of a text as an answer: of files to the letter, of replies without what is around them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from nikawa.io.answers.phrases import load_phrases
from nikawa.io.answers.readings import CUE, JSON, LINE, WHOLE, Offer, Reading
from nikawa.io.answers.replies import blank_thoughts
from nikawa.io.answers.statements import compile_grammar, find_answer_fields
from nikawa.records import Example

QUOTES = ("「」", "『』", '""', "''", "“”", "‘’", "``", "《》", "**")
_WORDS_LEAD = re.compile(
    r"[\s*_#>「『【]{0,6}(?:最終)?(?:答え|回答|解答|正解|정답|답변|답|(?:the\s+|final\s+)*answer)"
    r"[\s*_」』】]{0,6}(?:(?:は|은|는|이|is)?\s{0,3}[:：][\s*_]{0,6}|(?P<join>は|은|는|이|\s+is\s)[\s、,]{0,4})",
    re.IGNORECASE,
)


def read_words(raw: Any, example: Example, offer: Offer | None = None) -> Reading:
    """A text as it is; of a mapping its `text`, as run_squad writes it.

    Official scorers see the answer of a file to the letter, so it is changed only where it is a
    reply around the answer: thoughts, JSON, a cue. A reply to a prompt that asked for words of the
    text loses quotes that the text does not have, and further lines.
    """
    if isinstance(raw, Mapping) and isinstance(raw.get("text"), str):
        raw = raw["text"]
    if type(raw) is int:
        return Reading(str(raw), None, 0, len(str(raw)))
    if not isinstance(raw, str):
        return Reading(why="not a text")
    is_bare = "<" not in raw and "{" not in raw and "\n" not in raw
    if offer is None and is_bare and not _WORDS_LEAD.match(raw):
        return Reading(raw, None, 0, len(raw))
    context = str(example.inputs.get("context", ""))
    if offer is None and (not raw or raw in context):
        return Reading(raw, None, 0, len(raw))
    start, end = find_thoughts_bounds(raw)
    if start >= end and (offer is not None or raw.strip()):
        is_cut = bool(raw.strip())
        return Reading(why="the text ends inside its thoughts" if is_cut else "the answer is empty")
    text, pattern = raw[start:end], WHOLE
    fields = list(find_answer_fields(text)) if text.lstrip("` json\n").startswith("{") else []
    if fields:
        value, at, stop = fields[-1]
        start, end, pattern = start + at, start + stop, JSON
        text = value if isinstance(value, str) else ""
        if not isinstance(value, str | None):
            return Reading(why="not a text")
        return _finish_words(text, start, end, pattern, context, offer)
    lines: list[tuple[int, str]] = []
    place = start
    for line in text.split("\n"):
        if line.strip():
            lines.append((place, line))
        place += len(line) + 1
    for place, line in reversed(lines):
        lead = _WORDS_LEAD.match(line)
        value = line[lead.end() :].strip() if lead else ""
        if not lead or not value:
            continue
        if lead["join"] and (unwrapped := unwrap_sentence(value, context)) is not None:
            at = place + line.index(value)
            return _finish_words(unwrapped, at, at + len(value), CUE, context, offer)
        if not lead["join"]:
            at = place + line.rindex(value)
            return _finish_words(value, at, at + len(value), CUE, context, offer)
    if offer is not None and not lines:
        return Reading(why="the answer is empty")
    if offer is not None:
        place, line = lines[0]
        return _finish_words(line.strip(), place, place + len(line), LINE, context, offer)
    if (start, end) == (0, len(raw)):
        return Reading(raw, None, 0, len(raw))
    return _finish_words(text.strip(), start, end, WHOLE, context, offer)


def find_thoughts_bounds(raw: str) -> tuple[int, int]:
    """Start and end of a reply without its thoughts; the whole where it has none."""
    blanked = blank_thoughts(raw)
    if blanked == raw:
        return 0, len(raw)
    kept = blanked.strip()
    start = blanked.index(kept) if kept else len(raw)
    return start, start + len(kept)


def unwrap_sentence(value: str, context: str) -> str | None:
    """The words that a sentence gives as the answer: 「札幌」です。; None where that is not clear."""
    quoted = re.match(r"[「『\"“‘'`《*]{1,2}(.+?)[」』\"”’'`》*]{1,2}", value)
    endings = compile_grammar().ending.pattern
    if quoted:
        rest = value[quoted.end() :]
        if re.fullmatch(rf"\s*(?:{endings})?[\s。.!]*", rest, re.IGNORECASE):
            return quoted[0]
        return None
    bare = value.rstrip("。.! \t")
    plain = [bare]
    for match in re.finditer(endings, bare, re.IGNORECASE):
        if match.end() == len(bare):
            plain.append(bare[: match.start()].strip())
    return next((text for text in plain if text and text in context), None)


def _finish_words(
    text: str, start: int, end: int, pattern: str, context: str, offer: Offer | None
) -> Reading:
    """The words without quotes that are not the text's own, or the empty answer."""
    line = text.strip()
    if line not in context:
        line = remove_quotes(line)
    bare = unicodedata.normalize("NFKC", line).rstrip("。.").casefold()
    no_answers = load_phrases().no_answers if offer is None else (offer.no_answer,)
    is_none = bare in {
        unicodedata.normalize("NFKC", word).casefold() for word in no_answers if word
    }
    if is_none and line not in context:
        return Reading("", None, start, end, pattern)
    if not line and pattern == JSON and (offer is None or offer.no_answer):
        return Reading("", None, start, end, pattern)
    return Reading(line, None, start, end, pattern) if line else Reading(why="the answer is empty")


def remove_quotes(line: str) -> str:
    """The line without one pair of quotes around the whole of it."""
    for pair in QUOTES:
        opening, closing = (pair, pair) if pair == "**" else (pair[0], pair[1])
        inner = line[len(opening) : -len(closing)]
        is_quoted = inner and line.startswith(opening) and line.endswith(closing)
        if is_quoted and opening not in inner and closing not in inner:
            return inner.strip()
    return line
