"""JSON documents and JSON lines, decoded strictly: place of the fault, NaN refused, types checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nikawa.errors import BadInput
from nikawa.io.lines import read_lines, read_whole

T = TypeVar("T")


def decode_json(text: str | bytes, kind: type[T], path: Path, line: int | None = None) -> T:
    """Decode `text` as `kind`, or raise the one-line error that says what is wrong."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise json_fault(problem, text, path, line) from None


def json_fault(problem: Exception, text: str | bytes, path: Path, line: int | None) -> BadInput:
    """What a decoder's complaint means to the person who has the file."""
    said = str(problem)
    body = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if "truncated" in said:
        return BadInput(
            "the JSON breaks off",
            file=path,
            line=line,
            cure="the file may be cut short: fetch or write it again",
        )
    if re.search(r"[\[:,]\s*-?(NaN|Infinity)\b", body):
        return BadInput(
            "NaN and Infinity are not JSON", file=path, line=line, cure="write null, or leave the field out"
        )
    if isinstance(problem, msgspec.ValidationError):
        return BadInput(_plain(said), file=path, line=line, cure="see docs/records.md for the fields")
    return BadInput(
        f"is not JSON ({_plain(said)})", file=path, line=line, cure="check quotes, commas and braces"
    )


def _plain(said: str) -> str:
    said = said.replace("Object contains unknown field", "unknown field").replace("Object missing", "missing")
    said = re.sub(r" - at `\$\.?(.*?)`", lambda m: f" at {m[1]}" if m[1] else "", said)
    return said[:1].lower() + said[1:]


def read_json_lines(path: Path, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield (line number, decoded value) for each line; an empty line is an error."""
    decoder = msgspec.json.Decoder(kind)
    number = 0
    for number, line in read_lines(path):
        if not line.strip():
            raise BadInput("is empty", file=path, line=number, cure="remove the line")
        try:
            yield number, decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as problem:
            raise json_fault(problem, line, path, number) from None
    if not number:
        raise BadInput("is empty", file=path, cure="write at least one record")


def read_json(path: Path, kind: type[T]) -> T:
    """Decode a whole JSON document; a fault is placed by line where the decoder tells the byte."""
    text = read_whole(path)
    if not text.strip():
        raise BadInput("is empty", file=path, cure="fetch or write it again")
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise json_fault(problem, text, path, _line_of(problem, text)) from None


def _line_of(problem: Exception, text: str) -> int | None:
    """The line of a syntax fault: msgspec tells the byte."""
    found = re.search(r"byte (\d+)", str(problem))
    if not found:
        return None
    return text.encode()[: int(found[1])].count(b"\n") + 1


def encode_json(value: Any) -> bytes:
    """Compact JSON in UTF-8; the same value gives the same bytes."""
    return msgspec.json.encode(value, order="deterministic")
