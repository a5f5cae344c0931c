"""Documents from text files: a line each of plain text, a record each of JSON lines; packed or not, in any encoding.

A document keeps its file, line, id, source and licence. Memory stays flat: one too long is cut where a sentence ends.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.cleaning.encoding import detect_encoding, known_encoding
from nikawa.errors import BadInput, suggest
from nikawa.io.json import decode_json
from nikawa.io.lines import LINE_LIMIT, open_bytes
from nikawa.io.pipes import is_piped

SAMPLE = 1 << 18
"""Bytes looked at to tell encoding and language."""
LONGEST = 1 << 20
"""Characters of a document held at once."""
_BLOCK = 1 << 16
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_STOPS = ("\n", "。", ". ", "! ", "? ", "！", "？", " ", "、")


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


def look(path: Path, encoding: str | None) -> tuple[str, str]:
    """(Encoding, first part of the text) of a file."""
    with open_bytes(path) as stream:
        sample = stream.read(SAMPLE)
        whole = not stream.read(1)
    name = known_encoding(encoding) if encoding else detect_encoding(sample, path, whole=whole)
    start = sample.decode(name, "ignore")
    return name, _ESCAPE.sub(lambda found: chr(int(found[1], 16)), start) if is_records(
        path
    ) else start


def is_records(path: Path) -> bool:
    """Whether the name says JSON lines; of a pipe, which has no name, whether it begins like one."""
    if is_piped(path):
        with open_bytes(path) as stream:
            return stream.read(SAMPLE).lstrip().startswith(b"{")
    return any(path.name.endswith(f".jsonl{packed}") for packed in ("", ".gz", ".zst", ".xz"))


def documents(path: Path, name: str, encoding: str, field: str = "text") -> Iterator[Document]:
    """The documents of a file, blank ones left out."""
    records = is_records(path)
    for number, line in read_text_lines(path, encoding):
        found = (
            _record(line, path, number, field)._replace(name=f"{name}:{number}")
            if records
            else Document(f"{name}:{number}", number, line)
        )
        yield from _cut(found)


def read_text_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(Number from 1, line without its end)."""
    decoder = codecs.getincrementaldecoder(encoding)()
    number, size, rest = 0, 0, list[str]()  # a long line comes in many blocks: they are joined once
    with open_bytes(path) as stream:
        while data := stream.read(_BLOCK):
            *lines, last = _decoded(decoder, data, path, number).split("\n")
            if lines:
                lines[0], size = "".join((*rest, lines[0])), 0
                rest.clear()
                for line in lines:
                    number += 1
                    yield number, line.removesuffix("\r")
            rest.append(last)
            size += len(data)
            if size > LINE_LIMIT:
                cure = "write a document a line"
                raise BadInput(
                    f"is longer than {LINE_LIMIT >> 20} MiB", file=path, line=number + 1, cure=cure
                )
        rest.append(_decoded(decoder, b"", path, number))
    if last := "".join(rest):
        yield number + 1, last.removesuffix("\r")


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, path: Path, number: int) -> str:
    try:
        return decoder.decode(data, final=not data)
    except UnicodeDecodeError as problem:
        line = number + 1 + bytes(problem.object[: problem.start]).count(b"\n")
        what = f"is not {problem.encoding} (byte 0x{problem.object[problem.start]:02x}: {problem.reason})"
        cure = "name the encoding with --encoding, or repair the line"
        raise BadInput(what, file=path, line=line, cure=cure) from None


def _record(line: str, path: Path, number: int, field: str) -> Document:
    """The document of a JSON line; one that `clean` wrote is taken too, with its meta."""
    if not line.strip():
        return Document("", number, "")
    value: dict[str, Any] = decode_json(line, dict[str, Any], path, number)
    inputs, meta = value.get("inputs"), value.get("meta")
    holder = inputs if isinstance(inputs, dict) and field not in value else value
    text = holder.get(field)
    if not isinstance(text, str):
        what = f"has no text in the field {field!r}"
        raise BadInput(
            what, file=path, line=number, cure=f"name it with --field; {suggest(field, holder)}"
        )
    about = {**(meta if isinstance(meta, dict) else {}), **value}
    said = {key: str(about[key]) for key in ("source", "licence") if about.get(key)}
    own = about.get("id", about.get("title", ""))
    return Document("", number, text, 0, str(own), said.get("source", ""), said.get("licence", ""))


def _cut(document: Document) -> Iterator[Document]:
    text, at = document.text, 0
    while len(text) - at > LONGEST:
        found = (text.rfind(stop, at + LONGEST // 2, at + LONGEST) + len(stop) for stop in _STOPS)
        end = next(
            (end for stop, end in zip(_STOPS, found, strict=True) if end > at + len(stop)),
            at + LONGEST,
        )
        yield document._replace(text=text[at:end], base=at)
        at = end
    if text[at:].strip():
        yield document._replace(text=text[at:], base=at)
