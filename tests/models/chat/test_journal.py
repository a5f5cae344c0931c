"""What is kept on disk: nothing is lost or asked twice, the same bytes come out, and no key is in any of it."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.models.chat.journal import REPLIES_FILE, Journal, Reply
from nikawa.records import Example, Task

TASK = Task(
    name="own",
    dataset="own",
    kind="text",
    question="label",
    inputs=("text",),
    labels=("good", "bad"),
    metrics=(),
)
TEXTS = [
    Example(id=f"t{i}", inputs={"text": f"{i}番の店です"}, gold={"label": ("good", "bad")[i % 2]})
    for i in range(20)
]


def parity(question: str) -> str:
    return "AB"[int(question.rpartition(": ")[2].partition("番")[0]) % 2]


def test_a_finished_run_asks_nothing(server: Any, chat: Any, tmp_path: Path) -> None:
    server.brain = parity
    first = chat(tmp_path).predict(TASK, TEXTS)
    asked, probed = len(server.asked), len(server.probed)
    model = chat(tmp_path, base_url=server.url + "/")
    assert model.predict(TASK, TEXTS) == first
    assert (len(server.asked), len(server.probed)) == (asked, probed)
    assert (model.usage["requests"], model.usage["tokens_in"]) == (22, 220)


def test_torn_lines_are_passed_over(server: Any, chat: Any, tmp_path: Path) -> None:
    server.brain = parity
    first = chat(tmp_path).predict(TASK, TEXTS)
    journal = tmp_path / REPLIES_FILE
    journal.write_bytes(journal.read_bytes()[:-20])
    assert chat(tmp_path).predict(TASK, TEXTS) == first
    assert len(server.asked) == 21
    lines = journal.read_bytes().splitlines()
    journal.write_bytes(b"\n".join([b"\xff\xfe", lines[0], b"[]", *lines[1:], b""]))
    assert chat(tmp_path).predict(TASK, TEXTS) == first
    assert len(server.asked) == 21


def test_a_shared_folder_serves_other_runs_for_nothing(
    server: Any, chat: Any, tmp_path: Path
) -> None:
    shared = str(tmp_path / "shared")
    prices = {"price_in": 1.0, "cache": shared}
    first = chat(tmp_path / "one", **prices)
    second = chat(tmp_path / "two", seed=1, **prices)
    assert first.predict(TASK, TEXTS) == second.predict(TASK, TEXTS)
    assert len(server.asked) == 20
    assert (second.usage["requests"], second.usage["kept"], second.usage["cost"]) == (0, 22, 0.0)
    assert first.usage["cost"] == pytest.approx(220e-6)


def test_a_shared_folder_that_is_the_runs_own(server: Any, chat: Any, tmp_path: Path) -> None:
    chat(tmp_path, cache=str(tmp_path)).predict(TASK, TEXTS)
    assert len((tmp_path / REPLIES_FILE).read_bytes().splitlines()) == 22


def test_what_differs_is_asked_anew(server: Any, chat: Any, tmp_path: Path) -> None:
    chat(tmp_path).predict(TASK, TEXTS[:1])
    chat(tmp_path, seed=1).predict(TASK, TEXTS[:1])
    assert len(server.asked) == 1
    for change in (
        {"temperature": 0.7},
        {"temperature": 0.7, "seed": 1},
        {"extra": {"top_p": 0.9}},
    ):
        chat(tmp_path, **change).predict(TASK, TEXTS[:1])
    assert len(server.asked) == 4
    assert [body.get("seed") for body in server.asked] == [None, 0, 1, None]
    assert server.asked[-1]["top_p"] == 0.9


def test_the_same_question_is_asked_once(server: Any, chat: Any) -> None:
    server.delay = 0.01
    twins = [Example(id=f"x{i}", inputs={"text": "同じ文です"}) for i in range(10)]
    assert len({p.answer for p in chat(concurrency=10).predict(TASK, twins)}) == 1
    assert len(server.asked) == 1


def test_the_same_bytes_whatever_the_order(server: Any, chat: Any) -> None:
    server.brain = parity

    def shaken(number: int, question: str) -> None:
        time.sleep((number * 7 % 5) / 500)

    made = []
    for concurrency in (1, 3, 16):
        server.trouble = shaken
        model = chat(concurrency=concurrency, shots=3, seed=5)
        model.fit(TASK, TEXTS)
        made.append(msgspec.json.encode(model.predict(TASK, TEXTS)))
    assert made[0] == made[1] == made[2]
    assert [json.loads(made[0])[i]["answer"] for i in (0, 1)] == ["good", "bad"]


KILLED = """
import sys
from pathlib import Path
from nikawa.models import model
from nikawa.records import Example, Task
task = Task(name="own", dataset="own", kind="text", question="label", inputs=("text",), labels=("good", "bad"), metrics=())
texts = [Example(id=f"t{i}", inputs={"text": f"{i}番の店です"}) for i in range(20)]
settings = {"base_url": sys.argv[1], "concurrency": 2}
model("chat:some/model", settings=settings, folder=Path(sys.argv[2])).predict(task, texts)
"""


@pytest.mark.slow
def test_killed_halfway(server: Any, chat: Any, tmp_path: Path) -> None:
    killed = threading.Event()

    def keep_waiting(number: int, question: str) -> None:
        """Leave the last questions without an answer, so that the child is not done before it is killed."""
        if number > 12:
            killed.wait(120)

    server.brain, server.trouble = parity, keep_waiting
    child = subprocess.Popen([sys.executable, "-c", KILLED, server.url, str(tmp_path)])
    while len(server.asked) < 8 and child.poll() is None:
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    killed.set()
    assert child.wait() == -signal.SIGKILL
    while server.busy:
        time.sleep(0.005)
    with Journal(tmp_path) as journal:
        kept = len(journal.replies) - 2
    assert 0 < kept < 20
    server.trouble, server.asked = lambda number, question: None, []
    found = chat(tmp_path).predict(TASK, TEXTS)
    assert len(server.asked) == 20 - kept
    assert [p.answer for p in found] == [e.gold["label"] for e in TEXTS]


def test_progress_and_an_honest_end(server: Any, chat: Any, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    chat(progress=lambda *word: seen.append(word)).predict(TASK, TEXTS)
    assert seen[-1] == ("querying chat:some/model", 20, 20)
    assert [done for _, done, _ in seen] == list(range(1, 21))


def test_a_folder_that_cannot_be_written(server: Any, chat: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        chat(tmp_path / "file").predict(TASK, TEXTS)
    full = Journal(None)
    full.path, full._descriptor = tmp_path / "full", os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match=r"No space left.*full"):
        full.add(Reply(key="k"))
    os.close(full._descriptor)


def everything(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("auth", ["bearer", "api-key", "basic"])
def test_the_key_is_sent_and_nowhere_else(
    server: Any,
    chat: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    auth: str,
) -> None:
    secret = "user:pass-0123456789" if auth == "basic" else "sk-loop-0123456789"
    monkeypatch.setenv("MY_KEY", secret)
    caplog.set_level(logging.DEBUG)
    escaped = "".join(f"\\u{ord(c):04x}" for c in secret)
    server.brain = lambda question: f"{secret} B"

    def leak(number: int, question: str) -> Any:
        echo = {0: f'{{"error": "key {secret}"}}', 1: f'{{"error": {{"message": "{escaped}"}}}}'}
        return (500, {"X-Key": secret}, echo[number].encode()) if number in echo else None

    server.trouble = leak
    model = chat(tmp_path, key_env="MY_KEY", auth=auth, how="parse", cache=str(tmp_path / "c"))
    found = model.predict(TASK, TEXTS[:3])
    server.trouble = lambda number, question: leak(number % 2, question)
    with pytest.raises(BadInput) as failed:
        chat(tmp_path, key_env="MY_KEY", auth=auth, how="parse", retries=1).predict(TASK, TEXTS)
    sent = server.headers[0]
    assert (sent.get("authorization") or sent.get("api-key")) in (
        f"Bearer {secret}",
        secret,
        "Basic dXNlcjpwYXNzLTAxMjM0NTY3ODk=",
    )
    told = [
        everything(tmp_path),
        caplog.text,
        str(failed.value),
        repr(failed.value.__context__),
        repr(model),
        str(model.about()),
        str(found),
        str(vars(model)),
    ]
    for part in (secret, secret[-10:], "dXNlcjpwYXNz"):
        assert not [text for text in told if part in text]
    assert part not in str(pickle.dumps(found))
    assert "[key]" in str(found[0].raw)


def test_without_a_key_none_is_sent(server: Any, chat: Any) -> None:
    chat().predict(TASK, TEXTS[:1])
    assert not {"authorization", "api-key"} & {*server.headers[0]}


def test_keys_that_are_none(server: Any, chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ключ")
    with pytest.raises(
        BadInput,
        match="the key in OPENAI_API_KEY contains characters that are not allowed in a key",
    ) as problem:
        chat().predict(TASK, TEXTS[:1])
    assert "ключ" not in str(problem.value)
    with pytest.raises(BadInput, match="name of an environment variable, not a key") as problem:
        chat(key_env="sk-0123456789")
    assert "0123456789" not in str(problem.value)
    with pytest.raises(
        BadInput, match=r"base_url http://\*\*\*@host/v1 contains a password"
    ) as problem:
        chat(base_url="http://me:hush@host/v1")
    assert "hush" not in str(problem.value)
