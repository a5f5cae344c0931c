"""Which item a worker gets next.

Each worker walks a keyed permutation of the items (`permutation.permute`), a few steps a request, in one indexed query.
Where those few are all taken, the index of open items is entered at a keyed spot and read on from there. Both cost
O(log n) whatever the number of items; only open items the worker has seen already are stepped over.
The valid answers of an item and its open leases together never exceed the number of answers needed.

Every function runs inside the transaction of the request that calls it, after those of all requests before. What it
writes is kept in `DeferredWrites` and sent at the end of the request; a function that must see it sends it first.
No two kept statements may write to the same row (`DeferredWrites` says why): an item that was just answered or
reported is in `seen`, so the item handed out in the same request is another one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from nikawa.collect.permutation import draw_index_start, draw_order, draw_share
from nikawa.collect.project import Project
from nikawa.collect.seats import find_waiting, take_seat
from nikawa.collect.settings import Settings
from nikawa.collect.store import DRAWS, KEYED
from nikawa.collect.workers import Worker
from nikawa.serve.database import Connection, DeferredWrites

STEPS = (4, 20)
"""How many places of the worker's own order are looked at in a query, then in another: mostly one of the first is free."""
CONTROL_STEPS = 24
"""How many control items of the worker's own order are looked at."""
MAX_OVERDUE = 1000
"""Overdue leases that one request takes back."""

_NOT_SEEN = "NOT EXISTS (SELECT 1 FROM seen s WHERE s.worker = ? AND s.item = i.id)"
_NEW_GROUP = "(i.grp IS NULL OR NOT EXISTS (SELECT 1 FROM seen_groups g WHERE g.worker = ? AND g.grp = i.grp))"


@dataclass(frozen=True)
class Assignment:
    """An item in a worker's hands."""

    lease: str
    item: int
    kind: str
    """`main`, `gold` (a control item) or `pilot`."""
    expires: float
    body: str
    gold: str | None
    """For the server's own use; no page gets it."""
    draft: str | None = None
    previous: str | None = None
    """The answer that was withdrawn, when the item is shown again for that."""
    prelabel: str | None = None
    """The machine's answer that the page is filled in with, as JSON."""


class Candidate(NamedTuple):
    """An item that is free for a worker."""

    item: int
    position: int
    kind: str
    group: str | None
    body: str
    gold: str | None
    source: str | None
    """Whose answer the next one is."""
    prelabel: str | None
    """The machine's answer to the item, whether the worker is to see it or not."""


class AssignmentState(NamedTuple):
    """The state needed to choose an item; the query of a request returns it (`ASSIGNMENT_STATE_COLUMNS`)."""

    has_leases: bool
    """Whether the worker has leases that are open or expired, apart from the one of the request."""
    is_overdue: bool
    """Whether any lease ran out and was not taken back yet."""
    items: int
    """How many main items there are."""
    is_keyed: bool
    """Whether draws need the project's secret; those of projects that began before that was so do not."""
    control_items: int
    """How many control items there are."""


ASSIGNMENT_STATE_COLUMNS = (
    "EXISTS (SELECT 1 FROM leases o WHERE o.worker = w.id AND o.state IN ('open', 'expired') AND o.id <> ?),"  # noqa: S608  (our own words)
    " EXISTS (SELECT 1 FROM leases o WHERE o.state = 'open' AND o.expires <= ?),"
    " (SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = 'main'),"
    f" EXISTS (SELECT 1 FROM meta WHERE key = '{DRAWS}' AND value = '{KEYED}'),"
    " (SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = 'gold')"
)
"""The fields of `AssignmentState` as columns of a query with a worker `w`.

Their two `?` come before those of the FROM: the lease of the request, then the moment."""


def assign_item(
    db: Connection,
    writes: DeferredWrites,
    worker: Worker,
    state: AssignmentState,
    project: Project,
    now: float,
) -> Assignment | None:
    """The item the worker has a lease on, else one whose lease expired and that no one took meanwhile, else a new one.

    A fresh item raises `worker.serial` and may move `worker.place`; the caller saves the worker and sends the writes.
    """
    settings = project.settings
    if state.is_overdue:
        writes.send()
        _take_back_overdue(db, now)
    if not worker.may_work:
        return None
    if state.has_leases:
        writes.send()
        assigned = _find_open_lease(db, worker)
        if assigned is None:
            assigned = _resume_expired(db, worker, settings, now)
            if assigned is not None and project.is_together:
                take_seat(db, worker.id, assigned.item, assigned.lease, now)
        if assigned is not None:
            return assigned
    key = project.draw_key if state.is_keyed else b""
    candidate = None
    if project.is_together:
        writes.send()
        candidate = _choose_partner(db, worker, project, now)
    if candidate is None:
        candidate = _choose_item(db, worker, settings, state, key)
    if candidate is None:
        return None
    assigned = _hand_out(writes, worker, candidate, project, now)
    if project.is_together:
        writes.send()
        take_seat(db, worker.id, assigned.item, assigned.lease, now)
    return assigned


