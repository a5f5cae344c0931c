"""Records as flat rows: `inputs`, `gold` and `meta` spread into a column a name, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nikawa.errors import BadInput, listed, suggest
from nikawa.io.fit import fit_record
from nikawa.io.json import plain_fault
from nikawa.records import Example, Record

R = TypeVar("R", bound=Record)

SPREAD = ("inputs", "gold", "meta")
ORDER = ("id", "group", *SPREAD, "tags", "origin")
"""Columns of examples, in the order people want to see them."""


def flatten(record: Record, path: Path | None = None) -> dict[str, Any]:
    """Column to value, in plain types; what is absent has no column. What no file can hold is refused."""
    fit_record(record, path)
    plain: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(record)
    )  # names keep their order
    if not isinstance(record, Example):
        return _without_defaults(record, plain)
    flat: dict[str, Any] = {}
    for name in ORDER:
        if name in SPREAD:
            flat.update((f"{name}.{key}", value) for key, value in plain.get(name, {}).items())
        elif name == "tags" and record.tags:
            flat[name] = sorted(record.tags)
        elif name in plain:
            flat[name] = plain[name]
    return flat


def _without_defaults(record: Record, plain: dict[str, Any]) -> dict[str, Any]:
    fields = {field.encode_name: field.default for field in msgspec.structs.fields(record)}
    return {
        name: value
        for name, value in plain.items()
        if value is not None or fields[name] is not None
    }


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every column of `rows`, in the order of `ORDER`, then of first appearance."""
    found: dict[str, None] = {}
    for row in rows:
        found.update(dict.fromkeys(row))
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    return sorted(found, key=lambda column: ranks.get(column.partition(".")[0], len(ranks)))


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
    have = list(columns)
    fields = msgspec.structs.fields(kind)
    known = {field.encode_name for field in fields}
    spread = set(SPREAD) if kind is Example else set()
    for column in have:
        head, dot, _ = column.partition(".")
        if not (head in spread and dot) and column not in known - spread:
            cure = suggest(column, [*(known - spread), *(f"{name}.NAME" for name in spread)])
            raise BadInput(f"unknown column {column!r}", file=path, cure=cure)
    for field in fields:
        if field.required and not any(
            column.partition(".")[0] == field.encode_name for column in have
        ):
            name = f"{field.encode_name}.NAME" if field.encode_name in spread else field.encode_name
            raise BadInput(
                f"column {name!r} is missing", file=path, cure=f"it has: {listed(have) or 'none'}"
            )


def unflatten(row: Mapping[str, Any], kind: type[R]) -> R:
    """The record of a flat row; a `ValueError` says in words what does not fit."""
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
