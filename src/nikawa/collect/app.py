"""The application of a project: its routes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nikawa.collect.routes_dialogue import DialogueRoutes
from nikawa.collect.routes_owner import OwnerRoutes
from nikawa.collect.routes_worker import WorkerRoutes
from nikawa.collect.site import Analysis, Site
from nikawa.errors import missing_extra
from nikawa.serve.clients import Networks
from nikawa.serve.listeners import Listeners
from nikawa.serve.server import SecurityHeaders
from nikawa.serve.site import assemble_app

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
    listeners: Listeners | None = None,
) -> SecurityHeaders:
    """The ASGI application of a project; `analyses` are shown on the dashboard under their names.

    `trusted` are the web servers in front whose word about a client is taken, `hosts` names the server is known by
    in addition to those of the settings. Requests for news wait in `listeners`, so that a server that stops can let them go.
    """
    try:
        from starlette.responses import RedirectResponse
        from starlette.routing import Route
    except ImportError:
        raise missing_extra("starlette, which serves the pages,", "serve") from None

    async def root(_request: Request) -> Response:
        return RedirectResponse("/owner", 303)

    site = Site(project, store, analyses, clock)
    server = project.settings.server
    worker = WorkerRoutes(site, listeners or Listeners())
    return assemble_app(
        site,
        [
            *worker.routes(),
            *DialogueRoutes(worker).routes(),
            *OwnerRoutes(site).routes(),
            Route("/", root),
        ],
        trusted=Networks(server.trusted_proxies) if trusted is None else trusted,
        address=project.settings.address,
        hosts=(*server.hosts, *hosts),
        per_address=server.connections_per_address,
    )
