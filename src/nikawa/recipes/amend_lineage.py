"""The lineage of a corrected release: that of the version before, with every change and what it replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.lineage import LINEAGE, Change, Lineage, read_lineage
from nikawa.recipes.amend_check import Corrected
from nikawa.recipes.changelog import Release
from nikawa.records import Dataset, Example, reference
from nikawa.version import __version__


def amended_lineage(
    before: Dataset, folder: Path | None, release: Release, found: Corrected
) -> Iterator[Lineage]:
    """An entry for every example; one without a lineage so far gets one that says so."""
    changes: dict[str, list[Change]] = {}
    for one in found.corrections:
        change = Change(
            version=release.version,
            question=one.question,
            before=one.before,
            after=one.after,
            why=one.why,
            by=one.by,
        )
        changes.setdefault(one.example, []).append(change)
    for entry in _entries(before, folder):
        new = changes.get(entry.example, [])
        gold = {**entry.gold, **{change.question: change.after for change in new}}
        yield replace(entry, version=release.version, gold=gold, changes=(*entry.changes, *new))


def _entries(before: Dataset, folder: Path | None) -> Iterator[Lineage]:
    """The entries there are, in the order of the examples; the others from the examples alone."""
    told = (
        {e.example: e for e in read_lineage(folder)}
        if folder is not None and (folder / LINEAGE).is_file()
        else {}
    )
    for split, examples in before.splits.items():
        for example in examples:
            name = reference(before.name, split, example.id)
            yield told.get(name) or _bare(name, split, example, before)


def _bare(name: str, split: str, example: Example, before: Dataset) -> Lineage:
    recipe = example.origin.recipe if example.origin is not None else f"{before.name} as published"
    return Lineage(
        example=name,
        item=example.id,
        split=split,
        recipe=recipe,
        version=before.version,
        nikawa=__version__,
        inputs=example.inputs,
        gold=example.gold,
        tags=tuple(sorted(example.tags)),
    )
