"""What every writer asks first: would this record be read back the same? If not, it is refused with its id."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import MAX_NESTING, name_of, pack_json, plain_fault
from nikawa.io.spans import check_spans, has_spans
from nikawa.records import Example, Origin, Record, Span

R = TypeVar("R", bound=Record)

_PLAIN = (str, int, float, bool, type(None), list, tuple, Span, Origin)


def fit_record(record: R, path: Path | None = None) -> tuple[bytes, R]:
    """`record` as JSON and as it will be read back; a `BadInput` says what about it no file can hold."""
    packed = pack_json(record, path)
    may_be_deep = packed.count(b"{") + packed.count(b"[") > MAX_NESTING
    if may_be_deep and _measure_depth(msgspec.json.decode(packed)) > MAX_NESTING:
        raise _unfit(record, f"nests more than {MAX_NESTING} levels deep", "flatten it", path)
    try:
        back = _decoder(type(record)).decode(packed)
        if isinstance(back, Example) and has_spans(back):
            check_spans(back)
    except (msgspec.ValidationError, ValueError) as problem:
        _refuse_odd(record, path)
        what = f"cannot be read back: {plain_fault(str(problem))}"
        raise _unfit(record, what, "see docs/records.md for the fields", path) from None
    if back != record:
        _refuse_odd(record, path)
    return packed, back


@cache
def _decoder(kind: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(kind)


def _unfit(record: Record, what: str, cure: str, path: Path | None) -> BadInput:
    return BadInput(f"{name_of(record)} {what}", file=path, cure=cure)


def _measure_depth(value: Any) -> int:
    deepest, ahead = 0, [(value, 1)]
    while ahead:  # a loop: so deep a value would overflow the stack
        part, depth = ahead.pop()
        deepest = max(deepest, depth)
        if isinstance(part, dict):
            part = list(part.values())
        if isinstance(part, list):
            ahead.extend((inner, depth + 1) for inner in part)
    return deepest


def _refuse_odd(record: Record, path: Path | None) -> None:
    """Not all that differs is lost (a tuple becomes a list); what has no form of its own in JSON is."""
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
    elif not isinstance(value, _PLAIN):
        yield f"holds a {type(value).__name__} at {where}"
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _find_odd(part, where)
