"""Figures that take long to compute: the last ones at once, newer ones while nobody waits for them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger("nikawa.collect")
PATIENCE = 1.5
"""Seconds somebody waits for figures that were never computed before: those of a small project are there by then."""
LOOKS = 0.02
"""Seconds between two looks whether they are."""


@dataclass
class Kept:
    """The last figures of a name."""

    value: Any = None
    at: float | None = None
    """When they were computed; None: never yet."""
    working: bool = False
    """Whether newer ones are being computed."""
    until: float = float("-inf")
    """For so long they are not computed again."""


class Latest:
    """Figures by name; they are computed one after the other, in a thread that may wait for another process."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[str, Kept] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    async def get(self, name: str, seconds: float, make: Callable[[], Any]) -> Kept:
        """The last figures, computed anew from now on where they are older than so many seconds."""
        with self._lock:
            found = self._kept.setdefault(name, Kept())
            begins = not found.working and time.monotonic() >= found.until
            found.working = found.working or begins
        if begins:  # a daemon: who stops the server need not wait for it
            threading.Thread(target=self._work, args=(found, seconds, make), daemon=True).start()
        ends = time.monotonic() + PATIENCE
        while found.at is None and found.working and time.monotonic() < ends:
            await asyncio.sleep(LOOKS)
        return found

    def _work(self, found: Kept, seconds: float, make: Callable[[], Any]) -> None:
        with self._turn:
            began = time.monotonic()
            try:
                found.value = make()
                found.at = self._clock()
            except Exception:  # the last figures stay
                _log.exception("figures of the dashboard could not be computed")
            ended = time.monotonic()  # what is slow to compute is computed less often
            found.until = ended + max(seconds, 10 * (ended - began))
            found.working = False
