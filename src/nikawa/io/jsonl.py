"""Records as JSON: one a line, or all in one array.

Every writer checks a record first with `check_record`: one that would not be read back the same is
refused with its id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar, cast

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.json import MAX_NESTING, name_of, pack_json, plain_fault, read_json, read_json_lines
from nikawa.io.lines import opening
from nikawa.io.spans import check_spans, has_spans
from nikawa.records import Example, Origin, Prelabel, Record, Span

R = TypeVar("R", bound=Record)

_PLAIN = (str, int, float, bool, type(None), list, tuple, Span, Origin)
"""Types of JSON, and records that are read back unchanged."""


def check_record(record: R, path: Path | None = None) -> tuple[bytes, R]:
    """Encode a record as JSON, and decode it again as a reader will.

    Raises BadInput if it would not be read back the same: NaN, sets, keys that are not strings,
    deep nesting, spans outside the text.
    """
    packed = pack_json(record, path)
    may_be_deep = packed.count(b"{") + packed.count(b"[") > MAX_NESTING
    if may_be_deep and measure_depth(msgspec.json.decode(packed)) > MAX_NESTING:
        raise _unfit(record, f"nests more than {MAX_NESTING} levels deep", "flatten it", path)
    try:
        back = _decoder(type(record)).decode(packed)
        if isinstance(back, Example) and has_spans(back):
            check_spans(back)
    except (msgspec.ValidationError, ValueError) as problem:
        refuse_odd_values(record, path)
        what = f"cannot be read back: {plain_fault(str(problem))}"
        raise _unfit(record, what, "see docs/records.md for the fields", path) from None
    if back != record:
        refuse_odd_values(record, path)
    return packed, back


def encode_record(record: Record, path: Path | None = None) -> bytes:
    """Encode a record as one line of JSON without a line feed; raise the errors of `check_record`."""
    return check_record(record, path)[0]


@cache
def _decoder(kind: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(kind)


def _unfit(record: Record, what: str, cure: str, path: Path | None) -> BadInput:
    return BadInput(f"{name_of(record)} {what}", file=path, cure=cure)


def measure_depth(value: Any) -> int:
    """Return how many levels of lists and mappings a plain value has."""
    deepest, ahead = 0, [(value, 1)]
    while ahead:  # a loop: so deep a value would overflow the stack
        part, depth = ahead.pop()
        deepest = max(deepest, depth)
        if isinstance(part, dict):
            part = list(part.values())
        if isinstance(part, list):
            ahead.extend((inner, depth + 1) for inner in part)
    return deepest


def refuse_odd_values(record: Record, path: Path | None) -> None:
    """Raise if a value has no form in JSON; other differences are harmless (a tuple becomes a list)."""
    for field in record.__struct_fields__:
        if field == "tags":  # a set by its type
            continue
        what = next(_find_odd(getattr(record, field), field), None)
        if what is not None:
            cure = "use texts, finite numbers, lists and mappings by name"
            raise _unfit(record, what, cure, path)


def _find_odd(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield f"holds NaN or Infinity at {where}"
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _find_odd(part, f"{where}.{key}")
    elif isinstance(value, Prelabel):
        yield from _find_odd(value.answer, f"{where}.answer")
    elif not isinstance(value, _PLAIN):
        yield f"holds a {type(value).__name__} at {where}"
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _find_odd(part, where)


def write_lines_of_records(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """Write one record per line, completely or not at all, and return the number of records."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for count, record in enumerate(records, start=1):  # noqa: B007  (the count is the result)
            stream.write(encode_record(record, path) + b"\n")
    return count


def read_array(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """(Place in the array, record) of one JSON array.

    JSON lines under the same suffix are read as such.
    """
    if not opening(path).startswith(b"["):
        yield from read_json_lines(path, kind, unique=True)
        return
    records = read_json(path, cast(type[list[R]], GenericAlias(list, (kind,))), unique=True)
    if not records:
        raise BadInput("holds no records", file=path, cure="write at least one")
    yield from enumerate(records, start=1)


def write_array(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """Write one JSON array with one record per line, and return the number of records."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(b"[")
        for count, record in enumerate(records, start=1):
            stream.write((b",\n" if count > 1 else b"\n") + encode_record(record, path))
        stream.write(b"\n]\n")
    return count
