"""The seats of two workers at a dialogue: who has one, who waits for a partner, who is away.

A seat belongs to a lease (`live` says what becomes of it). These functions write at once, without `DeferredWrites`.
"""

from __future__ import annotations

from typing import NamedTuple

from nikawa.collect.form import Options
from nikawa.collect.forms._dialogue import ROLES, SYSTEM, USER
from nikawa.serve.database import Connection

BOTH = "both"
"""The role of a worker who writes alone."""
SEATS = (
    "SELECT s.lease, s.worker, s.role, s.speaker, s.since, s.seen, s.active, l.state FROM seats s"
    " JOIN leases l ON l.id = s.lease"
)


class Seat(NamedTuple):
    """The seat of a lease in a dialogue."""

    lease: str
    worker: int
    role: str
    """`user`, `sys` or `both`."""
    speaker: int
    """The number of the worker in the dialogue."""
    since: float
    """When the worker sat down."""
    seen: float
    """When their page last sent a request."""
    active: float
    """When they last typed or sent a turn."""
    state: str
    """Of the lease; the seat is held while it is `open`."""


def is_away(seat: Seat, next_role: str, last: float, options: Options, now: float) -> bool:
    """Whether a page sends no more requests, or its worker lets the other wait; `last` is the moment of the last turn."""
    if now - seat.seen > options.partner_seconds:
        return True
    waited = now - max(last, seat.active, seat.since)
    return seat.role == next_role and waited > options.reply_seconds


def take_seat(db: Connection, worker: int, item: int, lease: str, now: float) -> None:
    """Sit down at the dialogue of an item: at the seat the worker had if it is free, else at the free one."""
    row = db.one("SELECT id, alone FROM dialogues WHERE item = ? AND state = 'open'", item)
    if row is None:
        db.execute(
            "INSERT INTO dialogues (item, state, alone, begun) VALUES (?, 'open', 0, ?)", item, now
        )
        row = db.required("SELECT id, alone FROM dialogues WHERE item = ? AND state = 'open'", item)
    dialogue, is_alone = row
    seats = [Seat(*seat) for seat in db.rows(f"{SEATS} WHERE s.dialogue = ?", dialogue)]
    own = [seat for seat in seats if seat.worker == worker]
    held = [seat.role for seat in seats if seat.state == "open" and seat.worker != worker]
    if is_alone:
        role = BOTH
    elif held:
        role = SYSTEM if held[0] == USER else USER
    elif own:
        role = own[-1].role
    else:
        (count,) = db.required("SELECT count(*) FROM turns WHERE dialogue = ?", dialogue)
        role = ROLES[count % 2]
    speaker = own[0].speaker if own else len({seat.speaker for seat in seats})
    db.execute(
        "INSERT INTO seats (lease, dialogue, worker, role, speaker, since, seen, active)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lease) DO UPDATE SET dialogue = excluded.dialogue,"
        " role = excluded.role, speaker = excluded.speaker, since = excluded.since, seen = excluded.seen,"
        " active = excluded.active",
        lease,
        dialogue,
        worker,
        role,
        speaker,
        now,
        now,
        now,
    )


def find_waiting(db: Connection, options: Options, now: float) -> list[int]:
    """The items at whose dialogue somebody waits for a partner, who has waited longest first.

    The seats of those who are away are freed, where the other worker is there.
    """
    rows = db.rows(
        "SELECT d.id, d.item, d.begun, (SELECT count(*) FROM turns t WHERE t.dialogue = d.id),"
        " (SELECT max(t.at) FROM turns t WHERE t.dialogue = d.id),"
        " s.lease, s.worker, s.role, s.speaker, s.since, s.seen, s.active, l.state"
        " FROM dialogues d JOIN seats s ON s.dialogue = d.id JOIN leases l ON l.id = s.lease"
        " WHERE d.state = 'open' AND d.alone = 0 AND l.state = 'open' ORDER BY d.id, s.speaker"
    )
    rooms: dict[int, list[tuple[Seat, bool]]] = {}
    items: dict[int, int] = {}
    for dialogue, item, begun, count, last, *columns in rows:
        seat = Seat(*columns)
        away = is_away(seat, ROLES[count % 2], begun if last is None else last, options, now)
        rooms.setdefault(dialogue, []).append((seat, away))
        items[dialogue] = item
    waiting: list[tuple[float, int]] = []
    for dialogue, seats in rooms.items():
        here = [seat for seat, away in seats if not away]
        if len(here) != 1:
            continue
        for seat, away in seats:
            if away:
                free_seat(db, seat.lease, items[dialogue])
        waiting.append((here[0].since, items[dialogue]))
    return [item for _, item in sorted(waiting)]


def free_seat(db: Connection, lease: str, item: int) -> None:
    """End the lease of a worker who is away; they have it again if no one takes the seat."""
    db.execute("UPDATE leases SET state = 'expired' WHERE id = ?", lease)
    db.execute("UPDATE items SET leased = leased - 1 WHERE id = ?", item)
