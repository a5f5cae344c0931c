"""docs/pair.md and docs/split.md: their Python and commands run, their tables name every method."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.io.records import write_records
from nikawa.pairing import METHODS
from nikawa.records import Example
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
    Path("sentences.txt").write_text("庭で猫が眠る。\n庭で犬が眠る。\n", "utf-8")
    captions = [
        Example(id=str(i), inputs={"text": f"絵{i}"}, meta={"image": "m"}) for i in range(3)
    ]
    write_records(Path("captions.jsonl"), captions)
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
        place = next(n for n, word in enumerate(words) if word.startswith("klue-nli:"))
        examples = load(words[place], data=shared_data).splits["dev"][:400]
        write_records(Path("klue-nli.jsonl"), list(examples))
        words = [*words[:place], "klue-nli.jsonl", *words[place + 1 :]]
    done = CliRunner().invoke(build(), [*words, "--data", str(shared_data)])
    assert done.exit_code == 0, done.output


def test_every_method_is_explained() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", text("pair"), re.MULTILINE)) == set(METHODS)
    assert set(re.findall(r"^\|[^|]+\| `(\w[\w-]+)` \|", text("split"), re.MULTILINE)) == set(
        splitters()
    )
