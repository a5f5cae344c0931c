"""Requests, tokens and cost so far, and the remaining budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import SpendingScope
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.ledger import Ledger, LedgerEntry
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.settings import ChatSettings

POLL_SECONDS = 0.05
"""Seconds between two checks of a ledger while waiting for another process to free its reservations."""


class OutOfBudget(BadInput):
    """The budget is too small for the next request."""


class StoredUsage(msgspec.Struct):
    """The usage that a killed process leaves in addition to its replies, which are counted again."""

    retries: int = 0
    seconds_waited: float = 0.0
    cost_lost: float = 0.0


class StoredAbout(msgspec.Struct):
    """The part of a usage file that is read again."""

    usage: StoredUsage


@dataclass
class Usage:
    """The usage of a run, including killed parts of it; `kept` replies cost nothing."""

    requests: int = 0
    kept: int = 0
    """Replies that came from the shared folder of replies."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    cost_unmetered: float = 0.0
    """The maximum cost of replies without token counts."""
    cost_lost: float = 0.0
    """The maximum cost of tries without a reply (a time-out, a broken connection)."""
    retries: int = 0
    seconds_waited: float = 0.0
    none: dict[str, int] = field(default_factory=dict)
    """Questions without a readable answer, by reason; they are not wrong answers."""

    def count(self, reply: Reply, settings: ChatSettings) -> None:
        """Count a reply that was paid for."""
        self.requests += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.cost = settings.cost_of(self.tokens_in, self.tokens_out)
        self.cost_unmetered += settings.cost_of(reply.max_tokens_in, reply.max_tokens_out)

    def recount(self, replies: Iterable[Reply], settings: ChatSettings) -> None:
        """Start from the replies that this run has on disk."""
        self.requests = self.tokens_in = self.tokens_out = 0
        self.cost = self.cost_unmetered = 0.0
        for reply in replies:
            if not reply.error:
                self.count(reply, settings)

    def resume(self, path: Path) -> None:
        """Continue from the retries that an earlier process recorded, if any."""
        try:
            earlier = msgspec.json.decode(path.read_bytes(), type=StoredAbout).usage
        except (OSError, msgspec.DecodeError):
            return
        self.retries = earlier.retries
        self.seconds_waited = earlier.seconds_waited
        self.cost_lost = earlier.cost_lost

    def as_dict(self) -> dict[str, Any]:
        """As `usage.json` has it."""
        return {
            **self.__dict__,
            "cost": round(self.cost, 6),
            "cost_unmetered": round(self.cost_unmetered, 6),
            "cost_lost": round(self.cost_lost, 6),
            "seconds_waited": round(self.seconds_waited, 3),
            "none": dict(sorted(self.none.items())),
        }


@dataclass
class Reservation:
    """The maximum cost of one request that may be sent."""

    budget: Budget
    request: str
    dearest: float

    async def renew(self) -> None:
        """The try got no reply and may have been billed: reserve for another one.

        Raises OutOfBudget if the budget is too small for it.
        """
        self.budget.usage.cost_lost += self.dearest
        self.budget.close("lose", self.request, self.dearest)
        await self.budget.open(self.request, self.dearest)

    def pay(self, reply: Reply) -> None:
        """The reply came: it costs what its tokens cost."""
        cost_of = self.budget.settings.cost_of
        cost = cost_of(reply.tokens_in, reply.tokens_out)
        cost += cost_of(reply.max_tokens_in, reply.max_tokens_out)
        self.budget.close("pay", self.request, cost)


