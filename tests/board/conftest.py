"""What the tests of the board share: a dataset with hidden labels, a board of it, its store on either database, and helpers without processes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.serve.conftest import database, postgres

from nikawa.board.accounts import add_account
from nikawa.board.checker import Checker
from nikawa.board.folder import Board, open_board
from nikawa.board.job import NewBoard, create_board
from nikawa.board.queue import ScoringQueue
from nikawa.board.records import Account, Submission, System
from nikawa.board.scorer import Scorer
from nikawa.board.store import BoardStore, find_submission, open_store
from nikawa.board.submissions import (
    accept_submission,
    add_upload,
    create_system,
    receive_file,
)
from nikawa.board.wire import Helper, InProcessHelper
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.datasets.keys import read_keys
from nikawa.records import Card, Dataset, Example

__all__ = ["database", "postgres"]

CARD = Card(
    name="open",
    title="Tides",
    version="1.0",
    languages=("ja",),
    licence="CC0-1.0",
    citation="",
    homepage="",
    description="Pairs about tides.",
    labels="by chance",
    workers="none",
    workers_are="none",
    source="written for the tests",
)
LABELS = ("entailment", "contradiction", "neutral")
START = 1_800_000_000.0
"""The moment at which the tests begin."""


def make_examples(count: int, split: str) -> list[Example]:
    """Pairs with a source to slice by; labels by chance, the same every time."""
    draw = random.Random(split)
    return [
        Example(
            id=f"{split}{n}",
            inputs={"premise": f"{split}の前提{n}。", "hypothesis": f"{split}の仮説{n}。"},
            gold={"label": draw.choice(LABELS)},
            meta={"source": "news" if n % 3 else "web"},
        )
        for n in range(count)
    ]


@dataclass(frozen=True)
class HiddenData:
    """A dataset folder whose test labels are hidden, its key file, and the labels for the tests."""

    folder: Path
    keys: Path
    gold: Mapping[str, Mapping[str, str]]
    """Split to published id to label."""


@pytest.fixture(scope="session")
def hidden_data(tmp_path_factory: pytest.TempPathFactory) -> HiddenData:
    """`tides`, with 200 public and 120 final items."""
    place = tmp_path_factory.mktemp("tides")
    counts = {"train": 60, "test": 200, "final": 120}
    splits = {split: tuple(make_examples(count, split)) for split, count in counts.items()}
    Dataset(name="open", language="ja", version="1.0", card=CARD, splits=splits).save(
        place / "open"
    )
    options = HideOptions(splits=("test", "final"), keep=("meta.source",), allow=("meta.source",))
    hide(str(place / "open"), place / "tides", place / "keys.jsonl", options=options)
    keys = read_keys(place / "keys.jsonl")
    gold = {
        split: {id: item.gold["label"] for id, item in items.items()}
        for split, items in keys.items.items()
    }
    return HiddenData(place / "tides", place / "keys.jsonl", gold)


@dataclass
class BoardUnderTest:
    """A board with its parts, and a clock that the test moves."""

    board: Board
    store: BoardStore
    gold: Mapping[str, Mapping[str, str]]
    now: float = START
    checker: Helper = field(init=False)
    queue: ScoringQueue = field(init=False)
    accounts: dict[str, Account] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self.checker = InProcessHelper(Checker(self.board).check)
        scorer = InProcessHelper(Scorer(self.board).compute)
        self.queue = ScoringQueue(self.board, self.store, scorer, clock=lambda: self.now)

    def account(self, name: str) -> Account:
        """An account, made when it is first asked for."""
        if name not in self.accounts:
            self.accounts[name] = self.store.write(add_account, name, "correct horse", self.now)
        return self.accounts[name]

    def system(self, account: str = "ann", name: str = "Model", state: Any = "published") -> System:
        """A system of an account."""
        return self.store.write(
            create_system, self.account(account).id, {"name": name}, self.now, state=state
        )

    def answers(self, right: int, split: str = "test", seed: int = 0) -> bytes:
        """A file with so many right answers."""
        gold = self.gold[split]
        order = random.Random(seed).sample(sorted(gold), len(gold))
        lines = []
        for place, id in enumerate(order):
            label = gold[id]
            if place >= right:
                label = LABELS[(LABELS.index(label) + 1) % len(LABELS)]
            lines.append(msgspec.json.encode({"id": id, "answer": label}))
        return b"\n".join(lines) + b"\n"

    def upload(
        self, data: bytes, account: str | None = "ann", name: str = "answers.jsonl", **more: Any
    ) -> str:
        """A file that was received and checked; its id."""
        owner = None if account is None else self.account(account).id
        made = receive_file(
            self.board, self.checker, data, name, account=owner, now=self.now, **more
        )
        self.store.write(add_upload, made)
        return made.id

    def submit(
        self, *files: bytes, system: System | None = None, account: str = "ann", key: str = ""
    ) -> Submission:
        """A submission of files, which is then in the queue."""
        self._count += 1
        system = system or self.system(account, f"Model {self._count}")
        ids = [self.upload(data, account) for data in files]
        made = self.store.write(
            accept_submission,
            self.board,
            self.account(account),
            system,
            ids,
            key or f"key {self._count}",
            self.now,
        )
        return made.submission

    def score(self) -> None:
        """Score what waits, and let its tick come."""
        self.queue.run_once()
        self.now += 2 * self.board.settings.scoring.release_seconds
        self.queue.run_once()

    def find(self, submission: Submission) -> Submission:
        """A submission as the store has it now."""
        found = self.store.read(find_submission, submission.id)
        assert found is not None
        return found


MakeBoard = Callable[..., BoardUnderTest]


@pytest.fixture
def make_board(hidden_data: HiddenData, tmp_path: Path, database: str) -> Iterator[MakeBoard]:
    """A board on either database; lines of its board.toml can be replaced (`old=new` pairs)."""
    with BoardMaker(hidden_data, tmp_path, database) as make:
        yield make


@pytest.fixture
def make_sqlite_board(hidden_data: HiddenData, tmp_path: Path) -> Iterator[MakeBoard]:
    """The same on SQLite alone."""
    with BoardMaker(hidden_data, tmp_path, "") as make:
        yield make


class BoardMaker:
    def __init__(self, data: HiddenData, place: Path, database: str) -> None:
        self._data, self._place, self._database = data, place, database
        self._open: list[BoardStore] = []

    def __enter__(self) -> MakeBoard:
        return self._make

    def _make(
        self,
        changes: Mapping[str, str] | None = None,
        *,
        public: Sequence[str] = ("test",),
        final: Sequence[str] = (),
        closes: str = "",
    ) -> BoardUnderTest:
        def change(text: str) -> str:
            for old, new in {'who = "approved"': 'who = "open"', **(changes or {})}.items():
                assert old in text, old
                text = text.replace(old, new, 1)
            return text

        folder = self._place / "board"
        new = NewBoard(
            datasets=(self._data.folder,),
            keys=(self._data.keys,),
            public=tuple(public),
            final=tuple(final),
            title="Tides",
            closes=closes,
            database=self._database,
        )
        create_board(folder, new, change)
        board = open_board(folder)
        store = open_store(self._database, board)
        self._open.append(store)
        return BoardUnderTest(board, store, self._data.gold)

    def __exit__(self, *_: object) -> None:
        for store in self._open:
            store.close()
        with suppress(FileNotFoundError):
            shutil.rmtree(self._place / "board")