def _choose_partner(
    db: Connection, worker: Worker, project: Project, now: float
) -> Candidate | None:
    """The item at which another worker waits for somebody to write with."""
    if worker.state == "pilot" or has_reached_limit(worker, project.settings):
        return None
    unseen, seen_by = _unseen(worker, project.settings, "main")
    for item in find_waiting(db, project.options, now):
        candidate = _pick(db, f"i.id = ? AND i.open = 1 AND {unseen}", item, *seen_by)
        if candidate is not None:
            return candidate
    return None


def _take_back_overdue(db: Connection, now: float) -> None:
    """End expired leases, so that other workers can get their items."""
    overdue = db.rows(
        "SELECT id, item FROM leases WHERE state = 'open' AND expires <= ? LIMIT ?",
        now,
        MAX_OVERDUE,
    )
    for lease, item in overdue:
        db.execute("UPDATE leases SET state = 'expired' WHERE id = ?", lease)
        db.execute("UPDATE items SET leased = leased - 1 WHERE id = ?", item)


def _find_open_lease(db: Connection, worker: Worker) -> Assignment | None:
    """The item of the latest open lease."""
    row = db.one(
        "SELECT l.id, l.item, i.kind, l.expires, t.body, t.gold, d.body, a.body, p.body FROM leases l"
        " JOIN items i ON i.id = l.item JOIN texts t ON t.item = l.item LEFT JOIN drafts d ON d.lease = l.id"
        " LEFT JOIN answers a ON a.seq = l.redo"
        " LEFT JOIN prelabelled p ON p.item = l.item AND p.worker = l.worker AND p.shown = 1"
        " WHERE l.worker = ? AND l.state = 'open' ORDER BY l.issued DESC, l.redo ASC NULLS LAST LIMIT 1",
        worker.id,
    )
    return None if row is None else Assignment(*row)


def _resume_expired(
    db: Connection, worker: Worker, settings: Settings, now: float
) -> Assignment | None:
    """A lease that ran out while the worker was away is theirs again if the item still needs an answer."""
    expired = db.rows(
        "SELECT l.id, l.item, CASE WHEN i.kind = 'main' THEN i.open ELSE 1 END FROM leases l"
        " JOIN items i ON i.id = l.item WHERE l.worker = ? AND l.state = 'expired' ORDER BY l.issued DESC",
        worker.id,
    )
    for lease, item, has_room in expired:
        if has_room:
            db.execute(
                "UPDATE leases SET state = 'open', expires = ? WHERE id = ?",
                lease_end(settings, now),
                lease,
            )
            db.execute("UPDATE items SET leased = leased + 1 WHERE id = ?", item)
            return _find_open_lease(db, worker)
        db.execute("UPDATE leases SET state = 'lost' WHERE id = ?", lease)
    return None


def lease_end(settings: Settings, now: float) -> float:
    """When a lease that begins or is prolonged now runs out."""
    return now + settings.assign.lease_minutes * 60


def add_lease(
    writes: DeferredWrites,
    worker: Worker,
    item: int,
    settings: Settings,
    now: float,
    redo: int | None = None,
) -> str:
    """A lease on an item, and its name; `redo` is the withdrawn answer it is about."""
    lease = secrets.token_urlsafe(18)
    writes.add(
        "INSERT INTO leases (id, item, worker, issued, expires, state, redo) VALUES (?, ?, ?, ?, ?, 'open', ?)",
        lease,
        item,
        worker.id,
        now,
        lease_end(settings, now),
        redo,
    )
    writes.add("UPDATE items SET leased = leased + 1 WHERE id = ?", item)
    return lease


