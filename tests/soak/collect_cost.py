"""What an answer costs at the store, without HTTP: round trips, and processor time of the server and of PostgreSQL.

`python -m tests.soak.collect_cost --database postgres --at-once 20`

Unlike the time an answer takes, these figures hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.serve._postgres import cluster
from tests.soak._fill import fill
from tests.soak._server import prepared, project

from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.collect.submissions import Submission, next_item, save_answer
from nikawa.collect.workers import make_links
from nikawa.serve.database import PostgresConnection, SqliteConnection
from nikawa.serve.login import hash_token

TRIPS = {
    SqliteConnection: (
        "execute",
        "execute_many",
        "execute_together",
        "rows",
        "one",
        "begin",
        "commit",
    ),
    PostgresConnection: ("_send", "execute_many", "begin", "commit"),
}
"""What is one journey to PostgreSQL, and the same of SQLite."""


class Trips:
    """Counts them, of every connection."""

    def __init__(self) -> None:
        self.count = 0
        for kind, names in TRIPS.items():
            for name in names:
                setattr(kind, name, self._counted(getattr(kind, name)))

    def _counted(self, call: Any) -> Any:
        def counted(*words: Any, **how: Any) -> Any:
            self.count += 1
            return call(*words, **how)

        return counted


def postgres_seconds(folder: Path) -> float:
    """Processor time of a PostgreSQL and all its processes, those that ended too."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "cwd").resolve() == folder / "data":
                ticks += sum(
                    map(int, (place / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
                )
    return ticks / os.sysconf("SC_CLK_TCK")


def answers(store: Store, made: Project, how: argparse.Namespace) -> int:
    """Have the workers answer in turn, so many at once."""
    names = [f"w{n}" for n in range(how.workers)]
    links = store.write(lambda db: make_links(db, made, names, "soak", 1.0))
    tokens = [hash_token(token) for _, token in links]
    held = [store.write(next_item, made, token, time.time()).assigned for token in tokens]
    trips, given = Trips(), 0
    while given < how.answers:
        turn = [(given + n) % how.workers for n in range(how.at_once)]
        sent = []
        for n in turn:
            now = held[n]
            assert now is not None
            answer = Submission(now.lease, f"k{given}", '{"label":"neutral"}')
            sent.append(store.submit(save_answer, made, tokens[n], answer, time.time()))
        for n, future in zip(turn, sent, strict=True):
            held[n] = future.result()[1].assigned
        given += how.at_once
    return trips.count


def cost(how: argparse.Namespace, database: str, folder: Path | None) -> dict[str, float]:
    """One run on one database."""
    with tempfile.TemporaryDirectory() as place:
        made = project(Path(place) / "p", how.items, how.asked)
        began = time.perf_counter()
        with prepared(made, database) as store:
            loaded = time.perf_counter() - began
            fill(store, made, how.judgements, how.items)
            own, theirs = time.process_time(), 0.0 if folder is None else postgres_seconds(folder)
            trips = answers(store, made, how)
            own = time.process_time() - own
            theirs = 0.0 if folder is None else postgres_seconds(folder) - theirs
    return {
        "answers": how.answers,
        "at_once": how.at_once,
        "round_trips": round(trips / how.answers, 2),
        "server_ms": round(1000 * own / how.answers, 2),
        "postgres_ms": round(1000 * theirs / how.answers, 2),
        "items_loaded_s": round(loaded, 1),
    }


def main() -> None:
    """Run and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=4000)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--asked", type=int, default=3)
    parser.add_argument("--judgements", type=int, default=0, help="answers that are there already")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    how = parser.parse_args()
    if how.database == "sqlite":
        found = cost(how, "", None)
    else:
        with cluster() as where:
            found = cost(how, where.address, where.folder)
    sys.stdout.write(json.dumps({"database": how.database, **found}) + "\n")


if __name__ == "__main__":
    main()
