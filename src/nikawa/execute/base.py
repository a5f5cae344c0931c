"""What an executor is: something that does work on items, in any order, here or on other machines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

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


@dataclass(frozen=True)
class Resources:
    """What one item needs of a machine while it is worked on."""

    cpus: float = 1.0
    gpus: float | None = 0.0
    """A share is allowed: with 0.25, four items use one GPU at a time. None: the work can use a GPU, and the user has not said
    whether it should; then a cluster with GPUs refuses it."""
    memory: int = 0
    """Bytes; 0: not declared."""


@dataclass(frozen=True)
class WorkProgress:
    """How far an executor has come."""

    nodes: int
    """Machines that can work now."""
    under_way: int
    """Items that machines work on now."""
    done: int
    total: int
    """Items in all; 0: not known yet."""
    seconds_left: float | None = None
    """An estimate; None: not known yet."""

    def describe(self, noun: str) -> str:
        """One line for a progress bar.

        >>> WorkProgress(nodes=0, under_way=0, done=1, total=9).describe("run")
        'waiting for a node that has room for a run'

        >>> WorkProgress(nodes=2, under_way=3, done=1, total=9, seconds_left=250.0).describe("run")
        '2 nodes, 3 runs under way, about 5 min left'
        """
        if not self.nodes:
            return f"waiting for a node that has room for a {noun}"
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        items = f"1 {noun}" if self.under_way == 1 else f"{self.under_way} {noun}s"
        return ", ".join(filter(None, (nodes, f"{items} under way", self._describe_time())))

    def _describe_time(self) -> str:
        if self.seconds_left is None:
            return ""
        if self.seconds_left < 60:
            return "less than 1 min left"
        minutes = -int(-self.seconds_left // 60)
        return f"about {minutes} min left" if minutes < 120 else f"about {minutes // 60} h left"


OnWorkProgress = Callable[[WorkProgress], None]


def ignore_work_progress(_progress: WorkProgress) -> None:
    """Report nothing: the default `OnWorkProgress`."""


work_listener: ContextVar[OnWorkProgress] = ContextVar(
    "work_listener", default=ignore_work_progress
)
"""Is called with how far the machines of a cluster are with the chunks of a job: a command sets it around the job."""


@dataclass(frozen=True)
class ExecuteOptions:
    """Where to work, and with what."""

    executor: str = ""
    """By name; empty: a pool of processes, or this process where there is one worker."""
    workers: int = 0
    """Items at a time; 0: as many as the machine, or the cluster, has room for."""
    threads: int = 1
    """Threads of numerical libraries per item."""
    resources: Resources = Resources()
    """What an item needs; a pool on this machine does not check it."""
    address: str = ""
    """Where the cluster is: HOST:PORT, or `auto` for the one that this machine belongs to."""
    on_progress: OnWorkProgress = field(default=ignore_work_progress, compare=False)


class Executor(Protocol[Item_contra, Result_co]):
    """Works on items somewhere. One that is a context manager is entered: it may keep what it started between two `submit`s."""

    def submit(self, items: Sequence[Item_contra], /) -> Iterator[Result_co]:
        """Yield one result per item (or `Killed`) as each finishes; closing the iterator early stops the work in progress."""
        ...


MapInOrder = Callable[[Callable[[Any], Any], Iterable[Any], ExecuteOptions, int], Iterator[Any]]
"""From a function, the chunks, the options and the chunks that each worker may be ahead of the reader."""


class State(Protocol):
    """What a job keeps from chunk to chunk, such as a table, where it does not fit into the memory of one machine."""

    def dump(self) -> bytes:
        """Everything that it holds."""
        ...

    def load(self, content: bytes) -> None:
        """Hold what `dump` returned."""
        ...


class Keeper(Protocol):
    """Keeps a `State`, here or on another machine. Calls reach it in the order in which they were made."""

    def ask(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call a method that changes nothing. What is returned waits for its result."""
        ...

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method that changes the state, whenever it comes to pass; it must have the same effect each time."""
        ...


@dataclass
class LocalKeeper:
    """Keeps a state in this process."""

    state: State

    def ask(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call it at once."""
        result = getattr(self.state, method)(*arguments)
        return lambda: result

    def tell(self, method: str, *arguments: Any) -> None:
        """Call it at once."""
        getattr(self.state, method)(*arguments)


