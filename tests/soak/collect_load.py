"""Workers who answer once a second, all at once; the time of every answer as the worker's side sees it.

`python -m tests.soak.collect_load --workers 200 --seconds 300`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.soak._server import Server, free_port, postgres, prepared, project

from nikawa.collect.links import make_links


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
        while due + 1 < end and state["item"] is not None:
            due, number = due + 1.0, number + 1
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            body = {"lease": state["item"]["lease"], "key": str(number), "answer": {"label": "neutral"}}
            began = time.perf_counter()
            status, told = await here.ask("POST", f"{path}/answer", body)
            self.times.append(time.perf_counter() - began)
            if status == 200:
                state = told["state"]
            else:
                self.errors += 1
        here.close()


async def drive(port: int, paths: list[str], seconds: float) -> Load:
    """All workers, the start of each somewhere in the first second; a broken connection is an error."""
    load, now, chance = Load(), time.perf_counter() + 0.5, random.Random(0)
    work = (load.worker(port, path, now + chance.random(), now + seconds) for path in paths)
    ended = await asyncio.gather(*work, return_exceptions=True)
    load.errors += sum(isinstance(end, BaseException) for end in ended)
    return load


def soak(how: argparse.Namespace, database: str) -> dict[str, float]:
    """One run on one database."""
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder) / "p", how.items, 3)
        with prepared(made, database) as store:
            names = [f"w{n}" for n in range(how.workers)]
            links = store.do(lambda link: make_links(link, made, names, "soak", 1.0))
        server = Server(made.folder, database, free_port())
        server.start()
        try:
            page = first_page(server.port, f"/w/{links[0][1]}")
            load = asyncio.run(drive(server.port, [f"/w/{token}" for _, token in links], how.seconds))
        finally:
            server.kill()
        with prepared(made, database) as store:
            (stored,) = store.ask(lambda link: link.rows("SELECT count(*) FROM answers"))[0]
    times = sorted(load.times)
    return {
        "answers": len(times),
        "stored": int(stored),
        "errors": load.errors,
        "p50_ms": round(1000 * times[len(times) // 2], 1),
        "p99_ms": round(1000 * times[int(len(times) * 0.99)], 1),
        "max_ms": round(1000 * times[-1], 1),
        **page,
    }


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
    parser.add_argument("--slow", type=float, default=200, help="milliseconds p99 must stay under")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = soak(how, "")
    else:
        with postgres() as address:
            found = soak(how, address)
    sys.stdout.write(json.dumps({"database": how.database, **found}) + "\n")
    sys.exit(int(bool(found["errors"]) or found["stored"] != found["answers"] or found["p99_ms"] >= how.slow))


if __name__ == "__main__":
    main()
