"""What a worker hands in: answers, drafts, withdrawals, reports. Rows are added, never changed.

A key that comes twice is one answer. An answer to a lease that ran out counts where its item still needs one, and is
kept as surplus (paid, exported on request) where somebody else has the place: work is not lost, nor an item overfilled.
"""

from __future__ import annotations

from dataclasses import dataclass

from nikawa.collect.assign import lease as make_lease
from nikawa.collect.database import Link, Row, found
from nikawa.collect.settings import Settings
from nikawa.collect.workers import Refused, Worker, audit, close_lease, exclude

DRAFTS_KEPT = 86_400.0


@dataclass(frozen=True)
class Given:
    """An answer as it came in, already found to be within the form's rules."""

    lease: str
    key: str
    body: str
    comment: str = ""
    seconds: float | None = None
    correct: bool | None = None
    """Whether it matches the gold of a control or pilot item."""


@dataclass(frozen=True)
class Saved:
    """What became of a submission."""

    duplicate: bool = False
    surplus: bool = False


def leased(link: Link, worker: Worker, name: str) -> tuple[int, str, str, str | None]:
    """Item, kind, body and gold of a worker's lease, whatever became of it."""
    row = link.one(
        "SELECT i.id, i.kind, t.body, t.gold FROM leases l JOIN items i ON i.id = l.item JOIN texts t ON t.item = i.id"
        " WHERE l.id = ? AND l.worker = ?",
        name, worker.id,
    )  # fmt: skip
    if row is None:
        raise Refused("lease_unknown", 404)
    return int(row[0]), row[1], row[2], row[3]


def answer(link: Link, worker: Worker, given: Given, settings: Settings, now: float) -> Saved:
    """Add an answer, unless its key is known."""
    before = link.one("SELECT lease, surplus FROM answers WHERE worker = ? AND key = ?", worker.id, given.key)
    if before is not None:
        if before[0] != given.lease:
            raise Refused("key_used")
        return Saved(duplicate=True, surplus=bool(before[1]))
    item, state, issued, kind, room = _lease_row(link, worker, given.lease)
    surplus = worker.state not in ("pilot", "active") or not (state == "open" or kind != "main" or room)
    if state == "open":
        close_lease(link, given.lease, item, "answered")
    else:
        link.run("UPDATE leases SET state = 'answered' WHERE id = ?", given.lease)
    if not surplus:
        link.run("UPDATE items SET done = done + 1 WHERE id = ?", item)
    _record(link, worker, given, settings, (item, kind, issued, surplus, now))
    link.run("DELETE FROM drafts WHERE lease = ?", given.lease)
    if not surplus:
        _judge(link, worker, settings, now)
    return Saved(surplus=surplus)


def _lease_row(link: Link, worker: Worker, name: str) -> Row:
    row = link.one(
        "SELECT l.item, l.state, l.issued, i.kind, i.open FROM leases l JOIN items i ON i.id = l.item"
        " WHERE l.id = ? AND l.worker = ?",
        name, worker.id,
    )  # fmt: skip
    if row is None:
        raise Refused("lease_unknown", 404)
    if row[1] in ("answered", "reported"):
        raise Refused("already_answered")
    return row


def _record(link: Link, worker: Worker, given: Given, settings: Settings, facts: Row) -> None:
    item, kind, issued, surplus, now = facts
    elapsed = max(0.0, now - issued)
    seconds = elapsed if given.seconds is None else min(given.seconds, elapsed)
    quick = kind != "pilot" and seconds < settings.speed.min_seconds
    pay = 0.0 if kind == "pilot" or worker.state == "excluded" else settings.pay.per_item
    correct = None if given.correct is None else int(given.correct)
    link.run(
        "INSERT INTO answers (item, worker, lease, key, kind, body, comment, seconds, elapsed, at, surplus,"
        " correct, quick, pay) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        item, worker.id, given.lease, given.key, kind, given.body, given.comment, seconds, elapsed, now,
        int(surplus), correct, int(quick), pay,
    )  # fmt: skip
    worker.earned += pay
    if not surplus:
        _count(worker, kind, 1, (correct or 0, int(quick), seconds))
    _store(link, worker, now)


def _count(worker: Worker, kind: str, sign: int, facts: tuple[int, int, float]) -> None:
    correct, quick, seconds = facts
    if kind == "pilot":
        worker.pilot += sign
        worker.pilot_right += sign * correct
        return
    worker.answered += sign
    worker.quick += sign * quick
    worker.seconds += sign * seconds
    if kind == "gold":
        worker.gold += sign
        worker.gold_right += sign * correct


def _store(link: Link, worker: Worker, now: float) -> None:
    worker.last = now
    link.run(
        "UPDATE workers SET state = ?, answered = ?, pilot = ?, pilot_right = ?, gold = ?, gold_right = ?,"
        " quick = ?, seconds = ?, earned = ?, last = ? WHERE id = ?",
        worker.state, worker.answered, worker.pilot, worker.pilot_right, worker.gold, worker.gold_right,
        worker.quick, worker.seconds, worker.earned, now, worker.id,
    )  # fmt: skip


