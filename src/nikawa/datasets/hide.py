"""Hide the labels of a split: divide the data between the published folder and the key file.

Everything but the inputs is removed, unless the user keeps it. Items get new ids and a new order,
both keyed by a secret: someone with an earlier copy of the dataset cannot match them by either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.hidden import INHERITED_META
from nikawa.datasets.keys import KeyItem, digest_inputs, make_id
from nikawa.errors import BadInput, suggest
from nikawa.records import Dataset, Example, Origin

WHOLE_FIELDS = ("tags", "group", "origin", "meta")
"""Fields of an example that can be kept as a whole."""
META = "meta."
"""The prefix of a single metadata value."""


@dataclass(frozen=True)
class Hiding:
    """How to hide labels."""

    secret: bytes
    keep: tuple[str, ...] = ()
    """The fields to keep in addition to the inputs, as `find_kept_fields` returns them."""
    keep_ids: bool = False
    keep_order: bool = False


def find_kept_fields(names: Sequence[str], examples: Iterable[Example]) -> tuple[str, ...]:
    """The fields that names stand for: `tags`, `group`, `origin`, `meta`, `meta.KEY`, or the KEY of
    a value of the meta.

    Raises `BadInput` for a name that no example has, for gold, and for inherited labels.
    """
    keys = {key for example in examples for key in example.meta}
    fields = []
    for name in names:
        key = name.removeprefix(META)
        if name in WHOLE_FIELDS:
            fields.append(name)
        elif key.startswith(INHERITED_META) or key == "gold" or name.startswith("gold."):
            raise BadInput(f"{name} contains labels", cure="labels cannot be kept; leave it out")
        elif key in keys:
            fields.append(f"{META}{key}")
        elif name in ("id", "ids", "order"):
            option = "--keep-order" if name == "order" else "--keep-ids"
            raise BadInput(f"--keep {name} is a separate option", cure=f"pass {option}")
        else:
            known = (*WHOLE_FIELDS, *(f"{META}{key}" for key in keys))
            raise BadInput(f"no item has the field {name!r}", cure=suggest(name, known))
    return tuple(dict.fromkeys(fields))


def hide_labels(
    dataset: Dataset, splits: Collection[str], hiding: Hiding
) -> tuple[Dataset, list[KeyItem]]:
    """Return the dataset without the labels of some splits, and the removed data in the new order.

    >>> from nikawa.datasets.load import load
    >>> hidden, items = hide_labels(load("mini-ja:dev"), ["dev"], Hiding(secret=b"secret"))
    >>> hidden.splits["dev"][0].gold, items[0].id == hidden.splits["dev"][0].id
    ({}, True)
    """
    parts = dict(dataset.splits)
    items: list[KeyItem] = []
    for split in splits:
        pairs = []
        for place, example in enumerate(dataset.splits[split]):
            names = (dataset.card.name, split, example.id)
            new_id = example.id if hiding.keep_ids else make_id(hiding.secret, "id", *names)
            order = "" if hiding.keep_order else make_id(hiding.secret, "order", *names)
            hidden = hide_example(example, new_id, dataset.card.name, hiding.keep)
            pairs.append((order, place, hidden, take_away(example, new_id, split, place)))
        pairs.sort(key=lambda pair: pair[:2])
        parts[split] = tuple(example for _, _, example, _ in pairs)
        items += [item for *_, item in pairs]
    return replace(dataset, splits=parts), items


def hide_example(example: Example, name: str, recipe: str, keep: Collection[str]) -> Example:
    """Return an example under a new id with its inputs and the fields to keep."""
    meta: Mapping[str, Any] = {
        key: value
        for key, value in example.meta.items()
        if ("meta" in keep or f"{META}{key}" in keep) and not key.startswith(INHERITED_META)
    }
    origin = Origin(recipe=recipe, gold="hidden")
    if "origin" in keep and example.origin is not None:
        origin = replace(example.origin, gold="hidden")
    return Example(
        id=name,
        inputs=example.inputs,
        tags=example.tags if "tags" in keep else frozenset(),
        meta=dict(meta),
        group=example.group if "group" in keep else None,
        origin=origin,
    )


def take_away(example: Example, name: str, split: str, place: int) -> KeyItem:
    """Return the entry of an example in the key file."""
    return KeyItem(
        id=name,
        split=split,
        was=example.id,
        place=place,
        inputs=digest_inputs(example.inputs),
        gold=example.gold,
        tags=example.tags,
        meta=example.meta,
        group=example.group,
        origin=example.origin,
    )
