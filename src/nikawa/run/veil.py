"""A label that is hidden on an example is hidden on what was made from it, whoever hid it and when."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from nikawa.records import Dataset, Example


def veiled(dataset: Dataset) -> Dataset:
    """The dataset, where examples that inherited their label from a hidden one are hidden too."""
    hidden = {f"{split}/{e.id}" for split, examples in dataset.splits.items() for e in examples if e.hidden}
    if not hidden:
        return dataset
    names = {dataset.name, dataset.card.name}
    known = {f"{name}:{place}" for name in names for place in hidden}
    known |= {place.partition("/")[2] for place in hidden}  # a parent may be an id alone
    splits = {split: tuple(_veiled(examples, known)) for split, examples in dataset.splits.items()}
    return replace(dataset, splits=splits)


def _veiled(examples: Iterable[Example], known: set[str]) -> Iterable[Example]:
    for example in examples:
        origin = example.origin
        tells = origin is not None and origin.gold == "inherited" and not known.isdisjoint(origin.parents)
        if origin is not None and tells:
            yield replace(example, origin=replace(origin, gold="hidden"))
        else:
            yield example
