"""Presets from files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.runs.request import read_preset

GIVEN = 'seeds = 2\n[task.mini-ja-sts]\nsettings = { model = "char-linear" }\n'


def test_a_preset_as_windows_writes_it(tmp_path: Path) -> None:
    for name, data in (
        ("a", GIVEN.encode()),
        ("b", b"\xef\xbb\xbf" + GIVEN.replace("\n", "\r\n").encode()),
    ):
        (tmp_path / f"{name}.toml").write_bytes(data)
    assert read_preset(str(tmp_path / "a.toml")) == read_preset(str(tmp_path / "b.toml"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (GIVEN.encode("utf-16"), "x.toml, line 1: is UTF-16; save it as UTF-8"),
        (
            b"seeds =\n",
            "x.toml, line 1: is not TOML: Invalid value; see docs/run.md for an example",
        ),
        (b"seed = 2\n", "x.toml: is not a preset: Object contains unknown field `seed`"),
    ],
)
def test_what_is_no_preset(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "x.toml").write_bytes(data)
    with pytest.raises(BadInput, match=said):
        read_preset(str(tmp_path / "x.toml"))
