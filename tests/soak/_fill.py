"""A store that holds many judgements already, as after a long round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.collect.workers import make_links
from nikawa.serve.database import Connection

LABELS = ("entailment", "contradiction", "neutral")
WORKERS = 500
"""Those who answered before; each has another stretch of the items."""


def fill(store: Store, made: Project, count: int, items: int) -> None:
    """Add so many answers of earlier workers, spread evenly over the items."""
    if not count:
        return
    names = [f"earlier{n}" for n in range(WORKERS)]

    def put(db: Connection) -> None:
        make_links(db, made, names, "soak", 1.0)
        ids = [
            row[0]
            for row in db.rows("SELECT id FROM workers WHERE name LIKE ? ORDER BY id", "earlier%")
        ]
        given = list(_given(ids, count, items))
        columns = "item, worker, lease, key, kind, body, comment, seconds, elapsed, at, surplus, quick, pay"
        db.load(
            "answers", columns, (_answer(n, item, worker) for n, (item, worker) in enumerate(given))
        )
        db.load("seen", "item, worker", given)
        db.analyse("answers", "seen")
        db.execute(
            "UPDATE items SET done = (SELECT count(*) FROM answers a WHERE a.item = items.id)"
        )
        db.execute(
            "UPDATE workers SET answered = (SELECT count(*) FROM answers a WHERE a.worker = workers.id)"
        )

    store.write(put)


def _given(workers: list[int], count: int, items: int) -> Iterator[tuple[int, int]]:
    """Item and worker of each answer; no worker has an item twice while there are fewer answers than pairs."""
    for n in range(count):
        turn, item = divmod(n, items)
        yield item + 1, workers[(item * 7 + turn) % len(workers)]


def _answer(number: int, item: int, worker: int) -> tuple[Any, ...]:
    label = LABELS[(number * 2_654_435_761 >> 7) % 3]
    seconds = 2.0 + number % 17
    lease, at = f"earlier-{number}", 1_700_000_000.0 + number
    body = f'{{"label":"{label}"}}'
    return item, worker, lease, lease, "main", body, "", seconds, seconds, at, 0, 0, 0.0
