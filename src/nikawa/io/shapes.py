"""The narrowest column type that represents every value exactly, for formats with typed columns.

A value that fits no plain type (mixed kinds, explicit null, mappings of varying keys) makes the
column JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

Scalar = Literal["text", "flag", "integer", "long", "number", "mixed", "json", "unknown"]


@dataclass(frozen=True)
class ListOf:
    """A list whose items share a shape."""

    item: Shape


@dataclass(frozen=True)
class Struct:
    """A mapping that has the same names everywhere."""

    fields: tuple[tuple[str, Shape], ...]


Shape = Scalar | ListOf | Struct

_SCALARS: dict[type, Shape] = {str: "text", bool: "flag", float: "number"}
_MAX_EXACT_INT = 1 << 53
"""Integers beyond this are not exact as floats."""
_MAX_DEPTH = 8
"""Maximum levels of nested columns; deeper values are JSON."""


def column_shape(values: Iterable[Any], *, exact: bool = False) -> Shape:
    """The shape of a column; anything that is not plain all the way down is `json`.

    Integers among other numbers are numbers, or JSON where `exact`: 1 is not 1.0 there.

    >>> column_shape([1, 2.5]), column_shape([1, 2.5], exact=True), column_shape(["a", None])
    ('number', 'json', 'json')
    """
    seen = {shape_of(value) for value in values}
    return settle_shape(
        reduce(merge_shapes, sorted(seen, key=repr), "unknown"), "json" if exact else "number"
    )


def shape_of(value: Any, depth: int = 0) -> Shape:
    """The shape of one value."""
    if depth > _MAX_DEPTH:
        return "json"
    if isinstance(value, list):
        items = {shape_of(item, depth + 1) for item in value}
        return ListOf(reduce(merge_shapes, sorted(items, key=repr), "unknown"))
    if isinstance(value, dict) and value:
        return Struct(tuple((key, shape_of(value[key], depth + 1)) for key in value))
    if type(value) is int:
        within = -_MAX_EXACT_INT <= value <= _MAX_EXACT_INT
        return "integer" if within else "long" if -(1 << 63) <= value < 1 << 63 else "json"
    return _SCALARS.get(type(value), "json")


def merge_shapes(one: Shape, other: Shape) -> Shape:
    """Return the narrowest shape for both.

    >>> merge_shapes("integer", "number"), merge_shapes("text", "number")
    ('mixed', 'json')
    """
    if other in (one, "unknown"):
        return one
    if one == "unknown":
        return other
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return ListOf(merge_shapes(one.item, other.item))
    if isinstance(one, Struct) and isinstance(other, Struct):
        second = dict(other.fields)
        if second.keys() != dict(one.fields).keys():
            return "json"
        return Struct(tuple((key, merge_shapes(shape, second[key])) for key, shape in one.fields))
    pair = {one, other}
    if pair <= {"integer", "number", "mixed"}:
        return "mixed"
    return "long" if pair == {"integer", "long"} else "json"


def settle_shape(shape: Shape, mixed: Shape = "number") -> Shape:
    """`json` where any part is JSON; items of lists that are always empty become text."""
    if isinstance(shape, ListOf):
        item = settle_shape("text" if shape.item == "unknown" else shape.item, mixed)
        return "json" if item == "json" else ListOf(item)
    if isinstance(shape, Struct):
        fields = tuple((key, settle_shape(part, mixed)) for key, part in shape.fields)
        return "json" if any(part == "json" for _, part in fields) else Struct(fields)
    return {"unknown": "json", "mixed": mixed}.get(shape, shape)
