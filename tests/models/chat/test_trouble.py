"""A server that misbehaves: what is tried again, what stops the run, and that a failure is never an answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput, MissingExtra
from nikawa.models.chat.responses import read_retry_after
from nikawa.models.chat.usage import OutOfBudget
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
TEXTS = [Example(id=f"t{i}", inputs={"text": f"{i}番の店です"}) for i in range(12)]
GOOD = {"choices": [{"message": {"content": "A"}}]}


def once(*numbers: int, fault: Any) -> Any:
    """A fault for the requests of these numbers."""
    return lambda number, question: fault if number in numbers else None


def error(message: str = "no", **more: str) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


CURED = {
    "429 with Retry-After": (429, {"Retry-After": "0.01"}, error()),
    "429 with milliseconds": (429, {"retry-after-ms": "10"}, error()),
    "429 without": (429, {}, error()),
    "500": (500, {}, error()),
    "503 with Retry-After": (503, {"Retry-After": "0"}, b""),
    "529": (529, {}, error("overloaded")),
    "408": (408, {}, b""),
    "hang": "hang",
    "drip": "drip",
    "reset inside the body": "reset",
    "body cut short": "cut",
    "broken JSON": (200, {}, b'{"choices": [{"mess'),
    "no choices": (200, {}, b'{"choices": []}'),
    "no message": (200, {}, b'{"choices": [{"index": 0}]}'),
    "a list": (200, {}, b"[]"),
    "a page": (200, {"Content-Type": "text/html"}, b"<html><title>Gateway</title></html>"),
    "an error under 200": (200, {}, error(code="500")),
    "not UTF-8": (200, {}, b"\xff\xfe"),
    "nested too deep": (200, {}, b"[" * 100_000),
    "bad compression": (200, {"Content-Encoding": "gzip"}, b"plain"),
}


@pytest.mark.parametrize("fault", [CURED["503 with Retry-After"], CURED["broken JSON"]])
def test_a_busy_server_is_not_taken_for_one_that_cannot(server: Any, chat: Any, fault: Any) -> None:
    """The first questions ask what the server can do: trouble there must not lead to a poorer way of asking."""
    plain, faults = server.reply, iter([fault] * 4)
    server.reply = lambda path, body: next(faults, None) or plain(path, body)
    model = chat()
    assert model.predict(TASK, TEXTS[:1])[0].answer == "good"
    assert model.about()["how"] == "logprob"


@pytest.mark.parametrize("fault", CURED.values(), ids=CURED)
def test_tried_again(server: Any, chat: Any, fault: Any) -> None:
    server.trouble = once(1, 2, fault=fault)
    model = chat(how="parse", timeout=3.0 if fault in ("hang", "drip") else 60.0)
    assert [p.answer for p in model.predict(TASK, TEXTS[:4])] == ["good"] * 4
    assert len(server.asked) == 6
    assert model.usage["retries"] == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ((500, {}, error("out of memory")), "the server returned status 500: out of memory"),
        (
            (502, {}, b"<html><title>Bad Gateway</title><body>x"),
            "the server returned status 502: Bad Gateway",
        ),
        ((200, {}, b"nonsense"), "the server's response is not JSON"),
        ("reset", "the connection failed"),
        ((200, {}, b'{"choices": []}'), "the server's response has no choices"),
    ],
    ids=["500", "page", "broken", "reset", "empty"],
)
def test_given_up(server: Any, chat: Any, tmp_path: Path, fault: Any, told: str) -> None:
    server.trouble = lambda number, question: fault if "3番" in question else None
    with pytest.raises(
        BadInput, match=f"example 't3': {told}.*run the same command again"
    ) as problem:
        chat(tmp_path, how="parse", retries=1, concurrency=1).predict(TASK, TEXTS)
    assert "\n" not in str(problem.value)
    assert len(server.asked) == 5
    server.trouble = once(fault=None)
    assert len(chat(tmp_path, how="parse").predict(TASK, TEXTS)) == 12
    assert len(server.asked) == 5 + 9


def test_one_question_that_fails_alone_does_not_stop_the_others(
    server: Any, chat: Any, tmp_path: Path
) -> None:
    server.trouble = lambda n, question: (400, {}, error("too long")) if "3番" in question else None
    what = "1 of 12 questions failed; example 't3': the server returned status 400: too long; shorten the prompt"
    with pytest.raises(BadInput, match=what):
        chat(tmp_path, how="parse").predict(TASK, TEXTS)
    assert len(server.asked) == 12


LONG: dict[str, Any] = {
    "code": (400, {}, error("no", code="context_length_exceeded")),
    "vLLM": (
        400,
        {},
        error(
            "This model's maximum context length is 64 tokens. However, you requested 90 tokens.",
            type="BadRequestError",
            code="400",
        ),
    ),
    "vLLM, the prompt alone": (
        400,
        {},
        error("The decoder prompt (length 90) is longer than the maximum model length of 64."),
    ),
    "vLLM, no room for an answer": (400, {}, error("max_tokens must be at least 1, got -26.")),
    "SGLang": (
        400,
        {},
        b'{"object": "error", "message": "The input (90 tokens) is longer than the model\'s context length (64 tokens).", "code": 400}',
    ),
    "TGI": (
        422,
        {},
        b'{"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 64. Given: 90", "error_type": "validation"}',
    ),
    "llama.cpp": (
        400,
        {},
        b'{"error": {"code": 400, "message": "try increasing it", "type": "exceed_context_size_error"}}',
    ),
    "llama.cpp under 200": (
        200,
        {},
        b'{"error": {"code": 400, "message": "request (90 tokens) exceeds the available context size (64 tokens)"}}',
    ),
    "llama.cpp under 500": (500, {}, error("Context size has been exceeded.", type="server_error")),
    "413": (413, {}, b""),
    "a hosted service": (400, {}, error("prompt is too long: 90 tokens > 64 maximum")),
    "too large at once": (429, {}, error("Request too large for m: limit 64, requested 90")),
}


@pytest.mark.parametrize("fault", LONG.values(), ids=LONG)
def test_a_question_that_is_too_long_is_an_answer_less(server: Any, chat: Any, fault: Any) -> None:
    server.trouble = lambda n, question: fault if "3番" in question or "7番" in question else None
    model = chat(how="parse")
    found = model.predict(TASK, TEXTS)
    assert [p.example for p in found if p.answer is None] == ["t3", "t7"]
    assert all(
        (p.why or "").startswith("too long: the server returned status ")
        for p in found
        if p.answer is None
    )
    assert {p.answer for p in found} == {"good", None}
    assert (model.usage["none"], model.usage["retries"]) == ({"too long": 2}, 0)
    assert len(server.asked) == 12


def test_by_echo_too(server: Any, chat: Any) -> None:
    server.can -= {"logprobs"}
    server.trouble = lambda n, question: LONG["vLLM"] if "3番" in question else None
    model = chat()
    assert [p.why is None for p in model.predict(TASK, TEXTS[:5])] == [
        True,
        True,
        True,
        False,
        True,
    ]
    assert model.about()["how"] == "echo"


def test_a_longer_context_is_asked_again(server: Any, chat: Any, tmp_path: Path) -> None:
    """What did not fit is not written down as an answer: the next server may have room for it."""
    server.trouble = lambda n, question: LONG["vLLM"] if "3番" in question else None
    assert [p.answer for p in chat(tmp_path, how="parse").predict(TASK, TEXTS[:5])].count(None) == 1
    server.trouble = once(fault=None)
    assert [p.answer for p in chat(tmp_path, how="parse").predict(TASK, TEXTS[:5])] == ["good"] * 5
    assert len(server.asked) == 6


def test_nothing_fits(server: Any, chat: Any) -> None:
    server.trouble = lambda n, question: LONG["vLLM"]
    what = r"all 12 questions are too long for chat:some/model: the server returned status 400: This model's maximum context .*fewer shots"
    with pytest.raises(BadInput, match=what):
        chat(how="parse").predict(TASK, TEXTS)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            (401, {}, error("bad key sk-loop…")),
            r"rejected the key \(status 401\); set a valid key in OPENAI_API_KEY",
        ),
        ((404, {}, error("no such model")), "404: no such model; check base_url"),
        (
            (307, {"Location": "http://elsewhere.test/"}, b""),
            r"a redirect \(status 307\); check base_url",
        ),
        (
            (429, {}, error("you are out of money", code="insufficient_quota")),
            "429: you are out of money",
        ),
        ((429, {"Retry-After": "3600"}, error("come back later")), "429: come back later"),
        ((503, {"Retry-After": "3600"}, error("closed for an hour")), "503: closed for an hour"),
    ],
)
def test_stopped_at_once(server: Any, chat: Any, fault: Any, told: str) -> None:
    server.trouble = lambda number, question: fault
    with pytest.raises(BadInput, match=told):
        chat(how="parse", concurrency=2).predict(TASK, TEXTS)
    assert len(server.asked) <= 2


def test_nobody_there(server: Any, chat: Any) -> None:
    with pytest.raises(
        BadInput,
        match=r"connection failed.*check that a server is running at http://127.0.0.1:9/v1, then",
    ):
        chat(base_url="http://127.0.0.1:9/v1", retries=1).predict(TASK, TEXTS)


def test_fewer_at_a_time_when_there_are_too_many(server: Any, chat: Any) -> None:
    server.delay = 0.01
    server.trouble = lambda number, question: (429, {}, error()) if server.busy > 2 else None
    model = chat(how="parse", concurrency=8)
    assert len(model.predict(TASK, TEXTS)) == 12
    assert model.usage["retries"] > 0
    server.peak = 0
    chat(how="parse", concurrency=1).predict(TASK, TEXTS[:5])
    assert server.peak == 1


def test_a_pause_the_server_asks_for_holds_for_all(server: Any, chat: Any) -> None:
    times: list[float] = []

    def trouble(number: int, question: str) -> Any:
        times.append(time.monotonic())
        return (429, {"Retry-After": "0.3"}, error()) if number == 0 else None

    server.trouble = trouble
    chat(how="parse", concurrency=1).predict(TASK, TEXTS[:3])
    assert times[1] - times[0] >= 0.3


def test_the_forms_of_retry_after() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    later = format_datetime(now.replace(second=25), usegmt=True)
    assert read_retry_after({"retry-after": later}, now) == 20.0
    assert read_retry_after({"retry-after": "7"}) == 7.0
    assert read_retry_after({"retry-after": "-3"}) == 0.0
    assert read_retry_after({"retry-after": "soon"}) is None
    assert read_retry_after({"retry-after": "inf"}) is None
    assert read_retry_after({}) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"message": {"content": None, "refusal": "I will not."}}, "refusal: 'I will not.'"),
        (
            {"message": {"content": ""}, "finish_reason": "content_filter"},
            "refusal: 'content filter'",
        ),
        (
            {"message": {"content": "申し訳ありませんが、お答えできません。"}},
            "refusal: '申し訳ありませんが、お答えできません。'",
        ),
        ({"message": {"content": "<think>A? B?"}, "finish_reason": "length"}, "length"),
        ({"message": {"content": "どちらかとい"}, "finish_reason": "length"}, "length"),
        (
            {"message": {"content": "分かりにくい店です"}},
            "unparsable: not one of good, bad",
        ),
        ({"message": {"content": "AかBです"}}, "unparsable: gives more than one answer: 'AかB'"),
        (
            {"message": {"content": "答えはBまたはA"}},
            "unparsable: gives more than one answer: 'BまたはA'",
        ),
        ({"message": {"content": ""}}, "unparsable: empty"),
        ({"message": {"content": "half \ud800"}}, "unparsable: not one of good, bad"),
    ],
)
def test_no_answer_has_a_reason(
    server: Any, chat: Any, tmp_path: Path, change: Any, why: str
) -> None:
    server.shape = lambda reply: {**reply, "choices": [{**reply["choices"][0], **change}]}
    model = chat(tmp_path, how="parse")
    [found] = model.predict(TASK, TEXTS[:1])
    assert (found.answer, found.why) == (None, why)
    assert model.usage["none"] == {why.partition(":")[0]: 1}
    assert json.loads((tmp_path / "usage.json").read_text("utf-8"))["usage"] == model.usage


def test_a_filter_that_answers_400_is_a_refusal(server: Any, chat: Any) -> None:
    server.trouble = once(0, fault=(400, {}, error("filtered", code="content_filter")))
    [found] = chat(how="parse").predict(TASK, TEXTS[:1])
    assert found.why == "refusal: 'content filter'"


def test_an_answer_before_the_cut_counts(server: Any, chat: Any) -> None:
    cut = {
        "message": {"content": "<think>うーん</think>B\n理由は、この"},
        "finish_reason": "length",
    }
    server.shape = lambda reply: {**reply, "choices": [cut]}
    assert chat(how="parse").predict(TASK, TEXTS[:1])[0].answer == "bad"


def test_a_budget_stops_and_goes_on(server: Any, chat: Any, tmp_path: Path) -> None:
    server.shape = lambda reply: {**reply, "usage": {"prompt_tokens": 400, "completion_tokens": 2}}
    prices = {"price_in": 1000.0, "price_out": 1000.0, "how": "parse", "max_tokens": 64}
    with pytest.raises(
        OutOfBudget, match=r"the budget of 2 is too small .* run the same command again"
    ):
        chat(tmp_path, budget=2.0, **prices).predict(TASK, TEXTS)
    paid = len(server.asked)
    assert 0 < paid < 12
    assert json.loads((tmp_path / "usage.json").read_text())["usage"]["cost"] <= 2.0
    model = chat(tmp_path, budget=100.0, **prices)
    model.predict(TASK, TEXTS)
    assert len(server.asked) == 12
    assert model.usage["cost"] == pytest.approx(0.402 * 12 + 0.012)
    with pytest.raises(BadInput, match="a budget needs price_in and price_out"):
        chat(budget=1.0)


def test_inside_a_running_loop(server: Any, chat: Any) -> None:
    async def notebook() -> int:
        return len(chat(how="parse").predict(TASK, TEXTS[:2]))

    assert asyncio.run(notebook()) == 2


def test_without_httpx(server: Any, chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"install .*\[chat\]'"):
        chat().predict(TASK, TEXTS)


def test_the_list_of_models_loads_no_client() -> None:
    code = "import sys; from nikawa.models import models; models()['chat']; assert not {'httpx', 'asyncio'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
