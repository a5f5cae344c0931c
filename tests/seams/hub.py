"""The part of the Hugging Face Hub that `HfFileSystem` talks to, on this machine: repositories of datasets without history.

It was written from what the package huggingface_hub 2.4 sends; it is not the Hub. Files go up inside the commit, never as large files.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

API = re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/([a-z-]+)/main)?(?:/(.*))?")
FILE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/main/(.*)")


class Hub(ThreadingHTTPServer):
    """Repositories by name, each with its files by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.ranges: list[str] = []
        """What was asked for of files."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Hub

    def log_message(self, *_: object) -> None:
        """Write nothing."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if match := FILE.fullmatch(path):
            self._send_file(self._find(match[1]).get(match[2]))
            return
        match = API.fullmatch(path)
        files = self._find(match[1]) if match else None
        if match is None or files is None:
            self._refuse("RepoNotFound")
        elif match[2] == "tree":
            self._send_tree(files, match[3] or "")
        else:
            self._send({"id": match[1], "sha": "0" * 40, "private": False, "siblings": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        match = API.fullmatch(unquote(urlsplit(self.path).path))
        files = self._find(match[1]) if match else None
        if match is None or files is None:
            self._refuse("RepoNotFound")
        elif match[2] == "paths-info":
            paths = json.loads(content)["paths"]
            self._send([describe_file(path, files[path]) for path in paths if path in files])
        elif match[2] == "preupload":
            paths = [file["path"] for file in json.loads(content)["files"]]
            about = {"uploadMode": "regular", "shouldIgnore": False}
            self._send({"files": [{"path": path, **about} for path in paths]})
        elif match[2] == "commit":
            for line in content.splitlines():
                change = json.loads(line)
                value = change["value"]
                if change["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif change["key"] == "deletedFile":
                    files.pop(value["path"], None)
            url = f"{self.server.address}/datasets/{match[1]}/commit/{'1' * 40}"
            self._send({"success": True, "commitOid": "1" * 40, "commitUrl": url})
        else:
            self._refuse("EntryNotFound")

    def _find(self, name: str) -> Any:
        return self.server.repositories.get(name)

    def _send_tree(self, files: dict[str, bytes], folder: str) -> None:
        start = f"{folder}/" if folder else ""
        below = {path: data for path, data in files.items() if path.startswith(start)}
        if not below and folder:
            self._refuse("EntryNotFound")
            return
        is_deep = "recursive=true" in self.path.lower()
        entries: dict[str, Any] = {}
        for path, data in sorted(below.items()):
            parts = path.removeprefix(start).split("/")
            for depth in range(1, len(parts)):
                if depth == 1 or is_deep:
                    name = start + "/".join(parts[:depth])
                    entries[name] = {"type": "directory", "path": name, "oid": "2" * 40, "size": 0}
            if len(parts) == 1 or is_deep:
                entries[path] = describe_file(path, data)
        self._send(list(entries.values()))

    def _send_file(self, data: bytes | None) -> None:
        if data is None:
            self._refuse("EntryNotFound")
            return
        wanted = self.headers.get("Range")
        headers = {"ETag": f'"{sha1(data).hexdigest()}"', "X-Repo-Commit": "0" * 40}
        if wanted is None:
            self._reply(200, data, headers)
            return
        self.server.ranges.append(wanted)
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        self._reply(206, data[first : last + 1], headers)

    def _send(self, value: object) -> None:
        self._reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _refuse(self, code: str) -> None:
        self._reply(404, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def describe_file(path: str, data: bytes) -> dict[str, Any]:
    """A file as the Hub lists it."""
    digest = sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return {"type": "file", "path": path, "oid": digest, "size": len(data)}


@contextmanager
def start_hub() -> Iterator[Hub]:
    """A hub that runs while the block does."""
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
