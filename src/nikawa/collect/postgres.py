"""A project's data in a schema of a PostgreSQL database.

What costs here is the journey of a statement, not its work: writes travel together (`together`), the answers of
many workers share a commit (`writer`), and what is asked again and again is prepared once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from nikawa.collect.database import CHUNK, Row, Step
from nikawa.errors import BadInput, missing_extra

READER = "SET synchronous_commit TO on; SET jit TO off"
WRITER = (
    f"{READER}; SET enable_seqscan TO off; SET enable_hashjoin TO off; SET enable_mergejoin TO off;"
    " SET plan_cache_mode TO force_generic_plan"
)
"""The writer looks up rows by key: one plan serves all values, and a plan made while the tables were small must not
read them whole later."""


@lru_cache(maxsize=512)
def _percent(sql: str) -> str:
    return sql.replace("?", "%s")


@lru_cache(maxsize=512)
def _joined(statements: tuple[str, ...]) -> str:
    """Statements as one; PostgreSQL runs each part once, all on what was there before."""
    *parts, last = statements
    named = ", ".join(f"part{number} AS ({sql})" for number, sql in enumerate(parts))
    return _percent(f"WITH {named} {last}" if named else last)


class PostgresLink:
    """An open connection."""

    def __init__(self, url: str, schema: str, *, writes: bool) -> None:
        import psycopg
        from psycopg.types.numeric import Int8Dumper

        self._raw = psycopg.connect(url, autocommit=True, connect_timeout=10, prepare_threshold=2)
        self._raw.adapters.register_dumper(
            int, Int8Dumper
        )  # else each size of number is another statement
        digest = blake2b(schema.encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, signed=True)
        self._writes = self._mark = 0
        try:
            self._enter(schema, WRITER if writes else READER)
        except BaseException:
            self._raw.close()
            raise

    def _enter(self, schema: str, settings: str) -> None:
        """Make the schema where there is none, and stay in it."""
        from psycopg import sql

        name = sql.Identifier(schema)
        if self.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", schema) is None:
            with self._raw.transaction():
                self._plain(f"SELECT pg_advisory_xact_lock({self._lock})")
                self._raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        self._raw.execute(sql.SQL("SET search_path TO {}").format(name))
        self._plain(settings)

    def _plain(self, sql: str) -> None:
        """Statements without values, in one journey; nothing to prepare."""
        self._raw.execute(sql, prepare=False)

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement."""
        self._writes += 1
        return int(self._raw.execute(_percent(sql), values or None).rowcount)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows."""
        found: list[Row] = self._raw.execute(_percent(sql), values).fetchall()
        return found

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row."""
        found: Row | None = self._raw.execute(_percent(sql), values).fetchone()
        return found

    def each(self, questions: Sequence[Step]) -> list[Row | None]:
        """The first row of each question; all are sent before the first answer is read."""
        with self._raw.pipeline():
            asked = [self._raw.execute(_percent(sql), values) for sql, *values in questions]
        return [cursor.fetchone() for cursor in asked]

    def all(self, groups: Sequence[Sequence[Step]]) -> None:
        """A statement for each group; all are sent before the first answer is read."""
        with self._raw.pipeline():
            for steps in groups:
                self.together(*steps)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row, without waiting for each."""
        self._writes += 1
        with self._raw.cursor() as cursor:
            cursor.executemany(_percent(sql), rows)

    def together(self, *steps: Step) -> None:
        """Writes to different rows, as one statement."""
        self._writes += 1
        values = [value for step in steps for value in step[1:]]
        self._raw.execute(_joined(tuple(step[0] for step in steps)), values)

    def load(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add many rows by COPY."""
        self._writes += 1
        with (
            self._raw.cursor() as cursor,
            cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def settle(self, *tables: str) -> None:
        """Do not wait for the server's own round of counting, which may be a minute away."""
        self._plain(f"ANALYZE {', '.join(tables)}")

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """The rows of a long result, by a cursor of the server."""
        with self._raw.transaction(), self._raw.cursor(name="stream") as cursor:
            cursor.execute(_percent(sql), values)
            while block := cursor.fetchmany(CHUNK):
                yield from block

    def begin(self) -> None:
        """Start a batch and wait for the lock that the writers of the project share."""
        self._plain(f"BEGIN; SELECT pg_advisory_xact_lock({self._lock})")

    def commit(self) -> None:
        """End a batch on disk."""
        self._plain("COMMIT")

    def rollback(self) -> None:
        """End a batch as if it had not been."""
        self._plain("ROLLBACK")

    def mark(self) -> None:
        """Remember how much was written."""
        self._mark = self._writes

    def clean(self) -> bool:
        """Whether nothing was written since and no statement failed: after that the server takes none."""
        from psycopg.pq import TransactionStatus

        ready = self._raw.info.transaction_status == TransactionStatus.INTRANS
        return ready and self._writes == self._mark

    def close(self) -> None:
        """Hang up."""
        self._raw.close()


class Postgres:
    """A schema of a PostgreSQL database."""

    words = {  # noqa: RUF012  (a table of words, read only)
        "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "int": "BIGINT",
        "real": "DOUBLE PRECISION",
        "norowid": "",
        "roomy": "WITH (fillfactor = 70)",
    }

    def __init__(self, url: str, schema: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("psycopg, which speaks to PostgreSQL,", "postgres") from None
        self.address, self.schema = url, schema
        self.lost: tuple[type[Exception], ...] = (psycopg.OperationalError, psycopg.InterfaceError)
        self._any: type[Exception] = psycopg.Error

    def connect(self, *, writes: bool = False) -> PostgresLink:
        """Connect; the address is not repeated in an error, since it may hold a password."""
        try:
            return PostgresLink(self.address, self.schema, writes=writes)
        except self.lost as problem:
            what = str(problem).strip().splitlines()[0]
            cure = "check the address and that the server runs"
            raise BadInput(f"PostgreSQL does not answer: {what}", cure=cure) from None
        except self._any as problem:
            what = str(problem).strip().splitlines()[0]
            cure = "check the options of the address, and that its user may make a schema (GRANT CREATE ON DATABASE)"
            raise BadInput(f"PostgreSQL refuses: {what}", cure=cure) from None

    def __str__(self) -> str:
        return f"PostgreSQL, schema {self.schema}"
