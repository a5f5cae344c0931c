"""board.toml: the file of a new board is read back; a wrong setting is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.board.settings import SETTINGS, SetSettings, format_settings, read_settings
from nikawa.errors import BadInput

SETS = (
    SetSettings(dataset="tides", split="test"),
    SetSettings(dataset="tides", split="final", role="final"),
)


def write(folder: Path, text: str) -> Path:
    path = folder / SETTINGS
    path.write_text(text, "utf-8")
    return path


def test_the_file_of_a_new_board_is_read_back(tmp_path: Path) -> None:
    text = format_settings("tides", '潮 "tides"', "ja", SETS[:1])
    settings = read_settings(write(tmp_path, text))
    assert (settings.name, settings.title, settings.sets) == ("tides", '潮 "tides"', SETS[:1])
    assert settings.dates.opens_at is None
    assert settings.shown.rule == "ladder"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("per_day = 3", "per_day = -1", "per_day", "per_day"),
        ("per_day = 3", "perday = 3", "perday", "did you mean 'per_day'"),
        ('role = "final"', 'role = "secret"', 'role = "secret"', "role"),
        ('role = "final"', 'rolle = "final"', "rolle", "did you mean 'role'"),
        ('closes = ""', 'closes = "2027-03-31"', "closes", "time zone"),
        ('closes = ""', 'closes = "soon"', "closes", "time zone"),
        ('closes = ""', 'closes = ""', "closes", "needs a closing date"),
        (
            'opens = ""\ncloses = ""',
            'opens = "2027-01-02T00:00:00Z"\ncloses = "2027-01-01T00:00:00Z"',
            "closes",
            "not after opens",
        ),
    ],
)
def test_a_wrong_setting_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: str, what: str
) -> None:
    text = format_settings("tides", "Tides", "en", SETS)
    assert old in text
    text = text.replace(old, new)
    number = next(n for n, row in enumerate(text.split("\n"), 1) if row.startswith(line))
    with pytest.raises(BadInput) as problem:
        read_settings(write(tmp_path, text))
    assert f"board.toml, line {number}:" in str(problem.value)
    assert what in str(problem.value)
