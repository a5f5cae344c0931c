"""docs/report.md: read from top to bottom in an empty folder, every block runs; the files it names are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build

TEXT = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "docs/report.md", "exec"), dict[str, Any]())
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            done = CliRunner().invoke(build(words[1]), words[1:])
            assert done.exit_code == 0, (line, done.exception)
    said = capsys.readouterr().out
    assert "mini-ja-nli baseline accuracy" in said
    assert "another/index.html ('" in said
    summary = (tmp_path / "systems" / "summary.md").read_text("utf-8")
    assert [line.split(" |")[0] for line in summary.splitlines()[4:7]] == [
        "| Large model",
        "| Small model",
        "| Draft",
    ]
    assert "6 of 9 answered" in summary
    for name in re.findall(r"^        (\S+\.(?:html|md|tex|csv|json))", TEXT, re.MULTILINE):
        assert list((tmp_path / "report").glob(name)), name


def test_every_option_is_named() -> None:
    shown = CliRunner().invoke(
        build("report"), ["report", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    for option in (
        "--title",
        "--digits",
        "--no-analyses",
        "--no-dataset",
        "--stamp",
        "--open",
        "--overwrite",
    ):
        assert option in shown.stdout
        assert f"`{option}" in TEXT
