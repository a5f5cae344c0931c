from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.folders import is_dataset_folder, read_folder, write_folder
from nikawa.io.records import write_records
from nikawa.records import Card, Dataset, Example

CARD = Card(
    name="bridges", title="Bridges", version="1", languages=("ja",), licence="CC0", citation="none", homepage="none",
    description="Invented sentences about bridges.", labels="by rule", workers="none", workers_are="none", source="invented",
)  # fmt: skip


def dataset(*splits: str) -> Dataset:
    made: dict[str, tuple[Example, ...]] = {
        split: (Example(id="1", inputs={"text": f"{split}の橋"}),) for split in splits
    }
    return Dataset(name="bridges", language="ja", version="1", card=CARD, splits=made)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
def test_there_and_back(tmp_path: Path, suffix: str) -> None:
    given = dataset("test", "train", "ood", "dev")
    write_folder(given, tmp_path / "x", suffix=suffix)
    assert is_dataset_folder(tmp_path / "x")
    back = read_folder(tmp_path / "x")
    assert back == given
    assert list(back.splits) == ["train", "dev", "test", "ood"]


def test_overwriting_leaves_no_stale_split_and_other_files_alone(tmp_path: Path) -> None:
    write_folder(dataset("train", "dev"), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="holds a dataset already"):
        write_folder(dataset("test"), tmp_path)
    write_folder(dataset("test"), tmp_path, overwrite=True)
    assert list(read_folder(tmp_path).splits) == ["test"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_one_split_in_two_files(tmp_path: Path) -> None:
    write_folder(dataset("train"), tmp_path)
    write_records(tmp_path / "train.parquet", [Example(id="1", inputs={"text": "橋"})])
    with pytest.raises(BadInput, match="holds the split 'train' twice"):
        read_folder(tmp_path)


def test_no_split(tmp_path: Path) -> None:
    write_folder(dataset(), tmp_path)
    with pytest.raises(BadInput, match="holds a card but no split"):
        read_folder(tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", ".hidden"])
def test_split_that_cannot_be_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be a file name"):
        write_folder(dataset(name), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
