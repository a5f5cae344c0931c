"""JSON lines of one shape split into columns at their commas, by pyarrow's reader of sheets.

Where every line is one flat object with the same names in the same order, and no value has a comma, the text between two
commas is one member, such as `"worker":"ann"`. Judgements repeat their members again and again: each different one is decoded
once, by the same decoder as whole lines. Members that are valid make a valid line, so nothing is accepted here that the
record reader refuses. Any other file is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from nikawa.io.coding import ArrowCoder, CodedColumn, Codes, hold_names
from nikawa.io.judgements.plain_bytes import PlainBytes
from nikawa.io.limits import CHECKED_BYTES, read_limits
from nikawa.io.lines import open_bytes, opening

PEEK_BYTES = 1 << 16
"""Bytes of the longest first line that is looked at."""
BLOCK_BYTES = 1 << 20
"""Bytes that are split at a time."""
_MEMBER = re.compile(rb'[ \t]*"(?P<name>[a-z]+)"[ \t]*:[ \t]*')
"""The beginning of a member: its name and colon."""
_ESCAPES = (0x22, 0x5C)
"""A quote and a backslash: JSON spells a text that has neither as it is."""


@dataclass(frozen=True)
class _Member:
    """What every line has around a value."""

    name: str
    before: bytes
    after: bytes = b""


def split_lines(path: Path, types: Mapping[str, Any]) -> dict[str, CodedColumn] | None:
    """The columns of a file of JSON lines by name, their names decoded; None where its lines are not of one shape.

    `types` has the names that a line may have, and what each value is decoded as. A text with an escape may be equal to
    another name of its column, a number to another one. Raises what pyarrow and the decoder raise where a line cannot be
    split or decoded.
    """
    first = opening(path, PEEK_BYTES).partition(b"\n")[0]
    members = _find_members(first)
    if members is None or not {member.name for member in members} <= types.keys():
        return None
    with open_bytes(path) as stream:
        columns = _split(stream, len(members))
    longest = sum(_longest(texts) + 1 for _, texts in columns)
    if longest >= min(CHECKED_BYTES, read_limits().line):
        return None  # a line may be one that the record reader refuses
    decoded: dict[str, CodedColumn] = {}
    for member, (codes, texts) in zip(members, columns, strict=True):
        names = _decode(texts, member, types[member.name])
        if names is None:
            return None
        decoded[member.name] = CodedColumn(codes, names)
    return decoded


def _find_members(line: bytes) -> list[_Member] | None:
    """The members of a line, as far as its commas tell; None where two have one name, or the line is no flat object."""
    line = line.removesuffix(b"\r")
    start = re.match(rb"[ \t]*\{", line)
    closed = line.rstrip(b" \t")
    if start is None or not closed.endswith(b"}"):
        return None
    inner = closed[start.end() : -1].rstrip(b" \t")
    members = []
    for part in inner.split(b","):
        found = _MEMBER.match(part)
        if found is None:
            return None
        members.append(_Member(found["name"].decode(), found[0]))
    members[0] = replace(members[0], before=start[0] + members[0].before)
    members[-1] = replace(members[-1], after=line[start.end() + len(inner) :])
    return members if len({member.name for member in members}) == len(members) else None


def _split(stream: BinaryIO, count: int) -> list[tuple[Codes, Any]]:
    """The cells of each column, coded."""
    pa, csv = import_module("pyarrow"), import_module("pyarrow.csv")
    names = [str(place) for place in range(count)]
    coders = [ArrowCoder() for _ in names]
    with csv.open_csv(
        pa.PythonFile(PlainBytes(stream), mode="r"),
        read_options=csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=names),
        parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=False,
            check_utf8=False,  # of the distinct ones, later
        ),
    ) as batches:
        for batch in batches:
            for coder, column in zip(coders, batch.columns, strict=True):
                coder.add(column)
    return [coder.finish() for coder in coders]


def _longest(texts: Any) -> int:
    compute = import_module("pyarrow.compute")
    longest: int = compute.max(compute.binary_length(texts)).as_py()
    return longest


def _decode(texts: Any, member: _Member, kind: Any) -> Any:
    """The values of the distinct cells of a column; None where one has something else around its value."""
    pa, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    cells = texts.cast(pa.binary())
    before, after = member.before, member.after
    for holds in (compute.starts_with(cells, before), compute.ends_with(cells, after)):
        if not compute.all(holds).as_py():
            return None
    opens, closes = before + b'"', b'"' + after
    if (
        kind is str
        and compute.min(compute.binary_length(cells)).as_py() >= len(opens) + len(closes)
        and compute.all(compute.starts_with(cells, opens)).as_py()
        and compute.all(compute.ends_with(cells, closes)).as_py()
    ):
        inner = compute.binary_slice(cells, len(opens), -len(closes))
        if _needs_no_decoding(inner):
            return hold_names(inner.cast(pa.string()))  # checks that it is UTF-8
    stop = -len(after) or CHECKED_BYTES  # no cell is as long; without a stop pyarrow overflows
    inner = compute.binary_slice(cells, len(before), stop)
    values = msgspec.json.decode(b"[" + b",".join(inner.to_pylist()) + b"]", type=list[kind])
    return values if len(values) == len(cells) else None


def _needs_no_decoding(inner: Any) -> bool:
    """Whether texts have no quotes, escapes and control characters, so that JSON spells them as they are."""
    data = inner.buffers()[2]
    if data is None:
        return True
    held = np.frombuffer(data, dtype=np.uint8)
    return bool(held.min(initial=0xFF) >= 0x20) and not any((held == odd).any() for odd in _ESCAPES)
