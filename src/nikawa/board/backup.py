"""Copies of a board: the whole of it for the owner, what visitors see as a table, and the true scores."""

from __future__ import annotations

import csv
import io
import tarfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from nikawa.board.folder import DATABASE
from nikawa.board.job import format_moment, open_both
from nikawa.board.records import Submission
from nikawa.board.store import list_accounts, list_submissions, list_systems, read_true_scores
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.judgements.formula_escape import guard_cell
from nikawa.serve.database import Connection, Sqlite

ARCHIVES = (".tar", ".tar.gz", ".tar.zst")


@dataclass(frozen=True)
class BackupReport:
    """What was written."""

    out: str
    files: int
    bytes: int
    database: bool
    """Whether the database is in it; PostgreSQL has its own tools."""


def backup(folder: Path, out: Path, *, overwrite: bool = False, database: str = "") -> BackupReport:
    """Write the whole board to a tar archive while it is served: settings, datasets, keys, files and the database.

    It has mode 0600: the labels are in it. The database is copied first; every file that it names was on disk before.
    Raises `BadInput` for an archive inside the folder: the next backup would have it in it.
    """
    if not out.name.endswith(ARCHIVES):
        what = "is no name of an archive that can be written"
        raise BadInput(what, file=out, cure="end it with .tar, .tar.gz or .tar.zst")
    refuse_existing(out, overwrite)
    whole = folder.resolve()
    if whole in out.resolve().parents:
        what = f"is in {folder}, which each backup copies whole, earlier backups too"
        raise BadInput(what, file=out, cure="write it to another folder")
    name = whole.name
    with open_both(folder, database) as (board, store), TemporaryDirectory() as place:
        copies = Path(place)
        copies.chmod(0o700)
        has_database = isinstance(store.database, Sqlite)
        if has_database:
            store.backup(copies / DATABASE)
        count = 0
        with (
            atomic_write(out, overwrite=overwrite, private=True) as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(board.folder, arcname=name, recursive=False)  # unpacked with its mode
            if has_database:
                archive.add(copies / DATABASE, arcname=f"{name}/{DATABASE}")
                count += 1
            for path in sorted(board.folder.rglob("*")):
                inside = path.relative_to(board.folder)
                if inside.parts[0].startswith((DATABASE, ".")):
                    continue
                with suppress(FileNotFoundError):  # a stale upload was removed meanwhile
                    archive.add(path, arcname=f"{name}/{inside}", recursive=False)
                    count += path.is_file()
    return BackupReport(str(out), count, out.stat().st_size, has_database)


TRUE_COLUMNS = (
    "submission", "system", "name", "kind", "account", "received", "task", "split", "metric", "mode", "slice", "value",
    "low", "high", "sd", "n", "unit", "values",
)  # fmt: skip


def export_true_scores(
    folder: Path, out: Path, form: str, *, overwrite: bool = False, database: str = ""
) -> int:
    """Write every true score, for the owner alone (mode 0600), as `csv` or `json`; returns how many."""
    with open_both(folder, database) as (_, store):
        rows = store.read(_list_true_scores)
    if form == "json":
        data = msgspec.json.format(msgspec.json.encode(rows), indent=1)
    else:
        stream = io.StringIO(newline="")
        writer = csv.DictWriter(stream, TRUE_COLUMNS)
        writer.writeheader()
        writer.writerows({name: guard_cell(cell) for name, cell in row.items()} for row in rows)
        data = b"\xef\xbb\xbf" + stream.getvalue().encode("utf-8", "replace")
    with atomic_write(out, overwrite=overwrite, private=True) as file:
        file.write(data)
    return len(rows)


def _list_all_submissions(db: Connection) -> list[Submission]:
    """Every submission, the earliest first."""
    every: list[Submission] = []
    while page := list_submissions(db, before=every[-1].seq if every else None):
        every += page
    return every[::-1]


def _list_true_scores(db: Connection) -> list[dict[str, Any]]:
    systems = {system.id: system for system in list_systems(db)}
    accounts = {account.id: account.name for account in list_accounts(db)}
    rows = []
    for submission in _list_all_submissions(db):
        system = systems[submission.system]
        for score in read_true_scores(db, submission.id):
            rows.append(
                {
                    "submission": submission.id,
                    "system": system.id,
                    "name": system.name,
                    "kind": system.kind,
                    "account": accounts.get(system.account or "", ""),
                    "received": format_moment(submission.received),
                    "task": score.task,
                    "split": score.split,
                    "metric": score.metric,
                    "mode": score.mode,
                    "slice": score.where,
                    "value": score.value,
                    "low": score.low,
                    "high": score.high,
                    "sd": score.sd,
                    "n": score.n,
                    "unit": score.unit,
                    "values": " ".join(map(repr, score.values)),
                }
            )
    return rows


def export_as(
    folder: Path,
    out: Path,
    to: str = "",
    *,
    true_scores: bool = False,
    overwrite: bool = False,
    database: str = "",
) -> int:
    """Write what visitors see as a CSV table, JSON or a folder of pages, or all true scores; returns how many systems or scores.

    `to` is `csv`, `json` or `html`; empty: by the suffix.
    """
    form = to or out.suffix.removeprefix(".")
    if form not in ("csv", "json", "html") or (true_scores and form == "html"):
        cure = "name it NAME.csv or NAME.json, or pass --to html for a folder of pages"
        raise BadInput(f"there is no format {form!r}", file=out, cure=cure)
    if true_scores:
        return export_true_scores(folder, out, form, overwrite=overwrite, database=database)
    from nikawa.board.exchange import board_csv, board_json
    from nikawa.board.snapshot import describe_tasks, read_board

    with open_both(folder, database) as (board, store):
        now = time.time()
        view = store.read(read_board, board, describe_tasks(board), now)
        if form == "html":
            from nikawa.board.export_html import export_html

            export_html(board, view, out, now=now, overwrite=overwrite)
            return len(view.shown)
    data = board_json(view) if form == "json" else board_csv(view)
    with atomic_write(out, overwrite=overwrite) as stream:
        stream.write(data)
    return len(view.shown)
