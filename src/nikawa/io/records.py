"""Records to and from disk, by the file's suffix: one table says which formats there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from nikawa.errors import BadInput
from nikawa.io import conll, conllu, jsonl, parquet, table
from nikawa.io.spans import checked, has_spans
from nikawa.io.unique import Ids
from nikawa.records import Example, Prediction, Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Format:
    """How one kind of file is read and written."""

    read: Callable[[Path, type[Any]], Iterator[tuple[int, Any]]]
    """Yields (line or row, record)."""
    write: Callable[[Path, Iterable[Record], bool], int]
    """Takes path, records, whether to overwrite; returns how many."""
    place: str = "line"


_LINES = Format(jsonl.read, jsonl.write)
_TABLE = Format(table.read, table.write)

FORMATS: dict[str, Format] = {
    ".jsonl": _LINES,
    ".jsonl.gz": _LINES,
    ".jsonl.zst": _LINES,
    ".json": Format(jsonl.read_array, jsonl.write_array, "record"),
    ".tsv": _TABLE,
    ".tsv.gz": _TABLE,
    ".tsv.zst": _TABLE,
    ".conll": Format(conll.read, conll.write),
    ".conllu": Format(conllu.read, conllu.write),
    ".parquet": Format(parquet.read, parquet.write, "row"),
}
SUFFIXES = tuple(FORMATS)

_KEYS: dict[type[Record], str] = {Example: "id", Prediction: "example"}
"""The field that may not repeat within a file."""


def suffix_of(path: Path) -> str:
    """The suffix that names the format of `path`; empty where it has none, as a pipe has."""
    if not path.suffix:
        return ""
    found = max((s for s in FORMATS if path.name.endswith(s)), key=len, default=None)
    if found is None:
        raise BadInput(
            f"has the suffix {path.suffix!r}, which no format has",
            file=path,
            cure=f"use {', '.join(SUFFIXES)}",
        )
    return found


def format_of(path: Path) -> Format:
    """The format of a file, by its suffix; JSON lines where it has none."""
    return FORMATS[suffix_of(path) or ".jsonl"]


def read_records(path: Path, kind: type[R]) -> Iterator[R]:
    """Stream the records of a file. Memory stays flat; a repeated id is an error, at the end of the file at the latest."""
    chosen = format_of(path)
    pairs: Iterator[tuple[int, R]] = chosen.read(path, kind)
    if kind in _KEYS:
        yield from _unique(pairs, path, kind)
    else:
        yield from (record for _, record in pairs)


def read_examples(path: Path) -> Iterator[Example]:
    """Stream the examples of a records file."""
    return read_records(path, Example)


def write_records(path: Path, records: Iterable[Record], *, overwrite: bool = False) -> int:
    """Write records in the format of the suffix, whole or not at all; returns how many."""
    return format_of(path).write(path, records, overwrite)


def _check_spans(example: Example, path: Path, place: int) -> None:
    try:
        checked(example)
    except ValueError as problem:
        cure = "count characters from 0, the end exclusive"
        raise fault(path, place, f"{problem} (id {example.id!r})", cure) from None


def fault(path: Path, place: int, what: str, cure: str) -> BadInput:
    """The error for the record at `place`, which is a line, a row or a record's number."""
    unit = format_of(path).place
    if unit == "line":
        return BadInput(what, file=path, line=place, cure=cure)
    return BadInput(f"{unit} {place}: {what}", file=path, cure=cure)


def _unique(pairs: Iterator[tuple[int, R]], path: Path, kind: type[R]) -> Iterator[R]:
    """The records, ids and spans checked."""
    key, ids, spans = attrgetter(_KEYS[kind]), Ids(), kind is Example
    block, size = ids.block, ids.size
    for place, record in pairs:
        name = key(record)
        before = block.setdefault(name, place)
        if before != place:
            raise repeated(path, name, before, place)
        if spans and has_spans(record):  # type: ignore[arg-type]
            _check_spans(record, path, place)  # type: ignore[arg-type]
        yield record
        if len(block) >= size:
            _settle(ids, path, kind)
    if ids.runs:  # within one block all is known already
        _settle(ids, path, kind)


def _settle(ids: Ids, path: Path, kind: type[R]) -> None:
    """Hold the ids whose hash was met before against the file itself."""
    suspects = dict(ids.settle())
    if (
        suspects and not path.is_file()
    ):  # a pipe cannot be read twice; equal hashes of 64 bits are proof enough
        name, place = next(iter(suspects.items()))
        raise repeated(path, name, None, place)
    if suspects:
        for place, record in format_of(path).read(path, kind):
            name = getattr(record, _KEYS[kind])
            if suspects.get(name, 0) > place:
                raise repeated(path, name, place, suspects[name])
            if place >= max(suspects.values()):
                break


def repeated(path: Path, name: str, before: int | None, place: int) -> BadInput:
    """The error for an id that occurs twice; both places are named."""
    where = "earlier" if before is None else f"on {format_of(path).place} {before}"
    return fault(path, place, f"id {name!r} was {where} already", "give each its own id")
