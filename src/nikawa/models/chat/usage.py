"""Requests, tokens and money: what was used, and what may still be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.settings import ChatSettings


class OutOfBudget(BadInput):
    """The budget does not reach for the next request."""


@dataclass
class Usage:
    """What a run used, those parts of it that were killed included; `kept` replies cost nothing."""

    requests: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    retries: int = 0
    seconds_waited: float = 0.0
    none: dict[str, int] = field(default_factory=dict)
    """Questions without an answer that could be read, by reason: never the same as wrong ones."""

    def count(self, reply: Reply, settings: ChatSettings) -> None:
        """Take in a reply that was paid for."""
        self.requests += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.cost = settings.cost_of(self.tokens_in, self.tokens_out)

    def recount(self, replies: Iterable[Reply], settings: ChatSettings) -> None:
        """Start from the replies that this run has on disk."""
        self.requests = self.tokens_in = self.tokens_out = 0
        for reply in replies:
            if not reply.error:
                self.count(reply, settings)

    def as_dict(self) -> dict[str, Any]:
        """As `usage.json` has it."""
        return {
            **self.__dict__,
            "cost": round(self.cost, 6),
            "seconds_waited": round(self.seconds_waited, 3),
            "none": dict(sorted(self.none.items())),
        }


class Budget:
    """Lets a request through when even its dearest answer stays inside the budget."""

    def __init__(self, settings: ChatSettings, usage: Usage) -> None:
        self.settings, self.usage = settings, usage
        self._reserved = 0.0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, size: int, tokens: int) -> AsyncIterator[None]:
        """Reserve the cost of a request of `size` bytes, which are at least as many as its tokens,
        and an answer of `tokens`.
        """
        if self.settings.budget is None:
            yield
            return
        dearest = self.settings.cost_of(size, tokens)
        async with self._freed:
            await self._freed.wait_for(lambda: self._fits(dearest) or not self._reserved)
            if not self._fits(dearest):
                spent = f"{self.usage.cost:.4f} is spent"
                what = f"the budget of {self.settings.budget:g} does not reach for another request: {spent}"
                cure = "raise the budget and start again: the answers so far are kept"
                raise OutOfBudget(what, cure=cure)
            self._reserved += dearest
        try:
            yield
        finally:
            async with self._freed:
                self._reserved = max(0.0, self._reserved - dearest)
                self._reserved = 0.0 if self._reserved < 1e-12 else self._reserved
                self._freed.notify_all()

    def _fits(self, cost: float) -> bool:
        return self.usage.cost + self._reserved + cost <= (self.settings.budget or 0.0)
