"""Decode JSON documents and JSON lines strictly: errors have a place, NaN is refused, types are checked.

A name that occurs twice in one object can also be refused: decoders silently keep only the last
one. Dropped names take their colons with them, so the text has more colons
than its value written again. That is cheap to count; the text is read name by name only if the counts
differ or an escape may contain a colon.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec

from nikawa.errors import BadInput
from nikawa.io.limits import CHECKED_BYTES, is_nested_deeper, read_limits, refuse_large_json
from nikawa.io.lines import decode_line, read_blocks_of_lines, read_text, refuse_long_line
from nikawa.records import Record

T = TypeVar("T")

MAX_NESTING = 100
"""Maximum levels of nesting for writing; more can be read, but not by every consumer of records."""
TOO_DEEP = "nests too deeply"
FLATTEN = "flatten it: records have only a few levels"
_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_HALF_PAIR = re.compile(
    rb"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F])"
)
"""An escaped surrogate without its other half."""
_NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")
_ESCAPED_COLON = b"\\u003"


def decode_json(
    text: str | bytes, kind: type[T], path: Path, line: int | None = None, *, unique: bool = False
) -> T:
    """Decode `text` as `kind`, or raise a one-line error with the fault.

    With `unique`, a name that occurs twice in one object is an error.
    """
    if len(text) >= CHECKED_BYTES:
        text = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        refuse_large_json(text, path, line)
    try:
        value = msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        raise json_fault(problem, text, path, line) from None
    if unique:
        _refuse_repeats(text.encode() if isinstance(text, str) else text, kind, value, path, line)
    return value


def read_json(path: Path, kind: type[T], *, unique: bool = False) -> T:
    """Decode a whole JSON document; an error has the line if the decoder reports the byte."""
    text = read_text(path)
    if not text.strip():
        raise BadInput("is empty", file=path, cure="fetch or write it again")
    refuse_large_json(text, path)
    limits = read_limits()
    if is_nested_deeper(text, limits.nesting):
        raise BadInput(TOO_DEEP, file=path, cure=limits.cure("nesting", FLATTEN))
    try:
        value = msgspec.json.decode(text, type=kind)
    except _FAULTS as problem:
        byte = _byte_of(str(problem))
        line = None if byte is None else text.count(b"\n", 0, byte) + 1
        raise json_fault(problem, text, path, line) from None
    if unique:
        _refuse_repeats(text, kind, value, path)
    return value


def read_json_lines(path: Path, kind: type[T], *, unique: bool = False) -> Iterator[tuple[int, T]]:
    """Yield (line number, decoded value) for each line.

    An empty line is an error, and see `decode_json`.
    """
    done, decoder = 0, _LineDecoder(path, kind, unique)
    for block in read_blocks_of_lines(path):
        for number, value in decoder.decode(block, done + 1):
            yield number, value
            done = number
    if not done:
        raise BadInput("the file is empty", file=path, cure="write at least one record")


def read_plain_json_lines(path: Path, kind: type[T]) -> Iterator[list[T]]:
    """Yield the values of many lines at a time; a line that `read_json_lines` refuses ends it with a `ValueError`.

    So does a line that needs a second look, such as one whose names may repeat.
    """
    decoder = _LineDecoder(path, kind, unique=True)
    for block in read_blocks_of_lines(path):
        values = None if len(block) >= CHECKED_BYTES else decoder.decode_block(block)
        if values is None:
            raise ValueError("a line needs a second look")
        yield values


class _LineDecoder(Generic[T]):
    """Decodes many lines at a time, and one by one where something is wrong with any."""

    def __init__(self, path: Path, kind: type[T], unique: bool) -> None:
        self.path, self.kind, self.unique = path, kind, unique
        self.is_as_written = unique
        """Whether the lines so far equal their re-encoded values, so that nothing can be wrong
        with them."""
        self.decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
        self.write_anew = msgspec.json.Encoder().encode_lines

    def decode(self, block: bytes, number: int) -> Iterable[tuple[int, T]]:
        """(Number, value) of whole lines, the first of which has this number."""
        if len(block) >= CHECKED_BYTES:  # one of them is long
            for at, line in enumerate(block.split(b"\n"), start=number):
                refuse_long_line(len(line), self.path, at)
                refuse_large_json(line, self.path, at)
        values = self.decode_block(block)
        if values is not None:
            return enumerate(values, start=number)
        return self._decode_one_by_one(_split_lines(block), number)

    def decode_block(self, block: bytes) -> list[T] | None:
        """The values of whole lines; None where one of them may be wrong."""
        if self.is_as_written:
            try:
                values = self.decoder.decode_lines(block)
            except _FAULTS:
                pass
            else:
                self.is_as_written = self.write_anew(values) == block
                if self.is_as_written:
                    return values
        try:
            values = list(map(self.decoder.decode, _split_lines(block)))
        except _FAULTS:
            return None
        if b"\r" in block or (self.unique and self._may_repeat(block, values)):
            return None
        return values

    def _may_repeat(self, block: bytes, values: list[Any]) -> bool:
        if not _keeps_all_names(self.kind):
            values = list(map(msgspec.json.decode, block.splitlines()))
        return _may_repeat(block, self.write_anew(values))

    def _decode_one_by_one(self, lines: Iterable[bytes], number: int) -> Iterator[tuple[int, T]]:
        """The values up to the first line that is wrong, then its error."""
        for at, raw in enumerate(lines, start=number):
            try:
                value = self.decoder.decode(raw)
            except _FAULTS as problem:
                raise self._line_fault(problem, raw, at) from None
            if raw.endswith(b"\r"):
                decode_line(raw, self.path, at)
            if self.unique:
                _refuse_repeats(raw, self.kind, value, self.path, at)
            yield at, value

    def _line_fault(self, problem: Exception, raw: bytes, number: int) -> BadInput:
        if raw.startswith(BOM_UTF8):
            cure = r"only the file itself may begin with one; sed -i 's/^\xEF\xBB\xBF//' FILE removes it from every line"
            return BadInput("begins with a byte order mark", file=self.path, line=number, cure=cure)
        line = decode_line(raw, self.path, number)
        if not line.strip():
            return BadInput("is empty", file=self.path, line=number, cure="remove the line")
        return json_fault(problem, line, self.path, number)


def _split_lines(block: bytes) -> list[bytes]:
    lines = block.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def encode_json(value: Any) -> bytes:
    """Encode compact JSON in UTF-8; the same value gives the same bytes.

    NaN and lone surrogates are an error.
    """
    packed = pack_json(value)
    if b"null" in packed and has_nonfinite(msgspec.to_builtins(value)):  # NaN is written as null
        what = f"{name_of(value)} holds NaN or Infinity"
        raise BadInput(what, cure="use None, or leave the field out")
    return packed


def pack_json(value: Any, path: Path | None = None) -> bytes:
    """The same, but NaN becomes null."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:
        what, cure = "holds half of a surrogate pair", "decode the text it came from as UTF-8"
    except RecursionError:
        what, cure = f"nests more than {MAX_NESTING} levels deep", "flatten it"
    except TypeError as problem:
        if "keys are supported" in str(problem):
            what, cure = "has a key that is not a string", "make every key a string"
        else:
            what = f"cannot be written: {plain_fault(str(problem))}"
            cure = "make it a plain text, number or list"
    raise BadInput(f"{name_of(value)} {what}", file=path, cure=cure)


