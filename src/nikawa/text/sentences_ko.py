"""Where Korean sentences end.

A full stop ends one before white space unless it belongs to a number, a date, a list number or an
abbreviation; without white space (했다.그리고) only after a final ending. ? and ! end one unless a
quotation goes on; an ellipsis only after a final ending. ㅋㅋ, ㅠㅠ and emoji stay with the sentence
they follow. "…다." followed by 라고 goes on.
"""

from __future__ import annotations

import re

from nikawa.text.sentence_rules import EMOJI, SentenceRules, is_blank

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
    rf"[~;^]*(?:{_LAUGH}|[{EMOJI}]|\[\d{{1,3}}\])*[”’」』）)］\]】〉》]*(?: (?:{_LAUGH}+|\^\^|[{EMOJI}]+)(?=\s|$|[{EMOJI}]))?"
)
_QUOTED = re.compile(
    r",|이?라(?:고|는|며|면|던|기|니|[ ,])|이?란[ ,]|하(?:고|며|는|면서)|고[ ,]|며[ ,]|는[ ,]|[은을를가과와의도에로]\s"
    r"|에[서게]\s|으로\s|까지\s|부터\s|보다\s|처럼\s|이 아니|이?다[. ]|입니다|이에요|인\s"
)
_QUOTED_APART = re.compile(
    r"\s+(?:이?라(?:고|는|며|면|던)|라\s|이?란\s|하(?:고|며|는|면서|였|자|다가|던|더니|기에|길래|시며|시면|시고|시는|신\s|셨)|했|(?:소리|외침|비명|구호|함성|한마디)[가이는은를을에도]|소리[치쳤]|속삭|중얼|대답[하했]|되물|고\s|며\s|등\s|같은|처럼|말했|말한|말하|외[쳤치]|물었|답했)"
)
_CRIES_QUOTED = re.compile(
    r"(?: ?[^.!?\n\"'“”‘’]{1,15}[!?]+){0,3} (?:하(?:고|며|는|면서|던|기에)|라(?:고|는|며|면서|던)|이?라는|이?란|등)(?:\s|$)| 입니다"
)
"""Cries that a verb takes up: 왜? 어째서? 하는 의문."""
_REPORTED = re.compile(
    r"\s+[^.!?\n\"'“”‘’]{1,40}?(?:물었|말했|외쳤|답했|소리쳤|중얼거렸|생각했|속삭였|덧붙였|불렀|고함쳤)(?:다|습니다|어요)[.]"
)
"""A clause that says who spoke: "몇 시야?" 그가 물었다."""
_QUERY = re.compile(r"[A-Za-z0-9_.%-]*[=&/]")
_FINAL = frozenset("다요죠까")
"""Last syllables of final endings."""
_FINAL_SHORT = frozenset("다요죠까임음함됨")
"""With those of clipped style (했음)."""
_FINAL_LOOSE = frozenset("다요죠까네어아지임음함용당야군걸")
"""With those of chats, before laughter (갔어ㅋㅋ)."""
_ENDED = re.compile(
    r"(?:[았었였했갔왔됐샀났렸졌]어|[았었였했갔왔됐샀났렸졌겠]?(?:다|습니다|어요|네요|군요|죠)|[았었겠]음)$"
)
"""A word that can end a sentence before a space and laughter."""
_LIST_MARKS = frozenset("가나다라마바사ㄱㄴㄷㄹㅁㅂㅅ")
"""What numbers the items of a list: 가. 나. 다."""
_AMOUNT = re.compile(r"(?:\d:\d\d|\d,\d{3}|(?<![\d.])\d+\.\d+)$")
_AFTER_AMOUNT = re.compile(r"\s+[가-힣(\"'“‘]")
_PLAIN_NUMBER = re.compile(r"(?:\d-\d{1,4}|[가-힣] (?:\d{3}|\d{5,}))$")
"""A telephone number or the number of a house, which is no date and numbers no list."""
_AFTER_NUMBER = re.compile(r"\s+[가-힣]{2}")
_LATIN_WORD = re.compile(r"[A-Za-z.]+$")
_ABBREVIATION = re.compile(
    "mr|mrs|ms|dr|prof|st|vs|etc|nos?|vols?|figs?|inc|ltd|co|corp|jr|sr|ph|cf|pp|eds?|al|ver|rev|gen|sgt|lt|capt|col|gov|sen|rep|hon"
    "|mt|ave|blvd|dept|univ|approx|ch|chap|art|op|viz|ex|eq|tel|feat|ft|bros|messrs|mme|mlle"
)


