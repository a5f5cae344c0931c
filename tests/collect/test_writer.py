"""The writer on both databases: few round trips, several requests in one batch, and each of them by itself in failing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from nikawa.collect.answers import Given
from nikawa.collect.database import Link
from nikawa.collect.lockstep import in_step
from nikawa.collect.project import hashed
from nikawa.collect.store import open_store
from nikawa.collect.turn import Planned
from nikawa.collect.workers import Refused

Begin = Callable[..., Any]


class Counted:
    """A connection that remembers how often it was used."""

    def __init__(self, link: Link) -> None:
        self.link, self.calls = link, list[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.link, name)

        def call(*words: Any) -> Any:
            self.calls.append(name)
            return found(*words)

        return call


@contextmanager
def busy(store: Any) -> Iterator[None]:
    """Whatever is given to the writer meanwhile waits for one batch."""
    begun, free = threading.Event(), threading.Event()

    def hold(_link: Link) -> None:
        begun.set()
        free.wait(20)

    held = store.write(hold)
    begun.wait(20)
    try:
        yield
    finally:
        free.set()
        held.result()


def given(here: Any, name: str, key: str) -> Planned[Any]:
    answer = Given(here.lease(name), key, '{"label":"neutral"}')
    planned: Planned[Any] = here.desk.answer(hashed(here.project.token(name)), answer, here.now)
    return planned


def test_an_answer_and_the_next_item_are_three_statements(crowd: Begin) -> None:
    here = crowd(items=30)
    here.join("a")
    here.answer("a")
    plan = given(here, "a", "k")

    def act(link: Link) -> list[str]:
        counted = Counted(link)
        plan(counted)
        return counted.calls

    assert here.store.do(act) == ["one", "one", "together"]


def test_the_answers_of_several_are_three_round_trips(crowd: Begin) -> None:
    here = crowd(items=500)
    names = ["a", "b", "c", "d", "e"]
    here.join(*names)
    plans = [given(here, name, "k") for name in names]

    def act(link: Link) -> tuple[list[str], list[Any]]:
        counted = Counted(link)
        outcomes = in_step(counted, plans, ())
        return counted.calls, outcomes

    calls, outcomes = here.store.do(act)
    assert calls == ["each", "each", "all"]
    assert all(problem is None for _, problem in outcomes)
    assert len(here.exported()) == 5
    assert len({value[1].held.item for value, _ in outcomes}) == 5


def test_the_last_place_goes_to_one_of_those_who_come_at_once(crowd: Begin) -> None:
    here = crowd(items=1, assign={"workers_per_item": 1})
    here.join("a", "b", "c")
    with busy(here.store):
        come = [
            here.store.write(here.desk.next(hashed(here.project.token(n)), here.now)) for n in "abc"
        ]
    standings = [future.result() for future in come]
    assert [standing.held is not None for standing in standings].count(True) == 1
    assert all(standing.waiting for standing in standings if standing.held is None)
    assert here.counts() == [(0, 1)]


def test_one_worker_twice_in_a_batch_is_one_after_the_other(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a")
    plan = given(here, "a", "k")
    with busy(here.store):
        first, second = here.store.write(plan), here.store.write(plan)
    assert {first.result()[0].duplicate, second.result()[0].duplicate} == {False, True}
    assert first.result()[1].held.lease == second.result()[1].held.lease
    assert len(here.exported()) == 1


def test_what_spoils_a_batch_is_undone_alone(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a", "b")
    plans = [given(here, name, "k") for name in "ab"]

    def spoil(link: Link) -> None:
        link.run("UPDATE items SET reports = 9")
        link.run("INSERT INTO meta (key, value) VALUES ('version', '1')")

    with busy(here.store):
        futures = [here.store.write(operation) for operation in (plans[0], spoil, plans[1])]
    assert not futures[0].result()[0].duplicate
    assert type(futures[1].exception()).__name__ in ("IntegrityError", "UniqueViolation")
    assert not futures[2].result()[0].duplicate
    assert len(here.exported()) == 2
    reports = here.store.ask(lambda link: link.rows("SELECT DISTINCT reports FROM items"))
    assert [tuple(row) for row in reports] == [(0,)]


def test_a_refusal_leaves_the_others_of_its_batch(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a", "b")
    right = given(here, "a", "k")
    wrong = here.desk.answer(
        hashed(here.project.token("b")), Given("no-lease", "k", "{}"), here.now
    )
    with busy(here.store):
        futures = [here.store.write(wrong), here.store.write(right)]
    assert isinstance(futures[0].exception(), Refused)
    assert not futures[1].result()[0].duplicate


def test_who_does_not_wait_any_more_stops_nobody(crowd: Begin) -> None:
    here = crowd(items=9)
    here.join("a")
    plan = given(here, "a", "k")
    with busy(here.store):
        gone = here.store.write(plan)
        assert gone.cancel()
        stays = here.store.write(lambda link: link.one("SELECT 1"))
    assert stays.result()[0] == 1
    with pytest.raises(CancelledError):
        gone.result()
    assert not here.exported()


def test_two_servers_share_a_project(crowd: Begin, database: str) -> None:
    here = crowd(items=12, assign={"workers_per_item": 2})
    names = ["a", "b", "c", "d"]
    here.join(*names)

    def work(store: Any, name: str) -> None:
        token, key = hashed(here.project.token(name)), 0
        standing = store.do(here.desk.next(token, here.now))
        while standing.held is not None:
            key += 1
            given = Given(standing.held.lease, str(key), '{"label":"neutral"}')
            _, standing = store.do(here.desk.answer(token, given, here.now))

    with (
        open_store(database, here.project.folder, here.project.name) as other,
        ThreadPoolExecutor(len(names)) as threads,
    ):
        stores = [here.store, other, here.store, other]
        for ended in [threads.submit(work, *pair) for pair in zip(stores, names, strict=True)]:
            ended.result()
    assert here.counts() == [(2, 0)] * 12
    assert len({(j.example, j.worker) for j in here.exported()}) == 24
