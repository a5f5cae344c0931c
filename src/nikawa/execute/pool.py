"""Several items at a time in processes of this machine, which serve one list of items after another."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Literal, Self

from nikawa.execute.base import (
    ExecuteOptions,
    ExecutorKind,
    Item,
    Killed,
    OnWorkProgress,
    ProgressMeter,
    Result,
    Work,
    ignore_work_progress,
    limit_future_threads,
)
from nikawa.io.command import ignore_broken_pipes
from nikawa.io.processes import begin_worker, number_worker, process_pool


@dataclass
class Pool(Generic[Item, Result]):
    """The executor of a process pool. Entered by `with`, it keeps its processes from one `submit` to the next."""

    work: Work[Item, Result]
    workers: int = 2
    """Items at a time, each in a separate process."""
    threads: int = 1
    """Threads of the numerical libraries in each process."""
    on_progress: OnWorkProgress = ignore_work_progress
    _crew: _Crew[Item, Result] | None = field(default=None, init=False, repr=False)
    _keeps_crew: bool = field(default=False, init=False, repr=False)

    def __enter__(self) -> Self:
        self._keeps_crew = True
        return self

    def __exit__(self, *_: object) -> None:
        self._keeps_crew = False
        self._end_crew()

    def submit(self, items: Sequence[Item]) -> Iterator[Result | Killed[Item]]:
        """Yield results as they come; a killed process loses only its own item."""
        remaining = dict(enumerate(items))
        meter = ProgressMeter(len(items), self.on_progress)
        try:
            while remaining:
                self._crew = self._crew or _Crew(self.work, self.workers, self.threads)
                meter.report(1, min(self.workers, len(remaining)))
                try:
                    for number, result in self._crew.work_on(remaining):
                        del remaining[number]
                        meter.count()
                        meter.report(1, min(self.workers, len(remaining)))
                        yield result
                except BrokenProcessPool:
                    # the item of the killed process is not known: run each item in progress in a separate process
                    suspects = list(self._crew.under_way.values())
                    self._end_crew()
                    for number in suspects:
                        yield self._work_alone(remaining.pop(number))
        except BaseException:
            self._end_crew()
            raise
        if not self._keeps_crew:
            self._end_crew()

    def _work_alone(self, item: Item) -> Result | Killed[Item]:
        """Work on an item in a separate process, which no other item can have killed."""
        crew = _Crew(self.work, 1, self.threads)
        try:
            return next(crew.work_on({0: item}))[1]
        except BrokenProcessPool:
            return Killed(item)
        finally:
            crew.end()

    def _end_crew(self) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()


class _Crew(Generic[Item, Result]):
    """Processes at work, as many as there is work for."""

    def __init__(self, work: Work[Item, Result], workers: int, threads: int) -> None:
        self._work = work
        self._workers = max(1, workers)
        self._threads = threads
        self._around = ExitStack()
        # a process that ended must not end this one, whenever this is noticed
        self._around.enter_context(ignore_broken_pipes())
        context = multiprocessing.get_context("spawn")
        # by its number a process finds its own GPU
        begin = (number_worker, context.Value("i", 0))
        self._pool = ProcessPoolExecutor(self._workers, context, begin_worker, begin)
        self._processes: set[BaseProcess] = set()
        self.under_way: dict[Future[Result], int] = {}
        """Numbers of the items that processes work on."""

    def work_on(self, items: dict[int, Item]) -> Iterator[tuple[int, Result]]:
        """Number and result, as they come; no item waits in a process for another to end."""
        waiting = iter(list(items.items()))
        while True:
            for number, item in islice(waiting, self._workers - len(self.under_way)):
                others = set(multiprocessing.active_children())
                with limit_future_threads(self._threads):  # for a process that is started now
                    future = self._pool.submit(self._work, item)
                self.under_way[future] = number
                self._processes |= set(multiprocessing.active_children()) - others
            if not self.under_way:
                return
            done, _ = wait(self.under_way, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: future.exception() is not None):
                result = future.result()
                yield self.under_way.pop(future), result

    def end(self) -> None:
        """Release the processes; running ones are stopped."""
        with self._around:
            for process in self._processes if self.under_way else ():
                process.terminate()
            self._pool.shutdown(cancel_futures=True)
            self.under_way.clear()


def count_processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_pool(work: Work[Any, Any], options: ExecuteOptions) -> Pool[Any, Any]:
    """The pool that the options describe."""
    workers = options.workers or count_processors()
    return Pool(work, workers, options.threads, options.on_progress)


def map_in_pool(
    function: Callable[[Any], Any],
    chunks: Iterable[Any],
    options: ExecuteOptions,
    ahead: int,
    *,
    start: Literal["spawn", "fork"] = "spawn",
) -> Iterator[Any]:
    """`nikawa.execute.ordered.map_in_order` in processes, which end with this one."""
    workers = options.workers or count_processors()
    waiting: deque[Future[Any]] = deque()
    meter = ProgressMeter(0, options.on_progress)
    with process_pool(workers, _set_function, (function,), start=start) as pool:
        for chunk in chunks:
            waiting.append(pool.submit(_call_function, chunk))
            if len(waiting) >= ahead * workers:
                yield waiting.popleft().result()
                meter.count()
                meter.report(1, min(workers, len(waiting)))
        while waiting:
            yield waiting.popleft().result()


_function: list[Callable[[Any], Any]] = []
"""The function of this process: it is sent once, not with every chunk."""


def _set_function(function: Callable[[Any], Any]) -> None:
    _function[:] = [function]


def _call_function(chunk: Any) -> Any:
    return _function[0](chunk)


EXECUTOR = ExecutorKind("pool", "a pool of processes on this machine", make_pool, map_in_pool)
