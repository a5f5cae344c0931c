"""Figures of the store for the owner's dashboard: progress, workers, time, pay, reports, items, the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import msgspec

from nikawa.collect.effort import effort_summary
from nikawa.collect.project import Project
from nikawa.collect.store import ANSWERS, BY_MACHINE, IS_COUNTED, decode_example, format_time
from nikawa.collect.workers import AUTHOR, REPORT_COUNTED, all_workers
from nikawa.collect.writers import WRITER
from nikawa.records import name_kind
from nikawa.serve import audit
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused
from nikawa.serve.names import find_look_alikes

ROWS_PER_PAGE = 100
RECHECK = "recheck"
"""The analysis of answers that a machine and the other workers contradict."""
MAX_WORKERS_SHOWN = 5000
"""Workers a dashboard lists, the latest first."""


def overview(db: Connection, project: Project) -> dict[str, Any]:
    """All that a dashboard shows of the store itself; with the codes, so that the owner can check what workers send."""
    settings, workers = project.settings, worker_rows(db)
    for row in workers:
        row["code"] = project.code(row["name"]) if row["answered"] else None
    (paid,) = db.required("SELECT coalesce(sum(earned), 0) FROM workers")
    look_alikes = find_look_alikes(row["name"] for row in workers)
    return {
        "title": settings.title,
        "form": settings.form,
        "workers_per_item": settings.assign.workers_per_item,
        "progress": count_progress(db),
        **({"effort": effort} if (effort := effort_summary(db, project)) else {}),
        "workers": workers,
        **({"look_alikes": look_alikes} if look_alikes else {}),
        "time": count_times(db),
        "pay": {**msgspec.to_builtins(settings.pay), "paid": round(float(paid), 4)},
        **({"machines": machines} if (machines := machine_rows(db)) else {}),
        "reports": _report_rows(db),
    }


def machine_rows(db: Connection) -> list[dict[str, Any]]:
    """The models and simulations whose answers were imported, with how many; no other figure counts these answers."""
    rows = db.rows(
        "SELECT w.name, count(*) FROM answers a JOIN workers w ON w.id = a.worker WHERE a.surplus = ?"
        " GROUP BY w.name ORDER BY w.name",
        BY_MACHINE,
    )
    return [{"name": name, "kind": name_kind(name), "answers": int(n)} for name, n in rows]


def count_progress(db: Connection) -> dict[str, Any]:
    """The progress of the project. `done` counts at most the answers that each item needs, `uncounted` counts all others."""
    items, needed, done, complete, set_aside, leased = db.required(
        "SELECT count(*), coalesce(sum(asked), 0), coalesce(sum(CASE WHEN done > asked THEN asked ELSE done END), 0),"
        " coalesce(sum(CASE WHEN done >= asked THEN 1 ELSE 0 END), 0), coalesce(sum(held), 0),"
        " coalesce(sum(leased), 0) FROM items WHERE kind = 'main'",
    )
    (answers,) = db.required(
        "SELECT count(*) FROM answers WHERE kind = 'main' AND surplus <> ?", BY_MACHINE
    )
    (reports,) = db.required("SELECT count(*) FROM leases WHERE state = ?", REPORT_COUNTED)
    (withdrawn,) = db.required("SELECT count(*) FROM withdrawals")
    return {
        "items": int(items),
        "complete": int(complete),
        "set_aside": int(set_aside),
        "in_hand": int(leased),
        "asked": int(needed),
        "done": int(done),
        "answers": int(answers),
        "uncounted": int(answers) + int(reports) - int(done),
        "withdrawn": int(withdrawn),
    }


def worker_rows(db: Connection) -> list[dict[str, Any]]:
    """All persons who joined, with speed and control items; writers who never joined and models are skipped."""
    came = [
        worker
        for worker in all_workers(db)
        if (worker.origin != AUTHOR or worker.serial or worker.answered)
        and name_kind(worker.name) == "person"
    ]
    rows = []
    for worker in came[-MAX_WORKERS_SHOWN:]:
        row = asdict(worker)
        for name in ("id", "serial", "place"):
            del row[name]
        mean = worker.seconds / worker.answered if worker.answered else None
        row["mean_seconds"] = None if mean is None else round(mean, 3)
        row["gold_accuracy"] = worker.gold_right / worker.gold if worker.gold else None
        row["created"] = format_time(worker.created)
        row["last"] = format_time(worker.last)
        rows.append(row)
    return rows


def count_times(db: Connection) -> dict[str, Any]:
    """Time per answer: the mean, and how many answers took how long, in powers of two of a second.

    The last class, 512, holds everything from 256 seconds up.
    """
    rows = db.rows(
        "SELECT CASE WHEN seconds < 1 THEN 1 WHEN seconds < 2 THEN 2 WHEN seconds < 4 THEN 4 WHEN seconds < 8 THEN 8"
        " WHEN seconds < 16 THEN 16 WHEN seconds < 32 THEN 32 WHEN seconds < 64 THEN 64 WHEN seconds < 128 THEN 128"
        " WHEN seconds < 256 THEN 256 ELSE 512 END AS under, count(*), sum(seconds) FROM answers"
        " WHERE kind = 'main' AND surplus = 0 AND seconds IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    count = sum(int(answers) for _, answers, _ in rows)
    total = sum(float(seconds) for _, _, seconds in rows)
    return {
        "mean": round(total / count, 3) if count else None,
        "hours": round(total / 3600, 3),
        "under": {str(under): int(answers) for under, answers, _ in rows},
    }


def _report_rows(db: Connection) -> list[dict[str, Any]]:
    """The first reports of workers, oldest first, each with whether its item is set aside now."""
    rows = db.rows(
        "SELECT r.seq, i.ref, w.name, r.code, r.comment, r.at, i.held FROM reports r JOIN items i ON i.id = r.item"
        " JOIN workers w ON w.id = r.worker ORDER BY r.seq LIMIT ?",
        ROWS_PER_PAGE,
    )
    return [
        {
            "seq": seq,
            "ref": ref,
            "worker": worker,
            "code": code,
            "comment": comment,
            "at": format_time(at),
            "set_aside": bool(is_set_aside),
        }
        for seq, ref, worker, code, comment, at, is_set_aside in rows
    ]


_ITEM_COLUMNS = "ref, asked, done, leased, reports, held, open"
_ITEM_STATES = {
    "": "1 = 1",
    "open": "open = 1",
    "complete": "done >= asked",
    "set-aside": "held = 1",
    "reported": "reports > 0",
}


def item_rows(db: Connection, state: str = "", after: str = "") -> list[dict[str, Any]]:
    """A page of items in the order of their references: those of a state which come after a reference.

    An unknown state is refused with status 400.
    """
    if state not in _ITEM_STATES:
        raise Refused("bad_request", 400)
    rows = db.rows(
        f"SELECT {_ITEM_COLUMNS} FROM items WHERE kind = 'main' AND ref > ? AND {_ITEM_STATES[state]}"  # noqa: S608
        " ORDER BY ref LIMIT ?",
        after,
        ROWS_PER_PAGE,
    )
    return [_item_row(*row) for row in rows]


def item_row(db: Connection, item: int) -> dict[str, Any]:
    """Counts and state of one item, given as its id."""
    return _item_row(*db.required(f"SELECT {_ITEM_COLUMNS} FROM items WHERE id = ?", item))  # noqa: S608


def _item_row(
    ref: str, asked: int, done: int, leased: int, reports: int, is_set_aside: int, is_open: int
) -> dict[str, Any]:
    if is_set_aside:
        state = "set-aside"
    elif done >= asked:
        state = "complete"
    else:
        state = "open" if is_open else "in-hand"
    return {
        "ref": ref,
        "asked": asked,
        "done": done,
        "leased": leased,
        "reports": reports,
        "state": state,
    }


def audit_rows(db: Connection, after: int = 0, *, latest: bool = False) -> list[dict[str, Any]]:
    """A page of the audit log, the oldest first; `latest`: the last page, the latest first."""
    return [
        {"seq": seq, "at": format_time(at), "who": who, "what": what, "detail": detail}
        for seq, at, who, what, detail in audit.audit_rows(db, after, ROWS_PER_PAGE, latest=latest)
    ]


class CountedAnswer(NamedTuple):
    """An answer that counts, with the texts it was given to."""

    ref: str
    """The reference of the item."""
    worker: str
    inputs: dict[str, Any]
    """The inputs of the item, as its example has them."""
    answer: dict[str, Any]
    """By question."""
    writer: str
    """Who wrote the text that was judged; empty if unknown."""


def latest_answers(db: Connection, limit: int) -> Iterator[CountedAnswer]:
    """The last answers to the main items that count, the latest first."""
    for ref, worker, text, body in db.stream(
        f"SELECT i.ref, w.name, t.body, a.body FROM {ANSWERS} JOIN items i ON i.id = a.item"  # noqa: S608
        " JOIN texts t ON t.item = i.id"
        f" WHERE a.kind = 'main' AND {IS_COUNTED} ORDER BY a.seq DESC LIMIT ?",
        limit,
    ):
        example = decode_example(text)
        writer = str(example.meta.get(WRITER, ""))
        yield CountedAnswer(ref, worker, example.inputs, msgspec.json.decode(body), writer)


def reported_items(db: Connection, limit: int) -> list[tuple[str, int, bool]]:
    """Items that workers reported: reference, reports, whether set aside; most reports first."""
    rows = db.rows(
        "SELECT ref, reports, held FROM items WHERE kind = 'main' AND reports > 0"
        " ORDER BY reports DESC, ref LIMIT ?",
        limit,
    )
    return [(str(ref), int(reports), bool(is_set_aside)) for ref, reports, is_set_aside in rows]
