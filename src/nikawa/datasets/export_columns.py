"""How a dataset lies in tables for others: plain column names, one type a column over all splits, their names of splits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.io.columns import columns_of, flatten
from nikawa.io.shapes import ListOf, Shape, Struct, column_shape
from nikawa.records import Dataset

SPLIT_NAMES = {"dev": "validation", "all": "full"}
"""What others call our splits; `all` means every split together there."""
FIXED = ("id", "group", "tags", "origin")


@dataclass(frozen=True)
class Column:
    """A column of the export."""

    name: str
    source: str
    """The column here: `inputs.premise`, `gold.label`, …"""
    shape: Shape


@dataclass(frozen=True)
class Layout:
    """Columns and rows by split, under the names others see."""

    columns: tuple[Column, ...]
    splits: dict[str, str]
    """Our name of a split to theirs."""
    rows: dict[str, list[dict[str, Any]]]
    """Their name of a split to its rows."""


def lay_out(dataset: Dataset) -> Layout:
    """Flatten every split into columns that all splits share."""
    flat = {
        split: [flatten(example) for example in examples]
        for split, examples in dataset.splits.items()
    }
    everything = [row for rows in flat.values() for row in rows]
    sources = columns_of(everything)
    names = column_names(sources)
    columns = tuple(
        Column(
            names[source],
            source,
            simple(column_shape(row[source] for row in everything if source in row)),
        )
        for source in sources
    )
    splits = distinct(
        dataset.splits, lambda split: SPLIT_NAMES.get(split, re.sub(r"\W+", "_", split))
    )
    rows = {splits[split]: [_renamed(row, names) for row in rows] for split, rows in flat.items()}
    return Layout(columns, splits, rows)


def _renamed(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names[source]: value for source, value in row.items()}


def column_names(sources: Sequence[str]) -> dict[str, str]:
    """Inputs and gold under their own names, gold as `gold_…` where an input has the name; meta as `meta_…`."""
    taken = {
        *FIXED,
        *(source.partition(".")[2] for source in sources if source.startswith("inputs.")),
    }
    return distinct(sources, lambda source: _wish(source, taken))


def _wish(source: str, taken: set[str]) -> str:
    head, dot, name = source.partition(".")
    if not dot:
        return source
    clash = name in (FIXED if head == "inputs" else taken)
    prefixed = f"{head.removesuffix('s')}_{name}" if head == "meta" or clash else name
    return re.sub(r"\W+", "_", prefixed)


def distinct(names: Iterable[str], wish: Any) -> dict[str, str]:
    """Each name's wish, numbered where another had it first."""
    given: dict[str, str] = {}
    for name in names:
        base = wish(name) or "_"
        tries = [base, *(f"{base}_{number}" for number in range(2, len(given) + 3))]
        given[name] = next(option for option in tries if option not in given.values())
    return given


def simple(shape: Shape) -> Shape:
    """`shape` if others can describe it (values, lists of them, mappings of those, lists of mappings), else JSON text."""
    inner = shape.item if isinstance(shape, ListOf) else shape
    if isinstance(inner, Struct):
        plain = all(
            _is_values(part) and re.fullmatch(r"[A-Za-z_]\w*", name) for name, part in inner.fields
        )
        return shape if plain else "json"
    return shape if _is_values(inner) else "json"


def _is_values(shape: Shape) -> bool:
    while isinstance(shape, ListOf):
        shape = shape.item
    return not isinstance(shape, Struct)


def type_words(shape: Shape) -> str:
    """A shape in words, for the dataset card."""
    if isinstance(shape, ListOf):
        return f"list of {type_words(shape.item)}"
    if isinstance(shape, Struct):
        return "{" + ", ".join(f"{name}: {type_words(part)}" for name, part in shape.fields) + "}"
    return {"flag": "true or false", "long": "integer", "json": "JSON text"}.get(shape, shape)
