"""The store of a board: its tables, the same in SQLite and PostgreSQL, and typed functions that read and write them.

Two sorts of tables are kept apart. `true_scores` and `true_comparisons` are the owner's: only `reveal`, the queue and the owner's export
read them. `shown_scores`, `shown_comparisons` and `shown_ties` hold what may be shown, and pages, API and exports for
visitors read these alone; each row has the tick from which it may be seen (`visible_at`).

Columns whose names do not say what they hold:

    accounts.folded     what all spellings of the name share (`serve.names.fold_name`)
    tokens.hash         the hash of a client's token; the token itself is not kept
    submissions.seq     the order of arrival
    submissions.key     what a client sends with a submission: sent twice, it counts once
    submissions.attempts  how often the scorer ended on it; one on which it ends again and again fails
    files.answers       the digest of the answers, whatever the form of the file
    finals.submission   the submission that an account chose for the final split of a task
    disclosures.bits    an upper bound of what was learned about the labels
    uploads.submission  the submission that took the file; null: none yet, and after a day it is removed
    where_              a slice as `key=value` (`where` is a word of SQL)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from nikawa.board.folder import DATABASE, Board
from nikawa.board.records import (
    Account,
    Disclosure,
    Flag,
    LadderState,
    Link,
    Place,
    ShownComparison,
    ShownScore,
    Submission,
    SubmittedFile,
    System,
    TrueComparison,
    TrueScore,
)
from nikawa.serve.database import Connection, Database, Row, open_database
from nikawa.serve.store import META, ServerStore, require_tables

TABLES = (
    META
    + """;
CREATE TABLE accounts (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE, password TEXT NOT NULL, state TEXT NOT NULL,
  email TEXT NOT NULL, language TEXT NOT NULL, note TEXT NOT NULL DEFAULT '', invitation TEXT, created {real} NOT NULL);
CREATE TABLE tokens (
  id {serial}, account TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, label TEXT NOT NULL, created {real} NOT NULL,
  last_used {real}, revoked {real});
CREATE INDEX tokens_account ON tokens (account);
CREATE TABLE invitations (
  hash TEXT PRIMARY KEY, note TEXT NOT NULL, created {real} NOT NULL, expires {real}, used_by TEXT, used_at {real});
CREATE TABLE systems (
  id TEXT PRIMARY KEY, account TEXT, kind TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, links TEXT NOT NULL,
  licence TEXT NOT NULL, parameters TEXT NOT NULL, training_data TEXT NOT NULL, state TEXT NOT NULL,
  anonymous {int} NOT NULL, provenance TEXT NOT NULL, created {real} NOT NULL, published_at {real}, withdrawn_at {real});
CREATE INDEX systems_account ON systems (account);
CREATE INDEX systems_state ON systems (state);
CREATE TABLE submissions (
  seq {serial}, id TEXT NOT NULL UNIQUE, system TEXT NOT NULL, account TEXT, key TEXT NOT NULL, received {real} NOT NULL,
  state TEXT NOT NULL, attempts {int} NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '', scored_at {real},
  visible_at {real}, UNIQUE (account, key));
CREATE INDEX submissions_system ON submissions (system);
CREATE INDEX submissions_account ON submissions (account, received);
CREATE INDEX submissions_waiting ON submissions (seq) WHERE state IN ('received', 'scoring');
CREATE TABLE files (
  submission TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL, seed {int} NOT NULL, digest TEXT NOT NULL,
  answers TEXT NOT NULL, size {int} NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (submission, task, split, seed)) {norowid};
CREATE INDEX files_digest ON files (digest);
CREATE INDEX files_answers ON files (task, split, answers);
CREATE TABLE uploads (
  id TEXT PRIMARY KEY, account TEXT, body TEXT NOT NULL, size {int} NOT NULL, at {real} NOT NULL, submission TEXT);
CREATE INDEX uploads_account ON uploads (account, submission);
CREATE INDEX uploads_waiting ON uploads (at) WHERE submission IS NULL;
CREATE TABLE flags (
  seq {serial}, submission TEXT NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, at {real} NOT NULL,
  resolved_by TEXT, resolved_at {real});
CREATE INDEX flags_submission ON flags (submission);
CREATE TABLE true_scores (
  submission TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, mode TEXT NOT NULL,
  where_ TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (submission, task, split, metric, mode, where_)) {norowid};
