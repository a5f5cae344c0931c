"""What a network can do to a served project, done to it: silent crowds, bytes that are no request, a sick database, a clock.

`python -m tests.soak.attack silent --connections 2000` holds `/alive` to a second under connections that begin
a request and never end it. `wire` sends requests that two programs may read in two ways, to the server or through
nginx (`--nginx`). `nginx` runs the configuration of docs/deploy.md with Debian's nginx in front: log-in, answers,
addresses, cookies. `postgres` stops, starves, locks and stalls PostgreSQL under the server. `timing` measures
whether the time of a response tells a known name from an unknown one, or a control item from any other.
Each prints its figures as JSON and ends with status 1 where something did not hold.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from tests.serve._postgres import cluster
from tests.serve._wire import (
    HALF_A_BODY,
    HALF_A_HEAD,
    HOSTILE,
    SilentCrowd,
    exchange,
    raise_limit,
    time_alive,
)
from tests.soak._server import Server, free_port, prepared, project

from nikawa.collect.project import Project
from nikawa.collect.store import open_store
from nikawa.collect.workers import make_links
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.serve import login
from nikawa.serve.login import hash_password, set_person

PASSWORD = "a long password of the owner"
ROOT = Path(__file__).parents[2]


@contextmanager
def served(
    database: str = "",
    *,
    items: int = 1000,
    control: int = 0,
    settings: dict[str, str] | None = None,
    table: str = "",
) -> Iterator[tuple[Server, Project, list[str]]]:
    """A project that is served, with an owner and the links of ten workers; what `settings` and `table` say is put into project.toml."""
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder) / "p", items, 3)
        path = made.folder / "project.toml"
        text = path.read_text("utf-8")
        for old, new in (settings or {}).items():
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(f"{text}\n{table}", "utf-8")
        known = [
            Example(
                id=f"c{n}",
                inputs={"premise": f"箱{n}は赤い。", "hypothesis": f"箱{n}は青い。"},
                gold={"label": "neutral"},
            )
            for n in range(control)
        ]
        if known:
            write_records(made.folder / "gold.jsonl", known, overwrite=True)
        with prepared(made, database) as store:
            names = [f"w{n}" for n in range(10)]
            links = store.write(lambda db: make_links(db, made, names, "soak", 1.0))
            kept = hash_password(PASSWORD)
            store.write(lambda db: set_person(db, "owner", "owner", kept, 1.0))
        server = Server(made.folder, database, free_port())
        server.start()
        try:
            yield server, made, [f"/w/{token}" for _, token in links]
        finally:
            server.kill()


def open_silent(port: int, count: int, first: bytes, ready: Any, done: Any) -> None:
    """The other end of a silent crowd, in a process of its own."""
    raise_limit()
    crowd = SilentCrowd()
    crowd.join(port, count, first)
    ready.set()
    done.wait(120)
    crowd.leave()


def attack_silent(how: argparse.Namespace) -> dict[str, float]:
    """Silent connections of three kinds; the longest wait for `/alive` while they are there, and while they come."""
    figures: dict[str, float] = {"connections": how.connections}
    with served() as (server, _, _):
        for name, first in (("nothing", b""), ("head", HALF_A_HEAD), ("body", HALF_A_BODY)):
            ready, done = multiprocessing.Event(), multiprocessing.Event()
            words = (server.port, how.connections, first, ready, done)
            crowd = multiprocessing.Process(target=open_silent, args=words)
            crowd.start()
            waits = [0.0]
            while not ready.is_set() and crowd.is_alive():
                waits.append(time_alive(server.port))
            figures[f"{name}_while_coming_s"] = round(max(waits), 3)
            waits, until = [], time.perf_counter() + how.seconds
            while time.perf_counter() < until:
                waits.append(time_alive(server.port))
                time.sleep(0.1)
            done.set()
            crowd.join()
            figures[f"{name}_max_s"] = round(max(waits), 3)
        figures["log_bytes"] = server.log.stat().st_size
    waits = [value for name, value in figures.items() if name.endswith("_max_s")]
    coming = [value for name, value in figures.items() if name.endswith("_coming_s")]
    held = max(waits) < 1.0 and max(coming) < 5.0 and figures["log_bytes"] < 5000
    figures["failed"] = int(not held)
    return figures


NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 2000; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {server}
}}
"""


