"""One ordered map over chunks: the same results in the same order, here, in a pool of processes, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TypeVar

from nikawa.errors import BadInput
from nikawa.execute import executors
from nikawa.execute.base import (
    ExecuteOptions,
    Keeper,
    LocalKeeper,
    State,
    ignore_work_progress,
    work_listener,
)
from nikawa.execute.pool import map_in_pool

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

CHUNKS_AHEAD = 3
"""Chunks each worker may be ahead of the reader."""


class BatchOptions(Protocol):
    """The options of a job that maps over chunks, as far as they say where."""

    @property
    def workers(self) -> int:
        """Number of processes; 1 is the default of every job."""
        ...

    @property
    def executor(self) -> str:
        """By name; empty: processes of this machine."""
        ...

    @property
    def address(self) -> str:
        """Of a cluster."""
        ...


def choose_place(options: BatchOptions) -> ExecuteOptions:
    """Where a job maps its chunks. An executor that is named uses all the room it has, unless more than one worker is asked for.

    A cluster reports to the `work_listener`.
    Raises BadInput for an unknown executor, and for an address without a cluster.
    """
    name = options.executor
    if name not in ("", "here", "pool") and executors()[name].map_in_order is None:
        raise BadInput(f"the executor {name} cannot map chunks", cure="pass --executor pool or ray")
    is_cluster = bool(name) and executors()[name].is_cluster
    if options.address and not is_cluster:
        what = "--address needs an executor with machines of its own"
        raise BadInput(what, cure="pass --executor ray too")
    workers = options.workers if options.workers > 1 or not name else 0
    on_progress = work_listener.get() if is_cluster else ignore_work_progress
    return ExecuteOptions(name, workers, address=options.address, on_progress=on_progress)


@contextmanager
def keep_states(
    makers: Sequence[Callable[[], State]], where: ExecuteOptions
) -> Iterator[list[Keeper]]:
    """A keeper of each state while the block runs: spread over the nodes of a cluster, otherwise in this process."""
    keep = executors()[where.executor].keep if where.executor else None
    if keep is None:
        yield [LocalKeeper(make()) for make in makers]
        return
    with keep(makers, where) as keepers:
        yield keepers


def map_in_order(
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    where: ExecuteOptions | int = 1,
    *,
    ahead: int = CHUNKS_AHEAD,
    start: Literal["spawn", "fork"] = "spawn",
) -> Iterator[Result]:
    """The result of `function` for each chunk, in the order of the chunks.

    `where` is a number of processes of this machine, or the options of any executor. In other processes and on other machines,
    the function goes to each worker once. The function, the chunks and the results must be picklable (with `start="fork"`, the
    function need not be). Files that the function reads do not travel, unless it is a `nikawa.execute.FunctionWithFiles`. At most `ahead` chunks
    per worker are read before their results are taken, so that memory stays bounded however many there are. An error of the
    function is raised here.

    >>> list(map_in_order(len, ["a", "bcd"]))
    [1, 3]
    """
    options = ExecuteOptions(workers=where) if isinstance(where, int) else where
    name = options.executor or ("pool" if options.workers > 1 else "here")
    if name == "here":
        return map(function, chunks)
    if name == "pool":
        return map_in_pool(function, chunks, options, ahead, start=start)
    mapper = executors()[name].map_in_order
    if mapper is None:
        raise BadInput(f"the executor {name} cannot map chunks", cure="pass --executor pool or ray")
    return mapper(function, chunks, options, ahead)
