"""docs/build-reading.md: its passages, settings and commands make, check, run and report a set; its table lists the stages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.page_files import write_build_reading
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.recipes.recipe import recipes

TEXT = (Path(__file__).parents[2] / "docs" / "build-reading.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/build-reading.md", "exec", dont_inherit=True), {"__name__": "page"})
    write_build_reading(tmp_path)
    for words in "".join(blocks("sh")).splitlines():
        done = CliRunner().invoke(build(), shlex.split(words)[1:])
        assert done.exit_code == 0, (words, done.output, done.exception)
    assert Path("my-mrc/people/written/tasks.csv").is_file()
    assert Path("trial/card.json").is_file()
    assert "rouge-w" in Path("report/index.html").read_text("utf-8")


def test_the_table_lists_the_stages_of_both_recipes() -> None:
    stages = re.findall(r"^\| `([\w-]+)` \|", TEXT.partition("## Stages")[2], re.MULTILINE)
    for name in ("klue-mrc", "reading-ja"):
        assert stages == [stage.name for stage in recipes()[name].stages]
