"""Documents from text files: one a line of plain text, one a record of JSON lines.

Packed or not, in any encoding.

`inspect_files` looks at the files before any work, `read_selected` reads them. A document keeps its
file, line, id, source and licence. Memory stays flat: a document that is too long is cut where a
sentence ends.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.cleaning.encoding import detect_encoding, detect_language, find_encoding
from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.json import decode_json
from nikawa.io.lines import check_openable, open_bytes, refuse_long_line
from nikawa.io.pipes import is_piped
from nikawa.io.remote import real_path, to_path
from nikawa.records import Record

SAMPLE_BYTES = 1 << 18
"""Bytes that encoding and language are detected from."""
MAX_DOCUMENT_CHARS = 1 << 20
"""Characters of a document held at once."""
_BLOCK_BYTES = 1 << 16
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_STOPS = ("\n", "。", ". ", "! ", "? ", "！", "？", " ", "、")
"""Where a long document may be cut, the best first."""


class ReadOptions(Record, frozen=True, kw_only=True):
    """How to read the files."""

    encoding: str | None = None
    field: str = "text"
    """The field of JSON lines that holds the text."""
    licence: str = ""
    """Of documents that do not name their own."""
    source: str = ""
    """Of documents that do not name their own."""
    sources: Path | None = None
    """A table of which lines of a mixed file come from where; see `read_origins`."""
    only: Path | None = None
    """A file whose first column names the documents to take."""


class SourceFile(Record, frozen=True, kw_only=True):
    """One file as it will be read."""

    path: str
    name: str
    encoding: str
    language: str


OWN_FIELDS = frozenset(
    ("id", "source", "licence", "group", "document", "start", "end", "inputs", "gold", "meta")
)
"""Fields of a JSON line that have a place of their own in a candidate, or none."""


class Document(NamedTuple):
    """A text and where it came from."""

    name: str
    """`file:line`, which no other document has."""
    line: int
    text: str
    base: int = 0
    """Where `text` begins in the whole document: not 0 for the later parts of a very long one."""
    id: str = ""
    source: str = ""
    licence: str = ""
    group: str = ""
    """What a record says it belongs to."""
    meta: tuple[tuple[str, str | int | float], ...] = ()
    """What else a record says of it: image, intent, stars, date, …"""

    def cut(self) -> Iterator[Document]:
        """The document in parts that are not too long; nothing where it is blank."""
        text, at = self.text, 0
        while len(text) - at > MAX_DOCUMENT_CHARS:
            latest = at + MAX_DOCUMENT_CHARS
            end = latest
            for stop in _STOPS:
                place = text.rfind(stop, at + MAX_DOCUMENT_CHARS // 2, latest)
                if place >= 0:
                    end = place + len(stop)
                    break
            yield self._replace(text=text[at:end], base=at)
            at = end
        if text[at:].strip():
            yield self._replace(text=text[at:], base=at)


def inspect_files(
    paths: Sequence[Path], reading: ReadOptions, language: str = ""
) -> list[SourceFile]:
    """Look at each file; one that cannot be read as text is refused here, before any work."""
    if language not in ("", "ja", "ko"):
        raise unknown("language that can be cleaned", language, ("ja", "ko"))
    for path in paths:
        check_openable(path)
    if len({real_path(path) for path in paths}) < len(paths):
        raise BadInput("a file is given twice", cure="name each once")
    if reading.sources and len(paths) > 1:
        what, cure = "a table of sources describes one file", "clean the files one by one"
        raise BadInput(what, file=reading.sources, cure=cure)
    base_names = Counter(path.name for path in paths)
    files = []
    for path in paths:
        encoding, start = sample_text(path, reading.encoding)
        file = SourceFile(
            path=str(path),
            name=path.name if base_names[path.name] == 1 else path.as_posix(),
            encoding=encoding,
            language=language or detect_language(start, path),
        )
        files.append(file)
    return files


def sample_text(path: Path, encoding: str | None) -> tuple[str, str]:
    """(Encoding, first part of the text) of a file; an `encoding` of None is detected."""
    with open_bytes(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
        whole = not stream.read(1)
    name = find_encoding(encoding) if encoding else detect_encoding(sample, path, whole=whole)
    start = sample.decode(name, "ignore")
    if is_json_lines(path):
        start = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), start)
    return name, start


def is_json_lines(path: Path) -> bool:
    """Whether the name says JSON lines.

    Of a pipe, which has no name, whether it begins like one.
    """
    if is_piped(path):
        with open_bytes(path) as stream:
            return stream.read(SAMPLE_BYTES).lstrip().startswith(b"{")
    return path.name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz"))


def read_selected(
    files: Sequence[SourceFile], reading: ReadOptions, on_unselected: Callable[[], None]
) -> Iterator[Document]:
    """The documents of all files with their source and licence.

    `on_unselected` is called for each that `only` does not name.
    """
    names = None
    if reading.only is not None:
        names = {line.split("\t")[0] for _, line in read_text_lines(reading.only, "utf-8")}
        if not names - {""}:
            cure = "write one id per line, as `nikawa rank` does"
            raise BadInput("names no document", file=reading.only, cure=cure)
    origins = None if reading.sources is None else read_origins(reading.sources)
    for file in files:
        documents = read_documents(to_path(file.path), file.name, file.encoding, reading.field)
        if origins is not None:
            documents = add_origins(documents, file.name, origins)
        for document in documents:
            if names is not None and document.id not in names and document.name not in names:
                on_unselected()
                continue
            yield document._replace(
                source=document.source or reading.source,
                licence=document.licence or reading.licence,
            )


def read_documents(path: Path, name: str, encoding: str, field: str = "text") -> Iterator[Document]:
    """The documents of a file, blank ones left out."""
    has_records = is_json_lines(path)
    for number, line in read_text_lines(path, encoding):
        document = Document(f"{name}:{number}", number, line)
        if has_records:
            document = parse_record(document, path, field)
        yield from document.cut()


def read_text_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(Number from 1, line without its end)."""
    decoder = codecs.getincrementaldecoder(encoding)()
    number = size = 0
    rest: list[str] = []  # a long line comes in many blocks: they are joined once
    with open_bytes(path) as stream:
        while data := stream.read(_BLOCK_BYTES):
            *lines, last = _decode(decoder, data, path, number).split("\n")
            if lines:
                lines[0], size = "".join((*rest, lines[0])), 0
                rest.clear()
                for line in lines:
                    number += 1
                    yield number, line.removesuffix("\r")
            rest.append(last)
            size += len(data)
            if size > _BLOCK_BYTES:
                refuse_long_line(size, path, number + 1)
        rest.append(_decode(decoder, b"", path, number))
    if last := "".join(rest):
        yield number + 1, last.removesuffix("\r")


