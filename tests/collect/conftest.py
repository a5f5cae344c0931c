"""What the tests of the annotation server share: projects, and an open store on either database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.serve.conftest import database, postgres

from nikawa.collect.export import read_judgements
from nikawa.collect.items import sync_items
from nikawa.collect.project import KINDS, Project, create_project
from nikawa.collect.routes_worker import state_json
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, open_store
from nikawa.collect.submissions import (
    Report,
    SaveResult,
    Submission,
    next_item,
    report_item,
    save_answer,
    undo_answer,
)
from nikawa.collect.workers import Worker, add_worker, find_worker_by_name
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement
from nikawa.serve.login import hash_token

__all__ = ["database", "postgres"]

LABELS = ("entailment", "contradiction", "neutral")
DRAW_KEY = b"draws of the tests 1"
Make = Callable[..., Project]


def pair(name: str, **more: Any) -> Example:
    return Example(id=name, inputs={"premise": f"前提{name}", "hypothesis": f"仮説{name}"}, **more)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A project with `items` pairs in groups of two, some control items, a pilot, and settings by table."""

    def project(
        items: int = 6, control: int = 0, trial: int = 0, **tables: dict[str, Any]
    ) -> Project:
        settings = msgspec.convert({"title": "試験", "form": "choice", **tables}, Settings)
        examples = [
            pair(f"i{n:03}", group=f"g{n // 2}", gold={"label": "entailment"}) for n in range(items)
        ]
        made = create_project(tmp_path / "project", settings, examples)
        for kind, count in (("gold", control), ("pilot", trial)):
            known = [pair(f"{kind}{n}", gold={"label": "neutral"}) for n in range(count)]
            if known:
                write_records(made.folder / KINDS[kind], known, overwrite=True)
        opened = replace(made, settings=settings)
        vars(opened)["draw_key"] = DRAW_KEY
        return opened

    return project


@pytest.fixture
def start(make: Make, database: str) -> Iterator[Callable[..., tuple[Project, Store]]]:
    """A project with its store open, on either database."""
    stores: list[Store] = []

    def begin(**how: Any) -> tuple[Project, Store]:
        project = make(**how)
        store = open_store(database, project.folder, project.name)
        stores.append(store)
        sync_items(project, store)
        return project, store

    yield begin
    for store in stores:
        store.close()


class Crowd:
    """Workers at a project, with a clock of their own."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store, self.now = project, store, 1000.0
        self.keys = 0

    def token(self, name: str) -> str:
        return hash_token(self.project.token(name))

    def do(self, function: Callable[..., Any], name: str, *more: Any) -> Any:
        """Have the writer do what a worker asks for."""
        return self.store.write(function, self.project, self.token(name), *more, self.now)

    def join(self, *names: str) -> None:
        for name in names:
            words = (name, self.token(name), "link")
            self.store.write(add_worker, *words, language="ja", now=self.now)

    def state(self, name: str) -> dict[str, Any]:
        return state_json(self.project, self.do(next_item, name))

    def lease(self, name: str) -> str:
        item = self.state(name)["item"]
        assert item is not None
        return str(item["lease"])

    def answer(self, name: str, label: str = "neutral", **how: Any) -> SaveResult:
        self.keys += 1
        lease, key = how.pop("lease", None) or self.lease(name), how.pop("key", f"k{self.keys}")
        body = msgspec.json.encode({"label": label}).decode()
        saved: SaveResult = self.do(save_answer, name, Submission(lease, key, body, **how))[0]
        return saved

    def undo(self, name: str, key: str = "u") -> dict[str, Any]:
        return state_json(self.project, self.do(undo_answer, name, key))

    def report(self, name: str, code: str = "broken", key: str = "r") -> SaveResult:
        saved: SaveResult = self.do(
            report_item, name, Report(self.lease(name), key, code, "読めない")
        )[0]
        return saved

    def worker(self, name: str) -> Worker:
        row = self.store.read(lambda db: find_worker_by_name(db, name))
        assert row is not None
        return row

    def counts(self) -> list[tuple[int, int]]:
        sql = "SELECT done, leased FROM items WHERE kind = 'main' ORDER BY position"
        return [(int(a), int(b)) for a, b in self.store.read(lambda db: db.rows(sql))]

    def exported(self, *parts: str) -> list[Judgement]:
        with self.store.connection() as db:
            return list(read_judgements(db, self.project, parts or ("main",)))

    def change(self, change: Callable[..., None], name: str) -> None:
        self.store.write(
            lambda db: change(db, find_worker_by_name(db, name), "because", "owner", self.now)
        )


@pytest.fixture
def crowd(start: Callable[..., tuple[Project, Store]]) -> Callable[..., Crowd]:
    """Workers at a project on either database."""
    return lambda **how: Crowd(*start(**how))
