"""Requests that wait for news (long polling)."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Listeners:
    """Requests that wait for news of a subject, in this process."""

    def __init__(self) -> None:
        self._events: dict[int, set[asyncio.Event]] = {}
        self.is_released = False
        """Whether no request waits any more: the server stops."""

    async def wait(self, subject: int, seconds: float) -> None:
        """Wait until something happens to a subject, or for so many seconds; not at all once the server stops."""
        if self.is_released:
            return
        event = asyncio.Event()
        self._events.setdefault(subject, set()).add(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
        finally:
            self._events[subject].discard(event)
            if not self._events[subject]:
                del self._events[subject]

    def notify(self, subject: int) -> None:
        """Wake all who wait for news of a subject."""
        for event in self._events.get(subject, ()):
            event.set()

    def release(self) -> None:
        """Wake all, and let none wait from now on: a server that stops would wait for them."""
        self.is_released = True
        for events in self._events.values():
            for event in events:
                event.set()
