"""Locks that go with their process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.locks import is_locked, lock_file, lock_folder

BUSY, MISPLACED = BadInput("busy"), BadInput("misplaced")
HOLDER = """
import sys, time
from pathlib import Path
from nikawa.errors import BadInput
from nikawa.io.locks import lock_file
with lock_file(Path(sys.argv[1]), busy=BadInput("busy")):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_file_is_held_by_one_and_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "made" / "lock"
    with lock_file(path, busy=BUSY):
        assert is_locked(path)
        with pytest.raises(BadInput, match="busy"), lock_file(path, busy=BUSY, patience=0.01):
            pass
    assert not is_locked(path)
    path.write_text("content")
    with lock_file(path, busy=BUSY):
        assert path.read_text() == "content"
    assert not is_locked(tmp_path / "missing")


def test_a_lock_goes_with_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(path)
        holder.kill()
    with lock_file(path, busy=BUSY, patience=10):
        pass


def test_a_file_that_was_removed_while_waiting_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.io import locks

    path = tmp_path / "lock"
    answers = iter([False, True, True])

    def lock_and_remove(_: int) -> bool:
        answer = next(answers)
        if not answer:
            path.unlink()
        return answer

    monkeypatch.setattr(locks, "try_lock", lock_and_remove)
    with lock_file(path, busy=BUSY, patience=10):
        assert path.exists()
    assert list(answers) == []


def test_a_folder_is_held_by_one_and_removed_where_it_stays_empty(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with lock_folder(folder, busy=BUSY, misplaced=MISPLACED):
        with (
            pytest.raises(BadInput, match="busy"),
            lock_folder(folder, busy=BUSY, misplaced=MISPLACED),
        ):
            pass
        assert folder.is_dir()
    assert not (tmp_path / "a").exists()
    with lock_folder(folder, busy=BUSY, misplaced=MISPLACED):
        (folder / "file").touch()
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_file_in_the_way_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "inside"):
        with (
            pytest.raises(BadInput, match="misplaced"),
            lock_folder(place, busy=BUSY, misplaced=MISPLACED),
        ):
            pass
