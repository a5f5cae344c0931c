"""Kill the server of a leaderboard with -9 again and again while accounts submit; hold what was acknowledged against disk and store.

`python -m tests.soak.board_kill --accounts 20 --kills 30 --database postgres`; with `--helpers`, the processes that check and score are
killed, and the server goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.serve._postgres import cluster
from tests.soak._board import Connection, LoadedBoard, make_board
from tests.soak._server import Server, free_port, wait_until

from nikawa.board.records import Place
from nikawa.board.store import BoardStore, open_store, read_ladders
from nikawa.serve.database import Connection as Database

PAUSE_SECONDS = 0.5
"""Of an account between two submissions."""
WAIT_SECONDS = 300.0
"""For the queue to become empty at the end."""


class Client:
    """An account's program: it sends again what was not acknowledged, with the same key."""

    def __init__(self, made: LoadedBoard, account: str, port: int) -> None:
        self.made, self.account = made, account
        self.connection = Connection(port, made.tokens[account])
        self.acknowledged: dict[str, tuple[str, str]] = {}
        """Key to the submission and the digest of its file."""
        self.retries = 0

    async def work(self, over: asyncio.Event) -> None:
        """Submit file after file until the end."""
        number = 0
        while not over.is_set():
            number += 1
            key = f"{self.account}-{number}"
            data = self.made.answers(0.5 + number / 200, key)
            while not over.is_set() and key not in self.acknowledged:
                try:
                    await self._try(key, data)
                except (OSError, EOFError, ValueError, IndexError):
                    self.retries += 1
                    await asyncio.sleep(0.1)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _try(self, key: str, data: bytes) -> None:
        status, sent = await self.connection.send_answers(data)
        if status != 200:
            await asyncio.sleep(0.1)
            return
        for _ in range(50):
            try:
                status, taken = await self.connection.submit("one", sent["upload"], key)
            except (OSError, EOFError):  # in doubt: asked again with the same key
                self.retries += 1
                await asyncio.sleep(0.1)
                continue
            if status == 200:
                self.acknowledged[key] = taken["submission"], sha256(data).hexdigest()
                return
            if status == 404:  # the upload was lost before it counted: it is sent again
                return
            await asyncio.sleep(0.1)


def kill_helper(server: Server, chance: random.Random) -> None:
    """Kill one of the processes that check and score, or one of their children."""
    assert server.process is not None
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    own = [one for one, parent in parents.items() if parent == server.process.pid]
    own += [one for one, parent in parents.items() if parent in own]
    with suppress(ProcessLookupError):
        os.kill(chance.choice(own), signal.SIGKILL)


async def drive(
    server: Server, clients: list[Client], kills: int, seconds: float, helpers: bool
) -> None:
    """Run the clients, and kill the server, or what works for it, at random moments."""
    over, chance = asyncio.Event(), random.Random(0)
    work = [asyncio.create_task(client.work(over)) for client in clients]
    for _ in range(kills):
        await asyncio.sleep(seconds / kills * (0.5 + chance.random()))
        await _submit_more(clients)
        if helpers:
            await asyncio.to_thread(kill_helper, server, chance)
            continue
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await _submit_more(clients)
    over.set()
    await asyncio.gather(*work)


async def _submit_more(clients: list[Client]) -> None:
    """Wait until more submissions were acknowledged, one for each account."""

    def count() -> int:
        return sum(len(client.acknowledged) for client in clients)

    enough = count() + len(clients)
    await wait_until(lambda: count() >= enough, "too few submissions")


def drain(store: BoardStore) -> bool:
    """Wait until everything is scored."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        row = store.read(
            lambda db: db.required(
                "SELECT COUNT(*) FROM submissions WHERE state IN ('received', 'scoring')"
            )
        )
        if not row[0]:
            return True
        time.sleep(0.2)
    return False


def judge(store: BoardStore, made: LoadedBoard, clients: list[Client]) -> dict[str, Any]:
    """What disk and store have against what was acknowledged."""

    def look(db: Database) -> dict[str, Any]:
        rows = {
            row[0]: row[1:]
            for row in db.rows(
                "SELECT s.id, s.key, s.state, s.account, f.digest, f.path FROM submissions s JOIN files f ON f.submission = s.id"
            )
        }
        lost = wrong = 0
        for client in clients:
            for key, (id, digest) in client.acknowledged.items():
                row = rows.get(id)
                lost += row is None or row[0] != key or row[3] != digest
                path = made.board.folder / row[4] if row else None
                wrong += path is None or sha256(path.read_bytes()).hexdigest() != digest
        keys = Counter((row[2], row[0]) for row in rows.values())
        place = Place(task="tides", split="test", metric="accuracy")
        miscounted = 0
        for account, scored in Counter(
            row[2] for row in rows.values() if row[1] == "scored"
        ).items():
            state = read_ladders(db, account, "tides", "test").get(place)
            miscounted += state is None or state.tries != scored
        problems = db.rows(
            "SELECT DISTINCT problem FROM submissions WHERE state = 'failed' ORDER BY problem"
        )
        return {
            "problems": [str(row[0]) for row in problems],
            "stored": len(rows),
            "lost": lost,
            "files_lost": wrong,
            "duplicated": sum(count - 1 for count in keys.values()),
            "unscored": sum(row[1] != "scored" for row in rows.values()),
            "ladders_miscounted": miscounted,
        }

    acknowledged = sum(len(client.acknowledged) for client in clients)
    retries = sum(client.retries for client in clients)
    return {"acknowledged": acknowledged, **store.read(look), "retries": retries}


def soak(how: argparse.Namespace, database: str) -> dict[str, Any]:
    """One run on one database."""
    with tempfile.TemporaryDirectory() as folder:
        made = make_board(Path(folder), how.items, how.accounts, database)
        server = Server(made.board.folder, database, free_port(), "board")
        server.start()
        clients = [Client(made, account, server.port) for account in made.tokens]
        try:
            asyncio.run(drive(server, clients, how.kills, how.seconds, how.helpers))
            with open_store(database, made.board) as store:
                is_drained = drain(store)
        finally:
            server.kill()
        with open_store(database, made.board) as store:
            found = judge(store, made, clients)
        log = server.log.read_text().splitlines()
        left = list(made.board.submissions.iterdir())
        return {
            **found,
            "drained": is_drained,
            "folders": len(left),
            "tracebacks": sum("Traceback" in line for line in log),
        }


def main() -> None:
    """Run, print the figures, and end with status 1 when one of them must not be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--accounts", type=int, default=20)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--helpers", action="store_true")
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = soak(how, "")
    else:
        with cluster() as where:
            found = soak(how, where.address)
    sys.stdout.write(json.dumps({"database": how.database, "kills": how.kills, **found}) + "\n")
    faults = ("lost", "files_lost", "duplicated", "unscored", "ladders_miscounted", "tracebacks")
    is_wrong = any(found[name] for name in faults) or not found["drained"]
    sys.exit(int(is_wrong or not found["acknowledged"]))


if __name__ == "__main__":
    main()
