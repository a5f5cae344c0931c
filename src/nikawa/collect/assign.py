"""Which item a worker gets next.

Each worker walks a keyed permutation of the items (`order.places`), a few steps a request, in one indexed question.
Where those few are all taken, the index of open items is entered at a keyed spot and read on from there. Both cost
O(log n) whatever the number of items; only open items the worker has seen already are stepped over.
An item's answers that stand and its open leases never exceed the number asked for.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from nikawa.collect.database import Link
from nikawa.collect.order import number, places, share, spot
from nikawa.collect.settings import Settings
from nikawa.collect.turn import Plan, Turn
from nikawa.collect.workers import Worker

FIRST, STEPS = 4, 24
"""Steps of the worker's own order that one request looks at: mostly one of the first few is free."""
OVERDUE = 1000
"""Overdue leases one request takes back at most."""

_UNSEEN = "NOT EXISTS (SELECT 1 FROM seen s WHERE s.worker = ? AND s.item = i.id)"
_NEW_GROUP = " AND (i.grp IS NULL OR NOT EXISTS (SELECT 1 FROM seen_groups g WHERE g.worker = ? AND g.grp = i.grp))"
_HELD = (
    "SELECT l.id, l.item, i.kind, l.expires, t.body, t.gold, d.body, a.body FROM leases l"
    " JOIN items i ON i.id = l.item JOIN texts t ON t.item = l.item LEFT JOIN drafts d ON d.lease = l.id"
    " LEFT JOIN answers a ON a.seq = l.redo"
    " WHERE l.worker = ? AND l.state = 'open' ORDER BY l.issued DESC, l.redo ASC NULLS LAST LIMIT 1"
)


@dataclass(frozen=True)
class Held:
    """An item in a worker's hands."""

    lease: str
    item: int
    kind: str
    expires: float
    body: str
    gold: str | None
    """For the server's own use; no page gets it."""
    draft: str | None = None
    previous: str | None = None
    """The answer that was withdrawn, when the item is shown again for that."""


class Chosen(NamedTuple):
    """An item that is free for a worker."""

    item: int
    position: int
    kind: str
    group: str | None
    body: str
    gold: str | None


def expire(link: Link, now: float) -> None:
    """Take back what is overdue."""
    rows = link.rows(
        "SELECT id, item FROM leases WHERE state = 'open' AND expires <= ? LIMIT ?", now, OVERDUE
    )
    link.many("UPDATE leases SET state = 'expired' WHERE id = ?", [(lease,) for lease, _ in rows])
    link.many("UPDATE items SET leased = leased - 1 WHERE id = ?", [(item,) for _, item in rows])


def next_item(turn: Turn) -> Plan[Held | None]:
    """What the worker holds, else what they held and nobody took meanwhile, else a fresh item."""
    if turn.overdue:
        yield None
        turn.flush()
        expire(turn.link, turn.now)
    if turn.worker.state not in ("pilot", "active"):
        return None
    if turn.mine:
        yield None
        turn.flush()
        held = _holding(turn) or _resumed(turn)
        if held is not None:
            return held
    chosen = yield from _choose(turn)
    return None if chosen is None else _lease(turn, chosen)


def _holding(turn: Turn) -> Held | None:
    """The item of the latest open lease."""
    row = turn.link.one(_HELD, turn.worker.id)
    return None if row is None else Held(*row)


def _resumed(turn: Turn) -> Held | None:
    """A lease that ran out while the worker was away is theirs again if the item still needs somebody."""
    link = turn.link
    for name, item, room in link.rows(
        "SELECT l.id, l.item, CASE WHEN i.kind = 'main' THEN i.open ELSE 1 END FROM leases l"
        " JOIN items i ON i.id = l.item WHERE l.worker = ? AND l.state = 'expired' ORDER BY l.issued DESC",
        turn.worker.id,
    ):
        if room:
            link.together(
                ("UPDATE leases SET state = 'open', expires = ? WHERE id = ?", _end(turn), name),
                ("UPDATE items SET leased = leased + 1 WHERE id = ?", item),
            )
            return _holding(turn)
        link.run("UPDATE leases SET state = 'lost' WHERE id = ?", name)
    return None


def _end(turn: Turn) -> float:
    return turn.now + turn.settings.assign.lease_minutes * 60


def add_lease(turn: Turn, item: int, redo: int | None = None) -> str:
    """A lease on an item, whose place is counted by the caller; its name."""
    name = secrets.token_urlsafe(18)
    turn.later(
        "INSERT INTO leases (id, item, worker, issued, expires, state, redo) VALUES (?, ?, ?, ?, ?, 'open', ?)",
        name,
        item,
        turn.worker.id,
        turn.now,
        _end(turn),
        redo,
    )
    return name


def _lease(turn: Turn, chosen: Chosen) -> Held:
    """Put a fresh item into the worker's hands."""
    name = add_lease(turn, chosen.item)
    turn.later("UPDATE items SET leased = leased + 1 WHERE id = ?", chosen.item)
    turn.later(_SEEN, turn.worker.id, chosen.item)
    if chosen.group is not None and chosen.kind == "main":
        turn.later(_SEEN_GROUP, turn.worker.id, chosen.group)
    turn.worker.serial += 1
    turn.changed = True
    turn.touched.add(("item", chosen.item))
    return Held(name, chosen.item, chosen.kind, _end(turn), chosen.body, chosen.gold)