def deploy_block() -> str:
    """The server block of docs/deploy.md."""
    text = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    found = re.search(r"^server \{.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert found is not None, "docs/deploy.md has no server block"
    return found[0]


@contextmanager
def fronted(port: int) -> Iterator[tuple[int, int]]:
    """Debian's nginx with the configuration of docs/deploy.md in front of a port; its own, with TLS and without."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        raise SystemExit("no nginx here: install the package nginx")
    front, plain = free_port(), free_port()
    listen = f"listen 127.0.0.1:{front} ssl; listen 127.0.0.1:{plain};"
    block = deploy_block().replace("listen 443 ssl;", listen)
    block = re.sub(r"127\.0\.0\.1:8000", f"127.0.0.1:{port}", block)
    with tempfile.TemporaryDirectory() as folder:
        pair = f"-keyout {folder}/key.pem -out {folder}/cert.pem -subj /CN=label.example"
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *pair.split()]
        subprocess.run(words, check=True, capture_output=True)
        block = re.sub(r"(ssl_certificate) [^;]*;", rf"\1 {folder}/cert.pem;", block)
        block = re.sub(r"(ssl_certificate_key) [^;]*;", rf"\1 {folder}/key.pem;", block)
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, server=block), "utf-8")
        process = subprocess.Popen([nginx, "-p", folder, "-c", str(config)])
        try:
            for _ in range(100):
                if time_alive(plain, 1) < 1:
                    break
                time.sleep(0.05)
            else:
                raise SystemExit("nginx does not answer")
            yield front, plain
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


_TLS = ssl._create_unverified_context()  # a certificate of our own, for a minute


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    address: str = "127.0.0.1",
    tls: bool = False,
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a response on a connection of its own."""
    where: dict[str, Any] = {"timeout": 60, "source_address": (address, 0)}
    connection = (
        HTTPSConnection("127.0.0.1", port, context=_TLS, **where)
        if tls
        else HTTPConnection("127.0.0.1", port, **where)
    )
    sent = {"Host": "label.example", **{name.replace("_", "-"): v for name, v in headers.items()}}
    try:
        connection.request(method, path, body, sent)
        reply = connection.getresponse()
        content = reply.read()
        found: dict[str, str] = {}
        for name, value in reply.getheaders():
            found[name.lower()] = (
                f"{found[name.lower()]}\n{value}" if name.lower() in found else value
            )
        return reply.status, found, content
    finally:
        connection.close()


def log_in(port: int, name: str, password: str, **how: Any) -> tuple[int, str]:
    """Status of a log-in and the cookies it set."""
    _, headers, page = ask(port, "GET", "/login", **how)
    csrf = re.findall(rb'name="X-CSRF-Token" value="([^"]+)"', page)[0].decode()
    cookie = headers["set-cookie"].split(";")[0]
    form = urlencode({"name": name, "password": password, "X-CSRF-Token": csrf}).encode()
    content = "application/x-www-form-urlencoded"
    status, headers, _ = ask(
        port, "POST", "/login", form, Cookie=cookie, Content_Type=content, **how
    )
    return status, headers.get("set-cookie", "")


TRUSTING = {
    'address = ""': 'address = "https://label.example"',
}
TRUSTED = '[server]\ntrusted_proxies = ["127.0.0.1"]\n'


def attack_through_nginx(how: argparse.Namespace) -> dict[str, float]:
    """Log-in, answers, addresses and cookies through nginx, and what it lets pass of requests that are none."""
    wrong: list[str] = []

    def hold(what: str, holds: bool) -> None:
        if not holds:
            wrong.append(what)

    with (
        served(settings=TRUSTING, table=TRUSTED) as (server, _, links),
        fronted(server.port) as ports,
    ):
        front, plain = ports
        status, cookies = log_in(front, "owner", PASSWORD, tls=True)
        hold("an owner logs in", status == 303)
        cookie = next((line for line in cookies.split("\n") if "nikawa_session=" in line), "")
        hold("the cookie is secure", "secure" in cookie.lower() and "httponly" in cookie.lower())
        session = cookie.split(";")[0]
        hold("the dashboard opens", ask(front, "GET", "/owner", tls=True, Cookie=session)[0] == 200)
        for number in range(20):
            state = json.loads(ask(front, "GET", f"{links[0]}/next", tls=True)[2])
            body = {
                "lease": state["item"]["lease"],
                "key": str(number),
                "answer": {"label": "neutral"},
            }
            status, _, _ = ask(
                front,
                "POST",
                f"{links[0]}/answer",
                json.dumps(body).encode(),
                tls=True,
                Content_Type="application/json",
                Origin="https://label.example",
            )
            hold("an answer is taken", status == 200)
        status, _, _ = ask(
            front,
            "POST",
            f"{links[0]}/undo",
            b'{"key":"u"}',
            tls=True,
            Content_Type="application/json",
            Origin="https://evil.example",
        )
        hold("a POST of another site is refused", status == 403)
        hold(
            "another host is refused",
            ask(front, "GET", "/login", tls=True, Host="evil.example")[0] == 421,
        )
        # Log-ins of one address are limited; another address is not, and a forged one does not help.
        statuses = [ask(front, "POST", "/login", b"", tls=True)[0] for _ in range(15)]
        hold("log-ins are limited", 429 in statuses)
        forged = [
            ask(front, "POST", "/login", b"", tls=True, X_Forwarded_For=f"192.0.2.{n}")[0]
            for n in range(5)
        ]
        hold("a forged address does not help", 429 in forged)
        other = ask(front, "POST", "/login", b"", address="127.0.0.2", tls=True)[0]
        hold("another address is not limited", other == 403)
        passed, statuses_seen = 0, {}
        for name, hostile in HOSTILE.items():
            raw = hostile.replace(b"Host: a\r\n", b"Host: label.example\r\n")
            raw = raw.replace(b"/echo", b"/login")
            try:
                answer = exchange(
                    front, raw.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1)
                )
            except TimeoutError:
                answer = b""
            status_line = answer.split(b"\r\n")[0]
            statuses_seen[name] = status_line.decode("latin-1")
            passed += b" 200 " in status_line or b" 303 " in status_line
            hold(f"{name} is one request", answer.count(b"HTTP/1.1 ") <= 1)
        hold("nginx answers", time_alive(plain) < 5)
        log = server.log.read_text()
        hold("the log is short", len(log) < 3000 and "Traceback" not in log)
    for problem in wrong:
        sys.stderr.write(f"does not hold: {problem}\n")
    if how.verbose:
        sys.stderr.write(json.dumps(statuses_seen, indent=1) + "\n")
    return {"wrong": len(wrong), "hostile_that_nginx_mends": passed, "failed": int(bool(wrong))}


