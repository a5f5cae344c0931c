"""What an executor is: something that does work on items, in any order, somewhere that sees their inputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

Work = Callable[[Item], Result]
"""Works on one item. It can be pickled, and reports a failure in its result instead of raising."""

KILLED = "its process was killed, perhaps because memory ran out: try fewer --workers"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that numerical libraries read when they are loaded."""


@dataclass(frozen=True)
class Killed(Generic[Item]):
    """Replaces the result of an item whose process was killed."""

    item: Item
    problem: str = KILLED
    """The message for the user, with the cure."""


class Executor(Protocol[Item_contra, Result_co]):
    """Works on items somewhere. One that is a context manager is entered: it may keep what it started between two `submit`s."""

    def submit(self, items: Sequence[Item_contra], /) -> Iterator[Result_co]:
        """Yield one result per item (or `Killed`) as each finishes; closing the iterator early stops the work in progress."""
        ...


@dataclass(frozen=True)
class ExecutorKind:
    """An executor, as its file declares it."""

    name: str
    """The name for `--executor`."""
    title: str
    """One line for the list of executors."""
    make: Callable[[Work[Any, Any], int, int], Executor[Any, Any]]
    """From the work, the number of items at a time, and the threads of each."""


def open_executor(executor: Executor[Any, Any]) -> AbstractContextManager[object]:
    """The executor as a context manager, whether or not it has anything to keep."""
    return executor if isinstance(executor, AbstractContextManager) else nullcontext()


@contextmanager
def limit_future_threads(count: int) -> Iterator[None]:
    """Limit numerical libraries that are loaded now, here or in a new process, to so many threads."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(count)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def limit_threads(count: int) -> AbstractContextManager[object]:
    """Limit numerical libraries that are already loaded to so many threads.

    How many there are may change the last bits of a sum. `limit_future_threads` is for libraries that are loaded later.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(count)
    return limits
