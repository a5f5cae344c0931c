"""What stands before every route: response headers, the size of a body, the rate of requests, where a POST is from."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from nikawa.collect.workers import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex, nofollow"),
]
PATIENCE = 30.0
"""Seconds in which a request must have come whole, its head and its body each."""
BUCKETS = 20_000
"""Senders remembered; the one not heard of for longest is forgotten."""


class Headers:
    """Puts the security headers on every response; what is not static is never stored by a cache."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                headers.extend(HEADERS)
                if not any(name.lower() == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
            await send(message)

        await self.app(scope, receive, sealed)


class Limiter:
    """Token buckets by sender: `rate` a second, a burst of a few seconds' worth."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, sender: str) -> None:
        """Count a request of a sender; too many are refused."""
        now = self._clock()
        left, then = self._buckets.pop(sender, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        self._buckets[sender] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)
        if left < 1:
            raise Refused("too_many", 429)


async def body_of(request: Request, limit: int) -> bytes:
    """The body, refused as soon as it is longer than the limit."""
    from starlette.requests import ClientDisconnect

    told = request.headers.get("content-length", "0")
    if not told.isascii() or not told.isdigit() or int(told) > limit:
        raise Refused("too_large", 413)
    parts = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                parts += part
                if len(parts) > limit:
                    raise Refused("too_large", 413)
    except TimeoutError:
        raise Refused("bad_request", 408) from None
    except ClientDisconnect:  # nobody is left to be told
        raise Refused("bad_request", 400) from None
    return bytes(parts)


def refuse_elsewhere(request: Request) -> None:
    """A POST a browser sends from another site's page is refused."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise Refused("not_allowed", 403)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused("not_allowed", 403)


def sender_of(request: Request) -> str:
    """The address a request comes from."""
    return request.client.host if request.client else "?"


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of a form a browser sent."""
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise Refused("bad_request", 400) from None


def plain(request: Request, name: str) -> str:
    """A text of the query."""
    value = request.query_params.get(name, "")
    if "\0" in value:
        raise Refused("bad_request", 400)
    return value


def number(request: Request, name: str) -> int:
    """A number of the query."""
    value = request.query_params.get(name, "0")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise Refused("bad_request", 400)
    return int(value)