def _hand_out(
    writes: DeferredWrites, worker: Worker, candidate: Candidate, project: Project, now: float
) -> Assignment:
    """Put a fresh item into the worker's hands."""
    settings = project.settings
    item, kind = candidate.item, candidate.kind
    lease = add_lease(writes, worker, item, settings, now)
    writes.add(_ADD_SEEN, worker.id, item)
    if candidate.group is not None and kind == "main":
        writes.add(_ADD_SEEN_GROUP, worker.id, candidate.group)
    shown = draw_prelabel(project, worker, candidate)
    if candidate.prelabel is not None and shown is not None:
        writes.add(
            "INSERT INTO prelabelled (item, worker, source, body, shown) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            item,
            worker.id,
            candidate.source,
            candidate.prelabel,
            int(shown),
        )
    worker.serial += 1
    return Assignment(
        lease,
        item,
        kind,
        lease_end(settings, now),
        candidate.body,
        candidate.gold,
        prelabel=candidate.prelabel if shown else None,
    )


def draw_prelabel(project: Project, worker: Worker, candidate: Candidate) -> bool | None:
    """Whether the page is filled in with the machine's answer; None where there is no answer to fill in.

    The draw needs the project's secret, and is the same whenever it is made: no worker can guess it, and it is
    the same after a restart. The pilot tests what workers do by themselves.
    """
    prelabels = project.settings.prelabels
    if candidate.prelabel is None or not prelabels.source or candidate.kind == "pilot":
        return None
    name = (candidate.item,) if prelabels.draw == "item" else (candidate.item, worker.name)
    seed, key = project.settings.assign.seed, project.draw_key
    return draw_share(seed, "prelabel", candidate.kind, *name, key=key) < prelabels.share


_ADD_SEEN = "INSERT INTO seen (worker, item) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_SEEN_GROUP = "INSERT INTO seen_groups (worker, grp) VALUES (?, ?) ON CONFLICT DO NOTHING"


def remember_seen(db: Connection, seen: list[tuple[int, int, str | None]]) -> None:
    """Remember that workers have seen main items, given as worker, item and the item's group."""
    db.execute_many(_ADD_SEEN, [(worker, item) for worker, item, _ in seen])
    groups = [(worker, group) for worker, _, group in seen if group is not None]
    db.execute_many(_ADD_SEEN_GROUP, groups)


def has_reached_limit(worker: Worker, settings: Settings) -> bool:
    """Whether the worker has answered as many items as one may."""
    return 0 < settings.assign.items_per_worker <= worker.answered


def _choose_item(
    db: Connection, worker: Worker, settings: Settings, state: AssignmentState, key: bytes
) -> Candidate | None:
    """A pilot item in the pilot; else a main item, or a control item in its stead at the rate of the settings.

    `key` is that of all draws. A control item is looked up for every request, whether it is drawn or not: else the
    time of the response would reveal it to the worker.
    """
    if worker.state == "pilot":
        return _pick(db, f"i.kind = 'pilot' AND {_NOT_SEEN} ORDER BY i.position", worker.id)
    if has_reached_limit(worker, settings):
        return None
    candidate = _choose_main(db, worker, settings, state.items, key)
    if candidate is None or not settings.gold.rate or not state.control_items:
        return candidate
    control = _choose_control(db, worker, settings, state.control_items, key)
    chance = draw_share(settings.assign.seed, "gold", worker.name, worker.serial, key=key)
    return candidate if control is None or chance >= settings.gold.rate else control


def _choose_main(
    db: Connection, worker: Worker, settings: Settings, items: int, key: bytes
) -> Candidate | None:
    assign = settings.assign
    if settings.effort.most:
        return _pick_by_gain(db, worker, settings)
    if assign.order == "file":
        return _pick_from_index(db, worker, settings, "i.position", 0)
    for steps in STEPS:
        turns = range(min(worker.place, items), min(worker.place + steps, items))
        positions = draw_order(turns, items, assign.seed, "order", worker.name, key=key)
        candidate = _pick_position(db, worker, settings, "main", positions)
        if candidate is not None:
            worker.place += positions.index(candidate.position)
            return candidate
        worker.place = turns.stop
    start = draw_index_start(assign.seed, "spot", worker.name, worker.serial, key=key)
    return _pick_from_index(db, worker, settings, "i.spot", start)


def _choose_control(
    db: Connection, worker: Worker, settings: Settings, size: int, key: bytes
) -> Candidate | None:
    """A control item the worker has not seen, in their own order.

    The turns go round: after a change of the order (`nikawa collect rekey`, further control items) some may be unseen
    before the one the worker is at.
    """
    turns = [(worker.gold + step) % size for step in range(min(CONTROL_STEPS, size))]
    order = draw_order(turns, size, settings.assign.seed, "control", worker.name, key=key)
    return _pick_position(db, worker, settings, "gold", order)