def name_of(value: Any) -> str:
    """Return the name of a record in messages: its kind and id."""
    name = getattr(value, "id", getattr(value, "example", ""))
    return f"{type(value).__name__.lower()} {name}".strip() if name else "the value"


def has_nonfinite(value: Any) -> bool:
    """Whether NaN or Infinity is anywhere in a value."""
    ahead = [value]
    while ahead:  # a loop: a deep value would overflow the stack
        part = ahead.pop()
        if isinstance(part, float):
            if not math.isfinite(part):
                return True
        elif isinstance(part, dict):
            ahead.extend(part.values())
        elif isinstance(part, list | tuple):
            ahead.extend(part)
    return False


def json_fault(problem: Exception, text: str | bytes, path: Path, line: int | None) -> BadInput:
    """Explain a decoder's complaint to the user."""
    complaint = str(problem)
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if isinstance(problem, RecursionError):
        what, cure = TOO_DEEP, FLATTEN
    elif ("truncated" in complaint or "surrogate" in complaint) and _HALF_PAIR.search(body):
        what, cure = "holds half of a surrogate pair", "write the character itself, in UTF-8"
    elif "truncated" in complaint:
        what, cure = "the JSON is incomplete", "the file may be truncated; fetch or write it again"
    elif _NOT_FINITE.match(body, _byte_of(complaint) or 0):
        what, cure = "NaN and Infinity are not JSON", "write null, or leave the field out"
    elif isinstance(problem, msgspec.ValidationError):
        what, cure = plain_fault(complaint), "see docs/records.md for the fields"
    else:
        what, cure = f"is not JSON ({plain_fault(complaint)})", "check quotes, commas and braces"
    return BadInput(what, file=path, line=line, cure=cure)