def attack_wire(how: argparse.Namespace) -> dict[str, float]:
    """Requests that are none, to the server itself; every one must end in 400 or 431 and a closed connection."""
    wrong = 0
    with served() as (server, _, _):
        for name, raw in HOSTILE.items():
            for parts in ((raw,), tuple(raw[n : n + 7] for n in range(0, min(len(raw), 210), 7))):
                if len(parts) > 1 and len(raw) > 210:
                    continue
                try:
                    answer = exchange(server.port, *parts)
                except TimeoutError:
                    answer = b"none, and the connection stays open"
                # In parts, the path may be refused before the fault of the body has come.
                refused = (b"400", b"431") if len(parts) == 1 else (b"400", b"404", b"431")
                if answer[9:12] not in refused or answer.count(b"HTTP/1.1 ") > 1:
                    wrong += 1
                    sys.stderr.write(f"{name}: {answer[:80]!r}\n")
        size = server.log.stat().st_size
    return {
        "requests": len(HOSTILE),
        "wrong": wrong,
        "log_bytes": size,
        "failed": int(bool(wrong or size > 2000)),
    }


def attack_postgres(how: argparse.Namespace) -> dict[str, float]:
    """PostgreSQL without connections to give, with a lock that is not let go, stalled, and stopped."""
    figures: dict[str, float] = {}
    with (
        cluster(sync_to_disk=False, settings={"max_connections": "16"}) as where,
        served(where.address) as (server, made, links),
    ):
        port = server.port

        def alive() -> tuple[int, float]:
            began = time.perf_counter()
            try:
                status = ask(port, "GET", "/alive")[0]
            except (OSError, HTTPException):
                status = 0
            return status, time.perf_counter() - began

        def many(count: int, path: str) -> list[int]:
            """Statuses of requests sent all at once."""
            statuses: list[int] = []

            def one(number: int) -> None:
                statuses.append(ask(port, "GET", path.format(number))[0])

            threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return statuses

        # More requests at once than the database has connections: they wait for each other.
        statuses = [status for _ in range(5) for status in many(40, "/alive")]
        figures["burst_failures"] = sum(status != 200 for status in statuses)
        # Somebody else takes all that is left.
        others: list[psycopg.Connection[Any]] = []
        while len(others) < 20:
            try:
                others.append(psycopg.connect(where.address, autocommit=True))
            except psycopg.OperationalError:
                break
        statuses = many(40, "/alive")
        figures["starved_failures"] = sum(status != 200 for status in statuses)
        for connection in others:
            connection.close()
        # Somebody holds the table of workers, and does not let go.
        schema = f"nikawa_{made.name}"
        with psycopg.connect(where.address) as other:
            other.execute(f'LOCK TABLE "{schema}".workers IN ACCESS EXCLUSIVE MODE')
            waiting = [
                threading.Thread(target=lambda n=n: ask(port, "GET", f"{links[n % 10]}"))
                for n in range(60)
            ]
            for thread in waiting:
                thread.start()
            time.sleep(1.0)
            figures["locked_alive_status"], figures["locked_alive_s"] = alive()
            began = time.perf_counter()
            status, _, _ = ask(port, "GET", f"{links[0]}/next")
            figures["locked_write_s"] = round(time.perf_counter() - began, 2)
            figures["locked_write_status"] = status
            other.rollback()
            for thread in waiting:
                thread.join(60)
        figures["after_lock_status"] = ask(port, "GET", f"{links[0]}/next")[0]
        # A process of the database is stopped, as by a machine that hangs.
        pids = where.backends()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        figures["stalled_alive_status"], figures["stalled_alive_s"] = alive()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(1)
        figures["after_stall_status"] = ask(port, "GET", f"{links[0]}/next")[0]
        # All connections are ended by an operator, and the server goes on.
        with psycopg.connect(where.address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                " AND usename = 'nikawa'"
            )
        statuses = []
        for _ in range(5):
            statuses.append(ask(port, "GET", f"{links[0]}/next")[0])
            time.sleep(0.2)
        figures["after_end_status"] = statuses[-1]
        text = server.log.read_text()
        figures["tracebacks"], figures["log_lines"] = text.count("Traceback"), text.count("\n")
        if how.verbose:
            sys.stderr.write(text)
    held = (
        figures["burst_failures"] == 0
        and figures["locked_alive_s"] < 6
        and figures["locked_write_s"] < 45
        and figures["stalled_alive_s"] < 6
        and figures["after_lock_status"] == figures["after_stall_status"] == 200
        and figures["after_end_status"] == 200
        and figures["tracebacks"] == 0
        and figures["log_lines"] < 30
    )
    return {**{k: round(v, 3) for k, v in figures.items()}, "failed": int(not held)}


