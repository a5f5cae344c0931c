"""What the owner's dashboard shows: the queue, submissions with their flags, accounts, the leak budget, settings, the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from nikawa.board.account_views import FilePart, list_parts
from nikawa.board.accounts import SESSION_PREFIX, list_invitations
from nikawa.board.folder import Board
from nikawa.board.records import Account, Flag, Submission
from nikawa.board.settings import BoardSettings
from nikawa.board.store import (
    list_accounts,
    list_flags,
    list_submissions,
    list_systems,
    list_waiting,
    resolve_flag,
)
from nikawa.serve.audit import add_audit, audit_rows
from nikawa.serve.database import Connection
from nikawa.serve.names import find_look_alikes

DAY = 86_400.0
MAX_SUBMISSIONS, MAX_FLAGS, MAX_AUDIT = 50, 100, 200
"""Rows of one page."""


class SubmissionRow(NamedTuple):
    """A submission, with the names of its system and account."""

    seq: int
    id: str
    received: float
    system: str
    system_id: str
    is_public: bool
    account: str | None
    """None: the owner's own."""
    parts: list[FilePart]
    state: str
    problem: str
    flags: list[str]
    """Their kinds, each once."""


class FlagRow(NamedTuple):
    """The flags of one kind that a submission has and that the owner has not dealt with: one a file, at most."""

    kind: str
    detail: Mapping[str, Any]
    at: float
    submission: str
    system: str
    account: str


class AccountRow(NamedTuple):
    """An account, with what the owner needs to decide about it."""

    id: str
    name: str
    email: str
    note: str
    state: str
    created: float
    submissions: int
    look_alikes: str
    """Other accounts whose names look the same."""


class InvitationRow(NamedTuple):
    """An invitation."""

    note: str
    created: float
    expires: float | None
    used_by: str | None
    is_expired: bool


class AuditRow(NamedTuple):
    """A row of the audit log."""

    seq: int
    at: float
    who: str
    what: str
    detail: list[tuple[str, str]]


class Dashboard(NamedTuple):
    """All of the dashboard that the database knows."""

    counts: dict[str, int]
    waiting: list[Submission]
    submissions: list[SubmissionRow]
    older: int | None
    """Where the next page starts; None at the end."""
    flags: list[FlagRow]
    approvals: list[AccountRow]
    accounts: list[AccountRow]
    invitations: list[InvitationRow]
    finals: tuple[int, int, int]
    """Choices that were made, accounts and tasks that could, and those scored."""


def read_dashboard(db: Connection, board: Board, before: int | None, now: float) -> Dashboard:
    """The dashboard at a moment; `before` is where a page of submissions starts."""
    systems = {one.id: one for one in list_systems(db)}
    people = list_accounts(db)
    names = {one.id: one.name for one in people}
    page = list_submissions(db, before=before, limit=MAX_SUBMISSIONS + 1)
    rows = []
    for one in page[:MAX_SUBMISSIONS]:
        system = systems[one.system]
        rows.append(
            SubmissionRow(
                seq=one.seq,
                id=one.id,
                received=one.received,
                system=system.name,
                system_id=system.id,
                is_public=system.state == "published",
                account=None if one.account is None else names.get(one.account, one.account),
                parts=list_parts(board, one),
                state=one.state,
                problem=one.problem,
                flags=list(dict.fromkeys(flag.kind for flag in one.flags if one.account)),
            )
        )
    accounts = list(_describe_accounts(db, people))
    count = db.required("SELECT COUNT(*) FROM submissions WHERE account IS NOT NULL")[0]
    last = db.required(
        "SELECT COUNT(*) FROM submissions WHERE account IS NOT NULL AND received > ?", now - DAY
    )[0]
    waiting = list_waiting(db)
    return Dashboard(
        counts={
            "systems": sum(one.state == "published" for one in systems.values()),
            "submissions": int(count),
            "last_day": int(last),
            "accounts": sum(one.state == "active" for one in people),
            "waiting": len(waiting),
        },
        waiting=waiting,
        submissions=rows,
        older=rows[-1].seq if len(page) > MAX_SUBMISSIONS else None,
        flags=list(_describe_flags(db, names)),
        approvals=[one for one in accounts if one.state == "waiting"],
        accounts=[one for one in accounts if one.state != "waiting"],
        invitations=[
            InvitationRow(note, created, expires, used_by, expires is not None and expires <= now)
            for note, created, expires, used_by in list_invitations(db)
        ],
        finals=_count_finals(db, board),
    )


