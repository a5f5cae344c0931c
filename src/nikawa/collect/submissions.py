"""Requests of workers: answers, drafts, withdrawals, reports; and the state of their page afterwards.

Each request is one plain function of a connection. A handler calls `site.write(save_answer, project, token_hash, …)`, which
hands the function to the store's writer (`store.submit`) and waits; the writer runs it in a transaction. Answers,
withdrawals and reports are only added; leases, item counts and drafts are working state. A key that comes twice is one
answer. An answer to a lease that ran out counts where its item still needs one, and is kept as surplus (paid, exported
on request) if another worker took the place: no work is lost, and no item gets too many answers.

A request reads its state in one query, keeps what it writes in `DeferredWrites`, and sends that in `_finish_request`.

`token_hash` is always the hash of the worker's link, `now` the moment of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nikawa.collect.assignment import (
    ASSIGNMENT_STATE_COLUMNS,
    Assignment,
    AssignmentState,
    add_lease,
    assign_item,
    has_reached_limit,
    lease_end,
    may_come_free,
)
from nikawa.collect.project import Project
from nikawa.collect.settings import Settings
from nikawa.collect.workers import (
    REPORT_COUNTED,
    WORKER_COLUMNS,
    Worker,
    apply_rules,
    count_items,
    save_worker,
)
from nikawa.serve.database import Connection, DeferredWrites, Row
from nikawa.serve.errors import Refused

_WORKER_COLUMNS = ", ".join(f"w.{name.strip()}" for name in WORKER_COLUMNS.split(","))
_ASSIGNMENT_COLUMNS = len(AssignmentState._fields)
"""How many columns the query of a request has for the assignment, at its end."""


@dataclass(frozen=True)
class Submission:
    """An answer as it came in, already found to be within the form's rules."""

    lease: str
    key: str
    body: str
    comment: str = ""
    seconds: float | None = None
    correct: bool | None = None
    """Whether it matches the gold of a control or pilot item."""


@dataclass(frozen=True)
class Report:
    """Why a worker reports an item."""

    lease: str
    key: str
    code: str
    comment: str = ""


@dataclass(frozen=True)
class SaveResult:
    """The result of a submission."""

    duplicate: bool = False
    surplus: bool = False


@dataclass(frozen=True)
class PageState:
    """The state that a worker's page is drawn from after a request."""

    worker: Worker
    assigned: Assignment | None
    waiting: bool
    """Nothing is free now, but an item that others hold may come free."""
    can_undo: bool
    pilot_items: int
    """How many items the pilot has; 0 after it."""


@dataclass(frozen=True)
class Lease:
    """A lease as a request finds it."""

    id: str
    item: int
    state: str
    """`open`, `expired`, `lost` (to another worker), `answered`, `reported`, or `counted` for a report that is an answer."""
    issued: float
    kind: str
    has_room: bool
    """Whether its item still needs an answer."""
    has_draft: bool


@dataclass(frozen=True)
class RequestState:
    """The state a request finds: the worker, the lease it is about, and what decides which item comes next.

    One query reads all of it.
    """

    worker: Worker
    lease: Lease | None
    """The lease the request is about, where it is one of the worker's."""
    earlier: tuple[str, bool] | None
    """Lease of the answer that came with the same key before, and whether it was surplus."""
    assignment: AssignmentState


def read_request_state(
    db: Connection, token_hash: str, now: float, *, lease: str = "", key: str | None = None
) -> RequestState:
    """What is known of the worker of a link, one of their leases, and the key of an answer."""
    row = db.one(
        f"SELECT {_WORKER_COLUMNS}, l.id, l.item, l.state, l.issued, i.kind, i.open, d.lease, a.lease, a.surplus,"  # noqa: S608
        f" {ASSIGNMENT_STATE_COLUMNS}"
        " FROM workers w LEFT JOIN answers a ON a.worker = w.id AND a.key = ?"
        " LEFT JOIN leases l ON l.id = ? AND l.worker = w.id LEFT JOIN items i ON i.id = l.item"
        " LEFT JOIN drafts d ON d.lease = l.id WHERE w.link = ?",
        lease,  # ASSIGNMENT_STATE_COLUMNS: leases other than this one
        now,  # ASSIGNMENT_STATE_COLUMNS: leases overdue by now
        key,  # a.key
        lease,  # l.id
        token_hash,  # w.link
    )
    if row is None:
        raise Refused("link_unknown", 404)
    own, assignment = row[:-_ASSIGNMENT_COLUMNS], row[-_ASSIGNMENT_COLUMNS:]
    *worker, lease_id, item, state, issued, kind, is_open, draft, answered, surplus = own
    own_lease = None
    if lease_id is not None:
        own_lease = Lease(lease_id, item, state, issued, kind, bool(is_open), draft is not None)
    earlier = None if answered is None else (answered, bool(surplus))
    return RequestState(Worker(*worker), own_lease, earlier, AssignmentState(*assignment))


