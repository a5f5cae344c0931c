"""Records as JSON lines, and as one JSON array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import TypeVar, cast

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.fit import fit_record
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.lines import opening
from nikawa.records import Record

R = TypeVar("R", bound=Record)


def read_lines_of_records(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """Stream (line, record)."""
    return read_json_lines(path, kind, unique=True)


def write_lines_of_records(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """One record a line."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for count, record in enumerate(records, start=1):  # noqa: B007  (the count is the result)
            stream.write(fit_record(record, path)[0] + b"\n")
    return count


def read_array(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """(Place in the array, record) of one JSON array; JSON lines under the same suffix are read as such."""
    if not opening(path).startswith(b"["):
        yield from read_json_lines(path, kind, unique=True)
        return
    records = read_json(path, cast(type[list[R]], GenericAlias(list, (kind,))), unique=True)
    if not records:
        raise BadInput("holds no records", file=path, cure="write at least one")
    yield from enumerate(records, start=1)


def write_array(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """One JSON array, a record a line."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(b"[")
        for count, record in enumerate(records, start=1):
            stream.write((b",\n" if count > 1 else b"\n") + fit_record(record, path)[0])
        stream.write(b"\n]\n")
    return count
