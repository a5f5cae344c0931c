"""docs/dialogue.md: its files make the projects of its commands, and its tables name the settings."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.collect.app import create_app
from nikawa.collect.form import find_form
from nikawa.collect.items import open_synced
from nikawa.collect.job import create_links
from nikawa.collect.project import open_project
from nikawa.io.records import read_examples
from nikawa.recipes.dialogues.stages import _write_turns
from nikawa.recipes.dialogues.wos import WORDS
from nikawa.recipes.recipe import recipes

EXAMPLES = Path(__file__).parents[2] / "examples" / "dialogue"
TEXT = (Path(__file__).parents[2] / "docs" / "dialogue.md").read_text("utf-8")
FILES = re.findall(r"`([\w.]+\.jsonl?)` (?:lists|has)[^\n]*\n\n```json\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()
]


def run(line: str) -> str:
    done = CliRunner().invoke(build(), shlex.split(line)[1:])
    assert done.exit_code == 0, (line, done.output, done.exception)
    return str(done.stdout)


def write_dialogue(folder: Path) -> None:
    """A worker writes the dialogue of the goal on the page."""
    turns = [
        {"role": "user", "text": "港の宿を探しています。", "state": ["宿-地区-港"]},
        {"role": "sys", "text": "帆船ホテルがございます。"},
        {"role": "user", "text": "電話番号は？", "state": ["宿-地区-港", "宿-名前-帆船ホテル"]},
        {"role": "sys", "text": "070 1001です。"},
    ]
    with open_synced(folder) as (project, store):
        client = TestClient(create_app(project, store), base_url="http://here")
        ((_, link),) = create_links(folder, ["aki"], "http://here").links
        item = client.get(f"{link}/next").json()["item"]
        answer = {"dialogue": {"how": "self", "turns": turns}}
        body = {"lease": item["lease"], "key": "k", "answer": answer}
        reply = client.post(f"{link}/answer", json=body)
        assert reply.status_code == 200, reply.text


def write_goals(folder: Path, goals: Path) -> None:
    """A worker writes the dialogues of all goals of a build."""
    plans = {tuple(goal.inputs["goal"]): goal for goal in read_examples(goals)}
    with open_synced(folder) as (project, store):
        client = TestClient(create_app(project, store), base_url="http://here")
        ((_, link),) = create_links(folder, ["aki"], "http://here").links
        state = client.get(f"{link}/next").json()
        while item := state["item"]:
            turns = list(_write_turns(plans[tuple(item["inputs"]["goal"])], WORDS))
            answer = {"dialogue": {"how": "self", "turns": turns}}
            body = {"lease": item["lease"], "key": item["lease"], "answer": answer}
            reply = client.post(f"{link}/answer", json=body)
            assert reply.status_code == 200, reply.text
            state = reply.json()["state"]


def test_the_files_and_commands_make_both_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in FILES] == ["ontology.json", "entities.json", "goals.jsonl"]
    for name, text in FILES:
        Path(name).write_text(text, "utf-8")
    first = [line for line in COMMANDS if " dialogues " in f"{line} "]
    for line in first[:2]:
        run(line)
    assert (tmp_path / "dialogues" / "ontology.json").stat().st_mode & 0o077 == 0
    Path("ontology.json").rename("moved.json")  # the project has its own copy
    write_dialogue(tmp_path / "dialogues")
    Path("moved.json").rename("ontology.json")
    run(COMMANDS[2])
    assert open_project(tmp_path / "live").is_together
    for line in COMMANDS[3:5]:
        run(line)
    with open_synced(tmp_path / "states") as (project, store):
        client = TestClient(create_app(project, store), base_url="http://here")
        links = create_links(tmp_path / "states", ["aki", "beni"], "http://here").links
        states = {name: client.get(f"{link}/next").json() for name, link in links}
        assert states["aki"]["item"] is None  # who wrote it does not check it
        item = states["beni"]["item"]
        given = item["inputs"]["states"]
        assert given == [["宿-地区-港"], ["宿-地区-港", "宿-名前-帆船ホテル"]]
        for name, link in create_links(tmp_path / "states", ["beni", "chika"], "http://here").links:
            lease = client.get(f"{link}/next").json()["item"]["lease"]
            marked = given if name == "beni" else [given[0], given[0]]
            body = {"lease": lease, "key": "k", "answer": {"states": marked}}
            assert client.post(f"{link}/answer", json=body).status_code == 200
    export, agree, aggregate = COMMANDS[5:8]
    run(export)
    assert "joint-goal" in run(agree)
    run(aggregate)
    ties = (tmp_path / "gold" / "adjudicate.tsv").read_text("utf-8")
    assert "turn 2 宿-名前: 帆船ホテル 1, no value 1" in ties


@pytest.mark.slow
def test_the_recipe_is_built_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ontology.ko.json", "entities.ko.json"):
        text = (EXAMPLES / name).read_text("utf-8")
        Path(name).write_text(text, "utf-8")
    (config,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    Path("wos.toml").write_text(config, "utf-8")
    waits, *rest = COMMANDS[8:]
    trial, (make, link, serve, export, again) = rest[:3], rest[3:]
    assert "waiting for judgements in my-wos/people/dialogues" in run(waits)
    shown = [run(line) for line in trial]
    assert "jga" in shown[1]
    assert Path("trial-report/index.html").is_file()
    run(make)
    assert "/w/" in run(link)
    assert serve == "nikawa collect serve writing"
    write_goals(tmp_path / "writing", tmp_path / "my-wos" / "build" / "goals" / "goals.jsonl")
    assert run(export).startswith("40 judgements")
    assert "waiting for judgements in my-wos/people/states" in run(again)
    rows = re.findall(r"^\| `([\w-]+)` \|", TEXT.partition("## Build a dataset")[2], re.MULTILINE)
    assert rows == [stage.name for stage in recipes()["wos"].stages]


def test_the_settings_are_those_of_the_form() -> None:
    kind = find_form("dialogue").settings
    assert kind is not None
    known = {field.name: field.default for field in msgspec.structs.fields(kind)}
    for name, value in re.findall(r"`(\w+)` \((\d+)\)", TEXT):
        assert str(known[name]) == value
