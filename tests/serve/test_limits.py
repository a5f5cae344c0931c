"""Buckets that limit requests; requests that never end: their connections are closed, and what was half sent is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from nikawa.serve import limits
from nikawa.serve.errors import Refused
from nikawa.serve.limits import RateLimiter, SlowConnections, read_body


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


class Connection:
    def __init__(self, *, cycle: object = None, resting: bool = False) -> None:
        self.closed = False
        self.cycle, self.timeout_keep_alive_task = cycle, object() if resting else None
        self.transport = SimpleNamespace(close=self.close)

    def close(self) -> None:
        self.closed = True


def test_who_owes_the_head_of_a_request_is_closed() -> None:
    silent, resting = Connection(), Connection(resting=True)
    busy = Connection(cycle=SimpleNamespace(response_complete=False))
    second = Connection(
        cycle=SimpleNamespace(response_complete=True)
    )  # began another request after its first
    everyone, patience = [silent, resting, busy, second], SlowConnections(10)
    assert patience.close_overdue(everyone, 0.0) == 0
    assert patience.close_overdue(everyone, 9.0) == 0
    assert patience.close_overdue(everyone, 10.0) == 2
    assert [one.closed for one in everyone] == [True, False, False, True]


def test_the_time_begins_anew_with_each_request() -> None:
    one, patience = Connection(), SlowConnections(10)
    patience.close_overdue([one], 0.0)
    one.timeout_keep_alive_task = object()
    patience.close_overdue([one], 8.0)
    one.timeout_keep_alive_task = None
    assert patience.close_overdue([one], 16.0) == 0


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
