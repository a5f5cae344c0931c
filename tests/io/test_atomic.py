"""Whole or not at all, whatever happens in between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, atomic_write
from nikawa.io.records import FORMATS, read_examples, write_records
from nikawa.records import Example

WORDS = [{"form": "橋", "lemma": "橋", "pos": "NN"}]


def failing() -> Iterator[Example]:
    yield Example(id="1", inputs={"text": "橋", "words": WORDS})
    raise RuntimeError("the source broke")


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_failing_source_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write_records(path, [Example(id="0", inputs={"text": "橋", "words": WORDS})])
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="the source broke"):
        write_records(path, failing(), overwrite=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("mine")
    with pytest.raises(BadInput, match="exists already"):
        write_records(path, [])
    assert path.read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(BadInput, match="exists already"), atomic_write(path):
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_follow_the_mask(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "x"):
        pass
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~mask


KILLED = """
import os, signal, sys
from pathlib import Path
from nikawa.io.records import write_records
from nikawa.records import Example
def records():
    for n in range(5000):
        yield Example(id=str(n), inputs={"text": "x" * 100})
    os.kill(os.getpid(), signal.SIGKILL)
write_records(Path(sys.argv[1]), records())
"""


@pytest.mark.slow
def test_killed_writer_leaves_nothing_under_the_name_and_is_cleaned_up_after(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    assert [file.suffix for file in tmp_path.iterdir()] == [".part"]
    write_records(path, [Example(id="1", inputs={"text": "橋"})])
    assert list(tmp_path.iterdir()) == [path]
    assert [example.id for example in read_examples(path)] == ["1"]


def test_writers_at_the_same_time_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with atomic_write(path, overwrite=True) as first:
        first.write(b"first")
        with atomic_write(path, overwrite=True) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_folder_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with atomic_folder(path) as folder:
        (folder / "a").write_text("a")
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["a"]
    assert list(tmp_path.iterdir()) == [path]


def test_folder_is_replaced_only_when_all_went_well(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(BadInput, match="exists already"), atomic_folder(path):
        pass
    with pytest.raises(FileNotFoundError), atomic_folder(path, overwrite=True) as folder:
        (folder / "none" / "new").write_text("new")
    assert [file.name for file in path.iterdir()] == ["old"]
    with atomic_folder(path, overwrite=True) as folder:
        (folder / "new").write_text("new")
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_left_over_folder_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".x.abc.part"
    left.mkdir()
    (left / "half").write_text("half")
    with atomic_folder(tmp_path / "x"):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("file")
    with pytest.raises(BadInput, match="is a file, not a folder"), atomic_write(tmp_path / "a" / "b"):
        pass
