"""What the applications of Nikawa share: the store in and out of the event loop, values kept for a while, and refusals.

`Site` is the part of an application that every handler gets; an application derives its own from it. `assemble_app` joins routes, the
handling of what fails, the check of clients and the security headers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from nikawa.errors import missing_extra
from nikawa.serve.clients import ClientCheck, Networks
from nikawa.serve.connections import OccasionalLog
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.requests import json_response, read_json_body
from nikawa.serve.server import SecurityHeaders, StaticFiles

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.serve.database import Connection
    from nikawa.serve.writer import DatabaseWriter

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
ALIVE_SECONDS = 5.0
"""In which the database must answer for the server to be alive."""
WRITE_SECONDS = 60.0
"""Maximum wait for the disk; then the page sends the request again with the same key."""


class ServedSite:
    """A store being served; `clock` tells the time, so that tests can set it."""

    max_body_bytes = 65_536
    """Of a JSON body."""

    def __init__(self, store: DatabaseWriter, clock: Callable[[], float] = time.time) -> None:
        self.store: Any = store
        self.clock = clock
        self._cached: dict[str, tuple[float, Any]] = {}
        self._busy: dict[str, asyncio.Lock] = {}
        self._alive_threads: Any = None
        self._log = OccasionalLog()

    @cached_property
    def static(self) -> StaticFiles:
        """Scripts, styles and images."""
        raise NotImplementedError

    async def write(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Have the store's writer call a function, and wait until it is on disk."""
        future = asyncio.wrap_future(self.store.submit(function, *args, **kwargs))
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                return cast(T, await future)
        except TimeoutError:
            raise Unavailable("the database takes too long; send it again") from None

    async def read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function that only reads, in a thread outside the event loop."""
        from starlette.concurrency import run_in_threadpool

        return cast(T, await run_in_threadpool(self.store.read, function, *args, **kwargs))

    async def read_body(self, request: Request, kind: type[S]) -> S:
        """The JSON body of a POST, checked against its type.

        Raises `Refused` where it is too large, or is something else than the type says.
        """
        return await read_json_body(request, kind, self.max_body_bytes)

    async def cached(self, key: str, max_age: float, compute: Callable[[], T]) -> T:
        """A value computed outside the event loop, at most once at a time and once per `max_age` seconds."""
        from starlette.concurrency import run_in_threadpool

        async with self._busy.setdefault(key, asyncio.Lock()):
            fresh_until, value = self._cached.get(key, (float("-inf"), None))
            began = time.monotonic()
            if began >= fresh_until:
                value = await run_in_threadpool(compute)
                ended = time.monotonic()  # what is slow to compute is computed less often
                self._cached[key] = (ended + max(max_age, 10 * (ended - began)), value)
            return cast(T, value)

    async def check_alive(self) -> None:
        """Ask the database something; raises `Unavailable` where it does not answer."""
        from anyio import CapacityLimiter, to_thread

        # A separate thread: all others may be waiting for the database.
        self._alive_threads = self._alive_threads or CapacityLimiter(4)
        ask = partial(self.store.read, lambda db: db.one("SELECT 1"))
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                await to_thread.run_sync(ask, abandon_on_cancel=True, limiter=self._alive_threads)
        except TimeoutError:
            raise Unavailable("the database does not respond in time") from None

    async def warm_up(self) -> None:
        """Have ready what the first visitor would wait for."""
        await self.check_alive()

    def request_language(self, request: Request) -> str:
        """The language of the response."""
        raise NotImplementedError

    def message(self, language: str, code: str) -> str:
        """The sentence for the code of a refusal."""
        raise NotImplementedError

    def page(self, name: str, language: str, status: int = 200, **more: Any) -> Response:
        """A page of HTML; `more` holds further values for its template."""
        raise NotImplementedError

    def refusal_response(self, request: Request, refused: Refused) -> Response:
        """The response to a refused request: a code and a sentence, or a page for a browser.

        A response with status 429 says when to try again.
        """
        language, status = self.request_language(request), refused.status
        message = self.message(language, refused.code)
        if "text/html" in request.headers.get("accept", ""):
            response = self.page("message.html", language, status, heading=status, text=message)
        else:
            if refused.detail:
                message = f"{message} ({refused.detail})"
            response = json_response({"error": refused.code, "message": message}, status)
        if status == 429:
            response.headers["retry-after"] = "2"
        return response


def assemble_app(
    site: ServedSite,
    routes: Sequence[BaseRoute],
    *,
    trusted: Networks,
    address: str,
    hosts: Sequence[str],
    per_address: int,
) -> SecurityHeaders:
    """The ASGI application of a site: its routes, static files, `/alive`, and what becomes of a request that fails.

    `trusted` are the web servers in front whose word about a client is taken, `hosts` names that the server is known by in
    addition to that of `address`.
    """
    try:
        from starlette.applications import Starlette
    except ImportError:
        raise missing_extra("starlette, which serves the pages,", "serve") from None

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        await site.warm_up()
        yield

    every = [*routes, *_make_common_routes(site)]
    app = Starlette(
        routes=every, exception_handlers=_make_error_handlers(site, every), lifespan=lifespan
    )
    app.router.redirect_slashes = False  # its redirects repeat the Host of the request
    checked = ClientCheck(
        app, trusted=trusted, address=address, hosts=tuple(hosts), per_address=per_address
    )
    return SecurityHeaders(
        checked
    )  # outermost, so that even the answer to a fault of our own has them


def _make_common_routes(site: ServedSite) -> list[BaseRoute]:
    """The routes that need no log-in and no link: static files, and a sign of life."""
    from starlette.routing import Route

    async def static(request: Request) -> Response:
        return site.static.response(request.path_params["version"], request.path_params["name"])

    async def alive(_request: Request) -> Response:
        await site.check_alive()
        return json_response({"alive": True})

    return [Route("/static/{version}/{name}", static), Route("/alive", alive)]


def _make_error_handlers(
    site: ServedSite, routes: Sequence[BaseRoute]
) -> dict[Any, Callable[[Request, Exception], Awaitable[Response]]]:
    """How each kind of failure is answered: a refusal with its own code, anything else without telling what failed."""
    from starlette.exceptions import HTTPException
    from starlette.responses import RedirectResponse
    from starlette.routing import Match

    async def on_refused(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, Refused)
        return site.refusal_response(request, problem)

    async def on_unavailable(request: Request, _problem: Exception) -> Response:
        return site.refusal_response(request, Refused("server_error", 503))

    async def on_http_error(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        status = problem.status_code
        path = request.scope["path"]
        if status == 404 and path.endswith("/") and request.method == "GET":
            scope = {**request.scope, "path": path[:-1]}
            if any(route.matches(scope)[0] is Match.FULL for route in routes):
                query = f"?{request.url.query}" if request.url.query else ""
                return RedirectResponse(f"{path[:-1]}{query}", 307)
        code = {404: "not_found", 405: "not_allowed"}.get(status, "bad_request")
        response = site.refusal_response(request, Refused(code, status))
        response.headers.update(problem.headers or {})
        return response

    async def on_fault(request: Request, _problem: Exception) -> Response:
        return site.refusal_response(request, Refused("server_error", 500))

    return {
        Refused: on_refused,
        Unavailable: on_unavailable,
        HTTPException: on_http_error,
        Exception: on_fault,
    }
