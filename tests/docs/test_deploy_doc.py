"""docs/deploy.md: its commands run, one after the other, and the files it names are those of a project."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words[1:] for words in lines if words[0] == "nikawa" and "serve" not in words]


def test_the_commands_run_and_make_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = commands()
    assert len(found) == 7
    for words in found:
        done = CliRunner().invoke(build(), words)
        assert done.exit_code == 0, (words, done.exception)
    table = re.findall(r"^\| `([a-z.]+)`", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(table) == 8
    assert all((tmp_path / "my-round" / name).exists() for name in table)
