"""SQLite and PostgreSQL behind one narrow face: the same statements, written once with `?`.

A commit that returned is on disk: SQLite runs with a write-ahead log and full sync, PostgreSQL with its own commit.
Writers take one lock for a whole transaction, so servers and commands on the same data take turns.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, missing_extra

Row = tuple[Any, ...]
Statement = tuple[Any, ...]
"""SQL, then its values."""
ROWS_PER_FETCH = 10_000
"""Rows fetched at a time from a long result."""
LOCK_WAIT_SECONDS = 30.0
"""How long a writer waits for another process, in PostgreSQL too."""


class Connection(ABC):
    """An open connection, used by one thread at a time."""

    changes: int = 0
    """How many times something was written."""

    @abstractmethod
    def execute(self, sql: str, *values: Any) -> None:
        """Run a statement that returns nothing."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""

    @abstractmethod
    def execute_together(self, statements: Sequence[Statement]) -> None:
        """Run statements that write to different rows, in one round trip; none sees what another did."""

    @abstractmethod
    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a query."""

    @abstractmethod
    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row of a query, if there is one."""

    @abstractmethod
    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result, from one snapshot; others may write meanwhile."""

    @abstractmethod
    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows as fast as the database can."""

    @abstractmethod
    def analyse(self, *tables: str) -> None:
        """Refresh the statistics of tables that changed much, so that queries are planned well."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""

    @abstractmethod
    def begin(self) -> None:
        """Start a transaction, alone among writers."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction: all of it is on disk when this returns."""

    @abstractmethod
    def rollback(self) -> None:
        """End the transaction: none of it happened."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection back."""

    def required(self, sql: str, *values: Any) -> Row:
        """The first row of a query that always has one."""
        row = self.one(sql, *values)
        assert row is not None, sql
        return row

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, alone among writers."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            with suppress(Exception):  # the first fault is the one to report
                self.rollback()
            raise


class DeferredWrites:
    """Statements that are kept and then sent together: a request that writes at its end costs one round trip for it.

    What is read before `send` is still as it was.

    **No two statements between one `send` and the next may write to the same row.** PostgreSQL gets them joined as
    the parts of one `WITH`: each part sees the rows as they were before all of them, and of two updates of a row
    one is lost without an error. SQLite runs them in turn, each on what the one before left, so a breach passes there
    unnoticed. Nothing checks this when the statements are added. Who must write to a row again, or
    read what was written, calls `send` first. `tests/collect/test_databases.py` runs every request
    of a worker on both databases and compares all tables.
    """

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._statements: list[Statement] = []

    def add(self, sql: str, *values: Any) -> None:
        """Keep a statement."""
        self._statements.append((sql, *values))

    def send(self) -> None:
        """Run what was kept."""
        statements, self._statements = self._statements, []
        if statements:
            self._db.execute_together(statements)


class Database(ABC):
    """Where the data of a server is."""

    column_types: Mapping[str, str]
    """What the placeholders of a table definition stand for: `{serial}`, `{int}`, `{real}`, `{norowid}`, `{fillfactor}`."""
    error: type[Exception]
    """What is raised when a statement fails, whatever the reason."""
    address: str
    """What `open_database` makes it from again; it may hold a password."""

    @abstractmethod
    def connect(self, *, writes: bool = False) -> Connection:
        """A new connection; that of a writer looks up rows by index only."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name; asking creates no file and no schema."""

    @abstractmethod
    def is_outage(self, problem: BaseException) -> bool:
        """Whether a statement failed for want of the database: it is gone, locked, full or read-only.

        The same request may be sent again then. A statement that is wrong is no outage but a fault of the
        program, and fails however often it is sent.
        """


def open_database(address: str, *, file: Path, schema: str) -> Database:
    """The database of an address: a schema of a PostgreSQL server, or `file` where the address is empty."""
    if not address:
        return Sqlite(file)
    if address.startswith(("postgresql://", "postgres://")):
        return Postgres(address, schema)
    if address.startswith("sqlite:///"):
        return Sqlite(Path(address.removeprefix("sqlite:///")))
    cure = "omit it for SQLite, or write postgresql://USER@HOST/DATABASE"
    raise BadInput("the database address is not a PostgreSQL address", cure=cure)


