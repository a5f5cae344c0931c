"""One server: a request goes out, again where that helps, and comes back as a `Reply` or as a `Problem`."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.errors import BadInput, clip, missing_extra
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.responses import MAX_SERVER_WORDS_CHARS, RequestProblem, read_reply
from nikawa.models.chat.settings import ChatSettings

if TYPE_CHECKING:
    import httpx

    from nikawa.models.chat.usage import Usage


class ConcurrencyLimit:
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


MAX_RESPONSE_BYTES = 32 * 2**20
"""Bytes of a response; more than that is not an answer."""
LOGGERS = (
    "httpx",
    *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)
SHORTEST, LONGEST = 0.001, 60.0
"""Seconds between two tries, where the server does not ask for more."""


class Secret:
    """The key, from the environment; it shows itself to nothing but the header of a request."""

    def __init__(self, settings: ChatSettings) -> None:
        self._value = os.environ.get(settings.key_env, "").strip()
        self._auth = settings.auth
        if not (self._value.isascii() and self._value.isprintable()):
            what = f"the key in {settings.key_env} holds characters that no key has"
            raise BadInput(what, cure="set it again")

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def headers(self) -> dict[str, str]:
        """What shows the server who asks."""
        if not self._value:
            return {}
        if self._auth == "api-key":
            return {"api-key": self._value}
        shown = f"Bearer {self._value}" if self._auth == "bearer" else f"Basic {self._encoded()}"
        return {"Authorization": shown}

    def _encoded(self) -> str:
        return base64.b64encode(self._value.encode()).decode()

    def scrubbed(self, body: bytes) -> bytes:
        """A response without the key, should the server send it back."""
        if not self._value:
            return body
        password = self._value.partition(":")[2] if self._auth == "basic" else ""
        for word in (self._value, self._encoded(), password):
            if len(word) > 3:
                body = body.replace(word.encode(), b"[key]")
        return body


class _Scrubber(logging.Filter):
    """Keeps the key out of what the HTTP library logs, also where a server sends it back in a header."""

    def __init__(self, secret: Secret) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, never drop it."""
        said = record.getMessage()
        clean = self._secret.scrubbed(said.encode("utf-8", "replace")).decode()
        if clean != said:
            record.msg, record.args = clean, ()
        return True


@contextmanager
def hide_secret(secret: Secret) -> Iterator[None]:
    """While requests are under way, nothing logged holds the key."""
    scrubber = _Scrubber(secret)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(scrubber)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(scrubber)


def open_http(settings: ChatSettings) -> httpx.AsyncClient:
    """The connections of a run; redirects are not followed, so that the key stays with the server it is for."""
    try:
        import httpx
    except ImportError:
        raise missing_extra("the package 'httpx'", "chat") from None
    limits = httpx.Limits(
        max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency
    )
    address = settings.base_url.rstrip("/") + "/"
    try:
        # asyncio holds each try to its time as a whole: a server that sends a byte now and then does not escape it
        return httpx.AsyncClient(
            base_url=address,
            timeout=None,  # noqa: S113
            limits=limits,
            follow_redirects=False,
        )
    except (httpx.InvalidURL, ValueError) as problem:
        raise BadInput(
            f"base_url or a proxy cannot be used: {problem}", cure="check both"
        ) from None


class Client:
    """Sends requests; bounded by the gate, patient by the settings."""

    def __init__(self, http: httpx.AsyncClient, settings: ChatSettings, usage: Usage) -> None:
        self.http, self.settings, self.usage = http, settings, usage
        self.secret = Secret(settings)
        self.gate = ConcurrencyLimit(settings.concurrency)

    async def ask(
        self, path: str, body: dict[str, Any], key: str, retries: int | None = None
    ) -> Reply:
        """The reply, after as many tries as it takes and the settings allow.

        `retries` is how often a plain 500 is tried again where that may mean that the server cannot do it.
        """
        tries, waited = 0, 0.0
        while True:
            async with self.gate:
                found = await self._try(path, body, key)
            if not isinstance(found, RequestProblem):
                self.gate.more()
                return found
            tries += 1
            pause = self._pause(found, key, tries)
            waited += pause if found.then == "wait" else 0.0
            tired = (waited if found.then == "wait" else pause) > self.settings.patience
            most = retries if retries is not None and found.status == 500 else self.settings.retries
            tired = tired or (found.then == "again" and tries > most)
            if found.then in ("item", "stop") or tired:
                raise found
            self.usage.retries += 1
            self.usage.seconds_waited += pause
            if found.then == "wait":
                self.gate.fewer(pause if found.after is not None else 0.0)
            await asyncio.sleep(pause)

    def _pause(self, problem: RequestProblem, key: str, tries: int) -> float:
        """What the server asks for, else a random part of a time that doubles; never the same for two requests."""
        drawn = Random(f"{key}/{tries}").random()  # noqa: S311  (no secret)
        if problem.after is not None:
            return problem.after + max(SHORTEST, drawn * min(self.settings.wait, 1.0))
        longest = min(LONGEST, self.settings.wait * 2.0 ** min(tries - 1, 16))
        return max(SHORTEST, longest * (0.5 + drawn / 2))

    async def _try(self, path: str, body: dict[str, Any], key: str) -> Reply | RequestProblem:
        import httpx

        try:
            async with asyncio.timeout(self.settings.timeout):
                status, headers, content = await self._post(path, body)
            reply = read_reply(key, status, headers, self.secret.scrubbed(content))
            return msgspec.json.decode(self.secret.scrubbed(msgspec.json.encode(reply)), type=Reply)
        except RequestProblem as problem:
            problem.what = self.secret.scrubbed(problem.what.encode()).decode()
            return problem
        except TimeoutError:
            return RequestProblem(f"no whole answer within {self.settings.timeout:g} s", "again")
        except httpx.HTTPError as problem:
            said = self.secret.scrubbed(str(problem).encode("utf-8", "replace")).decode()
            return RequestProblem(
                clip(
                    f"the connection failed ({said or type(problem).__name__})",
                    MAX_SERVER_WORDS_CHARS,
                ),
                "again",
            )

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        headers = {"Content-Type": "application/json", **self.secret.headers()}
        parts, size = [], 0
        async with self.http.stream(
            "POST", path, content=msgspec.json.encode(body), headers=headers
        ) as response:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_RESPONSE_BYTES:
                    raise RequestProblem(
                        "the server's answer does not end", "again", status=response.status_code
                    )
                parts.append(part)
        return response.status_code, response.headers, b"".join(parts)