class Budget:
    """Allows a request if its maximum cost stays within the budget.

    A ledger that all runs of a command share records the payments; `ledger` says what counts.
    """

    def __init__(
        self, settings: ChatSettings, usage: Usage, scope: SpendingScope | None, part: str
    ) -> None:
        self.settings, self.usage, self.part = settings, usage, part
        self.scope = scope
        has_prices = settings.price_in + settings.price_out > 0
        self.ledger = Ledger(scope.ledger if scope and has_prices else None)
        self.run = scope.run if scope else ""
        self.runs = {self.run, *(scope.runs if scope else ())}

    def begin(self, replies: Iterable[Reply]) -> None:
        """Open the account with the replies that are on disk.

        Requests that a killed process had in flight, and that have no reply on disk, count with their
        maximum cost.
        """
        known = {reply.key for reply in replies}
        paid = self.usage.cost + self.usage.cost_unmetered
        with self.ledger.locked():
            account = self.ledger.accounts.get(self.run, {}).get(self.part)
            lost = 0.0
            if account is not None:
                open_ = account.reserved.items()
                lost = account.lost + sum(cost for key, cost in open_ if key not in known)
            if self.ledger.path is not None:
                self.usage.cost_lost = lost
            lost = max(lost, self.usage.cost_lost)
            if paid or lost or account is not None:
                entry = LedgerEntry(
                    event="begin", run=self.run, part=self.part, amount=paid, lost=lost
                )
                self.ledger.add(entry)

    @asynccontextmanager
    async def reserve(self, request: str, size: int, tokens: int) -> AsyncIterator[Reservation]:
        """Reserve the cost of a request of `size` bytes, which are at least as many as its tokens,
        and an answer of `tokens`.
        """
        dearest = self.settings.cost_of(size, tokens)
        await self.open(request, dearest)
        try:
            yield Reservation(self, request, dearest)
        except OutOfBudget:  # raised for a retry: nothing is reserved
            raise
        except RequestProblem as problem:
            if problem.may_be_billed:
                self.usage.cost_lost += dearest
            self.close("lose" if problem.may_be_billed else "release", request, dearest)
            raise
        except BaseException:  # an interruption: the request may have been sent
            self.usage.cost_lost += dearest
            self.close("lose", request, dearest)
            raise

    async def open(self, request: str, dearest: float) -> None:
        """Reserve; wait if only requests in flight use up the budget."""
        while not self._try_open(request, dearest):
            await asyncio.sleep(POLL_SECONDS)

    def _try_open(self, request: str, dearest: float) -> bool:
        """Whether the reservation succeeded; False if a request in flight may still free money.

        Raises OutOfBudget otherwise.
        """
        if self.settings.price_in + self.settings.price_out == 0:
            return True
        budget = self.settings.budget
        with self.ledger.locked():
            total = self.ledger.total(self.runs)
            if budget is None or total + dearest <= budget:
                entry = LedgerEntry(
                    event="reserve",
                    run=self.run,
                    part=self.part,
                    request=request,
                    amount=dearest,
                )
                self.ledger.add(entry)
                return True
            account = self.ledger.accounts.get(self.run, {}).get(self.part)
            reserving = self.ledger.reserving_runs(self.runs - {self.run})
        if account is not None and account.reserved:
            return False
        if self.scope is not None and any(map(self.scope.is_running, reserving)):
            return False
        what = f"the budget of {budget:g} is too small for another request: {total:.4f} is spent"
        if len(self.runs) > 1:
            what += f" by the {len(self.runs):,} runs of the command"
        cure = "raise the budget and run the same command again: it keeps the answers so far"
        raise OutOfBudget(what, cure=cure)

    def close(self, event: Literal["pay", "release", "lose"], request: str, amount: float) -> None:
        """End a reservation: it was paid, released or lost."""
        if self.settings.price_in + self.settings.price_out == 0:
            return
        with self.ledger.locked():
            self.ledger.add(
                LedgerEntry(
                    event=event,
                    run=self.run,
                    part=self.part,
                    request=request,
                    amount=0.0 if event == "release" else amount,
                )
            )


def sum_usage(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The total usage of several models, such as those of folds."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, dict):
                total[name] = sum_usage((total.get(name, {}), value))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                total[name] = round(total.get(name, 0) + value, 6)
            else:
                total.setdefault(name, value)
    return total
