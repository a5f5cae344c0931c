"""Long-running work for a server: in a separate process with a lower priority, with the latest results kept.

A thread would share Python's lock with those who wait for a page; a process leaves them a core, or their share of one.
The task goes in by standard input, since an address may hold a password and lists of processes can be read.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

import msgspec

from nikawa.errors import NikawaError

NICENESS = 10
BYTES_PER_BLOCK = 1 << 20
"""Bytes of the pipe between the two."""
FIRST_FIGURES_SECONDS = 1.5
"""Maximum wait for the first figures, which is enough for a small project."""
POLL_SECONDS = 0.02
"""Between two looks whether they are."""
_log = logging.getLogger("nikawa.serve")


class BackgroundTask(msgspec.Struct, frozen=True):
    """The task of the process."""

    function: str
    """`module:name` of a function that yields bytes."""
    arguments: list[Any]
    """JSON values."""


class ProcessFailed(NikawaError):
    """The process ended before it was done."""


def stream_in_process(function: Callable[..., Iterator[bytes]], *arguments: Any) -> Iterator[bytes]:
    """What `function(*arguments)` yields, computed in another process, as it comes.

    The function must be importable by name and the arguments must be JSON. The process is ended when no caller wants
    more. Raises `ProcessFailed` with the last line the process wrote to its standard error.
    """
    task = BackgroundTask(f"{function.__module__}:{function.__qualname__}", list(arguments))
    with subprocess.Popen(
        [sys.executable, "-m", "nikawa.serve.background"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=BYTES_PER_BLOCK,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with suppress(BrokenPipeError):  # it ended already; why is read below
                process.stdin.write(msgspec.json.encode(task))
                process.stdin.close()
            while block := os.read(process.stdout.fileno(), BYTES_PER_BLOCK):
                yield block
            messages = process.stderr.read().decode(errors="replace").strip().splitlines()
            if process.wait():
                ended = f"a background process of the server ended with {process.returncode}"
                raise ProcessFailed(messages[-1] if messages else ended)
        finally:
            if process.poll() is None:
                process.kill()


def perform_task(task: BackgroundTask, out: BinaryIO) -> None:
    """Do a task and write what it yields."""
    out.writelines(find_function(task.function)(*task.arguments))


def find_function(name: str) -> Callable[..., Any]:
    """The function of a `module:name`."""
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


def main() -> int:
    """Read a task and do it; the last line of standard error says why it could not be done."""
    with suppress(OSError):
        os.nice(NICENESS)
    out = sys.stdout.buffer
    try:
        perform_task(msgspec.json.decode(sys.stdin.buffer.read(), type=BackgroundTask), out)
        out.flush()
    except BrokenPipeError:  # no caller waits for it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except NikawaError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


@dataclass
class Figures:
    """The last figures of a name."""

    value: Any = None
    at: float | None = None
    """When they were computed; None: never yet."""
    working: bool = False
    """Whether newer ones are being computed."""
    fresh_until: float = float("-inf")
    """For so long they are not computed again."""


class LatestFigures:
    """Figures that take long to compute: the latest are returned at once while newer ones are computed in the background.

    They are computed one after the other, in a thread that may wait for another process.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._figures: dict[str, Figures] = {}
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()

    async def get(self, name: str, max_age: float, compute: Callable[[], Any]) -> Figures:
        """The last figures of a name; newer ones are started if they are older than this number of seconds."""
        with self._lock:
            figures = self._figures.setdefault(name, Figures())
            begins = not figures.working and time.monotonic() >= figures.fresh_until
            figures.working = figures.working or begins
        if begins:  # a daemon: who stops the server need not wait for it
            threading.Thread(
                target=self._compute, args=(figures, max_age, compute), daemon=True
            ).start()
        ends = time.monotonic() + FIRST_FIGURES_SECONDS
        while figures.at is None and figures.working and time.monotonic() < ends:
            await asyncio.sleep(POLL_SECONDS)
        return figures

    def _compute(self, figures: Figures, max_age: float, compute: Callable[[], Any]) -> None:
        with self._one_at_a_time:
            began = time.monotonic()
            try:
                figures.value = compute()
                figures.at = self._clock()
            except Exception:  # the last figures stay
                _log.exception("figures of the dashboard could not be computed")
            ended = time.monotonic()  # what is slow to compute is computed less often
            figures.fresh_until = ended + max(max_age, 10 * (ended - began))
            figures.working = False


if __name__ == "__main__":
    sys.exit(main())
