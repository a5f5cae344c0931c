"""What an executor is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from nikawa.runs.value import Outcome, RunSpec

Work = Callable[[RunSpec], Outcome]
"""Does one run and tells what became of it; it can be pickled and never raises for a run that fails."""


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Executor(Protocol):
    """Does runs somewhere. One that can be entered by `with` is: it may keep what it started from one `submit` to the next."""

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """One outcome a run, as they are done; closing the iterator early ends what is under way."""
        ...


def entered(executor: Executor) -> AbstractContextManager[object]:
    """The executor as something to enter, whether or not it has anything to keep."""
    return executor if isinstance(executor, AbstractContextManager) else nullcontext()


@dataclass(frozen=True)
class ExecutorKind:
    """An executor, as its file declares it."""

    name: str
    title: str
    make: Callable[[Work, int, int], Executor]
    """From the work, the number of runs at a time, and the threads of each."""


@contextmanager
def threads_told(count: int) -> Iterator[None]:
    """Let numerical libraries that are loaded now, here or in a new process, keep to so many threads."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, str(count)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