def next_item(db: Connection, project: Project, token_hash: str, now: float) -> PageState:
    """The item in hand, or a fresh one."""
    return _finish_request(db, project, read_request_state(db, token_hash, now), now)


def save_answer(
    db: Connection, project: Project, token_hash: str, submission: Submission, now: float
) -> tuple[SaveResult, PageState]:
    """Add an answer, unless its key is known; the next item comes along.

    What is written is kept in `writes` and sent by `_finish_request`; a rule that excludes the worker sends it before.
    """
    settings = project.settings
    request = read_request_state(db, token_hash, now, lease=submission.lease, key=submission.key)
    if request.earlier is not None:
        lease_id, was_surplus = request.earlier
        if lease_id != submission.lease:
            raise Refused("key_used")
        return SaveResult(duplicate=True, surplus=was_surplus), _finish_request(
            db, project, request, now
        )
    worker, lease = request.worker, _require_unused(request.lease)
    writes = DeferredWrites(db)
    is_open = lease.state == "open"
    is_needed = is_open or lease.kind != "main" or lease.has_room
    is_surplus = not worker.may_work or not is_needed
    writes.add("UPDATE leases SET state = 'answered' WHERE id = ?", lease.id)
    if is_open or not is_surplus:
        writes.add(
            "UPDATE items SET leased = leased - ?, done = done + ? WHERE id = ?",
            int(is_open),
            int(not is_surplus),
            lease.item,
        )
    if lease.has_draft:
        writes.add("DELETE FROM drafts WHERE lease = ?", lease.id)
    _add_answer(writes, worker, lease, submission, settings, now, is_surplus=is_surplus)
    if not is_surplus:
        apply_rules(db, writes, worker, settings, now)
    can_undo = not is_surplus and _is_of_stage(worker, lease.kind) and not project.is_together
    state = _finish_request(
        db, project, request, now, writes=writes, worker_has_changed=True, can_undo=can_undo
    )
    return SaveResult(surplus=is_surplus), state


def save_for_partner(
    db: Connection, project: Project, token_hash: str, submission: Submission, now: float
) -> None:
    """Add the answer that the partner of a worker gave for both; nothing is handed out.

    The lease may have run out, but no one else may have its place.
    """
    request = read_request_state(db, token_hash, now, lease=submission.lease)
    worker, lease = request.worker, _require_unused(request.lease)
    writes = DeferredWrites(db)
    writes.add("UPDATE leases SET state = 'answered' WHERE id = ?", lease.id)
    is_open = int(lease.state == "open")
    writes.add(
        "UPDATE items SET leased = leased - ?, done = done + 1 WHERE id = ?", is_open, lease.item
    )
    if lease.has_draft:
        writes.add("DELETE FROM drafts WHERE lease = ?", lease.id)
    _add_answer(writes, worker, lease, submission, project.settings, now, is_surplus=False)
    apply_rules(db, writes, worker, project.settings, now)
    save_worker(writes, worker, now)
    writes.send()


