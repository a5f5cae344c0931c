"""Readers and submitters of a leaderboard at once: how long pages and submissions take, and when results are scored.

`python -m tests.soak.board_load --readers 1000 --submissions 100 --seconds 180`

Each reader has a connection of its own and opens a page every `--pause` seconds: the table, a sorted table, the page of a system, CSV. The
submissions of a minute are spread evenly over as many accounts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.serve._postgres import cluster
from tests.serve._wire import raise_limit
from tests.soak._board import Connection, LoadedBoard, make_board
from tests.soak._server import Server, free_port

from nikawa.board.store import BoardStore, open_store

BEFORE = 40
"""Systems on the board when the load begins."""
DRAIN_SECONDS = 120.0


class Load:
    """What clients met."""

    def __init__(self, made: LoadedBoard, port: int) -> None:
        self.made, self.port = made, port
        self.pages: list[float] = []
        self.uploads: list[float] = []
        self.submissions: list[float] = []
        self.errors: list[str] = []
        self.paths = ["/", "/?sort=name", "/board.csv", "/about"]

    async def read(self, number: int, end: float, pause: float) -> None:
        """A reader: one page after the other, with a pause."""
        chance = random.Random(number)
        await asyncio.sleep(pause * chance.random())
        here = Connection(self.port)
        while (began := time.perf_counter()) < end:
            path = chance.choice(self.paths)
            try:
                status, _ = await here.ask("GET", path)
            except (OSError, EOFError) as problem:
                self.errors.append(f"{path}: {problem}")
            else:
                self.pages.append(time.perf_counter() - began)
                if status != 200:
                    self.errors.append(f"{path}: {status}")
            await asyncio.sleep(max(0.0, began + pause - time.perf_counter()))
        here.close()

    async def submit_all(self, tokens: list[str], count: int, seconds: float) -> None:
        """Submissions at an even pace, each account in turn."""
        running = []
        start = time.perf_counter()
        for n in range(count):
            await asyncio.sleep(max(0.0, start + n * seconds / count - time.perf_counter()))
            running.append(asyncio.create_task(self.submit(tokens[n % len(tokens)], n)))
        await asyncio.gather(*running)

    async def submit(self, token: str, number: int) -> None:
        """One file, one submission."""
        here = Connection(self.port, token)
        data = self.made.answers(0.4 + 0.5 * random.Random(number).random(), f"load {number}")
        began = time.perf_counter()
        try:
            status, sent = await here.send_answers(data)
            self.uploads.append(time.perf_counter() - began)
            assert status == 200, sent
            began = time.perf_counter()
            status, taken = await here.submit("one", sent["upload"], f"load {number}")
            assert status == 200, taken
            self.submissions.append(time.perf_counter() - began)
        except (OSError, EOFError, AssertionError) as problem:
            self.errors.append(f"submission: {problem}")
        here.close()


def describe(times: list[float]) -> dict[str, float]:
    """Median, 99th percentile and maximum in milliseconds."""
    ordered = sorted(times) or [float("nan")]
    at = {
        "p50_ms": len(ordered) // 2,
        "p99_ms": int(len(ordered) * 0.99),
        "max_ms": len(ordered) - 1,
    }
    return {name: round(1000 * ordered[place], 1) for name, place in at.items()}


async def drive(load: Load, how: argparse.Namespace, tokens: list[str]) -> None:
    """All readers and submitters until the end."""
    end = time.perf_counter() + how.seconds
    count = round(how.submissions * how.seconds / 60)
    readers = [load.read(n, end, how.pause) for n in range(how.readers)]
    await asyncio.gather(load.submit_all(tokens, count, how.seconds), *readers)


async def fill(load: Load, tokens: list[str]) -> None:
    """Systems that are there before."""
    for n in range(BEFORE):
        await load.submit(tokens[n % len(tokens)], 1_000_000 + n)


def wait_for_scores(store: BoardStore) -> float:
    """Seconds until nothing is left to score."""
    began = time.monotonic()
    sql = "SELECT COUNT(*) FROM submissions WHERE state IN ('received', 'scoring')"
    while store.read(lambda db: db.required(sql)[0]) and time.monotonic() < began + DRAIN_SECONDS:
        time.sleep(0.2)
    return time.monotonic() - began


def soak(how: argparse.Namespace, database: str) -> dict[str, Any]:
    """One run on one database."""
    raise_limit()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"release_seconds = 300": "release_seconds = 60"}
        made = make_board(Path(folder), how.items, how.accounts, database, settings)
        tokens = list(made.tokens.values())
        server = Server(made.board.folder, database, free_port(), "board")
        server.start()
        load = Load(made, server.port)
        try:
            with open_store(database, made.board) as store:
                asyncio.run(fill(load, tokens))
                wait_for_scores(store)
                load.uploads.clear()
                load.submissions.clear()
                before = read_cpu(server)
                asyncio.run(drive(load, how, tokens))
                cpu = read_cpu(server) - before
                drained = wait_for_scores(store)
                delays = store.read(
                    lambda db: db.rows(
                        "SELECT scored_at - received FROM submissions WHERE state = 'scored'"
                    )
                )
                rows = store.read(
                    lambda db: db.rows("SELECT state, COUNT(*) FROM submissions GROUP BY state")
                )
        finally:
            server.kill()
        tracebacks = server.log.read_text().count("Traceback")
    return {
        "pages": len(load.pages),
        "page": describe(load.pages),
        "upload": describe(load.uploads),
        "submission": describe(load.submissions),
        "scored_after": describe([float(row[0]) for row in delays[BEFORE:]]),
        "states": {str(state): int(count) for state, count in rows},
        "drained_s": round(drained, 1),
        "cpu_s": round(cpu, 1),
        "errors": len(load.errors),
        "first_errors": load.errors[:3],
        "tracebacks": tracebacks,
        "load_average": round(os.getloadavg()[0], 1),
    }


def read_cpu(server: Server) -> float:
    """Seconds of processor time of the server and its helpers, with the children that ended."""
    assert server.process is not None
    family, total = {server.process.pid}, 0.0
    stats = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stats[int(place.name)] = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
    for pid, fields in sorted(stats.items()):
        if int(fields[1]) in family:
            family.add(pid)
    for pid in family & set(stats):
        total += sum(map(int, stats[pid][11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def main(arguments: list[str] | None = None) -> None:
    """Run, print the figures, and end with status 1 on an error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=1_000)
    parser.add_argument(
        "--pause", type=float, default=10.0, help="seconds between two pages of a reader"
    )
    parser.add_argument("--submissions", type=int, default=100, help="a minute")
    parser.add_argument("--accounts", type=int, default=100, help="each has a system")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args(arguments)
    if how.database == "sqlite":
        found = soak(how, "")
    else:
        with cluster() as where:
            found = soak(how, where.address)
    sys.stdout.write(json.dumps({"database": how.database, **found}, indent=1) + "\n")
    sys.exit(
        int(bool(found["errors"] or found["tracebacks"] or set(found["states"]) != {"scored"}))
    )


if __name__ == "__main__":
    main()
