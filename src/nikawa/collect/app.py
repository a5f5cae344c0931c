"""The application: routes, what stands before them, and how the server is run."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from nikawa.collect.guard import Headers
from nikawa.collect.i18n import accepted
from nikawa.collect.patience import Patience
from nikawa.collect.routes_owner import OwnerRoutes
from nikawa.collect.routes_worker import WorkerRoutes
from nikawa.collect.site import Analysis, Site, answer
from nikawa.collect.workers import Refused
from nikawa.collect.writer import Unavailable
from nikawa.errors import BadInput, missing_extra

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.collect.project import Project
    from nikawa.collect.store import Store

YEAR = "public, max-age=31536000, immutable"
TICKS = 50
"""Ticks of uvicorn, ten a second, between two looks at its connections."""
KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
}


def create_app(
    project: Project,
    store: Store,
    *,
    analyses: Mapping[str, Analysis] | None = None,
    clock: Callable[[], float] = time.time,
) -> Headers:
    """The ASGI application of a project; `analyses` are shown on the dashboard under their names."""
    try:
        from starlette.applications import Starlette
    except ImportError:
        raise missing_extra("starlette, which serves the pages,", "serve") from None

    site = Site(project, store, analyses, clock)
    app = Starlette(
        routes=[*_worker_routes(site), *_owner_routes(site), *_others(site)],
        exception_handlers=_handlers(site),
        lifespan=_lifespan(site),
    )
    return Headers(app)  # outermost, so that even the answer to a fault of our own has them


def _lifespan(site: Site) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def life(_app: Any) -> AsyncIterator[None]:
        await site.warm()
        yield

    return life


def _worker_routes(site: Site) -> list[BaseRoute]:
    from starlette.routing import Route

    here = WorkerRoutes(site)
    posts = ("answer", "draft", "undo", "report", "check", "language")
    return [
        Route("/w/{token}", here.counted(here.page)),
        Route("/w/{token}/next", here.counted(here.next)),
        *(
            Route(f"/w/{{token}}/{name}", here.counted(getattr(here, name)), methods=["POST"])
            for name in posts
        ),
        Route("/join/{key}", here.join),
    ]


def _owner_routes(site: Site) -> list[BaseRoute]:
    from starlette.routing import Route

    here = OwnerRoutes(site)
    gets = ("adjudicate", "data", "items", "disagreements", "case", "audit", "export")
    posts = ("decide", "exclude", "reinstate", "resolve", "links")
    return [
        Route("/login", here.login_page, methods=["GET"]),
        Route("/login", here.login, methods=["POST"]),
        Route("/logout", here.logout, methods=["POST"]),
        Route("/owner", here.dashboard),
        *(Route(f"/owner/{name}", getattr(here, name)) for name in gets),
        *(Route(f"/owner/{name}", getattr(here, name), methods=["POST"]) for name in posts),
        Route("/openapi.json", here.openapi),
    ]


def _others(site: Site) -> list[BaseRoute]:
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Route

    async def static(request: Request) -> Response:
        version, contents = site.static
        data = contents.get(request.path_params["name"])
        if data is None or request.path_params["version"] != version:
            raise Refused("not_found", 404)
        suffix = "." + request.path_params["name"].rpartition(".")[2]
        kind = KINDS.get(suffix, "application/octet-stream")
        return Response(data, media_type=kind, headers={"cache-control": YEAR})

    async def alive(_request: Request) -> Response:
        await site.read(lambda link: link.one("SELECT 1"))
        return answer({"alive": True})

    async def root(_request: Request) -> Response:
        return RedirectResponse("/owner", 303)

    return [Route("/static/{version}/{name}", static), Route("/alive", alive), Route("/", root)]


def _handlers(site: Site) -> dict[Any, Callable[[Request, Exception], Awaitable[Response]]]:
    from starlette.exceptions import HTTPException

    def told(request: Request, problem: Refused) -> Response:
        language = accepted(
            request.headers.get("accept-language", ""), site.project.settings.language
        )
        html = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        response = site.refusal(problem, language, html)
        if problem.status == 429:
            response.headers["retry-after"] = "2"
        return response

    async def refused(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, Refused)
        return told(request, problem)

    async def unavailable(request: Request, _problem: Exception) -> Response:
        return told(request, Refused("server_error", 503))

    async def http(request: Request, problem: Exception) -> Response:
        status = problem.status_code if isinstance(problem, HTTPException) else 500
        code = {404: "not_found", 405: "not_allowed"}.get(status, "bad_request")
        response = told(request, Refused(code, status))
        if isinstance(problem, HTTPException) and problem.headers:
            response.headers.update(problem.headers)
        return response

    async def broken(request: Request, _problem: Exception) -> Response:
        return told(request, Refused("server_error", 500))

    return {Refused: refused, Unavailable: unavailable, HTTPException: http, Exception: broken}


def run(
    app: Headers, host: str, port: int, *, started: Callable[[int], None] | None = None
) -> None:
    """Serve until interrupted. Addresses are not logged: they hold the workers' links."""
    import signal

    try:
        import uvicorn
    except ImportError:
        raise missing_extra("uvicorn, which serves the pages,", "serve") from None

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=75,
        proxy_headers=True,
        timeout_graceful_shutdown=10,
    )

    patience = Patience()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if started is not None:
                started(int(listening.getsockname()[1]))

        async def on_tick(self, counter: int) -> bool:
            if counter % TICKS == 0:
                patience.look(self.server_state.connections, time.monotonic())
            return await super().on_tick(counter)

    Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """An open door: who comes before the server is ready waits, and is not turned away."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        what = f"cannot listen at {host}, port {port}: {problem.strerror or problem}"
        raise BadInput(
            what, cure="choose another port with --port, or another address with --host"
        ) from None
