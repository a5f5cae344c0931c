"""What people do on the pages of projects between two commands of a page of the docs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from nikawa.collect.app import create_app
from nikawa.collect.items import open_synced
from nikawa.collect.job import create_links
from nikawa.io.records import read_examples

TURNS = [
    {"role": "user", "text": "港の宿を探しています。", "state": ["宿-地区-港"]},
    {"role": "sys", "text": "帆船ホテルがございます。"},
    {"role": "user", "text": "電話番号は？", "state": ["宿-地区-港", "宿-名前-帆船ホテル"]},
    {"role": "sys", "text": "070 1001です。"},
]
"""A dialogue about the goal that dialogue.md shows."""


def write_dialogue(project: Path) -> None:
    """A worker writes the dialogue of the goal of dialogue.md."""
    with open_synced(project) as (settings, store):
        client = TestClient(create_app(settings, store), base_url="http://here")
        ((_, link),) = create_links(project, ["aki"], "http://here").links
        item = client.get(f"{link}/next").json()["item"]
        _answer(client, link, item, {"dialogue": {"how": "self", "turns": TURNS}})


def write_goals(project: Path, goals: Path) -> None:
    """A worker writes the dialogues of all goals of a build."""
    from nikawa.recipes.dialogues.stages import _write_turns
    from nikawa.recipes.dialogues.wos import WORDS

    plans = {tuple(goal.inputs["goal"]): goal for goal in read_examples(goals)}
    with open_synced(project) as (settings, store):
        client = TestClient(create_app(settings, store), base_url="http://here")
        ((_, link),) = create_links(project, ["aki"], "http://here").links
        state = client.get(f"{link}/next").json()
        while item := state["item"]:
            turns = list(_write_turns(plans[tuple(item["inputs"]["goal"])], WORDS))
            state = _answer(client, link, item, {"dialogue": {"how": "self", "turns": turns}})


def judge_states(project: Path) -> None:
    """Two workers mark the states of the dialogue of dialogue.md; one misses the name."""
    with open_synced(project) as (settings, store):
        client = TestClient(create_app(settings, store), base_url="http://here")
        for name, link in create_links(project, ["beni", "chika"], "http://here").links:
            item = client.get(f"{link}/next").json()["item"]
            given = item["inputs"]["states"]
            _answer(
                client, link, item, {"states": given if name == "beni" else [given[0], given[0]]}
            )


def _answer(client: TestClient, link: str, item: dict[str, Any], answer: Any) -> Any:
    """Send an answer to an item; the next state of the page."""
    body = {"lease": item["lease"], "key": item["lease"], "answer": answer}
    reply = client.post(f"{link}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()["state"]


def rate_pairs(project: Path) -> None:
    """Three workers rate the pairs of collect.md."""
    rows = [
        {"example": example.id, "worker": worker, "question": "score", "answer": 2 + (n + k) % 3}
        for n, example in enumerate(read_examples(project / "examples.jsonl"))
        for k, worker in enumerate(("hanako", "taro", "jiro"))
    ]
    file = project.parent / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run_nikawa(project.parent, "collect", "import", project.name, file.name)


def run_nikawa(folder: Path, *words: str) -> None:
    """Run a command that another page shows."""
    subprocess.run([sys.executable, "-m", "nikawa", *words], check=True, cwd=folder)
