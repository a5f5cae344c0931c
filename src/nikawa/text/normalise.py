"""Forms of a text, with the way back to the original characters.

`nfc`, `nfkc`: Unicode. `fullwidth`, `halfwidth`: ASCII, digits and katakana to one width, as the
library zenhan does it (JGLUE's preprocessing): quotes become ” and ’, backslash ￥, backquote ‘.
zenhan writes the hyphen as the minus sign − and the tilde as the wave dash 〜, where `fullwidth` has
－ and ～; `zenhan` is the library's own form, for encoders that get its output.
`spaces`: runs of white space to one space, none at the ends. Several forms are joined by `+` and
applied from left to right: `nfkc+spaces`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nikawa.registry import Registry

Changed = tuple[int, int, str]
"""(start, end) in the original, and the new text."""
NormalForm = tuple[Callable[[str], str], Callable[[str], Iterator[Changed]]]
"""How to make a form, without and with offsets."""


class Normalised(NamedTuple):
    """A normalised text; character i of it came from `starts[i]` to `ends[i]` of the original."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The original offsets of characters `start` to `end`; an empty stretch stays empty."""
        if start < end:
            return self.starts[start], self.ends[end - 1]
        if start < len(self.starts):
            place = self.starts[start]
        else:
            place = self.ends[-1] if self.ends else 0
        return place, place


def normalise(text: str, form: str = "nfkc") -> str:
    """The text in `form`, a name of `FORMS` or several joined by `+`.

    >>> normalise("ＡＢＣ　１２３", "nfkc+spaces")
    'ABC 123'
    """
    for name in form.split("+"):
        plain, _ = FORMS[name]
        text = plain(text)
    return text


def normalise_with_offsets(text: str, form: str = "nfkc") -> Normalised:
    """The text in `form`, with where each character came from.

    >>> form = normalise_with_offsets("㍿A", "nfkc")
    >>> form.text, form.original(0, 4)
    ('株式会社A', (0, 1))
    """
    done = Normalised(text, tuple(range(len(text))), tuple(range(1, len(text) + 1)))
    for name in form.split("+"):
        _, changes = FORMS[name]
        done = _apply_changes(done, changes(done.text))
    return done


def _apply_changes(before: Normalised, changes: Iterator[Changed]) -> Normalised:
    """The text with these changes, which are in order and do not overlap, and the offsets carried
    on.
    """
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for start, end, new in changes:
        pieces += (before.text[at:start], new)
        starts += before.starts[at:start]
        ends += before.ends[at:start]
        if new:
            first, last = before.original(start, end)
            starts += [first] * len(new)
            ends += [last] * len(new)
        at = end
    pieces.append(before.text[at:])
    return Normalised("".join(pieces), (*starts, *before.starts[at:]), (*ends, *before.ends[at:]))


# A character and what may combine with it: marks, Hangul vowels and finals, the jamo NFKC makes them of, half-width voicing marks.
_CLUSTER = re.compile(
    "(?s:.)[\u0300-\u036f\u1160-\u11ff\u3099\u309a\u3131-\u318e\ud7b0-\ud7ff\uff9e\uff9f\uffa0-\uffdc]*"
)


def _find_clusters(text: str) -> Iterator[tuple[int, int]]:
    """Spans that can be normalised on their own; a rarer mark joins the span before it."""
    start = end = 0
    for cluster in _CLUSTER.finditer(text):
        if cluster.start() and unicodedata.category(cluster.group()[0])[0] == "M":
            end = cluster.end()
            continue
        if end > start:
            yield start, end
        start, end = cluster.span()
    if end > start:
        yield start, end


def _unicode_form(form: str) -> NormalForm:
    """A normal form of Unicode."""

    def plain(text: str) -> str:
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]

    def changes(text: str) -> Iterator[Changed]:
        if unicodedata.is_normalized(form, text):  # type: ignore[arg-type]
            return
        for start, end in _find_clusters(text):
            new = plain(text[start:end])
            if new != text[start:end]:
                yield start, end, new

    return plain, changes


_SPACE = re.compile(r"\s+")


def _find_space_changes(text: str) -> Iterator[Changed]:
    """The runs of white space that are not one space between two words already."""
    for run in _SPACE.finditer(text):
        inside = run.start() > 0 and run.end() < len(text)
        if run.group() != " " or not inside:
            yield run.start(), run.end(), " " if inside else ""


_WIDE_ASCII = {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)}
_WIDE_ASCII.update({" ": "\u3000", '"': "”", "'": "’", "\\": "￥", "`": "‘"})
_WIDE_KANA = {
    chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFF61, 0xFF9E)
} | {
    "ﾞ": "゛",
    "ﾟ": "゜",
}
_VOICED = {
    kana + mark: unicodedata.normalize("NFKC", kana + mark)
    for kana, mark in [(k, "ﾞ") for k in "ｳｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾊﾋﾌﾍﾎ"] + [(k, "ﾟ") for k in "ﾊﾋﾌﾍﾎ"]
}
_TO_WIDE = _WIDE_ASCII | _WIDE_KANA | _VOICED
_TO_ZENHAN = _TO_WIDE | {"-": "\u2212", "~": "\u301c"}
_TO_NARROW = {wide: narrow for narrow, wide in _TO_WIDE.items()}


def _table_form(table: dict[str, str]) -> NormalForm:
    """The form that replaces each key of a table, the longest that fits."""
    # Longer entries first: ｶﾞ is one character, not two.
    keys = "|".join(re.escape(key) for key in sorted(table, key=len, reverse=True) if len(key) > 1)
    singles = "[" + "".join(re.escape(key) for key in table if len(key) == 1) + "]"
    pattern = re.compile(f"{keys}|{singles}" if keys else singles)

    def plain(text: str) -> str:
        return pattern.sub(lambda match: table[match.group()], text)

    def changes(text: str) -> Iterator[Changed]:
        for match in pattern.finditer(text):
            yield match.start(), match.end(), table[match.group()]

    return plain, changes


FORMS: Registry[NormalForm] = Registry("normal form")
FORMS.add("nfc", _unicode_form("NFC"))
FORMS.add("nfkc", _unicode_form("NFKC"))
FORMS.add("fullwidth", _table_form(_TO_WIDE))
FORMS.add("zenhan", _table_form(_TO_ZENHAN))
FORMS.add("halfwidth", _table_form(_TO_NARROW))
FORMS.add("spaces", (lambda text: " ".join(text.split()), _find_space_changes))
