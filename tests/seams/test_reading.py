"""From what a model wrote to its score: one reading in `chat:`, `replay:`, `score` and `compare`.

The server on the loopback gives each question the reply of a table, as a model of ours would word
it; the same replies go through a file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nikawa.datasets import load, tasks
from nikawa.io.answers import extract
from nikawa.records import Example

Nikawa = Callable[..., CompletedProcess[str]]

NLI_REPLIES = [
    "したがって答えは「中立」です。",
    '정답은 "모순"입니다',
    "答えは中立です。",
    "<think>答えは含意かな。</think>\n仮説は前提と矛盾しています。",
    "**中立**",
    "The answer is not contradiction but entailment.",
    "まず含意の定義を確認します。",
    "含意か矛盾か、判断できません。",
    '{"reason": "矛盾はない", "label": "entailment"}',
]
NLI_READINGS = [
    "neutral",
    "contradiction",
    "neutral",
    "contradiction",
    "neutral",
    "entailment",
    None,
    None,
    "entailment",
]


def examples_of(task: str) -> list[Example]:
    asked = tasks()[task]
    return [e for e in load(asked.dataset).splits["test"] if asked.asks(e)]


def write_replies(path: Path, task: str, replies: list[str], key: str = "answer") -> Path:
    pairs = zip(examples_of(task), replies, strict=True)
    rows = [json.dumps({"id": e.id, key: reply}, ensure_ascii=False) for e, reply in pairs]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


class ReplyServer(ThreadingHTTPServer):
    """Answers a question that holds a known text with its reply."""

    daemon_threads = True

    def __init__(self, replies: dict[str, str]) -> None:
        self.replies, self.bodies = replies, list[dict[str, Any]]()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each body waits 40 ms until its header is acknowledged
    server: ReplyServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = request["messages"][-1]["content"]
        self.server.bodies.append(request)
        matches = [reply for text, reply in self.server.replies.items() if text in question]
        body = json.dumps({"choices": [{"message": {"content": (matches or ["A"])[0]}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], ReplyServer]]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    started: list[ReplyServer] = []

    def start(replies: dict[str, str]) -> ReplyServer:
        server = ReplyServer(replies)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def stored_answers(out: Path) -> list[Any]:
    [file] = out.glob("*/predictions/*.jsonl")
    return [json.loads(line)["answer"] for line in file.read_text("utf-8").splitlines()]


def test_a_reply_is_read_the_same_everywhere(
    nikawa: Nikawa, serve: Callable[[dict[str, str]], ReplyServer], tmp_path: Path
) -> None:
    asked = examples_of("mini-ja-nli")
    server = serve({e.inputs["hypothesis"]: r for e, r in zip(asked, NLI_REPLIES, strict=True)})
    file = write_replies(tmp_path / "a.jsonl", "mini-ja-nli", NLI_REPLIES)
    chat = ("--model", "chat:m", "--base-url", server.url, "--set", "how=parse")
    for name, model in {"chat": chat, "replay": ("--model", f"replay:{file}")}.items():
        ended = nikawa("run", *model, "--tasks", "mini-ja-nli", "--out", str(tmp_path / name))
        assert ended.returncode == 0, ended.stderr
        assert stored_answers(tmp_path / name) == NLI_READINGS, name
        assert "7 of 9 (77.8%)" in ended.stdout
        assert "2 of 9 items have no answer" in ended.stdout
    ended = nikawa("score", "mini-ja-nli", str(file), "--json", "--show-reading")
    report = json.loads(ended.stdout)
    assert [row["reading"] for row in report["readings"]] == NLI_READINGS
    assert report["unparsed"] == 2
    ended = nikawa("score", "mini-ja-nli", str(file))
    assert "2 unreadable (22.2%)" in ended.stdout
    assert "mentioned only: '含意' is not given as the answer" in ended.stdout


def test_plain_answers_score_as_they_did(nikawa: Nikawa, tmp_path: Path) -> None:
    """A word, a label, a number and a text to the letter: nothing is read into them."""
    plain = ["entailment", "矛盾", "NEUTRAL", "중립", "「含意」", "yes", "neutral.", "モ", "no"]
    file = write_replies(tmp_path / "plain.jsonl", "mini-ja-nli", plain)
    report = json.loads(nikawa("score", "mini-ja-nli", str(file), "--json").stdout)
    assert (report["answered"], report["unparsed"]) == (8, 1)
    words = ["「十一時」", "答えなし", "月には空気も液体の水もないため。", ""]
    file = write_replies(tmp_path / "words.jsonl", "mini-ja-qa", words)
    ended = nikawa("score", "mini-ja-qa", str(file), "--json", "--show-reading")
    assert [row["reading"] for row in json.loads(ended.stdout)["readings"]] == words


def test_an_expression_takes_the_answer_out(
    nikawa: Nikawa, serve: Callable[[dict[str, str]], ReplyServer], tmp_path: Path
) -> None:
    replies = [
        f"A と B を比べた。\n#### 甲[{letter}] 乙<{choice}> 以上"
        for letter, choice in zip("ABCD", "CBCD", strict=True)
    ]
    task, asked = "mini-ja-choice", examples_of("mini-ja-choice")
    file = write_replies(tmp_path / "cot.jsonl", task, replies, "prediction")
    ended = nikawa("score", task, str(file))
    assert ended.returncode == 2
    assert "none of the answers can be read" in ended.stderr
    chain = ("--extract", r"乙<.>", "--extract", r"<(.)>")
    ended = nikawa("score", task, str(file), *chain, "--json", "--show-reading")
    report = json.loads(ended.stdout)
    assert [row["reading"] for row in report["readings"]] == [2, 1, 2, 3]
    assert {row["pattern"] for row in report["readings"]} == {"extract, whole"}
    other = write_replies(tmp_path / "other.jsonl", task, ["<A>", "<B>", "<C>", "nichts"])
    ended = nikawa("compare", str(file), str(other), "--task", task, "--extract", r"<(.)>")
    assert ended.returncode == 0, ended.stderr
    assert "unreadable" in ended.stdout
    assert "25.0%" in ended.stdout
    server = serve({e.inputs["question"]: r for e, r in zip(asked, replies, strict=True)})
    chat = ("--model", "chat:m", "--base-url", server.url)
    for name, model in {"chat": chat, "replay": ("--model", f"replay:{file}")}.items():
        out = tmp_path / name
        ended = nikawa("run", *model, "--tasks", task, "--out", str(out), *chain)
        assert ended.returncode == 0, ended.stderr
        assert stored_answers(out) == [2, 1, 2, 3], name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--extract", "(A"), "'(A' is not a regular expression"),
        (("--extract", ""), "--extract is empty"),
    ],
)
def test_a_bad_expression_is_one_line(
    nikawa: Nikawa, tmp_path: Path, words: tuple[str, str], message: str
) -> None:
    file = write_replies(tmp_path / "a.jsonl", "mini-ja-nli", NLI_REPLIES)
    commands = (
        ("score", "mini-ja-nli", str(file)),
        ("compare", str(file), f"b={file}", "--task", "mini-ja-nli"),
        (
            "run",
            "--model",
            f"replay:{file}",
            "--tasks",
            "mini-ja-nli",
            "--out",
            str(tmp_path / "r"),
        ),
    )
    for command in commands:
        ended = nikawa(*command, *words)
        assert ended.returncode == 2
        assert message in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "r").exists()
    ended = nikawa("run", "--model", "majority", "--tasks", "mini-ja-nli", "--extract", "A")
    assert "majority has no replies to extract answers from" in ended.stderr


def test_an_expression_that_never_ends_is_stopped(
    nikawa: Nikawa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "MAX_SECONDS", 0.3)
    file = write_replies(tmp_path / "a.jsonl", "mini-ja-nli", ["a" * 60 + "!"] * 9)
    ended = nikawa("score", "mini-ja-nli", str(file), "--extract", "(a+)+b")
    assert ended.returncode == 2
    assert "takes more than 0.3 s on one text" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_what_was_read_from_what_is_shown(nikawa: Nikawa, tmp_path: Path) -> None:
    replies = [*NLI_REPLIES[:8], "\x1b[31m答えは含意です。" + "長い説明。" * 100]
    file = write_replies(tmp_path / "a.jsonl", "mini-ja-nli", replies)
    run = ("run", "--model", f"replay:{file}", "--tasks", "mini-ja-nli")
    out = ("--out", str(tmp_path / "runs"))
    for command in (("score", "mini-ja-nli", str(file)), (*run, *out)):
        ended = nikawa(*command, "--show-reading")
        assert "pattern or reason" in ended.stdout
        assert "cue" in ended.stdout
        assert "\x1b" not in ended.stdout
        assert r"\x1b" in ended.stdout
        assert "長い説明。" * 20 not in ended.stdout
    [stored] = json.loads(nikawa(*run, *out, "--show-reading", "--json").stdout)["readings"]
    readings = [row["reading"] for row in stored["readings"]]
    assert readings == [*NLI_READINGS[:8], "entailment"]
    assert "readings" not in json.loads(nikawa(*run, *out, "--json").stdout)
    assert "readings" not in json.loads(nikawa("score", "mini-ja-nli", str(file), "--json").stdout)


def test_unreadable_answers_have_a_panel_in_the_report(nikawa: Nikawa, tmp_path: Path) -> None:
    file = write_replies(tmp_path / "a.jsonl", "mini-ja-nli", NLI_REPLIES)
    runs, page = tmp_path / "runs", tmp_path / "report"
    run = ("run", "--model", f"replay:{file}", "--model", "majority", "--tasks", "mini-ja-nli")
    assert nikawa(*run, "--out", str(runs)).returncode == 0
    ended = nikawa("report", str(runs), "--out", str(page))
    assert ended.returncode == 0, ended.stderr
    html = next(page.glob("*.html")).read_text("utf-8")
    assert "Unreadable answers" in html
    assert "22.2%" in html
    assert "まず含意の定義を確認します。" in html
    assert "is not given as the answer" in html


def test_prompts_say_what_their_dataset_asks(
    nikawa: Nikawa, serve: Callable[[dict[str, str]], ReplyServer], tmp_path: Path
) -> None:
    """JSQuAD's has no way out and no title twice, KLUE-MRC's has one."""
    root = tmp_path / "data"
    jsquad = root / "jglue" / "datasets" / "jsquad-v1.3" / "valid-v1.3.json"
    jsquad.parent.mkdir(parents=True)
    question = {
        "id": "a1p0q0",
        "question": "塔の色は？",
        "answers": [{"text": "白", "answer_start": 14}],
        "is_impossible": False,
    }
    context = "霧島灯台 [SEP] 塔は白い。守は三人。"
    article = {"title": "霧島灯台", "paragraphs": [{"context": context, "qas": [question]}]}
    jsquad.write_text(json.dumps({"version": "1.3", "data": [article]}), "utf-8")
    mrc = root / "klue" / "klue_benchmark" / "klue-mrc-v1.1" / "klue-mrc-v1.1_dev.json"
    mrc.parent.mkdir(parents=True)
    korean = {
        "guid": "klue-mrc-v1_dev_00000",
        "question": "탑의 색은?",
        "answers": [{"text": "희다", "answer_start": 3}],
        "question_type": 1,
        "is_impossible": False,
    }
    passage = {
        "title": "등대",
        "news_category": "사회",
        "source": "acrofan",
        "paragraphs": [{"context": "탑은 희다.", "qas": [korean]}],
    }
    mrc.write_text(json.dumps({"version": "v1.1", "data": [passage]}), "utf-8")
    server = serve({"塔の色": "白", "탑의 색": "답 없음"})
    chat = ("--model", "chat:m", "--base-url", server.url, "--set", "how=parse")
    prompts = {}
    for task in ("jsquad", "klue-mrc"):
        server.bodies.clear()
        command = (
            "run",
            *chat,
            "--tasks",
            task,
            "--data",
            str(root),
            "--out",
            str(tmp_path / task),
        )
        ended = nikawa(*command)
        assert ended.returncode == 0, ended.stderr
        prompts[task] = "\n".join(m["content"] for m in server.bodies[-1]["messages"])
    assert "[SEP]" not in prompts["jsquad"]
    assert prompts["jsquad"].count("霧島灯台") == 1
    assert "答えなし" not in prompts["jsquad"]
    assert "답 없음" in prompts["klue-mrc"]
    assert stored_answers(tmp_path / "jsquad") == ["白"]
    assert stored_answers(tmp_path / "klue-mrc") == [""]


def test_a_new_wording_of_a_prompt_makes_another_run(tmp_path: Path) -> None:
    from nikawa.models.chat.prompts import find_prompt_version

    own = tmp_path / "own.txt"
    for task in ("jsquad", "jsick-nli", "jsick-sts", "jsick-stress-nli", "jamp"):
        name = f"{task}.ja.txt"
        assert find_prompt_version(tasks()[task], {}).keys() == {name}
        assert find_prompt_version(tasks()[task], {"prompt": str(own)}) == {}
    for task in ("jnli", "jsts", "klue-mrc", "klue-nli", "jcommonsenseqa", "mini-ja-nli"):
        assert find_prompt_version(tasks()[task], {}) == {}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("jsick-nli", "同じ一つの場面や出来事"),
        ("jsick-sts", "同じ一つの場面や出来事"),
        ("jsick-stress-nli", "不自然な文"),
        ("jamp", "日付や時刻は暦と時計のとおりに"),
    ],
)
def test_guidelines_of_a_paper_are_in_its_prompt(task: str, words: str) -> None:
    from nikawa.models.chat.prompts import find_template

    assert words in "\n".join(find_template(tasks()[task], "ja").system)
