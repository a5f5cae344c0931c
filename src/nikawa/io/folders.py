"""A dataset folder: `card.json` and one `{split}.jsonl` a split (packed or Parquet ones are read too)."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.json import read_json
from nikawa.io.records import read_examples, write_records
from nikawa.records import Card, Dataset

CARD = "card.json"
SPLIT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


def is_dataset_folder(path: Path) -> bool:
    """Whether `path` looks like a dataset folder."""
    return (path / CARD).is_file()


def split_files(path: Path) -> dict[str, Path]:
    """Split name to file, in the order train, dev, test, then by name; two files of one split are an error."""
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        suffix = next((s for s in SPLIT_SUFFIXES if file.name.endswith(s)), None)
        if suffix is None or file.name.startswith("."):
            continue
        split = file.name.removesuffix(suffix)
        if split in found:
            what = f"holds the split {split!r} twice ({found[split].name}, {file.name})"
            raise BadInput(what, file=path, cure="remove one of them")
        found[split] = file
    first = {"train": 0, "dev": 1, "test": 2}
    return dict(sorted(found.items(), key=lambda pair: (first.get(pair[0], 3), pair[0])))


def read_folder(path: Path, first: int | None = None) -> Dataset:
    """Load a dataset folder, or the first examples of each split."""
    card = read_json(path / CARD, Card, unique=True)
    files = split_files(path)
    if not files:
        raise BadInput(
            "holds a card but no split", file=path, cure="add train.jsonl, dev.jsonl or test.jsonl"
        )
    if not card.languages:
        raise BadInput("names no language", file=path / CARD, cure='write e.g. "languages": ["ja"]')
    splits = {split: tuple(islice(read_examples(file), first)) for split, file in files.items()}
    return Dataset(name=card.name, language=card.languages[0], version=card.version, card=card, splits=splits)


def write_folder(dataset: Dataset, path: Path, *, overwrite: bool = False, suffix: str = ".jsonl") -> None:
    """Write a dataset folder; the card goes last, so a folder with a card is complete.

    Overwriting removes the splits that were there; files of other kinds are left alone.
    """
    if (path / CARD).exists() and not overwrite:
        raise BadInput("holds a dataset already", file=path, cure="choose another folder, or say --overwrite")
    for split in dataset.splits:
        check_split_name(split)
    if overwrite and path.is_dir():
        (path / CARD).unlink(missing_ok=True)
        for file in split_files(path).values():
            file.unlink()
    for split, examples in dataset.splits.items():
        write_records(path / f"{split}{suffix}", examples, overwrite=overwrite)
    card = msgspec.structs.replace(dataset.card, version=dataset.version)
    write_card(card, path, overwrite=overwrite)


def check_split_name(split: str) -> None:
    """Refuse a split whose name cannot be a file's."""
    if not split or split.startswith(".") or "/" in split or "\0" in split:
        raise BadInput(f"split {split!r} cannot be a file name", cure="rename the split")


def write_card(card: Card, folder: Path, *, overwrite: bool = False) -> None:
    """Write `card.json`."""
    with atomic_write(folder / CARD, overwrite=overwrite) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
