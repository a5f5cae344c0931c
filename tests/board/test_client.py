"""The client against servers that misbehave: what is sent again, which errors users see, and where the token goes."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.board.client import (
    AnswersToSend,
    BoardClient,
    SubmitOptions,
    check_limits,
    find_task_name,
    list_answers,
    make_new_system,
    parse_address,
    read_token,
    sends_in_clear,
    submission_key,
    submit,
)
from nikawa.board.interface import (
    BoardInfo,
    LimitsInfo,
    Remaining,
    SentFile,
    SubmissionState,
    SubmissionTaken,
    TaskInfo,
)
from nikawa.errors import BadInput

TOKEN = "nikawa-secret-token-1"
TASKS = tuple(
    TaskInfo(
        task="toy-label",
        dataset="toy",
        question="label",
        split=split,
        role=role,  # type: ignore[arg-type]
        items=3,
        metrics=("accuracy",),
    )
    for split, role in (("test", "public"), ("final", "final"))
)
INFO = BoardInfo(
    api=1,
    title="Toy",
    state="open",
    opens=None,
    closes=None,
    reveal_names=None,
    who="open",
    limits=LimitsInfo(per_day=3, in_all=10, max_seeds=2, max_bytes=1000),
    tasks=TASKS,
)
Answer = tuple[int, Any]


class FakeBoard:
    """Answers in a given order, and remembers what was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer | str] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.location = ""
        board = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                board.asked.append((self.command, self.path, dict(self.headers), body))
                answer = board.answers.pop(0)
                if isinstance(answer, str):  # hang up
                    self.close_connection = True
                    return
                status, value = answer
                data = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
                self.send_response(status)
                if board.location:
                    self.send_header("Location", board.location)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_args: Any) -> None:
                """No log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@contextmanager
def fake_board() -> Iterator[FakeBoard]:
    board = FakeBoard()
    try:
        yield board
    finally:
        board.close()


@pytest.fixture
def board() -> Iterator[FakeBoard]:
    with fake_board() as made:
        yield made


def client_of(board: FakeBoard, **how: Any) -> BoardClient:
    return BoardClient(board.url, TOKEN, sleep=lambda _seconds: None, **how)


def sent(upload: str, seed: int | None = None) -> SentFile:
    return SentFile(
        upload=upload,
        name="a.jsonl",
        task="toy-label",
        split="test",
        seed=seed,
        digest=f"digest of {upload}",
        bytes=3,
        answers=3,
    )


def taken(duplicate: bool = False) -> SubmissionTaken:
    left = (Remaining(task="toy-label", today=2, in_all=9),)
    return SubmissionTaken(submission="sub1", system="sys1", duplicate=duplicate, remaining=left)


def test_a_lost_connection_is_tried_again_with_the_same_key(
    board: FakeBoard, tmp_path: Path
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\n')
    reasons: list[str] = []
    board.answers = [
        (200, INFO),
        *("hang up", (200, sent("u1"))),
        *((503, "busy"), (200, taken(duplicate=True))),
    ]
    report = submit(
        board.url,
        [file],
        token=TOKEN,
        options=SubmitOptions(name="A"),
        on_retry=reasons.append,
        sleep=lambda _seconds: None,
    )
    assert (report.submission, report.is_duplicate) == ("sub1", True)
    assert len(reasons) == 2
    asked = [path.partition("?")[0] for _, path, _, _ in board.asked]
    assert asked == [
        "/api/v1/board",
        *["/api/v1/uploads"] * 2,
        *["/api/v1/submissions"] * 2,
    ]
    assert board.asked[1][3] == board.asked[2][3] == file.read_bytes()
    keys = [json.loads(body)["key"] for *_, body in board.asked[3:]]
    assert keys[0] == keys[1] == submission_key("A", [sent("u1")])
    assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, _, headers, _ in board.asked)


def test_the_key_is_made_of_the_content() -> None:
    one, other = sent("u1", 0), msgspec.structs.replace(sent("u1", 0), upload="u2")
    assert submission_key("A", [one]) == submission_key("A", [other])
    assert submission_key("A", [one]) != submission_key("B", [one])
    assert submission_key("A", [one]) != submission_key("A", [sent("u3", 0)])


def test_a_server_that_stays_away_ends_in_one_line(board: FakeBoard) -> None:
    board.answers = [(503, "busy")] * 10
    with pytest.raises(BadInput, match=r"does not answer \(status 503\); try again later"):
        client_of(board).info()
    assert len(board.asked) == 6


def test_the_token_is_sent_to_no_other_host(board: FakeBoard) -> None:
    with fake_board() as other:
        board.location, board.answers = f"{other.url}/api/v1/board", [(307, "")]
        with pytest.raises(BadInput, match=r"redirects to http://127\.0\.0\.1") as problem:
            client_of(board).info()
        assert other.asked == []
    assert TOKEN not in str(problem.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {"error": "not_allowed", "message": "No"}), "refuses the token; make a token at"),
        ((200, "<html>"), "is not a leaderboard of nikawa board; check the address"),
        ((404, "<html>"), "is not a leaderboard of nikawa board"),
        (
            (403, {"error": "board_closed", "message": "The board is closed."}),
            "The board is closed",
        ),
        (
            (422, {"error": "x", "message": "has two answers", "line": 3, "cure": "remove one"}),
            "line 3: has two answers; remove one",
        ),
    ],
)
def test_what_the_board_refuses_is_one_line(board: FakeBoard, answer: Answer, message: str) -> None:
    board.answers = [answer]
    with pytest.raises(BadInput) as problem:
        client_of(board).info()
    assert message in str(problem.value)
    assert TOKEN not in str(problem.value)


def test_a_port_where_nothing_listens(board: FakeBoard) -> None:
    board.close()
    with pytest.raises(BadInput, match=r"no server answers at http://127\.0\.0\.1"):
        client_of(board).info()


def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_more: Any) -> None:  # a resolver may take its time
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    client = BoardClient("http://board.invalid", TOKEN, sleep=lambda _seconds: None)
    with pytest.raises(BadInput, match=r"there is no host 'board\.invalid'"):
        client.info()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_must_be_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=board"
    names = f"-addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *words.split(), *names.split()], check=True, capture_output=True)
    with fake_board() as board:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        board.server.socket = context.wrap_socket(board.server.socket, server_side=True)
        url = board.url.replace("http:", "https:")
        with pytest.raises(BadInput, match=r"the certificate of .* is not valid") as problem:
            BoardClient(url, TOKEN, sleep=lambda _seconds: None).info()
        assert "SSL_CERT_FILE" in str(problem.value)
        assert board.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        board.answers = [(200, INFO)]
        assert BoardClient(url, TOKEN, sleep=lambda _seconds: None).info() == INFO


def test_https_to_a_board_without_tls(board: FakeBoard) -> None:
    url = board.url.replace("http:", "https:")
    with pytest.raises(BadInput, match="does not use TLS; pass the address with http://"):
        BoardClient(url, TOKEN, sleep=lambda _seconds: None).info()


def test_waiting_ends_with_the_result(board: FakeBoard) -> None:
    def state(of: Any) -> Answer:
        shown = SubmissionState(
            submission="s",
            system="y",
            name="A",
            received="2026-01-01T00:00:00Z",
            state=of,
            expected="2026-01-01T00:05:00Z",
        )
        return 200, shown

    board.answers = [state("received"), state("received"), state("scored")]
    seen: list[str] = []
    assert client_of(board).wait("s", lambda one: seen.append(one.state)).state == "scored"
    assert seen == ["received", "received", "scored"]


@pytest.mark.parametrize(
    "url", ["ftp://x", "https://", "https://user:pass@x", "https://x/?a=b", "http://x:99999999"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(BadInput, match="is not the address of a board"):
        parse_address(url)


def test_an_address_without_a_scheme_is_https() -> None:
    assert parse_address("board.example/") == "https://board.example"
    assert not sends_in_clear("board.example")


def test_the_token_comes_from_the_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NIKAWA_BOARD_TOKEN", raising=False)
    with pytest.raises(BadInput, match="there is no token; make one on the page My systems"):
        read_token(None)
    monkeypatch.setenv("NIKAWA_BOARD_TOKEN", "from-there\n")
    assert (read_token(None), read_token("given")) == ("from-there", "given")
    with pytest.raises(BadInput, match="characters that no token has"):
        BoardClient("https://x", "a\nb")
    assert "given" not in repr(BoardClient("https://x", "given"))


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("seed1.jsonl", "seed0.jsonl", "notes.md", ".hidden.jsonl"):
        (tmp_path / name).write_text("{}\n")
    files, model = list_answers([tmp_path], INFO)
    assert [file.path.name for file in files] == ["seed0.jsonl", "seed1.jsonl"]
    assert model == ""
    with pytest.raises(BadInput, match="no such file or folder"):
        list_answers([tmp_path / "none"], INFO)
    with pytest.raises(BadInput, match=r"3 seeds of toy-label; the board takes 2"):
        check_limits([AnswersToSend(tmp_path / "seed0.jsonl", "toy-label")] * 3, INFO)
    (tmp_path / "seed0.jsonl").write_text("x" * 2000)
    with pytest.raises(BadInput, match=r"more than 0 MB"):
        check_limits(files, INFO)


def test_the_task_of_a_run_on_a_copy_of_the_dataset() -> None:
    assert find_task_name("toy-label", TASKS) == "toy-label"
    assert find_task_name("my-copy-label", TASKS) == "toy-label"
    assert find_task_name("my-copy-other", TASKS) == ""


def test_a_system_needs_a_name() -> None:
    links = ("Paper=https://example.org/a=b", "https://example.org/code?x=1")
    made = make_new_system(SubmitOptions(licence="MIT", links=links), "char-linear")
    assert (made.name, made.licence) == ("char-linear", "MIT")
    assert [(link.title, link.address) for link in made.links] == [
        ("Paper", "https://example.org/a=b"),
        ("", "https://example.org/code?x=1"),
    ]
    with pytest.raises(BadInput, match="the system has no name; pass --name NAME"):
        make_new_system(SubmitOptions(), "")
    with pytest.raises(BadInput, match="is no link; write TITLE=https"):
        make_new_system(SubmitOptions(links=("ftp://x",)), "m")


def test_a_result_that_is_months_away_is_not_waited_for(board: FakeBoard) -> None:
    state = SubmissionState(
        submission="s", system="y", name="A", received="", state="received", expected=None
    )
    board.answers = [(200, state), (200, msgspec.structs.replace(state, expected="2999-01-01"))]
    assert client_of(board).wait("s").state == "received"
    assert client_of(board).wait("s").expected == "2999-01-01"