CREATE TABLE true_comparisons (
  task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL,
  body TEXT NOT NULL, at {real} NOT NULL, PRIMARY KEY (task, split, metric, first, second)) {norowid};
CREATE TABLE shown_scores (
  submission TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, where_ TEXT NOT NULL,
  visible_at {real} NOT NULL, body TEXT NOT NULL, PRIMARY KEY (submission, task, split, metric, where_)) {norowid};
CREATE INDEX shown_scores_task ON shown_scores (task, split);
CREATE TABLE shown_comparisons (
  task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL,
  body TEXT NOT NULL, at {real} NOT NULL, PRIMARY KEY (task, split, metric, first, second)) {norowid};
CREATE TABLE shown_ties (
  task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, submission TEXT NOT NULL, letters TEXT NOT NULL,
  visible_at {real} NOT NULL, PRIMARY KEY (task, split, metric, submission)) {norowid};
CREATE TABLE ladders (
  account TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL, metric TEXT NOT NULL, where_ TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (account, task, split, metric, where_)) {norowid};
CREATE TABLE finals (
  account TEXT NOT NULL, task TEXT NOT NULL, submission TEXT NOT NULL, chosen_at {real} NOT NULL, scored_at {real},
  PRIMARY KEY (account, task)) {norowid};
CREATE TABLE disclosures (
  seq {serial}, at {real} NOT NULL, account TEXT, task TEXT NOT NULL, split TEXT NOT NULL, kind TEXT NOT NULL,
  bits {real} NOT NULL, detail TEXT NOT NULL);
