"""Which item a worker gets next.

Each worker walks a keyed permutation of the items (`order.place`), a few steps a request, in one indexed question.
Where those few are all taken, the index of open items is entered at a keyed spot and read on from there. Both cost
O(log n) whatever the number of items; only open items the worker has seen already are stepped over.
An item's answers that stand and its open leases never exceed the number asked for.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from nikawa.collect.database import Link, found
from nikawa.collect.order import number, places, share, spot
from nikawa.collect.settings import Settings
from nikawa.collect.workers import Worker, close_lease

FIRST, STEPS = 4, 24
"""Steps of the worker's own order that one request looks at: mostly one of the first few is free."""
OVERDUE = 1000
"""Overdue leases one request takes back at most."""

_UNSEEN = "NOT EXISTS (SELECT 1 FROM seen s WHERE s.worker = ? AND s.item = i.id)"
_NEW_GROUP = (
    " AND (i.grp IS NULL OR NOT EXISTS (SELECT 1 FROM seen_groups g WHERE g.worker = ? AND g.grp = i.grp))"
)


@dataclass(frozen=True)
class Held:
    """An item in a worker's hands."""

    lease: str
    item: int
    kind: str
    expires: float
    body: str
    draft: str | None
    previous: str | None
    """The answer that was withdrawn, when the item is shown again for that."""


def expire(link: Link, now: float) -> None:
    """Take back what is overdue; normally there is nothing."""
    for lease, item in link.rows(
        "SELECT id, item FROM leases WHERE state = 'open' AND expires <= ? LIMIT ?", now, OVERDUE
    ):
        close_lease(link, lease, item, "expired")


def next_item(link: Link, worker: Worker, settings: Settings, now: float) -> Held | None:
    """What the worker holds, else what they held and nobody took meanwhile, else a fresh item."""
    expire(link, now)
    if worker.state not in ("pilot", "active"):
        return None
    held = holding(link, worker) or _resumed(link, worker, settings, now)
    if held is not None:
        return held
    chosen = _choose(link, worker, settings)
    if chosen is None:
        return None
    return lease(link, worker, chosen, settings, now)


def holding(link: Link, worker: Worker) -> Held | None:
    """The item of the latest open lease."""
    row = link.one(
        "SELECT l.id, l.item, i.kind, l.expires, t.body, d.body, a.body FROM leases l"
        " JOIN items i ON i.id = l.item JOIN texts t ON t.item = l.item LEFT JOIN drafts d ON d.lease = l.id"
        " LEFT JOIN answers a ON a.seq = l.redo"
        " WHERE l.worker = ? AND l.state = 'open' ORDER BY l.issued DESC, l.redo ASC NULLS LAST LIMIT 1",
        worker.id,
    )
    return None if row is None else Held(*row)


def _resumed(link: Link, worker: Worker, settings: Settings, now: float) -> Held | None:
    """A lease that ran out while the worker was away is theirs again if the item still needs somebody."""
    for name, item, room in link.rows(
        "SELECT l.id, l.item, CASE WHEN i.kind = 'main' THEN i.open ELSE 1 END FROM leases l"
        " JOIN items i ON i.id = l.item WHERE l.worker = ? AND l.state = 'expired' ORDER BY l.issued DESC",
        worker.id,
    ):
        if room:
            expires = now + settings.assign.lease_minutes * 60
            link.run("UPDATE leases SET state = 'open', expires = ? WHERE id = ?", expires, name)
            link.run("UPDATE items SET leased = leased + 1 WHERE id = ?", item)
            return holding(link, worker)
        link.run("UPDATE leases SET state = 'lost' WHERE id = ?", name)
    return None


def lease(
    link: Link, worker: Worker, item: int, settings: Settings, now: float, redo: int | None = None
) -> Held:
    """Put an item into a worker's hands."""
    name = secrets.token_urlsafe(18)
    link.run(
        "INSERT INTO leases (id, item, worker, issued, expires, state, redo) VALUES (?, ?, ?, ?, ?, 'open', ?)",
        name, item, worker.id, now, now + settings.assign.lease_minutes * 60, redo,
    )  # fmt: skip
    link.run("UPDATE items SET leased = leased + 1 WHERE id = ?", item)
    if redo is None:
        remember(link, worker.id, item)
        worker.serial += 1
        link.run(
            "UPDATE workers SET serial = ?, place = ?, last = ? WHERE id = ?",
            worker.serial, worker.place, now, worker.id,
        )  # fmt: skip
    held = holding(link, worker)
    assert held is not None
    return held


