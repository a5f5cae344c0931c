"""docs/build-klue.md: its commands and its Python run, its tables name the recipes, their sources and the stages of YNAT."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.page_files import write_build_klue
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.recipes.klue.reports import REPORTS
from nikawa.recipes.recipe import recipes

TEXT = (Path(__file__).parents[2] / "docs" / "build-klue.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_build_klue(tmp_path)
    for words in "".join(blocks("sh")).splitlines():
        done = CliRunner().invoke(build(), shlex.split(words)[1:])
        assert done.exit_code == 0, (words, done.output, done.exception)
    assert Path("trial/card.json").is_file()
    assert Path("my-topics/people/topics/tasks.csv").is_file()
    assert Path("my-trees/people/trees/tasks.csv").is_file()
    assert Path("trees-trial/card.json").is_file()
    assert "las" in Path("report/index.html").read_text("utf-8")


def test_the_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/build-klue.md", "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out == "{'proposed': 6} simulated True\n"


def test_the_tables_are_whole() -> None:
    rows = re.findall(r"^\| `((?:klue|ynat|wos)[\w-]*)` \| ([^|]+) \|", TEXT, re.MULTILINE)
    korean = [recipe.name for recipe in recipes().values() if recipe.language == "ko"]
    assert {name: tuple(re.findall(r"`(\w+)`", needs)) for name, needs in rows} == {
        name: recipes()[name].sources for name in korean
    }
    stages = re.findall(
        r"^\| `([\w-]+)` \|",
        TEXT.partition("## From headlines")[2].partition("## ")[0],
        re.MULTILINE,
    )
    assert stages == [stage.name for stage in recipes()["ynat"].stages]


def test_words_and_exceptions_are_listed() -> None:
    assert all(f"`{word}`" in TEXT for word in REPORTS)
