"""One thread writes. What waits is done in one batch and synced once, so that many workers cost few syncs.

An operation that raises is undone alone; the others of its batch stand. Mostly it raises before it writes anything,
and the batch goes on; else the batch is undone and each of its operations is done in one of its own. An operation may
therefore be called twice. A result is handed out only after the commit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from nikawa.collect.database import Database, Link
from nikawa.collect.lockstep import Outcome, in_step
from nikawa.collect.turn import Planned
from nikawa.errors import NikawaError

T = TypeVar("T")
Operation = Callable[[Link], Any]
Job = tuple[Operation, Future[Any]]
MOST = 64
"""Operations of one batch: the first of them waits for all."""
_log = logging.getLogger("nikawa.collect")


class Unavailable(NikawaError):
    """The database did not take it; nothing was acknowledged, so the same request may be sent again."""


class Outage:
    """Says once that the database is gone, and once that it is back, however many ask meanwhile."""

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
            _log.error("the database does not answer: %s; workers are asked to try again", why)

    def ends(self, *, writes: bool = False) -> None:
        """Something was done; that it can be read does not end a full disk."""
        if not self._gone or (self._refused and not writes):
            return
        with self._lock:
            back, self._gone, self._refused = self._gone, False, False
        if back:
            _log.warning("the database answers again")


class Writer:
    """The thread that writes, and the queue before it."""

    def __init__(self, database: Database, outage: Outage | None = None) -> None:
        self._database, self._outage = database, outage or Outage()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._link: Link | None = database.connect(writes=True)
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
            wanted = [job for job in jobs if job[1].set_running_or_notify_cancel()]
            if wanted:
                self._batch(wanted)
            if ended:
                return

    def _batch(self, jobs: list[Job]) -> None:
        try:
            outcomes = self._outcomes(jobs)
        except Exception as problem:
            self._drop()
            self._outage.begins(problem, writes=True)
            unavailable = Unavailable("the database did not take it; send it again")
            unavailable.__cause__ = problem
            outcomes = [(None, unavailable)] * len(jobs)
        else:
            self._outage.ends(writes=True)
        if outcomes is None:
            for job in jobs:
                self._batch([job])
            return
        for (_, future), (value, failure) in zip(jobs, outcomes, strict=True):
            future.set_exception(failure) if failure is not None else future.set_result(value)

    def _outcomes(self, jobs: list[Job]) -> list[Outcome] | None:
        """What came of each, once it is on disk; None when one spoilt the batch and nothing was done."""
        link = self._link = self._link or self._database.connect(writes=True)
        link.begin()
        link.mark()
        try:
            outcomes = self._in_step(link, jobs)
        except self._database.lost:
            raise
        except Exception:
            link.rollback()
            return None
        for number, (operation, _) in enumerate(jobs):
            if outcomes[number] is None:
                outcomes[number] = told = self._one(link, operation)
                if told[1] is not None and not link.clean():
                    link.rollback()
                    return [told] if len(jobs) == 1 else None
        link.commit()
        return [outcome for outcome in outcomes if outcome is not None]

    def _in_step(self, link: Link, jobs: list[Job]) -> list[Outcome | None]:
        """Do those together whose plans are known; None for the others, and for those that must come after them."""
        outcomes: list[Outcome | None] = [None] * len(jobs)
        planned = [(n, job[0]) for n, job in enumerate(jobs) if isinstance(job[0], Planned)]
        if len(planned) > 1:
            found = in_step(link, [plan for _, plan in planned], self._database.lost)
            for (number, _), outcome in zip(planned, found, strict=True):
                outcomes[number] = outcome
        return outcomes

    def _one(self, link: Link, operation: Operation) -> Outcome:
        link.mark()
        try:
            return operation(link), None
        except self._database.lost:
            raise
        except Exception as problem:
            return None, problem

    def _drop(self) -> None:
        """A fresh connection for the next batch: this one may be in any state."""
        link, self._link = self._link, None
        if link is not None:
            with suppress(Exception):
                link.rollback()
            with suppress(Exception):
                link.close()
