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
    (place / "news.txt").write_text(
        "(서울=연합뉴스) 홍길동 기자 = 낡은 다리 옆에 작은 가게가 새로 문을 열었다.\n"
        "나쁜 사람들은 모두 이 마을에서 영원히 사라져야 한다고 한다.\n",
        "utf-8",
    )
    for name, body in re.findall(r"^```json (\S+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE):
        (place / name).write_text(body, "utf-8")
    (place / "corpus").mkdir()
    (place / "corpus" / "a.txt").write_bytes((place / "news.txt").read_bytes())
    (place / "old-sjis.txt").write_bytes("古い橋のそばに小さな店があった。\n".encode("shift_jis"))
    (place / "score.py").write_text(
        "import sys\nfor line in sys.stdin.buffer:\n    print(0.1)\n", "utf-8"
    )
    (place / "links.tsv").write_text("산\t강\n바다\t강\n강\t산\n섬\t바다\n", "utf-8")
    rows = [
        {"title": name, "text": f"{name}은 물이 맑고 깊어서 좋다."} for name in ("강", "산", "절")
    ]
    (place / "articles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
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