_SEEN = "INSERT INTO seen (worker, item) VALUES (?, ?) ON CONFLICT DO NOTHING"
_SEEN_GROUP = "INSERT INTO seen_groups (worker, grp) VALUES (?, ?) ON CONFLICT DO NOTHING"


def remember(link: Link, seen: list[tuple[int, int, str | None]]) -> None:
    """These workers have seen these main items, and their groups."""
    link.many(_SEEN, [(worker, item) for worker, item, _ in seen])
    link.many(_SEEN_GROUP, [(worker, group) for worker, _, group in seen if group is not None])


def _choose(turn: Turn) -> Plan[Chosen | None]:
    worker, settings = turn.worker, turn.settings
    if worker.state == "pilot":
        where = f"i.kind = 'pilot' AND {_UNSEEN} ORDER BY i.position"
        return (yield from _pick(where, worker.id))
    if 0 < settings.assign.items_per_worker <= worker.answered:
        return None
    item = yield from _main(turn)
    draw = share(settings.assign.seed, "gold", worker.name, worker.serial)
    if item is None or draw >= settings.gold.rate:
        return item
    control = yield from _control(turn)
    return item if control is None else control


def _pick(where: str, *values: Any) -> Plan[Chosen | None]:
    """The first item of a question, with its text: that of the others is not read."""
    row = yield (
        "SELECT c.id, c.position, c.kind, c.grp, t.body, t.gold FROM"  # noqa: S608  (our own words)
        f" (SELECT i.id, i.position, i.kind, i.grp FROM items i WHERE {where} LIMIT 1) c"
        " JOIN texts t ON t.item = c.id",
        *values,
    )
    return None if row is None else Chosen(*row)


def _control(turn: Turn) -> Plan[Chosen | None]:
    """A control item the worker has not seen, in an order of their own."""
    size, worker = turn.sizes["gold"], turn.worker
    key = number(turn.settings.assign.seed, "control", worker.name)
    turns = range(worker.gold, min(worker.gold + STEPS, size))
    return (yield from _first(turn, "gold", places(turns, size, key)))


def _main(turn: Turn) -> Plan[Chosen | None]:
    worker, assign, size = turn.worker, turn.settings.assign, turn.sizes["main"]
    if assign.order == "file":
        return (yield from _from(turn, "i.position", 0))
    key = number(assign.seed, "order", worker.name)
    for start, end in ((0, FIRST), (FIRST, STEPS)):
        turns = range(min(worker.place, size), min(worker.place + end - start, size))
        spots = places(turns, size, key)
        chosen = yield from _first(turn, "main", spots)
        if chosen is not None:
            worker.place += spots.index(chosen.position)
            return chosen
        worker.place = turns.stop
    return (yield from _from(turn, "i.spot", spot(assign.seed, "spot", worker.name, worker.serial)))


def _first(turn: Turn, kind: str, spots: list[int]) -> Plan[Chosen | None]:
    """The first of these positions that is free for the worker."""
    if not spots:
        return None
    marks = ", ".join("?" * len(spots))
    order = " ".join(f"WHEN ? THEN {step}" for step in range(len(spots)))
    return (
        yield from _pick(
            f"i.kind = ? AND i.position IN ({marks}) AND (i.open = 1 OR i.kind <> 'main') AND {_UNSEEN}"
            f"{_groups(turn.settings, kind)} ORDER BY CASE i.position {order} END",
            kind,
            *spots,
            turn.worker.id,
            *_group_values(turn, kind),
            *spots,
        )
    )


def _from(turn: Turn, column: str, start: int) -> Plan[Chosen | None]:
    """The first free open item at or after a place of an index, then from its beginning."""
    for sign in (">=", "<"):
        chosen = yield from _pick(
            f"i.open = 1 AND {column} {sign} ? AND {_UNSEEN}{_groups(turn.settings, 'main')} ORDER BY {column}",
            start,
            turn.worker.id,
            *_group_values(turn, "main"),
        )
        if chosen is not None:
            return chosen
    return None


def _groups(settings: Settings, kind: str) -> str:
    return _NEW_GROUP if settings.assign.one_per_group and kind == "main" else ""


def _group_values(turn: Turn, kind: str) -> tuple[int, ...]:
    return (turn.worker.id,) if turn.settings.assign.one_per_group and kind == "main" else ()


def others_hold(link: Link, worker: Worker) -> bool:
    """Whether something others hold now may yet come free for this worker."""
    row = link.one(
        "SELECT 1 FROM leases l JOIN items i ON i.id = l.item WHERE l.state = 'open' AND l.worker <> ?"  # noqa: S608
        f" AND i.kind = 'main' AND i.held = 0 AND {_UNSEEN} LIMIT 1",
        worker.id,
        worker.id,
    )
    return row is not None
