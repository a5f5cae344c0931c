"""The application of a project: its routes, and what becomes of a request that fails."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from nikawa.collect.routes_owner import OwnerRoutes
from nikawa.collect.routes_worker import WorkerRoutes
from nikawa.collect.site import Analysis, Site
from nikawa.errors import missing_extra
from nikawa.serve.clients import ClientCheck, Networks
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.requests import json_response
from nikawa.serve.server import SecurityHeaders

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.collect.project import Project
    from nikawa.collect.store import Store


def create_app(
    project: Project,
    store: Store,
    *,
    analyses: Mapping[str, Analysis] | None = None,
    clock: Callable[[], float] = time.time,
    trusted: Networks | None = None,
    hosts: Sequence[str] = (),
) -> SecurityHeaders:
    """The ASGI application of a project; `analyses` are shown on the dashboard under their names.

    `trusted` are the web servers in front whose word about a client is taken, `hosts` names the server is known by
    in addition to those of the settings.
    """
    try:
        from starlette.applications import Starlette
    except ImportError:
        raise missing_extra("starlette, which serves the pages,", "serve") from None

    site = Site(project, store, analyses, clock)

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        await site.warm_up()
        yield

    routes = [*WorkerRoutes(site).routes(), *OwnerRoutes(site).routes(), *_make_common_routes(site)]
    app = Starlette(
        routes=routes, exception_handlers=_make_error_handlers(site, routes), lifespan=lifespan
    )
    app.router.redirect_slashes = False  # its redirects repeat the Host of the request
    settings = project.settings
    checked = ClientCheck(
        app,
        trusted=Networks(settings.server.trusted_proxies) if trusted is None else trusted,
        address=settings.address,
        hosts=(*settings.server.hosts, *hosts),
        per_address=settings.server.connections_per_address,
    )
    return SecurityHeaders(
        checked
    )  # outermost, so that even the answer to a fault of our own has them


def _make_common_routes(site: Site) -> list[BaseRoute]:
    """The routes that need no log-in and no link: static files, a sign of life, and the way to the owner's pages."""
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    async def static(request: Request) -> Response:
        return site.static.response(request.path_params["version"], request.path_params["name"])

    async def alive(_request: Request) -> Response:
        await site.check_alive()
        return json_response({"alive": True})

    async def root(_request: Request) -> Response:
        return RedirectResponse("/owner", 303)

    return [Route("/static/{version}/{name}", static), Route("/alive", alive), Route("/", root)]


def _make_error_handlers(
    site: Site, routes: Sequence[BaseRoute]
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
