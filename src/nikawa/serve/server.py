"""How an application is served: security headers on every response, static files, and uvicorn."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.errors import BadInput, missing_extra
from nikawa.serve.errors import Refused
from nikawa.serve.limits import SlowConnections

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex, nofollow"),
]
CACHED_FOR_A_YEAR = "public, max-age=31536000, immutable"
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
}
TICKS_BETWEEN_LOOKS = 50
"""Ticks of uvicorn, ten a second, between two looks for slow connections."""


class SecurityHeaders:
    """Puts the security headers on every response; what is not static is never stored by a cache."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                headers.extend(HEADERS)
                if not any(name.lower() == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
            await send(message)

        await self.app(scope, receive, send_with_headers)


class StaticFiles:
    """The files of a folder, read once; their version is part of their address, so browsers keep them for a year."""

    def __init__(self, folder: Path) -> None:
        paths = [path for path in sorted(folder.iterdir()) if path.is_file()]
        self.contents = {path.name: path.read_bytes() for path in paths}
        joined = b"\0".join(name.encode() + data for name, data in self.contents.items())
        self.version = sha256(joined).hexdigest()[:12]

    @property
    def base(self) -> str:
        """What the addresses of the files begin with, without a slash at the end."""
        return f"/static/{self.version}"

    def response(self, version: str, name: str) -> Response:
        """A file; one that is not there, or of another version, is refused."""
        from starlette.responses import Response

        data = self.contents.get(name)
        if data is None or version != self.version:
            raise Refused("not_found", 404)
        kind = MEDIA_TYPES.get("." + name.rpartition(".")[2], "application/octet-stream")
        return Response(data, media_type=kind, headers={"cache-control": CACHED_FOR_A_YEAR})


def run_server(
    app: ASGIApp, host: str, port: int, *, on_start: Callable[[int], None] | None = None
) -> None:
    """Serve until interrupted; `on_start` gets the port. Addresses are not logged: they may hold secret links."""
    import signal

    try:
        import uvicorn
    except ImportError:
        raise missing_extra("uvicorn, which serves the pages,", "serve") from None

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:  # listen before the server is ready: who comes early waits, and is not turned away
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        what = f"cannot listen at {host}, port {port}: {problem.strerror or problem}"
        cure = "choose another port with --port, or another address with --host"
        raise BadInput(what, cure=cure) from None
    slow = SlowConnections()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_start is not None:
                on_start(int(listening.getsockname()[1]))

        async def on_tick(self, counter: int) -> bool:
            if counter % TICKS_BETWEEN_LOOKS == 0:
                slow.close_overdue(self.server_state.connections, time.monotonic())
            return await super().on_tick(counter)

    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=75,
        proxy_headers=True,
        timeout_graceful_shutdown=10,
    )
    Server(config).run(sockets=[listening])
