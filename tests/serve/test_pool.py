"""Connections to either database: transactions, savepoints, one writer with group commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.serve.database import Connection, Database, Sqlite, Writes, open_database
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.pool import MAX_BATCH, Pool


@pytest.fixture
def where(database: str, tmp_path: Path) -> Database:
    made = open_database(database, file=tmp_path / "x.db", schema="nikawa_pool_test")
    db = made.connect()
    with db.transaction():
        db.execute("DROP TABLE IF EXISTS notes")
        db.execute(
            "CREATE TABLE notes (id {int} PRIMARY KEY, text TEXT)".format(**made.column_types)
        )
    db.close()
    return made


@pytest.fixture
def pool(where: Database) -> Iterator[Pool]:
    with Pool(where) as made:
        yield made


def add(db: Connection, number: int, text: str = "") -> int:
    db.execute("INSERT INTO notes (id, text) VALUES (?, ?)", number, text)
    return number


def numbers(db: Connection) -> list[int]:
    return [number for (number,) in db.rows("SELECT id FROM notes ORDER BY id")]


def test_a_transaction_is_all_or_nothing(where: Database) -> None:
    db, other = where.connect(), where.connect()
    with db.transaction():
        add(db, 1)
        assert numbers(db) == [1]
        assert numbers(other) == []
    assert numbers(other) == [1]

    def half(db: Connection) -> None:
        with db.transaction():
            add(db, 2)
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        half(db)
    assert numbers(db) == numbers(other) == [1]
    db.close()
    other.close()


def test_writes_are_sent_together(where: Database) -> None:
    db = where.connect(writes=True)
    with db.transaction():
        add(db, 1)
        writes = Writes(db)
        writes.add("INSERT INTO notes (id, text) VALUES (?, ?)", 2, "二")
        writes.add("UPDATE notes SET text = ? WHERE id = ?", "一", 1)
        writes.add("INSERT INTO notes (id, text) VALUES (?, ?) ON CONFLICT DO NOTHING", 1, "x")
        assert numbers(db) == [1]
        changes = db.changes
        writes.send()
        writes.send()
        assert db.changes == changes + 1
    assert db.rows("SELECT id, text FROM notes ORDER BY id") == [(1, "一"), (2, "二")]
    db.close()


def test_bulk_and_long_results(where: Database) -> None:
    db = where.connect()
    with db.transaction():
        add(db, 0)
        db.load("notes", "id, text", ((n, f"文{n}") for n in range(1, 25_000)))
        db.execute_many("UPDATE notes SET text = ? WHERE id = ?", [("変", 1), ("更", 2)])
        db.analyse("notes")
        assert db.required("SELECT count(*), max(id) FROM notes") == (25_000, 24_999)
        assert sum(1 for _ in db.stream("SELECT id FROM notes WHERE id >= ?", 5000)) == 20_000
    assert db.rows("SELECT text FROM notes WHERE id IN (?, ?) ORDER BY id", 1, 2) == [
        ("変",),
        ("更",),
    ]
    assert db.has_table("notes")
    assert not db.has_table("nothing")
    db.close()


def test_many_write_and_each_gets_its_own_result(pool: Pool) -> None:
    futures = [pool.submit(add, n, text=str(n)) for n in range(3 * MAX_BATCH)]
    assert [future.result() for future in futures] == list(range(3 * MAX_BATCH))
    assert pool.read(numbers) == list(range(3 * MAX_BATCH))


def test_one_that_fails_leaves_the_others_of_its_batch(pool: Pool) -> None:
    begun, free = threading.Event(), threading.Event()

    def hold(_db: Connection) -> None:
        begun.set()
        free.wait(20)

    def refuse(db: Connection) -> None:
        add(db, 100)
        raise Refused("no")

    held = pool.submit(hold)
    assert begun.wait(20)
    futures: list[Any] = [
        pool.submit(add, 1),
        pool.submit(refuse),
        pool.submit(add, 1),
        pool.submit(add, 2),
    ]
    free.set()
    held.result()
    assert futures[0].result() == 1
    assert isinstance(futures[1].exception(), Refused)
    assert type(futures[2].exception()).__name__ in ("IntegrityError", "UniqueViolation")
    assert futures[3].result() == 2
    assert pool.read(numbers) == [1, 2]


def test_a_batch_that_is_lost_is_lost_whole_and_told(pool: Pool) -> None:
    def lose(db: Connection) -> None:
        add(db, 5)
        raise pool.database.lost[0]("gone")

    with pytest.raises(Unavailable, match="send it again"):
        pool.write(lose)
    assert pool.write(add, 6) == 6
    assert pool.read(numbers) == [6]


def test_what_was_submitted_is_written_though_its_client_has_gone(pool: Pool) -> None:
    gate = threading.Event()
    pool.submit(lambda _: gate.wait(10))
    future = pool.submit(add, 7)
    assert not future.cancel()
    gate.set()
    assert future.result(10) == 7
    assert pool.read(numbers) == [7]


def test_a_closed_pool_takes_nothing_more(where: Database) -> None:
    pool = Pool(where)
    gate = threading.Event()
    pool.submit(lambda _: gate.wait(10))
    last = pool.submit(add, 1)
    closing = threading.Thread(target=pool.close)
    closing.start()
    gate.set()
    closing.join(10)
    assert last.result(0) == 1
    with pytest.raises(Unavailable, match="being stopped"):
        pool.submit(add, 2)
    pool.close()


def test_addresses(tmp_path: Path) -> None:
    made = open_database("", file=tmp_path / "a.db", schema="x")
    assert isinstance(made, Sqlite)
    again = open_database(made.address, file=tmp_path / "b.db", schema="x")
    assert str(again) == str(tmp_path / "a.db")
    with pytest.raises(BadInput, match="not one of PostgreSQL"):
        open_database("mysql://x", file=tmp_path / "a.db", schema="x")
    (tmp_path / "a.db").write_text("no database at all, but long enough to be read as one" * 20)
    with pytest.raises(BadInput, match="cannot be used"):
        made.connect()
