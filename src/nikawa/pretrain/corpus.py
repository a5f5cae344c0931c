"""Raw text from files, streamed: lines with the document each belongs to, broken ones counted, giant ones cut.

Plain text has a paragraph a line and a blank line between documents (or a table of where they begin); JSON lines have
a document a record. Memory stays flat whatever the file holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import BadInput, suggest
from nikawa.io.chunks import by_characters
from nikawa.io.lines import guess_encoding, open_bytes, read_lines

KINDS = tuple(f"{kind}{packed}" for kind in (".txt", ".jsonl") for packed in ("", ".gz", ".zst", ".xz"))
"""Names that a folder is searched for."""
LONGEST = 1 << 18
"""Bytes of a line held at once; a longer one is cut where a sentence ends."""
RECORD = 1 << 26
"""Bytes of a record; a longer one is broken."""
DOCUMENT_LINES, DOCUMENT_SIZE = 1_000, 200_000
"""Lines and characters after which a document counts as two: one without end could not be held out."""
CHUNK = 300_000
"""Characters handed to a worker at a time."""
NAMED = 20
"""Broken lines whose numbers are told."""
_ENDS = ("。", "！", "？", ". ", "! ", "? ", "\t", " ", "、")  # fmt: skip
_BLOCK = 1 << 17
_JSON = msgspec.json.Decoder(dict[str, Any])


class Line(NamedTuple):
    """A line of text and the document it belongs to."""

    document: str
    """`file:line.n`, the n-th that begins in that line: no other document has it."""
    text: str


@dataclass
class Broken:
    """Lines that could not be read."""

    count: int = 0
    places: list[str] = field(default_factory=list)
    """`file:line` of the first of them."""

    def add(self, place: str) -> None:
        """One more."""
        self.count += 1
        if len(self.places) < NAMED:
            self.places.append(place)


@dataclass
class Source:
    """One file and what came of reading it."""

    path: Path
    name: str
    key: str = "text"
    """The field of JSON lines that holds the text."""
    starts: frozenset[int] | None = None
    """Lines (from 1) at which documents begin, where a table tells."""
    table: str = ""
    """The name of that table."""
    broken: Broken = field(default_factory=Broken)
    cut: int = 0
    """Places at which lines that were too long were cut."""
    lines: int = 0
    characters: int = 0


def sources_of(given: Sequence[Path], text_field: str = "text", table: Path | None = None) -> list[Source]:
    """The files that are meant, folders searched; each once."""
    files = [file for path in given for file in _files(path)]
    if not files:
        raise BadInput("no text was named", cure="name a .txt or .jsonl file, or a folder of them")
    if len({file.resolve() for file in files}) < len(files):
        raise BadInput("a file is named twice", cure="name each once")
    if table is not None and len(files) > 1:
        raise BadInput("a table of sources is about one file", file=table, cure="name one file")
    names = [file.name for file in files]
    starts = _starts(table) if table else None
    return [
        Source(
            file,
            file.name if names.count(file.name) == 1 else file.as_posix(),
            text_field,
            starts,
            table.name if table else "",
        )
        for file in files
    ]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.name.endswith(KINDS) and file.is_file())
    if not found:
        raise BadInput("holds no text", file=path, cure=f"it may hold {', '.join(KINDS)}")
    return found


def _starts(table: Path) -> frozenset[int]:
    """First lines (from 1) of the documents a table of first line (from 0), number of lines and source names."""
    starts = set()
    for number, line in read_lines(table):
        first = line.split("\t")[0]
        if not first.isdecimal():
            cure = "write first line (from 0), number of lines and source, with tabs between"
            raise BadInput("is not a row of sources", file=table, line=number, cure=cure)
        starts.add(int(first) + 1)
    return frozenset(starts)


def read(source: Source) -> Iterator[Line]:
    """The lines of a file that can be read, blank ones left out."""
    records = any(source.path.name.endswith(f".jsonl{packed}") for packed in ("", ".gz", ".zst", ".xz"))
    found = _records(source) if records else _plain(source)
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
    begins = True
    for number, raw in _raw(source, LONGEST):
        text = _text(raw, source, number)
        if text is None:
            continue
        if source.starts is not None:
            begins = begins or number in source.starts
        elif not text.strip():
            begins = True
        if text.strip():
            yield number, text, begins
            begins = False


def _records(source: Source) -> Iterator[tuple[int, str, bool]]:
    for number, raw in _raw(source, RECORD):
        if not raw.strip():
            continue
        try:
            record = _JSON.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            source.broken.add(f"{source.name}:{number}")
            continue
        for place, text in enumerate(filter(str.strip, _field(record, source, number).splitlines())):
            yield number, text, place == 0


def _field(record: dict[str, Any], source: Source, number: int) -> str:
    inputs = record.get("inputs")
    holder = inputs if isinstance(inputs, dict) and source.key not in record else record
    text = holder.get(source.key)
    if not isinstance(text, str):
        what = f"has no text in the field {source.key!r}"
        cure = f"name it with --field; {suggest(source.key, holder)}"
        raise BadInput(what, file=source.path, line=number, cure=cure)
    return text


def _raw(source: Source, longest: int) -> Iterator[tuple[int, bytes]]:
    """(Number from 1, undecoded line without its end); a line over `longest` bytes comes in parts."""
    number, size, parts = 1, 0, list[bytes]()  # a long line comes in many blocks: they are joined once
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
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        source.broken.add(f"{source.name}:{number}")
        if number <= 2 * source.broken.count and source.broken.count > NAMED:
            raise _not_utf8(raw, source.path) from None
        return None
    return text.removesuffix("\r")


def _not_utf8(raw: bytes, path: Path) -> BadInput:
    guess = guess_encoding(raw)
    cure = f"convert it, e.g. with iconv -f {guess} -t UTF-8" if guess else "save it as UTF-8"
    return BadInput("most of its lines are not UTF-8", file=path, cure=cure)


def chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines together until they have `CHUNK` characters."""
    return by_characters(lines, CHUNK)