CREATE INDEX disclosures_account ON disclosures (task, split, account)"""
)


class BoardStore(ServerStore):
    """What is known of a board beyond its files. Close it, or use it in a `with`."""

    tables = TABLES
    version = "1"


def open_store(address: str, board: Board) -> BoardStore:
    """The store of a board; `address` is empty for the file in its folder. Creates its tables where they are missing."""
    return BoardStore(_open_database(address, board))


def open_existing_store(address: str, board: Board) -> BoardStore:
    """The store of a board that was made before.

    Raises `BadInput` for a database without the tables of the board: it belongs to something else, and a server on it
    would remove the files of all submissions.
    """
    database = _open_database(address, board)
    require_tables(database, "board", "NIKAWA_BOARD_DATABASE")
    return BoardStore(database)


def _open_database(address: str, board: Board) -> Database:
    return open_database(address, file=board.folder / DATABASE, schema=board.schema)


def encode(value: Any) -> str:
    """A record as a column of JSON."""
    return msgspec.json.encode(value).decode()


# Systems

_SYSTEM = (
    "id, account, kind, name, description, links, licence, parameters, training_data, state, anonymous, provenance,"
    " created, published_at, withdrawn_at"
)


def _system(row: Row) -> System:
    fields = dict(zip(_SYSTEM.replace(" ", "").split(","), row, strict=True))
    fields["links"] = msgspec.json.decode(fields["links"], type=tuple[Link, ...])
    fields["provenance"] = msgspec.json.decode(fields["provenance"])
    fields["anonymous"] = bool(fields["anonymous"])
    return System(**fields)


def find_system(db: Connection, id: str) -> System | None:
    """The system of an id."""
    row = db.one(f"SELECT {_SYSTEM} FROM systems WHERE id = ?", id)  # noqa: S608
    return None if row is None else _system(row)


def list_systems(
    db: Connection, *, account: str | None = None, published: bool = False
) -> list[System]:
    """The systems of an account or of all, in the order they were made; `published`: only those."""
    sql, values = f"SELECT {_SYSTEM} FROM systems WHERE 1 = 1", list[Any]()  # noqa: S608
    if account is not None:
        sql, values = f"{sql} AND account = ?", [account]
    if published:
        sql += " AND state = 'published'"
    return [_system(row) for row in db.rows(f"{sql} ORDER BY created, id", *values)]


def save_system(db: Connection, system: System) -> None:
    """Add a system, or change all that can change of it."""
    values = [getattr(system, name) for name in _SYSTEM.replace(" ", "").split(",")]
    values[5], values[10], values[11] = (
        encode(system.links),
        int(system.anonymous),
        encode(system.provenance),
    )
    names = [name for name in _SYSTEM.replace(" ", "").split(",") if name != "id"]
    db.execute(
        f"INSERT INTO systems ({_SYSTEM}) VALUES ({', '.join('?' * 15)}) ON CONFLICT (id) DO UPDATE SET "  # noqa: S608
        + ", ".join(f"{name} = excluded.{name}" for name in names),
        *values,
    )


# Submissions

_SUBMISSION = "seq, id, system, account, received, state, problem, scored_at, visible_at"
_FILE = "task, split, seed, digest, answers, size, path, name"


def _submissions(db: Connection, rows: Sequence[Row]) -> list[Submission]:
    """Submissions with their files and open flags, in the order of the rows."""
    if not rows:
        return []
    ids = [row[1] for row in rows]
    marks = ", ".join("?" * len(ids))
    files: dict[str, list[SubmittedFile]] = {}
    for owner, *values in db.rows(
        f"SELECT submission, {_FILE} FROM files WHERE submission IN ({marks}) ORDER BY submission, task, split, seed",  # noqa: S608
        *ids,
    ):
        file = dict(zip(_FILE.split(", "), values, strict=True))
        files.setdefault(owner, []).append(SubmittedFile(**file))
    flags: dict[str, list[Flag]] = {}
    for owner, kind, detail, at in db.rows(
        f"SELECT submission, kind, detail, at FROM flags WHERE submission IN ({marks}) AND resolved_at IS NULL ORDER BY seq",  # noqa: S608
        *ids,
    ):
        flag = Flag(kind=kind, detail=msgspec.json.decode(detail), at=at)
        flags.setdefault(owner, []).append(flag)
    return [
        Submission(
            **dict(zip(_SUBMISSION.split(", "), row, strict=True)),
            files=tuple(files.get(row[1], ())),
            flags=tuple(flags.get(row[1], ())),
        )
        for row in rows
    ]


def find_submission(db: Connection, id: str) -> Submission | None:
    """The submission of an id."""
    rows = db.rows(f"SELECT {_SUBMISSION} FROM submissions WHERE id = ?", id)  # noqa: S608
    return next(iter(_submissions(db, rows)), None)


def list_submissions(
    db: Connection,
    *,
    system: str | None = None,
    account: str | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = 500,
) -> list[Submission]:
    """Submissions, the latest first; `before` is the `seq` of the last one of the page before."""
    sql, values = f"SELECT {_SUBMISSION} FROM submissions WHERE 1 = 1", list[Any]()  # noqa: S608
    for name, value in (("system", system), ("account", account), ("state", state)):
        if value is not None:
            sql += f" AND {name} = ?"
            values.append(value)
    if before is not None:
        sql += " AND seq < ?"
        values.append(before)
    return _submissions(db, db.rows(f"{sql} ORDER BY seq DESC LIMIT ?", *values, limit))


def list_waiting(db: Connection, limit: int = 100) -> list[Submission]:
    """Submissions that are not scored yet, in the order they came: the queue."""
    sql = f"SELECT {_SUBMISSION} FROM submissions WHERE state IN ('received', 'scoring') ORDER BY seq LIMIT ?"  # noqa: S608
    return _submissions(db, db.rows(sql, limit))


def find_same_answers(db: Connection, task: str, split: str, answers: str) -> list[str]:
    """The ids of submissions whose file for a set has the same answers."""
    rows = db.rows(
        "SELECT DISTINCT submission FROM files WHERE task = ? AND split = ? AND answers = ?",
        task,
        split,
        answers,
    )
    return [str(row[0]) for row in rows]


def add_flag(db: Connection, submission: str, flag: Flag) -> None:
    """Flag a submission for the owner."""
    db.execute(
        "INSERT INTO flags (submission, kind, detail, at) VALUES (?, ?, ?, ?)",
        submission,
        flag.kind,
        encode(flag.detail),
        flag.at,
    )


def list_flags(db: Connection, *, resolved: bool = False) -> list[tuple[int, str, Flag]]:
    """Flags with their number and submission, the latest first; `resolved`: those that the owner dealt with, too."""
    where = "" if resolved else "WHERE resolved_at IS NULL"
    rows = db.rows(f"SELECT seq, submission, kind, detail, at FROM flags {where} ORDER BY seq DESC")  # noqa: S608
    return [
        (seq, submission, Flag(kind=kind, detail=msgspec.json.decode(detail), at=at))
        for seq, submission, kind, detail, at in rows
    ]


def resolve_flag(db: Connection, seq: int, who: str, now: float) -> None:
    """Note that the owner dealt with a flag."""
    db.execute("UPDATE flags SET resolved_by = ?, resolved_at = ? WHERE seq = ?", who, now, seq)


# True scores: for the owner, the queue and `reveal`


def save_true_scores(db: Connection, scores: Iterable[TrueScore]) -> None:
    """Keep true scores, in place of earlier ones of the same name."""
    db.execute_many(
        "INSERT INTO true_scores (submission, task, split, metric, mode, where_, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (submission, task, split, metric, mode, where_) DO UPDATE SET body = excluded.body",
        [
            (s.submission, s.task, s.split, s.metric, s.mode, s.where, encode_score(s))
            for s in scores
        ],
    )


def encode_score(score: TrueScore | TrueComparison) -> str:
    """A true score as JSON; numbers that are not defined become null."""
    return encode(score)


_TRUE_SCORE = msgspec.json.Decoder(TrueScore)


def read_true_scores(db: Connection, submission: str) -> list[TrueScore]:
    """The true scores of a submission, each metric with all items first."""
    rows = db.rows(
        "SELECT body FROM true_scores WHERE submission = ? ORDER BY task, split, metric, mode, where_",
        submission,
    )
    return [decode_true_score(row[0]) for row in rows]


def decode_true_score(body: str) -> TrueScore:
    """A true score from JSON; null is a value that is not defined."""
    fields = msgspec.json.decode(body)
    nan = float("nan")
    fields["value"] = nan if fields["value"] is None else fields["value"]
    fields["values"] = [nan if value is None else value for value in fields["values"]]
    return msgspec.convert(fields, TrueScore)


def save_true_comparisons(
    db: Connection, comparisons: Iterable[TrueComparison], now: float
) -> None:
    """Keep comparisons: each pair of submissions is compared once."""
    db.execute_many(
        "INSERT INTO true_comparisons (task, split, metric, first, second, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (task, split, metric, first, second) DO UPDATE SET body = excluded.body, at = excluded.at",
        [(c.task, c.split, c.metric, c.first, c.second, encode_score(c), now) for c in comparisons],
    )


def read_true_comparisons(
    db: Connection, task: str, split: str, first: str, second: str
) -> list[TrueComparison]:
    """The comparisons of two submissions by metric; none where they were not compared in this order."""
    rows = db.rows(
        "SELECT body FROM true_comparisons WHERE task = ? AND split = ? AND first = ? AND second = ? ORDER BY metric",
        task,
        split,
        first,
        second,
    )
    decoded = [msgspec.json.decode(row[0]) for row in rows]
    nan = float("nan")
    return [
        msgspec.convert({k: nan if v is None else v for k, v in one.items()}, TrueComparison)
        for one in decoded
    ]


# What is shown


def save_shown_scores(db: Connection, scores: Iterable[ShownScore]) -> None:
    """Keep what may be shown, in place of earlier rows of the same name."""
    db.execute_many(
        "INSERT INTO shown_scores (submission, task, split, metric, where_, visible_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (submission, task, split, metric, where_)"
        " DO UPDATE SET visible_at = excluded.visible_at, body = excluded.body",
        [
            (s.submission, s.task, s.split, s.metric, s.where, s.visible_at, encode(s))
            for s in scores
        ],
    )


_SHOWN_SCORE = msgspec.json.Decoder(ShownScore)


def read_shown_scores(
    db: Connection,
    now: float,
    *,
    submission: str | None = None,
    task: str | None = None,
    split: str | None = None,
) -> list[ShownScore]:
    """What may be seen at a moment, of one submission, of one task, or of all."""
    sql, values = "SELECT body FROM shown_scores WHERE visible_at <= ?", list[Any]([now])
    for name, value in (("submission", submission), ("task", task), ("split", split)):
        if value is not None:
            sql += f" AND {name} = ?"
            values.append(value)
    rows = db.rows(f"{sql} ORDER BY submission, task, split, metric, where_", *values)
    return [_SHOWN_SCORE.decode(row[0]) for row in rows]


def read_ladders(
    db: Connection, account: str | None, task: str, split: str
) -> dict[Place, LadderState]:
    """The ladders of an account (None: the owner) for a set."""
    rows = db.rows(
        "SELECT metric, where_, body FROM ladders WHERE account = ? AND task = ? AND split = ?",
        account or "",
        task,
        split,
    )
    return {
        Place(task=task, split=split, metric=metric, where=where): _LADDER.decode(body)
        for metric, where, body in rows
    }


_LADDER = msgspec.json.Decoder(LadderState)


def save_ladders(db: Connection, account: str | None, states: Mapping[Place, LadderState]) -> None:
    """Keep the ladders of an account, in the transaction that keeps what was shown."""
    db.execute_many(
        "INSERT INTO ladders (account, task, split, metric, where_, body) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (account, task, split, metric, where_) DO UPDATE SET body = excluded.body",
        [
            (account or "", place.task, place.split, place.metric, place.where, encode(state))
            for place, state in states.items()
        ],
    )


def save_shown_comparison(db: Connection, comparison: ShownComparison, now: float) -> None:
    """Keep what is shown of a comparison."""
    c = comparison
    db.execute(
        "INSERT INTO shown_comparisons (task, split, metric, first, second, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (task, split, metric, first, second) DO UPDATE SET body = excluded.body, at = excluded.at",
        c.task,
        c.split,
        c.metric,
        c.first,
        c.second,
        encode(c),
        now,
    )


def read_shown_comparisons(
    db: Connection, task: str, split: str, first: str, second: str
) -> list[ShownComparison]:
    """What is shown of the comparison of two submissions, by metric."""
    rows = db.rows(
        "SELECT body FROM shown_comparisons WHERE task = ? AND split = ? AND first = ? AND second = ? ORDER BY metric",
        task,
        split,
        first,
        second,
    )
    return [msgspec.json.decode(row[0], type=ShownComparison) for row in rows]


def save_shown_ties(
    db: Connection,
    task: str,
    split: str,
    metric: str,
    letters: dict[str, str],
    visible_at: float,
) -> None:
    """Keep the tie letters of all shown submissions of a set, in place of the earlier ones."""
    db.execute(
        "DELETE FROM shown_ties WHERE task = ? AND split = ? AND metric = ?", task, split, metric
    )
    db.execute_many(
        "INSERT INTO shown_ties (task, split, metric, submission, letters, visible_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(task, split, metric, one, letter, visible_at) for one, letter in letters.items()],
    )


def read_shown_ties(
    db: Connection, now: float, task: str, split: str
) -> dict[tuple[str, str], str]:
    """The tie letters by submission and metric."""
    rows = db.rows(
        "SELECT submission, metric, letters FROM shown_ties WHERE task = ? AND split = ? AND visible_at <= ?",
        task,
        split,
        now,
    )
    return {(submission, metric): letters for submission, metric, letters in rows}


def add_disclosure(db: Connection, one: Disclosure) -> None:
    """Count something that was shown to the leak budget."""
    db.execute(
        "INSERT INTO disclosures (at, account, task, split, kind, bits, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
        one.at,
        one.account,
        one.task,
        one.split,
        one.kind,
        one.bits,
        encode(one.detail),
    )


def sum_disclosures(db: Connection) -> list[tuple[str, str, str | None, str, int, float]]:
    """Task, split, account, kind, how many, and bits: what the leak budget adds up."""
    rows = db.rows(
        "SELECT task, split, account, kind, COUNT(*), SUM(bits) FROM disclosures"
        " GROUP BY task, split, account, kind ORDER BY task, split, account, kind"
    )
    return [(*row[:4], int(row[4]), float(row[5])) for row in rows]


# Accounts

_ACCOUNT = "id, name, state, email, language, created"


def find_account(db: Connection, id: str) -> Account | None:
    """The account of an id."""
    row = db.one(f"SELECT {_ACCOUNT} FROM accounts WHERE id = ?", id)  # noqa: S608
    return None if row is None else Account(**dict(zip(_ACCOUNT.split(", "), row, strict=True)))


def list_accounts(db: Connection, *, state: str | None = None) -> list[Account]:
    """Accounts in the order they were made, of one state or all."""
    sql, values = f"SELECT {_ACCOUNT} FROM accounts", list[Any]()  # noqa: S608
    if state is not None:
        sql, values = f"{sql} WHERE state = ?", [state]
    rows = db.rows(f"{sql} ORDER BY created, id", *values)
    return [Account(**dict(zip(_ACCOUNT.split(", "), row, strict=True))) for row in rows]
