"""Workers: their links, what is known of them, and the rules that let them in, exclude them and take them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from nikawa.collect.project import Project
from nikawa.collect.settings import Settings
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection, DeferredWrites
from nikawa.serve.errors import Refused
from nikawa.serve.login import hash_token
from nikawa.serve.names import clean_name, find_name_fault, fold_name
from nikawa.serve.store import get_value, set_value

WORKER_COLUMNS = (
    "id, name, origin, state, reason, language, serial, place, answered, pilot, pilot_right, gold, gold_right,"
    " quick, seconds, earned, created, last"
)
COUNTS = ("answered", "gold", "gold_right", "quick")
"""The counts of a worker that may exclude them."""
_NOT_STORED = re.compile("[\0\ud800-\udfff]")
AUTHOR = "writer"
"""The origin of a writer of items who may never join to judge."""
REPORT_COUNTED = "counted"
"""The state of a lease whose item was reported where a report is an answer (`settings.Reports.counted`)."""
ANSWERED_ITEMS = (
    "SELECT a.item FROM answers a LEFT JOIN withdrawals w ON w.answer = a.seq"  # noqa: S608  (our own words)
    " WHERE a.worker = ? AND a.kind = 'main' AND a.surplus = 0 AND w.answer IS NULL"
    f" UNION SELECT l.item FROM leases l WHERE l.worker = ? AND l.state = '{REPORT_COUNTED}'"
)
"""The items for which a worker has a valid answer or a report that counts as one; the worker is a parameter twice."""


@dataclass
class Worker:
    """A row of the table."""

    id: int
    name: str
    origin: str
    """`link` (made by the owner), `join` (sent by a platform), `import`, or `AUTHOR`."""
    state: str
    """`pilot`, `active`, `failed` (the pilot) or `excluded`."""
    reason: str
    """Why the worker is excluded; empty where they are not."""
    language: str
    serial: int
    """How many items were handed out; draws of chance are keyed by it."""
    place: int
    """How far the worker's own order has been walked."""
    answered: int
    """Main and control items answered, without withdrawn and surplus answers."""
    pilot: int
    """Pilot items answered or reported."""
    pilot_right: int
    """Pilot items answered right."""
    gold: int
    """Control items answered. Columns and JSON call control items `gold`."""
    gold_right: int
    """Control items answered right."""
    quick: int
    """Answers under the least time of the settings."""
    seconds: float
    """Time of all counted answers together."""
    earned: float
    """Pay so far, surplus answers included."""
    created: float
    last: float
    """When the last request came that changed anything."""

    @property
    def may_work(self) -> bool:
        """Whether answers of this worker count."""
        return self.state in ("pilot", "active")

    @property
    def counts(self) -> dict[str, int]:
        """The counts that the exclusion rules use."""
        return {name: getattr(self, name) for name in COUNTS}


def find_worker(db: Connection, token_hash: str) -> Worker:
    """The worker of a link, given as its hash.

    Raises `Refused` with status 404 if the link is unknown.
    """
    row = db.one(f"SELECT {WORKER_COLUMNS} FROM workers WHERE link = ?", token_hash)  # noqa: S608  (our own columns)
    if row is None:
        raise Refused("link_unknown", 404)
    return Worker(*row)


def find_worker_by_name(db: Connection, name: str) -> Worker | None:
    """The worker with a name; None if there is no such worker."""
    row = db.one(f"SELECT {WORKER_COLUMNS} FROM workers WHERE name = ?", name)  # noqa: S608  (our own columns)
    return None if row is None else Worker(*row)


def all_workers(db: Connection) -> list[Worker]:
    """Everybody, in the order they came."""
    return [Worker(*row) for row in db.rows(f"SELECT {WORKER_COLUMNS} FROM workers ORDER BY id")]  # noqa: S608


def save_worker(writes: DeferredWrites, worker: Worker, now: float) -> None:
    """Write what requests change of a worker."""
    writes.add(
        "UPDATE workers SET state = ?, serial = ?, place = ?, answered = ?, pilot = ?, pilot_right = ?, gold = ?,"
        " gold_right = ?, quick = ?, seconds = ?, earned = ?, last = ? WHERE id = ?",
        worker.state,
        worker.serial,
        worker.place,
        worker.answered,
        worker.pilot,
        worker.pilot_right,
        worker.gold,
        worker.gold_right,
        worker.quick,
        worker.seconds,
        worker.earned,
        now,
        worker.id,
    )


def set_language(db: Connection, token_hash: str, language: str) -> None:
    """Another language for the pages of the worker of a link, given as its hash."""
    worker = find_worker(db, token_hash)
    db.execute("UPDATE workers SET language = ? WHERE id = ?", language, worker.id)


