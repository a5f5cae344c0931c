"""Raw text from files, streamed: lines with the document each belongs to, broken ones counted, giant ones cut.

Plain text has a paragraph a line and a blank line between documents (or a table of where they begin); JSON lines have
a document a record. Memory stays flat whatever the file holds.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import BadInput, suggest
from nikawa.io.chunks import by_characters
from nikawa.io.lines import open_bytes
from nikawa.pretrain.sources import NAMED, Source, holds_records, unreadable

LONGEST = 1 << 18
"""Bytes of a line held at once; a longer one is cut where a sentence ends."""
RECORD = 1 << 26
"""Bytes of a record; a longer one is broken."""
DOCUMENT_LINES, DOCUMENT_SIZE = 1_000, 200_000
"""Lines and characters after which a document counts as two: one without end could not be held out."""
CHUNK = 300_000
"""Characters handed to a worker at a time."""
_ENDS = ("。", "！", "？", ". ", "! ", "? ", "\t", " ", "、")
_BLOCK = 1 << 17
_JSON = msgspec.json.Decoder(dict[str, Any])


class Line(NamedTuple):
    """A line of text and the document it belongs to."""

    document: str
    """`file:line.n`, the n-th that begins in that line: no other document has it."""
    text: str


def read(source: Source) -> Iterator[Line]:
    """The lines of a file that can be read, blank ones left out."""
    found = _records(source) if holds_records(source.path) else _plain(source)
    for text, document in _documents(found, source.name):
        source.characters += len(text)
        yield Line(document, text)


def _documents(found: Iterable[tuple[int, str, bool]], name: str) -> Iterator[tuple[str, str]]:
    """(Text, document) of (line number, text, whether a document begins)."""
    document, lines, size, first, again = "", 0, 0, 0, 0
    for number, text, begins in found:
        if begins or not document or lines >= DOCUMENT_LINES or size >= DOCUMENT_SIZE:
            again = again + 1 if number == first else 0  # one line may be many documents
            document, lines, size, first = f"{name}:{number}.{again}", 0, 0, number
        lines, size = lines + 1, size + len(text)
        yield text, document


def _plain(source: Source) -> Iterator[tuple[int, str, bool]]:
    begins, place, texts = True, 0, 0
    for number, raw in _raw(source, LONGEST):
        text = _text(raw, source, number)
        if text is None:
            continue
        if source.starts is not None:
            begins = begins or number in source.starts
        elif not text.strip():
            begins = True
        if text.strip():
            if source.starts is not None:
                texts += 1
                while place < len(source.held) and source.held[place][1] < number:
                    place += 1
                source.outside += not (place < len(source.held) and source.held[place][0] <= number)
            yield number, text, begins
            begins = False
    if source.starts is not None:
        _refuse_table(source, texts)


def _refuse_table(source: Source, texts: int) -> None:
    """A table that is of another text, by what it says and what was read."""
    what = ""
    if source.starts and max(source.starts) > source.lines:
        what = f"has {source.lines:,} lines, and by {source.table} a document begins in line {max(source.starts):,}"
    elif 2 * source.outside > texts:
        what = (
            f"has {texts:,} lines of text, of which {source.table} holds {texts - source.outside:,}"
        )
    if what:
        raise BadInput(
            what, file=source.path, cure="name the table that belongs to it with --sources"
        )


def _records(source: Source) -> Iterator[tuple[int, str, bool]]:
    for number, raw in _raw(source, RECORD):
        if not raw.strip():
            continue
        try:
            text = _field(
                _JSON.decode(raw.removeprefix(BOM_UTF8) if number == 1 else raw), source, number
            )
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = None
        if text is None:
            _drop(raw, source, number, "most of its lines are not JSON records with a text")
            continue
        for place, part in enumerate(filter(str.strip, text.splitlines())):
            yield number, part, place == 0


def _field(record: dict[str, Any], source: Source, number: int) -> str | None:
    """The text of a record; None where the field is there and holds something else."""
    inputs = record.get("inputs")
    holder = inputs if isinstance(inputs, dict) and source.key not in record else record
    if source.key not in holder:
        what = f"has no field {source.key!r}"
        cure = f"name the one that holds the text with --field; {suggest(source.key, holder)}"
        raise BadInput(what, file=source.path, line=number, cure=cure)
    text = holder[source.key]
    return text if isinstance(text, str) else None


def _raw(source: Source, longest: int) -> Iterator[tuple[int, bytes]]:
    """(Number from 1, undecoded line without its end); a line over `longest` bytes comes in parts."""
    number, size, parts = (
        1,
        0,
        list[bytes](),
    )  # a long line comes in many blocks: they are joined once
    with open_bytes(source.path) as stream:
        while data := stream.read(_BLOCK):
            parts.append(data)
            size += len(data)
            if b"\n" in data:
                *whole, rest = b"".join(parts).split(b"\n")
                for raw in whole:
                    yield number, raw
                    number += 1
                parts, size, source.lines = [rest], len(rest), number - 1
            while size > longest:
                raw = b"".join(parts)
                at = _cut(raw)
                source.cut += 1
                yield number, raw[:at]
                parts, size = [raw[at:]], len(raw) - at
    if size:
        source.lines = number
        yield number, b"".join(parts)


def _cut(raw: bytes) -> int:
    """Where to cut a line: behind the last sentence or word that ends in it, else between two characters."""
    for end in _ENDS:
        mark = end.encode()
        at = raw.rfind(mark, len(raw) // 2)
        if at > 0:
            return at + len(mark)
    at = len(raw) - 1
    while at > len(raw) - 4 and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _text(raw: bytes, source: Source, number: int) -> str | None:
    if number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        cure = "convert it, e.g. with iconv -f UTF-16 -t UTF-8"
        raise BadInput("is UTF-16", file=source.path, line=1, cure=cure)
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        _drop(raw, source, number, "most of its lines are not UTF-8")
        return None
    return text.removesuffix("\r")


def _drop(raw: bytes, source: Source, number: int, what: str) -> None:
    """Count a line that cannot be read; where most cannot, the file is refused."""
    source.broken.add(f"{source.name}:{number}", raw)
    if number <= 2 * source.broken.count and source.broken.count > NAMED:
        raise unreadable(source, what)


def chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines together until they have `CHUNK` characters."""
    return by_characters(lines, CHUNK)
