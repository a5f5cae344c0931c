"""A dataset folder: `card.json` and one `{split}.jsonl` per split (compressed and Parquet files are also read)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from shlex import quote

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, recover, staged_files
from nikawa.io.cards import CARD, read_card, write_card
from nikawa.io.file_names import check_file_names
from nikawa.io.records import read_examples, write_records
from nikawa.io.remote import MANIFEST, UNFINISHED, RemotePath, to_path
from nikawa.io.shards import list_shards
from nikawa.records import Dataset, Example

__all__ = [
    "CARD",
    "HIDDEN_NOTICE",
    "JUDGEMENTS",
    "KNOWN",
    "NOT_SPLITS",
    "SPLIT_SUFFIXES",
    "check_split_names",
    "is_dataset_folder",
    "list_parts",
    "read_folder",
    "read_parts",
    "split_files",
    "write_card",
    "write_folder",
]

KEY_FILE_START = b'{"keys":'
"""The first bytes of a key file of `nikawa data hide`; no record begins like this."""
SPLIT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
JUDGEMENTS = "judgements.jsonl"
"""The judgements of a folder's examples, if the folder has them."""
HIDDEN_NOTICE = "hidden.json"
"""The notice of labels that are in a key file: see `nikawa.datasets.keys`."""
KNOWN = "known.toml"
"""Findings of `nikawa data check` that are known: see `nikawa.datasets.known`."""
NOT_SPLITS = ("lineage.jsonl", JUDGEMENTS)
"""Files of a dataset folder that are not splits."""


def is_dataset_folder(path: Path) -> bool:
    """Whether `path` looks like a dataset folder."""
    return (path / CARD).is_file()


def split_files(path: Path) -> dict[str, Path]:
    """Return split name to file, in the order train, dev, test, then by name.

    Two files of one split are an error.
    """
    if (path / MANIFEST).is_file():
        cure = (
            f"join the shards first: nikawa data export {quote(str(path))} --to jsonl --out FOLDER"
        )
        raise BadInput("is in shards, and this step needs one file per split", file=path, cure=cure)
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        if not _may_be_split(file.name):
            continue
        split = file.name.removesuffix(next(s for s in SPLIT_SUFFIXES if file.name.endswith(s)))
        if split in files:
            what = f"holds the split {split!r} twice ({files[split].name}, {file.name})"
            raise BadInput(what, file=path, cure="remove one of them")
        _refuse_key_file(file)
        files[split] = file
    return {split: files[split] for split in sorted(files, key=_place_split)}


def _place_split(split: str) -> tuple[int, str]:
    """The place of a split in its folder: train, dev, test, then by name."""
    return {"train": 0, "dev": 1, "test": 2}.get(split, 3), split


def list_parts(path: Path, default: str = "all") -> dict[str, list[Path]]:
    """Return split name to its files: its shards in a folder of shards, else the one file of `split_files`.

    Shards without a split are of the one called `default`.
    """
    shards = list_shards(path, default)
    if shards is not None:
        return {split: shards[split] for split in sorted(shards, key=_place_split)}
    return {split: [file] for split, file in split_files(path).items()}


def read_parts(files: Sequence[Path]) -> Iterator[Example]:
    """Stream the examples of a split that is in several files; an id that two of them share is an error."""
    if len(files) == 1:
        yield from read_examples(files[0])
        return
    ids: dict[str, Path] = {}
    for file in files:
        for example in read_examples(file):
            if ids.setdefault(example.id, file) != file:
                what = f"the id {example.id!r} is also in {ids[example.id].name}"
                raise BadInput(what, file=file, cure="give each record its own id")
            yield example


