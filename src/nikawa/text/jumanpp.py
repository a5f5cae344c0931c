"""Japanese by the program Juman++ (version 2), kept running and asked line by line.

Its output is a morpheme a line (surface, reading, lemma, then four tags each with its number, then the semantics in
quotes or NIL), further entries of the same morpheme on lines that begin with `@ `, and EOS. Half-width characters break
that format and its dictionary has none, so the program sees a full-width copy of the text, as the pipelines of the
encoders trained with it do; offsets are those of the text as given.
"""

from __future__ import annotations

import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nikawa.errors import BadInput, MissingExtra
from nikawa.text._child import Child
from nikawa.text._engine import cuts
from nikawa.text.japanese import TO_KATAKANA, Entry
from nikawa.text.normalise import Normalised, normalise, normalise_with_offsets
from nikawa.text.protocol import Engine, Token
from nikawa.text.sentences import sentences

PROGRAM, NAMED_BY = "jumanpp", "JUMANPP"
HOME = "https://github.com/ku-nlp/jumanpp/releases"
LIMIT = 4096
"""Bytes of a line the program takes; a longer one is an error to it, one of 65,536 not even that."""

UNKNOWN, ERROR = "未定義語", "# ERROR"
WIDE = "\u3000"
_BLANKS = "".join(c for c in map(chr, range(ord(WIDE))) if c.isspace())
_TO_WIDE = dict.fromkeys(map(ord, _BLANKS.replace("\n", "")), WIDE)
_LINE = re.compile(r"[^\n]+")
# Surface; reading and lemma, which may hold blanks of their own; four tags with their numbers; semantics.
_ENTRY = re.compile(r"((?:\\.|[^ \\])+) (.*? .*?)" + 4 * " ([^ ]+) [0-9]+" + r"(?: (.*))?\Z")
_BETWEEN = re.compile(r"(?<!\\) ")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"␣": " ", "t": " "}
_Said = tuple[str, Entry]
"""A surface as the program prints it, blanks as blanks, and what it says of it."""


