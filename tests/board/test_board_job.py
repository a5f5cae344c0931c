"""The owner's commands: what makes a board, what is refused, entries, backup, export, and the demo."""

from __future__ import annotations

import csv
import json
import shutil
import tarfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import psycopg
import pytest
from tests.board.conftest import BoardUnderTest, HiddenData, MakeBoard

import nikawa as nk
from nikawa.board.accounts import account_password, find_submitter, start_account_session
from nikawa.board.backup import backup, export_as
from nikawa.board.entries import EntryFacts, enter_answers, enter_humans
from nikawa.board.flags import FlagFinder
from nikawa.board.folder import open_board
from nikawa.board.helpers import start_checker, start_scorer
from nikawa.board.job import NewBoard, change_entry, create_board, invite, read_status, set_password
from nikawa.board.queue import ScoringQueue
from nikawa.board.rendering import list_provenance
from nikawa.board.serving import ServeOptions, lock_folder_of, serve
from nikawa.board.store import list_systems, open_store, read_shown_scores, read_true_scores
from nikawa.board.submissions import receive_file
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Judgement
from nikawa.serve.errors import Refused
from nikawa.serve.login import password_matches

Run = Callable[..., CompletedProcess[str]]


def list_modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


def test_a_new_board_is_private_and_holds_labels_only_in_the_scorers_folder(
    make_sqlite_board: MakeBoard, hidden_data: HiddenData
) -> None:
    here = make_sqlite_board(public=(), closes="2027-01-31T00:00:00Z", final=("final",))
    folder = here.board.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list_modes(folder) == {0o600}
    assert [(one.task, one.split, one.role) for one in here.board.sets] == [
        ("tides", "test", "public"),
        ("tides", "final", "final"),
    ]
    secret = json.loads(hidden_data.keys.read_text().split("\n", 1)[0])["secret"]
    holders = [
        path for path in folder.rglob("*") if path.is_file() and secret in path.read_text("latin-1")
    ]
    assert holders == [here.board.keys_path("tides")]


def test_only_public_tests_can_be_too_small(hidden_data: HiddenData, tmp_path: Path) -> None:
    new = NewBoard(
        datasets=(hidden_data.folder,),
        keys=(hidden_data.keys,),
        final=("final",),
        closes="2027-01-31T00:00:00Z",
    )
    (note,) = create_board(tmp_path / "b", new).notes
    assert note.startswith("small tests: tides:test (200 items); their scores are coarse")


