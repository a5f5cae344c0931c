"""The connection to a Ray cluster: what answers at an address, and what the errors of nodes mean. No cluster is started."""

from __future__ import annotations

import os
import signal
import socket
from queue import SimpleQueue
from threading import Thread
from types import SimpleNamespace

import pytest

from nikawa.errors import BadInput
from nikawa.execute import ray_connection
from nikawa.execute.ray_connection import (
    check_address,
    connect,
    find_cause,
    find_cluster,
    start_ray,
)


def serve_once(answer: bytes) -> str:
    """The address of a server that gives one answer to one visitor."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer_once() -> None:
        with server, server.accept()[0] as visitor:
            visitor.recv(1024)
            visitor.sendall(answer)

    Thread(target=answer_once, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_an_address_of_a_web_server_is_refused_at_once() -> None:
    address = serve_once(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(BadInput, match=f"no Ray cluster at {address}"):
        check_address(address)
    with pytest.raises(BadInput, match="no Ray cluster"):
        check_address(serve_once(b""))


def test_a_server_that_sends_settings_of_http2_may_be_ray() -> None:
    check_address(serve_once(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))))


def test_a_missing_token_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")

    def refuse(*_: object, **__: object) -> None:
        raise ray.exceptions.AuthenticationError("InvalidAuthToken")

    monkeypatch.setattr(ray._raylet, "GcsClient", refuse)
    monkeypatch.setattr(ray._private.ray_constants, "ENABLE_RAY_CLUSTER", True)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    address = serve_once(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
    with pytest.raises(BadInput, match=r"token .* is missing or wrong; set RAY_AUTH_MODE=token"):
        connect(address).__enter__()


def test_a_cluster_with_another_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    from ray._private.utils import check_version_info

    def start(*_: object, **__: object) -> None:
        metadata = {"ray_version": "2.9.0", "python_version": "3.12.1"}
        check_version_info(metadata, "this process", raise_on_mismatch=True)

    monkeypatch.setattr(ray, "init", start)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    message = (
        rf"cluster at other has Ray: 2\.9\.0, Python: 3\.12\.1; .* Ray {ray.__version__} and Python"
    )
    monkeypatch.setattr(ray_connection, "check_address", lambda _: None)
    with pytest.raises(BadInput, match=message):
        connect("other").__enter__()


def test_the_cluster_of_this_machine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    services = ray._private.services
    monkeypatch.setattr(services, "find_gcs_addresses", lambda: {"127.0.0.1:2", "127.0.0.1:1"})
    for latest, found in (("127.0.0.1:2", "127.0.0.1:2"), (None, "127.0.0.1:1")):
        monkeypatch.setattr(services, "find_bootstrap_address", lambda _, latest=latest: latest)
        assert find_cluster(ray) == found
    monkeypatch.setattr(services, "find_gcs_addresses", frozenset)
    assert find_cluster(ray) == ""


def test_a_cluster_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ray_connection.wait_for_head(address)
    monkeypatch.setattr(ray_connection, "GONE_SECONDS", 0.0)
    monkeypatch.setattr(ray_connection, "REPORT_SECONDS", 0.0)
    with pytest.raises(BadInput, match=f"cluster at {address} does not answer any more; start it"):
        ray_connection.wait_for_head(address)


def test_a_process_that_waits_for_a_cluster_that_is_gone_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray_connection, "BLOCKED_SECONDS", 0.0)
    monkeypatch.setattr(ray_connection, "REPORT_SECONDS", 0.01)
    ended = SimpleQueue[int]()
    monkeypatch.setattr(os, "_exit", ended.put)  # returns, so that the line may come again
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with ray_connection.end_if_blocked(address):
            server.accept()[0].close()
            server.close()
            assert ended.get(timeout=60) == 2
    line = f"nikawa: the Ray cluster at {address} does not answer any more; start it, and run the same command again"
    assert set(capsys.readouterr().err.splitlines()) == {line}


def test_a_node_without_nikawa_is_named() -> None:
    ray = pytest.importorskip("ray")
    problem = ray.exceptions.RaySystemError("ModuleNotFoundError: No module named 'nikawa'")
    problem.cause = None
    assert "a node cannot import nikawa" in str(find_cause(problem))
    problem = ray.exceptions.RaySystemError("ImportError: libgomp is missing")
    problem.cause = None
    assert find_cause(problem) is problem


def test_sigterm_does_what_it_did_before_ray_was_started() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def start(**_: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)  # as Ray does

    worker = SimpleNamespace(print_to_stdstream=None)
    ray = SimpleNamespace(init=start, _private=SimpleNamespace(worker=worker))
    try:
        start_ray(ray, "local")
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGTERM, before)
