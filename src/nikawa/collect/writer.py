"""One thread writes. What waits is done in one batch and synced once, so that many workers cost few syncs.

An operation that raises is undone alone; the others of its batch stand. A result is handed out only after the commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from nikawa.collect.database import Database, Link
from nikawa.errors import NikawaError

T = TypeVar("T")
Operation = Callable[[Link], Any]
MOST = 128
"""Operations of one batch: the last of them waits for all."""


class Unavailable(NikawaError):
    """The database did not take it; nothing was acknowledged, so the same request may be sent again."""


class Writer:
    """The thread that writes, and the queue before it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: SimpleQueue[tuple[Operation, Future[Any]] | None] = SimpleQueue()
        self._link: Link | None = database.connect()
        self._thread = threading.Thread(target=self._loop, name="nikawa-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Link], T]) -> Future[T]:
        """Have an operation done; the future is ready when it is on disk."""
        future: Future[T] = Future()
        self._queue.put((operation, future))
        return future

    def close(self) -> None:
        """Finish what waits and stop."""
        self._queue.put(None)
        self._thread.join()
        if self._link is not None:
            self._link.close()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            jobs, ended = [first], False
            while len(jobs) < MOST and not self._queue.empty():
                job = self._queue.get()
                if job is None:
                    ended = True
                    break
                jobs.append(job)
            self._batch(jobs)
            if ended:
                return

    def _batch(self, jobs: list[tuple[Operation, Future[Any]]]) -> None:
        try:
            self._link = self._link or self._database.connect()
            self._link.begin()
            results = [_attempt(self._link, operation, self._database.lost) for operation, _ in jobs]
            self._link.run("COMMIT")
        except Exception as problem:
            self._drop()
            unavailable = Unavailable("the database did not take it; send it again")
            unavailable.__cause__ = problem
            for _, future in jobs:
                future.set_exception(unavailable)
            return
        for (_, future), (value, failure) in zip(jobs, results, strict=True):
            future.set_exception(failure) if failure is not None else future.set_result(value)

    def _drop(self) -> None:
        """A fresh connection for the next batch: this one may be in any state."""
        link, self._link = self._link, None
        if link is not None:
            with suppress(Exception):
                link.run("ROLLBACK")
            with suppress(Exception):
                link.close()


def _attempt(
    link: Link, operation: Operation, lost: tuple[type[Exception], ...]
) -> tuple[Any, Exception | None]:
    link.run("SAVEPOINT one")
    try:
        value = operation(link)
    except lost:
        raise
    except Exception as problem:
        link.run("ROLLBACK TO SAVEPOINT one")
        link.run("RELEASE SAVEPOINT one")
        return None, problem
    link.run("RELEASE SAVEPOINT one")
    return value, None
