"""Read and write records by the suffix of the file; one table lists the formats.

Ids must be unique within a file. Duplicates in a long file are found with little memory, 8 bytes per id:
see `IdSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from nikawa.errors import BadInput, place_fault
from nikawa.io import conll, jsonl, parquet, tsv
from nikawa.io.json import read_json_lines
from nikawa.io.spans import check_spans, has_spans
from nikawa.records import Example, Prediction, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R = TypeVar("R", bound=Record)
Hashes: TypeAlias = "NDArray[np.int64]"

IDS_IN_BLOCK = 1 << 16
MAX_HASHES_MERGED = 1 << 20
"""Runs of this length are not merged, because merging takes twice their memory."""


@dataclass(frozen=True)
class Format:
    """How one kind of file is read and written."""

    read: Callable[[Path, type[Any]], Iterator[tuple[int, Any]]]
    """Yields (line or row, record)."""
    write: Callable[[Path, Iterable[Record], bool], int]
    """Takes path, records and whether to overwrite; returns the number of records."""
    place: str = "line"
    """The unit of a place: line, row or record."""


_LINES = Format(partial(read_json_lines, unique=True), jsonl.write_lines_of_records)
_TABLE = Format(tsv.read_table, tsv.write_table)

FORMATS: dict[str, Format] = {
    ".jsonl": _LINES,
    ".jsonl.gz": _LINES,
    ".jsonl.zst": _LINES,
    ".json": Format(jsonl.read_array, jsonl.write_array, "record"),
    ".tsv": _TABLE,
    ".tsv.gz": _TABLE,
    ".tsv.zst": _TABLE,
    ".conll": Format(conll.read_conll, conll.write_conll),
    ".conllu": Format(conll.read_conllu, conll.write_conllu),
    ".parquet": Format(parquet.read, parquet.write, "row"),
}
SUFFIXES = tuple(FORMATS)
MAX_CHARS_OF_HELD_ID = 4096
"""A longer id ends its block: thousands of ids of a megabyte are not held."""

_KEYS: dict[type[Record], str] = {Example: "id", Prediction: "example"}
"""The field that may not repeat within a file."""


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format of `path`; empty if it has none, as for a pipe."""
    if not path.suffix:
        return ""
    suffix = max((s for s in FORMATS if path.name.endswith(s)), key=len, default=None)
    if suffix is None:
        what = f"has the unknown suffix {path.suffix!r}"
        raise BadInput(what, file=path, cure=f"use {', '.join(SUFFIXES)}")
    return suffix


def format_of(path: Path) -> Format:
    """Return the format of a file by its suffix; JSON lines without a suffix."""
    return FORMATS[suffix_of(path) or ".jsonl"]


def read_records(path: Path, kind: type[R]) -> Iterator[R]:
    """Stream the records of a file.

    Memory grows by 8 bytes per id, and not at all for records without ids. A repeated id is an error, at the latest at the end of the file. The suffix
    determines the format (see `FORMATS`). Raises BadInput, with the line or row, for any fault
    in the file, after the records before that place.
    """
    pairs: Iterator[tuple[int, R]] = format_of(path).read(path, kind)
    if kind in _KEYS:
        yield from check_records(pairs, path, kind)
    else:
        yield from (record for _, record in pairs)


def read_examples(path: Path) -> Iterator[Example]:
    """Stream the examples of a records file."""
    return read_records(path, Example)


def write_records(path: Path, records: Iterable[Record], *, overwrite: bool = False) -> int:
    """Write records in the format of the suffix, completely or not at all, and return their number.

    Raises BadInput if the file exists and `overwrite` is not set, and for a record that the
    format cannot represent: it would not be read back the same.
    """
    return format_of(path).write(path, records, overwrite)


def record_fault(path: Path, place: int, what: str, cure: str) -> BadInput:
    """The error for the record at `place`, which is a line, a row or a record's number."""
    return place_fault(what, file=path, unit=format_of(path).place, place=place, cure=cure)


def repeated_id(path: Path, name: str, before: int | None, place: int) -> BadInput:
    """The error for an id that occurs twice; both places are named."""
    where = "earlier" if before is None else f"on {format_of(path).place} {before}"
    return record_fault(
        path, place, f"the id {name!r} is already {where}", "give each record its own id"
    )


class IdSet:
    """The ids met so far, by where (line or row) they were met.

    Ids of the present block are held in full; of earlier blocks only their 64-bit hashes, in sorted
    runs that merge like those of a log-structured tree. A hash met again is a suspicion, settled by
    the caller.
    """

    def __init__(self, block: int = IDS_IN_BLOCK) -> None:
        self.size = block
        self.block: dict[str, int] = {}
        """Id to place, within the present block; `close_block` when it reaches `size`."""
        self.runs: list[Hashes] = []
        """Sorted hashes of the blocks before."""

    def close_block(self) -> list[tuple[str, int]]:
        """The (id, place) pairs of the block whose hash an earlier block had too.

        A new block begins.
        """
        import numpy as np

        hashes = np.fromiter(map(hash, self.block), dtype=np.int64, count=len(self.block))
        again = np.zeros(len(hashes), dtype=bool)
        for run in self.runs:
            at = np.searchsorted(run, hashes)
            again |= run[np.minimum(at, len(run) - 1)] == hashes
        pairs = zip(self.block.items(), again, strict=True) if again.any() else ()
        suspects = [pair for pair, is_met in pairs if is_met]
        self.block.clear()
        merged = np.sort(hashes)
        while self.runs and len(self.runs[-1]) <= len(merged) < MAX_HASHES_MERGED:
            merged = np.concatenate((self.runs.pop(), merged))
            merged.sort(kind="stable")  # two sorted runs: merged in linear time
        if len(merged):
            self.runs.append(merged)
        return suspects


def check_records(pairs: Iterator[tuple[int, R]], path: Path, kind: type[R]) -> Iterator[R]:
    """The records, ids and spans checked."""
    key, ids = attrgetter(_KEYS[kind]), IdSet()
    block, size, longest = ids.block, ids.size, MAX_CHARS_OF_HELD_ID
    for place, record in pairs:
        name = key(record)
        before = block.setdefault(name, place)
        if before != place:
            raise repeated_id(path, name, before, place)
        if isinstance(record, Example) and has_spans(record):
            try:
                check_spans(record)
            except ValueError as problem:
                cure = "count characters from 0, the end exclusive"
                raise record_fault(path, place, f"{problem} (id {name!r})", cure) from None
        yield record
        if len(block) >= size or len(name) > longest:
            _refuse_met_ids(ids, path, kind)
    if ids.runs:  # within one block all is known already
        _refuse_met_ids(ids, path, kind)


def _refuse_met_ids(ids: IdSet, path: Path, kind: type[R]) -> None:
    """Check the ids with a repeated hash against the file itself."""
    suspects = dict(ids.close_block())
    if not suspects:
        return
    if not path.is_file():  # a pipe cannot be read twice; equal hashes of 64 bits are proof enough
        name, place = next(iter(suspects.items()))
        raise repeated_id(path, name, None, place)
    for place, record in format_of(path).read(path, kind):
        name = getattr(record, _KEYS[kind])
        if suspects.get(name, 0) > place:
            raise repeated_id(path, name, place, suspects[name])
        if place >= max(suspects.values()):
            break
