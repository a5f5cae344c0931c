"""Workers: who they are, what they may do, and taking their answers out of the count and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from nikawa.collect.database import Link, Step, found
from nikawa.collect.settings import Settings
from nikawa.errors import NikawaError

COLUMNS = (
    "id, name, origin, state, reason, language, serial, place, answered, pilot, pilot_right, gold, gold_right,"
    " quick, seconds, earned, created, last"
)


RECORD = ("answered", "gold", "gold_right", "quick")
"""The counts of a worker that may exclude them."""
AUTHOR = "writer"
"""The origin of somebody who wrote items of the project and may never come to judge any."""


class Refused(NikawaError):
    """A request that cannot be done; `code` is also the key of its message."""

    def __init__(self, code: str, status: int = 409) -> None:
        self.code, self.status = code, status
        super().__init__(code)


@dataclass
class Worker:
    """A row of the table."""

    id: int
    name: str
    origin: str
    state: str
    """`pilot`, `active`, `failed` (the pilot) or `excluded`."""
    reason: str
    language: str
    serial: int
    """How many items were handed out; draws of chance are keyed by it."""
    place: int
    """How far the worker's own order has been walked."""
    answered: int
    pilot: int
    pilot_right: int
    gold: int
    gold_right: int
    quick: int
    seconds: float
    earned: float
    created: float
    last: float

    @property
    def record(self) -> dict[str, int]:
        """What the rules that exclude go by."""
        return {name: getattr(self, name) for name in RECORD}


def by_link(link: Link, hashed: str) -> Worker:
    """The worker of a link, given as its hash."""
    row = link.one(f"SELECT {COLUMNS} FROM workers WHERE link = ?", hashed)  # noqa: S608  (our own columns)
    if row is None:
        raise Refused("link_unknown", 404)
    return Worker(*row)


def by_name(link: Link, name: str) -> Worker | None:
    """The worker of a name."""
    row = link.one(f"SELECT {COLUMNS} FROM workers WHERE name = ?", name)  # noqa: S608  (our own columns)
    return None if row is None else Worker(*row)


def all_workers(link: Link) -> list[Worker]:
    """Everybody, in the order they came."""
    return [Worker(*row) for row in link.rows(f"SELECT {COLUMNS} FROM workers ORDER BY id")]  # noqa: S608


def add_worker(
    link: Link, name: str, hashed: str, origin: str, *, language: str, now: float
) -> Worker:
    """The worker of a name, made where there is none; the pilot comes first where there is one."""
    known = by_name(link, name)
    if known is not None and known.origin == AUTHOR and origin == "link":
        link.run("UPDATE workers SET origin = ? WHERE id = ?", origin, known.id)
        known.origin = origin
    if known is not None:
        return known
    state = "pilot" if link.one("SELECT 1 FROM items WHERE kind = 'pilot' LIMIT 1") else "active"
    link.run(
        "INSERT INTO workers (name, link, origin, state, language, created, last) VALUES (?, ?, ?, ?, ?, ?, ?)",
        name,
        hashed,
        origin,
        "active" if origin == "import" else state,
        language,
        now,
        now,
    )
    made = by_name(link, name)
    assert made is not None
    return made


def join(link: Link, name: str, hashed: str, settings: Settings, now: float) -> Worker:
    """The worker a platform sends; there are as many as the settings allow."""
    known = by_name(link, name)
    if (
        known is not None and known.origin == "link"
    ):  # who was given a link is not told by a name others may know
        raise Refused("not_allowed", 403)
    if known is not None:
        return known
    (count,) = found(link, "SELECT count(*) FROM workers WHERE origin <> ? OR serial > 0", AUTHOR)
    if count >= settings.crowd.max_workers:
        raise Refused("worker_full", 403)
    return add_worker(link, name, hashed, "join", language=settings.language, now=now)


STANDING = (
    "SELECT a.item FROM answers a LEFT JOIN withdrawals w ON w.answer = a.seq"
    " WHERE a.worker = ? AND a.kind = 'main' AND a.surplus = 0 AND w.answer IS NULL"
)
"""The items a worker has an answer for that stands."""


def exclude(link: Link, worker: Worker, reason: str, who: str, now: float) -> None:
    """The answers stay where they are but count no more: their items are open again."""
    if worker.state == "excluded":
        return
    link.run(f"UPDATE items SET done = done - 1 WHERE id IN ({STANDING})", worker.id)  # noqa: S608
    held = link.rows("SELECT item, id FROM leases WHERE worker = ? AND state = 'open'", worker.id)
    link.many("UPDATE items SET leased = leased - 1 WHERE id = ?", [(item,) for item, _ in held])
    link.many("UPDATE leases SET state = 'expired' WHERE id = ?", [(lease,) for _, lease in held])
    link.run("UPDATE workers SET state = 'excluded', reason = ? WHERE id = ?", reason, worker.id)
    audit(link, who, "exclude", {"worker": worker.name, "reason": reason}, now)
    worker.state, worker.reason = "excluded", reason


def reinstate(link: Link, worker: Worker, reason: str, who: str, now: float) -> None:
    """Count the worker's answers again, beside those others gave meanwhile; let in who failed the pilot.

    What speaks against them now is forgiven: the rules that exclude go by what they do from here on.
    """
    if worker.state not in ("excluded", "failed"):
        return
    if worker.state == "excluded":
        link.run(f"UPDATE items SET done = done + 1 WHERE id IN ({STANDING})", worker.id)  # noqa: S608
    pilot = link.one(
        "SELECT 1 FROM items i WHERE kind = 'pilot' AND NOT EXISTS (SELECT 1 FROM answers a"
        " LEFT JOIN withdrawals w ON w.answer = a.seq WHERE a.item = i.id AND a.worker = ?"
        " AND w.answer IS NULL) AND NOT EXISTS (SELECT 1 FROM reports r WHERE r.item = i.id AND r.worker = ?) LIMIT 1",
        worker.id,
        worker.id,
    )
    worker.state = "pilot" if pilot and worker.origin != "import" else "active"
    link.run("UPDATE workers SET state = ?, reason = '' WHERE id = ?", worker.state, worker.id)
    keep(link, taken_back(worker), msgspec.json.encode(worker.record).decode())
    audit(link, who, "reinstate", {"worker": worker.name, "reason": reason}, now)


def taken_back(worker: Worker) -> str:
    """The key under which the record is kept that a worker had when the owner took them back."""
    return f"taken back {worker.id}"


def keep(link: Link, key: str, value: str) -> None:
    """Keep a value of the project, in place of an earlier one."""
    link.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value,
    )


def audited(who: str, what: str, detail: dict[str, Any], now: float) -> Step:
    """The statement that remembers who did what."""
    text = msgspec.json.encode(detail).decode()
    return "INSERT INTO audit (at, who, what, detail) VALUES (?, ?, ?, ?)", now, who, what, text


def audit(link: Link, who: str, what: str, detail: dict[str, Any], now: float) -> None:
    """Remember who did what."""
    link.run(*audited(who, what, detail, now))
