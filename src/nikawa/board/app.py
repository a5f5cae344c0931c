"""The application of a board: the place where the routes of visitors, submitters and owners meet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nikawa.board.routes_owner import OwnerRoutes
from nikawa.board.routes_submitter import SubmitterRoutes
from nikawa.board.routes_visitor import VisitorRoutes
from nikawa.board.site import VIEW_SECONDS, Site
from nikawa.serve.clients import Networks
from nikawa.serve.server import SecurityHeaders
from nikawa.serve.site import assemble_app

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from nikawa.board.folder import Board
    from nikawa.board.queue import ScoringQueue
    from nikawa.board.store import BoardStore
    from nikawa.board.wire import Helper


def create_app(
    board: Board,
    store: BoardStore,
    *,
    clock: Callable[[], float] = time.time,
    trusted: Networks | None = None,
    hosts: Sequence[str] = (),
    view_seconds: float = VIEW_SECONDS,
    queue: ScoringQueue | None = None,
    checker: Helper | None = None,
    local_address: str = "",
) -> SecurityHeaders:
    """The ASGI application of a board.

    `trusted` are the web servers in front whose word about a client is taken, `hosts` names the server is known by in
    addition to those of the settings. `queue` scores submissions and `checker` checks received files; without them the board can only
    be read. `local_address` is where the server listens, for links if board.toml has no address.
    """
    site = Site(
        board, store, clock, view_seconds, queue=queue, checker=checker, address=local_address
    )
    routes: list[BaseRoute] = [
        *VisitorRoutes(site).routes(),
        *SubmitterRoutes(site).routes(),
        *OwnerRoutes(site).routes(),
    ]
    server = board.settings.server
    return assemble_app(
        site,
        routes,
        trusted=Networks(server.trusted_proxies) if trusted is None else trusted,
        address=board.settings.address,
        hosts=(*server.hosts, *hosts),
        per_address=server.connections_per_address,
    )
