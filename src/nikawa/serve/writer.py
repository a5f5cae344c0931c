"""Connections to a database for many threads: readers as needed, and one thread that writes.

A request that writes is a plain function of a connection. The writer takes all functions that wait, runs them one after
the other in one transaction, and commits once (group commit): many requests cost few syncs. A function that refuses its
request does so before it writes, and the others of its batch are kept. Where one fails later, or by a statement that is
wrong, the batch is undone and each of its functions is called again, in a separate transaction. A result is handed
out only after the commit, when it is on disk. Only where the database is gone or full does the whole batch fail, as
`Unavailable`: each client sends its request again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, ParamSpec, TypeVar

from nikawa.errors import BadInput, NikawaError
from nikawa.serve.database import Connection, Database
from nikawa.serve.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")
Job = tuple[Callable[[Connection], Any], Future[Any]]
MAX_BATCH = 64
"""Functions of one transaction: the first of them waits for all."""
MAX_READERS = 8
"""Connections that read, of one server: others need some of what a database has to give."""
READER_SECONDS = 10.0
"""How long a read waits for one of them."""
_log = logging.getLogger("nikawa.serve")


class DatabaseWriter:
    """The one thread of a server that writes, and its connections that read. Close it, or use it in a `with`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._outage = Outage()
        self._idle: SimpleQueue[Connection | None] = SimpleQueue()
        """Idle connections; None says that a place for another one came free."""
        self._readers = 0
        """Connections that read, idle ones too."""
        self._counting = threading.Lock()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._is_closed = False
        self._write_connection: Connection | None = database.connect(writes=True)
        self._writer = threading.Thread(
            target=self._write_batches, name="nikawa-writer", daemon=True
        )
        self._writer.start()

    def submit(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Have the writer call `function(connection, *args, **kwargs)`; the future is ready when it is on disk.

        Nothing that was submitted is taken back: cancelling the future, as a request does whose client has
        gone, blocks no other request. Raises `Unavailable` once it is closed.
        """
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        with self._closing:
            if self._is_closed:
                raise Unavailable("the server is stopping; send it again")
            self._jobs.put((partial(_call, function, args, kwargs), future))
        return future

    def write(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Have the writer call a function, and wait until it is on disk."""
        return self.submit(function, *args, **kwargs).result()

    def read(
        self,
        function: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a function that only reads; a connection that was lost while it lay idle is made again."""
        try:
            with self.connection() as db:
                return function(db, *args, **kwargs)
        except Unavailable:
            with self.connection() as db:
                return function(db, *args, **kwargs)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection to read with; it sees what is committed."""
        db = self._reader()
        try:
            yield db
        except BaseException as problem:
            if not self.database.is_outage(problem):
                self._idle.put(db)
                raise
            self._drop_reader(db)
            self._close_idle()  # what lay idle was lost with it
            self._outage.begins(problem)
            raise Unavailable("the database does not respond; try again") from problem
        self._idle.put(db)
        self._outage.ends()

    def _reader(self) -> Connection:
        """An idle connection, else a new one, else the next that is returned."""
        ends = time.monotonic() + READER_SECONDS
        with suppress(Empty):
            db = self._idle.get_nowait()
            if db is not None:
                return db
        while True:
            with self._counting:
                may_connect = self._readers < MAX_READERS
                self._readers += may_connect
            if may_connect:
                try:
                    return self.database.connect()
                except BadInput as problem:
                    with self._counting:
                        self._readers -= 1
                        is_alone = not self._readers
                    if (
                        is_alone
                    ):  # else those that are there will do: the database may have no more to give
                        self._outage.begins(problem)
                        raise Unavailable("the database does not respond; try again") from problem
            try:
                db = self._idle.get(timeout=max(0.0, ends - time.monotonic()))
            except Empty:
                raise Unavailable("the database is busy; try again") from None
            if db is not None:
                return db

    def _drop_reader(self, db: Connection) -> None:
        with suppress(Exception):
            db.close()
        with self._counting:
            self._readers -= 1
        self._idle.put(None)  # who waits may make a new one

    def close(self) -> None:
        """Finish what waits, and let go of the database."""
        with self._closing:
            self._is_closed = True
            self._jobs.put(None)
        self._writer.join()
        if self._write_connection is not None:
            self._write_connection.close()
        self._close_idle()

    def _close_idle(self) -> None:
        idle = []
        with suppress(Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for db in idle:
            if db is not None:
                self._drop_reader(db)

    def _write_batches(self) -> None:
        """The writer's thread: a batch of all that waits, until None comes."""
        is_closing = False
        while not is_closing:
            waiting = [self._jobs.get()]
            while len(waiting) < MAX_BATCH and not self._jobs.empty():
                waiting.append(self._jobs.get())
            is_closing = None in waiting
            if batch := [job for job in waiting if job is not None]:
                self._write_batch(batch)

    def _write_batch(self, batch: list[Job]) -> None:
        """Run functions in one transaction and hand out what came of each, once it is on disk."""
        try:
            db = self._write_connection = self._write_connection or self.database.connect(
                writes=True
            )
            with db.transaction():
                outcomes = [self._run(db, function) for function, _ in batch]
        except _RollbackNeeded as failed:
            if len(batch) == 1:
                if not isinstance(failed.problem, NikawaError):
                    _log.error("a request failed because of a bug", exc_info=failed.problem)
                batch[0][1].set_exception(failed.problem)
                return
            for job in batch:
                self._write_batch([job])
            return
        except Exception as problem:  # the connection is gone, or the disk is full
            self._drop_write_connection()
            self._outage.begins(problem, writes=True)
            unavailable = Unavailable("the database did not store the request; send it again")
            unavailable.__cause__ = problem
            outcomes = [(None, unavailable)] * len(batch)
        else:
            self._outage.ends(writes=True)
        for (_, future), (result, failure) in zip(batch, outcomes, strict=True):
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)

    def _run(
        self, db: Connection, function: Callable[[Connection], Any]
    ) -> tuple[Any, Exception | None]:
        """What a function returns, or why it refuses; raises `_RollbackNeeded` where the transaction cannot go on."""
        changes = db.changes
        try:
            return function(db), None
        except Exception as problem:
            if self.database.is_outage(problem):
                raise
            if isinstance(problem, self.database.error) or db.changes != changes:
                raise _RollbackNeeded(problem) from problem
            return None, problem

    def _drop_write_connection(self) -> None:
        """Take a fresh connection for the next batch: this one may be in any state."""
        db, self._write_connection = self._write_connection, None
        if db is not None:
            with suppress(Exception):
                db.close()

    def __enter__(self) -> DatabaseWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(
    function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], db: Connection
) -> T:
    return function(db, *args, **kwargs)


class _RollbackNeeded(Exception):
    """A function failed after it wrote, or by a statement that failed: its transaction must be undone."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem
        super().__init__(str(problem))


class Outage:
    """Logs once that the database is gone, and once that it is back, however many ask meanwhile."""

    def __init__(self) -> None:
        self._gone = self._refused = False
        self._lock = threading.Lock()

    def begins(self, problem: BaseException, *, writes: bool = False) -> None:
        """Something failed for want of the database."""
        with self._lock:
            first, self._gone = not self._gone, True
            self._refused |= writes
        if first:
            why = (str(problem).strip() or type(problem).__name__).splitlines()[0]
            _log.error("the database does not respond: %s; workers are asked to try again", why)

    def ends(self, *, writes: bool = False) -> None:
        """Something was done; that it can be read does not end a full disk."""
        if not self._gone or (self._refused and not writes):
            return
        with self._lock:
            back, self._gone, self._refused = self._gone, False, False
        if back:
            _log.warning("the database responds again")