def _pick_position(
    db: Connection, worker: Worker, settings: Settings, kind: str, positions: list[int]
) -> Candidate | None:
    """The first of these positions that is free for the worker."""
    if not positions:
        return None
    marks = ", ".join("?" * len(positions))
    order = " ".join(f"WHEN ? THEN {step}" for step in range(len(positions)))
    unseen, seen_by = _unseen(worker, settings, kind)
    return _pick(
        db,
        f"i.kind = ? AND i.position IN ({marks}) AND (i.open = 1 OR i.kind <> 'main') AND {unseen}"
        f" ORDER BY CASE i.position {order} END",
        kind,
        *positions,
        *seen_by,
        *positions,
    )


def _pick_from_index(
    db: Connection, worker: Worker, settings: Settings, column: str, start: int
) -> Candidate | None:
    """The first free open item at or after a place of an index, then from its beginning."""
    unseen, seen_by = _unseen(worker, settings, "main")
    for sign in (">=", "<"):
        where = f"i.open = 1 AND {column} {sign} ? AND {unseen} ORDER BY {column}"
        candidate = _pick(db, where, start, *seen_by)
        if candidate is not None:
            return candidate
    return None


def _pick_by_gain(db: Connection, worker: Worker, settings: Settings) -> Candidate | None:
    """The free open item whose next answer is expected to bring most."""
    unseen, seen_by = _unseen(worker, settings, "main")
    row = db.one(
        "SELECT i.id, i.position, i.kind, i.grp, t.body, t.gold, p.source, p.body FROM efforts e"  # noqa: S608
        " JOIN items i ON i.id = e.item JOIN texts t ON t.item = i.id"
        " LEFT JOIN prelabels p ON p.item = i.id"
        f" WHERE i.open = 1 AND {unseen} ORDER BY e.place LIMIT 1",
        *seen_by,
    )
    return None if row is None else Candidate(*row)


def _unseen(worker: Worker, settings: Settings, kind: str) -> tuple[str, tuple[int, ...]]:
    """The condition that a worker has not seen an item, nor its group where that is asked for, and its values."""
    if settings.assign.one_per_group and kind == "main":
        return f"{_NOT_SEEN} AND {_NEW_GROUP}", (worker.id, worker.id)
    return _NOT_SEEN, (worker.id,)


def _pick(db: Connection, where: str, *values: Any) -> Candidate | None:
    """The first item of a query, with its text: that of the others is not read."""
    row = db.one(
        "SELECT c.id, c.position, c.kind, c.grp, t.body, t.gold, p.source, p.body FROM"  # noqa: S608  (our own words)
        f" (SELECT i.id, i.position, i.kind, i.grp FROM items i WHERE {where} LIMIT 1) c"
        " JOIN texts t ON t.item = c.id LEFT JOIN prelabels p ON p.item = c.id",
        *values,
    )
    return None if row is None else Candidate(*row)


def may_come_free(db: Connection, worker: Worker) -> bool:
    """Whether an item that others hold now may yet come free for this worker."""
    row = db.one(
        "SELECT 1 FROM leases l JOIN items i ON i.id = l.item WHERE l.state = 'open' AND l.worker <> ?"  # noqa: S608
        f" AND i.kind = 'main' AND i.held = 0 AND {_NOT_SEEN} LIMIT 1",
        worker.id,
        worker.id,
    )
    return row is not None


def count_free_items(db: Connection, worker: Worker, settings: Settings, most: int) -> int:
    """How many main items are free for a worker now, counted no further than `most`; of a group one, where one is given."""
    unseen, seen_by = _unseen(worker, settings, "main")
    unit = "coalesce(i.grp, i.ref)" if settings.assign.one_per_group else "i.id"
    (count,) = db.required(
        f"SELECT count(*) FROM (SELECT DISTINCT {unit} FROM items i WHERE i.open = 1 AND {unseen} LIMIT ?) c",  # noqa: S608
        *seen_by,
        most,
    )
    return int(count)


def has_control_items(db: Connection, settings: Settings) -> bool:
    """Whether a worker may be given control items."""
    return (
        bool(settings.gold.rate)
        and db.one("SELECT 1 FROM items WHERE kind = 'gold' LIMIT 1") is not None
    )
