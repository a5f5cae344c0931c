"""The processes that read submissions: whatever a file makes them do, they answer with one line and go on; the scorer's folder is theirs alone."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.board.conftest import BoardUnderTest, MakeBoard
from tests.io.test_limits import write_parquet_bomb

from nikawa.board.helpers import start_checker, start_scorer
from nikawa.board.submissions import receive_file
from nikawa.board.wire import (
    WAS_KILLED,
    Helper,
    HelperFailed,
    HelperGone,
    Message,
    answer_requests,
)
from nikawa.errors import BadInput

HOSTILE = """
import ctypes, os, sys, time, resource
from nikawa.board.wire import Limits, Message, run_limited
from nikawa.errors import BadInput
import json

def work(header, blocks):
    kind = header["kind"]
    if kind == "memory":
        return Message({"n": len(bytearray(4 << 30))})
    if kind == "many small objects":
        return Message({"n": len([bytes(100_000) for _ in range(10**5)])})
    if kind == "busy":
        while True:
            pass
    if kind == "asleep":
        time.sleep(60)
    if kind == "disk":
        with open(header["path"], "wb") as stream:
            for _ in range(1000):
                stream.write(bytes(1 << 20))
                stream.flush()
        return Message({"written": os.path.getsize(header["path"])})
    if kind == "files":
        return Message({"n": len([open("/dev/null") for _ in range(2000)])})
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "exit":
        os._exit(0)
    if kind == "killed":
        os.kill(os.getpid(), 9)
    if kind == "recursion":
        return work(header, blocks)
    if kind == "half an answer":
        os.write(int(header["socket"]), b"\\0" * 12)
        os._exit(0)
    if kind == "label":
        raise BadInput("item 7 is not zqxsecret")
    if kind == "label in a bug":
        raise KeyError("zqxsecret")
    return Message({"fine": True})

for line in sys.stdin:
    began = time.monotonic()
    request = Message(json.loads(line))
    limits = Limits(request.header.get("seconds", 30.0), 256)
    answer = run_limited(work, request, limits, gives_reasons=False)
    print(json.dumps([answer.header, time.monotonic() - began]), flush=True)
