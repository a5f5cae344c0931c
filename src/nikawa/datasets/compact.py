"""Examples of a large dataset with less memory, for commands that only look at them.

A decoded example has objects of its own for what many examples say alike: labels, tags, metadata, the premise of the
example before. Here equal parts are one object. A caller must not change the mappings in such examples, so
`nikawa.load` does not do this. A command that never looks at the texts of pairs and labelled texts can have them left out as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import force_setattr

from nikawa.records import Example

T = TypeVar("T")

MAX_SHARED = 1 << 14
"""Different values of each kind that are kept to be shared; the values of a field that has more are rarely alike."""
MAX_SHAPES = 64
"""Different names of inputs whose examples share their keys; examples of one task have the same."""
MAX_SHARED_KEYS = 16
"""Inputs that an example may have to share their keys; Python shares at most 30."""
TEXT_OF_LABEL = ({"premise", "hypothesis"}, {"sentence1", "sentence2"}, {"text"})
"""Inputs of tasks whose gold is a label or a number, so that scores do not depend on them."""


class Compactor:
    """Makes examples smaller as they are read."""

    def __init__(self, *, drop_texts: bool = False) -> None:
        self.drop_texts = drop_texts
        """Whether to leave out the texts of examples whose gold is labels and numbers alone; the names of the inputs stay."""
        self._mappings: dict[Hashable, dict[str, Any]] = {}
        self._tags: dict[frozenset[str], frozenset[str]] = {}
        self._blank: dict[tuple[str, ...], dict[str, Any]] = {}
        self._shapes: dict[tuple[str, ...], type[Any]] = {}

    def compact(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The examples, equal parts of which are one object."""
        before: dict[str, Any] = {}
        group: str | None = None
        for example in examples:
            if self.drop_texts and _has_labels_only(example):
                force_setattr(example, "inputs", self._blank_inputs(example))
            else:
                inputs = example.inputs
                for name, value in inputs.items():
                    if type(value) is str and before.get(name) == value:
                        inputs[name] = before[name]
                before = inputs = self._share_keys(inputs)
                force_setattr(example, "inputs", inputs)
            force_setattr(example, "gold", self._share_mapping(example.gold))
            force_setattr(example, "meta", self._share_mapping(example.meta))
            if example.tags:
                force_setattr(example, "tags", _share(self._tags, example.tags, example.tags))
            if example.group == group:
                force_setattr(example, "group", group)
            group = example.group
            yield example

    def _share_keys(self, mapping: dict[str, Any]) -> dict[str, Any]:
        """The same mapping in half the memory: the attributes of objects of one class share their keys (PEP 412)."""
        names = tuple(mapping)
        shape = self._shapes.get(names)
        if shape is None:
            is_special = any(name.startswith("__") for name in names)  # such as __class__
            if is_special or len(names) > MAX_SHARED_KEYS or len(self._shapes) == MAX_SHAPES:
                return mapping
            shape = self._shapes[names] = type("Inputs", (), {})
        holder = shape()
        for name, value in mapping.items():
            setattr(holder, name, value)
        attributes: dict[str, Any] = vars(holder)
        return attributes

    def _share_mapping(self, mapping: dict[str, Any]) -> dict[str, Any]:
        """An equal mapping that an earlier example has, where it holds nothing but short values."""
        # 1, 1.0 and True are equal, and -0.0 equals 0.0
        if any(type(value) is not str for value in mapping.values()):
            if any(
                type(value) not in (str, int, float) or value == 0 for value in mapping.values()
            ):
                return mapping
            return _share(
                self._mappings, tuple((n, type(v), v) for n, v in mapping.items()), mapping
            )
        return _share(self._mappings, tuple(mapping.items()), mapping)

    def _blank_inputs(self, example: Example) -> dict[str, Any]:
        names = tuple(example.inputs)
        if names not in self._blank:
            self._blank[names] = dict.fromkeys(names, "")
        return self._blank[names]


def _share(table: dict[Any, T], key: Hashable, value: T) -> T:
    known = table.get(key)
    if known is None:
        if len(table) < MAX_SHARED:
            table[key] = value
        return value
    return known


def _has_labels_only(example: Example) -> bool:
    return example.inputs.keys() in TEXT_OF_LABEL and all(
        isinstance(value, str | int | float) for value in example.gold.values()
    )
