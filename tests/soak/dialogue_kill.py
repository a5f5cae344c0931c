"""Kill the annotation server with -9 again and again while two workers write dialogues together; no acknowledged turn is lost.

`python -m tests.soak.dialogue_kill --minutes 30 --kills 20 --database postgres`

Each worker is a browser of its own: it waits for news, sends turns until they are acknowledged with the same key, gives up
some requests before the answer comes, and now and then closes its page in the middle of a dialogue and opens it again. With
`--away SHARE` some pages stay closed for longer than a partner waits, so that workers are replaced or go on alone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import msgspec
from tests.serve._postgres import Cluster, cluster
from tests.soak._server import Server, free_port, prepared, wait_until

from nikawa.collect.forms.dialogue import FORM, SAMPLE_TURNS
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store
from nikawa.collect.workers import make_links
from nikawa.records import Example

PARTNER_SECONDS = 5
assert FORM.sample is not None
SAMPLE = FORM.sample


def make_project(folder: Path, items: int) -> Project:
    """Goals for two workers who meet."""
    table = {
        "title": "soak",
        "form": "dialogue",
        "assign": {"workers_per_item": 2},
        "form_settings": {**SAMPLE.settings, "mode": "live", "partner_seconds": PARTNER_SECONDS},
    }
    examples = (Example(id=f"g{n}", inputs=dict(SAMPLE.inputs)) for n in range(items))
    return create_project(folder, msgspec.convert(table, Settings), examples)


class Worker:
    """A worker's page."""

    def __init__(self, name: str, link: str, how: argparse.Namespace) -> None:
        self.name, self.link, self.how = name, link, how
        self.random = random.Random(f"{how.seed} {name}")
        self.turns: dict[str, tuple[int, str]] = {}
        """Key to the number and text of each turn that the server said it has."""
        self.finished: dict[str, str] = {}
        """Key of each dialogue that the server said is over, to its lease."""
        self.count = 0
        self.given_up = self.retries = self.returned = self.taken = 0

    async def work(self, http: httpx.AsyncClient, over: asyncio.Event) -> None:
        while not over.is_set():
            state = await self._ask(http, over, "GET", "next", None)
            item = None if state is None else state.get("item")
            if item is None:
                await asyncio.sleep(0.2)
                continue
            await self._write(http, over, item["lease"])

    async def _write(self, http: httpx.AsyncClient, over: asyncio.Event, lease: str) -> None:
        """Write until the dialogue is over, the place is lost, or the page is closed."""
        mark, wanted = "", 2 * self.random.randint(2, 6)
        while not over.is_set():
            talk = await self._ask(
                http, over, "GET", f"talk?lease={lease}&mark={mark}&wait=8", None
            )
            if talk is None or talk["stage"] != "open":
                return
            mark, place = talk["mark"], len(talk["turns"])
            if talk["partner"] == "away" and self.random.random() < 0.3:
                await self._ask(http, over, "POST", "alone", {"lease": lease})
                continue
            if talk["role"] not in ("both", ("user", "sys")[place % 2]):
                continue
            await asyncio.sleep(self.how.pause * self.random.random())
            if self.random.random() < self.how.away:
                await asyncio.sleep(PARTNER_SECONDS * (0.2 + 2 * self.random.random()))
                self.returned += 1
                return
            if place >= wanted and place % 2 == 0:
                await self._finish(http, over, lease)
            else:
                await self._say(http, over, lease, place)

    async def _say(
        self, http: httpx.AsyncClient, over: asyncio.Event, lease: str, place: int
    ) -> None:
        self.count += 1
        key, turn = f"{self.name}-{self.count}", SAMPLE_TURNS[min(place, 2 + place % 2)]
        text = f"{self.name} {self.count}: {turn['text']}"
        body: dict[str, Any] = {"lease": lease, "key": key, "place": place, "text": text}
        if place % 2:
            body["state"] = SAMPLE_TURNS[min(place - 1, 2)]["state"]
        found = await self._ask(http, over, "POST", "turn", body)
        if found is None:
            self.taken += 1
        else:
            self.turns[key] = (place, text)

    async def _finish(self, http: httpx.AsyncClient, over: asyncio.Event, lease: str) -> None:
        self.count += 1
        key = f"{self.name}-end-{self.count}"
        if await self._ask(
            http, over, "POST", "answer", {"lease": lease, "key": key, "answer": {}}
        ):
            self.finished[key] = lease

    async def _ask(
        self, http: httpx.AsyncClient, over: asyncio.Event, method: str, path: str, body: Any
    ) -> dict[str, Any] | None:
        """Ask until there is an answer; some requests are given up before, as where a connection drops."""
        ended = 0
        while ended < 100:
            ended += over.is_set()
            drops = self.random.random() < self.how.drop
            patience = self.random.random() * 0.05 if drops else 30.0
            try:
                async with asyncio.timeout(patience):
                    reply = await http.request(method, f"{self.link}/{path}", json=body)
            except TimeoutError:
                self.given_up += 1
                continue
            except httpx.TransportError:
                self.retries += 1
                await asyncio.sleep(0.05 + self.random.random() / 10)
                continue
            if reply.status_code == 200:
                found: dict[str, Any] = reply.json()
                return found
            if reply.status_code in (404, 409):
                return None
            if reply.status_code == 422:
                raise SystemExit(f"{path}: {reply.text}")
            self.retries += 1
            await asyncio.sleep(0.1)
        return None