class _Seen(NamedTuple):
    """A text and the copy of it that the program sees, with where each character came from where that differs."""

    text: str
    copy: str
    places: Normalised | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Offsets of the text for those of the copy."""
        return (start, end) if self.places is None else self.places.original(start, end)


def load_jumanpp() -> Engine:
    """Juman++ from the PATH, or the program that JUMANPP names."""
    child, known = Child(PROGRAM, _program()), lru_cache(maxsize=1 << 16)(_entry)
    child.ask(["。"])  # one that cannot answer is told before the work

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        seen = [_seen(text) for text in texts]
        pieces = [list(_pieces(one.copy)) for one in seen]
        asked = [one.copy[a:b] for one, places in zip(seen, pieces, strict=True) for a, b in places]
        answers = iter(child.ask(asked))
        for one, places in zip(seen, pieces, strict=True):
            yield [token for place in places for token in _tokens(one, place, next(answers), known)]

    return run


def _program() -> str:
    named = os.environ.get(NAMED_BY, "")
    found = shutil.which(named or PROGRAM)
    if found is None and named:
        cure = f"let it name the program of Juman++ 2, which {HOME} has, or unset it"
        raise MissingExtra(f"{NAMED_BY} names this, which is no program", file=named, cure=cure)
    if found is None:
        cure = f"build Juman++ 2 from {HOME}; put it on the PATH, or name it by {NAMED_BY}"
        raise MissingExtra(f"the program {PROGRAM!r} is not installed", cure=cure)
    return found


def _seen(text: str) -> _Seen:
    """Character by character to full width, white space but line breaks to the full-width space; ｶﾞ becomes one, ガ."""
    blanked = text.translate(_TO_WIDE)
    copy = normalise(blanked, "fullwidth")
    same = len(copy) == len(text)  # only the pairs make it shorter, and nothing makes it longer
    return _Seen(text, copy, None if same else normalise_with_offsets(blanked, "fullwidth"))


def _pieces(copy: str) -> Iterator[tuple[int, int]]:
    """The lines of a copy; one that is too long is cut after the last sentence that fits, else where a clause ends."""
    for line in _LINE.finditer(copy):
        start, end = line.span()
        ends: list[int] | None = None
        while (room := _room(copy, start, end)) < end - start:
            if ends is None:
                ends = [line.start() + span.end for span in sentences(line.group(), "ja")]
            last = bisect_right(ends, start + room) - 1
            fits = last >= 0 and ends[last] > start
            stop = ends[last] if fits else start + cuts(copy[start : start + room + 1], room)[1]
            yield start, stop
            start = stop
        yield start, end


def _room(copy: str, start: int, end: int) -> int:
    """How many characters from `start` on are one line to the program."""
    return len(copy[start : min(end, start + LIMIT)].encode()[:LIMIT].decode("utf-8", "ignore"))


def _tokens(
    seen: _Seen, place: tuple[int, int], lines: list[str], known: Callable[[str], _Said | None]
) -> Iterator[Token]:
    at, stop = place
    for line in lines:
        # Another entry of the same morpheme, in the order of the dictionary; a remark. The text has neither sign.
        if line.startswith(("@ ", "# ")) and line != ERROR:
            continue
        said = known(line)
        start = -1 if said is None else _found(seen.copy, at, stop, said[0])
        if said is None or start < 0:
            raise _refused(seen.copy[place[0] : stop], line)
        surface, entry = said
        at = start + len(surface)
        token = _token(seen, start, at, entry)
        if token is not None:
            yield token
    if seen.copy[at:stop].strip():
        raise _refused(seen.copy[place[0] : stop], "EOS")


def _refused(asked: str, line: str) -> BadInput:
    if line == ERROR:
        return BadInput(
            f"{PROGRAM} cannot analyse {asked!r}", cure="leave that text out, or change it"
        )
    what = f"{PROGRAM} answers {asked!r} with {line!r}, which does not fit"
    return BadInput(what, cure="take Juman++ 2, with its standard output")


def _found(copy: str, at: int, stop: int, surface: str) -> int:
    """Where a surface stands in what is left of a line: at once, or after blanks; -1 where it does not."""
    while True:
        end = at + len(surface)
        if end <= stop and (
            copy.startswith(surface, at) or copy[at:end].replace(WIDE, " ") == surface
        ):
            return at
        if at >= stop or copy[at] != WIDE:
            return -1
        at += 1


def _token(seen: _Seen, start: int, end: int, entry: Entry) -> Token | None:
    """The token on characters of the copy; None for white space, but not for the full-width space of the text."""
    first, last = seen.original(start, end)
    whole = seen.text[first:last]
    word = whole.strip(_BLANKS)
    if not word:
        return None
    first += len(whole) - len(whole.lstrip(_BLANKS))
    base = entry.base or word
    return Token(
        word,
        base,
        entry.pos,
        entry.reading,
        entry.ctype,
        entry.cform,
        first,
        first + len(word),
        word,
        entry.norm or base,
        entry.notes,
    )


def _entry(line: str) -> _Said | None:
    """What a line says, or None where it is none of the format."""
    found = _ENTRY.match(line)
    if found is None:
        return None
    surface, between, pos, fine, ctype, cform, said = found.groups(default="NIL")
    words = [_plain(word) for word in _BETWEEN.split(between)]
    half = len(words) // 2  # a lemma with a blank has a reading with one
    notes = "" if said == "NIL" else said.strip('"')
    known = pos != UNKNOWN and "未知語" not in notes
    reading, base = (" ".join(words[:half]), " ".join(words[half:])) if known else ("", "")
    norm = next(
        (note.partition(":")[2] for note in notes.split(" ") if note.startswith("代表表記:")), ""
    )
    entry = Entry(
        base,
        (pos, fine),
        reading.translate(TO_KATAKANA),
        ctype.strip("*"),
        cform.strip("*"),
        norm if known else "",
        notes,
    )
    return _plain(surface), entry


def _plain(field: str) -> str:
    return (
        _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), field)
        if "\\" in field
        else field
    )