def add_worker(
    db: Connection, name: str, token_hash: str, origin: str, *, language: str, now: float
) -> Worker:
    """The worker with a name, created if new; `token_hash` is the hash of their link.

    Where the project has a pilot, a new worker starts with it.
    """
    worker = find_worker_by_name(db, name)
    if worker is not None:
        if worker.origin == AUTHOR and origin == "link":
            db.execute("UPDATE workers SET origin = ? WHERE id = ?", origin, worker.id)
            worker.origin = origin
        return worker
    has_pilot = db.one("SELECT 1 FROM items WHERE kind = 'pilot' LIMIT 1") is not None
    db.execute(
        "INSERT INTO workers (name, link, origin, state, language, created, last) VALUES (?, ?, ?, ?, ?, ?, ?)",
        name,
        token_hash,
        origin,
        "pilot" if has_pilot and origin != "import" else "active",
        language,
        now,
        now,
    )
    added = find_worker_by_name(db, name)
    assert added is not None
    return added


def read_names(db: Connection) -> list[str]:
    """The names of all who have come or have a link, in the order they came."""
    rows = db.rows("SELECT name FROM workers WHERE origin <> ? OR serial > 0 ORDER BY id", AUTHOR)
    return [str(name) for (name,) in rows]


def read_spellings(db: Connection) -> dict[str, str]:
    """The names of all workers by what their spellings share (`names.fold_name`); of several, the first."""
    spellings: dict[str, str] = {}
    for (name,) in db.rows("SELECT name FROM workers ORDER BY id"):
        spellings.setdefault(fold_name(name), name)
    return spellings


def find_worker_by_spelling(
    db: Connection, name: str, spellings: Mapping[str, str] | None = None
) -> Worker | None:
    """The worker with a name in any spelling; None if there is no such worker.

    Workers who came before spellings were compared may share a name but for its spelling: each is found by their own.
    `spellings` is what `read_spellings` gave, for who asks about many names.
    """
    worker = find_worker_by_name(db, name) or find_worker_by_name(db, clean_name(name))
    if worker is not None:
        return worker
    known = read_spellings(db) if spellings is None else spellings
    other = known.get(fold_name(name))
    return None if other is None else find_worker_by_name(db, other)


def find_faulty_name(db: Connection, names: Iterable[str]) -> tuple[str, str] | None:
    """The first of these names that is not allowed, and why; existing workers keep theirs."""
    for name in names:
        fault = find_name_fault(name)
        # NUL and halves of characters are in no database, which refuses to be asked for them
        if fault and (_NOT_STORED.search(name) or find_worker_by_name(db, name) is None):
            return name, fault
    return None


def admit_worker(
    db: Connection,
    project: Project,
    name: str,
    origin: str,
    spellings: dict[str, str],
    *,
    language: str,
    now: float,
) -> Worker:
    """The worker with a name in any spelling, created if new; they do not get the texts they wrote.

    The worker's own name may differ from the one given: links are made from the worker's. `spellings` is what
    `read_spellings` gave; a new worker is added to it.
    """
    known = find_worker_by_spelling(db, name, spellings)
    stored = clean_name(name) if known is None else known.name
    token_hash = hash_token(project.token(stored))
    worker = add_worker(db, stored, token_hash, origin, language=language, now=now)
    spellings.setdefault(fold_name(stored), stored)
    bar_own_texts(db, project, worker)
    return worker


def bar_own_texts(db: Connection, project: Project, worker: Worker) -> None:
    """Do not give a worker the items that a pseudonym of theirs has seen: it is the same person.

    That is what they wrote, where the file of writers has pseudonyms, and what they answered, where answers came in by
    pseudonyms.
    """
    for pseudonym in project.pseudonyms(worker.name):
        other = find_worker_by_name(db, pseudonym)
        if other is not None:
            db.execute(
                "INSERT INTO seen (worker, item) SELECT ?, s.item FROM seen s WHERE s.worker = ?"
                " ON CONFLICT DO NOTHING",
                worker.id,
                other.id,
            )


def make_links(
    db: Connection, project: Project, names: Iterable[str], who: str, now: float
) -> list[tuple[str, str]]:
    """Create the workers with these names that do not exist; return name and token of each.

    `who` is the person of the audit log. A token is the last part of a link and opens it: it must not be stored.
    """
    language, spellings = project.settings.language, read_spellings(db)
    links = []
    for name in names:
        worker = admit_worker(db, project, name, "link", spellings, language=language, now=now)
        links.append((worker.name, project.token(worker.name)))
    add_audit(db, who, "make links", {"workers": len(links)}, now)
    return links


def join_worker(
    db: Connection, project: Project, name: str, *, language: str, now: float
) -> Worker:
    """The worker a platform sends, made where the name is new.

    Raises `Refused` if the name is not allowed, the settings allow no more workers, or the name has a link that the
    owner made.
    """
    if find_faulty_name(db, [name]) is not None:
        raise Refused("bad_request", 400)
    spellings = read_spellings(db) if find_worker_by_name(db, name) is None else {}
    worker = find_worker_by_spelling(db, name, spellings)
    if worker is not None:
        if (
            worker.origin == "link"
        ):  # a name that others may know must not give access to an existing link
            raise Refused("not_allowed", 403)
        return worker
    (count,) = db.required("SELECT count(*) FROM workers WHERE origin <> ? OR serial > 0", AUTHOR)
    if count >= project.settings.crowd.max_workers:
        raise Refused("worker_full", 403)
    return admit_worker(db, project, name, "join", spellings, language=language, now=now)


