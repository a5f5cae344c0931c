"""A PostgreSQL of the tests' own, which runs as an account without rights and can be stopped as by a crash."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


def find_program(name: str) -> Path | None:
    """A program of PostgreSQL, on the path or where Debian keeps it; None where there is none."""
    path = shutil.which(name)
    if path is not None:
        return Path(path)
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), default=None)


def unprivileged_account() -> dict[str, Any]:
    """How a process runs as an account without rights, where we are root: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise SystemExit("no account without rights to run PostgreSQL as")


class Cluster:
    """A fresh PostgreSQL in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        sync_to_disk: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        initdb, server = find_program("initdb"), find_program("postgres")
        if initdb is None or server is None:
            raise SystemExit("no PostgreSQL here: install the package postgresql")
        self.folder, self._server = folder, server
        self.address = f"postgresql://nikawa@/postgres?host={folder}"
        self._settings = {"fsync": "on" if sync_to_disk else "off", **(settings or {})}
        account = unprivileged_account()
        self._quiet: dict[str, Any] = {
            "cwd": folder,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            **account,
        }
        if account:
            os.chown(folder, account["user"], account["group"])
        words = ["-D", "data", "-U", "nikawa", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([str(initdb), *words], check=True, **self._quiet)
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = f"-D data -k {self.folder} -c listen_addresses=".split()
        for name, value in self._settings.items():
            words += ["-c", f"{name}={value}"]
        self._running = subprocess.Popen([str(self._server), *words], **self._quiet)
        for _ in range(300):
            assert self._running.poll() is None, "PostgreSQL ended"
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        raise SystemExit("PostgreSQL does not answer")

    def backends(self) -> list[int]:
        """The processes that serve connections of clients."""
        with psycopg.connect(self.address) as db:
            rows = db.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
                " AND pid <> pg_backend_pid()"
            ).fetchall()
        return [int(pid) for (pid,) in rows]

    def stop(self, how: int = signal.SIGINT) -> None:
        """SIGINT: whoever is connected is sent away; SIGQUIT: at once, as by a crash."""
        if self._running is not None:
            self._running.send_signal(how)
            self._running.wait(30)


@contextmanager
def cluster(
    *, sync_to_disk: bool = True, settings: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A PostgreSQL that runs, for as long as it is wanted."""
    folder = Path(tempfile.mkdtemp(prefix="nikawa-pg-"))
    try:
        made = Cluster(folder, sync_to_disk=sync_to_disk, settings=settings)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
