"""How many connections a server holds, whose they are, and for how long they may be silent.

Every connection takes a file descriptor, and a server without free ones cannot answer at all. So a server holds
fewer connections than it has descriptors, and no address holds all of them. Where a new one finds no room, the one
that has been silent for longest is closed for it: that of the same address where the address is at its limit, else
that of the address which holds most. A connection whose request is being worked on is never closed for another.
Those who begin a request and do not end it, or do not read the response, are closed by time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, cast

from nikawa.serve.clients import Networks, client_network
from nikawa.serve.framing import MalformedRequest, RequestFraming
from nikawa.serve.limits import REQUEST_SECONDS

HEAD_SECONDS = 10.0
"""In which the head of a request must come, from its first byte or from the begin of the connection."""
IDLE_SECONDS = 75.0
"""For which a connection is kept after a response."""
CROWDED_IDLE_SECONDS = 5.0
"""The same, where three quarters of all places are taken."""
MAX_BODY_BYTES = 128 << 20
"""Of the bodies that are half here, all connections together."""
RESERVED_DESCRIPTORS = 256
"""Left for the database, files and processes."""
MAX_DESCRIPTORS = 65_536
"""The soft limit is not raised beyond: some systems answer "unlimited" and do not mean it."""
LOG_AGAIN_SECONDS = 600.0
"""After which the same trouble is logged again."""

SilentReason = Literal["idle", "head", "body", "unread", "closing"]
_PATIENCE: dict[SilentReason, float] = {
    "idle": IDLE_SECONDS + 5,  # uvicorn closes it before, unless what it sent is not read
    "head": HEAD_SECONDS,
    "body": REQUEST_SECONDS,
    "unread": REQUEST_SECONDS,
    "closing": 5.0,
}
_REFUSALS = {
    400: (b"Bad Request", b"This is no request that is taken here.\n"),
    431: (b"Request Header Fields Too Large", b"The headers are too long.\n"),
    503: (b"Service Unavailable", b"Too many connections; try again.\n"),
}
_log = logging.getLogger("nikawa.serve")


class OccasionalLog:
    """Logs a trouble that may come a thousand times a second once in a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[str, float] = {}

    def warn(self, message: str, *values: object) -> None:
        """Log a warning, unless the same was logged lately; `message` is what makes it the same."""
        if self.is_due(message):
            _log.warning(message, *values)

    def is_due(self, message: str) -> bool:
        """Whether a message was not logged lately; it counts as logged from now on."""
        now = self._clock()
        if now - self._logged.get(message, float("-inf")) < LOG_AGAIN_SECONDS:
            return False
        self._logged[message] = now
        return True


def raise_descriptor_limit() -> int:
    """How many file descriptors this process may have, after its soft limit was raised to its hard one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit for sockets
        return MAX_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MAX_DESCRIPTORS)


class ConnectionPlaces:
    """The places for connections, all of one server: who has them, and who must give one up."""

    def __init__(
        self,
        places: int,
        per_address: int,
        trusted: Networks | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places, self._per_address = places, per_address
        self._trusted = trusted or Networks()
        self._clock = clock
        self._log = OccasionalLog(clock)
        self._held: Counter[str] = Counter()
        """Connections by address."""
        self._silent: dict[str, OrderedDict[GuardedConnection, None]] = {}
        """Those that wait for their client, by address, the one silent for longest first."""
        self.total = 0
        self.body_bytes = 0
        """Of the bodies that are half here."""

    def admit(self, connection: GuardedConnection, address: str) -> bool:
        """Give a new connection a place, at the cost of a silent one where none is free; whether it has one."""
        network = client_network(address)
        if address not in self._trusted and self._held[network] >= self._per_address:
            self._log.warn(
                "%s has %d connections, the maximum per address ([server] connections_per_address);"
                " each new one closes the one that was idle for longest",
                network,
                self._per_address,
            )
            has_room = self._close_oldest(network)
        elif self.total >= self._places:
            self._log.warn(
                "all %d connections are in use; each new one closes the one that was idle for longest",
                self._places,
            )
            has_room = self.make_room()
        else:
            has_room = True
        if has_room:
            connection.network = network
            self._held[network] += 1
            self.total += 1
        return has_room

    def make_room(self) -> bool:
        """Close a silent connection of the address that holds most; whether there was one."""
        if not self._silent:
            return False
        return self._close_oldest(max(self._silent, key=self._held.__getitem__))

    def _close_oldest(self, network: str, reason: SilentReason | None = None) -> bool:
        for connection in self._silent.get(network, ()):
            if reason is None or connection.silent == reason:
                connection.abort()
                return True
        return False

    def set_silent(self, connection: GuardedConnection, reason: SilentReason | None) -> None:
        """Note what a connection waits for: None where it is the server's turn."""
        if reason == connection.silent or connection.network is None:
            return
        connection.silent, connection.since = reason, self._clock()
        silent = self._silent.setdefault(connection.network, OrderedDict())
        if reason is None:
            silent.pop(connection, None)
            if not silent:
                del self._silent[connection.network]
        else:
            silent[connection] = None
            silent.move_to_end(connection)

    def hold_body(self, network: str, change: int) -> None:
        """Count bytes of incomplete bodies; if there are too many, close the oldest."""
        self.body_bytes += change
        if change > 0 and self.body_bytes > MAX_BODY_BYTES:
            self._log.warn(
                "%d bytes of half-sent requests are held; the oldest is closed", MAX_BODY_BYTES
            )
            most = max(self._silent, key=self._held.__getitem__, default=network)
            if not self._close_oldest(most, "body"):
                self._close_oldest(network, "body")

    def release(self, connection: GuardedConnection) -> None:
        """Take back the place of a connection that ends."""
        network = connection.network
        if network is None:
            return
        self.set_silent(connection, None)
        connection.network = None
        self.total -= 1
        self._held[network] -= 1
        if not self._held[network]:
            del self._held[network]

    def close_overdue(self) -> int:
        """Close those that have been silent for too long; how many."""
        now = self._clock()
        is_crowded = 4 * self.total > 3 * self._places
        overdue = []
        for silent in self._silent.values():
            for connection in silent:
                assert connection.silent is not None
                patience = _PATIENCE[connection.silent]
                if is_crowded and connection.silent == "idle":
                    patience = CROWDED_IDLE_SECONDS
                if now - connection.since >= patience:
                    overdue.append(connection)
        for connection in overdue:
            connection.abort()
        return len(overdue)

    def on_malformed(self, address: str) -> None:
        """Log that a client sends something that is not a request."""
        self._log.warn("a request from %s was refused before it was read: it is not HTTP", address)

    def on_accept_failed(self, problem: object) -> None:
        """No descriptor was left for a connection in spite of all: close some that are silent."""
        self._log.warn("a connection could not be accepted: %s; idle ones are closed", problem)
        for _ in range(16):
            if not self.make_room():
                return


