"""Several runs at a time, each in a process of its own that starts clean."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from nikawa.io.command import broken_pipes_told
from nikawa.io.processes import start_helper
from nikawa.run.executors._base import ExecutorKind, Work, threads_told
from nikawa.run.value import Outcome, RunSpec

KILLED = "its process was killed, perhaps for want of memory: try fewer --workers"


@dataclass(frozen=True)
class Pool:
    """The executor of a process pool."""

    work: Work
    workers: int = 2
    threads: int = 1

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """Outcomes as they come; a process that is killed costs its own run only."""
        left: dict[str, RunSpec] = {run.hash: run for run in runs}
        try:
            for outcome in self._together(list(left.values()), self.workers):
                del left[outcome.run.hash]
                yield outcome
        except BrokenProcessPool:  # whose run it was cannot be told: the rest go one by one
            yield from self._apart(list(left.values()))

    def _apart(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        for run in runs:
            try:
                yield from self._together([run], 1)
            except BrokenProcessPool:
                yield Outcome(run=run, status="failed", problem=KILLED)

    def _together(self, runs: Sequence[RunSpec], workers: int) -> Iterator[Outcome]:
        context, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
        with broken_pipes_told():  # a process that ended must not end this one, whenever that is noticed
            with threads_told(self.threads):
                pool = ProcessPoolExecutor(max(1, min(workers, len(runs))), context, start_helper)
                futures: list[Future[Outcome]] = [pool.submit(self.work, run) for run in runs]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                for process in set(multiprocessing.active_children()) - set(others):
                    process.terminate()
                raise
            finally:
                pool.shutdown(cancel_futures=True)


EXECUTOR = ExecutorKind("pool", "a pool of processes on this machine", Pool)
