"""docs/collect.md: the round it describes runs from text to gold, with the commands and workers of the page."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.collect.app import create_app
from nikawa.collect.form import forms
from nikawa.collect.items import open_synced
from nikawa.io.records import read_examples

TEXT = (Path(__file__).parents[2] / "docs" / "collect.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def shell(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "cp":
        shutil.copy(*words[1:])
        return
    out = words[words.index(">") + 1] if ">" in words else None
    done = CliRunner().invoke(build(), words[1 : words.index(">") if out else None])
    assert done.exit_code == 0, (line, done.output, done.exception)
    if out:
        Path(out).write_text(done.stdout, "utf-8")


def play(script: str) -> str:
    """Serve the project on a free port while the workers of the page are played."""
    import uvicorn

    with open_synced(Path("similarity")) as (project, store):
        server = uvicorn.Server(
            uvicorn.Config(create_app(project, store), port=0, log_level="error")
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        links = Path("links.json")
        links.write_text(links.read_text("utf-8").replace(":8000/", f":{port}/"), "utf-8")
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        server.should_exit = True
        thread.join()
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_round_runs_from_text_to_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name, body in BLOCKS:
        if name:
            Path(name).write_text(body, "utf-8")
        elif kind == "python":
            assert play(body).split() == [
                "hanako",
                "done",
                "5",
                "taro",
                "done",
                "5",
                "jiro",
                "done",
                "5",
            ]
        elif kind == "sh":
            for line in body.splitlines():
                if "collect serve" not in line:
                    shell(line)
    judgements = [
        json.loads(line) for line in Path("judgements.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(judgements) == 15
    assert {found["question"] for found in judgements} == {"score"}
    gold = list(read_examples(Path("gold/examples.jsonl")))
    assert gold
    assert all(isinstance(example.gold["score"], float) for example in gold)
    assert Path("decided.tsv").read_text("utf-8").split() == [
        "example",
        "question",
        "answer",
        "person",
        "reason",
    ]
    second = list(read_examples(Path("judging/examples.jsonl")))
    assert len(second) == 6
    assert not any("hanako" in example.meta["writer"] for example in second)
    wrote = [
        json.loads(line) for line in Path("judging/writers.jsonl").read_text("utf-8").splitlines()
    ]
    assert {(row["example"], row["writer"]) for row in wrote} == {
        (one.id, "hanako") for one in second
    }


def test_the_table_lists_every_form() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", TEXT.partition("\n## Forms\n")[2], re.MULTILINE)
    assert sorted(listed) == sorted(forms())


def test_the_two_pages_lead_to_each_other() -> None:
    other = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text("utf-8")
    assert "(deploy.md)" in TEXT
    assert "(collect.md)" in other
