"""The scorer's numbers for every kind of task are those of `nikawa score --hidden --keys`, to the last digit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import msgspec
import pytest

from nikawa.board.checker import Checker
from nikawa.board.folder import Board, open_board
from nikawa.board.job import NewBoard, create_board
from nikawa.board.scorer import Scorer
from nikawa.board.store import decode_true_score
from nikawa.board.submissions import PREDICTIONS, receive_file
from nikawa.board.wire import InProcessHelper, Message
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.datasets.keys import read_keys
from nikawa.scoring.score import ScoreOptions, score

KINDS = ("inference", "similarity", "reading", "choice", "tagging")


@dataclass
class MiniBoard:
    board: Board
    folder: Path
    keys: Path
    checker: InProcessHelper
    scorer: InProcessHelper


@pytest.fixture(scope="module", params=["ja", "ko"])
def mini(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MiniBoard:
    place = tmp_path_factory.mktemp("mini")
    folder, keys = place / "hid", place / "keys.jsonl"
    hide(f"mini-{request.param}", folder, keys, options=HideOptions(splits=("test", "dev")))
    create_board(place / "board", NewBoard((folder,), (keys,)))
    board = open_board(place / "board")
    return MiniBoard(
        board,
        folder,
        keys,
        InProcessHelper(Checker(board).check),
        InProcessHelper(Scorer(board).compute),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_scores_as_on_the_command_line(mini: MiniBoard, kind: str) -> None:
    (name,) = (name for name, task in mini.board.tasks.items() if task.kind == kind)
    task = mini.board.tasks[name]
    items = read_keys(mini.keys).items["dev"]
    examples = mini.board.examples(name, "dev")
    golds = [items[example.id].gold[task.question] for example in examples]
    lines = []
    for place, example in enumerate(examples):
        answer = golds[place] if place % 3 else golds[place - 1]
        if kind == "reading":
            answer = answer[0]["text"] if answer and place % 4 else "該当なし"
        if kind == "tagging" and place % 2:  # tags say more than spans: an I- without its B-
            label = (task.labels or ("PS",))[0]
            answer = [f"I-{label}", *["O"] * (len(example.inputs["text"]) - 1)]
        lines.append(json.dumps({"id": example.id, "answer": msgspec.to_builtins(answer)}))
    data = "\n".join(lines).encode()
    upload = receive_file(
        mini.board, mini.checker, data, "a.jsonl", account=None, now=0.0, task=name, split="dev"
    )
    path = mini.board.folder / upload.path
    block = path.with_name(PREDICTIONS).read_bytes()
    answer = mini.scorer.ask(Message({"do": "score", "task": name, "split": "dev"}, [block]))
    found = {(one.metric, one.mode): one for one in map(decode_true_score, answer.header["scores"])}
    options = ScoreOptions(hidden=True, keys=mini.keys)
    expected = score(f"{mini.folder}-{task.question}", path, split="dev", options=options)
    assert len(found) == len(expected.report.scores)
    for one in expected.report.scores:
        same = found[one.metric, one.mode]
        assert not isnan(one.value)
        assert (same.value, same.low, same.high, same.n) == (one.value, one.low, one.high, one.n)


def test_the_set_is_found_by_the_ids(mini: MiniBoard) -> None:
    (name,) = (name for name, task in mini.board.tasks.items() if task.kind == "choice")
    examples = mini.board.examples(name, "test")
    data = b"\n".join(json.dumps({"id": e.id, "answer": 0}).encode() for e in examples)
    upload = receive_file(mini.board, mini.checker, data, "a.jsonl", account=None, now=0.0)
    assert (upload.task, upload.split) == (name, "test")
