"""A project served by a process of its own, on either database, for tests that kill it or load it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nikawa.collect.load import sync
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Assign, Limits, Settings, written
from nikawa.collect.store import Store, open_store
from nikawa.records import Example


@contextmanager
def postgres(sync_to_disk: bool = True) -> Iterator[str]:
    """The address of a fresh PostgreSQL, which runs as an account without rights."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    program = Path(shutil.which("postgres") or found[-1])
    account: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="nikawa-pg-"))
    if os.geteuid() == 0:
        other = pwd.getpwnam("postgres")
        account = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        os.chown(folder, other.pw_uid, other.pw_gid)
    quiet: dict[str, Any] = {
        "cwd": folder,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        **account,
    }
    initdb = [str(program.with_name("initdb")), "-D", "data", "-U", "nikawa", "-A", "trust", "-E", "UTF8"]
    subprocess.run(initdb, check=True, **quiet)
    words = ["-D", "data", "-k", str(folder), "-c", "listen_addresses="]
    running = subprocess.Popen(
        [str(program), *words, "-c", f"fsync={'on' if sync_to_disk else 'off'}"], **quiet
    )
    try:
        address = f"postgresql://nikawa@/postgres?host={folder}"
        _await_postgres(address)
        yield address
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _await_postgres(address: str) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("PostgreSQL does not answer")


def project(folder: Path, items: int, asked: int, lease_minutes: float = 30.0) -> Project:
    """A project of pairs we made up."""
    settings = Settings(
        title="soak", form="choice", assign=Assign(workers_per_item=asked, lease_minutes=lease_minutes)
    )
    examples = (
        Example(id=f"i{n}", inputs={"premise": f"箱{n}は赤い。", "hypothesis": f"箱{n}は青い。"})
        for n in range(items)
    )
    made = create_project(folder, settings, examples)
    text = written(settings).replace("lease_minutes = 30 ", f"lease_minutes = {lease_minutes} ")
    text = text.replace(
        f"requests_per_second = {Limits().requests_per_second:g}", "requests_per_second = 1000"
    )
    (folder / "project.toml").write_text(text, "utf-8")
    return made


def prepared(made: Project, database: str) -> Store:
    """The store, with the items in it."""
    store = open_store(database, made.folder, made.name)
    sync(made, store)
    return store


class Server:
    """`nikawa collect serve` in a process that can be killed and started again on the same port."""

    def __init__(self, folder: Path, database: str, port: int) -> None:
        self.folder, self.database, self.port = folder, database, port
        self.process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        code = "from nikawa.cli import main; main()"
        words = ["collect", "serve", str(self.folder), "--port", str(self.port), "--json"]
        environment = {**os.environ, "NIKAWA_COLLECT_DATABASE": self.database}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *words], env=environment, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise SystemExit("the server did not start")

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def free_port() -> int:
    """A port nobody listens at."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
