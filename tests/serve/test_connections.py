"""Connections that hold places, and bytes that are no request: a server goes on answering, and its log stays short."""

from __future__ import annotations

import logging
import socket
import threading
from pathlib import Path

import pytest
from tests.serve._wire import (
    ALIVE,
    HALF_A_BODY,
    HALF_A_HEAD,
    HOSTILE,
    RELEASE,
    SilentCrowd,
    exchange,
    running,
    time_alive,
    wait_until,
)

from nikawa.serve import connections
from nikawa.serve.clients import Networks
from nikawa.serve.connections import ConnectionPlaces, GuardedConnection
from nikawa.serve.limits import REQUEST_SECONDS
from nikawa.serve.server import ConnectionLimits, RepeatedWarnings, run_server

SOON = 8.0
"""Seconds, before those that are silent are closed for it; `python -m tests.soak.attack silent` asks for one, on a machine that has nothing else to do."""


@pytest.mark.parametrize("first", [b"", HALF_A_HEAD, HALF_A_BODY], ids=["nothing", "head", "body"])
def test_silent_connections_do_not_keep_others_out(tmp_path: Path, first: bytes) -> None:
    crowd = SilentCrowd()
    with running(tmp_path, descriptors=128) as (port, log):
        try:
            crowd.join(port, 300, first)
            assert max(time_alive(port) for _ in range(5)) < SOON
            assert 0 < crowd.open_count() <= 64
        finally:
            crowd.leave()
        assert max(time_alive(port) for _ in range(5)) < SOON
    assert len(log.read_bytes()) < 1000


def test_an_address_holds_a_share_of_the_places(tmp_path: Path) -> None:
    crowd, other = SilentCrowd(), SilentCrowd()
    with running(tmp_path, connections=60, per_address=20) as (port, log):
        try:
            other.join(port, 10, HALF_A_HEAD, "127.0.0.2")
            crowd.join(port, 200, HALF_A_HEAD)
            assert time_alive(port) < SOON
            assert crowd.open_count() <= 20
            assert other.open_count() == 10
        finally:
            crowd.leave()
            other.leave()
    assert log.read_text().count("connections_per_address") == 1


def test_a_trusted_proxy_is_not_one_address(tmp_path: Path) -> None:
    crowd = SilentCrowd()
    with running(tmp_path, per_address=5, trusted=["127.0.0.1"]) as (port, _):
        try:
            crowd.join(port, 30, HALF_A_HEAD)
            assert time_alive(port) < SOON
            assert crowd.open_count() == 30
        finally:
            crowd.leave()


