"""A chat model under `nikawa run`: a budget that stops it, a resume, and no key in anything written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build


@pytest.mark.slow
def test_a_run_stops_at_its_budget_and_goes_on(server: Any, secret: str, tmp_path: Path) -> None:
    server.shape = lambda reply: {**reply, "usage": {"prompt_tokens": 400, "completion_tokens": 2}}

    def run(*more: str) -> Any:
        words = [
            "run",
            "--model",
            "chat:m",
            "--base-url",
            server.url,
            "--tasks",
            "mini-ja-nli",
            "--workers",
            "1",
        ]
        prices = ["--set", "price_in=1000", "--set", "price_out=1000", "--set", "how=parse"]
        return CliRunner().invoke(
            build(), [*words, *prices, "--out", str(tmp_path), "--json", *more]
        )

    stopped = run("--set", "budget=2.5")
    assert stopped.exit_code != 0
    assert "is too small for another request" in stopped.output + str(stopped.exception)
    first = len(server.asked)
    done = run("--set", "budget=100")
    assert done.exit_code == 0, done.output
    assert 0 < first < len(server.asked) == 9
    [folder] = tmp_path.glob("mini-ja-nli--chat-m--*")
    about = json.loads((folder / "about.json").read_text("utf-8"))["model"]
    assert about["usage"]["cost"] == pytest.approx(9 * 0.402 + 0.012)
    assert "budget" not in (folder / "run.json").read_text("utf-8")
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in (*written, done.output.encode()) if secret.encode() in text]


def test_a_run_tells_how_many_questions_were_too_long(server: Any, tmp_path: Path) -> None:
    fault: Any = (400, {}, b'{"error": {"message": "no", "code": "context_length_exceeded"}}')
    server.trouble = lambda number, question: fault if number in (2, 5) else None
    words = [
        "run",
        "--model",
        "chat:m",
        "--base-url",
        server.url,
        "--tasks",
        "mini-ja-nli",
        "--workers",
        "1",
    ]
    done = CliRunner().invoke(build(), [*words, "--set", "how=parse", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    told = "mini-ja-nli chat:m test: 2 of 9 items have no answer (2 too long); for requests that are too long, use fewer shots"
    assert told in done.output
    [scores] = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*/scores.json")]
    assert (scores[0]["answered"], scores[0]["unanswered"]) == (7, {"too long": 2})
