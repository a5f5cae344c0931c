"""A dataset folder: `card.json` and one `{split}.jsonl` a split."""

from __future__ import annotations

from pathlib import Path

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.examples import read_examples, write_records
from nikawa.io.json import read_json
from nikawa.records import Card, Dataset

CARD = "card.json"


def is_dataset_folder(path: Path) -> bool:
    """Whether `path` looks like a dataset folder."""
    return (path / CARD).is_file()


def read_folder(path: Path) -> Dataset:
    """Load a dataset folder."""
    card = read_json(path / CARD, Card)
    files = sorted(path.glob("*.jsonl*"))
    if not files:
        raise BadInput(
            "holds a card but no split", file=path, cure="add train.jsonl, dev.jsonl or test.jsonl"
        )
    splits = {file.name.split(".jsonl")[0]: tuple(read_examples(file)) for file in files}
    return Dataset(name=card.name, language=card.languages[0], version=card.version, card=card, splits=splits)


def write_folder(dataset: Dataset, path: Path, *, overwrite: bool = False) -> None:
    """Write a dataset folder; the card goes last, so a folder with a card is complete."""
    if (path / CARD).exists() and not overwrite:
        raise BadInput("holds a dataset already", file=path, cure="choose another folder, or say --overwrite")
    for split, examples in dataset.splits.items():
        write_records(path / f"{split}.jsonl", examples, overwrite=overwrite)
    with atomic_write(path / CARD, overwrite=overwrite) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(dataset.card), indent=2) + b"\n")
