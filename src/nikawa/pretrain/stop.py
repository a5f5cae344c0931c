"""An interruption is taken up between two steps: the state is saved first. A second one ends at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A training that was asked to stop, and kept its state."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped at step {done:,} of {total:,}; the same command goes on")


@contextmanager
def interruptible(wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Tells whether an interruption came; where none can be heard (another thread, one that ignores them), never."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not (wanted and main and callable(before)):
        yield lambda: False
        return
    came = threading.Event()

    def note(_number: int, _frame: Any) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)  # the next one is heard as ever
        with suppress(OSError):
            if os.isatty(2):
                os.write(2, b"\nstopping at the end of this step; once more ends at once\n")

    signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
