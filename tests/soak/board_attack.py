"""An attacker against a board as it is served: the attacks of `python -m bench.board attack`, sent through the interface of programs.

`python -m tests.soak.board_attack --tries 1000 --rules exact ladder`

Each file goes the whole way: upload, check, submission, scorer, ladder, result. The same attack is also played against the
simulated board of `bench.board`; both must show the same scores to it, so the table of docs/board-trust.md holds for a real board too.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from bench.board import ATTACKS, Answers, SimulatedBoard
from starlette.testclient import TestClient
from tests.board.conftest import LABELS
from tests.soak._board import LoadedBoard, make_board

from nikawa.board.app import create_app
from nikawa.board.checker import Checker
from nikawa.board.flags import FlagFinder
from nikawa.board.folder import open_board
from nikawa.board.ladder import choose_step
from nikawa.board.queue import ScoringQueue
from nikawa.board.reveal import Rule
from nikawa.board.scorer import Scorer
from nikawa.board.store import BoardStore, open_store, sum_disclosures
from nikawa.board.wire import InProcessHelper


@dataclass
class ServedBoard(SimulatedBoard):
    """The application of a board in place of the simulation; `shown` is what both said."""

    made: LoadedBoard | None = None
    store: BoardStore | None = None
    now: float = field(default_factory=time.time)
    shown: list[float | None] = field(default_factory=list)
    simulated: list[float | None] = field(default_factory=list)
    known: dict[bytes, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.made is not None
        assert self.store is not None
        board = open_board(self.made.board.folder)
        self.queue = ScoringQueue(
            board,
            self.store,
            InProcessHelper(Scorer(board).compute),
            clock=lambda: self.now,
            find_flags=FlagFinder(),
        )
        checker = InProcessHelper(Checker(board).check)
        clock = lambda: self.now  # noqa: E731
        app = create_app(board, self.store, clock=clock, queue=self.queue, checker=checker)
        self.client = TestClient(app)
        token = next(iter(self.made.tokens.values()))
        self.client.headers["Authorization"] = f"Bearer {token}"

    def submit(self, answers: Answers) -> float | None:
        """What the simulation shows must be what the served board shows."""
        if (answers < 0).all():  # the board refuses a file without any answer that can be read
            answers = np.append(0, answers[1:])
        self.simulated.append(super().submit(answers))
        self.shown.append(self.send(answers))
        return self.shown[-1]

    def send(self, answers: Answers) -> float | None:
        """Submit a file, and wait for its result."""
        assert self.made is not None
        data = format_answers(self.made.gold, answers)
        if (
            data in self.known
        ):  # the board refuses the same answers, and the attacker kept the result
            return self.known[data]
        sent = self.client.post("/api/v1/uploads?name=a.jsonl", content=data)
        assert sent.status_code == 200, sent.text
        body = {
            "new_system": {"name": "attacker"},
            "uploads": [sent.json()["upload"]],
            "key": str(len(self.known)),
        }
        taken = self.client.post("/api/v1/submissions", json=body)
        assert taken.status_code == 200, taken.text
        self.queue.run_once()
        self.now += 10
        state = self.client.get(f"/api/v1/submissions/{taken.json()['submission']}").json()
        assert state["state"] == "scored", state
        main = next(one for one in state["scores"] if not one["where"])
        self.known[data] = None if main["value"] is None else main["value"] / 100
        return self.known[data]


def format_answers(ids: Iterable[str], answers: Answers) -> bytes:
    """A file of answers; a blank is an answer that is no label, and so counts as wrong."""
    lines = [
        json.dumps({"id": id, "answer": LABELS[code] if code >= 0 else "?"})
        for id, code in zip(ids, answers, strict=True)
    ]
    return "\n".join(lines).encode()


def attack(rule: Rule, name: str, items: int, tries: int, seed: int = 0) -> dict[str, Any]:
    """Play one attack; what the attacker knows of the labels at the end, and what the board counted."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {'rule = "ladder"': f'rule = "{rule}"', "intervals = true": "intervals = false"}
        made = make_board(Path(folder), items, 1, settings=settings)
        gold = np.array([LABELS.index(label) for label in made.gold.values()])
        step = 0.0 if rule == "exact" else choose_step(items)
        began = time.process_time()
        with open_store("", made.board) as store:
            board = ServedBoard(gold, rule, step, made=made, store=store)
            answers = ATTACKS[name](board, tries, len(LABELS), np.random.default_rng((seed, 1)))
            counted = sum(row[-1] for row in store.read(sum_disclosures))
            flags = store.read(
                lambda db: db.rows("SELECT kind, COUNT(*) FROM flags GROUP BY kind ORDER BY kind")
            )
        return {
            "rule": rule,
            "attack": name,
            "items": items,
            "tries": tries,
            "accuracy": round(float((answers == gold).mean()), 4),
            "start": round(float(np.bincount(gold).max() / items), 4),
            "shown": sum(one is not None for one in board.shown),
            "bits": round(float(board.bits), 1),
            "bits_counted": round(float(counted), 1),
            "differs_from_simulation": sum(
                (a is None) != (b is None)
                or (a is not None and b is not None and abs(a - b) > 1e-9)
                for a, b in zip(board.shown, board.simulated, strict=True)
            ),
            "flags": {str(kind): int(count) for kind, count in flags},
            "cpu_s": round(time.process_time() - began, 1),
        }


def main() -> None:
    """Run, print a line for each attack, and end with status 1 where a board shows anything else than the simulation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--tries", type=int, default=1_000)
    parser.add_argument("--rules", nargs="+", default=["exact", "ladder"])
    parser.add_argument("--attacks", nargs="+", default=["boost", "from below", "probe"])
    how = parser.parse_args()
    is_wrong = False
    for rule in how.rules:
        for name in how.attacks:
            found = attack(rule, name, how.items, how.tries)
            is_wrong = is_wrong or found["differs_from_simulation"] > 0
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
    sys.exit(int(is_wrong))


if __name__ == "__main__":
    main()
