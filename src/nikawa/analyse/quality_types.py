"""Whether a field of inputs or gold has one type all through a split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nikawa.records import Example, Finding, Span, reference


def mixed_types(dataset: str, split: str, examples: Iterable[Example]) -> Iterator[Finding]:
    """Fields that hold text in one example and a number in another; the rarer types are counted."""
    fields: dict[str, dict[str, list[str]]] = {}
    for example in examples:
        for part, values in (("inputs", example.inputs), ("gold", example.gold)):
            for name, value in values.items():
                kind = type_of(value)
                if kind:
                    fields.setdefault(f"{part}.{name}", {}).setdefault(kind, []).append(example.id)
    for field, kinds in fields.items():
        _, *rarer = sorted(kinds, key=lambda kind: -len(kinds[kind]))
        ids = tuple(reference(dataset, split, name) for kind in rarer for name in kinds[kind])
        if ids:
            note = ", ".join(f"{len(names):,} {kind}" for kind, names in kinds.items())
            yield Finding(
                check="mixed-types", where=f"{field} in {split}", count=len(ids), ids=ids, note=note
            )


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (bool, "truth value"),
    ((int, float), "number"),
    (Span, "span"),
    (dict, "object"),
    (type(None), "null"),
)


def type_of(value: Any) -> str:
    """The type of a value in words; whole numbers are numbers, and an empty list may be one of anything."""
    if isinstance(value, list | tuple):
        return " and ".join(sorted({f"list of {type_of(part) or 'lists'}" for part in value}))
    return next((name for types, name in _TYPES if isinstance(value, types)), type(value).__name__)