"""


@pytest.fixture(scope="module")
def ask_hostile() -> Iterator[object]:
    """Asks a helper whose work is hostile; the header of the answer, and the seconds it took."""
    with subprocess.Popen(
        [sys.executable, "-c", HOSTILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None

        def ask(**request: object) -> tuple[dict[str, object], float]:
            print(json.dumps(request), file=questions, flush=True)
            header, seconds = json.loads(answers.readline())
            return header, seconds

        yield ask
        questions.close()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("memory", "needs more than 256 MB"),
        ("many small objects", "needs more than 256 MB"),
        ("busy", "second"),
        ("asleep", "takes longer than 1 seconds"),
        ("files", "cannot be scored"),
        ("crash", "ended the process"),
        ("exit", "ended the process"),
        ("recursion", "cannot be scored"),
        ("label", "cannot be scored"),
        ("label in a bug", "cannot be scored"),
    ],
)
def test_hostile_work_ends_with_one_line(ask_hostile, kind: str, says: str) -> None:  # type: ignore[no-untyped-def]
    """The helper goes on after each, in time, and quotes nothing that its child may have read."""
    limit = {"seconds": 1.0} if "second" in says else {}
    header, seconds = ask_hostile(kind=kind, **limit)
    assert says in header["fault"]
    assert "\n" not in header["fault"]
    assert "zqx" not in header["fault"]
    assert seconds < 20
    assert ask_hostile(kind="none")[0] == {"fine": True}


def test_a_child_that_was_killed_is_no_fault_of_the_file(ask_hostile) -> None:  # type: ignore[no-untyped-def]
    """The system does this where memory is short: the queue tries again, and a submitter is asked to send again."""
    header, _ = ask_hostile(kind="killed")
    assert header == {WAS_KILLED: True}

    def answer(connection: socket.socket) -> None:
        with connection:
            answer_requests(connection, lambda request: Message({WAS_KILLED: True}))

    mine, its = socket.socketpair()
    thread = threading.Thread(target=answer, args=(its,))
    thread.start()
    helper = Helper(lambda: mine)
    with pytest.raises(HelperGone, match="was killed"):
        helper.ask(Message({"do": "score"}))
    helper.close()
    thread.join()


def test_a_child_cannot_fill_the_disk(ask_hostile, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "large"
    header, _ = ask_hostile(kind="disk", path=str(path))
    assert "fault" in header
    assert not path.exists() or path.stat().st_size < 2 << 20


# Files


@pytest.fixture(scope="module")
def checked(
    tmp_path_factory: pytest.TempPathFactory, hidden_data: object
) -> Iterator[tuple[BoardUnderTest, Helper]]:
    """A board, and its real checker process with small limits."""
    from tests.board.conftest import BoardMaker

    limits = {"NIKAWA_MAX_DOCUMENT": "16MB", "NIKAWA_MAX_LINE": "4MB", "NIKAWA_MAX_DECODED": "32MB"}
    changes = {"seconds = 120": "seconds = 20", "memory = 2048": "memory = 512"}
    with BoardMaker(hidden_data, tmp_path_factory.mktemp("isolated"), "") as make:  # type: ignore[arg-type]
        here = make(changes)
        checker = start_checker(here.board)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in limits.items():
                patch.setenv(name, value)
            receive_file(here.board, checker, here.answers(5), "a.jsonl", account="a", now=1.0)
        yield here, checker
        checker.close()


def zip_of(path: Path, names: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return path.read_bytes()


def hostile_file(kind: str, folder: Path) -> tuple[str, bytes]:
    """The name and content of a hostile file."""
    line = b'{"id": "x", "answer": "neutral"}\n'
    if kind == "gzip bomb":
        return "answers.jsonl.gz", gzip.compress(b" " * (64 << 20), 1)
    if kind == "parquet bomb":
        path = folder / "bomb.parquet"
        write_parquet_bomb(path, "dictionary")
        return path.name, path.read_bytes()
    if kind == "zip bomb":
        return "log.eval", zip_of(folder / "b.zip", {"samples/1.json": b" " * (64 << 20)})
    if kind == "path in an archive":
        names = {"../../escaped.json": line, "/tmp/escaped.json": line}
        return "log.eval", zip_of(folder / "p.zip", names)
    if kind == "link in an archive":
        info = zipfile.ZipInfo("samples/1.json")
        info.external_attr = 0o120777 << 16
        path = folder / "l.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(info, "/etc/passwd")
        return "log.eval", path.read_bytes()
    if kind == "too many rows":
        return "answers.jsonl.gz", gzip.compress(line * 300_000, 1)
    if kind == "huge line":
        return "answers.jsonl", b'{"id": "' + b"a" * (6 << 20)
    if kind == "deep nesting":
        return "answers.json", b"[" * 1_000_000
    if kind == "pickle":
        return (
            "answers.npy",
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        )
    if kind == "not text":
        return "answers.jsonl", bytes(range(256)) * 100
    return "../../../escaped\x1b[2J.jsonl", line


@pytest.mark.parametrize(
    "kind",
    [
        "gzip bomb",
        "parquet bomb",
        "zip bomb",
        "path in an archive",
        "link in an archive",
        "too many rows",
        "huge line",
        "deep nesting",
        "pickle",
        "not text",
        "path as name",
    ],
)
def test_a_hostile_file_is_refused_with_one_line(
    checked: tuple[BoardUnderTest, Helper], tmp_path: Path, kind: str
) -> None:
    """Nothing of it stays, nothing is written elsewhere, and the next file is checked as ever."""
    here, checker = checked
    name, content = hostile_file(kind, tmp_path)
    before = sorted(here.board.folder.rglob("*"))
    with pytest.raises(BadInput) as refused:
        receive_file(here.board, checker, content, name, account="a", now=here.now)
    message = str(refused.value)
    assert len(message.splitlines()) == 1
    assert len(message) < 1000
    assert ("has more than 120,000 lines" in message) == (kind == "too many rows")
    assert message.isprintable()
    assert "root:" not in message
    assert "NIKAWA_" not in message  # variables of the server are not theirs to set
    assert str(here.board.folder) not in message
    assert sorted(here.board.folder.rglob("*")) == before
    assert not list(here.board.folder.parent.parent.glob("escaped*"))
    good = receive_file(here.board, checker, here.answers(7), "a.jsonl", account="a", now=here.now)
    assert good.answered == 200


def test_a_file_that_is_too_large_is_not_written(checked: tuple[BoardUnderTest, Helper]) -> None:
    here, checker = checked
    with pytest.raises(BadInput, match="20 MB"):
        receive_file(here.board, checker, bytes(20_000_001), "a.jsonl", account="a", now=here.now)


# The scorer


def score_once(scorer: Helper, here: BoardUnderTest, right: int) -> float:
    """The true accuracy of answers, straight from the scorer."""
    lines = [json.loads(line) for line in here.answers(right).splitlines()]
    block = b"\n".join(
        json.dumps({"example": line["id"], "answer": line["answer"]}).encode() for line in lines
    )
    header = {"do": "score", "task": "tides", "split": "test"}
    answer = scorer.ask(Message(header, [block]))
    values = {one["metric"]: one["value"] for one in map(json.loads, answer.header["scores"])}
    return float(values["accuracy"])


def test_a_killed_scorer_is_started_again(make_sqlite_board: MakeBoard) -> None:
    here = make_sqlite_board()
    scorer = start_scorer(here.board)
    try:
        assert score_once(scorer, here, 100) == 50.0
        scorer.process.kill()  # type: ignore[attr-defined]
        scorer.process.wait()  # type: ignore[attr-defined]
        # nothing was asked yet when the old connection turned out to be lost
        assert score_once(scorer, here, 150) == 75.0
        with pytest.raises(HelperFailed) as refused:
            scorer.ask(Message({"do": "read", "task": "tides", "split": "test"}))
        assert str(refused.value).isprintable()
    finally:
        scorer.close()


def test_the_scorer_hands_out_no_label(make_sqlite_board: MakeBoard) -> None:
    """No answer of the scoring process has a label or says which item is right."""
    here = make_sqlite_board()
    scorer = start_scorer(here.board)
    labels = [b"entailment", b"contradiction"]
    answers = b'{"example": "strange", "answer": "neutral"}'
    try:
        for header in (
            {"do": "score", "task": "tides", "split": "test"},
            {"do": "noise", "task": "tides", "split": "test", "first": 1},
            {"do": "compare", "task": "tides", "split": "test", "first": 1},
            {"do": "labels"},
            {"do": "hello"},
            {"do": "score", "task": "other", "split": "test"},
            {"do": "../../keys", "task": "tides", "split": "test"},
            {},
        ):
            for blocks in ((), (answers, answers), (b"{", b"\xff"), (b"null", b"[]")):
                try:
                    answer = scorer.ask(Message(dict(header), blocks))
                    said = json.dumps(answer.header).encode() + b"".join(answer.blocks)
                except (HelperFailed, HelperGone) as problem:
                    said = str(problem).encode()
                assert not any(label in said for label in labels)
                assert not any(id.encode() in said for id in here.gold["test"])
    finally:
        scorer.close()
