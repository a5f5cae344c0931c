"""Processes that help: they end with the one that started them, and one that is killed is told in one line."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.command import broken_pipes_told

Begin = Callable[..., None]


@contextmanager
def processes(
    workers: int, begin: Begin | None = None, given: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """So many processes that start clean, each by calling `begin` with what is given."""
    context = multiprocessing.get_context("spawn")
    with broken_pipes_told():  # writing to a process that was killed must not end this one
        pool = ProcessPoolExecutor(workers, context, start_helper, (begin, *given))
        try:
            yield pool
        except BrokenProcessPool:
            what = "a process was killed, perhaps for want of memory"
            raise BadInput(what, cure="give the same command again, with fewer --workers") from None
        finally:
            pool.shutdown(cancel_futures=True)


def start_helper(begin: Begin | None = None, *given: Any) -> None:
    """Leave an interruption to the parent, and end with it: a killed one cannot tell its processes to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
