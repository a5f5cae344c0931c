"""Japanese by MeCab (fugashi) with one of three dictionaries: IPADIC, UniDic, JumanDIC.

MeCab drops white space, so offsets are found again in the original text; a base form `*` (unknown
word) is the surface, which makes IPADIC's analysis the same as janome's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nikawa.text.engine import require, space_for_mecab
from nikawa.text.protocol import Engine, Token

# An empty -O: the type that UniDic's own settings name would override -F.
_FORMAT = r'-O "" -F "%m\\t%H\\n" -U "%m\\t%H\\n"'
TO_KATAKANA = {code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)}


class Entry(NamedTuple):
    """What a dictionary says of a morpheme; base and norm are empty where it says nothing."""

    base: str
    """Dictionary form."""
    pos: tuple[str, ...]
    reading: str
    """In katakana."""
    ctype: str
    cform: str
    norm: str
    """Headword without spelling variation."""
    notes: str
    """What else the dictionary says, as it says it."""


def load_ipadic() -> Engine:
    """MeCab with IPADIC."""
    return _mecab(require("fugashi", "ja"), require("ipadic", "ja").DICDIR, read_ipadic_entry)


def load_unidic() -> Engine:
    """MeCab with UniDic (the light edition)."""
    return _mecab(
        require("fugashi", "ja-unidic"),
        require("unidic_lite", "ja-unidic").DICDIR,
        read_unidic_entry,
    )


def load_juman() -> Engine:
    """MeCab with JumanDIC."""
    return _mecab(
        require("fugashi", "ja-juman"), require("jumandic", "ja-juman").DICDIR, read_juman_entry
    )


def _mecab(fugashi: Any, folder: str, entry: Callable[[str], Entry]) -> Engine:
    """MeCab with the dictionary in `folder`, whose entries `entry` reads.

    Each is read once and kept.
    """
    parse = fugashi.GenericTagger(f'-r {os.devnull} -d "{folder}" {_FORMAT}').parse
    known = lru_cache(maxsize=1 << 16)(entry)

    def analyse(text: str) -> list[Token]:
        safe = space_for_mecab(text)
        tokens, end = [], 0
        for line in parse(safe).split("\n")[:-1]:  # the last line is EOS
            surface, _, feature = line.partition("\t")
            start = safe.find(surface, end)
            end = start + len(surface)
            word = text[start:end]
            base, pos, reading, ctype, cform, norm, notes = known(feature)
            base = base or word
            tokens.append(
                Token(word, base, pos, reading, ctype, cform, start, end, word, norm or base, notes)
            )
        return tokens

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        return map(analyse, texts)

    return run


def _fields(feature: str) -> list[str]:
    """The fields of a dictionary entry, `*` as empty; a quoted field may hold commas."""
    if '"' in feature:
        import csv

        return next(csv.reader([feature]))
    return feature.split(",")


def _field(fields: list[str], index: int) -> str:
    value = fields[index] if index < len(fields) else ""
    return "" if value == "*" else value


def read_ipadic_entry(feature: str) -> Entry:
    """An entry of IPADIC; it has no headword apart from the base form."""
    f = _fields(feature)
    return Entry(
        base=_field(f, 6),
        pos=tuple(f[:4]),
        reading=_field(f, 7),
        ctype=_field(f, 4),
        cform=_field(f, 5),
        norm="",
        notes="",
    )


def read_unidic_entry(feature: str) -> Entry:
    """An entry of UniDic; its lemma is the headword."""
    f = _fields(feature)
    return Entry(
        base=_field(f, 10),
        pos=tuple(f[:4]),
        reading=_field(f, 17),
        ctype=_field(f, 4),
        cform=_field(f, 5),
        norm=_field(f, 7),
        notes="",
    )


def read_juman_entry(feature: str) -> Entry:
    """An entry of JumanDIC; its 代表表記 is the headword."""
    f = _fields(feature)
    notes = _field(f, 6)
    return Entry(
        base=_field(f, 4),
        pos=tuple(f[:2]),
        reading=_field(f, 5).translate(TO_KATAKANA),
        ctype=_field(f, 2),
        cform=_field(f, 3),
        norm=find_headword(notes.split()),
        notes=notes,
    )


def find_headword(notes: Iterable[str]) -> str:
    """The 代表表記 among the notes of Juman's dictionary, "" where they have none.

    >>> find_headword(["代表表記:走る/はしる", "ドメイン:スポーツ"])
    '走る/はしる'
    """
    for note in notes:
        if note.startswith("代表表記:"):
            return note.partition(":")[2]
    return ""
