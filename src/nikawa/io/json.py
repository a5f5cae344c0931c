"""JSON documents and JSON lines, decoded strictly: place of the fault, NaN refused, types checked."""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from nikawa.errors import BadInput
from nikawa.io.lines import decode_line, read_blocks_of_lines, read_whole
from nikawa.io.repeats import keeps_all, may_repeat, repeated

T = TypeVar("T")

_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_HALF_PAIR = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F])"
)
"""An escaped surrogate without its other half."""
DEEPEST = 100
"""Levels of nesting that are written; more can be read, but not by everything that takes records."""
_NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")


def decode_json(
    text: str | bytes, kind: type[T], path: Path, line: int | None = None, *, unique: bool = False
) -> T:
    """Decode `text` as `kind`, or raise the one-line error that says what is wrong.

    With `unique` a name that occurs twice in one object is refused.
    """
    try:
        value = msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        raise json_fault(problem, text, path, line) from None
    if unique:
        _refuse_repeats(text.encode() if isinstance(text, str) else text, kind, value, path, line)
    return value


def _refuse_repeats(
    text: bytes, kind: object, value: object, path: Path, line: int | None = None
) -> None:
    name = repeated(text, kind, value)
    if name is not None:
        what = f"the name {name!r} occurs twice in one object"
        raise BadInput(what, file=path, line=line, cure="keep one of them")


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
    if _NOT_FINITE.match(body.encode(), _byte(said) or 0):
        return BadInput(
            "NaN and Infinity are not JSON",
            file=path,
            line=line,
            cure="write null, or leave the field out",
        )
    if isinstance(problem, msgspec.ValidationError):
        return BadInput(
            plain_fault(said), file=path, line=line, cure="see docs/records.md for the fields"
        )
    return BadInput(
        f"is not JSON ({plain_fault(said)})",
        file=path,
        line=line,
        cure="check quotes, commas and braces",
    )


def plain_fault(said: str) -> str:
    """A type checker's complaint in our words: which field, what was expected."""
    said = said.replace("Object contains unknown field", "unknown field").replace(
        "Object missing", "missing"
    )
    said = re.sub(r" - at `\$\.?(.*?)`", lambda m: f" at {m[1]}" if m[1] else "", said)
    return said if said[:2].isupper() else said[:1].lower() + said[1:]


def read_json_lines(path: Path, kind: type[T], *, unique: bool = False) -> Iterator[tuple[int, T]]:
    """Yield (line number, decoded value) for each line; an empty line is an error, and see `decode_json`."""
    number, lines = 1, _Lines(path, kind, unique)
    for block in read_blocks_of_lines(path):
        values = lines.ours(block) if unique else None
        pairs = enumerate(values, start=number) if values is not None else lines.any(block, number)
        for number, value in pairs:
            yield number, value
        number += 1
    if number == 1:
        raise BadInput("is empty", file=path, cure="write at least one record")


class _Lines(Generic[T]):
    """Decodes many lines at a time, and one by one where something is wrong with any."""

    def __init__(self, path: Path, kind: type[T], unique: bool) -> None:
        self.path, self.kind, self.unique, self.as_we_write = path, kind, unique, True
        self.decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
        self.anew = msgspec.json.Encoder().encode_lines

    def ours(self, block: bytes) -> list[T] | None:
        """The values of lines that are just what they would be written as: nothing can be wrong with those."""
        if not self.as_we_write:
            return None
        try:
            values = self.decoder.decode_lines(block)
        except _FAULTS:
            return None
        self.as_we_write = self.anew(values) == block
        return values if self.as_we_write else None

    def any(self, block: bytes, number: int) -> Iterator[tuple[int, T]]:
        """(Number, value) of lines of any form."""
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            values = list(map(self.decoder.decode, lines))
        except _FAULTS:
            return self.one_by_one(lines, number)
        sound = b"\r" not in block and (not self.unique or not self.suspicious(block, values))
        return enumerate(values, start=number) if sound else self.one_by_one(lines, number)

    def suspicious(self, block: bytes, values: list[T]) -> bool:
        """Whether names may have been dropped; see `repeats`."""
        if not keeps_all(self.kind):
            values = list(map(msgspec.json.decode, block.splitlines()))
        return may_repeat(block, self.anew(values))

    def one_by_one(self, lines: Iterable[bytes], number: int) -> Iterator[tuple[int, T]]:
        """The values up to the first line that is wrong, then its error."""
        for at, raw in enumerate(lines, start=number):
            try:
                value = self.decoder.decode(raw)
            except _FAULTS as problem:
                raise _line_fault(problem, raw, self.path, at) from None
            if raw.endswith(b"\r"):
                decode_line(raw, self.path, at)
            if self.unique:
                _refuse_repeats(raw, self.kind, value, self.path, at)
            yield at, value


def _line_fault(problem: Exception, raw: bytes, path: Path, number: int) -> BadInput:
    if raw.startswith(BOM_UTF8):
        cure = r"only the whole file may; sed -i 's/^\xEF\xBB\xBF//' FILE takes it off every line"
        return BadInput("begins with a byte order mark", file=path, line=number, cure=cure)
    line = decode_line(raw, path, number)
    if not line.strip():
        return BadInput("is empty", file=path, line=number, cure="remove the line")
    return json_fault(problem, line, path, number)


def read_json(path: Path, kind: type[T], *, unique: bool = False) -> T:
    """Decode a whole JSON document; a fault is placed by line where the decoder tells the byte."""
    text = read_whole(path)
    if not text.strip():
        raise BadInput("is empty", file=path, cure="fetch or write it again")
    try:
        value = msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        raise json_fault(problem, text, path, _line_of(problem, text)) from None
    if unique:
        _refuse_repeats(text.encode(), kind, value, path)
    return value


def _line_of(problem: Exception, text: str) -> int | None:
    """The line of a syntax fault: msgspec tells the byte."""
    byte = _byte(str(problem))
    return None if byte is None else text.encode()[:byte].count(b"\n") + 1


def _byte(said: str) -> int | None:
    found = re.search(r"\(byte (\d+)\)", said)
    return int(found[1]) if found else None


def encode_json(value: Any) -> bytes:
    """Compact JSON in UTF-8; the same value gives the same bytes. NaN and half characters are refused."""
    packed = pack_json(value)
    if b"null" in packed and not_finite(msgspec.to_builtins(value)):  # NaN is written as null
        raise BadInput(
            f"{name_of(value)} holds NaN or Infinity", cure="use None, or leave the field out"
        )
    return packed


def pack_json(value: Any, path: Path | None = None) -> bytes:
    """The same, but NaN becomes null."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:
        what, cure = "holds half of a surrogate pair", "decode the text it came from as UTF-8"
    except RecursionError:
        what, cure = f"nests more than {DEEPEST} levels deep", "flatten it"
    except TypeError as problem:
        what, cure = (
            f"cannot be written: {plain_fault(str(problem))}",
            "make it a plain text, number or list",
        )
        if "keys are supported" in str(problem):
            what, cure = "has a key that is not text", "make every key a text"
    raise BadInput(f"{name_of(value)} {what}", file=path, cure=cure)


def name_of(value: Any) -> str:
    """What a message calls a record: its kind and id."""
    own = getattr(value, "id", getattr(value, "example", ""))
    return f"{type(value).__name__.lower()} {own}".strip() if own else "the value"


def not_finite(value: Any) -> bool:
    """Whether NaN or Infinity is anywhere in a value."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(not_finite, value.values()))
    return isinstance(value, list | tuple) and any(map(not_finite, value))
