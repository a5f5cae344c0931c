"""docs/pair.md and docs/split.md: their Python and commands run, their tables name every method."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.page_answers import write_first_pairs
from tests.docs.page_files import write_pair
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.pairing import METHODS
from nikawa.splitting import splitters

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("pair", "split")


def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text(page), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_runs(page: str) -> None:
    (code,) = blocks(page, "python")
    exec(compile(code, f"docs/{page}.md", "exec"), {})


def commands(page: str) -> list[list[str]]:
    return [
        shlex.split(line, comments=True)[1:]
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]


@pytest.mark.parametrize(
    "words",
    [c for page in PAGES for c in commands(page) if "klue" not in " ".join(c)],
    ids=" ".join,
)
def test_the_commands_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    done = CliRunner().invoke(build(), words)
    assert done.exit_code == 0, done.exception


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [c for c in commands("split") if "klue" in " ".join(c)], ids=" ".join
)
def test_the_commands_run_on_published_data(
    words: list[str], shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "least-artifact" in words:  # it trains a model for every item that it moves: fewer items
        monkeypatch.setenv("NIKAWA_DATA", str(shared_data))
        write_first_pairs(tmp_path)
        words = [word.replace("klue-nli:dev", "klue-nli.jsonl") for word in words]
    done = CliRunner().invoke(build(), [*words, "--data", str(shared_data)])
    assert done.exit_code == 0, done.output


def test_every_method_is_explained() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", text("pair"), re.MULTILINE)) == set(METHODS)
    assert set(re.findall(r"^\|[^|]+\| `(\w[\w-]+)` \|", text("split"), re.MULTILINE)) == set(
        splitters()
    )