class SqliteConnection(Connection):
    """An open SQLite file."""

    def __init__(self, path: Path) -> None:
        self._raw = sqlite3.connect(
            path, timeout=LOCK_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._raw.execute("PRAGMA journal_mode=WAL")
        self._raw.execute("PRAGMA synchronous=FULL")
        self._raw.execute("PRAGMA cache_size=-65536")

    def execute(self, sql: str, *values: Any) -> None:
        """Run a statement that returns nothing."""
        self.changes += 1
        self._raw.execute(sql, values)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        self.changes += 1
        self._raw.executemany(sql, rows)

    def execute_together(self, statements: Sequence[Statement]) -> None:
        """Run one statement after the other: here a statement is a call, not a journey."""
        self.changes += 1
        for sql, *values in statements:
            self._raw.execute(sql, values)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        return self._raw.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row of a query, if there is one."""
        row: Row | None = self._raw.execute(sql, values).fetchone()
        return row

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result."""
        cursor = self._raw.execute(sql, values)
        while block := cursor.fetchmany(ROWS_PER_FETCH):
            yield from block

    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows."""
        marks = ", ".join("?" * (columns.count(",") + 1))
        self.execute_many(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608  (our own names)

    def analyse(self, *tables: str) -> None:
        """Nothing: the statements leave SQLite no choice of index."""

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return self.one("SELECT 1 FROM sqlite_master WHERE name = ?", name) is not None

    def begin(self) -> None:
        """Start a transaction with the right to write, so that no other can come between."""
        self._raw.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End the transaction on disk."""
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def copy_to(self, path: Path) -> None:
        """Write the database as it is now to another file, while others write."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        target = sqlite3.connect(path)
        try:
            self._raw.backup(target, pages=4096, sleep=0.01)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, ready to be moved
        finally:
            target.close()


_SQLITE_OUTAGES = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""Primary result codes (https://sqlite.org/rescode.html) of an outage."""


class Sqlite(Database):
    """A SQLite file."""

    column_types = {  # noqa: RUF012  (a table, read only)
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "int": "INTEGER",
        "real": "REAL",
        "norowid": "WITHOUT ROWID",
        "fillfactor": "",
    }
    error = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = f"sqlite:///{path.absolute()}"

    def connect(self, *, writes: bool = False) -> SqliteConnection:
        """Open the file, and create it where it is missing; a file that is no database is bad input."""
        with suppress(FileExistsError):
            # The data is private. A file that exists is never opened here: closing it again would
            # take away the locks of all connections of this process, and another process could remove the log.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            return SqliteConnection(self.path)
        except sqlite3.DatabaseError as problem:
            if not os.access(self.path, os.R_OK | os.W_OK):
                what = "cannot be read and written"
                raise BadInput(what, file=self.path, cure="check its permissions") from None
            cure = "restore a backup, or move it away"
            raise BadInput(f"cannot be used: {problem}", file=self.path, cure=cure) from None

    def has_table(self, name: str) -> bool:
        """Whether the file exists and has a table of this name."""
        if not self.path.exists():
            return False
        with closing(self.connect()) as db:
            return db.has_table(name)

    def is_outage(self, problem: BaseException) -> bool:
        """By SQLite's code: `OperationalError` is raised for a full disk and for a column that does not exist."""
        code = getattr(problem, "sqlite_errorcode", None)
        return (
            code is not None and code & 0xFF in _SQLITE_OUTAGES
        )  # the low byte is the primary code

    def __str__(self) -> str:
        return str(self.path)


_SETTINGS = "SET synchronous_commit TO on; SET jit TO off"
_READER_SETTINGS = (
    f"{_SETTINGS}; SET statement_timeout TO '60s'; SET lock_timeout TO '{LOCK_WAIT_SECONDS:.0f}s'"
)
_WRITER_SETTINGS = (
    f"{_SETTINGS}; SET lock_timeout TO '{LOCK_WAIT_SECONDS:.0f}s';"
    " SET idle_in_transaction_session_timeout TO '120s'; SET enable_seqscan TO off; SET enable_hashjoin TO off; SET enable_mergejoin TO off;"
    " SET plan_cache_mode TO force_generic_plan"
)
"""The writer looks up rows by key: one plan serves all values, and a plan made while the tables were small must not
read them whole later.

No request waits for ever: not for a lock that another program keeps, not for a query, and the lock of a server that was
stopped in the middle of a transaction is let go."""
_KEEPALIVES = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""How soon a connection to a machine that is gone without a word ends; an address may say otherwise."""


@lru_cache(maxsize=512)
def _with_percents(sql: str) -> str:
    """A statement with the placeholders of psycopg."""
    return sql.replace("?", "%s")


@lru_cache(maxsize=512)
def _joined(statements: tuple[str, ...]) -> str:
    """Statements as one; PostgreSQL runs each part once, all on what was there before."""
    *parts, last = statements
    named = ", ".join(f"part{number} AS ({sql})" for number, sql in enumerate(parts))
    return f"WITH {named} {last}" if named else last


class PostgresConnection(Connection):
    """An open connection to PostgreSQL, in one schema. What costs here is the journey of a statement, not its work."""

    def __init__(self, url: str, schema: str, *, writes: bool) -> None:
        import psycopg
        from psycopg import sql
        from psycopg.types.numeric import Int8Dumper

        given = psycopg.conninfo.conninfo_to_dict(url)
        options = {"connect_timeout": "10", **_KEEPALIVES}
        options = {name: value for name, value in options.items() if name not in given}
        self._raw = psycopg.connect(url, autocommit=True, prepare_threshold=2, **options)
        # One type for all integers: else each size of number is another prepared statement.
        self._raw.adapters.register_dumper(int, Int8Dumper)
        digest = blake2b(schema.encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, signed=True)
        try:
            name = sql.Identifier(schema)
            if self.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", schema) is None:
                with self._raw.transaction():
                    self._raw.execute(f"SELECT pg_advisory_xact_lock({self._lock})")
                    self._raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            self._raw.execute(sql.SQL("SET search_path TO {}").format(name))
            self._raw.execute(_WRITER_SETTINGS if writes else _READER_SETTINGS, prepare=False)
        except BaseException:
            self._raw.close()
            raise

    def _send(self, sql: str, values: Sequence[Any]) -> Any:
        """The cursor of a statement."""
        return self._raw.execute(_with_percents(sql), values or None)

    def execute(self, sql: str, *values: Any) -> None:
        """Run a statement that returns nothing."""
        self.changes += 1
        self._send(sql, values)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values, without waiting for each."""
        self.changes += 1
        with self._raw.cursor() as cursor:
            cursor.executemany(_with_percents(sql), rows)

    def execute_together(self, statements: Sequence[Statement]) -> None:
        """Run statements that write to different rows, as one."""
        sql = _joined(tuple(statement[0] for statement in statements))
        self.execute(sql, *(value for statement in statements for value in statement[1:]))

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        rows: list[Row] = self._send(sql, values).fetchall()
        return rows

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row of a query, if there is one."""
        row: Row | None = self._send(sql, values).fetchone()
        return row

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result, by a cursor of the server."""
        with self._raw.transaction(), self._raw.cursor(name="stream") as cursor:
            self._raw.execute("SET LOCAL statement_timeout TO 0")
            cursor.execute(_with_percents(sql), values)
            while block := cursor.fetchmany(ROWS_PER_FETCH):
                yield from block

    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows by COPY."""
        self.changes += 1
        command = f"COPY {table} ({columns}) FROM STDIN"
        with self._raw.cursor() as cursor, cursor.copy(command) as copy:
            for row in rows:
                copy.write_row(row)

    def analyse(self, *tables: str) -> None:
        """Do not wait for the server's own round of statistics, which may be a minute away."""
        self._send(f"ANALYZE {', '.join(tables)}", ())

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name in the schema."""
        return self.one("SELECT 1 WHERE to_regclass(?) IS NOT NULL", name) is not None

    def begin(self) -> None:
        """Start a transaction and wait for the lock that the writers of the schema share."""
        self._raw.execute(f"BEGIN; SELECT pg_advisory_xact_lock({self._lock})", prepare=False)

    def commit(self) -> None:
        """End the transaction on disk."""
        self._raw.execute("COMMIT", prepare=False)

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._raw.execute("ROLLBACK", prepare=False)

    def close(self) -> None:
        """Hang up."""
        self._raw.close()


_POSTGRES_OUTAGE_CLASSES = frozenset({"08", "40", "53", "57", "58"})
"""First two characters of the codes (PostgreSQL, Appendix A) of an outage: connection, rolled back by the server (deadlock),
resources such as disk space, shut down by an operator, fault of the system."""
_POSTGRES_OUTAGES = frozenset({"25006", "25P03", "25P04", "55P03"})
"""Read-only server, transaction ended because it was idle or took too long, lock not available."""


class Postgres(Database):
    """A schema of a PostgreSQL database."""

    column_types = {  # noqa: RUF012  (a table, read only)
        "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "int": "BIGINT",
        "real": "DOUBLE PRECISION",
        "norowid": "",
        "fillfactor": "WITH (fillfactor = 70)",
    }

    def __init__(self, url: str, schema: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("psycopg, which connects to PostgreSQL,", "postgres") from None
        self.address, self.schema = url, schema
        self.error = psycopg.Error
        self._no_answer = (psycopg.OperationalError, psycopg.InterfaceError)

    def connect(self, *, writes: bool = False) -> PostgresConnection:
        """Connect; the address is not repeated in an error, since it may hold a password."""
        with self._explained_failures():
            return PostgresConnection(self.address, self.schema, writes=writes)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name in the schema."""
        import psycopg

        sql = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = %s"
        with (
            self._explained_failures(),
            psycopg.connect(self.address, autocommit=True, connect_timeout=10) as raw,
        ):
            return raw.execute(sql, (self.schema, name)).fetchone() is not None

    @contextmanager
    def _explained_failures(self) -> Iterator[None]:
        """Make one line of what the server says to a connection."""
        try:
            yield
        except self._no_answer as problem:
            what = str(problem).strip().splitlines()[0]
            cure = "check the address, and that the server is running"
            raise BadInput(f"PostgreSQL does not answer: {what}", cure=cure) from None
        except self.error as problem:
            what = str(problem).strip().splitlines()[0]
            cure = "check the options of the address, and that its user may create a schema (GRANT CREATE ON DATABASE)"
            raise BadInput(f"PostgreSQL refuses: {what}", cure=cure) from None

    def is_outage(self, problem: BaseException) -> bool:
        """By PostgreSQL's code; without one, psycopg itself found that the connection is gone."""
        state = getattr(problem, "sqlstate", None)
        if state is None:
            return isinstance(problem, self._no_answer)
        return state[:2] in _POSTGRES_OUTAGE_CLASSES or state in _POSTGRES_OUTAGES

    def __str__(self) -> str:
        return f"PostgreSQL, schema {self.schema}"
