"""Whether a field of inputs or gold has the type of its name, and one type all through a split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
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


def fits(name: str, value: Any) -> bool:
    """Whether an input has the type its name promises; most are texts."""
    return _INPUTS.get(name, _is_text)(value)


def mistyped(example: Example) -> bool:
    """Whether an input or gold of a name from docs/records.md has another type, or gold is null or not finite.

    Names of one's own may hold anything.
    """
    inputs, gold = example.inputs, example.gold
    return any(name in inputs and not fits(name, inputs[name]) for name in _NAMED) or any(
        not _is_given(value) or not _GOLD.get(name, _is_given)(value)
        for name, value in gold.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _is_span(value: Any) -> bool:
    return isinstance(value, Span)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("role", "text")
    )


def _is_answer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("text"), str)
        and _is_whole(value.get("start", 0))
    )


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and _HEADS(value.get("heads")) and _TEXTS(value.get("labels"))


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(fits, value))


def _is_given(value: Any) -> bool:
    """Neither null nor a number that none can be compared with, however deep."""
    if isinstance(value, str | int):
        return True
    if isinstance(value, dict):
        return all(map(_is_given, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_given, value))
    return value is not None and (not isinstance(value, float) or isfinite(value))


_TEXTS, _HEADS = _list_of(_is_text), _list_of(_is_whole)
_TEXT_INPUTS = (
    "text",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "title",
    "context",
    "question",
)
_INPUTS: dict[str, Callable[[Any], bool]] = {
    "choices": _TEXTS,
    "turns": _list_of(_is_turn),
    "words": _list_of(_is_object),
    "subject": _is_span,
    "object": _is_span,
}
_NAMED = (*_TEXT_INPUTS, *_INPUTS)
_GOLD: dict[str, Callable[[Any], bool]] = {
    "label": _is_label,
    "relation": _is_label,
    "score": _is_number,
    "relatedness": _is_number,
    "choice": _is_whole,
    "answers": _list_of(_is_answer),
    "spans": _list_of(_is_span),
    "tree": _is_tree,
    "state": _TEXTS,
}
"""Question to what its gold must be; a task that names the labels asks for more."""
