"""Pools of processes that end with their parent process, and report a killed process in
one line.

A killed process cannot stop its children, so each child watches its parent:
`end_with_parent`.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

from nikawa.errors import BadInput
from nikawa.io.command import ignore_broken_pipes

PARENT_POLL_SECONDS = 1.0
"""Seconds between two checks of the parent, if the system does not report its end."""

WORKER_VARIABLE = "NIKAWA_WORKER"
"""The environment variable with the number of a process in its pool."""

Begin = Callable[..., None]
"""Called once in each new process."""


@contextmanager
def process_pool(
    workers: int,
    begin: Begin | None = None,
    args: tuple[Any, ...] = (),
    *,
    start: Literal["spawn", "fork"] = "spawn",
) -> Iterator[ProcessPoolExecutor]:
    """Return a pool of this many processes, each of which first calls `begin` with `args`.

    Spawned processes start clean. Forked processes share the memory of this one: `args` is not copied to
    them. Raises BadInput if a process was killed.
    """
    context = multiprocessing.get_context(start)
    with ignore_broken_pipes():  # writing to a process that was killed must not end this one
        pool = ProcessPoolExecutor(workers, context, begin_worker, (begin, *args))
        try:
            yield pool
        except BrokenProcessPool:
            what = "a process was killed, perhaps because memory ran out"
            raise BadInput(what, cure="run the same command again with fewer --workers") from None
        finally:
            pool.shutdown(cancel_futures=True)


def begin_worker(begin: Begin | None = None, *args: Any) -> None:
    """The first thing a process of a pool does: leave interruptions to the parent, end with it,
    then call `begin`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if begin is not None:
        begin(*args)


def number_worker(counter: Any) -> None:
    """Give this process the next number of its pool, from 0; `counter` is shared by the pool."""
    with counter.get_lock():
        os.environ[WORKER_VARIABLE] = str(counter.value)
        counter.value += 1


def get_worker_number() -> int | None:
    """The number of this process in its pool; None: it is not part of a numbered pool."""
    number = os.environ.get(WORKER_VARIABLE, "")
    return int(number) if number.isdecimal() else None


def end_with_parent() -> None:
    """End this process as soon as its parent ends, even if the parent is killed."""
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()


def _watch_parent(parent_id: int) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
    else:  # a program that was not started by multiprocessing
        while os.getppid() == parent_id:
            time.sleep(PARENT_POLL_SECONDS)
    os._exit(1)


def hide_arguments(secrets: Iterable[str]) -> None:
    """Overwrite these texts with asterisks in the list of processes (`ps`, `/proc`).

    Every user of a machine can read that list. The kernel shows the memory of the arguments, so the text disappears
    when it is overwritten. A short moment at the start remains; only an environment variable avoids it.
    On systems other than Linux the function does nothing.
    """
    texts = list(secrets)
    words = {form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])}
    if not words:
        return
    try:
        shown = Path("/proc/self/cmdline").read_bytes()
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, fields 48 and 49
    except (OSError, ValueError, IndexError):
        return
    # Write only if the memory has exactly the shown arguments.
    if (
        not 0 < start < end
        or end - start != len(shown)
        or ctypes.string_at(start, end - start) != shown
    ):
        return
    for word in words:
        place = shown.find(word) if word else -1
        while place >= 0:
            ctypes.memset(start + place, ord("*"), len(word))
            place = shown.find(word, place + len(word))
