"""A server on the loopback that answers as it is told to, well or badly, and writes down what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nikawa.models import model as make_model

PROBES = ("Reply with the letter A.", "Say hello to the sea (as JSON).")
FEATURES = ("structured_outputs", "guided_json", "grammar")
SECRET = "sk-loopback-0123456789abcdef"


class Fake:
    """What the server can do, says, and how it misbehaves; tests change it as they go."""

    def __init__(self) -> None:
        self.can = {
            "logprobs",
            "echo",
            "json_schema",
            "json_object",
            "max_tokens",
            "temperature",
            "system",
        }
        self.top = 20
        self.ignores = False
        """Pass over what it does not know instead of refusing it."""
        self.brain: Callable[[str], str] = lambda question: "A"
        self.shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply
        """A last change to a good reply."""
        self.trouble: Callable[[int, str], Any] = lambda number, question: None
        """A (status, headers, body) or the name of a fault for the n-th request that is no probe, from 0."""
        self.asked: list[dict[str, Any]] = []
        self.probed: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.busy = self.peak = 0
        self.delay = 0.0
        self.over = threading.Event()
        self.lock = threading.Lock()

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes] | str:
        question = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        probe = question.endswith(PROBES) or question.startswith("A B A B")
        with self.lock:
            number = len(self.asked)
            (self.probed if probe else self.asked).append(body)
        trouble = None if probe else self.trouble(number, question)
        if trouble is not None:
            return trouble  # type: ignore[no-any-return]
        if refused := self._refused(path, body):
            return 400, {}, json.dumps({"error": {"message": refused}}).encode()
        said = self._probed(question, body) if probe else self.brain(question)
        made = self._made(path, body, said)
        return 200, {}, json.dumps(self.shape(made) if not probe else made).encode()

    def _probed(self, question: str, body: dict[str, Any]) -> str:
        return "A" if question.endswith(PROBES[0]) else "heron" if self._held(body) else "hello"

    def _refused(self, path: str, body: dict[str, Any]) -> str:
        known = {
            "logprobs is not supported": "logprobs" in body
            and "messages" in body
            and "logprobs" not in self.can,
            "top_logprobs is at most 5": body.get("top_logprobs", 0) > self.top,
            "echo is not supported": path.endswith("/completions")
            and "prompt" in body
            and "echo" not in self.can,
            "unknown response_format": "response_format" in body
            and body["response_format"]["type"] not in self.can,
            "use max_completion_tokens": "max_tokens" in body
            and "messages" in body
            and "max_tokens" not in self.can,
            "temperature is fixed": "temperature" in body and "temperature" not in self.can,
            **{f"unknown field {name}": name in body and name not in self.can for name in FEATURES},
        }
        if (
            "messages" in body
            and body["messages"][0]["role"] == "system"
            and "system" not in self.can
        ):
            return "system role not supported"
        return "" if self.ignores else next((what for what, wrong in known.items() if wrong), "")

    def _held(self, body: dict[str, Any]) -> bool:
        kind = body.get("response_format", {}).get("type")
        return kind in self.can or any(name in body and name in self.can for name in FEATURES)

    def _made(self, path: str, body: dict[str, Any], said: str) -> dict[str, Any]:
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        if "prompt" in body:
            return self._echoed(body, said)
        if self._held(body) and "grammar" not in body and not said.startswith("{"):
            said = json.dumps({"answer": said}, ensure_ascii=False)
        choice: dict[str, Any] = {
            "message": {"role": "assistant", "content": said},
            "finish_reason": "stop",
        }
        if "logprobs" in body and "logprobs" in self.can:
            top = [
                {"token": f" {said}", "logprob": -0.5},
                {"token": "B" if said != "B" else "A", "logprob": -2.0},
                {"token": "だ", "logprob": -1.0},
            ]
            choice["logprobs"] = {
                "content": [{"token": said, "logprob": -0.5, "top_logprobs": top}]
            }
        return {"model": "served", "choices": [choice], "usage": usage}

    def _echoed(self, body: dict[str, Any], said: str) -> dict[str, Any]:
        prompt, _, key = body["prompt"].rpartition(" ")
        tokens = [prompt, f" {key}", "\n"]
        values = [None, -0.1 if key == self.brain(prompt) else -4.0, -1.0]
        logprobs = {"tokens": tokens, "token_logprobs": values, "text_offset": [0, len(prompt), 0]}
        given = logprobs if "echo" in self.can else None
        choice = {"text": "".join(tokens), "logprobs": given, "finish_reason": "length"}
        return {
            "model": "served",
            "choices": [choice],
            "usage": {"prompt_tokens": 2, "completion_tokens": 1},
        }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each body waits 40 ms until its header is acknowledged
    fake: Fake

    def do_POST(self) -> None:
        fake = self.fake
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with fake.lock:
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            fake.busy += 1
            fake.peak = max(fake.peak, fake.busy)
        try:
            time.sleep(fake.delay)
            found = fake.reply(self.path, body)
            if isinstance(found, str):
                getattr(self, f"_{found}")()
            else:
                self._send(*found)
        except OSError:
            self.close_connection = True
        finally:
            with fake.lock:
                fake.busy -= 1

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang(self) -> None:
        self.fake.over.wait(30)
        self.close_connection = True

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.close_connection = True

    def _reset(self) -> None:
        self._begin()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _cut(self) -> None:
        self._begin()

    def _drip(self) -> None:
        self._begin()
        while not self.fake.over.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the game."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    fake = Fake()
    handler = type("Bound", (Handler,), {"fake": fake})
    with _Server(("127.0.0.1", 0), handler) as http:
        fake.url = f"http://127.0.0.1:{http.server_address[1]}/v1"  # type: ignore[attr-defined]
        thread = threading.Thread(
            target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        yield fake
        fake.over.set()
        http.shutdown()
        thread.join()


@pytest.fixture
def chat(server: Any) -> Callable[..., Any]:
    """A model of the server, impatient unless told otherwise."""

    def make(
        folder: Path | None = None, seed: int = 0, progress: Any = None, **settings: Any
    ) -> Any:
        told = {"base_url": server.url, "wait": 0.002, "timeout": 60.0, **settings}
        more = {"progress": progress} if progress else {}
        return make_model("chat:some/model", seed=seed, settings=told, folder=folder, **more)

    return make


@pytest.fixture
def secret(server: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return SECRET
