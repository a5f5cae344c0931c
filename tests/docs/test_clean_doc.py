"""docs/clean.md: its commands and its Python run, its steps are the steps there are."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.docs.page_files import write_clean
from tests.models.chat.conftest import server

from nikawa.cleaning import steps
from nikawa.io.records import read_examples

__all__ = ["server"]

TEXT = (Path(__file__).parents[2] / "docs" / "clean.md").read_text("utf-8")


Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files the page speaks of."""
    place = tmp_path / "page"
    place.mkdir()
    write_clean(place)
    return place


@pytest.mark.slow
def test_the_commands_run(
    nikawa: Nikawa, folder: Path, monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    monkeypatch.chdir(folder)
    server.brain = lambda asked: "A" if "나쁜" in asked else "B"
    for line in "".join(blocks("sh")).replace("http://127.0.0.1:8000/v1", server.url).splitlines():
        if line == "nikawa collect serve review":  # the owner decides on the page
            (item,) = read_examples(folder / "flagged" / "tasks.jsonl")
            row = {
                "example": item.id,
                "worker": "o",
                "question": "toxicity",
                "answer": "acceptable",
            }
            (folder / "answers.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
            assert nikawa("collect", "import", "review", "answers.jsonl").returncode == 0
            continue
        name, *words = [word.replace("python ", f"{sys.executable} ") for word in shlex.split(line)]
        assert name == "nikawa"
        done = nikawa(*words)
        assert done.returncode == 0, (line, done.stderr)
        assert bool(done.stdout) != ("--quiet" in words)
        if "--out" in words and words[0] == "clean":
            out = folder / words[words.index("--out") + 1]
            for path in out.glob("*.jsonl") if out.is_dir() else [out]:
                assert list(read_examples(path)), line
    assert (folder / "shards" / "a.jsonl").is_file()
    assert (folder / "removed.jsonl").is_file()
    assert len(list(read_examples(folder / "civil-1.jsonl"))) == 1
    assert len(list(read_examples(folder / "civil-2.jsonl"))) == 2


def test_the_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (code,) = blocks("python")
    exec(compile(code, "docs/clean.md", "exec"), {})


def test_the_table_names_every_step_in_order() -> None:
    first = re.findall(r"^\| (`[^|]+`) \|", TEXT, re.MULTILINE)
    assert [name for cell in first for name in re.findall(r"`(\w+)`", cell)] == list(steps())


def test_the_options_exist(nikawa: Nikawa) -> None:
    shown = re.sub(r"\s", "", nikawa("clean", "--help").stdout)
    for option in re.findall(r"`(--[a-z-]+)", TEXT):
        assert option in shown, option