def test_folders_may_have_names_of_any_script(hidden_data: HiddenData, tmp_path: Path) -> None:
    shutil.copytree(hidden_data.folder, tmp_path / unicodedata.normalize("NFD", "가나が 2"))
    (data,) = tmp_path.iterdir()
    new = NewBoard(datasets=(data,), keys=(hidden_data.keys,))
    made = create_board(tmp_path / "共有 課題", new)
    assert made.tasks == ("가나が-2",)
    settings = open_board(tmp_path / "共有 課題").settings
    assert (settings.name, settings.title) == ("共有-課題", "共有 課題")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"public": ("train",)}, "the labels of train are not hidden"),
        ({"public": ("tests",)}, "there is no hidden split 'tests'; did you mean 'test'"),
        ({"final": ("test", "final"), "closes": "2027-01-01T00:00Z"}, "no split is public"),
        ({"final": ("final",)}, "a final split needs a closing date"),
        ({"keys": ()}, "no key file belongs to this folder"),
        ({"closes": "tomorrow"}, "'tomorrow' is not a date with a time zone"),
    ],
)
def test_a_board_that_cannot_be_is_refused_and_leaves_nothing(
    hidden_data: HiddenData, tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    asked = {"datasets": (hidden_data.folder,), "keys": (hidden_data.keys,), **fields}
    with pytest.raises(BadInput, match=message):
        create_board(tmp_path / "b", NewBoard(**asked))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_with_open_labels_or_other_keys_is_refused(
    hidden_data: HiddenData, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="hide the test labels first"):
        create_board(
            tmp_path / "b", NewBoard((hidden_data.folder.parent / "open",), (hidden_data.keys,))
        )
    shutil.copytree(hidden_data.folder, tmp_path / "tides")
    path = tmp_path / "tides" / "test.jsonl"
    path.write_text(path.read_text("utf-8").replace("testの前提", "別の前提", 1), "utf-8")
    with pytest.raises(BadInput, match="changed since"):
        create_board(tmp_path / "b", NewBoard((tmp_path / "tides",), (hidden_data.keys,)))


def enter_baseline(here: BoardUnderTest, tmp_path: Path) -> str:
    (tmp_path / "base-1.jsonl").write_bytes(here.answers(80))
    (tmp_path / "base-2.jsonl").write_bytes(here.answers(90, seed=1))
    paths = [tmp_path / "base-1.jsonl", tmp_path / "base-2.jsonl"]
    (entry,) = enter_answers(here.board, here.store, paths, EntryFacts(name="Base"), now=here.now)
    with pytest.raises(BadInput, match="entered a system of that name before; pass another --name"):
        enter_answers(here.board, here.store, paths, EntryFacts(name="Base"), now=here.now)
    assert entry.sets == ("tides:test (2 seeds)",)
    return entry.submission


def test_baselines_have_their_provenance_and_no_ladder(
    make_board: MakeBoard, tmp_path: Path
) -> None:
    here = make_board()
    submission = enter_baseline(here, tmp_path)
    here.score()
    (system,) = here.store.read(list_systems)
    assert (system.kind, system.account, system.state) == ("baseline", None, "published")
    assert sorted(system.provenance["files"]) == ["base-1.jsonl", "base-2.jsonl"]
    shown = here.store.read(read_shown_scores, here.now, submission=submission)
    assert [s.value for s in shown if s.metric == "accuracy"] == [42.0]


def test_the_page_of_runs_names_all_their_data(
    make_sqlite_board: MakeBoard, hidden_data: HiddenData, tmp_path: Path
) -> None:
    here = make_sqlite_board()
    nk.run(["majority"], tasks=[str(hidden_data.folder)], seeds=2, out=tmp_path / "runs")
    enter_answers(here.board, here.store, [tmp_path / "runs"], EntryFacts(), now=here.now)
    (system,) = here.store.read(list_systems)
    lines = list_provenance(system.provenance)
    assert f"entered with: nikawa {nk.__version__}" in lines
    assert "trained on: tides:train" in lines
    assert sum(line.startswith("data: tides:") for line in lines) == 3
    assert not any("{" in line or "'" in line for line in lines)


def test_the_human_row_compares_each_person_with_the_others(
    make_board: MakeBoard, tmp_path: Path
) -> None:
    here = make_board()
    rows = [
        Judgement(
            example=id,
            worker=f"w{worker}",
            question="label",
            answer="neutral" if worker == 2 and place % 4 == 0 else label,
        )
        for place, (id, label) in enumerate(sorted(here.gold["test"].items()))
        for worker in range(3)
    ]
    write_records(tmp_path / "judgements.jsonl", rows)
    facts = EntryFacts(kind="human", links=("Paper=https://example.org/p",))
    (entry,) = enter_humans(
        here.board, here.store, tmp_path / "judgements.jsonl", facts, now=here.now
    )
    (system,) = here.store.read(list_systems)
    assert [(link.title, link.address) for link in system.links] == [
        ("Paper", "https://example.org/p")
    ]
    true = {s.metric: s for s in here.store.read(read_true_scores, entry.submission)}
    differing = sum(
        label != "neutral"
        for place, (_, label) in enumerate(sorted(here.gold["test"].items()))
        if place % 4 == 0
    )
    assert true["accuracy"].n == 200
    # the one who differs is wrong; the others have a tie between two, which chance decides
    assert 100 * (600 - 3 * differing) / 600 <= true["accuracy"].value
    assert true["accuracy"].value <= 100 * (600 - differing) / 600
    here.score()
    shown = here.store.read(read_shown_scores, here.now, submission=entry.submission)
    assert {s.metric for s in shown if s.value is not None} == {"accuracy", "macro-f1"}
    with pytest.raises(BadInput, match="have no item of the board with two answers"):
        enter_humans(here.board, here.store, None, facts)


def test_backup_is_whole_private_and_opens_again(
    make_sqlite_board: MakeBoard, tmp_path: Path
) -> None:
    here = make_sqlite_board()
    submission = here.submit(here.answers(120))
    report = backup(here.board.folder, tmp_path / "b.tar.zst")
    assert report.database
    assert (tmp_path / "b.tar.zst").stat().st_mode & 0o777 == 0o600
    backup(here.board.folder, tmp_path / "b.tar")
    with tarfile.open(tmp_path / "b.tar") as archive:
        archive.extractall(tmp_path / "again", filter="tar")
    assert (tmp_path / "again" / "board").stat().st_mode & 0o777 == 0o700
    with pytest.raises(BadInput, match=r"end it with .tar, .tar.gz or .tar.zst"):
        backup(here.board.folder, tmp_path / "b.zip")
    inside = here.board.folder / "backups" / "b.tar"  # each later one would hold it too
    with pytest.raises(BadInput, match="each backup copies whole"):
        backup(here.board.folder, inside)
    assert not inside.parent.exists()
    restored = open_board(tmp_path / "again" / "board")
    with open_store("", restored) as store:
        again = BoardUnderTest(restored, store, here.gold, here.now)
        again.score()
        assert again.find(submission).state == "scored"


def test_export_and_status_show_what_each_may_see(make_board: MakeBoard, tmp_path: Path) -> None:
    here = make_board()
    here.submit(here.answers(121))
    here.score()
    database = (
        here.store.database.address if here.store.database.address.startswith("postgres") else ""
    )
    folder = here.board.folder
    count = export_as(folder, tmp_path / "true.csv", true_scores=True, database=database)
    with (tmp_path / "true.csv").open(encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == count
    assert (tmp_path / "true.csv").stat().st_mode & 0o777 == 0o600
    assert {row["value"] for row in rows if row["metric"] == "accuracy"} == {"60.5"}
    export_as(folder, tmp_path / "board.json", database=database)
    assert "60.5" not in (tmp_path / "board.json").read_text("utf-8")
    with pytest.raises(BadInput, match="there is no format 'txt'"):
        export_as(folder, tmp_path / "board.txt", database=database)
    constant = b"".join(
        b'{"id": "%s", "answer": "neutral"}\n' % id.encode() for id in here.gold["test"]
    )
    (tmp_path / "neutral.jsonl").write_bytes(constant)
    enter_answers(here.board, here.store, [tmp_path / "neutral.jsonl"], EntryFacts(), now=here.now)
    here.queue.find_flags = FlagFinder()
    here.score()
    status = read_status(folder, database)
    assert status["submissions"] == {"scored": 2}
    assert status["flags"] == {}  # a baseline may well answer one label
    assert status["disclosed"][0]["bits"] > 0


def test_invitations_and_passwords(make_board: MakeBoard) -> None:
    here = make_board()
    database = (
        here.store.database.address if here.store.database.address.startswith("postgres") else ""
    )
    made = invite(
        here.board.folder, ["A", "B"], address="https://board.example/", database=database
    )
    assert [note for note, _ in made.links] == ["A", "B"]
    assert all(
        link.startswith("https://board.example/sign-up?invitation=") for _, link in made.links
    )
    assert len(set_password(here.board.folder, "rev", "reviewer", database=database)) > 10
    account = here.account("ann")
    cookie = here.store.write(start_account_session, account.id, here.now)
    secret = set_password(here.board.folder, "ann", "submitter", database=database)
    id, kept = here.store.read(account_password, "ann")
    assert (id, password_matches(kept, secret)) == (account.id, True)
    with pytest.raises(Refused):
        here.store.read(find_submitter, cookie, here.now)
    for name, role, message in (
        ("anne", "submitter", "there is no account 'anne'; did you mean 'ann'"),
        ("ann", "guest", "there is no role 'guest'"),
    ):
        with pytest.raises(BadInput, match=message):
            set_password(here.board.folder, name, role, database=database)


def test_the_owner_changes_any_system(make_board: MakeBoard) -> None:
    here = make_board()
    database = (
        here.store.database.address if here.store.database.address.startswith("postgres") else ""
    )
    made = here.system("ann", "Model")
    folder = here.board.folder
    assert change_entry(folder, "Model", state="private", database=database).state == "private"
    assert change_entry(folder, made.id, name="Other", database=database).name == "Other"
    with pytest.raises(BadInput, match="there is no system 'Othr'; did you mean 'Other'"):
        change_entry(folder, "Othr", state="private", database=database)
    with pytest.raises(BadInput, match="there is no state 'gone'"):
        change_entry(folder, "Other", state="gone", database=database)
    change_entry(folder, "Other", state="withdrawn", database=database)
    with pytest.raises(BadInput, match="it was withdrawn, and stays so"):
        change_entry(folder, "Other", state="published", database=database)


def test_one_server_a_board(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    with (
        lock_folder_of(here.board),
        pytest.raises(BadInput, match="is served already"),
        lock_folder_of(here.board),
    ):
        pass


def test_a_database_without_the_board_is_refused_and_nothing_is_created(
    make_board: MakeBoard, database: str, postgres: str
) -> None:
    """A server on an empty database would remove the files of all submissions, which it does not know."""
    here = make_board()
    other = "" if database else postgres
    with pytest.raises(BadInput, match="NIKAWA_BOARD_DATABASE"):
        read_status(here.board.folder, other)
    with pytest.raises(BadInput, match="NIKAWA_BOARD_DATABASE"):
        serve(here.board.folder, ServeOptions(port=0, database=other))
    assert (here.board.folder / "board.db").exists() == (not database)
    with psycopg.connect(postgres) as db:
        row = db.execute(
            "SELECT 1 FROM pg_namespace WHERE nspname = %s", (here.board.schema,)
        ).fetchone()
    assert (row is not None) == bool(database)


def test_processes_of_their_own_check_and_score(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    checker, scorer = start_checker(here.board), start_scorer(here.board)
    try:
        here.checker = checker
        here.queue = ScoringQueue(here.board, here.store, scorer, clock=lambda: here.now)
        submission = here.submit(here.answers(130))
        here.score()
        assert here.find(submission).state == "scored"
        with pytest.raises(BadInput, match="none of the ids is in the task"):
            receive_file(
                here.board,
                checker,
                b'{"id": "x", "answer": "neutral"}\n',
                "a.jsonl",
                account=None,
                now=0.0,
            )
        scorer.process.kill()  # type: ignore[attr-defined]
        other = here.submit(here.answers(131))
        here.score()  # by a new process
        assert here.find(other).state == "scored"
    finally:
        checker.close()
        scorer.close()


@pytest.mark.slow
def test_the_demo_is_filled(nikawa: Run, tmp_path: Path) -> None:
    made = nikawa("board", "demo", str(tmp_path / "demo"), "--no-serve", "--json")
    assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    assert report["systems"] >= 10
    again = nikawa("board", "demo", str(tmp_path / "demo"), "--no-serve")
    assert "already exists" in again.stdout
    out = nikawa(
        "board", "export", str(tmp_path / "demo"), "--out", str(tmp_path / "b.json"), "--json"
    )
    assert json.loads(out.stdout)["count"] == report["systems"]
    status = nikawa("board", "status", str(tmp_path / "demo"))
    assert "scored" in status.stdout
