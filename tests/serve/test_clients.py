"""Who a request comes from and for which host: nothing is believed that a client may choose."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.serve.clients import ClientCheck, Networks, client_network, forwarded_client


def ask(check: ClientCheck, peer: str, path: str = "/", **headers: str) -> tuple[int, str]:
    """Status of a response, and the client and scheme the application saw."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "headers": raw, "client": (peer, 1), "scheme": "http"}
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    asyncio.run(check(scope, receive, send))
    return sent[0]["status"], sent[1]["body"].decode()


async def show_client(scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    told = f"{scope['scheme']}://{scope['client'][0]}"
    await send({"type": "http.response.body", "body": told.encode()})


def check(*trusted: str, **how: Any) -> ClientCheck:
    return ClientCheck(show_client, trusted=Networks(trusted), **how)


def test_forwarded_addresses_are_not_believed_without_a_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = check()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            told = ask(
                here, "127.0.0.1", host="a", x_forwarded_for="6.6.6.6", x_forwarded_proto="https"
            )
            assert told == (200, "http://127.0.0.1")
    assert [record.message for record in caplog.records if "trusted_proxies" in record.message] == [
        caplog.records[0].message
    ]


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("6.6.6.6, 192.0.2.7", "192.0.2.7"),
        ("6.6.6.6, 192.0.2.7, 10.9.9.9", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("192.0.2.7, unknown", "127.0.0.1"),
        ("192.0.2.7, unknown, 10.0.0.2", "10.0.0.2"),
        ("", "127.0.0.1"),
        ("<script>", "127.0.0.1"),
    ],
)
def test_the_rightmost_hop_that_is_no_proxy_is_the_client(forwarded: str, client: str) -> None:
    here = check("127.0.0.1", "10.0.0.0/8")
    assert ask(here, "127.0.0.1", host="a", x_forwarded_for=forwarded) == (200, f"http://{client}")


@pytest.mark.parametrize(
    ("proto", "scheme"), [("https", "https"), ("http, https", "https"), ("javascript", "http")]
)
def test_the_scheme_is_that_of_the_last_proxy(proto: str, scheme: str) -> None:
    told = ask(check("::1"), "::1", host="a", x_forwarded_for="1.1.1.1", x_forwarded_proto=proto)
    assert told == (200, f"{scheme}://1.1.1.1")


def test_networks_that_are_none_are_bad_input() -> None:
    with pytest.raises(BadInput, match="not an address"):
        Networks(["nginx"])


def test_a_network_of_ipv6_is_one_client() -> None:
    assert client_network("2001:db8::1") == client_network("2001:db8::ffff:1")
    assert client_network("2001:db8::1") != client_network("2001:db8:0:1::1")
    assert client_network("testclient") == "testclient"
    assert forwarded_client([], "10.0.0.1", Networks(["10.0.0.1"])) == "10.0.0.1"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("label.example", 200),
        ("LABEL.example:443", 200),
        ("label.example.", 200),
        ("other.example", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("label.example.evil.example", 421),
        ("evil-label.example", 421),
        ("192.0.2.1", 421),
        ("", 421),
    ],
)
def test_only_known_hosts_are_served_where_an_address_is_set(host: str, status: int) -> None:
    here = check(address="https://label.example", hosts=["other.example:8080"])
    assert ask(here, "192.0.2.7", host=host)[0] == status
    assert ask(here, "192.0.2.7", "/alive", host=host)[0] == 200
    assert ask(check(), "192.0.2.7", host=host)[0] == 200


def test_cookies_are_secure_where_the_address_is() -> None:
    here = check(address="https://label.example")
    assert ask(here, "127.0.0.1", host="label.example")[1].startswith("https://")
    assert ask(here, "127.0.0.1", host="localhost")[1].startswith("http://")


def test_requests_of_one_client_behind_a_proxy_are_counted() -> None:
    waiting = asyncio.Event()

    async def wait(scope: Any, _receive: Any, send: Any) -> None:
        await waiting.wait()
        await show_client(scope, _receive, send)

    here = ClientCheck(wait, trusted=Networks(["127.0.0.1"]), per_address=2)

    async def status(client: str) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"a"), (b"x-forwarded-for", client.encode())]
        scope = {"type": "http", "path": "/", "headers": headers, "client": ("127.0.0.1", 1)}
        await here({**scope, "scheme": "http"}, lambda: None, send)  # type: ignore[arg-type,return-value]
        return int(sent[0]["status"])

    async def play() -> list[int]:
        clients = ("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2")
        tasks = [asyncio.create_task(status(client)) for client in clients]
        await asyncio.sleep(0)
        waiting.set()
        return [*await asyncio.gather(*tasks), await status("192.0.2.1")]

    assert asyncio.run(play()) == [200, 200, 503, 200, 200]
