"""Whole or not at all, whatever happens in between."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io import atomic as swap
from nikawa.io.atomic import atomic_folder, atomic_write, exchange_folders
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
    with pytest.raises(BadInput, match="already exists"):
        write_records(path, [])
    assert path.read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(BadInput, match="already exists"), atomic_write(path):
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
def test_killed_writer_leaves_nothing_under_the_name_and_is_cleaned_up_after(
    tmp_path: Path,
) -> None:
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
    with pytest.raises(BadInput, match="already exists"), atomic_folder(path):
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


SWAPPED = """
import os, signal, sys
from pathlib import Path
from nikawa.io import atomic as swap
from nikawa.io.atomic import atomic_folder
if sys.argv[2] == "two steps":
    swap.exchange_folders = lambda one, other: False
real, renamed = Path.rename, []
def rename(self, target):
    real(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = rename
def rmtree(path, ignore_errors=False):
    os.kill(os.getpid(), signal.SIGKILL)
swap.shutil.rmtree = rmtree
with atomic_folder(Path(sys.argv[1]), overwrite=True) as folder:
    (folder / "new").write_text("new")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "left"), [("at once", "new"), ("two steps", "old")])
def test_writer_killed_while_it_swaps_folders(tmp_path: Path, how: str, left: str) -> None:
    path = tmp_path / "x"
    path.mkdir()
    (path / "old").write_text("old")
    other = tmp_path / "x.y"
    other.mkdir()
    done = subprocess.run([sys.executable, "-c", SWAPPED, str(path), how], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.exists() == (how == "at once")
    with pytest.raises(BadInput, match="already exists"), atomic_folder(path):
        pass
    assert [file.name for file in path.iterdir()] == [left]
    with atomic_folder(path, overwrite=True):
        pass
    assert sorted(tmp_path.iterdir()) == [path, other]


def test_exchange(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    done = exchange_folders(tmp_path / "a", tmp_path / "b")
    assert done == (tmp_path / "a" / "b").exists()
    assert done == (sys.platform in ("linux", "darwin"))
    assert not exchange_folders(tmp_path / "a", tmp_path / "none")


def test_the_folder_of_another_name_is_not_put_back_under_this_one(tmp_path: Path) -> None:
    other = tmp_path / ".x.y.abcd1234.old.part"
    other.mkdir()
    with atomic_folder(tmp_path / "x"):
        pass
    assert other.exists()
    with pytest.raises(BadInput, match="already exists"), atomic_folder(tmp_path / "x.y"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "x.y"]


@pytest.mark.parametrize("together", [True, False])
def test_a_link_to_a_folder_stays_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    if not together:
        monkeypatch.setattr(swap, "exchange_folders", lambda one, other: False)
    real, link = tmp_path / "store" / "real", tmp_path / "link"
    real.mkdir(parents=True)
    (real / "old").touch()
    link.symlink_to(real)
    with atomic_folder(link, overwrite=True) as folder:
        (folder / "new").touch()
    assert link.is_symlink()
    assert [file.name for file in real.iterdir()] == ["new"]
    assert list(real.parent.iterdir()) == [real]
    assert sorted(tmp_path.iterdir()) == [link, real.parent]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    link, real = tmp_path / "x.jsonl.gz", tmp_path / "real"
    link.symlink_to(real)
    for text in (b"one", b"two"):
        with atomic_write(link, overwrite=True) as stream:
            stream.write(text)
        assert link.is_symlink()
        assert gzip.decompress(real.read_bytes()) == text
    assert sorted(tmp_path.iterdir()) == [real, link]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in {"folder": "is a folder, not a file", "pipe": "is a device or pipe"}.items():
        with pytest.raises(BadInput, match=words), atomic_write(tmp_path / name, overwrite=True):
            pass


def test_a_folder_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir(mode=0o750)
    with atomic_folder(tmp_path / "x", overwrite=True):
        pass
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o750


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    for path in (tmp_path / ("x" * 255), tmp_path / ("橋" * 85)):
        with atomic_write(path) as stream:
            stream.write(b"1")
        assert path.read_bytes() == b"1"
    with (
        pytest.raises(OSError, match="File name too long") as caught,
        atomic_write(tmp_path / ("x" * 256)),
    ):
        pass
    assert caught.value.filename == str(tmp_path / ("x" * 256))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_errors_of_the_disk_name_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object, **names: str) -> None:
        place = f"{names['dir']}/{names['prefix']}abc{names['suffix']}" if names else None
        raise OSError(number, os.strerror(number), place)

    if number == errno.EROFS:
        monkeypatch.setattr(tempfile, "mkstemp", fail)
    else:
        monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(number)) as caught, atomic_write(tmp_path / "x"):
        pass
    assert caught.value.filename == str(tmp_path / "x")
    with (
        pytest.raises(OSError, match=os.strerror(number)) as caught,
        atomic_folder(tmp_path / "y") as folder,
    ):
        write_records(folder / "train.jsonl", [])
    assert caught.value.filename == str(tmp_path / "y" / "train.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_bad_records_are_reported_under_the_folder_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught, atomic_folder(tmp_path / "y") as folder:
        write_records(folder / "train.jsonl", [Example(id="7", inputs={"n": float("nan")})])
    assert str(caught.value).startswith(f"{tmp_path}/y/train.jsonl: example 7 holds NaN")


def test_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("file")
    with (
        pytest.raises(BadInput, match="is a file, not a folder"),
        atomic_write(tmp_path / "a" / "b"),
    ):
        pass
