"""`nikawa board demo`: a filled board on the embedded datasets, made in one go.

Labels are hidden as an owner does it, the board is made, and some weeks of submissions are played through the same functions that
the server calls, with a clock of their own. The systems are invented: their answers are drawn, with a chosen share of right ones.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.board.accounts import add_account, make_token
from nikawa.board.checker import Checker
from nikawa.board.entries import EntryFacts, enter_answers, enter_humans
from nikawa.board.flags import FlagFinder
from nikawa.board.folder import Board, open_board
from nikawa.board.job import OWNER, NewBoard, create_board
from nikawa.board.queue import ScoringQueue
from nikawa.board.records import Account, System
from nikawa.board.scorer import Scorer
from nikawa.board.store import BoardStore, open_store
from nikawa.board.submissions import accept_submission, add_upload, create_system, receive_file
from nikawa.board.wire import InProcessHelper
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.datasets import load
from nikawa.datasets.keys import KeyItem, read_keys
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement, Task

DAY = 86_400.0
WEEKS = 8
"""Of history before today."""
DATASETS = ("nikawa-ja", "nikawa-ko")
"""The datasets of the board, made of the embedded `mini-ja` and `mini-ko`."""
SUBMITTER = "sumire"


@dataclass(frozen=True)
class DemoReport:
    """The demo board; passwords are shown once."""

    board: str
    sets: tuple[str, ...]
    systems: int
    owner: str
    password: str
    submitter: str
    """An account to log in with."""
    submitter_password: str
    token: str
    """Of the submitter, for `nikawa board submit`."""


@dataclass(frozen=True)
class InventedSystem:
    """A system of the demo, and how good it is."""

    name: str
    account: str
    skills: tuple[float, ...]
    """The share of right answers of each submission, in turn."""
    first_day: float
    """Days after the start of its first submission; later ones follow two weeks apart."""
    seeds: int = 1
    datasets: tuple[str, ...] = DATASETS
    answers_scores: bool = False
    """Whether it answers the similarity tasks too."""
    facts: Mapping[str, Any] | None = None


SYSTEMS = (
    InventedSystem(
        "Sumire-110M",
        SUBMITTER,
        (0.46, 0.5, 0.66),
        3,
        3,
        answers_scores=True,
        facts={
            "description": "An encoder with a linear layer, fine-tuned three times.\n\nThe **third** submission adds training data made from templates.",
            "parameters": "110M",
            "licence": "Apache-2.0",
            "training_data": "JGLUE train, KLUE train",
            "links": (("Code", "https://example.org/sumire"),),
        },
    ),
    InventedSystem(
        "青葉 large",
        "青葉研究室",
        (0.6, 0.74),
        8,
        3,
        answers_scores=True,
        facts={
            "description": "日本語と韓国語の対訳で事前学習したエンコーダーです。",
            "parameters": "340M",
            "licence": "CC BY-SA 4.0",
            "training_data": "JGLUE, KLUE, 対訳コーパス",
            "links": (("論文", "https://example.org/aoba"),),
        },
    ),
    InventedSystem(
        "한빛-KoLM",
        "한빛 연구실",
        (0.54, 0.7),
        12,
        answers_scores=True,
        facts={
            "description": "한국어 말뭉치로 사전 학습한 언어 모델에 몇 가지 예시를 주어 답하게 했습니다.",
            "parameters": "7B",
            "licence": "MIT",
            "training_data": "공개 웹 말뭉치",
        },
    ),
    InventedSystem(
        "Hazel prompt",
        "Team Hazel",
        (0.5,),
        20,
        facts={"description": "Few-shot prompts, no training.", "parameters": "13B"},
    ),
    InventedSystem(
        "Hazel prompt v2",
        "Team Hazel",
        (0.78,),
        41,
        facts={"description": "The same with longer prompts.", "parameters": "13B"},
    ),
    InventedSystem("minato-small", "minato", (0.4,), 16, 3, facts={"parameters": "22M"}),
    InventedSystem("Kirin", "kirin-nlp", (0.72,), 34, facts={"anonymous": True}),
    InventedSystem("다람쥐", "daramjwi", (0.52,), 27, datasets=("nikawa-ko",)),
)


def create_demo(folder: Path, *, seed: int = 1) -> DemoReport:
    """Make the board of the demo, whole or not at all."""
    now = time.time()
    with TemporaryDirectory() as place:
        work = Path(place)
        for name in DATASETS:
            _hide_labels(name, work)
        new = NewBoard(
            datasets=tuple(work / name for name in DATASETS),
            keys=tuple(work / f"{name}.keys.jsonl" for name in DATASETS),
            name="nikawa-mini",
            title="Nikawa mini",
        )
        made = create_board(folder, new, _change_settings)
    board = open_board(folder)
    with open_store("", board) as store:
        player = DemoPlayer(board, store, now - WEEKS * 7 * DAY, seed)
        password, token = player.play(now)
        count = int(store.read(lambda db: db.required("SELECT COUNT(*) FROM systems"))[0])
    return DemoReport(
        board=str(folder),
        sets=made.sets,
        systems=count,
        owner=OWNER,
        password=made.password,
        submitter=SUBMITTER,
        submitter_password=password,
        token=token,
    )


def _hide_labels(name: str, work: Path) -> None:
    """The embedded dataset with all its items of the chosen tasks as one hidden test split."""
    dataset = load(name.replace("nikawa", "mini"))
    examples = [
        replace(example, id=f"{split}-{example.id}")
        for split, own in dataset.splits.items()
        for example in own
        if not example.gold.keys().isdisjoint(("label", "score", "choice"))
    ]
    card = replace(dataset.card, name=name, title=name)
    whole = replace(dataset, name=name, card=card, splits={"test": tuple(examples)})
    write_folder(whole, work / "open" / name)
    options = HideOptions(splits=("test",), keep=("tags",), allow=("tags",))
    hide(str(work / "open" / name), work / name, work / f"{name}.keys.jsonl", options=options)


def _change_settings(text: str) -> str:
    """A small test needs small slices, and a demo should show something at once."""
    for old, new in (
        ('who = "approved"', 'who = "open"'),
        ("per_day = 3", "per_day = 20"),
        ("slices = []", 'slices = ["tag"]'),
        ("min_items = 50", "min_items = 6"),
        ("release_seconds = 300", "release_seconds = 5"),
    ):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


class DemoPlayer:
    """Plays the weeks of a demo: accounts, submissions, the owner's entries, each at its moment."""

    def __init__(self, board: Board, store: BoardStore, start: float, seed: int) -> None:
        self.board, self.store, self.start, self.seed = board, store, start, seed
        self.now = start
        self.checker = InProcessHelper(Checker(board).check)
        self.queue = ScoringQueue(
            board,
            store,
            InProcessHelper(Scorer(board).compute),
            clock=lambda: self.now,
            find_flags=FlagFinder(),
        )
        self.keys: dict[str, dict[str, KeyItem]] = {}
        for name in DATASETS:
            for items in read_keys(board.keys_path(name)).items.values():
                self.keys.setdefault(name, {}).update(items)

    def play(self, now: float) -> tuple[str, str]:
        """Everything until now; the password and the token of `SUBMITTER`."""
        self._enter_owner_rows()
        events = sorted(
            (system.first_day + 14 * number, place, number)
            for place, system in enumerate(SYSTEMS)
            for number in range(len(system.skills))
        )
        accounts: dict[str, Account] = {}
        systems: dict[int, System] = {}
        password = secrets.token_urlsafe(12)
        for day, place, number in events:
            invented = SYSTEMS[place]
            self.now = min(self.start + day * DAY, now - DAY)
            if invented.account not in accounts:
                secret = password if invented.account == SUBMITTER else secrets.token_urlsafe(12)
                accounts[invented.account] = self.store.write(
                    add_account, invented.account, secret, self.now
                )
            account = accounts[invented.account]
            if place not in systems:
                facts = {"name": invented.name, **(invented.facts or {})}
                systems[place] = self.store.write(
                    create_system, account.id, facts, self.now, state="published"
                )
            self._submit(invented, number, account, systems[place])
            self.queue.score_waiting()
        self.now = now
        self.queue.tick()
        token = self.store.write(make_token, accounts[SUBMITTER].id, "demo", self.now)
        return password, token

    def _submit(
        self, invented: InventedSystem, number: int, account: Account, system: System
    ) -> None:
        ids = []
        for dataset in invented.datasets:
            for task in self._tasks_of(dataset):
                if task.kind == "similarity" and not invented.answers_scores:
                    continue
                for seed in range(invented.seeds):
                    data = self._draw_answers(dataset, task, invented, number, seed)
                    upload = receive_file(
                        self.board,
                        self.checker,
                        data,
                        f"{task.name}-{seed + 1}.jsonl",
                        account=account.id,
                        now=self.now,
                        task=task.name,
                        split="test",
                        seed=seed,
                    )
                    self.store.write(add_upload, upload)
                    ids.append(upload.id)
        key = f"demo {invented.name} {number}"
        self.store.write(accept_submission, self.board, account, system, ids, key, self.now)

    def _tasks_of(self, dataset: str) -> list[Task]:
        place = str(self.board.dataset_path(dataset))
        return [task for task in self.board.tasks.values() if task.dataset == place]

    def _draw_answers(
        self, dataset: str, task: Task, invented: InventedSystem, number: int, seed: int
    ) -> bytes:
        """Answers of which about the chosen share is right; the items that are hard are hard for everybody."""
        skill = invented.skills[number]
        own = draw_from(f"{self.seed}/{invented.name}/{number}/{seed}/{task.name}")
        lines = []
        examples = self.board.examples(task.name, "test")
        for example in sorted(examples, key=lambda e: self.keys[dataset][e.id].place):
            item = self.keys[dataset][example.id]  # its published id is another one in each board
            gold = item.gold[task.question]
            hard = draw_from(f"{self.seed}/{item.was}").random()
            is_right = 0.75 * hard + 0.25 * own.random() < skill
            answer = gold if is_right else draw_wrong(task, example, gold, own)
            lines.append(msgspec.json.encode({"id": example.id, "answer": answer}))
        return b"\n".join(lines) + b"\n"

    def _enter_owner_rows(self) -> None:
        """The most frequent answer as a baseline, and a human row from judgements that are drawn."""
        with TemporaryDirectory() as place:
            work, files = Path(place), list[Path]()
            judgements: list[Judgement] = []
            for dataset in DATASETS:
                for task in self._tasks_of(dataset):
                    items = self.board.examples(task.name, "test")
                    golds = [self.keys[dataset][e.id].gold[task.question] for e in items]
                    usual = sorted(golds, key=lambda gold: (-golds.count(gold), str(gold)))[0]
                    rows = [{"id": e.id, "answer": usual} for e in items]
                    files.append(work / f"{task.name}.jsonl")
                    files[-1].write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
                    judgements += self._draw_judgements(task, items, golds)
            baseline = EntryFacts(
                name="Most frequent answer",
                description="The same answer to every item: what a score without any understanding is.",
                training_data="none",
            )
            enter_answers(self.board, self.store, files, baseline, split="test", now=self.now)
            write_records(work / "judgements.jsonl", judgements)
            people = EntryFacts(
                name="Human",
                kind="human",
                description="Five people per item. For this demo, their answers are simulated.",
            )
            enter_humans(self.board, self.store, work / "judgements.jsonl", people, now=self.now)
        self.queue.score_waiting()

    def _draw_judgements(
        self, task: Task, items: Sequence[Example], golds: Sequence[Any]
    ) -> list[Judgement]:
        judgements = []
        for example, gold in zip(items, golds, strict=True):
            for worker in range(5):
                was = next(k[example.id].was for k in self.keys.values() if example.id in k)
                own = draw_from(f"{self.seed}/{worker}/{was}")
                answer = gold if own.random() < 0.92 else draw_wrong(task, example, gold, own)
                judgements.append(
                    Judgement(
                        example=example.id,
                        worker=f"simulated-{worker + 1}",
                        question=task.question,
                        answer=answer,
                    )
                )
        return judgements


def draw_from(key: str) -> random.Random:
    """Chance that is the same every time."""
    return random.Random(key)  # noqa: S311  (invented answers)


def draw_wrong(task: Task, example: Example, gold: Any, own: random.Random) -> Any:
    """An answer that is not the gold one."""
    if task.kind == "similarity":
        low, high = task.scale or (0.0, 5.0)
        return round(own.uniform(low, high), 1)
    options: list[Any] = list(task.labels) or list(range(len(example.inputs["choices"])))
    return own.choice([option for option in options if option != gold] or [gold])
