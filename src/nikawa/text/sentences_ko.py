"""Where Korean sentences end.

A full stop ends one before white space unless it belongs to a number, a date, a list number or an abbreviation; without
white space (했다.그리고) only after a final ending. ? and ! end one unless a quotation goes on; an ellipsis only after a
final ending. ㅋㅋ, ㅠㅠ and emoji stay with the sentence they follow. "…다." followed by 라고 goes on.
"""

from __future__ import annotations

import re

from nikawa.text.sentences import Rules, blank
from nikawa.text.sentences_ja import EMOJI

_LAUGH = "[ㅋㅎㅠㅜ]"
_OPENING, _CLOSING = "“‘「『（(［[【〈《\"'", "”’」』）)］]】〉》\"'"
_BRACKETS = re.escape((_OPENING + _CLOSING).replace("'", ""))
# One class first, so that the search skips to it at the speed of C; an apostrophe inside a word is not a quote.
_EVENTS = re.compile(
    rf"[.!?…‥。！？ㅋㅎㅠㅜ\n{_BRACKETS}'](?:(?<=[.!?…‥。！？])[.!?…‥。！？]*~*|(?<={_LAUGH}){_LAUGH}+|(?<=[{_BRACKETS}])"
    r"|(?<=')(?:(?<![A-Za-z0-9]')|(?![A-Za-z0-9]))|(?<=\n)\s*)"
)
_PAIRS = dict(zip(_OPENING, _CLOSING, strict=True))
_QUOTES = "“‘「『\"'"

_TAIL = re.compile(
    rf"[~;^]*(?:{_LAUGH}|[{EMOJI}])*[”’」』）)］\]】〉》]*(?: (?:{_LAUGH}+|\^\^|[{EMOJI}]+)(?=\s|$|[{EMOJI}]))?"
)
_QUOTED = re.compile(
    r",|이?라(?:고|는|며|면|던|기|니|[ ,])|이?란[ ,]|하(?:고|며|는|면서)|고[ ,]|며[ ,]|는[ ,]|[은을를가과와의도]\s"
)
_QUOTED_APART = re.compile(
    r"\s+(?:이?라(?:고|는|며|면|던)|라\s|이?란\s|하(?:고|며|는|면서|였|자)|했|고\s|며\s|등\s|같은|처럼|말했|말한|말하|외[쳤치]|물었|답했)"
)
_QUERY = re.compile(r"[A-Za-z0-9_.%-]*[=&/]")
_FINAL = frozenset("다요죠까")
_FINAL_SHORT = frozenset("다요죠까임음함됨")
_FINAL_LOOSE = frozenset("다요죠까네어아지임음함용당야군걸")
_LIST_MARKS = frozenset("가나다라마바사ㄱㄴㄷㄹㅁㅂㅅ")
_LATIN_WORD = re.compile(r"[A-Za-z.]+$")
_ABBREVIATIONS = frozenset(
    (
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "vs",
        "etc",
        "no",
        "vol",
        "fig",
        "inc",
        "ltd",
        "co",
        "corp",
        "jr",
        "sr",
        "ph",
        "cf",
        "pp",
        "ed",
        "al",
    )
)


def _end(text: str, start: int, mark: re.Match[str]) -> int:
    at, end = mark.span()
    first = text[at]
    if first in _BRACKETS or first == "'" or blank(text, start, at):
        return -1
    if first in "ㅋㅎㅠㅜ":
        return _tail(text, end) if text[at - 1] in _FINAL_LOOSE and _gap(text, end) else -1
    run = mark.group().rstrip("~")
    if run.strip(".…‥"):
        return _after_cry(text, at, end)
    if len(run) > 1 or run != ".":
        return _after_ellipsis(text, at, end)
    return _after_stop(text, start, at, end)


def _gap(text: str, end: int) -> bool:
    return end == len(text) or text[end].isspace()


def _tail(text: str, end: int) -> int:
    """What belongs to the sentence after its mark: laughter, emoji, closing marks without an opening one."""
    found = _TAIL.match(text, end)
    return found.end() if found else end


def _after_cry(text: str, at: int, end: int) -> int:
    after = text[end : end + 1]
    if after.isascii() and after.isalnum() and text[at - 1].isascii():
        return -1
    if after in ("=", "&", "/", "%") or _QUOTED.match(text, end):
        return -1
    return (
        -1 if after.isascii() and after.isalnum() and _QUERY.match(text, end) else _tail(text, end)
    )


def _after_ellipsis(text: str, at: int, end: int) -> int:
    if text[at - 1] not in _FINAL or _QUOTED.match(text, end):
        return -1
    return _tail(text, end) if _gap(text, end) or _hangul(text[end]) else -1


def _hangul(character: str) -> bool:
    return "가" <= character <= "힣"


def _after_stop(text: str, start: int, at: int, end: int) -> int:
    before = text[at - 1]
    if before.isdigit():
        return -1
    if before.isascii() and before.isalpha() and _abbreviation(text, start, at):
        return -1
    if _gap(text, end):
        return -1 if _list_mark(text, start, at) else _tail(text, end)
    return _after_tight_stop(text, at, end)


def _abbreviation(text: str, start: int, at: int) -> bool:
    found = _LATIN_WORD.search(text, max(start, at - 12), at)
    word = found.group().lower() if found else ""
    return len(word) < 2 or "." in word or word in _ABBREVIATIONS


def _list_mark(text: str, start: int, at: int) -> bool:
    return at - start < 8 and text[start:at].strip() in _LIST_MARKS


def _after_tight_stop(text: str, at: int, end: int) -> int:
    before, after = text[at - 1], text[end]
    if before not in _FINAL_SHORT or not _hangul(text[max(at - 2, 0)]) or _QUOTED.match(text, end):
        return -1
    follows = (
        _hangul(after)
        or after in _QUOTES
        or after in "([（［ㅋㅎㅠㅜ~^;”’」』）)"
        or ord(after) > 0x2600
    )
    return _tail(text, end) if follows else -1


def _closed(text: str, start: int, opening: int, closing: int) -> int:
    end, last, bracket = closing + 1, text[closing - 1], text[opening]
    if last not in ".!?…。！？" or not _gap(text, end) or _QUOTED_APART.match(text, end):
        return -1
    return end if bracket in _QUOTES or blank(text, start, opening) else -1


RULES = Rules(_EVENTS, _PAIRS, _end, _closed)
