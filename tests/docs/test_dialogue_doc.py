"""docs/dialogue.md: its files make the projects of its commands, and its tables name the settings."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient
from tests.docs import page_files, page_people
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.collect.app import create_app
from nikawa.collect.form import find_form
from nikawa.collect.items import open_synced
from nikawa.collect.job import create_links
from nikawa.collect.project import open_project
from nikawa.recipes.recipe import recipes

TEXT = (Path(__file__).parents[2] / "docs" / "dialogue.md").read_text("utf-8")
FILES = page_files.find_dialogue_files(TEXT)
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()
]


def run(line: str) -> str:
    done = CliRunner().invoke(build(), shlex.split(line)[1:])
    assert done.exit_code == 0, (line, done.output, done.exception)
    return str(done.stdout)


def test_the_files_and_commands_make_both_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in FILES] == ["ontology.json", "entities.json", "goals.jsonl"]
    page_files.write_dialogue(tmp_path)
    first = [line for line in COMMANDS if " dialogues " in f"{line} "]
    for line in first[:2]:
        run(line)
    assert (tmp_path / "dialogues" / "ontology.json").stat().st_mode & 0o077 == 0
    Path("ontology.json").rename("moved.json")  # the project has its own copy
    page_people.write_dialogue(tmp_path / "dialogues")
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
    page_people.judge_states(tmp_path / "states")
    export, agree, aggregate = COMMANDS[5:8]
    run(export)
    assert "joint-goal" in run(agree)
    run(aggregate)
    ties = (tmp_path / "gold" / "adjudicate.tsv").read_text("utf-8")
    assert "turn 2 宿-名前: 帆船ホテル 1, no value 1" in ties


@pytest.mark.slow
def test_the_recipe_is_built_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page_files.write_dialogue(tmp_path)
    waits, *rest = COMMANDS[8:]
    trial, (make, link, serve, export, again) = rest[:3], rest[3:]
    assert "waiting for judgements in my-wos/people/dialogues" in run(waits)
    shown = [run(line) for line in trial]
    assert "jga" in shown[1]
    assert Path("trial-report/index.html").is_file()
    run(make)
    assert "/w/" in run(link)
    assert serve == "nikawa collect serve writing"
    page_people.write_goals(
        tmp_path / "writing", tmp_path / "my-wos" / "build" / "goals" / "goals.jsonl"
    )
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
