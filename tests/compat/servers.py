"""Small servers and clients of the oracle: a chat model on loopback, and workers of an annotation project."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

PORT = 38471
"""Where the chat model of the recording was: the address is a part of what defines its runs."""


class Chat(ThreadingHTTPServer):
    """Answers a letter that hangs on the question alone; after `most` answers it hangs until it is closed."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int, most: int | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Answering)
        self.most, self.asked, self.closing = most, 0, threading.Event()
        self.counting = threading.Lock()


class _Answering(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True
    server: Chat

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.counting:
            self.server.asked += 1
            late = self.server.most is not None and self.server.asked > self.server.most
        if late:
            self.server.closing.wait()
            return
        messages = json.loads(body).get("messages") or [{"content": ""}]
        letter = "ABC"[sha256(str(messages[-1]["content"]).encode()).digest()[0] % 3]
        reply = {
            "model": "stand-in",
            "choices": [{"message": {"content": letter}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 1},
        }
        said = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def chat(port: int = PORT, most: int | None = None) -> Iterator[Chat]:
    """A chat model that answers while the block runs."""
    with Chat(port, most) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()


@contextmanager
def project_served(folder: Path, project: str) -> Iterator[str]:
    """`nikawa collect serve` as a process of its own, at a free port; its address."""
    words = [sys.executable, "-m", "nikawa", "collect", "serve", project, "--port", "0", "--json"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            lines = ""
            while not lines.rstrip().endswith("}"):
                line = server.stdout.readline()
                assert line, "the server ended"
                lines += line
            yield str(json.loads(lines)["address"])
        finally:
            server.terminate()
            server.wait(120)


def get(address: str) -> Any:
    """What an address answers, as JSON."""
    with urlopen(address, timeout=120) as reply:
        return json.load(reply)


def post(address: str, body: Any) -> Any:
    """Send JSON and read JSON."""
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as reply:
        return json.load(reply)


def opinion(worker: str, inputs: dict[str, str]) -> int:
    """What a worker of ours answers to two sentences."""
    return sha256((worker + inputs["sentence1"] + inputs["sentence2"]).encode()).digest()[0] % 6


def work(link: str, worker: str, most: int) -> int:
    """Answer up to `most` items behind a link, leave the next one in hand; how many were answered."""
    state, done = get(f"{link}/next"), 0
    while state["item"] and done < most:
        item = state["item"]
        answer = {"score": opinion(worker, item["inputs"])}
        state = post(
            f"{link}/answer", {"lease": item["lease"], "key": item["lease"], "answer": answer}
        )["state"]
        done += 1
    return done
