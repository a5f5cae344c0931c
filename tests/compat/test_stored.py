"""Folders that the version before left half-way: the new version takes them up and comes to the same end.

What it reads of finished ones is in the scenes `stored-…` of `scenes.py`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from tests.compat.play import STORED, said, sheet, unpacked
from tests.compat.scenes import CHAT, PRETRAIN
from tests.compat.servers import PORT, chat, opinion, project_served, work
from tests.compat.weights import sizes

import nikawa

PASSED_OVER = {"about.json", "lock"}
"""Files of a run that tell when and where it was made."""


def needs(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in PASSED_OVER)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    needs("sklearn")
    unpacked("runs", tmp_path)
    for out in ("killed", "fresh"):
        done = said(
            tmp_path, f"run --model baseline --tasks mini-ko-nli --out {out} --workers 1 --quiet"
        )
        assert done.status == 0, done
    assert contents(tmp_path / "killed") == contents(tmp_path / "fresh")
    assert len(list((tmp_path / "killed").iterdir())) == 1


def test_the_analyses_are_the_stored_ones(tmp_path: Path) -> None:
    unpacked("runs", tmp_path)
    done = said(tmp_path, "analyse runs --tokeniser none --resamples 100 --out again --quiet")
    assert done.status == 0, done
    names = {path.name for path in (tmp_path / "runs" / "analyses").rglob("*") if path.is_file()}
    assert names == {path.name for path in (tmp_path / "again").rglob("*") if path.is_file()}


def test_a_chat_run_that_was_killed_asks_only_what_is_missing(tmp_path: Path) -> None:
    needs("httpx")
    unpacked("chat", tmp_path)
    known = sum(len(lines(path)) for path in (tmp_path / "broken").rglob("replies.jsonl"))
    whole = len(lines(tmp_path / "replies" / "replies.jsonl"))
    assert 0 < known < whole
    try:
        with chat(PORT) as server:
            done = said(tmp_path, f"{CHAT} --tasks mini-ja-nli --out broken --quiet")
    except OSError:
        pytest.skip(f"the port {PORT} of the recording is taken")
    assert done.status == 0, done
    assert server.asked == whole - known
    assert contents(tmp_path / "broken") == contents(tmp_path / "talked")


def test_a_project_goes_on(tmp_path: Path) -> None:
    needs("starlette", "uvicorn", "jinja2", "argon2")
    unpacked("project", tmp_path)
    told = json.loads((tmp_path / "links.json").read_text("utf-8"))
    before = lines(tmp_path / "exported.jsonl")
    (new,) = json.loads(said(tmp_path, "collect links similarity yui --json").out)["links"]
    paths = {name: link[link.index("/w/") :] for name, link in (*told["links"].items(), new)}
    with project_served(tmp_path, "similarity") as address:
        assert work(address + paths["yui"], "yui", 3) == 3
        assert work(address + paths["mio"], "mio", 2) == 2
        _log_in(address, told["password"])
    done = said(tmp_path, "collect export similarity --out now.jsonl --json")
    assert json.loads(done.out)["judgements"] == len(before) + 5
    now = lines(tmp_path / "now.jsonl")
    assert [row for row in before if row not in now] == []
    added = [row for row in now if row not in before]
    assert sorted(row["worker"] for row in added) == ["mio"] * 2 + ["yui"] * 3
    inputs = {row["id"]: row["inputs"] for row in lines(tmp_path / "similarity" / "examples.jsonl")}
    assert all(row["answer"] == opinion(row["worker"], inputs[row["example"]]) for row in now)
    done = said(tmp_path, "collect export similarity --pseudonymise --out nobody.jsonl --json")
    assert [
        row
        for row in lines(tmp_path / "nameless.jsonl")
        if row not in lines(tmp_path / "nobody.jsonl")
    ] == []


def _log_in(address: str, password: str) -> None:
    """The owner's password of the recording still opens the dashboard."""
    browser = build_opener(HTTPCookieProcessor())
    page = browser.open(f"{address}/login", timeout=120).read().decode()
    fields = dict(
        re.findall(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page)
    )
    form = urlencode({**fields, "name": "owner", "password": password}).encode()
    with browser.open(f"{address}/login", form, timeout=120) as reply:
        assert reply.status == 200
        assert reply.url.endswith("/owner")


@pytest.mark.slow
def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    needs("torch", "transformers", "tokenizers", "safetensors")
    unpacked("pretrain", tmp_path)
    kept = contents(tmp_path / "encoder" / "work")
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / ".none"), "OMP_NUM_THREADS": "1"}
    env.pop("NIKAWA_DATA", None)
    words = [sys.executable, "-m", "nikawa", *shlex.split(PRETRAIN), "--json"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = contents(tmp_path / "encoder" / "work")
    assert [name for name in kept if kept[name] != after.get(name) and "state" not in name] == []
    expected = json.loads((STORED / "pretrained.json").read_text("utf-8"))
    figures = json.loads((tmp_path / "encoder" / "pretraining.json").read_text("utf-8"))
    for name in ("settings", "parameters", "vocabulary", "text_pieces", "steps", "pieces"):
        assert figures[name] == expected["figures"][name]
    assert sizes(tmp_path / "encoder" / "model.safetensors") == pytest.approx(
        expected["sizes"], rel=0.02, abs=1e-4
    )


def test_programs_read_the_stored_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked("datasets", tmp_path)
    monkeypatch.chdir(tmp_path)
    hidden = nikawa.load("hidden")
    assert isinstance(hidden, nikawa.Dataset)
    assert isinstance(hidden.card, nikawa.Card)
    assert (hidden.name, hidden.version, hidden.card.licence) == ("own-data", "1.2", "CC0-1.0")
    assert {name: len(split) for name, split in hidden.splits.items()} == {
        "train": 32,
        "dev": 12,
        "test": 16,
    }
    assert all(not example.gold for example in hidden.splits["test"])
    first = nikawa.load("hidden:train").splits["train"][0]
    assert isinstance(first, nikawa.Example)
    assert (first.id, first.gold, first.group) == ("p1", {"label": "entailment"}, "g0")
    assert first.meta == {"date": "2010-01-10", "source": "news", "topic": "橋"}
    swapped = nikawa.load("perturbed").splits["swap-o"][0]
    assert isinstance(swapped.origin, nikawa.Origin)
    assert swapped.origin.gold == "inherited"
    answers = list(nikawa.read_judgements("mini-ja:dev"))
    assert all(isinstance(answer, nikawa.Judgement) for answer in answers)
    assert len(answers) == len(list(nikawa.read_judgements("mini-ja:dev")))
    table = nikawa.load("mini-ko")
    assert {name: len(split) for name, split in table.splits.items()} == {
        "train": 58,
        "dev": 30,
        "test": 28,
    }


def test_programs_read_material(tmp_path: Path) -> None:
    sheet(tmp_path)
    own = nikawa.load(str(tmp_path / "own-data"))
    assert {name: len(split) for name, split in own.splits.items()} == {
        "train": 32,
        "dev": 12,
        "test": 16,
    }
    task, examples = nikawa.load_task("mini-ja-nli", "dev")
    assert isinstance(task, nikawa.Task)
    assert (task.name, task.kind, task.question) == ("mini-ja-nli", "inference", "label")
    assert set(task.labels) == {"entailment", "contradiction", "neutral"}
    assert [example.id for example in examples][:2] == ["nli-019", "nli-020"]