def _judge(link: Link, worker: Worker, settings: Settings, now: float) -> None:
    """The pilot's verdict, and the rules that exclude a worker."""
    if worker.state == "pilot":
        (size,) = found(link, "SELECT count(*) FROM items WHERE kind = 'pilot'")
        if worker.pilot >= size:
            passed = worker.pilot_right >= settings.pilot.pass_mark * size - 1e-9
            worker.state = "active" if passed else "failed"
            link.run("UPDATE workers SET state = ? WHERE id = ?", worker.state, worker.id)
            detail = {"worker": worker.name, "right": worker.pilot_right, "of": size}
            audit(link, "server", "pilot passed" if passed else "pilot failed", detail, now)
        return
    gold, speed = settings.gold, settings.speed
    if worker.gold >= gold.after and worker.gold_right < gold.pass_mark * worker.gold - 1e-9:
        reason = f"{worker.gold_right} of {worker.gold} control items right"
        exclude(link, worker, reason, "server", now)
    elif worker.answered >= speed.after and worker.quick > speed.share * worker.answered:
        reason = f"{worker.quick} of {worker.answered} answers under {speed.min_seconds:g} s"
        exclude(link, worker, reason, "server", now)


_LAST = (
    "SELECT a.seq, a.item, a.kind, a.correct, a.quick, a.seconds, a.pay, a.surplus FROM answers a"
    " LEFT JOIN withdrawals w ON w.answer = a.seq WHERE a.worker = ? AND w.answer IS NULL"
    " ORDER BY a.seq DESC LIMIT 1"
)


def last_answer(link: Link, worker: Worker) -> Row | None:
    """The answer an undo would take back: the last, given in the stage the worker is in."""
    if worker.state not in ("pilot", "active"):
        return None
    row = link.one(_LAST, worker.id)
    if row is None or row[7] or (row[2] == "pilot") != (worker.state == "pilot"):
        return None
    return row


def undo(link: Link, worker: Worker, key: str, settings: Settings, now: float) -> None:
    """Withdraw the last answer and hand its item out again; the place at the item is kept."""
    if link.one("SELECT 1 FROM withdrawals WHERE worker = ? AND key = ?", worker.id, key):
        return
    row = last_answer(link, worker)
    if row is None:
        raise Refused("nothing_to_undo")
    seq, item, kind, correct, quick, seconds, pay, _ = row
    link.run(
        "INSERT INTO withdrawals (answer, worker, key, at) VALUES (?, ?, ?, ?)", seq, worker.id, key, now
    )
    link.run("UPDATE items SET done = done - 1 WHERE id = ?", item)
    worker.earned -= pay
    _count(worker, kind, -1, (correct or 0, quick, seconds))
    _store(link, worker, now)
    make_lease(link, worker, item, settings, now, redo=seq)


def draft(link: Link, worker: Worker, name: str, body: str, settings: Settings, now: float) -> bool:
    """Keep half-written work and prolong the lease; whether the item is still the worker's."""
    row = link.one("SELECT state FROM leases WHERE id = ? AND worker = ?", name, worker.id)
    if row is None:
        raise Refused("lease_unknown", 404)
    if row[0] in ("answered", "reported"):
        raise Refused("already_answered")
    link.run(
        "INSERT INTO drafts (lease, body, at) VALUES (?, ?, ?)"
        " ON CONFLICT (lease) DO UPDATE SET body = excluded.body, at = excluded.at",
        name, body, now,
    )  # fmt: skip
    if row[0] == "open":
        expires = now + settings.assign.lease_minutes * 60
        link.run("UPDATE leases SET expires = ? WHERE id = ?", expires, name)
    return bool(row[0] == "open")


@dataclass(frozen=True)
class Report:
    """Why a worker hands an item back."""

    lease: str
    key: str
    code: str
    comment: str = ""


def report(link: Link, worker: Worker, given: Report, settings: Settings, now: float) -> Saved:
    """Hand an item back with a reason; reported often enough, it is set aside for the owner."""
    before = link.one("SELECT lease FROM reports WHERE worker = ? AND key = ?", worker.id, given.key)
    if before is not None:
        if before[0] != given.lease:
            raise Refused("key_used")
        return Saved(duplicate=True)
    item, state, _, kind, _ = _lease_row(link, worker, given.lease)
    if state == "open":
        close_lease(link, given.lease, item, "reported")
    else:
        link.run("UPDATE leases SET state = 'reported' WHERE id = ?", given.lease)
    link.run(
        "INSERT INTO reports (item, worker, lease, key, code, comment, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        item, worker.id, given.lease, given.key, given.code, given.comment, now,
    )  # fmt: skip
    limit = settings.limits.reports_per_item
    link.run(
        "UPDATE items SET reports = reports + 1,"
        " held = CASE WHEN kind = 'main' AND reports + 1 >= ? THEN 1 ELSE held END WHERE id = ?",
        limit, item,
    )  # fmt: skip
    if kind == "pilot":
        worker.pilot += 1
        _store(link, worker, now)
        _judge(link, worker, settings, now)
    return Saved()
