"""Where Japanese sentences end.

。 ends one; ！ and ？ do unless a quotation goes on (すごい！と叫んだ); ． and . do after Japanese (である．次に) but
not in numbers and names; an ellipsis does only before a space. Laughter and emoji end a sentence
after a final form and stay with it. 「…。」 followed by a particle goes on.
"""

from __future__ import annotations

import re

from nikawa.text.sentence_rules import EMOJI, SentenceRules, is_blank

_STOPS = "。｡！？!?‼⁇⁈⁉"
"""Marks that end a sentence unless something goes on."""
_LAUGHED = "(?:笑|爆笑|苦笑|泣|汗|怒|涙|爆)"
_ASIDE = f"[（(]{_LAUGHED}[）)]"
_TAIL = rf"(?:[{_STOPS}…‥〜～~{EMOJI}]|{_ASIDE}|[wｗ]+(?![A-Za-z0-9]))*"
_OPENING, _CLOSING = '「『（(［[【〈《〔“｢"', '」』）)］]】〉》〕”｣"'
_BRACKETS = re.escape(_OPENING + _CLOSING)
# One class first, so that the search skips to it at the speed of C; what may follow depends on it.
_EVENTS = re.compile(
    rf"[{_STOPS}.．…‥・wｗ{EMOJI}\n{_BRACKETS}](?:"
    rf"(?<=[{_STOPS}]){_TAIL}|(?<=[.．…‥])[.．…‥]*|(?<=・)・+|(?<=[wｗ])[wｗ]+(?![A-Za-z0-9])|(?<=[{EMOJI}])[{EMOJI}]*"
    rf"|(?<=[（(]){_LAUGHED}[）)][wｗ]*|(?<=[{_BRACKETS}])|(?<=\n)\s*)"
)
_PAIRS = dict(zip(_OPENING, _CLOSING, strict=True))
"""Opening bracket or quote to its closing one."""

_GOES_ON = re.compile(
    r"\s*(?:[とはがをにのでもやへか、，,。｡．！？!?…）)」』ー]|って|など|だ|です|から|まで|より|ば[か]?り|な[のんらど]|みたい|らし|風|的)"
)
_QUOTED = re.compile(
    r"[、，,]|って|などと|なんて|と(?!ても|にかく|ころ|りあえず|もかく|もあれ|もに|んで|はいえ|なると|すると|き)"
)
_QUERY = re.compile(r"[A-Za-z0-9_.%-]*[=&/]")
_STRAY_CLOSE = re.compile(r"[」』）)］\]】〉》〕”｣’]*")
_FINAL = frozenset("たすいうくぐつぬぶむるだねよなわぞさんまかせえれけっッーあ。！？!?…〜～笑)）")
"""Last characters of final forms, after which laughter or an emoji ends a sentence."""
_NAMES = ("モーニング娘", "Yahoo", "ヤフー")
"""Names with a mark in them: モーニング娘。, Yahoo!"""


def find_end(text: str, start: int, mark: re.Match[str]) -> int:
    """Where the sentence that begins at `start` ends by this mark, or -1 where it goes on."""
    at, end = mark.span()
    first = text[at]
    if first in "。｡":
        in_name = text.endswith(_NAMES[0], start, at) and text[end : end + 1] in "のはがをにとも"
        return -1 if in_name else _skip_closers(text, end)
    if first in "！？!?‼⁇⁈⁉":
        if text.endswith(_NAMES[1:], start, at) or _QUOTED.match(text, end):
            return -1
        if first in "!?":
            before, after = text[at - 1 : at], text[end : end + 1]
            is_ascii = before.isascii() and after.isascii()
            is_inside_latin = is_ascii and not before.isspace() and after.strip()
            if is_inside_latin or _QUERY.match(text, end):
                return -1
        return _skip_closers(text, end)
    if first in ".．":
        return find_end_at_point(text, start, at, end)
    if first in "…‥・":
        return end if text[end : end + 1].isspace() else -1
    if end - at == 1 and first in _BRACKETS:
        return -1
    # Laughter, emoji and （笑） end a sentence after a final form, unless a particle or a mark follows.
    if at <= start or text[at - 1] not in _FINAL or end == len(text):
        return -1
    return -1 if _GOES_ON.match(text, end) else end


def _skip_closers(text: str, end: int) -> int:
    """Closing marks without an opening one belong to what they follow."""
    closers = _STRAY_CLOSE.match(text, end)
    return closers.end() if closers else end


def find_end_at_point(text: str, start: int, at: int, end: int) -> int:
    """Where a sentence ends by a point: after Japanese, not in numbers, names and Latin words; else
    -1.
    """
    before, after = text[max(start, at - 1) : at], text[end : end + 1]
    if end - at > 1:
        return end if after.isspace() else -1
    if not before or before.isdigit() or before.isascii() or "Ａ" <= before <= "ｚ":
        return -1
    if text[at] == "." and after.isascii() and after.isalnum():
        return -1
    return _skip_closers(text, end)


def find_end_after_pair(text: str, start: int, opening: int, closing: int) -> int:
    """Where a sentence ends after a closed pair of brackets or quotes, or -1."""
    end, last, bracket = closing + 1, text[closing - 1], text[opening]
    if last not in _STOPS:
        return -1
    if bracket in "（(":
        return end if is_blank(text, start, opening) and not _GOES_ON.match(text, end) else -1
    if bracket not in '「“｢"' or _GOES_ON.match(text, end):
        return -1
    after = text[end : end + 1]
    return end if last in "。｡" or after.isspace() or (after and after in "「“｢") else -1


RULES = SentenceRules(_EVENTS, _PAIRS, find_end, find_end_after_pair)
