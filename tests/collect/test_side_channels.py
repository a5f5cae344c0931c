"""What the time of a response could tell: the same statements are run whatever the answer is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.collect.conftest import Crowd

from nikawa.serve import login
from nikawa.serve.database import Connection


def test_a_control_item_costs_the_same_statements_as_any_other(
    crowd: Callable[..., Crowd], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = crowd(items=60, control=30, gold={"rate": 0.5, "pass_mark": 0.0})
    here.join("hanako")
    run: list[str] = []

    def listen(kind: type[Connection]) -> None:
        for name in ("one", "rows", "execute", "execute_together"):
            original = getattr(kind, name)

            def record(self: Any, first: Any, *more: Any, _original: Any = original) -> Any:
                run.append(first if isinstance(first, str) else f"{len(first)} statements")
                return _original(self, first, *more)

            monkeypatch.setattr(kind, name, record)

    with here.store.connection() as db:
        listen(type(db))
    statements: dict[str, set[tuple[str, ...]]] = {"main": set(), "gold": set()}

    def kind_of(db: Connection, lease: str) -> str:
        sql = "SELECT i.kind FROM leases l JOIN items i ON i.id = l.item WHERE l.id = ?"
        return str(db.required(sql, lease)[0])

    for _ in range(30):
        run.clear()
        lease = here.lease("hanako")
        shapes = tuple(text.replace("execute", "") for text in run if "WITH part" not in text)
        kind = here.store.read(kind_of, lease)
        statements[kind].add(tuple(shape for shape in shapes if "seen_groups" not in shape))
        here.answer("hanako", lease=lease)
        here.store.write(lambda db: db.execute("UPDATE items SET grp = NULL"))
        here.store.write(lambda db: db.execute("UPDATE leases SET state = 'answered'"))
    assert statements["main"]
    assert statements["gold"]
    assert {len(shape) for shape in statements["main"]} == {
        len(shape) for shape in statements["gold"]
    }


def test_a_log_in_costs_the_same_whether_the_name_is_known(
    crowd: Callable[..., Crowd], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = crowd(items=1)
    kept = login.hash_password("a long password")
    here.store.write(lambda db: login.set_person(db, "owner", "owner", kept, 1.0))
    made: list[int] = []
    nobody = login._hash_of_nobody()

    def count_and_return() -> str:
        made.append(1)
        return nobody

    monkeypatch.setattr(login, "_hash_of_nobody", count_and_return)
    for name in ("owner", "nobody"):
        assert here.store.read(login.password_hash, name) == (kept if name == "owner" else nobody)
        assert made.pop() == 1  # the first of all makes it, and it may be either