def _byte_of(complaint: str) -> int | None:
    """The byte that msgspec names in a syntax fault."""
    match = re.search(r"\(byte (\d+)\)", complaint)
    return int(match[1]) if match else None


def plain_fault(complaint: str) -> str:
    """Rephrase a type checker's complaint: which field, what was expected."""
    plain = complaint.replace("Object contains unknown field", "unknown field")
    plain = plain.replace("Object missing", "missing")
    plain = re.sub(r" - at `\$\.?(.*?)`", lambda m: f" at {m[1]}" if m[1] else "", plain)
    return plain if plain[:2].isupper() else plain[:1].lower() + plain[1:]


def _refuse_repeats(
    text: bytes, kind: object, value: object, path: Path, line: int | None = None
) -> None:
    try:
        name = find_repeated_name(text, kind, value)
    except RecursionError:
        raise BadInput(TOO_DEEP, file=path, line=line, cure=FLATTEN) from None
    if name is not None:
        what = f"the name {name!r} occurs twice in one object"
        raise BadInput(what, file=path, line=line, cure="keep one of them")


def _keeps_all_names(kind: object) -> bool:
    """Whether a value decoded as `kind` is written with the fields its text had, and no others."""
    item = get_args(kind)[0] if get_origin(kind) is list else kind
    if isinstance(item, type) and issubclass(item, Record):
        return item.__struct_config__.omit_defaults
    return item is object


def _may_repeat(text: bytes, rewritten: bytes) -> bool:
    """Whether names may have been dropped between a text and its value `rewritten`."""
    return rewritten.count(b":") != text.count(b":") or _ESCAPED_COLON in text


class _RepeatedName(Exception):
    """Carries the name out of the decoder."""


def find_repeated_name(text: bytes, kind: object, value: object) -> str | None:
    """The first name that occurs twice in one object of a JSON text that was decoded as `kind` and
    gave `value`.
    """
    rewritten = msgspec.json.encode(value if _keeps_all_names(kind) else msgspec.json.decode(text))
    return read_repeated_name(text) if _may_repeat(text, rewritten) else None


def read_repeated_name(text: bytes) -> str | None:
    """The same by reading every name, which is slow."""

    def refuse_repeats(pairs: list[tuple[str, Any]]) -> None:
        names = set()
        for name, _ in pairs:
            if name in names:
                raise _RepeatedName(name)
            names.add(name)

    try:
        json.loads(text, object_pairs_hook=refuse_repeats, parse_int=str, parse_float=str)
    except _RepeatedName as problem:
        return str(problem)
    return None
