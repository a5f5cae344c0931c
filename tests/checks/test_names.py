"""`data check` and `data card` report names that cannot be those of files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.checks.job import check
from nikawa.datasets.card import make_card
from nikawa.errors import BadInput

Nikawa = Callable[..., CompletedProcess[str]]

ROW = '{"id": "1", "inputs": {"text": "港の灯"}, "gold": {"label": "a"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.jsonl").write_text(ROW, "utf-8")
    make_card(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("Train", "splits 'train' and 'Train' are the same file name on many systems"),
        ("CON", "split 'CON' cannot be a file name: it is the name of a device on Windows"),
        ("a\\b", "it holds '"),
        (" x", "it begins with a blank"),
        ("x\u202ey", "U+202E"),
    ],
)
def test_splits(name: str, note: str, folder: Path) -> None:
    shutil.copy(folder / "train.jsonl", folder / f"{name}.jsonl")
    findings = [one for one in check(str(folder)).findings if one.check == "file-name"]
    assert [one.count for one in findings] == [1]
    assert note in findings[0].note
    (folder / "card.json").unlink()
    with pytest.raises(BadInput, match=r"mine: splits? ") as problem:
        make_card(folder)
    assert problem.value.cure.startswith("rename")
    assert not (folder / "card.json").exists()


@pytest.mark.parametrize("name", ["a/b", "..", "x\0y", "nul"])
def test_the_name_of_the_dataset(name: str, folder: Path, nikawa: Nikawa) -> None:
    card = json.loads((folder / "card.json").read_text("utf-8"))
    (folder / "card.json").write_text(json.dumps({**card, "name": name}), "utf-8")
    findings = [one for one in check(str(folder)).findings if one.check == "file-name"]
    assert [one.where for one in findings] == ["card"]
    result = nikawa("data", "card", str(folder), "--overwrite", "--say", "licence=CC0")
    assert result.returncode == 2
    assert "cannot name a dataset: it " in result.stderr


def test_names_that_are_fine(folder: Path) -> None:
    shutil.copy(folder / "train.jsonl", folder / "検証.jsonl")
    assert not [one for one in check(str(folder)).findings if one.check == "file-name"]
