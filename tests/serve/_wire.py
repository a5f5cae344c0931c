"""A server in a process of its own, and a client that speaks in raw bytes, for tests of what a network may send."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HALF_A_HEAD = b"GET /alive HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
HALF_A_BODY = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nx"
ALIVE = b"GET /alive HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
GOOD_HEAD = b"Host: 127.0.0.1\r\n"

HOSTILE: dict[str, bytes] = {
    "length and chunks": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    "chunks and length": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length twice": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "a list of lengths": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\nab",
    "a length with a sign": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\nab",
    "a length in hexadecimal": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\nab",
    "a length beyond all": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "a blank before the colon": b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\nab",
    "another coding": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a coding with a tail": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks twice": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a folded line": b"GET /echo HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\r\n\r\n",
    "a folded coding": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": b"GET /echo HTTP/1.1\nHost: a\n\n",
    "one bare line feed": b"GET /echo HTTP/1.1\r\nHost: a\nX-A: 1\r\n\r\n",
    "a bare carriage return": b"GET /echo HTTP/1.1\r\nHost: a\r\nX-A: 1\rX-B: 2\r\n\r\n",
    "NUL in a header": b"GET /echo HTTP/1.1\r\nHost: a\r\nX-A: 1\x002\r\n\r\n",
    "NUL in the target": b"GET /echo\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a byte beyond ASCII in the target": b"GET /echo\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    "the target of a proxy": b"GET http://evil.example/echo HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "no host": b"GET /echo HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a host with a path": b"GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "a host with a user": b"GET /echo HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "another version": b"GET /echo HTTP/2.0\r\nHost: a\r\n\r\n",
    "no version": b"GET /echo\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "long headers": b"GET /echo HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 40_000 + b"\r\n\r\n",
    "many headers": b"GET /echo HTTP/1.1\r\nHost: a\r\n" + b"X-A: 1\r\n" * 1000 + b"\r\n",
    "a chunk size that is none": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a negative chunk size": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    "a chunk size beyond all": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
    "a chunk that is longer": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    "an extension of a chunk": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n0\r\n\r\n",
    "a chunk ended by a line feed": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n",
    "a trailer": b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\r\n\r\n",
}
"""Requests that a server refuses, each with the connection."""


def exchange(port: int, *parts: bytes, seconds: float = 60.0, address: str = "127.0.0.1") -> bytes:
    """Send bytes in parts and read until the server closes; what came."""
    with socket.create_connection(("127.0.0.1", port), seconds, (address, 0)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each part on its own
        for number, part in enumerate(parts):
            if number:
                time.sleep(0.01)
            try:
                client.sendall(part)
            except OSError:  # it was refused before all was sent
                break
        received = b""
        try:
            while block := client.recv(65_536):
                received += block
        except ConnectionResetError:
            pass
    return received


def time_alive(port: int, seconds: float = 30.0, address: str = "127.0.0.1") -> float:
    """Seconds until `/alive` is answered on a new connection; no answer is infinite."""
    began = time.perf_counter()
    try:
        answer = exchange(port, ALIVE, seconds=seconds, address=address)
    except OSError:
        return float("inf")
    return time.perf_counter() - began if answer.startswith(b"HTTP/1.1 200") else float("inf")


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something comes to hold within so many seconds."""
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


class SilentCrowd:
    """Connections that begin something and never end it."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def join(self, port: int, count: int, first: bytes, address: str = "127.0.0.1") -> None:
        """Open connections that send `first` and no more."""
        for _ in range(count):
            client = socket.socket()
            client.settimeout(60)
            client.bind((address, 0))
            try:
                client.connect(("127.0.0.1", port))
                client.sendall(first)
            except OSError:  # refused, which is an answer too
                client.close()
            else:
                self._sockets.append(client)

    def open_count(self) -> int:
        """How many the server has not closed."""
        count = 0
        for client in self._sockets:
            client.setblocking(False)
            try:
                count += client.recv(1, socket.MSG_PEEK) != b""
            except BlockingIOError:
                count += 1
            except OSError:
                continue
        return count

    def leave(self) -> None:
        """Close them all."""
        for client in self._sockets:
            client.close()


def raise_limit() -> None:
    """Let this process have as many descriptors as it may: it holds the other end of every connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


RELEASE = "release"
"""A file beside the log: once it is there, `/slow` is answered. The log has a line `begun` for each that waits.

A server that stops writes it, as after `/stop`."""
APPLICATION = """
import asyncio, os, signal, sys
from pathlib import Path
from nikawa.serve.clients import Networks
from nikawa.serve.server import ConnectionLimits, run_server

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/slow":
        print("begun", file=sys.stderr, flush=True)
        while not os.path.exists(release):
            await asyncio.sleep(0.01)
    if scope["path"] == "/stop":
        signal.raise_signal(signal.SIGINT)
    size = 8_000_000 if scope["path"] == "/large" else 0
    answer = b"x" * size or scope["path"].encode() + b" " + body
    headers = [(b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})

def started(port):
    print(port, flush=True)

release, total, one, *trusted = sys.argv[1:]
limits = ConnectionLimits(int(total), int(one), Networks(trusted))
run_server(app, "127.0.0.1", 0, limits, on_start=started, on_stop=Path(release).touch)
"""


@contextmanager
def running(
    folder: Path,
    *,
    connections: int = 4096,
    per_address: int = 1000,
    trusted: Sequence[str] = (),
    descriptors: int | None = None,
    more_modules: str = "",
) -> Iterator[tuple[int, Path]]:
    """A server that answers with the path and the body; its port and its log."""
    log = folder / "server.log"
    words = [str(folder / RELEASE), str(connections), str(per_address), *trusted]
    path = os.pathsep.join(part for part in (more_modules, os.environ.get("PYTHONPATH")) if part)
    limits: dict[str, Any] = {}
    if descriptors is not None:
        pair = (descriptors, descriptors)
        limits["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, pair)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", APPLICATION, *words],
            stdout=subprocess.PIPE,
            stderr=stream,
            env={**os.environ, "PYTHONPATH": path},
            **limits,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        yield int(line), log
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
