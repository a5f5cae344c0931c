"""Records as flat rows: `inputs`, `gold` and `meta` spread into a column a name, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nikawa.errors import BadInput, list_names, suggest
from nikawa.io.json import plain_fault
from nikawa.io.jsonl import check_record
from nikawa.records import Example, Record

R = TypeVar("R", bound=Record)

SPREAD = ("inputs", "gold", "meta")
ORDER = ("id", "group", *SPREAD, "tags", "origin")
"""Columns of examples, in the order people want to see them."""


def flatten(record: Record, path: Path | None = None) -> dict[str, Any]:
    """Return column to value, in plain types; an absent value has no column.

    Values that no file can represent are an error.

    >>> flatten(Example(id="7", inputs={"text": "橋"}, gold={"label": "yes"}))
    {'id': '7', 'inputs.text': '橋', 'gold.label': 'yes'}
    """
    check_record(record, path)
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))  # in field order
    if not isinstance(record, Example):
        defaults = {field.encode_name: field.default for field in msgspec.structs.fields(record)}
        return {k: v for k, v in plain.items() if v is not None or defaults[k] is not None}
    flat: dict[str, Any] = {}
    for name in ORDER:
        if name in SPREAD:
            flat.update((f"{name}.{key}", value) for key, value in plain.get(name, {}).items())
        elif name == "tags" and record.tags:
            flat[name] = sorted(record.tags)
        elif name in plain:
            flat[name] = plain[name]
    return flat


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every column of `rows`, in the order of `ORDER`, then of first appearance."""
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    return sorted(columns, key=lambda column: ranks.get(column.partition(".")[0], len(ranks)))


def flatten_records(
    records: Iterable[Record], path: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """The flat rows of all records and their columns."""
    kept = list(records)
    rows = [flatten(record, path) for record in kept]
    columns = columns_of(rows)
    if kept:
        check_columns(columns, type(kept[0]), path)
    return rows, columns


def check_columns(columns: Iterable[str], kind: type[Record], path: Path) -> None:
    """Refuse columns the record has no place for, and the absence of those it cannot do without."""
    names = list(columns)
    heads = {name.partition(".")[0] for name in names}
    fields = msgspec.structs.fields(kind)
    known = {field.encode_name for field in fields}
    spread = set(SPREAD) if kind is Example else set()
    for column in names:
        head, dot, _ = column.partition(".")
        if not (head in spread and dot) and column not in known - spread:
            cure = suggest(column, [*(known - spread), *(f"{name}.NAME" for name in spread)])
            raise BadInput(f"unknown column {column!r}", file=path, cure=cure)
    for field in fields:
        name = field.encode_name
        if field.required and name not in heads:
            column = f"{name}.NAME" if name in spread else name
            cure = f"it has: {list_names(names) or 'none'}"
            raise BadInput(f"column {column!r} is missing", file=path, cure=cure)


def unflatten(row: Mapping[str, Any], kind: type[R]) -> R:
    """Return the record of a flat row, the inverse of `flatten`.

    Raises `ValueError` with the fault in words.
    """
    nested: dict[str, Any] = {"inputs": {}} if kind is Example else {}
    for column, value in row.items():
        head, dot, key = column.partition(".")
        if dot and kind is Example:
            nested.setdefault(head, {})[key] = value
        else:
            nested[column] = value
    try:
        return msgspec.convert(nested, kind)
    except msgspec.ValidationError as problem:
        raise ValueError(plain_fault(str(problem))) from None
