"""Connections to either database: transactions, savepoints, one writer with group commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.serve.conftest import make_outage

from nikawa.errors import BadInput
from nikawa.serve.database import Connection, Database, DeferredWrites, Sqlite, open_database
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.writer import MAX_BATCH, MAX_READERS, DatabaseWriter


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
def writer(where: Database) -> Iterator[DatabaseWriter]:
    with DatabaseWriter(where) as made:
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
        writes = DeferredWrites(db)
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


def test_many_write_and_each_gets_its_own_result(writer: DatabaseWriter) -> None:
    futures = [writer.submit(add, n, text=str(n)) for n in range(3 * MAX_BATCH)]
    assert [future.result() for future in futures] == list(range(3 * MAX_BATCH))
    assert writer.read(numbers) == list(range(3 * MAX_BATCH))


def test_one_that_fails_leaves_the_others_of_its_batch(writer: DatabaseWriter) -> None:
    def refuse(db: Connection) -> None:
        add(db, 100)
        raise Refused("no")

    with busy(writer):
        futures: list[Any] = [
            writer.submit(add, 1),
            writer.submit(refuse),
            writer.submit(add, 1),
            writer.submit(add, 2),
        ]
    assert futures[0].result() == 1
    assert isinstance(futures[1].exception(), Refused)
    assert type(futures[2].exception()).__name__ in ("IntegrityError", "UniqueViolation")
    assert futures[3].result() == 2
    assert writer.read(numbers) == [1, 2]


def test_a_batch_that_is_lost_is_lost_whole_and_told(writer: DatabaseWriter) -> None:
    def lose(db: Connection) -> None:
        add(db, 5)
        raise make_outage(writer.database, "gone")

    with pytest.raises(Unavailable, match="send it again"):
        writer.write(lose)
    assert writer.write(add, 6) == 6
    assert writer.read(numbers) == [6]


@contextmanager
def busy(writer: DatabaseWriter) -> Iterator[None]:
    """Whatever is submitted meanwhile waits for one batch."""
    begun, free = threading.Event(), threading.Event()

    def wait(_db: Connection) -> None:
        begun.set()
        free.wait(60)

    first = writer.submit(wait)
    assert begun.wait(60)
    try:
        yield
    finally:
        free.set()
        first.result()


def test_a_wrong_statement_fails_its_own_request_and_is_no_outage(
    writer: DatabaseWriter, caplog: pytest.LogCaptureFixture
) -> None:
    def mistype(db: Connection) -> None:
        add(db, 100)
        db.execute("UPDATE notes SET txet = ?", "x")

    with busy(writer):
        futures: list[Any] = [
            writer.submit(add, 1),
            writer.submit(mistype),
            writer.submit(lambda db: db.rows("SELECT * FROM nothing")),
            writer.submit(add, 2),
        ]
    assert (futures[0].result(), futures[3].result()) == (1, 2)
    problems = [future.exception() for future in futures[1:3]]
    assert all(isinstance(problem, writer.database.error) for problem in problems)
    assert writer.read(numbers) == [1, 2]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["a request failed because of a bug"] * 2
    assert "txet" in caplog.text
    assert "Traceback" in caplog.text


def test_a_wrong_query_is_no_outage(
    writer: DatabaseWriter, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(writer.database.error):
        writer.read(lambda db: db.rows("SELECT txet FROM notes"))
    assert writer.read(numbers) == []
    assert not caplog.records


def test_a_locked_or_read_only_file_is_an_outage(tmp_path: Path) -> None:
    made = Sqlite(tmp_path / "x.db")
    db, other = made.connect(), made.connect()
    other.execute("PRAGMA busy_timeout=10")
    with db.transaction():
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
        with pytest.raises(made.error) as locked:
            other.begin()
    assert made.is_outage(locked.value)
    other.execute("PRAGMA query_only=ON")
    with pytest.raises(made.error) as read_only:
        other.execute("INSERT INTO notes (id) VALUES (1)")
    assert made.is_outage(read_only.value)
    with pytest.raises(made.error) as wrong:
        other.rows("SELECT di FROM notes")
    assert type(wrong.value) is type(locked.value)
    assert not made.is_outage(wrong.value)
    assert not made.is_outage(ValueError("x"))
    db.close()
    other.close()


def test_outages_of_postgresql_are_known_by_their_code(postgres: str, tmp_path: Path) -> None:
    made = open_database(postgres, file=tmp_path / "x.db", schema="nikawa_pool_test")
    db = made.connect()

    def fails(sql: str) -> bool:
        with pytest.raises(made.error) as problem:
            db.execute(sql)
        return made.is_outage(problem.value)

    def raised(state: str) -> str:
        return f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$"

    # connection, deadlock, disk full, shut down, disk fault, read-only, lock
    outages = ("08006", "40P01", "53100", "57P01", "58030", "25006", "55P03")
    assert all(fails(raised(state)) for state in outages)
    # no such column, index row too long, not unique, data
    assert not any(fails(raised(state)) for state in ("42703", "54000", "23505", "22021"))
    assert not fails("SELECT nothing")
    db.close()
    assert fails("SELECT 1")


def test_what_was_submitted_is_written_though_its_client_has_gone(writer: DatabaseWriter) -> None:
    gate = threading.Event()
    writer.submit(lambda _: gate.wait(60))
    future = writer.submit(add, 7)
    assert not future.cancel()
    gate.set()
    assert future.result(60) == 7
    assert writer.read(numbers) == [7]


def test_a_closed_pool_takes_nothing_more(where: Database) -> None:
    writer = DatabaseWriter(where)
    gate = threading.Event()
    writer.submit(lambda _: gate.wait(60))
    last = writer.submit(add, 1)
    closing = threading.Thread(target=writer.close)
    closing.start()
    gate.set()
    closing.join(60)
    assert last.result(0) == 1
    with pytest.raises(Unavailable, match="is stopping"):
        writer.submit(add, 2)
    writer.close()


def test_addresses(tmp_path: Path) -> None:
    made = open_database("", file=tmp_path / "a.db", schema="x")
    assert isinstance(made, Sqlite)
    again = open_database(made.address, file=tmp_path / "b.db", schema="x")
    assert str(again) == str(tmp_path / "a.db")
    with pytest.raises(BadInput, match="not a PostgreSQL address"):
        open_database("mysql://x", file=tmp_path / "a.db", schema="x")
    (tmp_path / "a.db").write_text("no database at all, but long enough to be read as one" * 20)
    with pytest.raises(BadInput, match="cannot be used"):
        made.connect()


def test_readers_are_few_and_wait_for_each_other(
    where: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = where.connect
    made: list[Connection] = []

    def connect_twice(*, writes: bool = False) -> Connection:
        if len(made) == 3:  # the writer and two readers: the database has no more to give
            raise BadInput("sorry, too many clients already")
        made.append(connect(writes=writes))
        return made[-1]

    monkeypatch.setattr(where, "connect", connect_twice)
    counts: list[int] = []

    def read_slowly(db: Connection) -> None:
        counts.append(len(numbers(db)))
        time.sleep(0.02)

    with DatabaseWriter(where) as writer:
        threads = [threading.Thread(target=writer.read, args=(read_slowly,)) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(counts) == 30

    made.clear()

    def connect_and_count(*, writes: bool = False) -> Connection:
        made.append(connect(writes=writes))
        return made[-1]

    monkeypatch.setattr(where, "connect", connect_and_count)
    with DatabaseWriter(where) as writer:
        threads = [threading.Thread(target=writer.read, args=(read_slowly,)) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) <= 1 + MAX_READERS


def test_a_reader_that_is_never_given_back_does_not_hang_the_others(
    writer: DatabaseWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.serve.writer.MAX_READERS", 1)
    monkeypatch.setattr("nikawa.serve.writer.READER_SECONDS", 0.1)
    with writer.connection(), pytest.raises(Unavailable, match="busy"):
        writer.read(numbers)
    assert writer.read(numbers) == []


@pytest.fixture
def postgres_writer(postgres: str, tmp_path: Path) -> Iterator[DatabaseWriter]:
    made = open_database(postgres, file=tmp_path / "none", schema="nikawa_patience_test")
    with DatabaseWriter(made) as writer:
        yield writer


def test_postgres_does_not_wait_for_ever(postgres_writer: DatabaseWriter) -> None:
    writer = postgres_writer

    def show(db: Connection, name: str) -> Any:
        return db.required(f"SHOW {name}")[0]

    shown = [
        writer.write(show, "lock_timeout"),
        writer.write(show, "idle_in_transaction_session_timeout"),
        writer.read(show, "statement_timeout"),
    ]
    assert "0" not in shown

    def wait(db: Connection) -> None:
        db.execute("SELECT pg_sleep(5)")

    def read_slowly(db: Connection) -> None:
        db.execute("SET statement_timeout TO '50ms'")
        wait(db)

    with pytest.raises(Unavailable):
        writer.read(read_slowly)
    assert writer.read(lambda db: db.required("SELECT 1")) == (1,)


def test_a_lock_that_another_keeps_is_an_outage(postgres_writer: DatabaseWriter) -> None:
    writer = postgres_writer
    writer.write(lambda db: db.execute("SET lock_timeout TO '100ms'"))
    other = writer.database.connect(writes=True)
    other.begin()
    try:
        with pytest.raises(Unavailable):
            writer.write(lambda db: db.required("SELECT 1"))
    finally:
        other.rollback()
        other.close()
    assert writer.write(lambda db: db.required("SELECT 1")) == (1,)


def test_a_transaction_that_was_ended_for_being_idle_is_an_outage(
    postgres: str, postgres_writer: DatabaseWriter
) -> None:
    writer = postgres_writer
    writer.write(lambda db: db.execute("SET idle_in_transaction_session_timeout TO '50ms'"))

    def dawdle(db: Connection) -> None:
        (pid,) = db.required("SELECT pg_backend_pid()")
        ends = time.monotonic() + 60
        with psycopg.connect(postgres, autocommit=True) as other:
            while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
                assert time.monotonic() < ends
                time.sleep(0.02)
        db.execute("SELECT 1")

    with pytest.raises(Unavailable):
        writer.write(dawdle)
    assert writer.write(lambda db: db.required("SELECT 1")) == (1,)
