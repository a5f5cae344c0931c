"""Buckets that limit requests; bodies that never end: what was half sent is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request

from nikawa.serve import limits
from nikawa.serve.errors import Refused
from nikawa.serve.limits import RateLimiter, read_body


def test_a_bucket_fills_again_and_is_forgotten() -> None:
    now = [0.0]
    limiter = RateLimiter(1, 2, lambda: now[0])
    limiter.count("a")
    limiter.count("a")
    with pytest.raises(Refused, match="too_many"):
        limiter.count("a")
    limiter.count("b")
    now[0] = 1.0
    limiter.count("a")
    with pytest.raises(Refused):
        limiter.count("a")


def request_of(receive: Callable[[], Awaitable[Any]]) -> Request:
    return Request({"type": "http", "method": "POST", "headers": [], "path": "/"}, receive)


@pytest.mark.parametrize("hangs_up", [True, False])
def test_half_a_body(monkeypatch: pytest.MonkeyPatch, hangs_up: bool) -> None:
    monkeypatch.setattr(limits, "REQUEST_SECONDS", 0.05)
    told = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Any:
        if told:
            return told.pop()
        if not hangs_up:
            await asyncio.sleep(5)
        return {"type": "http.disconnect"}

    with pytest.raises(Refused) as problem:
        asyncio.run(read_body(request_of(receive), 100))
    assert problem.value.status == (400 if hangs_up else 408)
