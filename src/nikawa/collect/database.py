"""SQLite and PostgreSQL behind one narrow face: the same statements, written once with `?`.

A commit that returned is on disk: SQLite runs with a write-ahead log and full sync, PostgreSQL with its own commit.
Writers take one lock for a whole batch, so servers and commands on the same data take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from nikawa.errors import BadInput

Row = tuple[Any, ...]
Step = tuple[Any, ...]
"""A statement, then its values."""
CHUNK = 10_000
"""Rows fetched at a time from a long result."""


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

    def each(self, questions: Sequence[Step]) -> list[Row | None]:
        """The first row of each of several questions, in one round trip where the database can."""
        ...

    def all(self, groups: Sequence[Sequence[Step]]) -> None:
        """`together` for each group, one after the other, in one round trip where the database can."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        ...

    def together(self, *steps: Step) -> None:
        """Writes to different rows, in one round trip where the database can; none sees what another did."""
        ...

    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add many rows."""
        ...

    def settle(self, *tables: str) -> None:
        """Count again what is in tables that changed much, so that questions are planned well."""
        ...

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result, from one snapshot; others may write meanwhile."""
        ...

    def begin(self) -> None:
        """Start a batch, alone."""
        ...

    def commit(self) -> None:
        """End a batch: all of it is on disk when this returns."""
        ...

    def rollback(self) -> None:
        """End a batch: none of it was."""
        ...

    def mark(self) -> None:
        """Remember this place in the batch."""
        ...

    def clean(self) -> bool:
        """Whether nothing was written since the mark, and the batch can go on."""
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

    address: str
    """What `address` makes it from again; it may hold a password."""

    def connect(self, *, writes: bool = False) -> Link:
        """A connection of its own, for one thread; that of the writer looks up rows by index only."""
        ...

    def __str__(self) -> str: ...


@contextmanager
def batch(link: Link) -> Iterator[None]:
    """All or nothing, alone among writers."""
    link.begin()
    try:
        yield
        link.commit()
    except BaseException:
        link.rollback()
        raise


def found(link: Link, sql: str, *values: Any) -> Row:
    """The row that must be there."""
    row = link.one(sql, *values)
    assert row is not None, sql
    return row


def address(database: str, folder: Path, name: str) -> Database:
    """The database an address means: a PostgreSQL one, else the file in the folder."""
    from nikawa.collect.postgres import Postgres
    from nikawa.collect.sqlite import Sqlite

    if not database:
        return Sqlite(folder / "collect.db")
    if database.startswith(("postgresql://", "postgres://")):
        return Postgres(database, f"nikawa_{name}")
    if database.startswith("sqlite:///"):
        return Sqlite(Path(database.removeprefix("sqlite:///")))
    cure = "leave it out for SQLite, or write postgresql://USER@HOST/DATABASE"
    raise BadInput("the database address is not one of PostgreSQL", cure=cure)