def _add_answer(
    writes: DeferredWrites,
    worker: Worker,
    lease: Lease,
    submission: Submission,
    settings: Settings,
    now: float,
    *,
    is_surplus: bool,
) -> None:
    """Add the row of an answer, and count it for the worker."""
    elapsed = max(0.0, now - lease.issued)
    seconds = elapsed if submission.seconds is None else min(submission.seconds, elapsed)
    is_quick = lease.kind != "pilot" and seconds < settings.speed.min_seconds
    is_unpaid = lease.kind == "pilot" or worker.state == "excluded"
    pay = 0.0 if is_unpaid else settings.pay.per_item
    correct = None if submission.correct is None else int(submission.correct)
    writes.add(
        "INSERT INTO answers (item, worker, lease, key, kind, body, comment, seconds, elapsed, at, surplus,"
        " correct, quick, pay) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        lease.item,
        worker.id,
        lease.id,
        submission.key,
        lease.kind,
        submission.body,
        submission.comment,
        seconds,
        elapsed,
        now,
        int(is_surplus),
        correct,
        int(is_quick),
        pay,
    )
    worker.earned += pay
    if not is_surplus:
        _count_answer(worker, lease.kind, 1, correct or 0, int(is_quick), seconds)


def _count_answer(
    worker: Worker, kind: str, sign: int, correct: int, quick: int, seconds: float
) -> None:
    """Count an answer for a worker (`sign` 1), or take it out of the count (-1)."""
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


def undo_answer(
    db: Connection, project: Project, token_hash: str, key: str, now: float
) -> PageState:
    """Withdraw the last answer and hand its item out again; the place at the item is kept."""
    settings, request = project.settings, read_request_state(db, token_hash, now)
    worker = request.worker
    if db.one("SELECT 1 FROM withdrawals WHERE worker = ? AND key = ?", worker.id, key):
        return _finish_request(db, project, request, now)
    row = None if project.is_together else _last_answer(db, worker)  # it is the partner's too
    if row is None:
        raise Refused("nothing_to_undo")
    answer, item, kind, correct, quick, seconds, pay, _ = row
    db.execute(
        "INSERT INTO withdrawals (answer, worker, key, at) VALUES (?, ?, ?, ?)",
        answer,
        worker.id,
        key,
        now,
    )
    db.execute("UPDATE items SET done = done - 1 WHERE id = ?", item)
    writes = DeferredWrites(db)
    add_lease(writes, worker, item, settings, now, redo=answer)
    worker.earned -= pay
    _count_answer(worker, kind, -1, correct or 0, quick, seconds)
    request = replace(request, assignment=request.assignment._replace(has_leases=True))
    return _finish_request(db, project, request, now, writes=writes, worker_has_changed=True)


def save_draft(
    db: Connection, project: Project, token_hash: str, lease_id: str, body: str, now: float
) -> bool:
    """Keep half-written work and prolong the lease; whether the item is still the worker's."""
    lease = _require_unused(read_request_state(db, token_hash, now, lease=lease_id).lease)
    writes = DeferredWrites(db)
    writes.add(
        "INSERT INTO drafts (lease, body, at) VALUES (?, ?, ?)"
        " ON CONFLICT (lease) DO UPDATE SET body = excluded.body, at = excluded.at",
        lease.id,
        body,
        now,
    )
    is_open = lease.state == "open"
    if is_open:
        expires = lease_end(project.settings, now)
        writes.add("UPDATE leases SET expires = ? WHERE id = ?", expires, lease.id)
        if project.is_together:
            writes.add("UPDATE seats SET seen = ?, active = ? WHERE lease = ?", now, now, lease.id)
    writes.send()
    return is_open


def report_item(
    db: Connection, project: Project, token_hash: str, report: Report, now: float
) -> tuple[SaveResult, PageState]:
    """Report an item with a reason; after enough reports it is set aside for the owner.

    Where reports are counted, it takes the worker's place at the item, as an answer would.
    """
    settings = project.settings
    request = read_request_state(db, token_hash, now, lease=report.lease)
    worker = request.worker
    earlier = db.one(
        "SELECT lease FROM reports WHERE worker = ? AND key = ?", worker.id, report.key
    )
    if earlier is not None:
        if earlier[0] != report.lease:
            raise Refused("key_used")
        return SaveResult(duplicate=True), _finish_request(db, project, request, now)
    lease = _require_unused(request.lease)
    writes = DeferredWrites(db)
    is_needed = lease.state == "open" or lease.has_room
    is_counted = settings.reports.counted and lease.kind == "main" and worker.may_work and is_needed
    state = REPORT_COUNTED if is_counted else "reported"
    writes.add("UPDATE leases SET state = ? WHERE id = ?", state, lease.id)
    writes.add(
        "INSERT INTO reports (item, worker, lease, key, code, comment, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        lease.item,
        worker.id,
        lease.id,
        report.key,
        report.code,
        report.comment,
        now,
    )
    writes.add(
        "UPDATE items SET leased = leased - ?, done = done + ?, reports = reports + 1,"
        " held = CASE WHEN kind = 'main' AND ? = 1 AND reports + 1 >= ? THEN 1 ELSE held END WHERE id = ?",
        int(lease.state == "open"),
        int(is_counted),
        # who is excluded sets nothing aside for the others, nor does a report that is an answer
        int(worker.may_work and not settings.reports.counted),
        settings.limits.reports_per_item,
        lease.item,
    )
    is_pilot = lease.kind == "pilot"
    if is_pilot:
        worker.pilot += 1
        apply_rules(db, writes, worker, settings, now)
    return SaveResult(), _finish_request(
        db, project, request, now, writes=writes, worker_has_changed=is_pilot
    )


