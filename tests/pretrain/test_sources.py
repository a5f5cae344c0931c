"""Files and folders: what is read, and what is refused by name before it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.corpus import find_sources


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("古い橋。\n", "utf-8")


def test_hidden_files_and_what_was_made_here_are_not_text(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", tmp_path / "._a.txt", tmp_path / ".git" / "b.txt")
    write(tmp_path / "encoder" / "work" / "text" / "train.txt")
    found = find_sources([tmp_path], made=tmp_path / "encoder" / "work")
    assert [source.path for source in found] == [tmp_path / "a.txt"]
    assert found[0].folder == tmp_path
    assert find_sources([tmp_path / "._a.txt"])[0].folder is None


def test_odd_things_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "lost.txt").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    assert [source.name for source in find_sources([tmp_path])] == ["a.txt"]


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(
        BadInput, match=r"pipe\.txt: is not a regular file; write the text to a file"
    ):
        find_sources([tmp_path / "pipe.txt"])


def test_a_file_under_two_names_is_told_by_both(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    (tmp_path / "b.txt").symlink_to("a.txt")
    with pytest.raises(
        BadInput, match=r"b\.txt: is passed twice, here and as .*a\.txt; pass each file once"
    ):
        find_sources([tmp_path])


def test_a_name_that_no_report_can_hold_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    write(path)
    with pytest.raises(
        BadInput, match=r"\\udcff\.txt.*the file name is not UTF-8; rename the file"
    ):
        find_sources([tmp_path])
