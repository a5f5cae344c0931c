"""JSON documents and JSON lines, decoded strictly: place of the fault, NaN refused, types checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nikawa.errors import BadInput
from nikawa.io.lines import decode_line, read_raw_lines, read_whole

T = TypeVar("T")

_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_HALF_PAIR = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F])"
)
"""An escaped surrogate without its other half."""


def decode_json(text: str | bytes, kind: type[T], path: Path, line: int | None = None) -> T:
    """Decode `text` as `kind`, or raise the one-line error that says what is wrong."""
    try:
        return msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        raise json_fault(problem, text, path, line) from None


def json_fault(problem: Exception, text: str | bytes, path: Path, line: int | None) -> BadInput:
    """What a decoder's complaint means to the person who has the file."""
    said = str(problem)
    body = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if isinstance(problem, RecursionError):
        return BadInput(
            "nests too deeply", file=path, line=line, cure="flatten it: records nest a few levels"
        )
    if ("truncated" in said or "surrogate" in said) and _HALF_PAIR.search(body):
        return BadInput(
            "holds half of a surrogate pair",
            file=path,
            line=line,
            cure="write the character itself, in UTF-8",
        )
    if "truncated" in said:
        return BadInput(
            "the JSON breaks off",
            file=path,
            line=line,
            cure="the file may be cut short: fetch or write it again",
        )
    if "invalid character" in said and re.search(r"[\[:,]\s*-?(NaN|Infinity)\b", body):
        return BadInput(
            "NaN and Infinity are not JSON", file=path, line=line, cure="write null, or leave the field out"
        )
    if isinstance(problem, msgspec.ValidationError):
        return BadInput(plain_fault(said), file=path, line=line, cure="see docs/records.md for the fields")
    return BadInput(
        f"is not JSON ({plain_fault(said)})", file=path, line=line, cure="check quotes, commas and braces"
    )


def plain_fault(said: str) -> str:
    """A type checker's complaint in our words: which field, what was expected."""
    said = said.replace("Object contains unknown field", "unknown field").replace("Object missing", "missing")
    said = re.sub(r" - at `\$\.?(.*?)`", lambda m: f" at {m[1]}" if m[1] else "", said)
    return said[:1].lower() + said[1:]


def read_json_lines(path: Path, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield (line number, decoded value) for each line; an empty line is an error."""
    decode = msgspec.json.Decoder(kind).decode
    number = 0
    for number, raw in read_raw_lines(path):
        try:
            yield number, decode(raw)
        except _FAULTS as problem:
            raise _line_fault(problem, raw, path, number) from None
    if not number:
        raise BadInput("is empty", file=path, cure="write at least one record")


def _line_fault(problem: Exception, raw: bytes, path: Path, number: int) -> BadInput:
    line = decode_line(raw, path, number)
    if not line.strip():
        return BadInput("is empty", file=path, line=number, cure="remove the line")
    return json_fault(problem, line, path, number)


def read_json(path: Path, kind: type[T]) -> T:
    """Decode a whole JSON document; a fault is placed by line where the decoder tells the byte."""
    text = read_whole(path)
    if not text.strip():
        raise BadInput("is empty", file=path, cure="fetch or write it again")
    try:
        return msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        raise json_fault(problem, text, path, _line_of(problem, text)) from None


def _line_of(problem: Exception, text: str) -> int | None:
    """The line of a syntax fault: msgspec tells the byte."""
    found = re.search(r"byte (\d+)", str(problem))
    if not found:
        return None
    return text.encode()[: int(found[1])].count(b"\n") + 1


def encode_json(value: Any) -> bytes:
    """Compact JSON in UTF-8; the same value gives the same bytes. NaN and half characters are refused."""
    try:
        packed = msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:
        raise BadInput(
            f"{name_of(value)} holds half of a surrogate pair", cure="decode the text it came from as UTF-8"
        ) from None
    if b"null" in packed and _not_finite(msgspec.to_builtins(value)):  # NaN is written as null
        raise BadInput(f"{name_of(value)} holds NaN or Infinity", cure="use None, or leave the field out")
    return packed


def name_of(value: Any) -> str:
    """What a message calls a record: its kind and id."""
    own = getattr(value, "id", getattr(value, "example", ""))
    return f"{type(value).__name__.lower()} {own}".strip() if own else "the value"


def _not_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_not_finite, value.values()))
    return isinstance(value, list | tuple) and any(map(_not_finite, value))
