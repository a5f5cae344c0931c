"""Files and the store, on both databases: items and judgements taken in, copies, versions, lost connections."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import make_outage

from nikawa.collect.items import add_judgements, sync_items
from nikawa.collect.store import format_time, open_store, parse_time
from nikawa.errors import BadInput
from nikawa.records import Judgement
from nikawa.serve.database import Connection, Postgres
from nikawa.serve.errors import Unavailable

Begin = Callable[..., Any]


def test_import_is_all_or_nothing_and_once(crowd: Begin) -> None:
    here = crowd(items=2, assign={"workers_per_item": 1})
    rows = [
        (
            n,
            Judgement(
                example=ref,
                worker=worker,
                question="label",
                answer="neutral",
                at="2026-01-02T03:04:05+00:00",
            ),
        )
        for n, (ref, worker) in enumerate([("i000", "x"), ("i001", "x"), ("i000", "y")], start=1)
    ]

    def bring(given: list[tuple[int, Judgement]]) -> Any:
        return here.store.write(
            lambda db: add_judgements(db, here.project, iter(given), "sheet.csv", 5.0)
        )

    wrong = (4, Judgement(example="i999", worker="z", question="label", answer="neutral"))
    with pytest.raises(BadInput, match=r"sheet\.csv, line 4"):
        bring([*rows, wrong])
    assert not here.exported()
    assert bring(rows) == (3, 0)
    assert bring(rows) == (0, 3)
    assert here.exported()[0].at == "2026-01-02T03:04:05.000+00:00"
    here.join("a")
    assert here.state("a")["stage"] == "done"


def test_files_are_taken_in_again_when_they_change(crowd: Begin) -> None:
    here = crowd(items=2)
    assert sync_items(here.project, here.store) == {"main": 0, "gold": 0, "pilot": 0}
    path = here.project.folder / "examples.jsonl"
    text = path.read_text("utf-8")
    path.write_text(text + text.splitlines()[0].replace("i000", "new") + "\n", "utf-8")
    assert sync_items(here.project, here.store)["main"] == 1
    assert len(here.counts()) == 3


def test_a_pilot_added_later_is_for_those_who_have_not_begun(crowd: Begin) -> None:
    here = crowd(items=3)
    here.join("a", "b")
    here.answer("a")
    line = '{"id": "p", "inputs": {"premise": "前", "hypothesis": "仮"}, "gold": {"label": "neutral"}}\n'
    (here.project.folder / "pilot.jsonl").write_text(line, "utf-8")
    sync_items(here.project, here.store)
    assert (here.state("a")["stage"], here.state("b")["stage"]) == ("main", "pilot")


def test_control_items_need_gold(crowd: Begin) -> None:
    here = crowd(items=1)
    (here.project.folder / "gold.jsonl").write_text(
        '{"id": "g", "inputs": {"premise": "前"}}\n', "utf-8"
    )
    with pytest.raises(BadInput, match="needs gold for"):
        sync_items(here.project, here.store)


def test_an_operation_that_fails_is_undone_alone(crowd: Begin) -> None:
    here = crowd(items=2)

    def half(db: Connection) -> None:
        db.execute("UPDATE items SET done = 7")
        raise ValueError("half way")

    first = here.store.submit(half)
    second = here.store.submit(lambda db: db.execute("UPDATE items SET reports = 1"))
    with pytest.raises(ValueError, match="half way"):
        first.result()
    second.result()
    rows = here.store.read(lambda db: db.rows("SELECT done, reports FROM items"))
    assert [tuple(row) for row in rows] == [(0, 1), (0, 1)]


def test_another_version_is_refused(crowd: Begin, database: str) -> None:
    here = crowd(items=1)
    here.store.write(lambda db: db.execute("UPDATE meta SET value = '99' WHERE key = 'version'"))
    with pytest.raises(BadInput, match="version 99"):
        open_store(database, here.project.folder, here.project.name)


def test_backup_is_whole(crowd: Begin, database: str, tmp_path: Path) -> None:
    here = crowd(items=2)
    here.join("a")
    here.answer("a")
    out = tmp_path / "copy" / "backup.db"
    if database:
        with pytest.raises(BadInput, match="pg_dump"):
            here.store.backup(out)
        return
    here.store.backup(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with open_store(f"sqlite:///{out}", tmp_path, "x") as copy:
        assert copy.read(lambda db: db.required("SELECT count(*) FROM answers")) == (1,)
    with pytest.raises(BadInput, match="already exists"):
        here.store.backup(out)


_LOOK = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute('SELECT count(*) FROM answers').fetchone()[0]); c.close()"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_others_may_come_and_go_while_answers_are_taken(crowd: Begin) -> None:
    """A process that closes the file last clears its log away: it must see that others have it open."""
    here = crowd(items=3)
    here.join("a")
    path = here.project.folder / "collect.db"
    for count in (1, 2, 3):
        here.answer("a")
        here.store.database.connect().close()
        told = subprocess.run(
            [sys.executable, "-c", _LOOK, str(path)], capture_output=True, check=True
        )
        assert int(told.stdout) == count
        assert path.with_name("collect.db-wal").exists()


def test_a_lost_connection_is_told_and_made_again(crowd: Begin, database: str) -> None:
    here = crowd(items=1)
    here.join("a")

    def cut(db: Connection) -> None:
        if database:
            db.one("SELECT pg_terminate_backend(pg_backend_pid())")
        raise make_outage(here.store.database, "disk I/O error")

    with pytest.raises(Unavailable, match="send it again"):
        here.store.write(cut)
    assert not here.answer("a").duplicate
    assert len(here.exported()) == 1
    if database:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE ?"
        here.store.write(lambda db: db.rows(others, "%answers a JOIN items%"))
    assert here.worker("a").answered == 1


def test_a_full_disk_is_told_once(crowd: Begin, caplog: pytest.LogCaptureFixture) -> None:
    """It can still be read meanwhile: that is no end of it."""
    here = crowd(items=1)
    here.join("a")

    def full(_db: Connection) -> None:
        raise make_outage(here.store.database, "database or disk is full")

    for _ in range(3):
        with pytest.raises(Unavailable):
            here.store.write(full)
        assert here.worker("a").answered == 0
    here.answer("a")
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "the database does not respond: database or disk is full; workers are asked to try again",
        "the database responds again",
    ]


def test_moments_are_written_as_python_writes_them() -> None:
    for at in (
        0.0,
        1_700_000_000.123456,
        1_783_036_799.9999,
        1_783_036_800.0,
        951_825_599.5,
        4_102_444_800.001,
    ):
        written = format_time(at)
        assert written == datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        assert parse_time(written, 0.0) == pytest.approx(at, abs=0.001)
    assert format_time(None) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("nikawa@/postgres", "nobody_known@/postgres"), "does not answer"),
        (("?host=", "?no_such_option=1&host="), "refuses: invalid URI query parameter"),
        (("nikawa@/postgres", "limited@/postgres"), "refuses: permission denied"),
    ],
)
def test_an_address_that_does_not_serve(
    postgres: str, tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    db = Postgres(postgres, "nikawa_here").connect()
    db.execute("DROP ROLE IF EXISTS limited")
    db.execute("CREATE ROLE limited LOGIN")
    db.close()
    with pytest.raises(BadInput, match=told):
        open_store(postgres.replace(*change), tmp_path, "x")
