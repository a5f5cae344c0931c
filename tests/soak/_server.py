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


class Cluster:
    """A fresh PostgreSQL, which runs as an account without rights; it can be stopped as by a crash."""

    def __init__(self, folder: Path, sync_to_disk: bool = True) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        self.folder, self.program = folder, Path(shutil.which("postgres") or found[-1])
        self.address = f"postgresql://nikawa@/postgres?host={folder}"
        self._sync = "on" if sync_to_disk else "off"
        self._quiet: dict[str, Any] = {
            "cwd": folder,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        if os.geteuid() == 0:
            other = pwd.getpwnam("postgres")
            self._quiet |= {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
            os.chown(folder, other.pw_uid, other.pw_gid)
        initdb = [
            str(self.program.with_name("initdb")),
            "-D",
            "data",
            "-U",
            "nikawa",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        subprocess.run(initdb, check=True, **self._quiet)
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [
            "-D",
            "data",
            "-k",
            str(self.folder),
            "-c",
            "listen_addresses=",
            "-c",
            f"fsync={self._sync}",
        ]
        self._running = subprocess.Popen([str(self.program), *words], **self._quiet)
        _await_postgres(self.address)

    def stop(self, how: int = signal.SIGINT) -> None:
        """SIGINT: whoever is connected is sent away; SIGQUIT: at once, as by a crash."""
        if self._running is not None:
            self._running.send_signal(how)
            self._running.wait(30)


@contextmanager
def cluster(sync_to_disk: bool = True) -> Iterator[Cluster]:
    """A PostgreSQL that runs, for as long as it is wanted."""
    folder = Path(tempfile.mkdtemp(prefix="nikawa-pg-"))
    try:
        made = Cluster(folder, sync_to_disk)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(sync_to_disk: bool = True) -> Iterator[str]:
    """The address of a fresh PostgreSQL."""
    with cluster(sync_to_disk) as made:
        yield made.address


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
        title="soak",
        form="choice",
        assign=Assign(workers_per_item=asked, lease_minutes=lease_minutes),
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
        self.log = folder / "server.log"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        code = "from nikawa.cli import main; main()"
        words = ["collect", "serve", str(self.folder), "--port", str(self.port), "--json"]
        environment = {**os.environ, "NIKAWA_COLLECT_DATABASE": self.database}
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
    """A port nobody listens at."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