def _decode(decoder: codecs.IncrementalDecoder, data: bytes, path: Path, number: int) -> str:
    """The text of the next bytes, which follow line `number`; no bytes end the file."""
    try:
        return decoder.decode(data, final=not data)
    except UnicodeDecodeError as problem:
        line = number + 1 + bytes(problem.object[: problem.start]).count(b"\n")
        byte = problem.object[problem.start]
        what = f"is not {problem.encoding} (byte 0x{byte:02x}: {problem.reason})"
        cure = "pass the encoding with --encoding, or repair the line"
        raise BadInput(what, file=path, line=line, cure=cure) from None


def parse_record(document: Document, path: Path, field: str) -> Document:
    """The document of a JSON line; one that `clean` wrote is taken too, with its meta."""
    if not document.text.strip():
        return document
    record: dict[str, Any] = decode_json(document.text, dict[str, Any], path, document.line)
    inputs, meta = record.get("inputs"), record.get("meta")
    holder = inputs if isinstance(inputs, dict) and field not in record else record
    text = holder.get(field)
    if not isinstance(text, str):
        what = f"has no text in the field {field!r}"
        cure = f"pass its name with --field; {suggest(field, holder)}"
        raise BadInput(what, file=path, line=document.line, cure=cure)
    about = {**(meta if isinstance(meta, dict) else {}), **record}
    # A later stage may need any of it: the image of a caption, the stars of a review.
    kept = tuple(
        (name, value)
        for name, value in about.items()
        if name not in OWN_FIELDS and name != field and isinstance(value, str | int | float)
    )
    group = record.get("group")
    return document._replace(
        text=text,
        group=group if isinstance(group, str) else "",
        meta=kept,
        id=str(about.get("id", about.get("title", ""))),
        source=str(about.get("source") or ""),
        licence=str(about.get("licence") or ""),
    )


class LineOrigins(NamedTuple):
    """Which source each line of a mixed file comes from: runs of lines, in order."""

    firsts: list[int]
    """Line numbers from 1."""
    ends: list[int]
    sources: list[tuple[str, str]]
    """Source and licence."""


def read_origins(path: Path) -> LineOrigins:
    """Read a table of origins: first line (from 0), number of lines, source and, if known, licence.

    Tabs between, no header.
    """
    origins = LineOrigins([], [], [])
    for number, line in read_text_lines(path, "utf-8"):
        cells = line.split("\t")
        try:
            first, count, source = int(cells[0]) + 1, int(cells[1]), cells[2]
        except (ValueError, IndexError):
            cure = "write first line (from 0), number of lines, source and, if known, licence, separated by tabs"
            raise BadInput("is not a row of origins", file=path, line=number, cure=cure) from None
        if origins.ends and first < origins.ends[-1]:
            what = "starts before the row above ends"
            raise BadInput(what, file=path, line=number, cure="sort the rows")
        origins.firsts.append(first)
        origins.ends.append(first + count)
        origins.sources.append((source, cells[3] if len(cells) > 3 else ""))
    return origins


def add_origins(
    documents: Iterator[Document], name: str, origins: LineOrigins
) -> Iterator[Document]:
    """The lines of the file called `name` with their source and licence.

    Those of one run share a document's id.
    """
    for document in documents:
        at = bisect_right(origins.firsts, document.line) - 1
        if at < 0 or document.line >= origins.ends[at]:
            yield document
            continue
        source, licence = origins.sources[at]
        yield document._replace(id=f"{name}:{origins.firsts[at]}", source=source, licence=licence)
