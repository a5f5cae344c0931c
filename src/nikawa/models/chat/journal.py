"""Replies on disk: one JSON line each, only ever appended, so that a killed run loses nothing and
asks nothing twice.

A line that was torn by a crash is passed over. Several processes may append to one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from nikawa.io.lines import numbered_lines, open_packed

REPLIES_FILE = "replies.jsonl"


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a server's reply can matter to an answer or to a bill; never the request, never a
    key.
    """

    key: str
    """The digest of the request."""
    text: str = ""
    finish: str = ""
    refusal: str = ""
    first: list[tuple[str, float]] | None = None
    """The likeliest first tokens with their log-probabilities."""
    tail: list[tuple[str, float]] | None = None
    """The last tokens of an echoed prompt with theirs."""
    tokens_in: int = 0
    tokens_out: int = 0
    max_tokens_in: int = 0
    max_tokens_out: int = 0
    """What the two are at most, where the server counts no tokens."""
    served: str = ""
    """What the server calls the model."""
    error: int = 0
    """The status of a refused question about what the server can do; 0: the server answered."""


def compute_digest(*parts: Any) -> str:
    """A key: the same for the same parts, whatever the order of mappings."""
    return blake2b(msgspec.json.encode(parts, order="deterministic"), digest_size=16).hexdigest()


class Journal:
    """The replies of one folder by their keys; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / REPLIES_FILE
        self.replies: dict[str, Reply] = {}
        self.torn = 0
        self._descriptor: int | None = None

    def __enter__(self) -> Journal:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(
                self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666
            )
            for reply in self._read(self.path):
                self.replies.setdefault(reply.key, reply)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            try:
                os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)
                self._descriptor = None

    def add(self, reply: Reply) -> None:
        """Keep a reply; one write a line, so that lines of other processes stay whole."""
        self.replies.setdefault(reply.key, reply)
        if self._descriptor is None:
            return
        try:
            line = msgspec.json.encode(reply) + b"\n"
            written = os.write(self._descriptor, line)
            while written < len(line):  # the disk is nearly full: the next write says so
                line = line[written:]
                written = os.write(self._descriptor, line)
        except OSError as problem:
            problem.filename = str(self.path)
            raise

    def read_only(self) -> dict[str, Reply]:
        """The replies on disk by their keys; nothing is written."""
        if self.path is None or not self.path.is_file():
            return {}
        return {reply.key: reply for reply in self._read(self.path)}

    def _read(self, path: Path) -> Iterator[Reply]:
        decoder, line = msgspec.json.Decoder(Reply), b"\n"
        with open_packed(path) as stream:
            for _, line in numbered_lines(stream):
                if not line.strip():
                    continue
                try:
                    yield decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    self.torn += 1
        if not line.endswith(b"\n") and self._descriptor is not None:
            os.write(self._descriptor, b"\n")  # what comes next must not join the torn line