class GuardedConnection(asyncio.Protocol):
    """A connection of uvicorn (`inner`) that has a place, and whose bytes are checked before they are parsed."""

    def __init__(self, inner: Any, places: ConnectionPlaces) -> None:
        self._inner, self._places = inner, places
        self._framing = RequestFraming()
        self._transport: asyncio.Transport | None = None
        self._is_refused = self._is_unread = False
        self._body_bytes = 0
        self._address = "?"
        self.network: str | None = None
        """Whose place it has; None before it has one, and after."""
        self.silent: SilentReason | None = None
        """What its client owes; None while it is the server's turn."""
        self.since = 0.0
        """Since when."""
        on_response_complete = inner.on_response_complete

        def complete_response() -> None:
            on_response_complete()
            self._note_state()

        inner.on_response_complete = complete_response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place; a connection that gets no place receives an error and is closed."""
        self._transport = cast(asyncio.Transport, transport)
        self._inner.connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if isinstance(peer, tuple) and peer else "?"
        if self._places.admit(self, self._address):
            self._note_state()
        else:
            self._refuse(503)

    def data_received(self, data: bytes) -> None:
        """Check what came, and hand on what may be parsed."""
        if self._is_refused:
            return
        is_in_body = self._framing.is_in_body
        try:
            ready = self._framing.feed(data)
        except MalformedRequest as problem:
            self._places.on_malformed(self._address)
            if (
                is_in_body
            ):  # of the request that is being worked on, or was answered without its body
                has_queue = bool(getattr(self._inner, "pipeline", ()))
                is_answered = has_queue or self._inner.cycle.response_started
            else:
                is_answered = self._is_working()
            if is_answered:  # another response would be taken for that to another request
                self._is_refused = True
                self.abort()
            else:
                self._refuse(problem.status)
            return
        if ready:
            self._inner.data_received(ready)
        self._hold_body(len(data) if self._framing.is_in_body else 0)
        self._note_state()

    def _hold_body(self, count: int) -> None:
        """Count the bytes of a body while it is half here."""
        change = count or -self._body_bytes
        if change and self.network is not None:
            self._body_bytes += change
            self._places.hold_body(self.network, change)

    def _refuse(self, status: int) -> None:
        """Answer without the application, and close: what follows on this connection cannot be trusted."""
        assert self._transport is not None
        self._is_refused = True
        phrase, text = _REFUSALS[status]
        self._transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
            b"cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n%b"
            % (status, phrase, len(text), text)
        )
        self._transport.close()
        self._places.set_silent(self, "closing")

    def _is_working(self) -> bool:
        """Whether a response is owed to the client."""
        cycle = self._inner.cycle
        return cycle is not None and not cycle.response_complete

    def _note_state(self) -> None:
        if self._is_refused or self.network is None:
            return
        reason: SilentReason | None
        if self._is_unread:
            reason = "unread"
        elif self._framing.is_in_body:
            reason = "body"
        elif self._is_working():
            reason = None
        else:
            is_resting = self._framing.is_between_requests and self._inner.cycle is not None
            reason = "idle" if is_resting else "head"
        self._places.set_silent(self, reason)

    def abort(self) -> None:
        """End it at once; what was not sent yet is lost."""
        self._hold_body(0)
        self._places.release(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, problem: Exception | None) -> None:
        """Give the place back."""
        self._hold_body(0)
        self._places.release(self)
        self._inner.connection_lost(problem)

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        keeps_open: bool | None = self._inner.eof_received()
        return keeps_open

    def pause_writing(self) -> None:
        """The client does not read what it asked for."""
        self._is_unread = True
        self._inner.pause_writing()
        self._note_state()

    def resume_writing(self) -> None:
        """It reads again."""
        self._is_unread = False
        self._inner.resume_writing()
        self._note_state()
