"""How an application is served: security headers on every response, static files, and uvicorn."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nikawa.errors import BadInput, missing_extra
from nikawa.printable import printable_line
from nikawa.serve.clients import Networks
from nikawa.serve.connections import (
    IDLE_SECONDS,
    RESERVED_DESCRIPTORS,
    ConnectionPlaces,
    GuardedConnection,
    OccasionalLog,
    raise_descriptor_limit,
)
from nikawa.serve.errors import Refused

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
TICKS_BETWEEN_LOOKS = 10
"""Ticks of uvicorn, ten a second, between two looks for connections that are silent for too long."""
WAITING_CONNECTIONS = 2048
"""That the system keeps until they are accepted."""
MAX_ACCEPTED_AT_ONCE = 64
"""Connections accepted before one of them is looked at: they come out of the reserved descriptors."""


class SecurityHeaders:
    """Puts the security headers on every response; what is not static is never stored by a cache.

    A response may set one of them itself. One with a content policy of its own says there who may frame it, so it has no
    `x-frame-options`.
    """

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
                own = {name.lower() for name, _ in headers}
                if b"content-security-policy" in own:
                    own.add(b"x-frame-options")
                headers.extend(header for header in HEADERS if header[0] not in own)
                if b"cache-control" not in own:
                    headers.append((b"cache-control", b"no-store"))
            await send(message)

        await self.app(scope, receive, send_with_headers)


class StaticFiles:
    """The files of folders, read once; their version is part of their address, so browsers keep them for a year.

    Raises `BadInput` where two folders have a file of the same name: pages would get the wrong one.
    """

    def __init__(self, *folders: Path) -> None:
        self.contents: dict[str, bytes] = {}
        for folder in folders:
            for path in sorted(folder.iterdir()):
                if path.name in self.contents:
                    raise BadInput(
                        "has the same name as a file of Nikawa", file=path, cure="rename it"
                    )
                if path.is_file():
                    self.contents[path.name] = path.read_bytes()
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


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on connections, and the web servers in front that are trusted."""

    connections: int = 4096
    """Of all clients; fewer if the process is limited to fewer file descriptors."""
    per_address: int = 1000
    """Of one address that is no trusted proxy."""
    trusted: Networks = field(default_factory=Networks)

    def places(self, descriptors: int) -> int:
        """The connections that this number of file descriptors allows, with some left for database, files and processes."""
        reserved = min(RESERVED_DESCRIPTORS, descriptors // 2)
        return max(1, min(self.connections, descriptors - reserved))


class RepeatedWarnings(logging.Filter):
    """Lets a warning of uvicorn pass once in a while: a client can cause one with every request."""

    def __init__(self) -> None:
        super().__init__()
        self._log = OccasionalLog()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        return record.levelno > logging.WARNING or self._log.is_due(str(record.msg))


class PrintableFormatter(logging.Formatter):
    """A record as one line, whatever a request put into it; a traceback follows in its own lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        """The line, printable and bounded: no request can forge another line."""
        return printable_line(super().formatMessage(record))


def run_server(
    app: ASGIApp,
    host: str,
    port: int,
    limits: ConnectionLimits | None = None,
    *,
    on_start: Callable[[int], None] | None = None,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve until interrupted; `on_start` gets the port, `on_stop` is called before the last requests are waited for.

    Addresses are not logged: they may hold secret links.
    """
    import signal

    try:
        import uvicorn
    except ImportError:
        raise missing_extra("uvicorn, which serves the pages,", "serve") from None

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:  # listen before the server is ready: who comes early waits, and is not turned away
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=WAITING_CONNECTIONS)
        # accepted sockets inherit it; asyncio sets it only where the protocol is named. Without it, a body waits 40 ms for the
        # client to acknowledge the header
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as problem:
        what = f"cannot listen at {host}, port {port}: {problem.strerror or problem}"
        cure = "choose another port with --port, or another address with --host"
        raise BadInput(what, cure=cure) from None
    limits = limits or ConnectionLimits()
    descriptors = raise_descriptor_limit()
    places = ConnectionPlaces(limits.places(descriptors), limits.per_address, limits.trusted)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            asyncio.get_running_loop().set_exception_handler(on_loop_problem)
            await super().startup(sockets)
            listening.listen(WAITING_CONNECTIONS)  # asyncio asked for as many as it accepts at once
            if on_start is not None:
                on_start(int(listening.getsockname()[1]))

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if on_stop is not None:
                on_stop()
            await super().shutdown(sockets)

        async def on_tick(self, counter: int) -> bool:
            if counter % TICKS_BETWEEN_LOOKS == 0:
                places.close_overdue()
            return await super().on_tick(counter)

    def on_loop_problem(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "accept" in str(context.get("message")) and isinstance(
            context.get("exception"), OSError
        ):
            places.on_accept_failed(context["exception"])
        else:
            loop.default_exception_handler(context)

    def accept_connection(**parts: Any) -> GuardedConnection:
        return GuardedConnection(parser(**parts), places)

    parser = _find_parser()
    logging.getLogger("uvicorn.error").addFilter(RepeatedWarnings())
    if not logging.getLogger().handlers:  # logging is not set up
        handler = logging.StreamHandler()
        handler.setFormatter(PrintableFormatter())
        for name in ("nikawa", "asyncio"):
            logging.getLogger(name).addHandler(handler)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=int(IDLE_SECONDS),
        http=accept_connection,  # type: ignore[arg-type]  # called like the class it asks for
        ws="none",
        proxy_headers=False,  # ClientCheck believes those of the proxies in the settings
        backlog=min(MAX_ACCEPTED_AT_ONCE, max(1, descriptors // 8)),
        timeout_graceful_shutdown=10,
    )
    Server(config).run(sockets=[listening])


def local_address(host: str, port: int) -> str:
    """What addresses of a server's pages begin with; one that listens everywhere can be reached on this machine.

    >>> local_address("0.0.0.0", 8000), local_address("::1", 80)
    ('http://127.0.0.1:8000', 'http://[::1]:80')
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _find_parser() -> Callable[..., Any]:
    """The connection of uvicorn for the parser that is installed, the quicker one first."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        return H11Protocol
    return HttpToolsProtocol