def _describe_accounts(db: Connection, people: list[Account]) -> Iterator[AccountRow]:
    notes: dict[str, str] = dict(db.rows("SELECT id, note FROM accounts"))
    counts: dict[str, int] = dict(
        db.rows(
            "SELECT account, COUNT(*) FROM submissions WHERE account IS NOT NULL GROUP BY account"
        )
    )
    alike: dict[str, str] = {}
    for group in find_look_alikes(one.name for one in people):
        alike |= {name: ", ".join(x for x in group if x != name) for name in group}
    for one in people:
        yield AccountRow(
            id=one.id,
            name=one.name,
            email=one.email,
            note=str(notes.get(one.id, "")),
            state=one.state,
            created=one.created,
            submissions=int(counts.get(one.id, 0)),
            look_alikes=alike.get(one.name, ""),
        )


def _describe_flags(db: Connection, names: Mapping[str, str]) -> Iterator[FlagRow]:
    """Open flags, the latest first; of several of a kind that a submission has, the one that names the most others."""
    most: dict[tuple[str, str], Flag] = {}
    for _, submission, flag in list_flags(db):
        kept = most.setdefault((submission, flag.kind), flag)
        if flag.detail.get("count", 0) > kept.detail.get("count", 0):
            most[submission, flag.kind] = flag
    for (submission, kind), flag in list(most.items())[:MAX_FLAGS]:
        row = db.one(
            "SELECT y.name, s.account FROM submissions s JOIN systems y ON y.id = s.system WHERE s.id = ?",
            submission,
        )
        system, account = row or ("", None)
        if account is None:  # a baseline may well answer one label
            continue
        yield FlagRow(
            kind=kind,
            detail=flag.detail,
            at=flag.at,
            submission=submission,
            system=str(system),
            account=names.get(account, account),
        )


def resolve_flags(db: Connection, submission: str, kind: str, who: str, now: float) -> None:
    """Note that the owner dealt with the flags of one kind that a submission has."""
    for seq, flagged, flag in list_flags(db):
        if (flagged, flag.kind) == (submission, kind):
            resolve_flag(db, seq, who, now)
    add_audit(db, who, "resolve flag", {"submission": submission, "flag": kind}, now)


def _count_finals(db: Connection, board: Board) -> tuple[int, int, int]:
    tasks = {one.task for one in board.sets if one.role == "final"}
    pairs = db.rows(
        "SELECT DISTINCT s.account, f.task FROM submissions s JOIN files f ON f.submission = s.id"
        " WHERE s.account IS NOT NULL AND s.state <> 'failed'"
    )
    chosen = db.rows("SELECT account, task, scored_at FROM finals")
    return (
        sum(task in tasks for _, task, _ in chosen),
        sum(task in tasks for _, task in pairs),
        sum(at is not None for *_, at in chosen),
    )


def read_audit(db: Connection) -> list[AuditRow]:
    """The latest rows of the audit log, with the names of accounts."""
    names = {SESSION_PREFIX + one.id: one.name for one in list_accounts(db)}
    rows = []
    for seq, at, who, what, detail in audit_rows(db, 0, MAX_AUDIT, latest=True):
        parts: list[tuple[str, str]] = [
            (key, value if isinstance(value, str) else msgspec.json.encode(value).decode())
            for key, value in detail.items()
        ]
        rows.append(AuditRow(seq, at, names.get(who, str(who)), what, parts))
    return rows


def list_settings(settings: BoardSettings) -> Iterator[tuple[str, str]]:
    """The settings as board.toml names them, with their values."""

    def walk(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for name, inside in value.items():
                yield from walk(f"{prefix}.{name}" if prefix else name, inside)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for place, inside in enumerate(value):
                yield from walk(f"{prefix}[{place}]", inside)
        elif isinstance(value, list):
            yield prefix, ", ".join(map(str, value))
        elif isinstance(value, bool):
            yield prefix, "true" if value else "false"
        else:
            yield prefix, f"{value:g}" if isinstance(value, float) else str(value)

    yield from walk("", msgspec.to_builtins(settings))
