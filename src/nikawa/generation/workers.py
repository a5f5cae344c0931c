"""Processes that make chunks: they hold the plan, write each chunk to a file of its own, and die with the run that began them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

from nikawa.generation.files import UNFINISHED, Text

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from nikawa.generation.job import Job, Piece

AHEAD = 12
"""Chunks each process may be ahead of the writer, who waits for the disk now and then."""
_DEATH = 1
"""The number of Linux's PR_SET_PDEATHSIG."""
_LOOK = 1.0
"""Seconds between two looks at the parent, where the system tells nobody of its death."""


def made(
    job: Job, chunks: list[list[Piece]], workers: int, folder: Path
) -> Iterator[tuple[list[Piece], Sequence[Text]]]:
    """Each chunk with its texts, in order."""
    if workers <= 1 or len(chunks) < 2:
        yield from ((chunk, job.make(chunk)) for chunk in chunks)
        return
    waiting: deque[tuple[list[Piece], Path, Future[list[int]]]] = deque()
    with _pool(job, min(workers, len(chunks))) as pool:
        for number, chunk in enumerate(chunks):
            path = folder / f".chunk-{number}{UNFINISHED}"
            waiting.append((chunk, path, pool.submit(_make, chunk, path)))
            if len(waiting) > AHEAD * workers:  # go no further ahead than the writer can follow
                yield _taken(*waiting.popleft())
        while waiting:
            yield _taken(*waiting.popleft())


def _taken(
    chunk: list[Piece], path: Path, sizes: Future[list[int]]
) -> tuple[list[Piece], list[Text]]:
    """What a process made: it comes through a file, which is far cheaper than through a pipe."""
    ends = list(accumulate(sizes.result(), initial=0))
    whole = memoryview(path.read_bytes())
    path.unlink()
    return chunk, [whole[a:b] for a, b in pairwise(ends)]


def _pool(job: Job, workers: int) -> ProcessPoolExecutor:
    """Processes that hold the plan already where they can be forked, and make it again where they cannot."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_all_start_methods, get_context

    if "fork" in get_all_start_methods():
        gc.collect()
        gc.freeze()  # so that no collection of a child touches, and thereby copies, the plan
        return ProcessPoolExecutor(workers, get_context("fork"), _begin, (job, os.getpid()))
    remade = (*job.remake, job.maker.seed, dict(job.per), tuple(job.views), os.getpid())
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin_again, remade)


_HELD: list[Job] = []
"""The plan of this process."""


def _begin(job: Job, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's to tell of
    die_with(parent)
    _HELD[:] = [job]


def _begin_again(
    spec: str,
    data: Path | None,
    seed: str,
    per: dict[str, int],
    views: tuple[str, ...],
    parent: int,
) -> None:
    from nikawa.generation.job import Job
    from nikawa.generation.templates import open_pack

    _begin(Job(open_pack(spec, data), seed, per, views), parent)


def _make(chunk: list[Piece], path: Path) -> list[int]:
    texts = _HELD[0].make(chunk)
    path.write_bytes(b"".join(texts))
    return [len(text) for text in texts]


def die_with(parent: int) -> None:
    """Let this process end as soon as its parent does, even if the parent is killed and can tell nobody."""
    if not _told_of_death():
        Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it died before anything was in place
        os._exit(1)


def _told_of_death() -> bool:
    """Ask the system for a kill when the parent dies; whether it will send one."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        return int(ctypes.CDLL(None).prctl(_DEATH, int(signal.SIGKILL), 0, 0, 0)) == 0
    except (AttributeError, OSError):
        return False


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_LOOK)
    os._exit(1)
