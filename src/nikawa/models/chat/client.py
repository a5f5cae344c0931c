"""One server: sends a request, retries if that can help, and returns a `Reply` or raises a
`RequestProblem`.

The number of requests in flight adapts: it halves when the server reports too many, and grows by
one after a full round of good answers.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.errors import BadInput, clip, missing_extra
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.responses import MAX_SERVER_WORDS_CHARS, RequestProblem, read_reply
from nikawa.models.chat.settings import ChatSettings, is_loopback
from nikawa.models.secrets import MIN_SECRET_CHARS, find_secrets

if TYPE_CHECKING:
    import httpx

    from nikawa.models.chat.usage import Usage

MAX_RESPONSE_BYTES = 32 * 2**20
"""Maximum bytes of a response; a longer one is not an answer."""
PROXIED = ("http://", "https://", "all://")
"""Kinds of address for which the environment may name a proxy."""
MIN_PAUSE, MAX_PAUSE = 0.001, 60.0
"""Seconds between two tries, where the server does not ask for more."""
HTTP_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)


class Secret:
    """The key from the environment; only the header of a request shows it.

    Settings may add further secrets to the fields of a request: they are kept out of the same places.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._value = os.environ.get(settings.key_env, "").strip()
        self._auth = settings.auth
        if not (self._value.isascii() and self._value.isprintable()):
            what = (
                f"the key in {settings.key_env} contains characters that are not allowed in a key"
            )
            raise BadInput(what, cure="set the variable again")
        self._encoded = base64.b64encode(self._value.encode()).decode()
        known = [self._value] if len(self._value) >= MIN_SECRET_CHARS else []
        self._others = tuple(find_secrets(settings.extra, known))

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def headers(self) -> dict[str, str]:
        """The headers that authenticate the request."""
        if not self._value:
            return {}
        if self._auth == "api-key":
            return {"api-key": self._value}
        if self._auth == "bearer":
            return {"Authorization": f"Bearer {self._value}"}
        return {"Authorization": f"Basic {self._encoded}"}

    def scrub(self, body: bytes) -> bytes:
        """A response without the key, in case the server sends it back."""
        if not self._value and not self._others:
            return body
        password = self._value.partition(":")[2] if self._auth == "basic" else ""
        for word in (self._value, self._encoded, password, *self._others):
            if len(word) >= MIN_SECRET_CHARS:
                body = body.replace(word.encode(), b"[key]")
        return body

    def scrub_text(self, text: str) -> str:
        """A text without the key."""
        return self.scrub(text.encode("utf-8", "replace")).decode()


