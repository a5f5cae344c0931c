"""What goes wrong around a board that is served: keys, files, clocks, disks and dates. Nothing is lost, nothing is told, and the rest goes on."""

from __future__ import annotations

import gzip
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.board.conftest import BoardUnderTest, MakeBoard

from nikawa.board.account_views import find_own_submission
from nikawa.board.flags import FlagFinder
from nikawa.board.helpers import start_checker, start_scorer
from nikawa.board.job import read_status
from nikawa.board.queue import ScoringQueue
from nikawa.board.records import Submission
from nikawa.board.scorer import Scorer
from nikawa.board.store import read_ladders, read_shown_scores, read_shown_ties
from nikawa.board.submissions import accept_submission, receive_file
from nikawa.board.wire import HelperCannotBegin, HelperGone, Message
from nikawa.errors import BadInput
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.store import set_value


def shown(here: BoardUnderTest, submission: Submission) -> list[float | None]:
    """The shown main score of a submission."""
    rows = here.store.read(read_shown_scores, here.now, submission=submission.id)
    return [row.value for row in rows if row.metric == "accuracy" and not row.where]


# Keys


def test_a_submission_waits_while_the_keys_cannot_be_read(
    make_sqlite_board: MakeBoard, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of the keys is the owner's: no submission fails for it, and its words are in no answer."""
    here = make_sqlite_board()
    keys = here.board.keys_path("tides")
    whole = keys.read_bytes()
    scorer = start_scorer(here.board)
    queue = ScoringQueue(here.board, here.store, scorer, clock=lambda: here.now)
    try:
        for place, damaged in enumerate((whole.replace(b"neutral", b"nuetral"), None)):
            made = here.submit(here.answers(120, seed=place), account=f"a{place}")
            if damaged is None:
                keys.unlink()
            else:
                keys.write_bytes(damaged)
            with pytest.raises(HelperCannotBegin):
                queue.run_once()
            assert here.find(made).state in ("received", "scoring")
            state = here.store.read(
                find_own_submission, here.board, here.account(f"a{place}"), made.id, here.now
            )
            assert state is not None
            assert (state.state, state.message) == ("received", "")
            keys.write_bytes(whole)
            queue.run_once()
            assert here.find(made).state == "scored"
            scorer.process.kill()  # type: ignore[attr-defined]
            scorer.process.wait()  # type: ignore[attr-defined]
    finally:
        scorer.close()
    assert not any(label in caplog.text for label in ("entailment", "contradiction", "neutral"))


def test_a_file_is_not_refused_for_a_fault_of_the_board(make_sqlite_board: MakeBoard) -> None:
    """The submitter is asked to send it again, and reads nothing of the folders of the server."""
    here = make_sqlite_board()
    folder = here.board.dataset_path("tides")
    checker = start_checker(here.board)
    try:
        folder.rename(folder.with_name("away"))
        with pytest.raises(Unavailable) as refused:
            receive_file(here.board, checker, here.answers(9), "a.jsonl", account="a", now=1.0)
        assert str(folder) not in str(refused.value)
        assert list(here.board.submissions.iterdir()) == []
        folder.with_name("away").rename(folder)
        made = receive_file(here.board, checker, here.answers(9), "a.jsonl", account="a", now=1.0)
        assert made.answered == 200
    finally:
        checker.close()


def test_what_ends_the_scorer_stops_nothing_else(make_sqlite_board: MakeBoard) -> None:
    """A final file and a comparison that end the scorer again and again are given up; the others are scored and ranked."""
    here = make_sqlite_board(final=("final",), closes="2027-01-15T09:00:00+00:00")
    made = [
        here.submit(here.answers(right), here.answers(60, "final", seed=right), account=f"a{right}")
        for right in (150, 154, 190)
    ]
    here.score()
    assert here.board.settings.dates.closes_at is not None
    here.now = here.board.settings.dates.closes_at
    ask = here.queue.scorer.ask
    bad = here.queue._request("score", here.board.sets[1], made[0]).blocks[0]

    def crash(request: Message, timeout: float | None = None) -> Message:
        if bad in request.blocks:
            raise HelperGone("gone")
        return ask(request, timeout)

    here.queue.scorer.ask = crash  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(HelperGone):
            here.queue.run_once()
    here.queue.run_once()
    here.now += 900.0
    here.queue.run_once()
    rows = here.store.read(read_shown_scores, here.now, split="final")
    assert {row.submission for row in rows} == {made[1].id, made[2].id}
    tied = here.store.read(read_shown_ties, here.now, "tides", "final")
    assert {id for id, _ in tied} == {made[1].id, made[2].id}


def test_a_submission_is_shown_once_if_two_servers_score_it(make_board: MakeBoard) -> None:
    """Two copies of a folder may have one database in PostgreSQL: the second result of a submission changes nothing."""
    here = make_board()
    made = here.submit(here.answers(150))
    waiting = here.find(made)
    here.queue.score_submission(waiting)
    here.queue.score_submission(waiting)
    here.score()
    assert shown(here, made) == [76.0]
    (state, *_) = here.store.read(read_ladders, here.account("ann").id, "tides", "test").values()
    assert state.tries == 1


def test_keys_that_were_put_back_are_private_again(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    keys = here.board.keys_path("tides")
    keys.chmod(0o644)
    Scorer(here.board)
    assert keys.stat().st_mode & 0o777 == 0o600


# Files


def test_a_missing_file_fails_one_submission_and_no_other(make_board: MakeBoard) -> None:
    here = make_board({"per_day = 3": "per_day = 0"})
    here.queue.find_flags = FlagFinder()
    first = here.submit(here.answers(100))
    other = here.submit(here.answers(90, seed=2), account="max")
    shutil.rmtree((here.board.folder / first.files[0].path).parent)
    here.score()
    assert here.find(first).state == "failed"
    assert str(here.board.folder) not in here.find(first).problem
    assert here.find(other).state == "scored"
    shutil.rmtree((here.board.folder / other.files[0].path).parent)
    here.queue.find_flags = FlagFinder()  # after a restart, codes are read again
    third = here.submit(here.answers(150, seed=3), account="bob")
    fourth = here.submit(here.answers(150, seed=3), account="eve")
    here.score()
    assert shown(here, third) == [76.0]
    assert [flag.kind for flag in here.find(fourth).flags] == ["identical"]


def test_flags_that_cannot_be_found_stop_no_score(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()

    def fail(*_: object) -> list[object]:
        raise ZeroDivisionError

    here.queue.find_flags = fail  # type: ignore[assignment]
    made = here.submit(here.answers(100))
    here.score()
    assert here.find(made).state == "scored"


def test_a_small_file_with_huge_answers_is_not_kept(make_sqlite_board: MakeBoard) -> None:
    """The limit is on what is kept, too: a compressed file may hold anything."""
    here = make_sqlite_board({"max_megabytes = 20": "max_megabytes = 1"})
    lines = [
        json.dumps({"id": id, "answer": "neutral" if place else "x" * 9_000_000})
        for place, id in enumerate(here.gold["test"])
    ]
    data = gzip.compress("\n".join(lines).encode())
    assert len(data) < 100_000
    with pytest.raises(BadInput, match=r"of answers; the board keeps 4\.2 MB"):
        receive_file(here.board, here.checker, data, "a.jsonl.gz", account="a", now=1.0)
    assert list(here.board.submissions.iterdir()) == []


def test_huge_answers_to_all_items_are_refused_before_they_are_read(
    make_sqlite_board: MakeBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make_sqlite_board({"max_megabytes = 20": "max_megabytes = 1"})

    def pack(answer: str) -> bytes:
        return gzip.compress(
            b"\n".join(
                json.dumps({"id": id, "answer": answer}).encode() for id in here.gold["test"]
            )
        )

    def receive(data: bytes) -> int:
        made = receive_file(here.board, here.checker, data, "a.jsonl.gz", account="a", now=1.0)
        return made.unparsed

    with monkeypatch.context() as patched:
        patched.setattr("nikawa.board.checker.check_answers", None)
        with pytest.raises(
            BadInput, match=r"a\.jsonl\.gz: has more than 4\.2 MB of answers; the board"
        ):
            receive(pack("x" * 60_000))
    assert receive(pack("答えは中立です。")) == 0


# Clocks and dates


def test_a_clock_that_is_set_back_does_not_stop_the_ticks(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    here.now += 10 * 365 * 86_400.0
    here.queue.run_once()
    here.now -= 10 * 365 * 86_400.0
    made = [here.submit(here.answers(right), account=f"a{right}") for right in (100, 190)]
    here.score()
    here.queue.run_once()
    rows = here.store.read(lambda db: db.rows("SELECT submission, letters FROM shown_ties"))
    assert {one.id for one in made} <= {row[0] for row in rows}


def test_a_clock_that_is_set_back_gives_no_submission_back(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    for right in (100, 110, 120):
        here.submit(here.answers(right, seed=right))
    for hours in (1, 5, 48, 24 * 365):
        here.now -= hours * 3600.0
        with pytest.raises(Refused, match="too_many_today"):
            here.submit(here.answers(130, seed=hours))


def test_the_board_closes_while_a_submission_waits(make_board: MakeBoard) -> None:
    """What was accepted in time is scored, also on the final split; the next one is refused."""
    here = make_board(final=("final",), closes="2027-01-15T09:00:00+00:00")
    closes = here.board.settings.dates.closes_at
    assert closes is not None
    here.now = closes - 0.001
    made = here.submit(here.answers(150), here.answers(100, "final"))
    ids = [here.upload(here.answers(160))]
    here.now = closes
    with pytest.raises(Refused, match="closed"):
        here.store.write(
            accept_submission, here.board, here.account("ann"), here.system("ann", "Late"), ids, "k", here.now
        )  # fmt: skip
    here.score()
    here.score()
    splits = {row.split for row in here.store.read(read_shown_scores, here.now, submission=made.id)}
    assert splits == {"test", "final"}


# Limits at one moment


def test_the_limit_of_a_day_holds_at_one_moment(make_board: MakeBoard) -> None:
    """Twelve requests at once, with three submissions left: three count."""
    here = make_board()
    account, system = here.account("ann"), here.system("ann", "Model")
    uploads = [here.upload(here.answers(100, seed=n)) for n in range(12)]

    def submit(place: int) -> str:
        try:
            here.store.write(
                accept_submission, here.board, account, system, [uploads[place]], f"k{place}", here.now
            )  # fmt: skip
        except Refused as problem:
            return problem.code
        return "accepted"

    with ThreadPoolExecutor(12) as pool:
        answers = sorted(pool.map(submit, range(12)))
    assert answers == ["accepted"] * 3 + ["too_many_today"] * 9
    count = here.store.read(lambda db: db.required("SELECT COUNT(*) FROM submissions")[0])
    assert count == 3


def test_one_file_is_in_one_submission(make_board: MakeBoard) -> None:
    here = make_board()
    account, system = here.account("ann"), here.system("ann", "Model")
    upload = here.upload(here.answers(100))

    def submit(place: int) -> str:
        try:
            here.store.write(
                accept_submission, here.board, account, system, [upload], f"k{place}", here.now
            )
        except Refused as problem:
            return problem.code
        return "accepted"

    with ThreadPoolExecutor(6) as pool:
        answers = sorted(pool.map(submit, range(6)))
    assert answers == ["accepted"] + ["unknown_upload"] * 5


# The folder


def test_a_database_of_another_version_is_refused_with_one_line(
    make_sqlite_board: MakeBoard,
) -> None:
    here = make_sqlite_board()
    here.store.write(set_value, "version", "9")
    with pytest.raises(BadInput, match="version 9, this server needs 1") as refused:
        read_status(here.board.folder)
    assert len(str(refused.value).splitlines()) == 1


def test_a_full_disk_refuses_a_file_and_loses_nothing(
    make_sqlite_board: MakeBoard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The body of a request, the file, and its folder: wherever the disk is full, the answer is to send it again."""
    from starlette.testclient import TestClient

    from nikawa.board.accounts import make_token
    from nikawa.board.app import create_app

    here = make_sqlite_board()
    token = here.store.write(make_token, here.account("ann").id, "t", here.now)
    app = create_app(here.board, here.store, clock=lambda: here.now, checker=here.checker)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        headers = {"authorization": f"Bearer {token}"}
        for place in ("os.fsync", "pathlib.Path.mkdir", "os.fdopen"):
            with monkeypatch.context() as patch:
                patch.setattr(place, refuse)
                answer = client.post("/api/v1/uploads?name=a.jsonl", content=here.answers(9), headers=headers)  # fmt: skip
            assert (answer.status_code, answer.json()["error"]) == (503, "server_error"), place
            assert list(here.board.submissions.iterdir()) == []
        answer = client.post("/api/v1/uploads?name=a.jsonl", content=here.answers(9), headers=headers)  # fmt: skip
        assert answer.status_code == 200
    assert not [record for record in caplog.records if record.exc_info]
