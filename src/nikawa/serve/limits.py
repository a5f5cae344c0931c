"""How much a client may ask for: requests a second, bytes of a body, and seconds to send them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from nikawa.serve.errors import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

REQUEST_SECONDS = 30.0
"""In which the body of a request must have come whole."""
MAX_SENDERS = 20_000
"""Maximum number of senders remembered; the least recent one is dropped first."""


class RateLimiter:
    """Token buckets by sender: `rate` requests a second, and bursts of at most `burst`."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Sender to the tokens left and the moment they were counted."""

    def count(self, sender: str) -> None:
        """Count a request of a sender; too many are refused."""
        now = self._clock()
        left, then = self._buckets.pop(sender, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        self._buckets[sender] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._buckets) > MAX_SENDERS:
            self._buckets.popitem(last=False)
        if left < 1:
            raise Refused("too_many", 429)


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body, refused as soon as it is longer than the limit or takes too long to come."""
    from starlette.requests import ClientDisconnect

    announced = request.headers.get("content-length", "0")
    if not announced.isascii() or not announced.isdigit() or int(announced) > max_bytes:
        raise Refused("too_large", 413)
    body = bytearray()
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise Refused("too_large", 413)
    except TimeoutError:
        raise Refused("bad_request", 408) from None
    except ClientDisconnect:  # the client is gone
        raise Refused("bad_request", 400) from None
    return bytes(body)
