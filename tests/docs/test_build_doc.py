"""docs/build.md: its commands and its recipe run, and its tables name every form and every stage of JNLI."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.page_files import write_build
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.recipes.answer_readers import ANSWER_READERS
from nikawa.recipes.recipe import recipes

TEXT = (Path(__file__).parents[2] / "docs" / "build.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_build(tmp_path)
    for line in "".join(blocks("sh")).splitlines():
        done = CliRunner().invoke(build(), shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output, done.exception)
    assert Path("trial/card.json").is_file()
    assert not Path("my-jnli/card.json").exists()
    assert Path("acceptability/ood.jsonl").is_file()
    assert "mcc" in Path("report/index.html").read_text("utf-8")


def test_the_recipe_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/build.md", "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out == "{'too long': 1} {'train': 1, 'test': 1}\n"


def test_the_tables_are_whole() -> None:
    section = TEXT.partition("## Answer formats")[2].partition("## ")[0]
    assert set(re.findall(r"`([a-z-]+)`(?=.*\|.*\|)", section)) == set(ANSWER_READERS)
    stages = re.findall(
        r"^\| `([\w-]+)` \|", TEXT.partition("## Run a build")[2].partition("## ")[0], re.M
    )
    assert stages == [stage.name for stage in recipes()["jnli"].stages]


def test_the_recipes_of_jglue_are_listed() -> None:
    section = TEXT.partition("### Recipes of JGLUE")[2].partition("### ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", section, re.MULTILINE)
    assert [name for name, _ in rows] == [
        "marc-ja",
        "jsts",
        "jnli",
        "jsquad",
        "jcola",
        "jcommonsenseqa",
    ]
    assert all(recipes()[name].sources == (source,) for name, source in rows)
