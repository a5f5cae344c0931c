"""Replies on disk, one JSON line each. Lines are only appended, so a killed run loses no reply and
sends no request twice.

A line that a crash cut off is skipped. Several processes may append to one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import msgspec

from nikawa.io.lines import numbered_lines, open_packed

REPLIES_FILE = "replies.jsonl"


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of a server's reply that matter to an answer or a bill; never the request or a key."""

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
    """The maximum of the two, if the server counts no tokens."""
    served: str = ""
    """The server's name for the model."""
    error: int = 0
    """The status of a refused test request; 0: the server answered."""


class KeyedRecord(Protocol):
    """A line of a journal."""

    @property
    def key(self) -> str:
        """What it is looked up by."""
        ...


R = TypeVar("R", bound=KeyedRecord)


def compute_digest(*parts: Any) -> str:
    """A key: the same for the same parts, whatever the order of mappings."""
    return blake2b(msgspec.json.encode(parts, order="deterministic"), digest_size=16).hexdigest()


class RecordJournal(Generic[R]):
    """The records of one file by their keys; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None, record: type[R], file: str) -> None:
        self.path = None if folder is None else folder / file
        self.replies: dict[str, R] = {}
        self._record = record
        self.torn = 0
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
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

    def add(self, reply: R) -> None:
        """Keep a reply; one write per line, so that lines of other processes stay whole."""
        self.replies.setdefault(reply.key, reply)
        if self._descriptor is None:
            return
        try:
            line = msgspec.json.encode(reply) + b"\n"
            written = os.write(self._descriptor, line)
            while written < len(line):  # the disk is nearly full: the next write raises the error
                line = line[written:]
                written = os.write(self._descriptor, line)
        except OSError as problem:
            problem.filename = str(self.path)
            raise

    def read_only(self) -> dict[str, R]:
        """The replies on disk by their keys; nothing is written."""
        if self.path is None or not self.path.is_file():
            return {}
        return {reply.key: reply for reply in self._read(self.path)}

    def _read(self, path: Path) -> Iterator[R]:
        decoder, line = msgspec.json.Decoder(self._record), b"\n"
        with open_packed(path) as stream:
            for _, line in numbered_lines(stream):
                if not line.strip():
                    continue
                try:
                    yield decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    self.torn += 1
        if not line.endswith(b"\n") and self._descriptor is not None:
            os.write(self._descriptor, b"\n")  # the next line must not join the incomplete one


class Journal(RecordJournal[Reply]):
    """The replies of one folder by their keys; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder, Reply, REPLIES_FILE)
