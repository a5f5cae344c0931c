"""Workers who answer once a second, all at once; the time of every answer as the worker's side sees it.

`python -m tests.soak.collect_load --workers 200 --seconds 300`

With `--judgements 1000000 --asked 30 --items 40000 --owner` the store is full from the start, and an owner watches the
dashboard and exports everything again and again while the workers answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.serve._postgres import cluster
from tests.soak._fill import fill
from tests.soak._server import Server, free_port, prepared, project

from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.collect.workers import make_links
from nikawa.serve.login import set_person, start_session


class Connection:
    """A browser's one connection: a client that costs as little as it can, since it shares the cores with the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and JSON of a reply."""
        raw = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        self._writer.write(f"{head}content-length: {len(raw)}\r\n\r\n".encode() + raw)
        await self._writer.drain()
        top = await self._reader.readuntil(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: (\d+)", top.lower())[0])
        return int(top.split(b" ", 2)[1]), json.loads(await self._reader.readexactly(length))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


class Load:
    """What the workers met."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.errors = 0

    async def worker(self, port: int, path: str, start: float, end: float) -> None:
        """Answer once a second until the end; the answer brings the next item along."""
        await asyncio.sleep(max(0.0, start - time.perf_counter()))
        here = Connection(*await asyncio.open_connection("127.0.0.1", port))
        _, state = await here.ask("GET", f"{path}/next")
        due, number = time.perf_counter(), 0
        while (due + 1 < end or not number) and state["item"] is not None:
            due, number = due + 1.0, number + 1
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            body = {
                "lease": state["item"]["lease"],
                "key": str(number),
                "answer": {"label": "neutral"},
            }
            began = time.perf_counter()
            status, told = await here.ask("POST", f"{path}/answer", body)
            self.times.append(time.perf_counter() - began)
            if status == 200:
                state = told["state"]
            else:
                self.errors += 1
        here.close()

    def told(self) -> dict[str, float]:
        """Figures."""
        times = sorted(self.times)
        at = {"p50_ms": len(times) // 2, "p99_ms": int(len(times) * 0.99), "max_ms": len(times) - 1}
        return {
            "answers": len(times),
            **{name: round(1000 * times[n], 1) for name, n in at.items()},
        }


class Owner:
    """The owner's browser: the dashboard asks every five seconds, and everything is exported again and again."""

    def __init__(self, cookie: str) -> None:
        self._head = f"host: 127.0.0.1\r\ncookie: nikawa_session={cookie}\r\nconnection: close"
        self.looks: list[float] = []
        self.exports: list[tuple[float, int]] = []
        """Seconds and lines."""
        self.errors = 0

    async def watch(self, port: int, end: float) -> None:
        """Look at the dashboard until the end."""
        while time.perf_counter() + 5 < end:
            began = time.perf_counter()
            await self._get(port, "/owner/data")
            self.looks.append(time.perf_counter() - began)
            await asyncio.sleep(5)

    async def export(self, port: int, end: float) -> None:
        """Export until the end, with a rest of five seconds."""
        while time.perf_counter() + 5 < end:
            began = time.perf_counter()
            lines = await self._get(port, "/owner/export")
            self.exports.append((time.perf_counter() - began, lines))
            await asyncio.sleep(5)

    async def _get(self, port: int, path: str) -> int:
        """Lines of a reply, read as it comes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n\r\n".encode())
        top = await reader.readuntil(b"\r\n\r\n")
        self.errors += not top.startswith(b"HTTP/1.1 200")
        lines = 0
        while block := await reader.read(1 << 20):
            lines += block.count(b'"worker":')
        writer.close()
        return lines

    def told(self) -> dict[str, float]:
        """Figures."""
        return {
            "dashboards": len(self.looks),
            "dashboard_max_s": round(max(self.looks, default=0), 2),
            "exports": len(self.exports),
            "export_lines": max((lines for _, lines in self.exports), default=0),
            "export_max_s": round(max((seconds for seconds, _ in self.exports), default=0), 2),
            "owner_errors": self.errors,
        }


async def drive(port: int, paths: list[str], seconds: float, owner: Owner | None = None) -> Load:
    """All workers, the start of each somewhere in the first second; a broken connection is an error."""
    load, now, chance = Load(), time.perf_counter() + 0.5, random.Random(0)
    work = [load.worker(port, path, now + chance.random(), now + seconds) for path in paths]
    if owner is not None:
        work += [owner.watch(port, now + seconds), owner.export(port, now + seconds)]
    ended = await asyncio.gather(*work, return_exceptions=True)
    load.errors += sum(isinstance(end, BaseException) for end in ended)
    return load


def soak(how: argparse.Namespace, database: str) -> dict[str, float]:
    """One run on one database."""
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder) / "p", how.items, how.asked)
        with prepared(made, database) as store:
            fill(store, made, how.judgements, how.items)
            paths = [f"/w/{token}" for token in _tokens(made, store, how.workers)]
            owner = Owner(_cookie(store)) if how.owner else None
        server, before = Server(made.folder, database, free_port()), _cpu()
        server.start()
        try:
            page = first_page(server.port, paths[0])
            load = asyncio.run(drive(server.port, paths, how.seconds, owner))
        finally:
            server.kill()
        cpu = _cpu() - before
        with prepared(made, database) as store:
            (stored,) = store.read(lambda db: db.rows("SELECT count(*) FROM answers"))[0]
    told = {"stored": int(stored) - how.judgements, "errors": load.errors, **load.told(), **page}
    told["server_cpu_ms"] = round(1000 * cpu / max(1, len(load.times)), 2)
    told["load_average"] = round(os.getloadavg()[0], 1)
    return told if owner is None else {**told, **owner.told()}


def _tokens(made: Project, store: Store, workers: int) -> list[str]:
    names = [f"w{n}" for n in range(workers)]
    links = store.write(lambda db: make_links(db, made, names, "soak", 1.0))
    return [token for _, token in links]


def _cookie(store: Store) -> str:
    store.write(lambda db: set_person(db, "owner", "owner", "-", 1.0))
    return store.write(lambda db: start_session(db, "owner", time.time()))


def _cpu() -> float:
    """Seconds of processor time of the servers that ended, without PostgreSQL's own."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def first_page(port: int, path: str) -> dict[str, float]:
    """Time and size of the page a worker opens first, and of all that it names."""

    def fetch(name: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", name)
        content = connection.getresponse().read()
        connection.close()
        return content

    began = time.perf_counter()
    page = fetch(path)
    elapsed = time.perf_counter() - began
    named = re.findall(r'="(/static/[^"]+)"', page.decode())
    return {
        "page_ms": round(1000 * elapsed, 1),
        "page_bytes": len(page) + sum(len(fetch(name)) for name in named),
    }


def main() -> None:
    """Run, print the figures, and end with status 1 on an error or when it was slow."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=3, help="workers an item")
    parser.add_argument("--judgements", type=int, default=0, help="answers that are there already")
    parser.add_argument(
        "--owner", action="store_true", help="the dashboard is watched, and all is exported"
    )
    parser.add_argument("--slow", type=float, default=200, help="milliseconds p99 must stay under")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = soak(how, "")
    else:
        with cluster() as where:
            found = soak(how, where.address)
    sys.stdout.write(json.dumps({"database": how.database, **found}) + "\n")
    wrong = found["errors"] or found.get("owner_errors") or found["stored"] != found["answers"]
    sys.exit(int(bool(wrong) or found["p99_ms"] >= how.slow))


if __name__ == "__main__":
    main()