def exclude(db: Connection, worker: Worker, reason: str, who: str, now: float) -> None:
    """Take a worker's answers out of the count: they stay where they are, but their items are open again."""
    if worker.state == "excluded":
        return
    db.execute(
        f"UPDATE items SET done = done - 1 WHERE id IN ({ANSWERED_ITEMS})",  # noqa: S608
        worker.id,
        worker.id,
    )
    leases = db.rows("SELECT item, id FROM leases WHERE worker = ? AND state = 'open'", worker.id)
    for item, lease in leases:
        db.execute("UPDATE items SET leased = leased - 1 WHERE id = ?", item)
        db.execute("UPDATE leases SET state = 'expired' WHERE id = ?", lease)
    db.execute("UPDATE workers SET state = 'excluded', reason = ? WHERE id = ?", reason, worker.id)
    add_audit(db, who, "exclude", {"worker": worker.name, "reason": reason}, now)
    worker.state, worker.reason = "excluded", reason


def reinstate(db: Connection, worker: Worker, reason: str, who: str, now: float) -> None:
    """Count the worker's answers again, with those that others gave meanwhile; readmit a worker who failed the pilot.

    Earlier errors are forgiven: the exclusion rules use only later answers.
    """
    if worker.state not in ("excluded", "failed"):
        return
    if worker.state == "excluded":
        db.execute(
            f"UPDATE items SET done = done + 1 WHERE id IN ({ANSWERED_ITEMS})",  # noqa: S608
            worker.id,
            worker.id,
        )
    unfinished_pilot = db.one(
        "SELECT 1 FROM items i WHERE kind = 'pilot' AND NOT EXISTS (SELECT 1 FROM answers a"
        " LEFT JOIN withdrawals w ON w.answer = a.seq WHERE a.item = i.id AND a.worker = ?"
        " AND w.answer IS NULL) AND NOT EXISTS (SELECT 1 FROM reports r WHERE r.item = i.id AND r.worker = ?) LIMIT 1",
        worker.id,
        worker.id,
    )
    worker.state = "pilot" if unfinished_pilot and worker.origin != "import" else "active"
    db.execute("UPDATE workers SET state = ?, reason = '' WHERE id = ?", worker.state, worker.id)
    set_value(db, _forgiven_key(worker), msgspec.json.encode(worker.counts).decode())
    add_audit(db, who, "reinstate", {"worker": worker.name, "reason": reason}, now)


def _forgiven_key(worker: Worker) -> str:
    """Where the counts are kept that a worker had when the owner took them back."""
    return f"taken back {worker.id}"


def apply_rules(
    db: Connection, writes: DeferredWrites, worker: Worker, settings: Settings, now: float
) -> None:
    """The pilot's verdict, or an exclusion where a rule says so; the caller saves the worker."""
    if worker.state == "pilot":
        size = count_items(db, "pilot")
        if worker.pilot >= size:
            passed = worker.pilot_right >= settings.pilot.pass_mark * size - 1e-9
            worker.state = "active" if passed else "failed"
            detail = {"worker": worker.name, "right": worker.pilot_right, "of": size}
            add_audit(db, "server", "pilot passed" if passed else "pilot failed", detail, now)
        return
    reason = _reason_to_exclude(settings, worker.counts)
    if not reason:
        return
    kept = get_value(db, _forgiven_key(worker))
    if kept is not None:  # what the owner knew of when they took the worker back counts no more
        forgiven = msgspec.json.decode(kept, type=dict[str, int])
        counts = {name: count - forgiven.get(name, 0) for name, count in worker.counts.items()}
        reason = _reason_to_exclude(settings, counts, " since they were taken back")
    if reason:
        writes.send()  # the current answer is removed from the count too
        exclude(db, worker, reason, "server", now)


def _reason_to_exclude(settings: Settings, counts: dict[str, int], suffix: str = "") -> str:
    """Why a worker with these counts is excluded: wrong control items, or answers that are too fast; else empty.

    `counts` has the names of `COUNTS`; `suffix` ends the sentence.
    """
    control, speed = settings.gold, settings.speed
    control_answered, control_right = counts["gold"], counts["gold_right"]
    is_tested = control_answered >= control.after
    if is_tested and control_right < control.pass_mark * control_answered - 1e-9:
        return f"{control_right} of {control_answered} control items right{suffix}"
    is_timed = counts["answered"] >= speed.after
    if is_timed and counts["quick"] > speed.share * counts["answered"]:
        return f"{counts['quick']} of {counts['answered']} answers under {speed.min_seconds:g} s{suffix}"
    return ""


def count_items(db: Connection, kind: str) -> int:
    """How many items of a kind there are; their positions are 0, 1, 2, …"""
    (count,) = db.required("SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = ?", kind)
    return int(count)