def test_work_in_hand_is_not_given_up_for_others(tmp_path: Path) -> None:
    answers: list[bytes] = []
    slow = ALIVE.replace(b"/alive", b"/slow")
    with running(tmp_path, connections=4) as (port, log):
        workers = [
            threading.Thread(target=lambda: answers.append(exchange(port, slow))) for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        assert wait_until(lambda: log.read_text().count("begun") == 4)
        assert exchange(port, ALIVE).startswith(b"HTTP/1.1 503")
        (tmp_path / RELEASE).touch()
        for worker in workers:
            worker.join()
        assert time_alive(port) < SOON
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * 4


def test_a_server_that_stops_has_its_requests_end(tmp_path: Path) -> None:
    answers: list[bytes] = []
    slow = ALIVE.replace(b"/alive", b"/slow")
    with running(tmp_path) as (port, log):
        held = threading.Thread(target=lambda: answers.append(exchange(port, slow)))
        held.start()
        assert wait_until(lambda: "begun" in log.read_text())
        exchange(port, ALIVE.replace(b"/alive", b"/stop"))
        held.join()
    assert answers[0].startswith(b"HTTP/1.1 200")


def test_who_does_not_read_the_response_gives_way(tmp_path: Path) -> None:
    large = ALIVE.replace(b"/alive", b"/large")
    crowd = SilentCrowd()
    with running(tmp_path, connections=6) as (port, _):
        try:
            crowd.join(port, 6, large)
            # a place is had once the server has noticed that what it sends is not read
            assert wait_until(lambda: time_alive(port) < SOON, REQUEST_SECONDS / 2)
        finally:
            crowd.leave()


@pytest.fixture(params=["h11", "httptools"], scope="module")
def echo_port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "httptools":
        pytest.importorskip("httptools", reason="install httptools to run this with its parser")
    else:  # a module of this name that cannot be used hides the one that is installed
        (folder / "httptools.py").write_text("raise ImportError('hidden by a test')\n")
    hidden = "" if request.param == "httptools" else str(folder)
    with running(folder, more_modules=hidden) as (port, log):
        yield port
    assert "Traceback" not in log.read_text()
    assert len(log.read_bytes()) < 2000


@pytest.mark.parametrize("name", HOSTILE)
def test_bytes_that_are_no_request_end_the_connection(echo_port: int, name: str) -> None:
    answer = exchange(echo_port, HOSTILE[name])
    assert answer.split(b"\r\n")[0].split(b" ")[1] in (b"400", b"431"), answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"smuggled" not in answer
    raw = HOSTILE[name]
    if len(raw) < 200:  # the same, a byte at a time
        again = exchange(echo_port, raw[:-9], *(raw[-9:][n : n + 1] for n in range(9)))
        assert again.split(b" ")[1] in (b"400", b"431"), again


def test_what_follows_a_good_request_is_checked_too(echo_port: int) -> None:
    good = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
    answer = exchange(echo_port, good, HOSTILE["length and chunks"])
    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 400") == 1
    assert b"smuggled" not in answer


def test_good_requests_pass(echo_port: int) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: a:80\r\nConnection: close\r\n"
    chunks = b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    for raw in (head + b"Content-Length: 11\r\n\r\nhello world", head + chunks):
        assert exchange(echo_port, raw).endswith(b"/echo hello world")
        assert exchange(echo_port, raw[:20], raw[20:100], raw[100:-3], raw[-3:]).endswith(
            b"/echo hello world"
        )
    both = ALIVE.replace(b"Connection: close\r\n", b"") + ALIVE
    assert exchange(echo_port, both).count(b"HTTP/1.1 200") == 2
    assert exchange(echo_port, b"GET /old HTTP/1.0\r\n\r\n").endswith(b"/old ")


class Inner:
    """What a connection of uvicorn shows, without one."""

    cycle: object = None

    def on_response_complete(self) -> None:
        pass


def silent_connection(places: ConnectionPlaces, address: str) -> GuardedConnection:
    connection = GuardedConnection(Inner(), places)
    assert places.admit(connection, address)
    places.set_silent(connection, "head")
    return connection


def test_silence_ends_by_time_and_sooner_in_a_crowd() -> None:
    now = [0.0]
    places = ConnectionPlaces(4, 4, clock=lambda: now[0])
    head, idle = (silent_connection(places, "192.0.2.1") for _ in range(2))
    places.set_silent(idle, "idle")
    now[0] = connections.HEAD_SECONDS
    assert places.close_overdue() == 1
    assert (head.network, idle.network) == (None, "192.0.2.1")
    others = [silent_connection(places, "192.0.2.2") for _ in range(3)]
    assert places.close_overdue() == 1  # four of four: those at rest go first
    assert (idle.network, places.total) == (None, len(others))


def test_the_address_that_holds_most_gives_a_place_up() -> None:
    places = ConnectionPlaces(5, 5)
    one = silent_connection(places, "192.0.2.1")
    many = [silent_connection(places, "2001:db8::1"), silent_connection(places, "2001:db8::2")]
    many += [silent_connection(places, "2001:db8::3"), silent_connection(places, "2001:db8::4")]
    silent_connection(places, "192.0.2.9")
    assert one.network is not None
    assert [connection.network is None for connection in many] == [True, False, False, False]


def test_bodies_that_are_half_here_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_BODY_BYTES", 1000)
    places = ConnectionPlaces(9, 9)
    senders = [silent_connection(places, "192.0.2.1") for _ in range(3)]
    for sender in senders:
        places.set_silent(sender, "body")
        sender._hold_body(400)
    assert [sender.network is None for sender in senders] == [True, False, False]
    assert places.body_bytes == 800


def test_descriptors_are_left_for_other_things() -> None:
    limits = ConnectionLimits()
    assert [limits.places(n) for n in (128, 1024, 20_000)] == [64, 768, 4096]


def test_a_failed_accept_makes_room_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    places = ConnectionPlaces(50, 50, Networks())
    for _ in range(20):
        silent_connection(places, "192.0.2.1")
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            places.on_accept_failed(OSError(24, "Too many open files"))
    assert places.total == 0
    assert len(caplog.records) == 1


def test_a_warning_of_uvicorn_passes_once_in_a_while() -> None:
    passes = RepeatedWarnings()
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 1, "Invalid.", (), None)
    fault = logging.LogRecord("uvicorn.error", logging.ERROR, "", 1, "Exception", (), None)
    assert [passes.filter(record) for _ in range(3)] == [True, False, False]
    assert [passes.filter(fault) for _ in range(2)] == [True, True]


def test_a_client_that_hangs_up_gives_its_place_back(tmp_path: Path) -> None:
    with running(tmp_path, connections=30) as (port, log):
        for _ in range(3):
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(HALF_A_BODY)
            for _ in range(3):  # one after the other: the server has heard that all hung up
                assert time_alive(port) < SOON
    assert "all 30 connections" not in log.read_text()


def test_a_body_does_not_wait_for_the_acknowledgement_of_its_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import uvicorn

    listening: list[socket.socket] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda _self, sockets: listening.extend(sockets))
    run_server(None, "127.0.0.1", 0)  # type: ignore[arg-type]
    with listening[0] as server, socket.create_connection(server.getsockname()):
        accepted, _ = server.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
