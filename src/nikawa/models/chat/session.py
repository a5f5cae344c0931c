"""The asking itself: replies from the journal or from the server, many at a time, each request once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from threading import Thread
from typing import Any, TypeVar

import msgspec

from nikawa.models.base import Progress
from nikawa.models.chat.client import Client
from nikawa.models.chat.journal import Journal, Reply, compute_digest
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.usage import Budget

T = TypeVar("T")
PROBE_RETRIES = 2
"""Further tries of a question about what the server can do: some answer 500 to what they do not know."""


class Session:
    """Replies by request; those on disk cost nothing."""

    def __init__(self, client: Client, own: Journal, shared: Journal) -> None:
        self.client, self.own, self.shared = client, own, shared
        self.settings, self.usage = client.settings, client.usage
        self.budget = Budget(client.settings, client.usage)
        self._asked: dict[str, asyncio.Task[Reply]] = {}

    async def reply(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The reply to a request; two that are the same are asked once."""
        key = compute_digest(self.settings.base_url.rstrip("/"), path, body)
        found = self._known(key)
        if found is not None:
            return found
        return await self._once(key, lambda: self._ask(path, body, key, tokens))

    async def probe(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The reply to a question about what the server can do; that it cannot is a reply too, and remembered."""
        key = compute_digest("probe", self.settings.base_url.rstrip("/"), path, body)
        found = self._known(key)
        return await self._probe(path, body, key, tokens) if found is None else found

    async def _probe(self, path: str, body: dict[str, Any], key: str, tokens: int) -> Reply:
        try:
            return await self._ask(path, body, key, tokens, PROBE_RETRIES)
        except RequestProblem as problem:
            unable = problem.then == "item" or problem.status in (404, 405, 500)
            if not unable:
                raise
            reply = Reply(key=key, error=problem.status, text=problem.what)
            self._keep(reply)
            return reply

    async def _once(self, key: str, ask: Callable[[], Coroutine[Any, Any, Reply]]) -> Reply:
        task = self._asked.get(key) or asyncio.create_task(ask())
        self._asked[key] = task
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._asked.pop(key, None)

    async def _ask(
        self, path: str, body: dict[str, Any], key: str, tokens: int, retries: int | None = None
    ) -> Reply:
        most = None if retries is None else min(retries, self.settings.retries)
        async with self.budget.room(len(msgspec.json.encode(body)), tokens):
            reply = await self.client.ask(path, body, key, most)
            self._keep(reply)
            self.usage.count(reply, self.settings)
        return reply

    def _known(self, key: str) -> Reply | None:
        if key in self.own.replies:
            return self.own.replies[key]
        found = self.shared.replies.get(key)
        if found is not None:
            self.usage.kept += 1
        return found

    def _keep(self, reply: Reply) -> None:
        self.own.add(reply)
        self.shared.add(reply)


class FailedItems(Exception):
    """Items whose requests failed for good."""

    def __init__(self, failed: dict[int, RequestProblem], count: int) -> None:
        super().__init__(f"{len(failed)} of {count} failed")
        self.failed, self.count = failed, count


async def run_all(
    count: int, ask: Callable[[int], Awaitable[T]], workers: int, tell: Callable[[int], None]
) -> list[T]:
    """The results of `ask(0)`, `ask(1)`, … in that order, `workers` at a time.

    One item that fails alone does not stop the others; what would fail for all lets those in flight end, then stops.
    """
    found: dict[int, T] = {}
    failed: dict[int, RequestProblem] = {}
    stop: list[Exception] = []
    todo = iter(range(count))

    async def work() -> None:
        for i in todo:
            try:
                found[i] = await ask(i)
            except RequestProblem as problem:
                failed[i] = problem
                stop.extend([problem] if problem.then != "item" else [])
            except Exception as problem:
                stop.append(problem)
            tell(len(found) + len(failed))
            if stop:
                return

    await asyncio.gather(*(work() for _ in range(min(workers, count))))
    other = next((problem for problem in stop if not isinstance(problem, RequestProblem)), None)
    if other is not None:
        raise other
    if failed:
        raise FailedItems(failed, count)
    return [found[i] for i in range(count)]


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run to the end, also from inside a running loop (a notebook), then in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    found: list[T] = []
    problems: list[BaseException] = []

    def inside() -> None:
        try:
            found.append(asyncio.run(work()))
        except BaseException as problem:
            problems.append(problem)

    thread = Thread(target=inside)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
    return found[0]


def teller(progress: Progress, what: str, total: int) -> Callable[[int], None]:
    """Progress of one kind of work."""
    return lambda done: progress(what, done, total)
