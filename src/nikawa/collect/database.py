"""SQLite and PostgreSQL behind one narrow face: the same statements, written once with `?`.

A commit that returned is on disk: SQLite runs with a write-ahead log and full sync, PostgreSQL with its own commit.
Writers take one lock for a whole batch, so servers and commands on the same data take turns.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from nikawa.errors import BadInput, missing_extra

Row = tuple[Any, ...]
WAIT = 30_000
"""Milliseconds a writer waits for another process."""
CHUNK = 10_000
"""Rows fetched at a time from a long result."""
LOCK = 0x6E696B6177610001
"""The advisory lock of PostgreSQL that writers share; each project has a schema of its own."""


class Link(Protocol):
    """An open connection."""

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement; how many rows it touched."""
        ...

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a question."""
        ...

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row, if there is one."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        ...

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result, from one snapshot; others may write meanwhile."""
        ...

    def begin(self) -> None:
        """Start a batch, alone."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Database(Protocol):
    """Where the data of a project is."""

    words: dict[str, str]
    """What the schema's placeholders stand for."""
    lost: tuple[type[Exception], ...]
    """What is raised when the connection is gone or the disk is full: nothing was acknowledged."""

    def connect(self) -> Link:
        """A connection of its own, for one thread."""
        ...

    def __str__(self) -> str: ...


class _SqliteLink:
    def __init__(self, path: Path) -> None:
        self._raw = sqlite3.connect(path, timeout=WAIT / 1000, isolation_level=None, check_same_thread=False)
        self._raw.execute("PRAGMA journal_mode=WAL")
        self._raw.execute("PRAGMA synchronous=FULL")
        self._raw.execute("PRAGMA cache_size=-65536")

    def run(self, sql: str, *values: Any) -> int:
        return self._raw.execute(sql, values).rowcount

    def rows(self, sql: str, *values: Any) -> list[Row]:
        return self._raw.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Row | None:
        found: Row | None = self._raw.execute(sql, values).fetchone()
        return found

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._raw.executemany(sql, rows)

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        cursor = self._raw.execute(sql, values)
        while block := cursor.fetchmany(CHUNK):
            yield from block

    def begin(self) -> None:
        self._raw.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        self._raw.close()

    def copy_to(self, path: Path) -> None:
        """The database as it is now, whole, while others write."""
        target = sqlite3.connect(path)
        try:
            self._raw.backup(target, pages=4096, sleep=0.01)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, ready to be moved
        finally:
            target.close()


class Sqlite:
    """A file in the project's folder."""

    words = {  # noqa: RUF012  (a table of words, read only)
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "int": "INTEGER",
        "real": "REAL",
        "norowid": "WITHOUT ROWID",
    }
    lost: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, path: Path) -> None:
        self.path = path

    def connect(self) -> _SqliteLink:
        """Open the file; something else under its name is told."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # answers are nobody else's business
            return _SqliteLink(self.path)
        except sqlite3.DatabaseError as problem:
            cure = "restore a backup, or move it away"
            raise BadInput(f"cannot be used: {problem}", file=self.path, cure=cure) from None

    def __str__(self) -> str:
        return str(self.path)


@lru_cache(maxsize=512)
def _percent(sql: str) -> str:
    return sql.replace("?", "%s")


class _PostgresLink:
    def __init__(self, url: str, schema: str) -> None:
        import psycopg
        from psycopg import sql

        self._raw = psycopg.connect(url, autocommit=True, connect_timeout=10)
        name = sql.Identifier(schema)
        with self._raw.transaction():
            self._raw.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            self._raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        self._raw.execute(sql.SQL("SET search_path TO {}").format(name))
        self._raw.execute("SET synchronous_commit TO on")

    def run(self, sql: str, *values: Any) -> int:
        return int(self._raw.execute(_percent(sql), values or None).rowcount)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        found: list[Row] = self._raw.execute(_percent(sql), values).fetchall()
        return found

    def one(self, sql: str, *values: Any) -> Row | None:
        found: Row | None = self._raw.execute(_percent(sql), values).fetchone()
        return found

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._raw.cursor() as cursor:
            cursor.executemany(_percent(sql), rows)

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        with self._raw.transaction(), self._raw.cursor(name="stream") as cursor:
            cursor.itersize = CHUNK
            cursor.execute(_percent(sql), values)
            yield from cursor

    def begin(self) -> None:
        self._raw.execute("BEGIN")
        self._raw.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))

    def close(self) -> None:
        self._raw.close()


class Postgres:
    """A schema of a PostgreSQL database."""

    words = {  # noqa: RUF012  (a table of words, read only)
        "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "int": "BIGINT",
        "real": "DOUBLE PRECISION",
        "norowid": "",
    }

    def __init__(self, url: str, schema: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("psycopg, which speaks to PostgreSQL,", "postgres") from None
        self.url, self.schema = url, schema
        self.lost: tuple[type[Exception], ...] = (psycopg.OperationalError, psycopg.InterfaceError)

    def connect(self) -> _PostgresLink:
        """Connect; the address is not repeated in an error, since it may hold a password."""
        try:
            return _PostgresLink(self.url, self.schema)
        except self.lost as problem:
            what = str(problem).strip().splitlines()[0]
            cure = "check the address and that the server runs"
            raise BadInput(f"PostgreSQL does not answer: {what}", cure=cure) from None

    def __str__(self) -> str:
        return f"PostgreSQL, schema {self.schema}"


@contextmanager
def batch(link: Link) -> Iterator[None]:
    """All or nothing, alone among writers."""
    link.begin()
    try:
        yield
        link.run("COMMIT")
    except BaseException:
        link.run("ROLLBACK")
        raise


def found(link: Link, sql: str, *values: Any) -> Row:
    """The row that must be there."""
    row = link.one(sql, *values)
    assert row is not None, sql
    return row


def address(database: str, folder: Path, name: str) -> Database:
    """The database an address means: a PostgreSQL one, else the file in the folder."""
    if not database:
        return Sqlite(folder / "collect.db")
    if database.startswith(("postgresql://", "postgres://")):
        return Postgres(database, f"nikawa_{name}")
    if database.startswith("sqlite:///"):
        return Sqlite(Path(database.removeprefix("sqlite:///")))
    cure = "leave it out for SQLite, or write postgresql://USER@HOST/DATABASE"
    raise BadInput("the database address is not one of PostgreSQL", cure=cure)