def _refuse_key_file(path: Path) -> None:
    """Refuse a key file of hidden labels among the splits, because the folder may be published."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        if stream.read(len(KEY_FILE_START)) == KEY_FILE_START:
            cure = "remove it from the folder before you publish the folder"
            raise BadInput("is a key file with hidden labels", file=path, cure=cure)


def read_folder(
    path: Path,
    first: int | None = None,
    change: Callable[[Iterator[Example]], Iterator[Example]] = iter,
) -> Dataset:
    """Load a dataset folder, or the `first` examples of each split; `change` gets the examples as they are read.

    Raises BadInput if the card is missing or wrong, if there is no split, and for faults in
    the records.
    """
    if isinstance(path, RemotePath):
        path.refuse_unfinished()
    card = read_card(path)
    files = list_parts(path)
    if not files:
        cure = "add train.jsonl, dev.jsonl or test.jsonl"
        raise BadInput("has a card but no split", file=path, cure=cure)
    splits = {
        split: tuple(islice(change(read_parts(parts)), first)) for split, parts in files.items()
    }
    return Dataset(
        name=card.name, language=card.languages[0], version=card.version, card=card, splits=splits
    )


def write_folder(
    dataset: Dataset,
    path: Path,
    *,
    overwrite: bool = False,
    suffix: str = ".jsonl",
    extra_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a dataset folder, completely or not at all.

    The card is written last, so a folder with a card is complete. Overwriting replaces the card, the
    splits, the notice of hidden labels and the list of known findings; other files stay.
    `extra_files` maps names of further files to their content.
    """
    path = to_path(path)
    if path.exists() and not path.is_dir():
        raise BadInput("is a file, not a folder", file=path, cure="choose another name")
    check_split_names(dataset.splits)
    with open_target(path, {f"{split}{suffix}" for split in dataset.splits}, overwrite) as folder:
        for split, examples in dataset.splits.items():
            write_records(folder / f"{split}{suffix}", examples)
        for name, content in (extra_files or {}).items():
            (folder / name).write_bytes(content)
        write_card(msgspec.structs.replace(dataset.card, version=dataset.version), folder)


@contextmanager
def open_target(path: Path, names: set[str], overwrite: bool) -> Iterator[Path]:
    """A folder to fill, that becomes `path` or part of it."""
    if path.is_dir():
        recover(path, CARD)
    old, holds_others = find_replaced(path, names, overwrite)
    target = staged_files(path, old, CARD)
    if not isinstance(path, RemotePath) and (
        not path.is_dir() or (old and not holds_others and _may_be_replaced(path))
    ):
        target = atomic_folder(path, overwrite=overwrite)
    with target as folder:
        yield folder


def find_replaced(path: Path, names: Collection[str], overwrite: bool) -> tuple[set[str], bool]:
    """Return the files of a dataset folder that a new dataset with the files `names` replaces, and whether others are there.

    Raises `BadInput` if there is a dataset, or an unfinished upload of one, and `overwrite` is not set.
    """
    if (path / CARD).exists() and not overwrite:
        cure = "choose another folder, or pass --overwrite"
        raise BadInput("already contains a dataset", file=path, cure=cure)
    if isinstance(path, RemotePath):
        if not overwrite:
            path.refuse_unfinished()
        names_there = set(path.list_names(1)) - {UNFINISHED}
    else:
        names_there = {file.name for file in path.iterdir()} if path.is_dir() else set()
    if MANIFEST in names_there or (UNFINISHED in names_there and not isinstance(path, RemotePath)):
        raise BadInput("holds shards", file=path, cure="choose another folder, or remove it")
    old = set()
    if overwrite:
        replaced = (CARD, HIDDEN_NOTICE, KNOWN)
        old = {
            name for name in names_there if name in replaced or name in names or _may_be_split(name)
        }
    for name in sorted(old - set(names) - {CARD, HIDDEN_NOTICE, KNOWN}):
        try:  # a file that only has the name of a split must not be removed
            next(read_examples(path / name))
        except BadInput:
            what = f"contains {name!r}, which is not a split of a dataset"
            cure = "move it away, or choose another folder"
            raise BadInput(what, file=path, cure=cure) from None
    return old, names_there != old


def _may_be_replaced(path: Path) -> bool:
    """Whether a folder may be replaced: it is not the working directory or a mount, and its parent is writable."""
    if path.samefile(Path.cwd()) or path.is_mount():
        return False
    return os.access(path.resolve().parent, os.W_OK)


def _may_be_split(name: str) -> bool:
    return name.endswith(SPLIT_SUFFIXES) and not name.startswith(".") and name not in NOT_SPLITS


def check_split_names(splits: Iterable[str], file: Path | None = None) -> None:
    """Refuse splits whose names cannot be file names in one folder.

    `file` is the source of the names. The names of other files of a dataset folder are also refused,
    because no reader would read such a split.
    """
    names = list(splits)
    check_file_names(names, "split", file=file)
    for name in names:
        if f"{name}.jsonl" in NOT_SPLITS:
            what = f"split {name!r} would have the file name {name}.jsonl, which is reserved"
            raise BadInput(what, file=file, cure="rename the split")
