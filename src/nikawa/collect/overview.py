"""What the owner sees and does: progress, workers, reports, disagreements, decisions, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from nikawa.collect.database import Link, found
from nikawa.collect.project import Project
from nikawa.collect.records import stamp
from nikawa.collect.workers import AUTHOR, Refused, Worker, all_workers, audit

PAGE = 100
"""Rows of one page of a list."""
WORKERS = 5000
"""Workers a dashboard lists at most, the latest first."""


def progress(link: Link) -> dict[str, Any]:
    """How far the project is: `done` counts as many answers as an item asks for, `uncounted` is all that came beside."""
    items, asked, done, complete, held, leased = found(
        link,
        "SELECT count(*), coalesce(sum(asked), 0), coalesce(sum(CASE WHEN done > asked THEN asked ELSE done END), 0),"
        " coalesce(sum(CASE WHEN done >= asked THEN 1 ELSE 0 END), 0), coalesce(sum(held), 0),"
        " coalesce(sum(leased), 0) FROM items WHERE kind = 'main'",
    )
    (answers,) = found(link, "SELECT count(*) FROM answers WHERE kind = 'main'")
    (withdrawn,) = found(link, "SELECT count(*) FROM withdrawals")
    return {
        "items": int(items),
        "complete": int(complete),
        "set_aside": int(held),
        "in_hand": int(leased),
        "asked": int(asked),
        "done": int(done),
        "answers": int(answers),
        "uncounted": int(answers) - int(done),
        "withdrawn": int(withdrawn),
    }


def worker_rows(link: Link) -> list[dict[str, Any]]:
    """Everybody who came, with speed and control items."""
    came = [one for one in all_workers(link) if one.origin != AUTHOR or one.serial or one.answered]
    return [_worker(worker) for worker in came[-WORKERS:]]


def _worker(worker: Worker) -> dict[str, Any]:
    row = asdict(worker)
    for name in ("id", "serial", "place"):
        del row[name]
    row["mean_seconds"] = round(worker.seconds / worker.answered, 3) if worker.answered else None
    row["gold_accuracy"] = worker.gold_right / worker.gold if worker.gold else None
    row["created"], row["last"] = stamp(worker.created), stamp(worker.last)
    return row


def times(link: Link) -> dict[str, Any]:
    """Time per answer: the mean, and how many answers took how long, in powers of two of a second."""
    rows = link.rows(
        "SELECT CASE WHEN seconds < 1 THEN 1 WHEN seconds < 2 THEN 2 WHEN seconds < 4 THEN 4 WHEN seconds < 8 THEN 8"
        " WHEN seconds < 16 THEN 16 WHEN seconds < 32 THEN 32 WHEN seconds < 64 THEN 64 WHEN seconds < 128 THEN 128"
        " WHEN seconds < 256 THEN 256 ELSE 512 END AS under, count(*), sum(seconds) FROM answers"
        " WHERE kind = 'main' AND surplus = 0 AND seconds IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    count, total = sum(int(row[1]) for row in rows), sum(float(row[2]) for row in rows)
    return {
        "mean": round(total / count, 3) if count else None,
        "hours": round(total / 3600, 3),
        "under": {str(r[0]): int(r[1]) for r in rows},
    }


def pay(link: Link) -> float:
    """What all workers have earned so far."""
    (paid,) = found(link, "SELECT coalesce(sum(earned), 0) FROM workers")
    return round(float(paid), 4)


def reports(link: Link, after: int = 0) -> list[dict[str, Any]]:
    """What workers reported, oldest first."""
    rows = link.rows(
        "SELECT r.seq, i.ref, w.name, r.code, r.comment, r.at, i.held FROM reports r JOIN items i ON i.id = r.item"
        " JOIN workers w ON w.id = r.worker WHERE r.seq > ? ORDER BY r.seq LIMIT ?",
        after,
        PAGE,
    )
    names = ("seq", "ref", "worker", "code", "comment")
    return [
        {**dict(zip(names, row, strict=False)), "at": stamp(row[5]), "set_aside": bool(row[6])}
        for row in rows
    ]


_ITEM_STATES = {
    "": "1 = 1",
    "open": "i.open = 1",
    "complete": "i.done >= i.asked",
    "set-aside": "i.held = 1",
    "reported": "i.reports > 0",
}


def items(link: Link, state: str = "", after: str = "", limit: int = PAGE) -> list[dict[str, Any]]:
    """A page of items by reference."""
    if state not in _ITEM_STATES:
        raise Refused("bad_request", 400)
    rows = link.rows(
        "SELECT i.ref, i.asked, i.done, i.leased, i.reports, i.held, i.open FROM items i"  # noqa: S608
        f" WHERE i.kind = 'main' AND i.ref > ? AND {_ITEM_STATES[state]} ORDER BY i.ref LIMIT ?",
        after,
        limit,
    )
    return [
        {
            "ref": r[0],
            "asked": r[1],
            "done": r[2],
            "leased": r[3],
            "reports": r[4],
            "state": _state(r),
        }
        for r in rows
    ]


def _state(row: Sequence[Any]) -> str:
    if row[5]:
        return "set-aside"
    return "complete" if row[2] >= row[1] else "open" if row[6] else "in-hand"


def item_of(link: Link, ref: str) -> tuple[int, str]:
    """Id and body of an item."""
    row = link.one(
        "SELECT i.id, t.body FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = 'main' AND i.ref = ?",
        ref,
    )
    if row is None:
        raise Refused("item_unknown", 404)
    return int(row[0]), str(row[1])


def decide(link: Link, ref: str, body: str, reason: str, *, who: str, now: float) -> int:
    """Add a decision; earlier ones stay."""
    item, _ = item_of(link, ref)
    link.run(
        "INSERT INTO decisions (item, person, body, reason, at) VALUES (?, ?, ?, ?, ?)",
        item,
        who,
        body,
        reason,
        now,
    )
    (seq,) = found(link, "SELECT max(seq) FROM decisions")
    audit(link, who, "decide", {"ref": ref, "reason": reason}, now)
    return int(seq)


def resolve(link: Link, ref: str, action: str, reason: str, *, who: str, now: float) -> str:
    """Open an item that was set aside, or set one aside for good."""
    item, _ = item_of(link, ref)
    held = {"reopen": 0, "drop": 1}.get(action)
    if held is None:
        raise Refused("bad_request", 400)
    link.run("UPDATE items SET held = ? WHERE id = ?", held, item)
    audit(link, who, action, {"ref": ref, "reason": reason}, now)
    return _item_state(link, item)


def _item_state(link: Link, item: int) -> str:
    row = found(
        link, "SELECT ref, asked, done, leased, reports, held, open FROM items WHERE id = ?", item
    )
    return _state(row)


def audit_rows(link: Link, after: int = 0, *, latest: bool = False) -> list[dict[str, Any]]:
    """A page of the audit log, the oldest first; `latest`: the last page, the latest first."""
    order = "DESC" if latest else "ASC"
    rows = link.rows(
        f"SELECT seq, at, who, what, detail FROM audit WHERE seq > ? ORDER BY seq {order} LIMIT ?",  # noqa: S608
        after,
        PAGE,
    )
    return [
        {
            "seq": r[0],
            "at": stamp(r[1]),
            "who": r[2],
            "what": r[3],
            "detail": msgspec.json.decode(r[4]),
        }
        for r in rows
    ]


def overview(link: Link, project: Project) -> dict[str, Any]:
    """All that a dashboard shows of the store itself; with the codes, so that the owner can check what workers send."""
    settings, workers = project.settings, worker_rows(link)
    for row in workers:
        row["code"] = project.code(row["name"]) if row["answered"] else None
    return {
        "title": settings.title,
        "form": settings.form,
        "workers_per_item": settings.assign.workers_per_item,
        "progress": progress(link),
        "workers": workers,
        "time": times(link),
        "pay": {**msgspec.to_builtins(settings.pay), "paid": pay(link)},
        "reports": reports(link),
    }
