"""The client and the host of a request: which statements of a client about itself are trusted.

The address of a connection is the only thing a client cannot choose. `X-Forwarded-For` and `X-Forwarded-Proto` are
trusted only from the web servers in front that the settings name (`trusted_proxies`), not
even from this machine, where other people may have accounts. The `Host` header is compared with the
address the server is known by; no link or redirect is ever made from it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nikawa.errors import BadInput

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""No page elsewhere can make a browser use these for a machine that is not its own."""
FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto", b"forwarded", b"x-real-ip"})
ALIVE = "/alive"
"""Answered for every host: a load balancer asks without one, and the answer reveals nothing."""
_log = logging.getLogger("nikawa.serve")


class Networks:
    """Addresses and networks, for looking up whether one holds an address.

    >>> "10.1.2.3" in Networks(["10.0.0.0/8", "::1"])
    True
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._networks = []
        for name in names:
            try:
                self._networks.append(ipaddress.ip_network(name.strip()))
            except ValueError:
                what = f"{name!r} is not an address of a web server"
                cure = "write an address such as 127.0.0.1, or a network such as 10.0.0.0/8"
                raise BadInput(what, cure=cure) from None

    def __contains__(self, address: object) -> bool:
        try:
            parsed = _parse_address(str(address))
        except ValueError:
            return False
        return any(
            parsed.version == network.version and parsed in network for network in self._networks
        )

    def __bool__(self) -> bool:
        return bool(self._networks)


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as proxies write it, with or without a port; an IPv4 address in IPv6 form is the IPv4 address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=4096)
def client_network(address: str) -> str:
    """The part of an address that limits count as one client: an IPv4 address, or the /64 of IPv6, all of which one customer has.

    >>> client_network("2001:db8::1"), client_network("::ffff:192.0.2.7"), client_network("192.0.2.7")
    ('2001:db8::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        parsed = _parse_address(address)
    except ValueError:
        return address
    if parsed.version == 4 or parsed.is_loopback:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def forwarded_client(values: Sequence[str], peer: str, trusted: Networks) -> str:
    """The client that a trusted peer speaks for: the rightmost hop that is not itself a trusted proxy.

    Everything further left was written by that hop, which may write anything. A value that is not an address ends the walk
    at the hop that passed it on.

    >>> forwarded_client(["6.6.6.6, 192.0.2.7, 10.0.0.2"], "10.0.0.1", Networks(["10.0.0.0/8"]))
    '192.0.2.7'
    """
    client = peer
    for hop in reversed([hop.strip() for value in values for hop in value.split(",")]):
        try:
            client = str(_parse_address(hop))
        except ValueError:
            break
        if client not in trusted:
            break
    return client


def host_name(host: str) -> str:
    """A `Host` without its port, in small letters; an address of IPv6 keeps its brackets."""
    name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")


class ClientCheck:
    """Settles who a request comes from and whether it is for this server, before the application sees it.

    `address` is where workers reach the server; without one any host is taken. `hosts` are further names.
    `per_address` is how many requests of one client that comes through a proxy may be in work at once: their
    connections are the proxy's, and cannot be counted.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        trusted: Networks,
        address: str = "",
        hosts: Sequence[str] = (),
        per_address: int = 1000,
    ) -> None:
        self._app, self._trusted, self._per_address = app, trusted, per_address
        public = urlsplit(address)
        self._public_host = host_name(public.netloc.rpartition("@")[2])
        self._is_https = public.scheme == "https"
        names = {self._public_host, *map(host_name, hosts), *LOCAL_HOSTS}
        self._hosts = names if address else None
        self._in_work: Counter[str] = Counter()
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the client and the scheme that are trusted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if "\0" in scope["path"]:  # no database keeps it in a text, so no id has it
            await _send_text(send, 404, b"This page does not exist.\n")
            return
        headers = scope["headers"]
        host = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
        if self._hosts is not None:
            if host_name(host) not in self._hosts and scope["path"] != ALIVE:
                self._log_once(
                    "host",
                    "requests for the host %r are refused; if people use it, add it to hosts in [server] of the settings",
                    host[:200],
                )
                await _send_text(send, 421, b"This server is not known by that name.\n")
                return
            if self._is_https and host_name(host) == self._public_host:
                scope = {**scope, "scheme": "https"}
        peer = scope["client"][0] if scope.get("client") else "?"
        if peer not in self._trusted:
            if not FORWARDED.isdisjoint(name for name, _ in headers):
                self._log_once(
                    "forwarded",
                    "requests from %s carry an X-Forwarded-For header that is not trusted; if this is your web server,"
                    " add it to trusted_proxies in [server] of the settings, or pass --trust-proxy",
                    peer,
                )
            await self._app(scope, receive, send)
            return
        await self._pass_forwarded(scope, peer, receive, send)

    async def _pass_forwarded(self, scope: Scope, peer: str, receive: Receive, send: Send) -> None:
        """Pass on a request that a trusted proxy brings, as one of the client it speaks for."""
        forwarded = [
            value.decode("latin-1")
            for name, value in scope["headers"]
            if name == b"x-forwarded-for"
        ]
        client = forwarded_client(forwarded, peer, self._trusted)
        schemes = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
        scheme = schemes[-1].rpartition(b",")[2].strip().lower() if schemes else b""
        scope = {**scope, "client": (client, 0)}
        if scheme in (b"http", b"https"):
            scope["scheme"] = scheme.decode()
        network = client_network(client)
        if self._in_work[network] >= self._per_address:
            await _send_text(send, 503, b"Too many requests at once; try again.\n")
            return
        self._in_work[network] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_work[network] -= 1
            if not self._in_work[network]:
                del self._in_work[network]

    def _log_once(self, about: str, message: str, value: str) -> None:
        if about not in self._logged:
            self._logged.add(about)
            _log.warning(message, value)


async def _send_text(send: Send, status: int, text: bytes) -> None:
    """A response without the application; the connection is closed, so that its body need not be read."""
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