async def drive(server: Server, workers: list[Worker], how: argparse.Namespace) -> None:
    """Run the workers and kill the server at random moments."""
    over, chance = asyncio.Event(), random.Random(how.seed)
    async with contextlib.AsyncExitStack() as stack:
        work = []
        for worker in workers:
            http = await stack.enter_async_context(httpx.AsyncClient(timeout=30, trust_env=False))
            work.append(asyncio.create_task(worker.work(http, over)))
        seconds = 60 * how.minutes / max(how.kills, 1)
        for number in range(how.kills):
            await asyncio.sleep(seconds * (0.5 + chance.random()))
            turns = sum(len(worker.turns) for worker in workers)
            await wait_until(
                lambda: sum(len(worker.turns) for worker in workers) > turns + 2,  # noqa: B023
                "too few turns",
            )
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            if how.progress:
                count = sum(len(worker.turns) for worker in workers)
                sys.stderr.write(f"kill {number + 1} of {how.kills}: {count} turns acknowledged\n")
        ended = sum(len(worker.finished) for worker in workers)
        await wait_until(
            lambda: sum(len(worker.finished) for worker in workers) > ended, "no end of a dialogue"
        )
        if how.drop:
            await wait_until(
                lambda: any(worker.given_up for worker in workers), "no request that was given up"
            )
        over.set()
        await asyncio.gather(*work)


def verdict(store: Store, workers: list[Worker]) -> dict[str, int]:
    """What the store has against what was acknowledged."""
    rows = store.read(
        lambda db: db.rows(
            "SELECT key, place, text, dialogue, role, speaker FROM turns ORDER BY dialogue, place"
        )
    )
    stored = {key: (place, text) for key, place, text, *_ in rows}
    said = {key: turn for worker in workers for key, turn in worker.turns.items()}
    places: dict[int, list[int]] = {}
    for _, place, _, dialogue, _, _ in rows:
        places.setdefault(dialogue, []).append(place)
    answers = store.read(
        lambda db: db.rows("SELECT a.key, a.lease, a.body, a.item, a.worker FROM answers a")
    )
    keys = {row[0] for row in answers}
    bodies: dict[int, list[Any]] = {}
    for _, _, body, item, _ in answers:
        bodies.setdefault(item, []).append(json.loads(body)["dialogue"])
    written = {
        item: [text for _, _, text, dialogue, _, _ in rows if dialogue == number]
        for number, item in store.read(
            lambda db: db.rows("SELECT id, item FROM dialogues WHERE state = 'over'")
        )
    }
    wrong = sum(
        [turn["text"] for turn in value["turns"]] != written.get(item)
        for item, values in bodies.items()
        for value in values
    )
    return {
        "acknowledged": len(said),
        "stored": len(rows),
        "lost": sum(stored.get(key) != turn for key, turn in said.items()),
        "duplicated": len(rows) - len({text for _, _, text, *_ in rows}),
        "gaps": sum(found != list(range(len(found))) for found in places.values()),
        "dialogues": len(bodies),
        "ends_lost": sum(key not in keys for worker in workers for key in worker.finished),
        "answers_wrong": wrong,
        "over_answered": sum(len(values) > 2 for values in bodies.values()),
        "miscounted": _count_miscounted(store),
        **{
            f"how_{how}": count
            for how, count in sorted(Counter(v[0]["how"] for v in bodies.values()).items())
        },
        "given_up": sum(worker.given_up for worker in workers),
        "retries": sum(worker.retries for worker in workers),
        "returned": sum(worker.returned for worker in workers),
        "refused": sum(worker.taken for worker in workers),
    }


def _count_miscounted(store: Store) -> int:
    """Items whose counts are not those of their answers and leases."""
    rows = store.read(
        lambda db: db.rows(
            "SELECT i.done, (SELECT count(*) FROM answers a WHERE a.item = i.id), i.leased,"
            " (SELECT count(*) FROM leases l WHERE l.item = i.id AND l.state = 'open') FROM items i"
        )
    )
    return sum(done != answered or leased != held for done, answered, leased, held in rows)


def soak(how: argparse.Namespace, where: Cluster | None) -> dict[str, int]:
    """One run on one database: that of a PostgreSQL, else SQLite."""
    database = "" if where is None else where.address
    with tempfile.TemporaryDirectory() as folder:
        made = make_project(Path(folder) / "p", how.items)
        store = prepared(made, database)
        server = Server(made.folder, database, free_port())
        names = [f"w{n}" for n in range(how.workers)]
        links = store.write(lambda db: make_links(db, made, names, "soak", 1.0))
        workers = [Worker(name, f"{server.address}/w/{token}", how) for name, token in links]
        server.start()
        try:
            asyncio.run(drive(server, workers, how))
        finally:
            server.kill()
        found = verdict(store, workers)
        store.close()
        lines = server.log.read_text("utf-8").splitlines()
        return {**found, "tracebacks": sum("Traceback" in line for line in lines)}


FAULTS = (
    "lost",
    "duplicated",
    "gaps",
    "ends_lost",
    "answers_wrong",
    "over_answered",
    "miscounted",
    "tracebacks",
)
"""Figures that must be 0."""


def main() -> None:
    """Run, print the figures, and end with status 1 when one of them must not be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument(
        "--pause", type=float, default=1.0, help="longest pause before a turn, in seconds"
    )
    parser.add_argument(
        "--drop", type=float, default=0.05, help="share of requests that are given up"
    )
    parser.add_argument(
        "--away", type=float, default=0.01, help="share of turns before which a page is closed"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = soak(how, None)
    else:
        with cluster() as where:
            found = soak(how, where)
    sys.stdout.write(json.dumps({"database": how.database, "kills": how.kills, **found}) + "\n")
    sys.exit(
        int(
            any(found[name] for name in FAULTS)
            or not found["acknowledged"]
            or not found["dialogues"]
        )
    )


if __name__ == "__main__":
    main()
