"""Requests on both databases: few round trips, several in one batch, and each of them by itself in failing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from nikawa.collect.store import open_store
from nikawa.collect.submissions import Submission, next_item, save_answer
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused

Begin = Callable[..., Any]
Operation = Callable[[Connection], Any]


class Counted:
    """A connection that remembers how often it was used."""

    def __init__(self, db: Connection) -> None:
        self.db, self.calls = db, list[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.db, name)

        def call(*words: Any) -> Any:
            self.calls.append(name)
            return found(*words)

        return call


@contextmanager
def busy(store: Any) -> Iterator[None]:
    """Whatever is given to the writer meanwhile waits for one batch."""
    begun, free = threading.Event(), threading.Event()

    def hold(_db: Connection) -> None:
        begun.set()
        free.wait(60)

    held = store.submit(hold)
    begun.wait(60)
    try:
        yield
    finally:
        free.set()
        held.result()


def given(here: Any, name: str, key: str) -> Operation:
    submission = Submission(here.lease(name), key, '{"label":"neutral"}')
    token, now = here.token(name), here.now
    return lambda db: save_answer(db, here.project, token, submission, now)


def test_an_answer_and_the_next_item_are_three_statements(crowd: Begin) -> None:
    here = crowd(items=30)
    here.join("a")
    here.answer("a")
    operation = given(here, "a", "k")

    def act(db: Connection) -> list[str]:
        counted: Any = Counted(db)
        operation(counted)
        calls: list[str] = counted.calls
        return calls

    assert here.store.write(act) == ["one", "one", "execute_together"]


def test_the_answers_of_several_are_one_transaction(
    crowd: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = crowd(items=500)
    names = ["a", "b", "c", "d", "e"]
    here.join(*names)
    operations = [given(here, name, "k") for name in names]
    kind, begun = type(here.store._write_connection), list[Connection]()
    begin = kind.begin

    def counted(self: Connection) -> None:
        begun.append(self)
        begin(self)

    with busy(here.store):
        futures = [here.store.submit(operation) for operation in operations]
        monkeypatch.setattr(kind, "begin", counted)
    outcomes = [future.result() for future in futures]
    assert len(begun) == 1
    assert not any(saved.duplicate for saved, _ in outcomes)
    assert len({standing.assigned.item for _, standing in outcomes}) == 5
    assert len(here.exported()) == 5


def test_the_last_place_goes_to_one_of_those_who_come_at_once(crowd: Begin) -> None:
    here = crowd(items=1, assign={"workers_per_item": 1})
    here.join("a", "b", "c")
    with busy(here.store):
        come = [here.store.submit(next_item, here.project, here.token(n), here.now) for n in "abc"]
    standings = [future.result() for future in come]
    assert [standing.assigned is not None for standing in standings].count(True) == 1
    assert all(standing.waiting for standing in standings if standing.assigned is None)
    assert here.counts() == [(0, 1)]


def test_one_worker_twice_in_a_batch_is_one_after_the_other(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a")
    plan = given(here, "a", "k")
    with busy(here.store):
        first, second = here.store.submit(plan), here.store.submit(plan)
    assert {first.result()[0].duplicate, second.result()[0].duplicate} == {False, True}
    assert first.result()[1].assigned.lease == second.result()[1].assigned.lease
    assert len(here.exported()) == 1


def test_what_spoils_a_batch_is_undone_alone(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a", "b")
    plans = [given(here, name, "k") for name in "ab"]

    def spoil(db: Connection) -> None:
        db.execute("UPDATE items SET reports = 9")
        db.execute("INSERT INTO meta (key, value) VALUES ('version', '1')")

    with busy(here.store):
        futures = [here.store.submit(operation) for operation in (plans[0], spoil, plans[1])]
    assert not futures[0].result()[0].duplicate
    assert type(futures[1].exception()).__name__ in ("IntegrityError", "UniqueViolation")
    assert not futures[2].result()[0].duplicate
    assert len(here.exported()) == 2
    reports = here.store.read(lambda db: db.rows("SELECT DISTINCT reports FROM items"))
    assert [tuple(row) for row in reports] == [(0,)]


def test_a_refusal_leaves_the_others_of_its_batch(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a", "b")
    right = given(here, "a", "k")
    missing = Submission("no-lease", "k", "{}")
    with busy(here.store):
        futures = [
            here.store.submit(save_answer, here.project, here.token("b"), missing, here.now),
            here.store.submit(right),
        ]
    assert isinstance(futures[0].exception(), Refused)
    assert not futures[1].result()[0].duplicate


def test_who_does_not_wait_any_more_stops_nobody(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a")
    plan = given(here, "a", "k")
    with busy(here.store):
        gone = here.store.submit(plan)
        assert not gone.cancel()  # its client sends it again, and the key makes both one answer
        stays = here.store.submit(lambda db: db.one("SELECT 1"))
    assert stays.result()[0] == 1
    assert not gone.result()[0].duplicate
    assert len(here.exported()) == 1


def test_two_servers_share_a_project(crowd: Begin, database: str) -> None:
    here = crowd(items=12, assign={"workers_per_item": 2})
    names = ["a", "b", "c", "d"]
    here.join(*names)

    def work(store: Any, name: str) -> None:
        token, key = here.token(name), 0
        standing = store.write(next_item, here.project, token, here.now)
        while standing.assigned is not None:
            key += 1
            given = Submission(standing.assigned.lease, str(key), '{"label":"neutral"}')
            _, standing = store.write(save_answer, here.project, token, given, here.now)

    with (
        open_store(database, here.project.folder, here.project.name) as other,
        ThreadPoolExecutor(len(names)) as threads,
    ):
        stores = [here.store, other, here.store, other]
        for ended in [threads.submit(work, *pair) for pair in zip(stores, names, strict=True)]:
            ended.result()
    assert here.counts() == [(2, 0)] * 12
    assert len({(j.example, j.worker) for j in here.exported()}) == 24
