"""A board with accounts and tokens, for tests that kill its server or load it, and a client that costs little."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.board.conftest import CARD, LABELS, make_examples

from nikawa.board.accounts import add_account, make_token
from nikawa.board.folder import Board, open_board
from nikawa.board.job import NewBoard, create_board
from nikawa.board.store import open_store
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.datasets.keys import read_keys
from nikawa.records import Dataset

SETTINGS = {
    "per_day = 3": "per_day = 0",
    "in_all = 100": "in_all = 0",
    "requests_per_second = 20": "requests_per_second = 1000",
    "connections_per_address = 1000": "connections_per_address = 4096",
    "release_seconds = 300": "release_seconds = 1",
}


@dataclass(frozen=True)
class LoadedBoard:
    """A board, a token for each account, and the labels."""

    board: Board
    tokens: Mapping[str, str]
    """By the id of the account."""
    gold: Mapping[str, str]

    def answers(self, right: float, seed: str) -> bytes:
        """A file of answers of which about that share is right; another one for each seed."""
        draw = random.Random(seed)
        lines = []
        for id, label in self.gold.items():
            answer = label if draw.random() < right else draw.choice(LABELS)
            lines.append(f'{{"id": "{id}", "answer": "{answer}"}}')
        return "\n".join(lines).encode()


def make_board(
    place: Path,
    items: int,
    accounts: int,
    database: str = "",
    settings: Mapping[str, str] | None = None,
) -> LoadedBoard:
    """A board of pairs that were made up, with accounts that may submit as much as they like."""
    splits = {
        "train": tuple(make_examples(60, "train")),
        "test": tuple(make_examples(items, "test")),
    }
    data = Dataset(name="open", language="ja", version="1.0", card=CARD, splits=splits)
    data.save(place / "open")
    hide(
        str(place / "open"),
        place / "tides",
        place / "keys.jsonl",
        options=HideOptions(splits=("test",), keep=("meta.source",), allow=("meta.source",)),
    )
    keys = read_keys(place / "keys.jsonl")

    def change(text: str) -> str:
        for old, new in (SETTINGS | dict(settings or {})).items():
            assert old in text, old
            text = text.replace(old, new, 1)
        return text

    new = NewBoard(datasets=(place / "tides",), keys=(place / "keys.jsonl",), database=database)
    create_board(place / "board", new, change)
    board = open_board(place / "board")
    tokens = {}
    with open_store(database, board) as store:
        for n in range(accounts):
            account = store.write(add_account, f"account {n}", "a long password", time.time())
            tokens[account.id] = store.write(make_token, account.id, "soak", time.time())
    gold = {id: str(item.gold["label"]) for id, item in keys.items["test"].items()}
    return LoadedBoard(board, tokens, gold)


class Connection:
    """One connection of a client, which is opened again when it ends."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._head = f"host: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        if token:
            self._head += f"authorization: Bearer {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of a response; an `OSError` or `EOFError` where the server went away."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        try:
            head = f"{method} {path} HTTP/1.1\r\n{self._head}content-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            top = await reader.readuntil(b"\r\n\r\n")
            length = int(re.findall(rb"content-length: (\d+)", top.lower())[0])
            return int(top.split(b" ", 2)[1]), await reader.readexactly(length)
        except BaseException:
            self.close()
            raise

    async def send_answers(self, data: bytes) -> tuple[int, Any]:
        """Send a file; status and JSON."""
        status, body = await self.ask(
            "POST", f"/api/v1/uploads?{urlencode({'name': 'a.jsonl'})}", data
        )
        return status, json.loads(body)

    async def submit(self, name: str, upload: str, key: str) -> tuple[int, Any]:
        """Make a submission of a file; status and JSON."""
        content = {"new_system": {"name": name}, "uploads": [upload], "key": key}
        status, body = await self.ask("POST", "/api/v1/submissions", json.dumps(content).encode())
        return status, json.loads(body)

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
