"""The requests of workers leave the same rows in SQLite and in PostgreSQL.

PostgreSQL runs the statements of `DeferredWrites` on the rows as they were before all of them, SQLite one after the
other: two that write to the same row leave other rows there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isfunction
from typing import Any

import pytest
from tests.collect.conftest import Crowd, Make

from nikawa.collect import submissions
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project
from nikawa.collect.store import TABLES, open_store
from nikawa.collect.submissions import Report, report_item, save_draft
from nikawa.collect.workers import exclude, reinstate, set_language
from nikawa.serve import audit
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused

Play = Callable[[Crowd], None]
Rows = dict[str, list[Any]]
ALL_TABLES = re.findall(r"CREATE TABLE (\w+)", TABLES + audit.TABLES)
SMALL = {"items": 8, "assign": {"workers_per_item": 2, "lease_minutes": 10}}


def take_leases(here: Crowd) -> None:
    here.join("a", "b")
    for name in "aba":
        here.lease(name)


def answer(here: Crowd) -> None:
    """Answers with and without a draft, one sent twice, one refused."""
    here.join("a", "b")
    for name in ("a", "b", "a"):
        lease = here.lease(name)
        here.now += 3
        here.do(save_draft, name, lease, '{"text": "書きかけ"}')
        here.answer(name, lease=lease, key=f"{name}{here.now}", seconds=2.0, comment="迷った")
        here.answer(name)
    again = here.lease("b")
    here.answer("b", lease=again, key="twice")
    assert here.answer("b", lease=again, key="twice").duplicate
    with pytest.raises(Refused):
        here.answer("b", lease=again, key="other")


def answer_late(here: Crowd) -> None:
    """Leases run out: one is taken up again, one is answered late, one after somebody else took its place."""
    here.join("a", "b", "c", "d")
    late = {name: here.lease(name) for name in "abc"}
    items = {name: here.state(name)["item"]["inputs"] for name in "bc"}
    here.now += 601
    assert here.lease("a") == late["a"]
    taken = here.state("d")["item"]["inputs"]
    names = sorted("bc", key=lambda name: items[name] == taken)
    assert [here.answer(name, lease=late[name]).surplus for name in names] == [False, True]
    here.now += 601
    for name in "da":
        while here.state(name)["item"]:
            here.answer(name)


def undo(here: Crowd) -> None:
    here.join("a")
    for _ in range(3):
        here.answer("a")
        here.now += 1
    here.undo("a", "u1")
    here.undo("a", "u1")
    here.answer("a", "entailment")
    here.now += 1
    here.undo("a", "u2")


def report(here: Crowd) -> None:
    """Reports of open leases, and of one that ran out."""
    here.join("a", "b", "c")
    for name in "abc":
        here.report(name, key=f"r{name}")
    assert here.report("a", key="once").duplicate is False
    lease = here.lease("b")
    here.now += 601
    here.lease("c")
    here.do(report_item, "b", Report(lease, "late", "hate"))


def pass_and_fail_pilot(here: Crowd) -> None:
    here.join("a", "b", "c")
    for correct in (True, True):
        here.answer("a", correct=correct)
        here.answer("b", correct=not correct)
    here.report("c")
    here.answer("c", correct=True)
    here.answer("a")
    here.change(reinstate, "b")
    here.answer("b")


def be_excluded(here: Crowd) -> None:
    """Control items answered wrong exclude by rule, with the answer at hand taken out of the count; then by the owner."""
    here.join("a", "b")
    while here.worker("a").state == "active" and here.state("a")["item"]:
        premise = here.state("a")["item"]["inputs"]["premise"]
        here.now += 1
        here.answer("a", correct=False if "gold" in premise else None)
    assert here.worker("a").state == "excluded"
    late = here.lease("b")
    here.change(exclude, "b")
    assert here.answer("b", lease=late).surplus
    here.change(reinstate, "a")
    here.answer("a")
    here.store.write(set_language, here.token("a"), "ko")


CONTROL = {"rate": 0.4, "after": 3, "pass_mark": 0.5}
PLAYS: list[tuple[Play, dict[str, Any]]] = [
    (take_leases, SMALL),
    (answer, SMALL),
    (answer, {"items": 8, "assign": {"one_per_group": True, "workers_per_item": 5}}),
    (answer_late, {"items": 3, "assign": {"workers_per_item": 1, "lease_minutes": 10}}),
    (undo, {"items": 8, "pay": {"per_item": 5}}),
    (report, SMALL | {"limits": {"reports_per_item": 2}}),
    (pass_and_fail_pilot, {"items": 6, "trial": 2}),
    (be_excluded, {"items": 40, "control": 10, "gold": CONTROL}),
]


@contextmanager
def counted_leases() -> Iterator[None]:
    """Names of leases that are the same each time, in place of drawn ones."""
    numbers = itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "nikawa.collect.assignment.secrets.token_urlsafe", lambda _: f"lease{next(numbers)}"
        )
        yield


def play_on(address: str, project: Project, play: Play) -> Rows:
    """All rows of all tables after a play on one database."""

    def read_all(db: Connection) -> Rows:
        return {name: sorted(db.rows(f"SELECT * FROM {name}"), key=repr) for name in ALL_TABLES}

    with open_store(address, project.folder, project.name) as store, counted_leases():
        sync_items(project, store)
        play(Crowd(project, store))
        return store.read(read_all)


@pytest.mark.parametrize(("play", "how"), PLAYS)
def test_both_databases_hold_the_same_rows(
    play: Play, how: dict[str, Any], make: Make, postgres: str
) -> None:
    project = make(**how)
    in_sqlite, in_postgres = (play_on(address, project, play) for address in ("", postgres))
    for table in ALL_TABLES:
        assert in_sqlite[table] == in_postgres[table], table
    assert in_sqlite["leases"]


def test_no_function_that_writes_is_left_out() -> None:
    """Whoever adds one adds a play."""
    functions = {
        name
        for name, value in vars(submissions).items()
        if isfunction(value) and value.__module__ == submissions.__name__ and name[0] != "_"
    }
    reading = {"read_request_state", "leased_text"}
    played = {"next_item", "save_answer", "undo_answer", "save_draft", "report_item"}
    played_elsewhere = {"save_for_partner"}  # test_live.py, on both databases
    assert functions == reading | played | played_elsewhere