Keep = Callable[[Sequence[Callable[[], Any]], ExecuteOptions], AbstractContextManager[list[Keeper]]]
"""From what makes each state, and the options: a keeper of each, while the block runs."""


@dataclass(frozen=True)
class ExecutorKind:
    """An executor, as its file declares it."""

    name: str
    """The name for `--executor`."""
    title: str
    """One line for the list of executors."""
    make: Callable[..., Executor[Any, Any]]
    """From the work and the `ExecuteOptions`. Executors written for earlier versions take three arguments: the work, the number
    of items at a time, and the threads of each."""
    map_in_order: MapInOrder | None = None
    """The ordered map over chunks; None: the executor does not offer it."""
    keep: Keep | None = None
    """Keeps states on other machines; None: they are in this process."""
    is_cluster: bool = False
    """Whether it has machines of its own: then it takes an address and resources, and decides how many items run at a
    time."""

    def open(self, work: Work[Any, Any], options: ExecuteOptions) -> Executor[Any, Any]:
        """Make the executor."""
        try:
            signature(self.make).bind(work, options)
        except TypeError:
            return self.make(work, options.workers, options.threads)
        return self.make(work, options)


@dataclass(frozen=True)
class FunctionWithFiles(Generic[Item, Result]):
    """A function over chunks that reads files. On a cluster they travel by content, once to each node.

    Each process builds the function once, when it gets its first chunk.
    """

    build: Callable[[Mapping[str, Path]], Callable[[Item], Result]]
    """Makes the function from the places of the files on the machine that it is called on. It can be pickled."""
    files: Mapping[str, Path]
    """Files or folders of this machine, by any name."""

    def __call__(self, chunk: Item) -> Result:
        """Call the function with the files of this machine."""
        return self._function(chunk)

    @cached_property
    def _function(self) -> Callable[[Item], Result]:
        return self.build(self.files)

    def __reduce__(self) -> tuple[Any, ...]:
        """Each process builds its own."""
        return FunctionWithFiles, (self.build, self.files)


@dataclass(frozen=True)
class Content:
    """A file, a folder or a value that travels to other machines."""

    source: Path | bytes
    name: str
    """The file or folder has this name there, and may have folders before it; its place here does not matter."""


class Errand(Protocol[Result_co]):
    """The work on one item while another machine does it, as seen by the machine that sent it."""

    @property
    def contents(self) -> Mapping[str, Content]:
        """Files, folders and values that the work needs, by name. Each machine gets a content only once."""
        ...

    @property
    def work(self) -> Callable[[Mapping[str, Path], Path], Iterator[Any]]:
        """Called on the other machine with the contents as files there, and an empty folder. It can be pickled. It yields
        what it sends back, in parts of bounded size.
        """
        ...

    def begin(self) -> None:
        """Start, or start again after a machine was lost: forget what was received."""
        ...

    def receive(self, part: Any) -> None:
        """Take one part of what the work sends back."""
        ...

    def finish(self) -> Result_co:
        """Make the result of what was received."""
        ...

    def fail(self, problem: str) -> Result_co:
        """Make the result of work that could not be done."""
        ...

    def close(self) -> None:
        """Release what the errand holds, such as a lock; called once, however it ended."""
        ...


@runtime_checkable
class TravellingWork(Protocol):
    """Work that can also be done on a machine that shares no disk with this one."""

    def __call__(self, item: Any, /) -> Any:
        """Work on an item here."""
        ...

    def prepare_errand(self, item: Any, /) -> tuple[Errand[Any] | None, Any]:
        """The errand for an item; or None, and the result of an item that needs none."""
        ...


@dataclass
class ProgressMeter:
    """Counts items and estimates the time that is left."""

    total: int
    on_progress: OnWorkProgress
    done: int = 0
    worked: int = 0
    """Items that took work; those that were finished before say nothing about the time."""
    begin: float = field(default_factory=time.monotonic)

    def count(self, took_work: bool = True) -> None:
        """Count one finished item."""
        self.done += 1
        self.worked += took_work

    def report(self, nodes: int, under_way: int) -> None:
        """Call `on_progress`."""
        left = None
        if self.worked and self.total:
            left = (time.monotonic() - self.begin) / self.worked * (self.total - self.done)
        self.on_progress(WorkProgress(nodes, under_way, self.done, self.total, left))


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
