"""A project's data in a SQLite file of its folder."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nikawa.collect.database import CHUNK, Row, Step
from nikawa.errors import BadInput

WAIT = 30_000
"""Milliseconds a writer waits for another process."""


class SqliteLink:
    """An open file."""

    def __init__(self, path: Path) -> None:
        self._raw = sqlite3.connect(
            path, timeout=WAIT / 1000, isolation_level=None, check_same_thread=False
        )
        self._raw.execute("PRAGMA journal_mode=WAL")
        self._raw.execute("PRAGMA synchronous=FULL")
        self._raw.execute("PRAGMA cache_size=-65536")
        self._writes = self._mark = 0

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement."""
        self._writes += 1
        return self._raw.execute(sql, values).rowcount

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows."""
        return self._raw.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row."""
        found: Row | None = self._raw.execute(sql, values).fetchone()
        return found

    def each(self, questions: Sequence[Step]) -> list[Row | None]:
        """The first row of each question."""
        return [self.one(*question) for question in questions]

    def all(self, groups: Sequence[Sequence[Step]]) -> None:
        """One group after the other."""
        for steps in groups:
            self.together(*steps)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        self._writes += 1
        self._raw.executemany(sql, rows)

    def together(self, *steps: Step) -> None:
        """One after the other: here a statement is a call, not a journey."""
        self._writes += 1
        for sql, *values in steps:
            self._raw.execute(sql, values)

    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add many rows."""
        marks = ", ".join("?" * (columns.count(",") + 1))
        self.many(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608  (our own names)

    def settle(self, *tables: str) -> None:
        """Nothing: the statements leave SQLite no choice of index."""

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result."""
        cursor = self._raw.execute(sql, values)
        while block := cursor.fetchmany(CHUNK):
            yield from block

    def begin(self) -> None:
        """Start a batch with the right to write, so that no other can come between."""
        self._raw.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End a batch on disk."""
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        """End a batch as if it had not been."""
        self._raw.execute("ROLLBACK")

    def mark(self) -> None:
        """Remember how much was written."""
        self._mark = self._writes

    def clean(self) -> bool:
        """Whether nothing was written since."""
        return self._writes == self._mark

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def copy_to(self, path: Path) -> None:
        """The database as it is now, whole, while others write."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
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
        "roomy": "",
    }
    lost: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = f"sqlite:///{path.absolute()}"

    def connect(self, *, writes: bool = False) -> SqliteLink:
        """Open the file; something else under its name is told."""
        with suppress(FileExistsError):
            # Answers are nobody else's business. A file that is there is never opened here: closing it again would
            # take away the locks of all connections of this process, and another process could remove the log.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            return SqliteLink(self.path)
        except sqlite3.DatabaseError as problem:
            cure = "restore a backup, or move it away"
            raise BadInput(f"cannot be used: {problem}", file=self.path, cure=cure) from None

    def __str__(self) -> str:
        return str(self.path)
