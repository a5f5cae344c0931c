"""Examples, judgements and predictions as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json, read_json_lines
from nikawa.records import Example, Record, revive


def read_examples(path: Path) -> Iterator[Example]:
    """Stream the examples of a JSON-lines file; a repeated id is an error."""
    seen: dict[str, int] = {}
    for number, example in read_json_lines(path, Example):
        if example.id in seen:
            raise BadInput(
                f"id {example.id!r} was on line {seen[example.id]} already",
                file=path,
                line=number,
                cure="give each example its own id",
            )
        seen[example.id] = number
        yield revive(example)


def write_records(path: Path, records: Iterable[Record], *, overwrite: bool = False) -> int:
    """Write records as JSON lines, whole or not at all; returns how many."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for record in records:
            stream.write(encode_json(record) + b"\n")
            count += 1
    return count
