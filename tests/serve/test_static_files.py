"""Files of several folders under one address."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.serve.server import StaticFiles


def make_folder(folder: Path, **contents: str) -> Path:
    folder.mkdir()
    for name, text in contents.items():
        (folder / f"{name}.js").write_text(text, "utf-8")
    return folder


def test_folders_are_served_together(tmp_path: Path) -> None:
    ours = make_folder(tmp_path / "ours", form="1")
    theirs = make_folder(tmp_path / "theirs", mine="2")
    both = StaticFiles(ours, theirs)
    assert both.contents == {"form.js": b"1", "mine.js": b"2"}
    assert both.version != StaticFiles(ours).version


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    ours = make_folder(tmp_path / "ours", form="1")
    theirs = make_folder(tmp_path / "theirs", form="2")
    with pytest.raises(
        BadInput, match=r"form\.js: has the same name as a file of Nikawa; rename it"
    ):
        StaticFiles(ours, theirs)
