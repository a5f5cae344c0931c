"""The application of a board: the place where the routes of visitors, submitters and owners meet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from nikawa.board.routes_owner import OwnerRoutes
from nikawa.board.routes_submitter import SubmitterRoutes
from nikawa.board.routes_visitor import VisitorRoutes
from nikawa.board.site import LANGUAGE_COOKIE, VIEW_SECONDS, Site
from nikawa.serve.clients import Networks
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.site import assemble_app

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from nikawa.board.folder import Board
    from nikawa.board.queue import ScoringQueue
    from nikawa.board.store import BoardStore
    from nikawa.board.wire import Helper

LANGUAGE_SECONDS = 365 * 86_400


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
) -> LanguageChoice:
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
    app = assemble_app(
        site,
        routes,
        trusted=Networks(server.trusted_proxies) if trusted is None else trusted,
        address=board.settings.address,
        hosts=(*server.hosts, *hosts),
        per_address=server.connections_per_address,
    )
    return LanguageChoice(app)


class LanguageChoice:
    """Keeps the language that a visitor chose by a link (`?lang=ko`) in a cookie, for the pages that follow."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        query = scope.get("query_string", b"") if scope["type"] == "http" else b""
        chosen = parse_qs(query.decode("latin-1")).get("lang", [""])[-1] if query else ""
        if chosen not in LANGUAGES:
            await self.app(scope, receive, send)
            return
        cookie = f"{LANGUAGE_COOKIE}={chosen}; Path=/; Max-Age={LANGUAGE_SECONDS}; SameSite=Lax; HttpOnly"
        if scope.get("scheme") == "https":
            cookie += "; Secure"

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", []).append((b"set-cookie", cookie.encode()))
            await send(message)

        await self.app(scope, receive, send_with_cookie)
