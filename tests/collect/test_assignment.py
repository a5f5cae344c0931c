"""Assignment under any order of events: workers come, answer, wait, withdraw, report, are excluded; time passes.

The same rules on both databases, one by one and several at once.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nikawa.collect.items import add_items
from nikawa.collect.permutation import permute
from nikawa.collect.project import KINDS, Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, project_database
from nikawa.collect.submissions import (
    Report,
    Submission,
    next_item,
    report_item,
    save_answer,
    undo_answer,
)
from nikawa.collect.workers import add_worker, exclude, find_worker_by_name, reinstate
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.serve.database import Connection, Database
from nikawa.serve.errors import Refused
from nikawa.serve.login import hash_token

NAMES = ("a", "b", "c", "d")
SURPLUS = "SELECT i.ref, i.done, i.leased, i.asked, i.kind FROM items i"
STANDING = (
    "SELECT i.ref, w.name FROM answers a JOIN items i ON i.id = a.item JOIN workers w ON w.id = a.worker"
    " LEFT JOIN withdrawals x ON x.answer = a.seq"
    " WHERE a.surplus = 0 AND x.answer IS NULL AND w.state <> 'excluded' AND i.kind = 'main'"
)


@contextmanager
def refused(*codes: str) -> Iterator[list[str]]:
    """What may be refused, but for no other reasons; the list tells whether it was."""
    told: list[str] = []
    try:
        yield told
    except Refused as problem:
        told.append(problem.code)
    assert set(told) <= set(codes)


class Assignment(RuleBasedStateMachine):
    """Four workers, a few items, and what must hold after every step."""

    database: Database
    """Whose tables are there and empty; nothing is ever committed."""

    @initialize(
        items=st.integers(1, 7),
        asked=st.integers(1, 3),
        gold=st.integers(0, 3),
        groups=st.booleans(),
        order=st.sampled_from(["random", "file"]),
        judged=st.sampled_from(["nobody", "excluded", "both"]),
    )
    def begin(
        self, items: int, asked: int, gold: int, groups: bool, order: str, judged: str
    ) -> None:
        self.now, self.key, self.judged = 1000.0, 0, judged
        self.folder = tempfile.TemporaryDirectory()
        assign = {
            "workers_per_item": asked,
            "lease_minutes": 1,
            "one_per_group": groups,
            "order": order,
        }
        table = {
            "title": "t",
            "form": "choice",
            "assign": assign,
            "gold": {"rate": 0.3, "after": 99},
        }
        config = msgspec.convert(table, Settings)
        examples = [
            Example(id=f"i{n}", inputs={"text": f"文{n}"}, group=f"g{n // 2}") for n in range(items)
        ]
        made = create_project(Path(self.folder.name) / "p", config, examples)
        self.project = Project(made.folder, config, made.form, made.options, made.secret)
        known = [
            Example(id=f"k{n}", inputs={"text": f"既{n}"}, gold={"label": "neutral"})
            for n in range(gold)
        ]
        write_records(made.folder / KINDS["gold"], known, overwrite=True)
        self.db: Connection = self.database.connect(writes=True)
        self.db.begin()  # never committed: nothing here is about the disk
        for kind in ("main", "gold"):
            add_items(self.db, self.project, kind, made.folder / KINDS[kind])
        self.tokens = {name: hash_token(self.project.token(name)) for name in NAMES}
        for name in NAMES:
            add_worker(self.db, name, self.tokens[name], "link", language="ja", now=self.now)
        self.leases: dict[str, list[str]] = {name: [] for name in NAMES}
        self.order: dict[str, int] = {}
        self.handed: Counter[tuple[str, str]] = Counter()

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.rollback()
            self.db.close()
            self.folder.cleanup()

    def _fresh(self) -> str:
        self.key += 1
        return f"key{self.key}"

    def _any(self, which: int) -> tuple[str, str]:
        """One of all leases, the latest first."""
        held = [(name, lease) for name, leases in self.leases.items() for lease in leases]
        held.sort(key=lambda pair: -self.order[pair[1]])
        return held[which % len(held)]

    def _seen(self, name: str, standing: Any) -> None:
        held = standing.assigned
        if held is not None and held.lease not in self.leases[name]:
            self.leases[name].append(held.lease)
            self.order[held.lease] = len(self.order)
            (ref,) = self.db.one("SELECT ref FROM items WHERE id = ?", held.item) or ("",)
            if held.previous is None:
                self.handed[name, ref] += 1

    @rule(name=st.sampled_from(NAMES))
    def come(self, name: str) -> None:
        self._seen(name, next_item(self.db, self.project, self.tokens[name], self.now))

    @precondition(lambda self: any(self.leases.values()))
    @rule(which=st.integers(0, 30), again=st.booleans())
    def answer(self, which: int, again: bool) -> None:
        """Any lease a worker ever had: in time, late or answered before."""
        name, lease = self._any(which)
        given = Submission(lease, self._fresh(), '{"label":"neutral"}', correct=True)
        words = (self.db, self.project, self.tokens[name], given, self.now)
        with refused("already_answered") as told:
            saved, standing = save_answer(*words)
        if told:
            return
        self._seen(name, standing)
        if again:
            repeated, _ = save_answer(*words)
            assert repeated.duplicate
            assert repeated.surplus == saved.surplus

    @rule(
        events=st.lists(
            st.tuples(st.sampled_from(NAMES), st.integers(-3, 8)), min_size=2, max_size=8
        )
    )
    def at_once(self, events: list[tuple[str, int]]) -> None:
        """Some come, some answer, some withdraw, as the writer runs them: who refuses has written nothing."""
        for name, act in [self._event(name, which) for name, which in events]:
            changes = self.db.changes
            with refused("already_answered", "nothing_to_undo") as told:
                value = act()
                self._seen(name, value[1] if isinstance(value, tuple) else value)
            assert not told or self.db.changes == changes

    def _event(self, name: str, which: int) -> tuple[str, Callable[[], Any]]:
        if which == -1:
            words = (self.db, self.project, self.tokens[name], self._fresh(), self.now)
            return name, partial(undo_answer, *words)
        if which < 0 or not any(self.leases.values()):
            return name, partial(next_item, self.db, self.project, self.tokens[name], self.now)
        other, lease = self._any(which)
        given = Submission(lease, self._fresh(), '{"label":"neutral"}', correct=True)
        return other, partial(
            save_answer, self.db, self.project, self.tokens[other], given, self.now
        )

    @rule(name=st.sampled_from(NAMES))
    def withdraw(self, name: str) -> None:
        with refused("nothing_to_undo"):
            standing = undo_answer(
                self.db, self.project, self.tokens[name], self._fresh(), self.now
            )
            self._seen(name, standing)

    @precondition(lambda self: any(self.leases.values()))
    @rule(which=st.integers(0, 30))
    def report(self, which: int) -> None:
        name, lease = self._any(which)
        given = Report(lease, self._fresh(), "broken")
        with refused("already_answered") as told:
            _, standing = report_item(self.db, self.project, self.tokens[name], given, self.now)
        if told:
            return
        self._seen(name, standing)

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(which=st.integers(0, 30), names=st.permutations(NAMES))
    def all_come_after_a_while(self, which: int, names: list[str]) -> None:
        """What is overdue goes to others before its worker answers."""
        self.now += 61
        for name in names:
            self.come(name)
        if any(self.leases.values()):
            self.answer(which, again=False)

    @precondition(lambda self: self.judged != "nobody")
    @rule(name=st.sampled_from(NAMES), out=st.booleans())
    def judge(self, name: str, out: bool) -> None:
        worker = find_worker_by_name(self.db, name)
        assert worker is not None
        if out or self.judged == "both":
            (exclude if out else reinstate)(self.db, worker, "test", "owner", self.now)

    @invariant()
    def counts_are_what_the_rows_say(self) -> None:
        if not hasattr(self, "db"):
            return
        standing = Counter(ref for ref, _ in self.db.rows(STANDING))
        leased = Counter(
            item
            for (item,) in self.db.rows(
                "SELECT i.ref FROM leases l JOIN items i ON i.id = l.item WHERE l.state = 'open'"
            )
        )
        for ref, done, held, asked, kind in self.db.rows(SURPLUS):
            assert held == leased[ref]
            if kind == "main":
                assert done == standing[ref]
                assert (
                    self.judged == "both" or done + held <= asked
                )  # who is taken back counts again

    @invariant()
    def nobody_is_shown_an_item_twice_or_counted_twice(self) -> None:
        if not hasattr(self, "db"):
            return
        assert all(count == 1 for count in self.handed.values())
        assert all(count == 1 for count in Counter(self.db.rows(STANDING)).values())
        if self.project.settings.assign.one_per_group:
            groups = Counter(
                (name, int(ref[1:]) // 2) for name, ref in self.handed if ref[0] == "i"
            )
            assert all(count == 1 for count in groups.values())


@pytest.mark.slow
def test_assignment(database: str, tmp_path: Path) -> None:
    where = project_database(database, tmp_path, "assignment")
    db = where.connect()
    Store.create_tables(where, db)
    db.close()
    machine = type("Here", (Assignment,), {"database": where})
    how = settings(
        max_examples=10 if database else 50,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)


def test_an_order_is_a_permutation_and_differs_by_key() -> None:
    for size in (1, 2, 3, 16, 17, 1000):
        orders = [permute(range(size), size, key) for key in (1, 2)]
        assert all(sorted(order) == list(range(size)) for order in orders)
        assert size < 16 or orders[0] != orders[1]


def test_every_place_of_an_order_is_about_equally_likely() -> None:
    counts = Counter(permute([0], 10, key)[0] for key in range(2000))
    assert set(counts) == set(range(10))
    assert all(140 <= count <= 260 for count in counts.values())
