"""Hidden labels: a label that is hidden on an example is hidden on what was made from it.

Whoever hid it, when, and wherever both lie. Originals are looked for in the dataset itself; those
of another name among the registered datasets and, as dataset folder or records file, beside the one
at hand, a folder higher, and in the working folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.load import load, pick_split
from nikawa.datasets.names import benchmarks, custom_path, find_benchmark
from nikawa.errors import BadInput, MissingData
from nikawa.io.folders import CARD, is_dataset_folder
from nikawa.io.json import read_json
from nikawa.io.records import SUFFIXES
from nikawa.records import Card, Dataset, Example, reference
from nikawa.spec import name_and_split

INHERITED_META = "inherited_"
"""What keys of `meta` begin with that hold the label of a parent."""


def load_and_hide(text: str, *, data: Path | None = None) -> Dataset:
    """Load a dataset and hide what inherited a hidden label, also where the original is in another
    split.
    """
    if find_benchmark(text) is not None:
        return load(text, data=data)
    path, split = custom_path(text)
    dataset = hide_inherited(load(str(path), data=data), path, data=data)
    return pick_split(dataset, split, path) if split else dataset


def hide_inherited(
    dataset: Dataset, place: Path | None = None, *, data: Path | None = None
) -> Dataset:
    """The dataset, where examples that inherited their label from a hidden one are hidden too.

    Without the `place` it was read from, originals are looked for in the dataset alone.
    """
    return _hide_inherited(dataset, place, data, frozenset())


def remove_hidden_labels(dataset: Dataset) -> Dataset:
    """The dataset without the labels that are hidden, whether or not the copy at hand holds them.

    What the meta says of inherited labels goes with them.
    """
    if not any(example.hidden for examples in dataset.splits.values() for example in examples):
        return dataset
    splits = {
        name: tuple(_drop_label(example) if example.hidden else example for example in examples)
        for name, examples in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def _drop_label(example: Example) -> Example:
    meta = {key: value for key, value in example.meta.items() if not key.startswith(INHERITED_META)}
    return replace(example, gold={}, meta=meta)


def _hide_inherited(
    dataset: Dataset, place: Path | None, data: Path | None, seen: frozenset[Path]
) -> Dataset:
    """As `hide_inherited`; `seen` are the places whose datasets are being looked at already."""
    names = {dataset.name, dataset.card.name}
    hidden: set[str] = set()
    if place is not None and (elsewhere := _other_originals(dataset)):
        seen |= {place.resolve()}
        for name in sorted(elsewhere):
            for original, path in find_originals(name, place, data, seen):
                hidden |= _hidden_references(_hide_inherited(original, path, data, seen), {name})
    while True:
        hidden |= _hidden_references(dataset, names)
        # A parent may be an id alone.
        hidden |= {e.id for examples in dataset.splits.values() for e in examples if e.hidden}
        if not hidden:
            return dataset
        splits = {
            split: tuple(_hide_children(examples, hidden))
            for split, examples in dataset.splits.items()
        }
        if splits == dataset.splits:
            return dataset
        # What was made from these in turn is hidden in the next round.
        dataset = replace(dataset, splits=splits)


def _hidden_references(dataset: Dataset, names: Iterable[str]) -> set[str]:
    """Full references of the examples whose labels are hidden, under each name of the dataset."""
    places = [
        (split, e.id) for split, examples in dataset.splits.items() for e in examples if e.hidden
    ]
    return {reference(name, split, example) for name in names for split, example in places}


def _hide_children(examples: Iterable[Example], hidden: set[str]) -> Iterator[Example]:
    """The examples, where those are hidden that inherited their label from one of `hidden`."""
    for example in examples:
        origin = example.origin
        if origin is None or origin.gold != "inherited" or hidden.isdisjoint(origin.parents):
            yield example
        else:
            yield replace(example, origin=replace(origin, gold="hidden"))


def _other_originals(dataset: Dataset) -> set[str]:
    """Names of the datasets that labels were inherited from, as far as the originals are not in
    this one.
    """
    names = {dataset.name, dataset.card.name}
    own = {f"{name}:{split}" for name in names for split in dataset.splits}
    others = set()
    for examples in dataset.splits.values():
        for example in examples:
            if example.origin is None or example.origin.gold != "inherited":
                continue
            for parent in example.origin.parents:
                source = parent.partition("/")[0]
                if ":" in source and source not in own:
                    others.add(name_and_split(source)[0])
    return others


def find_originals(
    name: str, place: Path, data: Path | None, seen: frozenset[Path]
) -> Iterator[tuple[Dataset, Path | None]]:
    """Every dataset of that name that can be found, and where it lies."""
    if name in benchmarks():
        try:
            yield load(name, data=data), None
        except MissingData:
            return
    here = place.resolve().parent
    folders = dict.fromkeys((here, here.parent, Path.cwd()))
    for path in dict.fromkeys(path for folder in folders for path in find_by_name(name, folder)):
        if path.resolve() in seen:
            continue
        try:
            original = load(str(path), data=data)
        except BadInput:
            if path.is_dir():
                raise
            continue  # a file that has the name but holds no records
        yield original, path


def find_by_name(name: str, folder: Path) -> Iterator[Path]:
    """Dataset folders and records files of a folder that have a name, by their own or by their
    card.
    """
    if name != Path(name).name:
        return
    yield from (file for suffix in SUFFIXES if (file := folder / f"{name}{suffix}").is_file())
    for path in sorted(folder.iterdir()):
        if is_dataset_folder(path) and (path.name == name or _card_name(path) == name):
            yield path


def _card_name(path: Path) -> str:
    try:
        return read_json(path / CARD, Card).name
    except BadInput:  # somebody else's: not for this command to mend
        return ""
