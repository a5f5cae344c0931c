"""What a worker hands in: answers, drafts, withdrawals, reports. Rows are added, never changed.

A key that comes twice is one answer. An answer to a lease that ran out counts where its item still needs one, and is
kept as surplus (paid, exported on request) where somebody else has the place: work is not lost, nor an item overfilled.
"""

from __future__ import annotations

from dataclasses import dataclass

from nikawa.collect.assign import add_lease
from nikawa.collect.database import Link, Row
from nikawa.collect.turn import WORKER, Leased, Plan, Turn
from nikawa.collect.verdict import judge
from nikawa.collect.workers import Refused, Worker

_LEASED = (
    f"SELECT {WORKER}, t.body, t.gold FROM workers w LEFT JOIN leases l ON l.id = ? AND l.worker = w.id"  # noqa: S608
    " LEFT JOIN texts t ON t.item = l.item WHERE w.link = ?"
)


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


def leased(link: Link, token: str, name: str) -> tuple[Worker, str, str | None]:
    """The worker of a link (its hash), and text and gold of one of their leases, whatever became of it."""
    row = link.one(_LEASED, name, token)
    if row is None:
        raise Refused("link_unknown", 404)
    *worker, body, gold = row
    if body is None:
        raise Refused("lease_unknown", 404)
    return Worker(*worker), body, gold


def answer(turn: Turn, given: Given) -> Plan[Saved]:
    """Add an answer, unless its key is known."""
    if turn.before is not None:
        if turn.before[0] != given.lease:
            raise Refused("key_used")
        return Saved(duplicate=True, surplus=turn.before[1])
    lease, worker = turn.leased(), turn.worker
    held = lease.state == "open"
    surplus = worker.state not in ("pilot", "active") or not (
        held or lease.kind != "main" or lease.room
    )
    turn.later("UPDATE leases SET state = 'answered' WHERE id = ?", given.lease)
    if held or not surplus:
        turn.later(
            "UPDATE items SET leased = leased - ?, done = done + ? WHERE id = ?",
            int(held),
            int(not surplus),
            lease.item,
        )
    if lease.draft:
        turn.later("DELETE FROM drafts WHERE lease = ?", given.lease)
    turn.ended()
    _record(turn, given, lease, surplus)
    if not surplus:
        yield from judge(turn)
    turn.undoable = not surplus and _same_stage(worker, lease.kind)
    return Saved(surplus=surplus)


def _record(turn: Turn, given: Given, lease: Leased, surplus: bool) -> None:
    worker, settings = turn.worker, turn.settings
    elapsed = max(0.0, turn.now - lease.issued)
    seconds = elapsed if given.seconds is None else min(given.seconds, elapsed)
    quick = lease.kind != "pilot" and seconds < settings.speed.min_seconds
    pay = 0.0 if lease.kind == "pilot" or worker.state == "excluded" else settings.pay.per_item
    correct = None if given.correct is None else int(given.correct)
    turn.later(
        "INSERT INTO answers (item, worker, lease, key, kind, body, comment, seconds, elapsed, at, surplus,"
        " correct, quick, pay) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        lease.item,
        worker.id,
        given.lease,
        given.key,
        lease.kind,
        given.body,
        given.comment,
        seconds,
        elapsed,
        turn.now,
        int(surplus),
        correct,
        int(quick),
        pay,
    )
    worker.earned += pay
    if not surplus:
        _count(worker, lease.kind, 1, (correct or 0, int(quick), seconds))
    turn.changed = True


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


_LAST = (
    "SELECT a.seq, a.item, a.kind, a.correct, a.quick, a.seconds, a.pay, a.surplus FROM answers a"
    " LEFT JOIN withdrawals w ON w.answer = a.seq WHERE a.worker = ? AND w.answer IS NULL"
    " AND a.elapsed IS NOT NULL ORDER BY a.seq DESC LIMIT 1"
)
"""What was brought in from elsewhere took no time here, and is not taken back here."""


def _same_stage(worker: Worker, kind: str) -> bool:
    return worker.state in ("pilot", "active") and (kind == "pilot") == (worker.state == "pilot")


def last_answer(worker: Worker) -> Plan[Row | None]:
    """The answer an undo would take back: the last, given in the stage the worker is in."""
    if worker.state not in ("pilot", "active"):
        return None
    row = yield (_LAST, worker.id)
    return None if row is None or row[7] or not _same_stage(worker, row[2]) else row


def undo(turn: Turn, key: str) -> Plan[None]:
    """Withdraw the last answer and hand its item out again; the place at the item is kept."""
    worker = turn.worker
    known = yield ("SELECT 1 FROM withdrawals WHERE worker = ? AND key = ?", worker.id, key)
    if known is not None:
        return
    row = yield from last_answer(worker)
    if row is None:
        raise Refused("nothing_to_undo")
    seq, item, kind, correct, quick, seconds, pay, _ = row
    turn.later(
        "INSERT INTO withdrawals (answer, worker, key, at) VALUES (?, ?, ?, ?)",
        seq,
        worker.id,
        key,
        turn.now,
    )
    turn.later("UPDATE items SET done = done - 1, leased = leased + 1 WHERE id = ?", item)
    worker.earned -= pay
    _count(worker, kind, -1, (correct or 0, quick, seconds))
    turn.changed = True
    turn.touched.add(("item", item))
    add_lease(turn, item, redo=seq)
    turn.mine += 1


def draft(turn: Turn, name: str, body: str) -> bool:
    """Keep half-written work and prolong the lease; whether the item is still the worker's."""
    held = turn.leased().state == "open"
    turn.later(
        "INSERT INTO drafts (lease, body, at) VALUES (?, ?, ?)"
        " ON CONFLICT (lease) DO UPDATE SET body = excluded.body, at = excluded.at",
        name,
        body,
        turn.now,
    )
    if held:
        expires = turn.now + turn.settings.assign.lease_minutes * 60
        turn.later("UPDATE leases SET expires = ? WHERE id = ?", expires, name)
    return held


@dataclass(frozen=True)
class Report:
    """Why a worker hands an item back."""

    lease: str
    key: str
    code: str
    comment: str = ""


def report(turn: Turn, given: Report) -> Plan[Saved]:
    """Hand an item back with a reason; reported often enough, it is set aside for the owner."""
    worker = turn.worker
    before = yield ("SELECT lease FROM reports WHERE worker = ? AND key = ?", worker.id, given.key)
    if before is not None:
        if before[0] != given.lease:
            raise Refused("key_used")
        return Saved(duplicate=True)
    lease = turn.leased()
    heard = worker.state in ("pilot", "active")  # who is excluded sets nothing aside for the others
    turn.later("UPDATE leases SET state = 'reported' WHERE id = ?", given.lease)
    turn.later(
        "INSERT INTO reports (item, worker, lease, key, code, comment, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        lease.item,
        worker.id,
        given.lease,
        given.key,
        given.code,
        given.comment,
        turn.now,
    )
    turn.later(
        "UPDATE items SET leased = leased - ?, reports = reports + 1,"
        " held = CASE WHEN kind = 'main' AND ? = 1 AND reports + 1 >= ? THEN 1 ELSE held END WHERE id = ?",
        int(lease.state == "open"),
        int(heard),
        turn.settings.limits.reports_per_item,
        lease.item,
    )
    turn.ended()
    if lease.kind == "pilot":
        worker.pilot += 1
        turn.changed = True
        yield from judge(turn)
    return Saved()
