"""A session with a server: replies from the journal or from the server, many at a time, each
request once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from threading import Thread
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from nikawa.models.chat.client import Client
from nikawa.models.chat.journal import Journal, Reply, compute_digest
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.settings import ChatSettings, read_max_tokens
from nikawa.models.chat.usage import Budget
from nikawa.models.secrets import environment_secrets, mask_secrets

T = TypeVar("T")
PROBE = "probe"
"""Separates the key of a test request from the same question in a task."""
PROBE_RETRIES = 2
"""Retries of a test request: some servers answer 500 to unknown fields."""


class RequestKeys:
    """The keys by which replies are kept."""

    def __init__(self, settings: ChatSettings) -> None:
        self._address = settings.base_url.rstrip("/")
        masked = mask_secrets(settings.extra, environment_secrets(asdict(settings)))
        self._masked = {name: one for name, one in masked.items() if one != settings.extra[name]}
        """The fields that settings add to each request and that hold secrets, without these: replies stay valid
        under another key."""

    def compute(self, path: str, body: dict[str, Any], *more: str) -> str:
        """The key of a request, which does not depend on secrets in it."""
        shown = body | {name: one for name, one in self._masked.items() if name in body}
        return compute_digest(*more, self._address, path, shown)


class Session:
    """Replies by request; replies on disk cost nothing."""

    def __init__(self, client: Client, own: Journal, shared: Journal, budget: Budget) -> None:
        self.client, self.own, self.shared = client, own, shared
        self.settings, self.usage = client.settings, client.usage
        self.budget = budget
        self._keys = RequestKeys(client.settings)
        self._under_way: dict[str, asyncio.Task[Reply]] = {}

    async def reply(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The reply to a request, of up to so many tokens; equal requests are sent once."""
        key = self._keys.compute(path, body)
        known = self._find_known(key)
        if known is not None:
            return known
        task = self._under_way.get(key) or asyncio.create_task(self._ask(path, body, key, tokens))
        self._under_way[key] = task
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._under_way.pop(key, None)

    async def probe(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The reply to a test request.

        A refusal is a reply too, and is stored.
        """
        key = self._keys.compute(path, body, PROBE)
        known = self._find_known(key)
        if known is not None:
            return known
        retries = min(PROBE_RETRIES, self.settings.retries)
        try:
            return await self._ask(path, body, key, tokens, retries)
        except RequestProblem as problem:
            if problem.action != "item" and problem.status not in (404, 405, 500):
                raise
            reply = Reply(key=key, error=problem.status, text=problem.what)
            self._keep(reply)
            return reply

    async def _ask(
        self, path: str, body: dict[str, Any], key: str, tokens: int, retries: int | None = None
    ) -> Reply:
        size = len(msgspec.json.encode(body))
        tokens = read_max_tokens(body, tokens)
        async with self.budget.reserve(key, size, tokens) as reservation:
            reply = await self.client.ask(path, body, key, retries, reservation.renew)
            if reply.tokens_in or reply.tokens_out or reply.finish != "content_filter":
                # a missing count is not free: assume the maximum
                has_in = reply.tokens_in > 0
                says_none = not reply.text or bool(body.get("echo"))  # then 0 may be the count
                has_out = reply.tokens_out > 0 or (has_in and says_none)
                reply = msgspec.structs.replace(
                    reply,
                    max_tokens_in=0 if has_in else size,
                    max_tokens_out=0 if has_out else tokens,
                )
            self._keep(reply)
            self.usage.count(reply, self.settings)
            reservation.pay(reply)
        return reply

    def _find_known(self, key: str) -> Reply | None:
        if key in self.own.replies:
            return self.own.replies[key]
        reply = self.shared.replies.get(key)
        if reply is not None:
            self.usage.kept += 1
        return reply

    def _keep(self, reply: Reply) -> None:
        self.own.add(reply)
        self.shared.add(reply)


class FailedItems(Exception):
    """Items whose requests failed for good."""

    def __init__(self, problems: dict[int, RequestProblem], count: int) -> None:
        super().__init__(f"{len(problems)} of {count} failed")
        self.problems, self.count = problems, count


async def run_all(
    count: int,
    ask: Callable[[int], Awaitable[T]],
    workers: int,
    on_progress: Callable[[int], None],
) -> list[T]:
    """The results of `ask(0)`, `ask(1)`, … in that order, `workers` at a time.

    One failing item does not stop the others. If a failure would affect all items, the requests in flight
    finish and the loop stops.
    """
    results: dict[int, T] = {}
    problems: dict[int, RequestProblem] = {}
    other_errors: list[Exception] = []
    must_stop = False
    todo = iter(range(count))

    async def work() -> None:
        nonlocal must_stop
        for i in todo:
            try:
                results[i] = await ask(i)
            except RequestProblem as problem:
                problems[i] = problem
                must_stop = must_stop or problem.action != "item"
            except Exception as error:
                other_errors.append(error)
                must_stop = True
            on_progress(len(results) + len(problems))
            if must_stop:
                return

    await asyncio.gather(*(work() for _ in range(min(workers, count))))
    if other_errors:
        raise other_errors[0]
    if problems:
        raise FailedItems(problems, count)
    return [results[i] for i in range(count)]


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run to the end; from inside a running loop (a notebook), in a separate thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    results: list[T] = []
    errors: list[BaseException] = []

    def run_in_thread() -> None:
        try:
            results.append(asyncio.run(work()))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run_in_thread)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
