"""Workers who answer once a second, all at once; the time of every answer as the worker's side sees it.

`python -m tests.soak.collect_load --workers 200 --seconds 300`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import httpx
from tests.soak._server import Server, free_port, postgres, prepared, project

from nikawa.collect.routes_owner import make_links


class Load:
    """What the workers met."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.errors = 0

    async def worker(self, http: httpx.AsyncClient, address: str, start: float, end: float) -> None:
        """Answer once a second until the end; the answer brings the next item along."""
        await asyncio.sleep(max(0.0, start - time.perf_counter()))
        state = (await http.get(f"{address}/next")).json()
        due, number = time.perf_counter(), 0
        while due < end and state["item"] is not None:
            due, number = due + 1.0, number + 1
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            body = {"lease": state["item"]["lease"], "key": str(number), "answer": {"label": "neutral"}}
            began = time.perf_counter()
            try:
                reply = await http.post(f"{address}/answer", json=body)
            except httpx.TransportError:
                self.errors += 1
                continue
            self.times.append(time.perf_counter() - began)
            if reply.status_code == 200:
                state = reply.json()["state"]
            else:
                self.errors += 1


async def drive(addresses: list[str], seconds: float) -> Load:
    """All workers, the start of each somewhere in the first second."""
    load, now = Load(), time.perf_counter() + 0.5
    chance = random.Random(0)
    limits = httpx.Limits(max_connections=len(addresses), max_keepalive_connections=len(addresses))
    async with httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as http:
        await asyncio.gather(
            *(load.worker(http, address, now + chance.random(), now + seconds) for address in addresses)
        )
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
            page = first_page(f"{server.address}/w/{links[0][1]}")
            load = asyncio.run(drive([f"{server.address}/w/{token}" for _, token in links], how.seconds))
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


def first_page(address: str) -> dict[str, float]:
    """Time and size of the page a worker opens first, with all that it loads."""
    began = time.perf_counter()
    with httpx.Client(trust_env=False) as http:
        page = http.get(address)
        elapsed = time.perf_counter() - began
        paths = [part.split('"')[0] for part in page.text.split('="/static/')[1:]]
        origin = address.split("/w/", maxsplit=1)[0]
        size = len(page.content) + sum(len(http.get(f"{origin}/static/{path}").content) for path in paths)
    return {"page_ms": round(1000 * elapsed, 1), "page_bytes": size}


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
