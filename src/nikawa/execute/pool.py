"""Several runs at a time in processes that start clean, and that serve one list of runs after the other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.process import BaseProcess
from typing import Self

from nikawa.execute.base import ExecutorKind, Work, threads_told
from nikawa.io.command import broken_pipes_told
from nikawa.io.processes import start_helper
from nikawa.runs.value import Outcome, RunSpec

KILLED = "its process was killed, perhaps for want of memory: try fewer --workers"


@dataclass
class Pool:
    """The executor of a process pool. Entered by `with`, it keeps its processes from one `submit` to the next."""

    work: Work
    workers: int = 2
    threads: int = 1
    _crew: _Crew | None = field(default=None, init=False, repr=False)
    _kept: bool = field(default=False, init=False, repr=False)

    def __enter__(self) -> Self:
        self._kept = True
        return self

    def __exit__(self, *_: object) -> None:
        self._kept = False
        self._end()

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """Outcomes as they come; a process that is killed costs its own run only."""
        left = {run.hash: run for run in runs}
        try:
            while left:
                for outcome in self._outcomes(list(left.values())):
                    del left[outcome.run.hash]
                    yield outcome
        except BaseException:
            self._end()
            raise
        if not self._kept:
            self._end()

    def _outcomes(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """Those of the runs together; where a process was killed, of those alone that were under way then."""
        self._crew = self._crew or _Crew(self.work, self.workers, self.threads)
        try:
            yield from self._crew.outcomes(runs)
        except BrokenProcessPool:  # whose run it was cannot be told: each of them goes by itself
            suspects = list(self._crew.under_way.values())
            self._end()
            for run in suspects:
                yield self._alone(run)

    def _alone(self, run: RunSpec) -> Outcome:
        crew = _Crew(self.work, 1, self.threads)
        try:
            return next(crew.outcomes([run]))
        except BrokenProcessPool:
            return Outcome(run=run, status="failed", problem=KILLED)
        finally:
            crew.end()

    def _end(self) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()


class _Crew:
    """Processes at work, as many as there is work for."""

    def __init__(self, work: Work, workers: int, threads: int) -> None:
        self._work, self._workers, self._threads = work, max(1, workers), threads
        self._around = ExitStack()
        self._around.enter_context(
            broken_pipes_told()
        )  # one that ended must not end this one, whenever that is noticed
        self._pool = ProcessPoolExecutor(
            self._workers, multiprocessing.get_context("spawn"), start_helper
        )
        self._own: set[BaseProcess] = set()
        self.under_way: dict[Future[Outcome], RunSpec] = {}

    def outcomes(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """As they come; no run waits in a process for another to end, so that `under_way` are those at work."""
        waiting = iter(runs)
        while True:
            for run in islice(waiting, self._workers - len(self.under_way)):
                self._begin(run)
            if not self.under_way:
                return
            done, _ = wait(self.under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: future.exception() is not None):
                outcome = future.result()
                del self.under_way[future]
                yield outcome

    def _begin(self, run: RunSpec) -> None:
        others = set(multiprocessing.active_children())
        with threads_told(self._threads):  # a process that is started for it keeps to them
            future = self._pool.submit(self._work, run)
        self.under_way[future] = run
        self._own |= set(multiprocessing.active_children()) - others

    def end(self) -> None:
        """Let the processes go; those at work are ended."""
        with self._around:
            for process in self._own if self.under_way else ():
                process.terminate()
            self._pool.shutdown(cancel_futures=True)
            self.under_way.clear()


EXECUTOR = ExecutorKind("pool", "a pool of processes on this machine", Pool)
