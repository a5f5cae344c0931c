"""What submitters hand in: files that are checked on arrival, submissions that count, systems and what may change of them.

A file is written and synced, then checked (`checker`), then noted as an upload; it counts for nothing. A submission takes uploads: from that
commit on it counts, is on disk whole, and will be scored, whatever happens to the server.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from nikawa.board.checker import CheckedAnswers
from nikawa.board.folder import Board, make_public_id
from nikawa.board.records import (
    Account,
    Link,
    Submission,
    SubmittedFile,
    System,
    SystemKind,
    SystemState,
    Upload,
)
from nikawa.board.settings import BoardSettings
from nikawa.board.store import encode, find_submission, find_system, save_system
from nikawa.board.wire import Helper, HelperFailed, HelperGone, Message
from nikawa.errors import BadInput
from nikawa.io.atomic import sync_folder
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.names import find_name_fault

DAY = 86_400.0
UPLOAD_SECONDS = DAY
"""An upload that no submission takes is removed after this."""
MAX_UPLOADS = 500
"""Of one account that no submission took."""
MAX_SEED = 2**31 - 1
MAX_UPLOAD_BYTES = 2_000_000_000
"""Of these together, with the answers as the check read them."""
MAX_SYSTEMS = 1000
"""Of one account, withdrawn ones included."""
PREDICTIONS = "predictions.jsonl"
"""The answers of an upload as the check read them, next to the file as received."""
_SUFFIX = re.compile(r"(\.[A-Za-z0-9]{1,8}){0,2}$")
MAX_TEXT_CHARS, MAX_LINE_CHARS, MAX_LINKS = 20_000, 400, 10


# Files


def receive_file(
    board: Board,
    checker: Helper,
    data: bytes | Path,
    name: str,
    *,
    account: str | None,
    now: float,
    task: str = "",
    split: str = "",
    seed: int | None = None,
    form: str = "",
) -> Upload:
    """Write a file to disk and check it; nothing is in the database yet (`add_upload`).

    Without task or split, the set whose items the answers are to is found. Raises `BadInput` with the line that `nikawa score` prints;
    then nothing of the file is left.
    """
    max_bytes = int(board.settings.submissions.max_megabytes * 1e6)
    size = len(data) if isinstance(data, bytes) else data.stat().st_size
    name = Path(name.replace("\\", "/")).name[-200:] or "answers"
    if size > max_bytes:
        what = f"has {size / 1e6:,.1f} MB; the board takes {board.settings.submissions.max_megabytes:g} MB"
        raise BadInput(what, file=name, cure="send only the answers, without texts or logs")
    suffix = _SUFFIX.search(name)
    id = make_public_id()
    folder = board.submissions / id
    path = folder / f"answers{suffix[0] if suffix else ''}"
    try:
        folder.mkdir(mode=0o700, parents=True)
        state = sha256()
        with _create_private(path) as stream:
            for block in _blocks(data):
                state.update(block)
                stream.write(block)
            stream.flush()
            os.fsync(stream.fileno())
        request = {
            "path": str(path),
            "name": name,
            "task": task,
            "split": split,
            "form": form,
        }
        try:
            answer = checker.ask(Message(request))
        except HelperFailed as problem:
            raise BadInput(str(problem)) from None
        except HelperGone as problem:
            raise Unavailable("the file was not checked; send it again") from problem
        checked = msgspec.convert(answer.header["checked"], CheckedAnswers)
        with _create_private(folder / PREDICTIONS) as stream:
            stream.write(answer.blocks[0])
            stream.flush()
            os.fsync(stream.fileno())
        _give_to_owner(folder, board.submissions)
        sync_folder(folder)
        sync_folder(board.submissions)
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise Unavailable("the disk did not take the file; send it again") from problem
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Upload(
        id=id,
        account=account,
        task=answer.header["task"],
        split=answer.header["split"],
        seed=seed,
        digest=state.hexdigest(),
        answers=checked.answers,
        size=size,
        path=str(path.relative_to(board.folder)),
        name=name,
        at=now,
        items=checked.items,
        answered=checked.answered,
        unparsed=checked.unparsed,
        unknown=checked.unknown,
        form=checked.form,
        unreadable=checked.unreadable,
        kept=len(answer.blocks[0]),
    )


def _give_to_owner(folder: Path, parent: Path) -> None:
    """Give a folder that root made to the system user of the server, to whom the folder above belongs."""
    if os.geteuid() == 0:
        owner = parent.stat()
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)


def _create_private(path: Path) -> Any:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _blocks(data: bytes | Path) -> Iterable[bytes]:
    if isinstance(data, bytes):
        yield data
        return
    with data.open("rb") as stream:
        while block := stream.read(1 << 20):
            yield block


def drop_file(board: Board, upload: Upload) -> None:
    """Remove the files of an upload that came to nothing."""
    shutil.rmtree((board.folder / upload.path).parent, ignore_errors=True)


def read_predictions_of(board: Board, file: SubmittedFile) -> bytes:
    """The answers of a file as `Prediction` lines, as the check read them."""
    return (board.folder / file.path).with_name(PREDICTIONS).read_bytes()


def add_upload(db: Connection, upload: Upload) -> None:
    """Note an upload; an account that piles them up is refused."""
    if upload.account is not None:
        row = db.required(
            "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM uploads WHERE account = ? AND submission IS NULL",
            upload.account,
        )
        if row[0] >= MAX_UPLOADS or row[1] + upload.size + upload.kept > MAX_UPLOAD_BYTES:
            raise Refused("too_many_uploads", 429)
    db.execute(
        "INSERT INTO uploads (id, account, body, size, at) VALUES (?, ?, ?, ?, ?)",
        upload.id,
        upload.account,
        encode(upload),
        upload.size + upload.kept,
        upload.at,
    )


def find_uploads(db: Connection, account: str | None, ids: Sequence[str]) -> list[Upload]:
    """Uploads of an account that no submission took yet, in the order of their ids.

    Raises `Refused` (`unknown_upload`) if one is missing or belongs to somebody else.
    """
    uploads: dict[str, Upload] = {}
    for id in dict.fromkeys(ids):
        row = db.one("SELECT body, account FROM uploads WHERE id = ? AND submission IS NULL", id)
        if row is None or row[1] != account:
            raise Refused("unknown_upload", 404)
        uploads[id] = msgspec.json.decode(row[0], type=Upload)
    return list(uploads.values())


def remove_stale_uploads(db: Connection, now: float) -> list[str]:
    """Forget uploads that no submission took in time; their ids, whose folders can be removed then."""
    rows = db.rows(
        "SELECT id FROM uploads WHERE submission IS NULL AND at < ?", now - UPLOAD_SECONDS
    )
    db.execute_many("DELETE FROM uploads WHERE id = ? AND submission IS NULL", rows)
    return [str(row[0]) for row in rows]


def remove_orphans(board: Board, db: Connection, now: float) -> int:
    """Remove folders of files that no upload names: what a server was doing when it was killed. Returns how many."""
    known = {str(row[0]) for row in db.rows("SELECT id FROM uploads")}
    count = 0
    if not board.submissions.is_dir():
        return count
    for folder in board.submissions.iterdir():
        with suppress(FileNotFoundError):
            if folder.name not in known and folder.stat().st_mtime < now - UPLOAD_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
                count += 1
    return count


# Submissions


@dataclass(frozen=True)
class Allowance:
    """How many more submissions to a task an account may make."""

    today: int | None
    """In the last 24 hours; None: no limit."""
    in_all: int | None

    @property
    def is_spent(self) -> bool:
        """Whether no submission is left."""
        return self.today == 0 or self.in_all == 0


def count_allowance(
    db: Connection, settings: BoardSettings, account: str, task: str, now: float
) -> Allowance:
    """What is left to an account; withdrawn submissions count.

    One that failed counts for the day, as the scoring process spent its time on it, and not for all days.
    """
    sql = (
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN s.state = 'failed' THEN 0 ELSE 1 END), 0) FROM submissions s"
        " WHERE s.account = ? AND s.received > ?"
        " AND EXISTS (SELECT 1 FROM files f WHERE f.submission = s.id AND f.task = ?)"
    )
    today = int(db.required(sql, account, now - DAY, task)[0])
    in_all = int(db.required(sql, account, -1.0, task)[1])
    limits = settings.submissions
    return Allowance(
        max(0, limits.per_day - today) if limits.per_day else None,
        max(0, limits.in_all - in_all) if limits.in_all else None,
    )


def refuse_closed_board(settings: BoardSettings, now: float) -> None:
    """Refuse submissions before the board opens and after it closes."""
    opens, closes = settings.dates.opens_at, settings.dates.closes_at
    if opens is not None and now < opens:
        raise Refused("not_open_yet", 409)
    if closes is not None and now >= closes:
        raise Refused("closed", 409)


@dataclass(frozen=True)
class Accepted:
    """A submission that counts."""

    submission: Submission
    is_duplicate: bool
    """Whether it was sent before under the same key; nothing was counted a second time."""


def accept_submission(
    db: Connection,
    board: Board,
    account: Account,
    system: System,
    uploads: Sequence[str],
    key: str,
    now: float,
) -> Accepted:
    """Make one submission of uploads, in one transaction. The same key again returns the same submission.

    Raises `Refused`: `not_active`, `not_open_yet`, `closed`, `withdrawn`, `unknown_upload`, `no_files`, `too_many_seeds`, `same_seed`,
    `too_large`, `same_answers`, `too_many_today`, `too_many_in_all`.
    """
    row = db.one("SELECT id FROM submissions WHERE account = ? AND key = ?", account.id, key)
    if row is not None:
        earlier = find_submission(db, row[0])
        assert earlier is not None
        return Accepted(earlier, True)
    if account.state != "active":
        raise Refused("not_active", 403)
    refuse_closed_board(board.settings, now)
    if system.account != account.id:
        raise Refused("not_found", 404)
    if system.state == "withdrawn":
        raise Refused("withdrawn", 409)
    files = number_seeds(board, find_uploads(db, account.id, uploads))
    _refuse_same_answers(db, account.id, files)
    for task in dict.fromkeys(file.task for file in files):
        left = count_allowance(db, board.settings, account.id, task, now)
        if left.in_all == 0:
            raise Refused("too_many_in_all", 429)
        if left.today == 0:
            raise Refused("too_many_today", 429)
    id = add_submission(db, system, account.id, files, uploads, key, now)
    submission = find_submission(db, id)
    assert submission is not None
    return Accepted(submission, False)


def number_seeds(board: Board, uploads: Sequence[Upload]) -> list[SubmittedFile]:
    """The files of a submission; those without a number of their run get the next one of their task and split.

    Raises `Refused` for no file at all, too many, too large together, or two of the same number.
    """
    limits = board.settings.submissions
    if not uploads:
        raise Refused("no_files", 422)
    if sum(upload.size for upload in uploads) > limits.max_megabytes * 1e6:
        raise Refused("too_large", 413)
    taken: dict[tuple[str, str], set[int]] = {}
    for upload in uploads:
        seeds = taken.setdefault((upload.task, upload.split), set())
        if upload.seed is not None:
            if upload.seed in seeds:
                raise Refused("same_seed", 422)
            seeds.add(upload.seed)
    files = []
    for upload in uploads:
        seeds, seed = taken[upload.task, upload.split], upload.seed
        if seed is None:
            seed = next(number for number in range(len(uploads) + 1) if number not in seeds)
            seeds.add(seed)
        if len(seeds) > limits.max_seeds:
            raise Refused("too_many_seeds", 422)
        files.append(
            SubmittedFile(
                task=upload.task,
                split=upload.split,
                seed=seed,
                digest=upload.digest,
                answers=upload.answers,
                size=upload.size,
                path=upload.path,
                name=upload.name,
            )
        )
    return files


def _refuse_same_answers(db: Connection, account: str, files: Sequence[SubmittedFile]) -> None:
    """Refuse a submission whose every set has the answers of an earlier one of the account: it would tell nothing new.

    Files of another account with the same answers are accepted, and flagged.
    """
    by_set: dict[tuple[str, str], list[str]] = {}
    for file in files:
        by_set.setdefault((file.task, file.split), []).append(file.answers)
    for (task, split), digests in by_set.items():
        rows = db.rows(
            "SELECT f.submission, f.answers FROM files f JOIN submissions s ON s.id = f.submission"
            " WHERE s.account = ? AND f.task = ? AND f.split = ? AND s.state <> 'failed'",
            account,
            task,
            split,
        )
        earlier: dict[str, list[str]] = {}
        for submission, digest in rows:
            earlier.setdefault(submission, []).append(digest)
        if not any(sorted(digests) == sorted(other) for other in earlier.values()):
            return
    raise Refused("same_answers", 409)


def add_submission(
    db: Connection,
    system: System,
    account: str | None,
    files: Sequence[SubmittedFile],
    uploads: Sequence[str],
    key: str,
    now: float,
) -> str:
    """Write a submission, which is then in the queue; its id."""
    id = make_public_id()
    db.execute(
        "INSERT INTO submissions (id, system, account, key, received, state) VALUES (?, ?, ?, ?, ?, 'received')",
        id,
        system.id,
        account,
        key,
        now,
    )
    db.execute_many(
        "INSERT INTO files (submission, task, split, seed, digest, answers, size, path, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(id, f.task, f.split, f.seed, f.digest, f.answers, f.size, f.path, f.name) for f in files],
    )
    db.execute_many(
        "UPDATE uploads SET submission = ? WHERE id = ?", [(id, upload) for upload in uploads]
    )
    who = "owner" if account is None else f"account:{account}"
    add_audit(db, who, "submit", {"submission": id, "system": system.id}, now)
    return id


def choose_final(db: Connection, account: str, task: str, submission: str, now: float) -> None:
    """Choose the submission that is scored on the final split of a task; empty: the best one that is shown."""
    if db.one(
        "SELECT 1 FROM finals WHERE account = ? AND task = ? AND scored_at IS NOT NULL",
        account,
        task,
    ):
        raise Refused("closed", 409)
    db.execute("DELETE FROM finals WHERE account = ? AND task = ?", account, task)
    if submission:
        chosen = find_submission(db, submission)
        if chosen is None or chosen.account != account:
            raise Refused("not_found", 404)
        if not any(file.task == task for file in chosen.files):
            raise Refused("no_files", 422)
        system = find_system(db, chosen.system)
        if system is not None and system.state == "withdrawn":
            raise Refused("withdrawn", 409)
        db.execute(
            "INSERT INTO finals (account, task, submission, chosen_at) VALUES (?, ?, ?, ?)",
            account,
            task,
            submission,
            now,
        )
    add_audit(
        db, f"account:{account}", "choose final", {"task": task, "submission": submission}, now
    )


def list_finals(db: Connection, account: str) -> dict[str, str]:
    """Task to the submission that an account chose for the final split."""
    rows = db.rows("SELECT task, submission FROM finals WHERE account = ?", account)
    return {str(task): str(submission) for task, submission in rows}


# Systems

TEXTS = ("name", "description", "licence", "parameters", "training_data")
"""What a submitter may write about a system."""


def create_system(
    db: Connection,
    account: str | None,
    facts: Mapping[str, Any],
    now: float,
    *,
    kind: SystemKind = "submission",
    state: SystemState = "private",
    provenance: Mapping[str, Any] | None = None,
) -> System:
    """Make a system; `facts` are the fields of `TEXTS`, `links` and `anonymous`.

    Raises `Refused`: `bad_name`, `name_taken` (the account has a system of that name), `too_long`, `bad_link`, `too_many_systems`.
    """
    if account is not None:
        row = db.required("SELECT COUNT(*) FROM systems WHERE account = ?", account)
        if row[0] >= MAX_SYSTEMS:
            raise Refused("too_many_systems", 429)
    system = System(
        id=make_public_id(),
        account=account,
        kind=kind,
        name="",
        description="",
        links=(),
        licence="",
        parameters="",
        training_data="",
        state=state,
        anonymous=False,
        provenance=dict(provenance or {}),
        created=now,
        published_at=now if state == "published" else None,
        withdrawn_at=None,
    )
    system = _with_facts(db, system, {"name": "", **facts})
    save_system(db, system)
    who = "owner" if account is None else f"account:{account}"
    add_audit(db, who, "make system", {"system": system.id, "name": system.name}, now)
    return system


def change_system(
    db: Connection, account: str | None, id: str, facts: Mapping[str, Any], now: float
) -> System:
    """Rename, describe, publish (`state`), hide again or withdraw a system of an account (None: of the owner).

    A withdrawn system stays withdrawn. Raises `Refused` as `create_system`, and `not_found`, `withdrawn`.
    """
    system = find_system(db, id)
    if system is None or system.account != account:
        raise Refused("not_found", 404)
    who = "owner" if account is None else f"account:{account}"
    return _change(db, system, facts, who, now)


def change_any_system(db: Connection, id: str, facts: Mapping[str, Any], now: float) -> System:
    """The same for the owner of the board, who may change the system of any account."""
    system = find_system(db, id)
    if system is None:
        raise Refused("not_found", 404)
    return _change(db, system, facts, "command", now)


def _change(
    db: Connection, system: System, facts: Mapping[str, Any], who: str, now: float
) -> System:
    if system.state == "withdrawn":
        raise Refused("withdrawn", 409)
    changed = _with_facts(db, system, facts)
    state = facts.get("state", system.state)
    if state != system.state:
        changed = msgspec.structs.replace(
            changed,
            state=state,
            published_at=(system.published_at or now)
            if state == "published"
            else system.published_at,
            withdrawn_at=now if state == "withdrawn" else None,
        )
    if changed.state == "withdrawn":  # it cannot be scored, so another one stands for the account
        db.execute(
            "DELETE FROM finals WHERE scored_at IS NULL AND submission IN (SELECT id FROM submissions WHERE system = ?)",
            system.id,
        )
    save_system(db, changed)
    names = sorted(name for name in facts if getattr(changed, name) != getattr(system, name))
    detail = {"system": system.id, "fields": names, "state": changed.state}
    add_audit(db, who, "change system", detail, now)
    return changed


def _with_facts(db: Connection, system: System, facts: Mapping[str, Any]) -> System:
    changes: dict[str, Any] = {}
    for name in TEXTS:
        if name not in facts:
            continue
        text = str(facts[name]).replace("\0", "").strip()
        limit = MAX_TEXT_CHARS if name in ("description", "training_data") else MAX_LINE_CHARS
        if len(text) > limit:
            raise Refused("too_long", 422)
        changes[name] = text
    if "name" in changes:
        if find_name_fault(changes["name"]) or len(changes["name"]) > 100:
            raise Refused("bad_name", 422)
        for id, name in db.rows(
            "SELECT id, name FROM systems WHERE COALESCE(account, '') = ? AND state <> 'withdrawn'",
            system.account or "",
        ):
            if name == changes["name"] and id != system.id:
                raise Refused("name_taken", 409)
    if "links" in facts:
        links = tuple(
            link if isinstance(link, Link) else Link(title=link[0], address=link[1])
            for link in facts["links"]
        )
        if len(links) > MAX_LINKS or not all(map(_is_web_link, links)):
            raise Refused("bad_link", 422)
        changes["links"] = links
    if "anonymous" in facts:
        changes["anonymous"] = bool(facts["anonymous"])
    return msgspec.structs.replace(system, **changes)


def _is_web_link(link: Link) -> bool:
    """Whether a link may be shown: to the web, of bounded length, without control characters."""
    return (
        re.fullmatch(r"https?://[^\s\"<>]{1,400}", link.address) is not None
        and link.address.isprintable()
        and len(link.title) <= MAX_LINE_CHARS
    )
