"""Names that occur twice in one JSON object: decoders keep the last and drop the others without a word.

Whatever was dropped took its colons with it, so the text has more of them than its value written anew. That is
cheap to count; only where the counts differ, or a colon may hide in an escape, is the text read name by name.
"""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin

import msgspec

from nikawa.records import Record

_ESCAPED_COLON = b"\\u003"


class _Repeated(Exception):
    """Carries the name out of the decoder."""


def keeps_all(kind: object) -> bool:
    """Whether a value decoded as `kind` is written with the fields its text had, and no others."""
    item = get_args(kind)[0] if get_origin(kind) is list else kind
    return item is object or (
        isinstance(item, type) and issubclass(item, Record) and item.__struct_config__.omit_defaults
    )


def may_repeat(text: bytes, anew: bytes) -> bool:
    """Whether names may have been dropped between a text and what its value is written as `anew`."""
    return anew.count(b":") != text.count(b":") or _ESCAPED_COLON in text


def repeated(text: bytes, kind: object, value: Any) -> str | None:
    """The name that is repeated, if any, in a text that was decoded as `kind` and gave `value`."""
    anew = msgspec.json.encode(value if keeps_all(kind) else msgspec.json.decode(text))
    return repeated_name(text) if may_repeat(text, anew) else None


def repeated_name(text: bytes) -> str | None:
    """The first name that occurs twice in one object of a JSON text."""
    try:
        json.loads(text, object_pairs_hook=_pairs, parse_int=str, parse_float=str)
    except _Repeated as problem:
        return str(problem)
    return None


def _pairs(pairs: list[tuple[str, Any]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise _Repeated(name)
        names.add(name)
