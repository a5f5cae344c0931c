"""A label that is hidden on an example is hidden on what was made from it, whoever hid it, when, and wherever both lie.

Originals are looked for in the dataset itself; those of another name among the registered datasets and, as dataset
folder or records file, beside the one at hand, a folder higher, and in the working folder.
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


def load_veiled(spec: str, *, data: Path | None = None) -> Dataset:
    """As `load`; but what inherited a hidden label is hidden, of one split too where the original is in another."""
    if find_benchmark(spec) is not None:
        return load(spec, data=data)
    path, split = custom_path(spec)
    found = veiled(load(str(path), data=data), path, data=data)
    return pick_split(found, split, path) if split else found


def veiled(dataset: Dataset, place: Path | None = None, *, data: Path | None = None) -> Dataset:
    """The dataset, where examples that inherited their label from a hidden one are hidden too.

    Without the `place` it was read from, originals are looked for in the dataset alone.
    """
    return _veiled(dataset, place, data, frozenset())


def _veiled(
    dataset: Dataset, place: Path | None, data: Path | None, seen: frozenset[Path]
) -> Dataset:
    names = {dataset.name, dataset.card.name}
    known: set[str] = set()
    if place is not None and (away := _away(dataset)):
        seen |= {place.resolve()}
        for name in sorted(away):
            for original, where in _originals(name, place, data, seen):
                known |= _hidden(_veiled(original, where, data, seen), {name})
    while True:
        known |= _hidden(dataset, names)
        known |= {
            e.id for found in dataset.splits.values() for e in found if e.hidden
        }  # a parent may be an id alone
        if not known:
            return dataset
        splits = {split: tuple(_covered(found, known)) for split, found in dataset.splits.items()}
        if splits == dataset.splits:
            return dataset
        dataset = replace(
            dataset, splits=splits
        )  # what was made from these in turn is hidden in the next round


def _hidden(dataset: Dataset, names: Iterable[str]) -> set[str]:
    """Full references of the examples whose labels are hidden."""
    places = [
        (split, e.id) for split, examples in dataset.splits.items() for e in examples if e.hidden
    ]
    return {reference(name, split, example) for name in names for split, example in places}


def _covered(examples: Iterable[Example], known: set[str]) -> Iterator[Example]:
    for example in examples:
        origin = example.origin
        tells = (
            origin is not None
            and origin.gold == "inherited"
            and not known.isdisjoint(origin.parents)
        )
        if origin is not None and tells:
            yield replace(example, origin=replace(origin, gold="hidden"))
        else:
            yield example


def _away(dataset: Dataset) -> set[str]:
    """Names of the datasets that labels were inherited from, as far as the originals are not in this one."""
    names = {dataset.name, dataset.card.name}
    own = {reference(name, split, "") for name in names for split in dataset.splits}
    parents = {
        parent.partition("/")[0]
        for examples in dataset.splits.values()
        for example in examples
        if example.origin is not None and example.origin.gold == "inherited"
        for parent in example.origin.parents
    }
    return {head.partition(":")[0] for head in parents if ":" in head and f"{head}/" not in own}


def _originals(
    name: str, place: Path, data: Path | None, seen: frozenset[Path]
) -> Iterator[tuple[Dataset, Path | None]]:
    """Every dataset of that name that can be found, and where it lies."""
    if name in benchmarks():
        try:
            yield load(name, data=data), None
        except MissingData:
            return
    here = place.resolve().parent
    for path in dict.fromkeys(
        path
        for folder in dict.fromkeys((here, here.parent, Path.cwd()))
        for path in _called(name, folder)
    ):
        found = None if path.resolve() in seen else _loaded(path, data)
        if found is not None:
            yield found, path


def _loaded(path: Path, data: Path | None) -> Dataset | None:
    """A dataset; None for a file that bears the name but holds no records."""
    try:
        return load(str(path), data=data)
    except BadInput:
        if path.is_dir():
            raise
        return None


def _called(name: str, folder: Path) -> Iterator[Path]:
    """Dataset folders and records files of a folder that bear a name, by their own or by their card."""
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