def remember(link: Link, worker: int, item: int) -> None:
    """This worker has seen this item, and its group."""
    link.run("INSERT INTO seen (worker, item) VALUES (?, ?) ON CONFLICT DO NOTHING", worker, item)
    link.run(
        "INSERT INTO seen_groups (worker, grp) SELECT CAST(? AS BIGINT), grp FROM items"
        " WHERE id = ? AND grp IS NOT NULL AND kind = 'main' ON CONFLICT DO NOTHING",
        worker, item,
    )  # fmt: skip


def _choose(link: Link, worker: Worker, settings: Settings) -> int | None:
    if worker.state == "pilot":
        row = link.one(
            f"SELECT i.id FROM items i WHERE i.kind = 'pilot' AND {_UNSEEN} ORDER BY i.position LIMIT 1",  # noqa: S608
            worker.id,
        )
        return None if row is None else int(row[0])
    if 0 < settings.assign.items_per_worker <= worker.answered:
        return None
    item = _main(link, worker, settings)
    if item is None:
        return None
    draw = share(settings.assign.seed, "gold", worker.name, worker.serial)
    control = _control(link, worker, settings) if draw < settings.gold.rate else None
    return item if control is None else control


def _control(link: Link, worker: Worker, settings: Settings) -> int | None:
    """A control item the worker has not seen, in an order of their own."""
    (size,) = found(link, "SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = 'gold'")
    key = number(settings.assign.seed, "control", worker.name)
    turns = range(worker.gold, min(worker.gold + STEPS, size))
    return _first(link, worker, settings, "gold", places(turns, size, key))


def _main(link: Link, worker: Worker, settings: Settings) -> int | None:
    if settings.assign.order == "file":
        return _from(link, worker, settings, "i.position", 0)
    (size,) = found(link, "SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = 'main'")
    key = number(settings.assign.seed, "order", worker.name)
    for start, end in ((0, FIRST), (FIRST, STEPS)):
        turns = range(min(worker.place, size), min(worker.place + end - start, size))
        chosen = _first(link, worker, settings, "main", places(turns, size, key))
        if chosen is not None:
            return chosen
        worker.place = turns.stop
    begin = spot(settings.assign.seed, "spot", worker.name, worker.serial)
    return _from(link, worker, settings, "i.spot", begin)


def _first(link: Link, worker: Worker, settings: Settings, kind: str, spots: list[int]) -> int | None:
    """The first of these positions that is free for the worker."""
    if not spots:
        return None
    marks = ", ".join("?" * len(spots))
    rows = link.rows(
        f"SELECT i.position, i.id FROM items i WHERE i.kind = ? AND i.position IN ({marks})"  # noqa: S608
        f" AND (i.open = 1 OR i.kind <> 'main') AND {_UNSEEN}{_groups(settings, kind)}",
        kind, *spots, worker.id, *_group_values(worker, settings, kind),
    )  # fmt: skip
    free = {int(position): int(item) for position, item in rows}
    for step, position in enumerate(spots):
        if position in free:
            if kind == "main":
                worker.place += step
            return free[position]
    return None


def _from(link: Link, worker: Worker, settings: Settings, column: str, start: int) -> int | None:
    """The first free open item at or after a place of an index, then from its beginning."""
    for sign in (">=", "<"):
        row = link.one(
            f"SELECT i.id FROM items i WHERE i.open = 1 AND {column} {sign} ? AND {_UNSEEN}"  # noqa: S608
            f"{_groups(settings, 'main')} ORDER BY {column} LIMIT 1",
            start, worker.id, *_group_values(worker, settings, "main"),
        )  # fmt: skip
        if row is not None:
            return int(row[0])
    return None


def _groups(settings: Settings, kind: str) -> str:
    return _NEW_GROUP if settings.assign.one_per_group and kind == "main" else ""


def _group_values(worker: Worker, settings: Settings, kind: str) -> tuple[int, ...]:
    return (worker.id,) if settings.assign.one_per_group and kind == "main" else ()


def others_hold(link: Link, worker: Worker) -> bool:
    """Whether something others hold now may yet come free for this worker."""
    row = link.one(
        "SELECT 1 FROM leases l JOIN items i ON i.id = l.item WHERE l.state = 'open' AND l.worker <> ?"  # noqa: S608
        f" AND i.kind = 'main' AND i.held = 0 AND {_UNSEEN} LIMIT 1",
        worker.id, worker.id,
    )  # fmt: skip
    return row is not None