class _Scrubber(logging.Filter):
    """Keeps the key out of the HTTP library's logs, even if a server sends it back in a header."""

    def __init__(self, secret: Secret) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, never drop it."""
        message = record.getMessage()
        clean = self._secret.scrub_text(message)
        if clean != message:
            record.msg, record.args = clean, ()
        return True


@contextmanager
def hide_secret(secret: Secret) -> Iterator[None]:
    """Keep the key out of all logs while requests are in flight."""
    scrubber = _Scrubber(secret)
    loggers = [logging.getLogger(name) for name in HTTP_LOGGERS]
    for logger in loggers:
        logger.addFilter(scrubber)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(scrubber)


class ConcurrencyLimit:
    """Allows `limit` requests at a time; sends none before a pause requested by the server is over."""

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self.limit = float(max_requests)
        self.in_flight = 0
        self._paused_until = 0.0
        self._slowed_until = 0.0
        self._freed = asyncio.Condition()

    async def __aenter__(self) -> None:
        while True:
            async with self._freed:
                await self._freed.wait_for(lambda: self.in_flight < int(self.limit))
                pause = self._paused_until - time.monotonic()
                if pause <= 0:
                    self.in_flight += 1
                    return
            await asyncio.sleep(pause)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with self._freed:
            self.in_flight -= 1
            self._freed.notify_all()

    def lower(self, pause: float) -> None:
        """The server reported too many: halve the limit, once for all requests refused together."""
        now = time.monotonic()
        self._paused_until = max(self._paused_until, now + pause)
        if now >= self._slowed_until:
            self.limit = max(1.0, self.limit / 2)
            self._slowed_until = now + max(pause, 0.05)

    def raise_slowly(self) -> None:
        """Count a good answer: a full round of them raises the limit by one."""
        self.limit = min(float(self.max_requests), self.limit + 1 / self.limit)


def open_http(settings: ChatSettings) -> httpx.AsyncClient:
    """The connections of a run.

    Redirects are not followed, so that the key stays with the server it is for. An address of this machine is reached
    without the proxy of the environment: personal data may be sent there because it stays here.
    """
    try:
        import httpx
    except ImportError:
        raise missing_extra("the package 'httpx'", "chat") from None
    count = settings.concurrency
    direct = dict.fromkeys(PROXIED) if is_loopback(settings.base_url) else None
    try:
        # asyncio limits the whole time of a try, even if the server sends a byte now and then
        return httpx.AsyncClient(
            base_url=settings.base_url.rstrip("/") + "/",
            timeout=None,  # noqa: S113
            limits=httpx.Limits(max_connections=count, max_keepalive_connections=count),
            follow_redirects=False,
            mounts=direct,
        )
    except (httpx.InvalidURL, ValueError) as problem:
        what = f"base_url or the proxy is not usable: {problem}"
        raise BadInput(what, cure="check both values") from None


class Client:
    """Sends requests: as many at a time as the server accepts, with the retries of the settings."""

    def __init__(self, http: httpx.AsyncClient, settings: ChatSettings, usage: Usage) -> None:
        self.http, self.settings, self.usage = http, settings, usage
        self.secret = Secret(settings)
        self.limit = ConcurrencyLimit(settings.concurrency)

    async def ask(
        self,
        path: str,
        body: dict[str, Any],
        key: str,
        retries: int | None = None,
        on_lost: Callable[[], Awaitable[None]] | None = None,
    ) -> Reply:
        """Return the reply, after as many tries as needed and allowed by the settings.

        Raises the last `RequestProblem`.

        `retries` is the number of retries after a plain 500, which may mean that the server does not support the
        request. `on_lost` is called before a retry if the server may have billed the last try.
        """
        tries, waited = 0, 0.0
        while True:
            async with self.limit:
                result = await self._try(path, body, key)
            if not isinstance(result, RequestProblem):
                self.limit.raise_slowly()
                return result
            tries += 1
            pause = self._choose_pause(result, key, tries)
            if result.action == "wait":
                waited += pause
                gives_up = waited > self.settings.patience
            else:
                gives_up = pause > self.settings.patience
            max_retries = self.settings.retries
            if retries is not None and result.status == 500:
                max_retries = retries
            if result.action == "again" and tries > max_retries:
                gives_up = True
            if result.action in ("item", "stop") or gives_up:
                raise result
            if result.may_be_billed and on_lost is not None:
                await on_lost()
            self.usage.retries += 1
            self.usage.seconds_waited += pause
            if result.action == "wait":
                self.limit.lower(pause if result.after is not None else 0.0)
            await asyncio.sleep(pause)

    def _choose_pause(self, problem: RequestProblem, key: str, tries: int) -> float:
        """The wait that the server asks for, otherwise a random part of a time that doubles with each try."""
        draw = Random(f"{key}/{tries}").random()  # noqa: S311  (no secret)
        if problem.after is not None:
            return problem.after + max(MIN_PAUSE, draw * min(self.settings.wait, 1.0))
        longest = min(MAX_PAUSE, self.settings.wait * 2.0 ** min(tries - 1, 16))
        return max(MIN_PAUSE, longest * (0.5 + draw / 2))

    async def _try(self, path: str, body: dict[str, Any], key: str) -> Reply | RequestProblem:
        import httpx

        try:
            async with asyncio.timeout(self.settings.timeout):
                status, headers, content = await self._post(path, body)
            reply = read_reply(key, status, headers, self.secret.scrub(content))
            return msgspec.json.decode(self.secret.scrub(msgspec.json.encode(reply)), type=Reply)
        except RequestProblem as problem:
            problem.what = self.secret.scrub_text(problem.what)
            return problem
        except TimeoutError:
            what = f"no complete response within {self.settings.timeout:g} s"
            return RequestProblem(what, "again", may_be_billed=True)
        except httpx.HTTPError as problem:
            reason = self.secret.scrub_text(str(problem)) or type(problem).__name__
            what = clip(f"the connection failed ({reason})", MAX_SERVER_WORDS_CHARS)
            never_sent = isinstance(problem, httpx.ConnectError | httpx.UnsupportedProtocol)
            return RequestProblem(what, "again", may_be_billed=not never_sent)

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        headers = {"Content-Type": "application/json", **self.secret.headers()}
        content = msgspec.json.encode(body)
        parts, size = [], 0
        async with self.http.stream("POST", path, content=content, headers=headers) as response:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_RESPONSE_BYTES:
                    what = "the server's response is too long"
                    raise RequestProblem(
                        what, "again", status=response.status_code, may_be_billed=True
                    )
                parts.append(part)
        return response.status_code, response.headers, b"".join(parts)
