"""docs/analyse.md: read from top to bottom in an empty folder, every block runs; what it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.analysis import results
from nikawa.cli.terminal.app import build

TEXT = (Path(__file__).parents[2] / "docs" / "analyse.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python|csv)(?: (\S+))?\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = ""
    for language, file, block in BLOCKS:
        if file:
            Path(file).write_text(block, "utf-8")
            continue
        if language == "python":
            exec(compile(block, "docs/analyse.md", "exec"), {})
            continue
        for line in block.splitlines():
            words = shlex.split(line)[1:]
            done = CliRunner().invoke(build(words[0]), words)
            assert done.exit_code == 0, (line, done.exception)
            shown += done.stdout
    assert "Learning curves" in shown
    assert "Partial inputs against the majority" in shown
    assert "mini-ja-nli char-linear accuracy" in capsys.readouterr().out
    assert (tmp_path / "macro" / "index.json").is_file()
    assert "2 answers were reviewed: 1 stay, 1 change" in shown
    assert "To have workers check the suspected labels: nikawa collect new second-look" in shown


def test_the_types_it_names_exist() -> None:
    table = TEXT.split("## What is written")[1].split("## From Python")[0]
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", table))
    assert named
    assert named <= set(results.__all__)


def test_the_fields_it_names_exist() -> None:
    rows = re.findall(r"^\| (?:`\w+`: )?`([A-Z]\w+)` \| (.*) \|$", TEXT, re.MULTILINE)
    assert len(rows) >= 8
    every = {
        field for name in results.__all__ for field in getattr(results, name).__struct_fields__
    }
    for name, words in rows:
        own = set(getattr(results, name).__struct_fields__)
        named = set(re.findall(r"`([a-z_0-9]+)`", words))
        assert named <= own | every, (name, named - own)
        assert named & own, name
