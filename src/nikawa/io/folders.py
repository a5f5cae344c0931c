"""A dataset folder: `card.json` and one `{split}.jsonl` a split (packed or Parquet ones are read too)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, recover, staged_files
from nikawa.io.cards import CARD, read_card, write_card
from nikawa.io.records import read_examples, write_records
from nikawa.records import Dataset

__all__ = [
    "BESIDE",
    "CARD",
    "JUDGEMENTS",
    "SPLIT_SUFFIXES",
    "check_split_name",
    "is_dataset_folder",
    "read_folder",
    "split_files",
    "write_card",
    "write_folder",
]

SPLIT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
JUDGEMENTS = "judgements.jsonl"
"""What workers answered about the examples of a folder, where it is kept beside them."""
BESIDE = ("lineage.jsonl", JUDGEMENTS)
"""What may lie in a dataset folder and is no split."""


def is_dataset_folder(path: Path) -> bool:
    """Whether `path` looks like a dataset folder."""
    return (path / CARD).is_file()


def split_files(path: Path) -> dict[str, Path]:
    """Split name to file, in the order train, dev, test, then by name; two files of one split are an error."""
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        if not _may_be_split(file.name):
            continue
        split = file.name.removesuffix(next(s for s in SPLIT_SUFFIXES if file.name.endswith(s)))
        if split in found:
            what = f"holds the split {split!r} twice ({found[split].name}, {file.name})"
            raise BadInput(what, file=path, cure="remove one of them")
        found[split] = file
    first = {"train": 0, "dev": 1, "test": 2}
    return dict(sorted(found.items(), key=lambda pair: (first.get(pair[0], 3), pair[0])))


def read_folder(path: Path, first: int | None = None) -> Dataset:
    """Load a dataset folder, or the first examples of each split."""
    card = read_card(path)
    files = split_files(path)
    if not files:
        raise BadInput(
            "holds a card but no split", file=path, cure="add train.jsonl, dev.jsonl or test.jsonl"
        )
    splits = {split: tuple(islice(read_examples(file), first)) for split, file in files.items()}
    return Dataset(
        name=card.name, language=card.languages[0], version=card.version, card=card, splits=splits
    )


def write_folder(
    dataset: Dataset, path: Path, *, overwrite: bool = False, suffix: str = ".jsonl"
) -> None:
    """Write a dataset folder, whole or not at all; the card goes last, so a folder with a card is complete.

    Overwriting replaces the card and the splits that were there; files of other kinds are left alone.
    """
    if path.exists() and not path.is_dir():
        raise BadInput("is a file, not a folder", file=path, cure="choose another name")
    for split in dataset.splits:
        check_split_name(split)
    with _target(path, {f"{split}{suffix}" for split in dataset.splits}, overwrite) as folder:
        for split, examples in dataset.splits.items():
            write_records(folder / f"{split}{suffix}", examples)
        write_card(msgspec.structs.replace(dataset.card, version=dataset.version), folder)


@contextmanager
def _target(path: Path, names: set[str], overwrite: bool) -> Iterator[Path]:
    """A folder to fill, that becomes `path` or part of it."""
    if path.is_dir():
        recover(path, CARD)
    if (path / CARD).exists() and not overwrite:
        raise BadInput(
            "holds a dataset already", file=path, cure="choose another folder, or say --overwrite"
        )
    found = {file.name for file in path.iterdir()} if path.is_dir() else set()
    old = {name for name in found if name == CARD or _may_be_split(name)} if overwrite else set()
    for name in sorted(old - names - {CARD}):
        _refuse_stranger(path / name)
    whole = not path.is_dir() or (bool(old) and found == old and _may_be_replaced(path))
    with (
        atomic_folder(path, overwrite=overwrite)
        if whole
        else staged_files(path, old, CARD) as folder
    ):
        yield folder


def _may_be_replaced(path: Path) -> bool:
    """Not the folder a shell stands in, nor one that is mounted or whose parent is not ours to change."""
    return not (path.samefile(Path.cwd()) or path.is_mount()) and os.access(
        path.resolve().parent, os.W_OK
    )


def _may_be_split(name: str) -> bool:
    return name.endswith(SPLIT_SUFFIXES) and not name.startswith(".") and name not in BESIDE


def _refuse_stranger(file: Path) -> None:
    """Refuse to remove what looks like a split by its name only."""
    try:
        next(read_examples(file))
    except BadInput:
        what = f"holds {file.name!r}, which is no split of a dataset"
        raise BadInput(
            what, file=file.parent, cure="move it away, or choose another folder"
        ) from None


def check_split_name(split: str) -> None:
    """Refuse a split whose name cannot be a file's."""
    if not split or split.startswith(".") or "/" in split or "\0" in split:
        raise BadInput(f"split {split!r} cannot be a file name", cure="rename the split")
