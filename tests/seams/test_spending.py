"""From a command to the bill: what a server charges is what the command may spend, prints and stores.

The server is a real one on the loopback, which counts what it bills.
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

LABELS = ("entailment", "neutral", "contradiction")
PRICES = ("--set", "price_in=1000", "--set", "price_out=1000")
Nikawa = Callable[..., CompletedProcess[str]]


class BillingServer(ThreadingHTTPServer):
    """Answers every chat request with `text` and bills 400 tokens for the question, 2 for the answer."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        self.text = "A"
        self.requests: list[dict[str, Any]] = []
        self.refuses: Callable[[int], int] = lambda number: 0
        self.reports_usage = True
        self.usage: dict[str, Any] = {"prompt_tokens": 400, "completion_tokens": 2}
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def billed(self) -> float:
        """At 1,000 a million tokens."""
        return 0.402 * len(self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each body waits 40 ms until its header is acknowledged
    server: BillingServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            status = self.server.refuses(len(self.server.requests)) or 200
            if status == 200:
                self.server.requests.append(request)
            else:
                self.server.refuses = lambda number: 0
        value: dict[str, Any] = {"choices": [{"message": {"content": self.server.text}}]}
        if self.server.reports_usage:
            value["usage"] = self.server.usage
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BillingServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with BillingServer() as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield http
        http.shutdown()
        thread.join()


@pytest.fixture
def only_dev(tmp_path: Path) -> str:
    """A dataset of one set, which is answered in five folds."""
    path = tmp_path / "dev.jsonl"
    lines = [
        {
            "id": f"n{i}",
            "inputs": {"premise": f"公園を{i}人が歩いている。", "hypothesis": "人がいる。"},
            "gold": {"label": LABELS[i % 3]},
        }
        for i in range(20)
    ]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return str(path)


@pytest.fixture
def run(nikawa: Nikawa, server: BillingServer, tmp_path: Path) -> Nikawa:
    """`nikawa run` of a chat model that is shown one example, so that it is asked in folds."""

    def call(task: str, *words: str) -> CompletedProcess[str]:
        return nikawa(
            *("run", "--model", "chat:m", "--base-url", server.url, "--tasks", task, *PRICES),
            *("--set", "how=parse", "--set", "wait=0.001", "--out", str(tmp_path / "runs")),
            *("--workers", "1", *words),
        )

    return call


def read_usages(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(path.read_text("utf-8"))["model"]["usage"]
        for path in sorted(folder.glob("*/about.json"))
    ]


def test_the_bill_of_all_folds_is_in_the_file_the_table_and_the_json(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    done = run(only_dev, "--set", "shots=1")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 25  # 20 items, and in each fold a question about the server
    [usage] = read_usages(tmp_path / "runs")
    assert usage["cost"] == pytest.approx(server.billed)
    assert (usage["requests"], usage["tokens_in"], usage["tokens_out"]) == (25, 10_000, 50)
    assert "10,000" in done.stdout
    assert "10.0500" in done.stdout
    again = run(only_dev, "--set", "shots=1", "--json")
    [row] = json.loads(again.stdout)["usage"]
    assert (row["requests"], row["cost"], row["retries"]) == (25, 10.05, 0)


def test_a_budget_holds_for_folds_seeds_and_settings_together(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    words = ("--set", "shots=1", "--seeds", "2", "--set", "temperature=1", "--set", "budget=9")
    stopped = run(only_dev, *words)
    assert stopped.returncode != 0
    assert 5 < server.billed <= 9
    assert f"{server.billed:.4f} is spent by the 2 runs of the command" in stopped.stderr
    before = server.billed
    again = run(only_dev, *words)  # what was paid before counts: a start again pays nothing more
    assert again.returncode != 0
    assert server.billed == before
    words = (*words[:-1], "budget=100")
    done = run(only_dev, *words, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["spent"] == pytest.approx(server.billed)
    assert sum(row["cost"] for row in report["usage"]) == pytest.approx(server.billed)
    costs = [usage["cost"] for usage in read_usages(tmp_path / "runs")]
    assert len(costs) == 2
    assert sum(costs) == pytest.approx(server.billed)
    assert server.billed == pytest.approx(50 * 0.402)  # nothing was asked twice


@pytest.mark.slow
def test_a_budget_holds_for_all_processes(
    server: BillingServer, run: Nikawa, only_dev: str
) -> None:
    words = ("--seeds", "3", "--set", "temperature=1", "--set", "budget=9", "--workers", "3")
    stopped = run(only_dev, *words)
    assert stopped.returncode != 0
    # This server bills 400 tokens for a test request that has fewer bytes, which no budget can
    # foresee. A process that starts late may send one when little of the budget is left.
    sizes = [len(json.dumps(r, ensure_ascii=False).encode()) for r in server.requests]
    limits = [r["max_tokens"] for r in server.requests]
    foreseen = [(size + limit) / 1000 for size, limit in zip(sizes, limits, strict=True)]
    excess = sum(max(0.0, 0.402 - cost) for cost in foreseen)
    assert 4 < server.billed <= 9 + excess


def test_a_budget_holds_where_the_server_counts_no_tokens(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    server.reports_usage = False
    stopped = run(only_dev, "--set", "budget=5")
    assert stopped.returncode != 0
    assert 0 < len(server.requests) < 20
    done = run(only_dev, "--set", "budget=500")
    assert "replies without a token count, estimated at the maximum" in done.stdout
    [usage] = read_usages(tmp_path / "runs")
    assert usage["cost"] == 0
    assert usage["cost_unmetered"] > 5


@pytest.mark.parametrize(
    "usage",
    [
        {"completion_tokens": 2},
        {"prompt_tokens": -400, "completion_tokens": 2},
        {"prompt_tokens": 400},
        {"prompt_tokens": True, "completion_tokens": True},
    ],
    ids=str,
)
def test_a_count_of_tokens_that_is_missing_is_not_free(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path, usage: dict[str, Any]
) -> None:
    server.usage = usage
    stopped = run(only_dev, "--set", "budget=5")
    assert stopped.returncode == 2
    assert "the budget of 5 is too small for another request" in stopped.stderr
    assert 0 < len(server.requests) < 20
    assert run(only_dev, "--set", "budget=500").returncode == 0
    [stored] = read_usages(tmp_path / "runs")
    assert stored["cost_unmetered"] > 0.2


def test_a_budget_outlives_its_ledger(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "runs" / "spending.jsonl"
    run(only_dev, "--set", "budget=5")
    before = server.billed
    content = ledger.read_bytes()
    for damaged in (b"\x00\xff\n" + content[: len(content) // 2] + b"\x80", b"", None):
        ledger.unlink() if damaged is None else ledger.write_bytes(damaged)
        again = run(only_dev, "--set", "budget=5")
        assert f"{before:.4f} is spent" in again.stderr
        assert server.billed == before


def test_a_try_that_may_have_been_billed_counts(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    server.text = "A"
    server.refuses = lambda number: 500 if number == 3 else 0
    done = run(only_dev, "--json")
    [row] = json.loads(done.stdout)["usage"]
    assert (row["retries"], row["cost_lost"]) == (1, 0)  # an error status is not billed


def test_runs_that_were_removed_do_not_count(
    server: BillingServer, run: Nikawa, nikawa: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    assert run(only_dev, "--set", "budget=40").returncode == 0
    [folder] = (tmp_path / "runs").glob("*--*")
    removed = nikawa("run", "remove", str(folder), "--yes", "--out", str(tmp_path / "runs"))
    assert removed.returncode == 0, removed.stderr
    again = run(only_dev, "--set", "budget=40", "--json")
    assert json.loads(again.stdout)["spent"] == pytest.approx(server.billed / 2)


def test_a_folder_of_replies_is_counted_as_cached(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    words = ("--seeds", "2", "--set", f"cache={tmp_path / 'cache'}")
    done = run(only_dev, *words, "--json")
    [row] = json.loads(done.stdout)["usage"]
    assert (row["requests"], row["kept"], len(server.requests)) == (21, 21, 21)


def test_a_dry_run_says_what_the_run_then_does(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    words = ("--seeds", "2", "--set", "shots=1", "--set", "temperature=1")
    estimated = run(only_dev, *words, "--dry-run", "--json")
    assert estimated.returncode == 0, estimated.stderr
    assert not server.requests
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.jsonl"]
    total = json.loads(estimated.stdout)["total"]
    assert (total["runs"], total["requests"], total["kept"]) == (2, 50, 0)
    assert 0 < total["cost"] < total["cost_at_most"]
    run(only_dev, "--set", "shots=1", "--set", "temperature=1", "--limit", "20")  # seed 0
    rest = json.loads(run(only_dev, *words, "--dry-run", "--json").stdout)["total"]
    assert (rest["runs"], rest["done"], rest["requests"]) == (1, 1, 25)
    run(only_dev, *words)
    assert len(server.requests) == total["requests"]
    shown = run(only_dev, *words, "--dry-run")
    assert "no request would be sent" in shown.stdout
    assert "Nothing was sent or written; 2 runs are done." in shown.stdout


def test_a_dry_run_takes_off_what_is_on_disk_and_learns_from_it(
    server: BillingServer, run: Nikawa, only_dev: str
) -> None:
    stopped = run(only_dev, "--set", "budget=5")
    assert stopped.returncode != 0
    asked = len(server.requests)
    shown = run(only_dev, "--set", "budget=5", "--dry-run", "--json")
    report = json.loads(shown.stdout)
    assert report["total"]["requests"] == 21 - asked
    assert report["total"]["kept"] == asked - 1
    assert report["spent"] == pytest.approx(server.billed)
    # the server bills 400 tokens a question, whatever it holds
    assert report["total"]["tokens_in"] == pytest.approx(400 * (21 - asked), rel=0.05)
    assert any("stored replies" in note for note in report["notes"])
    assert len(server.requests) == asked


def test_a_limited_run_is_marked_everywhere_and_mixed_with_none(
    server: BillingServer, run: Nikawa, nikawa: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    runs = str(tmp_path / "runs")
    part = run(only_dev, "--limit", "6")
    assert "first 6 items" in part.stdout
    assert "do not compare with results on the whole set" in part.stdout
    assert len(server.requests) == 7
    whole = run(only_dev)
    assert "first" not in whole.stdout
    rows = json.loads(nikawa("run", "list", "--out", runs, "--json").stdout)
    assert sorted((row.get("limit", 0), row["variation"]) for row in rows) == [
        (0, ""),
        (6, "first 6 items"),
    ]
    specs = [json.loads(path.read_text("utf-8")) for path in Path(runs).glob("*/run.json")]
    assert sorted(spec["variation"].get("limit", 0) for spec in specs) == [0, 6]
    report = tmp_path / "report"
    made = nikawa("report", runs, "--out", str(report), "--no-dataset")
    assert made.returncode == 0, made.stderr
    page = (report / "index.html").read_text("utf-8")
    assert "chat:m (first 6 items)" in page
    numbers = json.loads((report / "numbers.json").read_text("utf-8"))
    assert [section["n"] for section in numbers["sections"]] == [20, 6]
    assert not any(section["pairs"] for section in numbers["sections"])
    [answers] = [
        path
        for path in Path(runs).glob("*/predictions/dev.jsonl")
        if len(path.read_text("utf-8").splitlines()) == 6
    ]
    scored = nikawa("score", only_dev, str(answers), "--partial")
    assert "first 6 items" in scored.stdout + scored.stderr


def test_a_limit_keeps_the_folds_of_the_whole_set(
    server: BillingServer, run: Nikawa, only_dev: str, tmp_path: Path
) -> None:
    run(only_dev, "--set", "shots=1", "--limit", "6")
    shown = {json.dumps(one["messages"]) for one in server.requests}
    run(only_dev, "--set", "shots=1")
    both = {json.dumps(one["messages"]) for one in server.requests}
    assert shown < both
    assert len(both) == 21  # each item is asked the same way in both runs


def test_a_limit_beyond_the_set_is_the_run_of_the_whole_set(
    server: BillingServer, run: Nikawa, only_dev: str
) -> None:
    run(only_dev)
    again = run(only_dev, "--limit", "20", "--json")
    report = json.loads(again.stdout)
    assert (report["done"], report["skipped"], "limit" in report["cells"][0]) == (0, 1, False)
    assert run(only_dev, "--limit", "0").returncode == 2


def test_a_limit_scores_no_hidden_label(nikawa: Nikawa, tmp_path: Path) -> None:
    folder, keys, runs = (str(tmp_path / name) for name in ("hidden", "keys.json", "runs"))
    hide = nikawa("data", "hide", "mini-ja", "--split", "test", "--out", folder, "--keys", keys)
    assert hide.returncode == 0, hide.stderr
    words = ("run", "--model", "majority", "--tasks", f"{folder}-label", "--limit", "3")
    done = nikawa(*words, "--out", runs, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "3 items with hidden labels were answered but not scored" in done.stdout
    [scores] = [json.loads(path.read_text("utf-8")) for path in Path(runs).glob("*/scores.json")]
    counts = {part["set"]: (part["n"], part["hidden"]) for part in scores}
    assert counts == {"dev": (3, 0), "test": (0, 3)}


def test_a_table_for_a_file_has_the_bill_beside_it(run: Nikawa, only_dev: str) -> None:
    done = run(only_dev, "--as", "markdown")
    assert "21 requests, 0 cached, 0 retries, 8,400 tokens in, 42 out, cost 8.4420" in done.stderr
    assert "requests" not in done.stdout
