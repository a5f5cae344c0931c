"""Kill the annotation server with -9 again and again while clients answer; hold what was acknowledged against the store.

`python -m tests.soak.collect_kill --clients 50 --kills 50 --database postgres`

With `--what database` PostgreSQL is ended under the running server instead, as by a crash, and started again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from tests.serve._postgres import Cluster, cluster
from tests.soak._server import WAIT_SECONDS, Server, free_port, prepared, project, wait_until

from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.collect.workers import make_links
from nikawa.serve.database import Connection

LABELS = ("entailment", "contradiction", "neutral")


class Client:
    """A worker's browser: it sends again what was not acknowledged, with the same key."""

    def __init__(self, name: str, address: str, seed: int) -> None:
        self.name, self.address, self.random = name, address, random.Random(f"{seed} {name}")
        self.acknowledged: dict[str, str] = {}
        """Key to the answer the server said it has."""
        self.withdrawn: set[str] = set()
        self.retries = 0

    async def work(self, http: httpx.AsyncClient, over: asyncio.Event) -> None:
        number = 0
        while not over.is_set():
            state = await self._ask(http, over, "GET", "next", None)
            if state is None or state.get("item") is None:
                await asyncio.sleep(0.05)
                continue
            number += 1
            await self._answer(http, over, state["item"]["lease"], f"{self.name}-{number}")

    async def _answer(
        self, http: httpx.AsyncClient, over: asyncio.Event, lease: str, key: str
    ) -> None:
        label = self.random.choice(LABELS)
        body = {"lease": lease, "key": key, "answer": {"label": label}}
        told = await self._ask(http, over, "POST", "answer", body)
        if told is not None and told.get("saved"):
            self.acknowledged[key] = label
            if self.random.random() < 0.1:  # a double click
                again = await self._ask(http, over, "POST", "answer", body)
                assert again is None or again["duplicate"], again
            if self.random.random() < 0.05 and await self._ask(
                http, over, "POST", "undo", {"key": f"u-{key}"}
            ):
                self.withdrawn.add(key)

    async def _ask(
        self, http: httpx.AsyncClient, over: asyncio.Event, method: str, path: str, body: Any
    ) -> dict[str, Any] | None:
        """Ask until there is an answer; nothing is left in doubt but at the very end."""
        ended = 0
        while ended < 100:
            ended += over.is_set()
            try:
                reply = await http.request(method, f"{self.address}/{path}", json=body)
            except httpx.TransportError:
                self.retries += 1
                await asyncio.sleep(0.05 + self.random.random() / 10)
                continue
            if reply.status_code == 200:
                found: dict[str, Any] = reply.json()
                return found
            if reply.status_code in (404, 409):
                return None
            self.retries += 1
            await asyncio.sleep(0.1)
        return None


async def drive(
    strike: Callable[[], None], clients: list[Client], kills: int, seconds: float, seed: int
) -> None:
    """Run the clients and strike at random moments."""
    over, chance = asyncio.Event(), random.Random(seed)
    limits = httpx.Limits(max_connections=len(clients), max_keepalive_connections=len(clients))
    async with httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as http:
        work = [asyncio.create_task(client.work(http, over)) for client in clients]
        for _ in range(kills):
            await asyncio.sleep(seconds / max(kills, 1) * (0.5 + chance.random()))
            await _answer_more(clients)
            await asyncio.to_thread(strike)
        await _answer_more(clients)
        over.set()
        await asyncio.gather(*work)


async def _answer_more(clients: list[Client]) -> None:
    """Wait until more answers were acknowledged, one for each client."""

    def count() -> int:
        return sum(len(client.acknowledged) for client in clients)

    enough = count() + len(clients)
    await wait_until(lambda: count() >= enough, "too few answers")


def verdict(store: Store, clients: list[Client], asked: int) -> dict[str, int]:
    """What the store has against what was acknowledged."""
    rows = store.read(
        lambda db: db.rows(
            "SELECT a.key, a.body, a.item, a.worker, a.surplus, x.answer FROM answers a"
            " LEFT JOIN withdrawals x ON x.answer = a.seq"
        )
    )
    kept = {row[0]: json.loads(row[1])["label"] for row in rows}
    acknowledged = {key: label for client in clients for key, label in client.acknowledged.items()}
    standing = [(row[2], row[3]) for row in rows if not row[4] and row[5] is None]
    per_item = Counter(item for item, _ in standing)
    withdrawn = {row[0] for row in rows if row[5] is not None}
    return {
        "acknowledged": len(acknowledged),
        "stored": len(rows),
        "lost": sum(kept.get(key) != label for key, label in acknowledged.items()),
        "withdrawals_lost": len(
            {key for client in clients for key in client.withdrawn} - withdrawn
        ),
        "duplicated": len(rows) - len(kept) + len(standing) - len(set(standing)),
        "over_assigned": sum(count > asked for count in per_item.values()),
        "miscounted": _miscounted(store, per_item),
        "retries": sum(client.retries for client in clients),
    }


def _miscounted(store: Store, per_item: Counter[int]) -> int:
    def look(db: Connection) -> int:
        held = Counter(row[0] for row in db.rows("SELECT item FROM leases WHERE state = 'open'"))
        rows = db.rows("SELECT id, done, leased FROM items")
        return sum(done != per_item[item] or leased != held[item] for item, done, leased in rows)

    return store.read(look)


def soak(how: argparse.Namespace, where: Cluster | None) -> dict[str, int]:
    """One run on one database: that of a PostgreSQL, else SQLite."""
    database = "" if where is None else where.address
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder) / "p", how.items, how.asked, how.lease_minutes)
        store = prepared(made, database)
        server = Server(made.folder, database, free_port())
        clients = _clients(made, store, server.address, how)
        server.start()

        def strike() -> None:
            if how.what == "database" and where is not None:
                met = sum(client.retries for client in clients)
                where.stop(signal.SIGQUIT)
                ends = time.monotonic() + WAIT_SECONDS
                while sum(client.retries for client in clients) == met:  # none met it as it is now
                    if time.monotonic() > ends:
                        raise SystemExit("no worker met the server without its database")
                    time.sleep(0.05)
                where.start()
            else:
                server.kill()
                server.start()

        try:
            asyncio.run(drive(strike, clients, how.kills, how.seconds, how.seed))
        finally:
            server.kill()
        found = verdict(store, clients, how.asked)
        store.close()
        told = server.log.read_text().splitlines()
        return {
            **found,
            "log_lines": len(told),
            "tracebacks": sum("Traceback" in line for line in told),
        }


def _clients(made: Project, store: Store, address: str, how: argparse.Namespace) -> list[Client]:
    names = [f"w{n}" for n in range(how.clients)]
    links = store.write(lambda db: make_links(db, made, names, "soak", 1.0))
    return [Client(name, f"{address}/w/{token}", how.seed) for name, token in links]


def main() -> None:
    """Run, print the figures, and end with status 1 when one of them must not be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--asked", type=int, default=3)
    parser.add_argument("--lease-minutes", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--what", choices=["server", "database"], default="server", help="what is ended"
    )
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = soak(how, None)
    else:
        with cluster() as where:
            found = soak(how, where)
    sys.stdout.write(json.dumps({"database": how.database, "kills": how.kills, **found}) + "\n")
    faults = ("lost", "withdrawals_lost", "duplicated", "over_assigned", "miscounted", "tracebacks")
    sys.exit(int(any(found[name] for name in faults) or not found["acknowledged"]))


if __name__ == "__main__":
    main()