def _finish_request(
    db: Connection,
    project: Project,
    request: RequestState,
    now: float,
    *,
    writes: DeferredWrites | None = None,
    worker_has_changed: bool = False,
    can_undo: bool | None = None,
) -> PageState:
    """Hand the worker an item, save the worker, send all that is to be written, and return the state of their page.

    `request.worker` is changed on the way and saved here, once: `_add_answer` and `_count_answer` change the counts,
    `apply_rules` the state, `assign_item` the place and the serial. `worker_has_changed` says that the caller did;
    a fresh item saves the worker in any case.
    """
    worker, writes = request.worker, writes or DeferredWrites(db)
    serial = worker.serial
    assigned = assign_item(db, writes, worker, request.assignment, project, now)
    if worker_has_changed or worker.serial != serial:
        save_worker(writes, worker, now)
    writes.send()
    is_idle = assigned is None and worker.state == "active"
    has_more = is_idle and not has_reached_limit(worker, project.settings)
    waiting = has_more and may_come_free(db, worker)
    if can_undo is None:
        can_undo = not project.is_together and _last_answer(db, worker) is not None
    pilot_items = count_items(db, "pilot") if worker.state == "pilot" else 0
    return PageState(worker, assigned, waiting, can_undo, pilot_items)


def _require_unused(lease: Lease | None) -> Lease:
    """A lease must be the worker's own, and not be answered or reported."""
    if lease is None:
        raise Refused("lease_unknown", 404)
    if lease.state in ("answered", "reported", REPORT_COUNTED):
        raise Refused("already_answered")
    return lease


def _last_answer(db: Connection, worker: Worker) -> Row | None:
    """The answer an undo would take back: the last, given in the stage the worker is in.

    What was brought in from elsewhere took no time here, and is not taken back here.
    """
    if not worker.may_work:
        return None
    row = db.one(
        "SELECT a.seq, a.item, a.kind, a.correct, a.quick, a.seconds, a.pay, a.surplus FROM answers a"
        " LEFT JOIN withdrawals w ON w.answer = a.seq WHERE a.worker = ? AND w.answer IS NULL"
        " AND a.elapsed IS NOT NULL ORDER BY a.seq DESC LIMIT 1",
        worker.id,
    )
    if row is None or row[7] or not _is_of_stage(worker, row[2]):
        return None
    return row


def _is_of_stage(worker: Worker, kind: str) -> bool:
    """Whether an item of a kind belongs to the stage the worker is in."""
    return worker.may_work and (kind == "pilot") == (worker.state == "pilot")


def leased_text(db: Connection, token_hash: str, lease: str) -> tuple[Worker, str, str | None]:
    """The worker of a link, and text and gold of one of their leases, whatever became of it."""
    row = db.one(
        f"SELECT {_WORKER_COLUMNS}, t.body, t.gold FROM workers w"  # noqa: S608
        " LEFT JOIN leases l ON l.id = ? AND l.worker = w.id LEFT JOIN texts t ON t.item = l.item"
        " WHERE w.link = ?",
        lease,
        token_hash,
    )
    if row is None:
        raise Refused("link_unknown", 404)
    *worker, body, gold = row
    if body is None:
        raise Refused("lease_unknown", 404)
    return Worker(*worker), body, gold
