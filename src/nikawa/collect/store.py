"""The store of a project: one writer, a few readers, the same over SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from nikawa.collect.database import Database, Link, address
from nikawa.collect.schema import prepare
from nikawa.collect.sqlite import Sqlite
from nikawa.collect.writer import Outage, Unavailable, Writer
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing

T = TypeVar("T")


class Store:
    """What is known of a project beyond its files. Close it, or use it in a `with`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._idle: SimpleQueue[Link] = SimpleQueue()
        self._outage = Outage()
        link = database.connect()
        try:
            prepare(database, link)
        except BaseException:
            link.close()
            raise
        self._idle.put(link)
        self._writer = Writer(database, self._outage)

    def write(self, operation: Callable[[Link], T]) -> Future[T]:
        """Have an operation done by the writer; the future is ready when it is on disk."""
        return self._writer.submit(operation)

    def do(self, operation: Callable[[Link], T]) -> T:
        """Write, and wait for it."""
        return self.write(operation).result()

    @contextmanager
    def read(self) -> Iterator[Link]:
        """A connection to ask with; it sees what is committed."""
        link = self._connection()
        try:
            yield link
        except self.database.lost as problem:
            link.close()
            self._hang_up()  # what lay idle was lost with it
            self._outage.begins(problem)
            raise Unavailable("the database does not answer; ask again") from problem
        except BaseException:
            self._idle.put(link)
            raise
        self._idle.put(link)
        self._outage.ends()

    def _connection(self) -> Link:
        try:
            return self._idle.get_nowait()
        except Empty:
            pass
        try:
            return self.database.connect()
        except BadInput as problem:
            self._outage.begins(problem)
            raise Unavailable("the database does not answer; ask again") from problem

    def _hang_up(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def ask(self, question: Callable[[Link], T]) -> T:
        """Read once; a connection that was lost while it lay idle is made again."""
        try:
            with self.read() as link:
                return question(link)
        except Unavailable:
            with self.read() as link:
                return question(link)

    def backup(self, path: Path, *, overwrite: bool = False) -> None:
        """A copy of the whole database while people work; SQLite's own online backup."""
        if not isinstance(self.database, Sqlite):
            cure = "use pg_dump, which copies a running PostgreSQL"
            raise BadInput(f"{self.database} is not a SQLite file", cure=cure)
        refuse_existing(path, overwrite)
        link = self.database.connect()
        part = path.with_name(f".{path.name}.copy")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            link.copy_to(part)
            with atomic_write(path, overwrite=overwrite) as stream, part.open("rb") as copy:
                while block := copy.read(1 << 20):
                    stream.write(block)
            path.chmod(0o600)  # answers are nobody else's business, in a copy either
        finally:
            link.close()
            part.unlink(missing_ok=True)

    def close(self) -> None:
        """Finish what waits, and let go of the database."""
        self._writer.close()
        self._hang_up()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(database: str, folder: Path, name: str) -> Store:
    """The store of an address: empty for the file in the folder."""
    return Store(address(database, folder, name))
