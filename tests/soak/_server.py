"""A project served by a process of its own, on either database, for tests that kill it or load it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nikawa.collect.items import sync_items
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Assign, Limits, Settings, format_settings
from nikawa.collect.store import Store, open_store
from nikawa.records import Example

PORTS = (10_000, 32_000)
"""From which the port of a server is drawn: below those that systems give to connections."""
WAIT_SECONDS = 120.0
"""For which clients are waited for."""


def project(folder: Path, items: int, asked: int, lease_minutes: float = 30.0) -> Project:
    """A project of pairs we made up."""
    settings = Settings(
        title="soak",
        form="choice",
        assign=Assign(workers_per_item=asked, lease_minutes=lease_minutes),
    )
    examples = (
        Example(id=f"i{n}", inputs={"premise": f"箱{n}は赤い。", "hypothesis": f"箱{n}は青い。"})
        for n in range(items)
    )
    made = create_project(folder, settings, examples)
    text = format_settings(settings).replace(
        "lease_minutes = 30 ", f"lease_minutes = {lease_minutes} "
    )
    text = text.replace(
        f"requests_per_second = {Limits().requests_per_second:g}", "requests_per_second = 1000"
    )
    (folder / "project.toml").write_text(text, "utf-8")
    return made


def prepared(made: Project, database: str) -> Store:
    """The store, with the items in it."""
    store = open_store(database, made.folder, made.name)
    sync_items(made, store)
    return store


class Server:
    """`nikawa collect serve` (or `board`) in a process that can be killed and started again on the same port."""

    def __init__(self, folder: Path, database: str, port: int, verb: str = "collect") -> None:
        self.folder, self.database, self.port, self.verb = folder, database, port, verb
        self.process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        code = "from nikawa.cli import main; main()"
        words = [self.verb, "serve", str(self.folder), "--port", str(self.port), "--json"]
        environment = {**os.environ, f"NIKAWA_{self.verb.upper()}_DATABASE": self.database}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, *words],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise SystemExit(f"the server did not start: {self.log.read_text()}")

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def free_port() -> int:
    """A port nobody listens at, also when the server on it is started again.

    It is none of those that the system gives to connections: a client would get it while the server is away.
    """
    import socket

    while True:
        with socket.socket() as taken, suppress(OSError):
            port = random.randrange(*PORTS)
            taken.bind(("127.0.0.1", port))
            return port


async def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for as long as a busy machine needs until something comes about; the program ends where it does not."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not holds():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise SystemExit(f"within {WAIT_SECONDS:g} seconds there came {what}") from None