def separation(first: list[float], second: list[float]) -> float:
    """How well one time tells two kinds apart: the chance that a time of the second is longer (0.5: not at all)."""
    wins = sum((b > a) + (b == a) / 2 for a in first for b in second)
    return wins / (len(first) * len(second))


def attack_timing(how: argparse.Namespace) -> dict[str, float]:
    """Whether times tell a known name from an unknown one, and a control item from any other."""
    figures: dict[str, float] = {}

    def compare(name: str, first: list[float], second: list[float]) -> None:
        figures[f"{name}_ms"] = round(1000 * sorted(first)[len(first) // 2], 3)
        figures[f"{name}_other_ms"] = round(1000 * sorted(second)[len(second) // 2], 3)
        figures[f"{name}_separation"] = round(separation(first, second), 3)
        figures[f"{name}_chance"] = round(
            1.96 * math.sqrt((1 / len(first) + 1 / len(second)) / 12), 3
        )

    def clock(work: Callable[..., Any], *args: Any, **more: Any) -> float:
        began = time.perf_counter()
        work(*args, **more)
        return time.perf_counter() - began

    where: Any = None
    context = cluster(sync_to_disk=False) if how.database == "postgres" else None
    if context is not None:
        where = context.__enter__()
    try:
        address = "" if where is None else where.address
        faster = {"rate = 0.1 ": "rate = 0.5 ", "pass_mark = 0.7": "pass_mark = 0.0"}
        with served(address, items=4000, control=how.rounds, settings=faster) as (
            server,
            made,
            links,
        ):
            kinds: dict[str, list[float]] = {"main": [], "gold": []}
            answered: dict[str, list[float]] = {"main": [], "gold": []}
            checked: dict[str, list[float]] = {"main": [], "gold": []}
            with open_store(address, made.folder, made.name) as store:

                def kind_of(lease: str) -> str:
                    sql = "SELECT i.kind FROM leases l JOIN items i ON i.id = l.item WHERE l.id = ?"
                    return str(store.read(lambda db: db.required(sql, lease))[0])

                connection = HTTPConnection("127.0.0.1", server.port)
                connection.connect()
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

                def call(method: str, path: str, body: object = None) -> Any:
                    raw = None if body is None else json.dumps(body).encode()
                    connection.request(method, path, raw, {"Content-Type": "application/json"})
                    return json.loads(connection.getresponse().read())

                for number in range(how.rounds):
                    link = links[number % len(links)]
                    state = call("GET", f"{link}/next")
                    lease = state["item"]["lease"]
                    now = kind_of(lease)
                    check = {"lease": lease, "answer": {"label": "neutral"}}
                    checked[now].append(clock(call, "POST", f"{link}/check", check))
                    body = {**check, "key": f"k{number}"}
                    began = time.perf_counter()
                    state = call("POST", f"{link}/answer", body)["state"]
                    elapsed = time.perf_counter() - began
                    answered[now].append(elapsed)
                    kinds[kind_of(state["item"]["lease"])].append(elapsed)
                connection.close()
            compare("handing_out_control", kinds["main"], kinds["gold"])
            compare("answering_control", answered["main"], answered["gold"])
            compare("checking_control", checked["main"], checked["gold"])
            known: list[float] = []
            unknown: list[float] = []
            with open_store(address, made.folder, made.name) as store:

                def try_password(name: str) -> bool:
                    kept = store.read(login.password_hash, name)
                    return login.password_matches(kept, "wrong password")

                for number in range(how.rounds // 8):
                    known.append(clock(try_password, "owner"))
                    unknown.append(clock(try_password, f"nobody-{number}"))
            compare("log_in_unknown", known[1:], unknown[1:])
            # The first of all who try, and the second: neither may be the one that makes something for the others.
            times = [
                clock(log_in, server.port, name, "wrong password", address=f"127.0.0.{number + 2}")
                for number, name in enumerate(("nobody", "owner"))
            ]
            figures["first_log_in_s"], figures["second_log_in_s"] = (round(t, 3) for t in times)
    finally:
        if context is not None:
            context.__exit__(None, None, None)
    worst = max(
        abs(value - 0.5) - figures[name.replace("_separation", "_chance")]
        for name, value in figures.items()
        if name.endswith("_separation")
    )
    return {**figures, "failed": int(worst > how.tolerance)}


ATTACKS: dict[str, Callable[[argparse.Namespace], dict[str, float]]] = {
    "silent": attack_silent,
    "wire": attack_wire,
    "nginx": attack_through_nginx,
    "postgres": attack_postgres,
    "timing": attack_timing,
}


def main() -> None:
    """Run one attack and print what came of it; status 1 where the server did not hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("attack", choices=list(ATTACKS))
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=15, help="that the crowd stays")
    parser.add_argument("--rounds", type=int, default=1000, help="answers that are timed")
    parser.add_argument("--tolerance", type=float, default=0.05, help="separation beyond chance")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--verbose", action="store_true")
    how = parser.parse_args()
    figures = ATTACKS[how.attack](how)
    sys.stdout.write(json.dumps({"attack": how.attack, **figures}) + "\n")
    sys.exit(int(figures["failed"]))


if __name__ == "__main__":
    main()
