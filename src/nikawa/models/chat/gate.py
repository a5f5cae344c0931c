"""How many requests are in flight: halved when the server says it is too many, one more after as many good answers."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType


class Gate:
    """At most `limit` at a time; nobody passes before a pause that the server asked for is over."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.busy = 0
        self._until = 0.0
        self._slowed = 0.0
        self._free = asyncio.Condition()

    async def __aenter__(self) -> None:
        while True:
            async with self._free:
                await self._free.wait_for(lambda: self.busy < int(self.limit))
                pause = self._until - time.monotonic()
                if pause <= 0:
                    self.busy += 1
                    return
            await asyncio.sleep(pause)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with self._free:
            self.busy -= 1
            self._free.notify_all()

    def fewer(self, pause: float) -> None:
        """Too many: half as many, once for all that were refused together."""
        now = time.monotonic()
        self._until = max(self._until, now + pause)
        if now >= self._slowed:
            self.limit = max(1.0, self.limit / 2)
            self._slowed = now + max(pause, 0.05)

    def more(self) -> None:
        """A good answer: a full round of them allows one more."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)
