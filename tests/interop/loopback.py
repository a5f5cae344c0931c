"""A chat server on the loopback interface, for tools that want a model behind an API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_chat(reply: Callable[[str], str]) -> Iterator[str]:
    """The address of a server that answers the last message of every chat with `reply(message)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = request["messages"][-1]["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            message = {"role": "assistant", "content": reply(text)}
            body = json.dumps(
                {
                    "id": "0",
                    "object": "chat.completion",
                    "created": 0,
                    "model": request.get("model", ""),
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # tools ask for many items at once

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
