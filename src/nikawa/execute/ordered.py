"""One ordered map over chunks: the same results in the same order, in this process or in several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from nikawa.io.processes import process_pool

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

CHUNKS_AHEAD = 3
"""Chunks each process may be ahead of the reader."""


def map_ordered(
    work: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    workers: int,
    *,
    ahead: int = CHUNKS_AHEAD,
    start: Literal["spawn", "fork"] = "spawn",
) -> Iterator[Result]:
    """The result of `work` for each chunk, in the order of the chunks.

    With more than one worker, chunks are worked on in other processes, which end with this one. `work` goes to each of them
    once; it, the chunks and the results must be picklable (with `fork`, `work` need not be). At most `ahead` chunks per worker are
    read before their results are taken, so that memory stays bounded however many there are.

    >>> list(map_ordered(len, ["a", "bcd"], workers=1))
    [1, 3]
    """
    if workers <= 1:
        yield from map(work, chunks)
        return
    waiting: deque[Future[Result]] = deque()
    with process_pool(workers, _set_work, (work,), start=start) as pool:
        for chunk in chunks:
            waiting.append(pool.submit(_work_on, chunk))
            if len(waiting) >= ahead * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_work: list[Callable[[Any], Any]] = []
"""The work of this process: it is sent once, not with every chunk."""


def _set_work(work: Callable[[Any], Any]) -> None:
    _work[:] = [work]


def _work_on(chunk: Any) -> Any:
    return _work[0](chunk)
