from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.io.folders import is_dataset_folder, read_folder, write_folder
from nikawa.io.records import write_records
from nikawa.records import Card, Dataset, Example

CARD = Card(
    name="bridges",
    title="Bridges",
    version="1",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="Invented sentences about bridges.",
    labels="by rule",
    workers="none",
    workers_are="none",
    source="invented",
)


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
    with pytest.raises(BadInput, match="already contains a dataset"):
        write_folder(dataset("test"), tmp_path)
    write_folder(dataset("test"), tmp_path, overwrite=True)
    assert list(read_folder(tmp_path).splits) == ["test"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def broken() -> Dataset:
    """Its second split cannot be written."""
    bad = (Example(id="7", inputs={"n": float("nan")}),)
    return msgspec.structs.replace(dataset(), splits={**dataset("train").splits, "test": bad})


@pytest.mark.parametrize("stranger", [True, False])
def test_a_failure_loses_nothing(tmp_path: Path, stranger: bool) -> None:
    path = tmp_path / "x"
    write_folder(dataset("train", "dev"), path)
    if stranger:
        (path / "notes.txt").write_text("mine")
    before = files(path)
    with pytest.raises(BadInput, match=r"x/test\.jsonl: example 7 holds NaN"):
        write_folder(broken(), path, overwrite=True)
    assert files(path) == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_failure_leaves_nothing(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "x"
    if there:
        path.mkdir()
        (path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"x/test\.jsonl: example 7 holds NaN"):
        write_folder(broken(), path)
    assert (files(path) == {"notes.txt": b"mine"}) if there else not path.exists()


def test_a_split_without_a_card_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("mine")
    with pytest.raises(BadInput, match=r"train\.jsonl: already exists"):
        write_folder(dataset("train", "dev"), tmp_path)
    assert files(tmp_path) == {"train.jsonl": b"mine"}


def test_what_only_looks_like_a_split_is_not_removed(tmp_path: Path) -> None:
    write_folder(dataset("train"), tmp_path)
    judgement = '{"example":"x:dev/1","worker":"w","question":"q","answer":"a"}\n'
    (tmp_path / "votes.jsonl").write_text(judgement)
    before = files(tmp_path)
    with pytest.raises(
        BadInput, match=r"contains 'votes\.jsonl', which is not a split of a dataset; move it away"
    ):
        write_folder(dataset("test"), tmp_path, overwrite=True)
    assert files(tmp_path) == before


def test_judgements_beside_the_splits_are_none_and_stay(tmp_path: Path) -> None:
    write_folder(dataset("train"), tmp_path)
    judgement = '{"example":"x:dev/1","worker":"w","question":"q","answer":"a"}\n'
    (tmp_path / "judgements.jsonl").write_text(judgement)
    assert list(read_folder(tmp_path).splits) == ["train"]
    write_folder(dataset("test"), tmp_path, overwrite=True)
    assert list(read_folder(tmp_path).splits) == ["test"]
    assert (tmp_path / "judgements.jsonl").read_text() == judgement


def test_the_folder_one_stands_in_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(dataset("train"), tmp_path)
    number = tmp_path.stat().st_ino
    monkeypatch.chdir(tmp_path)
    write_folder(dataset("dev"), Path(), overwrite=True)
    assert tmp_path.stat().st_ino == number
    assert sorted(files(tmp_path)) == ["card.json", "dev.jsonl"]


def test_a_file_under_the_name(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        write_folder(dataset("train"), tmp_path / "x", overwrite=True)


KILLED = """
import os, signal, sys
from pathlib import Path
from nikawa.io.folders import read_folder, write_folder
from nikawa.io import atomic as staged
from nikawa.records import Dataset
import msgspec
real, left = Path.rename, [int(sys.argv[2])]
def rename(self, target):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return real(self, target)
Path.rename = rename
given = read_folder(Path(sys.argv[1]))
given = msgspec.structs.replace(given, splits={"dev": given.splits["train"], "ood": given.splits["train"]})
write_folder(given, Path(sys.argv[1]), overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", range(6))
def test_a_writer_killed_while_it_moves_files(tmp_path: Path, after: int) -> None:
    """Three files are set aside (card, dev, train), three moved in: wherever it ends, the old dataset is put back."""
    write_folder(dataset("train", "dev"), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = files(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(after)], check=False)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(BadInput, match="already contains a dataset"):
        write_folder(dataset("test"), tmp_path)
    assert files(tmp_path) == before


def test_one_split_in_two_files(tmp_path: Path) -> None:
    write_folder(dataset("train"), tmp_path)
    write_records(tmp_path / "train.parquet", [Example(id="1", inputs={"text": "橋"})])
    with pytest.raises(BadInput, match="holds the split 'train' twice"):
        read_folder(tmp_path)


def test_no_split(tmp_path: Path) -> None:
    write_folder(dataset(), tmp_path)
    with pytest.raises(BadInput, match="has a card but no split"):
        read_folder(tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", ".hidden"])
def test_split_that_cannot_be_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be a file name"):
        write_folder(dataset(name), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_what_was_killed_while_clearing_up_is_cleared(tmp_path: Path) -> None:
    """The list of what was added goes before the emptied folder of what was set aside."""
    (tmp_path / ".new.abc.part" / "old").mkdir(parents=True)
    write_folder(dataset("train"), tmp_path)
    assert not list(tmp_path.glob(".new*"))