def find_end(text: str, start: int, mark: re.Match[str]) -> int:
    """Where the sentence that begins at `start` ends by this mark, or -1 where it goes on."""
    at, end = mark.span()
    first, before = text[at], text[at - 1]
    if first in _BRACKETS or first == "'" or is_blank(text, start, at):
        return -1
    if first in "ㅋㅎㅠㅜ":
        if before == " " and at > 1 and end - at > 1:  # 재밌었어 ㅋㅋㅋ
            before = text[at - 2] if _ENDED.search(text, start, at - 1) else before
        return _add_tail(text, end) if before in _FINAL_LOOSE and _is_gap(text, end) else -1
    run = mark.group().rstrip("~")
    if run.strip(".…‥"):
        # ? and !, unless a quotation or a link goes on
        after = text[end : end + 1]
        if (
            after in ("=", "&", "/", "%")
            or _QUOTED.match(text, end)
            or _CRIES_QUOTED.match(text, end)
        ):
            return -1
        is_latin = after.isascii() and after.isalnum()
        if is_latin and (before.isascii() or _QUERY.match(text, end)):
            return -1
        return _add_tail(text, end)
    if run == ".":
        return find_end_at_stop(text, start, at, end)
    is_connective = text.endswith("니까", start, at) and text[at - 3] not in "습입합됩갑옵"
    if before not in _FINAL or is_connective or _QUOTED.match(text, end):  # an ellipsis
        return -1
    return _add_tail(text, end) if _is_gap(text, end) or _is_hangul(text[end]) else -1


def _is_gap(text: str, end: int) -> bool:
    return end == len(text) or text[end].isspace()


def _is_hangul(character: str) -> bool:
    return "가" <= character <= "힣"


def _add_tail(text: str, end: int) -> int:
    """What belongs to the sentence after its mark: laughter, emoji, closing marks without an
    opening one.
    """
    tail = _TAIL.match(text, end)
    return tail.end() if tail else end


def find_end_at_stop(text: str, start: int, at: int, end: int) -> int:
    """Where a sentence ends by a full stop, or -1: a number, a list mark or an abbreviation has one
    too.
    """
    before = text[at - 1]
    if before.isdigit():
        is_amount = _AMOUNT.search(text, max(start, at - 12), at) and _AFTER_AMOUNT.match(text, end)
        is_address = _PLAIN_NUMBER.search(text, max(start + 1, at - 12), at)
        is_end = is_amount or (is_address and _AFTER_NUMBER.match(text, end))
        return end if is_end else -1
    if before.isascii() and before.isalpha():
        latin = _LATIN_WORD.search(text, max(start, at - 12), at)
        word = latin.group().lower() if latin else ""
        is_unit = bool(word) and text[max(at - len(word) - 1, 0)].isdigit()
        if (len(word) < 2 and not is_unit) or "." in word or _ABBREVIATION.fullmatch(word):
            return -1
    if _is_gap(text, end):
        is_list_mark = at - start < 8 and text[start:at].strip() in _LIST_MARKS
        return -1 if is_list_mark else _add_tail(text, end)
    # no white space follows: only after a final ending
    if before not in _FINAL_SHORT or not _is_hangul(text[max(at - 2, 0)]):
        return -1
    if _QUOTED.match(text, end):
        return -1
    after = text[end]
    may_begin = _is_hangul(after) or after in _QUOTES or after in "([（［ㅋㅎㅠㅜ~^;”’」』）)"
    return _add_tail(text, end) if may_begin or ord(after) > 0x2600 else -1


def find_end_after_pair(text: str, start: int, opening: int, closing: int) -> int:
    """Where a sentence ends after a closed pair of brackets or quotes, or -1."""
    end, last, bracket = closing + 1, text[closing - 1], text[opening]
    if last not in ".!?…。！？" or not _is_gap(text, end) or _QUOTED_APART.match(text, end):
        return -1
    if bracket in _QUOTES and _REPORTED.match(text, end):
        return -1
    return end if bracket in _QUOTES or is_blank(text, start, opening) else -1


RULES = SentenceRules(_EVENTS, _PAIRS, find_end, find_end_after_pair)
