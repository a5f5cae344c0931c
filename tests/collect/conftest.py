"""What the tests of the annotation server share: PostgreSQL of their own, projects, and an open store on either."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.collect.answers import Given, Report, Saved
from nikawa.collect.desk import Desk
from nikawa.collect.export import judgements
from nikawa.collect.load import sync
from nikawa.collect.project import KINDS, Project, create_project, hashed
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, open_store
from nikawa.collect.workers import Worker, add_worker, by_name
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

LABELS = ("entailment", "contradiction", "neutral")
Make = Callable[..., Project]


def _program(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(places[-1]) if places else None)


def _stranger() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: an account without rights, where we are root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    pytest.skip("no account without rights to run PostgreSQL as")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL that lives as long as the tests."""
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("no PostgreSQL here: install the package postgresql")
    account = _stranger()
    folder = Path(tempfile.mkdtemp(prefix="nikawa-pg-"))
    if account:
        os.chown(folder, account["user"], account["group"])
    common: dict[str, Any] = {
        "cwd": folder,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        **account,
    }
    subprocess.run(
        [initdb, "-D", "data", "-U", "nikawa", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True,
        **common,
    )
    words = [
        "-D",
        "data",
        "-k",
        str(folder),
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
        "-c",
        "max_connections=60",
    ]
    running = subprocess.Popen([server, *words], **common)
    address = f"postgresql://nikawa@/postgres?host={folder}"
    try:
        _wait(address, running)
        yield address
    finally:
        running.send_signal(signal.SIGINT)  # at once, whoever is connected
        running.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(address: str, running: subprocess.Popen[bytes]) -> None:
    import time

    import psycopg

    for _ in range(200):
        assert running.poll() is None, "PostgreSQL ended"
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("PostgreSQL does not answer")


def pair(name: str, **more: Any) -> Example:
    return Example(id=name, inputs={"premise": f"前提{name}", "hypothesis": f"仮説{name}"}, **more)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A project with `items` pairs in groups of two, some control items, a pilot, and settings by table."""

    def project(
        items: int = 6, control: int = 0, trial: int = 0, **tables: dict[str, Any]
    ) -> Project:
        settings = msgspec.convert({"title": "試験", "form": "choice", **tables}, Settings)
        examples = [
            pair(f"i{n:03}", group=f"g{n // 2}", gold={"label": "entailment"}) for n in range(items)
        ]
        made = create_project(tmp_path / "project", settings, examples)
        for kind, count in (("gold", control), ("pilot", trial)):
            known = [pair(f"{kind}{n}", gold={"label": "neutral"}) for n in range(count)]
            if known:
                write_records(made.folder / KINDS[kind], known, overwrite=True)
        return replace(made, settings=settings)

    return project


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """The address of either database: the same tests hold for both."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


@pytest.fixture
def start(make: Make, database: str) -> Iterator[Callable[..., tuple[Project, Store]]]:
    """A project with its store open, on either database."""
    stores: list[Store] = []

    def begin(**how: Any) -> tuple[Project, Store]:
        project = make(**how)
        store = open_store(database, project.folder, project.name)
        stores.append(store)
        sync(project, store)
        return project, store

    yield begin
    for store in stores:
        store.close()


class Crowd:
    """Workers at a project, with a clock of their own."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store, self.desk, self.now = project, store, Desk(project), 1000.0
        self.keys = 0

    def join(self, *names: str) -> None:
        for name in names:
            token = hashed(self.project.token(name))
            self.store.do(
                partial(
                    add_worker, name=name, hashed=token, origin="link", language="ja", now=self.now
                )
            )

    def state(self, name: str) -> dict[str, Any]:
        token = hashed(self.project.token(name))
        return self.desk.state(self.store.do(self.desk.next(token, self.now)))

    def lease(self, name: str) -> str:
        item = self.state(name)["item"]
        assert item is not None
        return str(item["lease"])

    def answer(self, name: str, label: str = "neutral", **how: Any) -> Saved:
        self.keys += 1
        lease, key = how.pop("lease", None) or self.lease(name), how.pop("key", f"k{self.keys}")
        body = msgspec.json.encode({"label": label}).decode()
        given = Given(lease, key, body, **how)
        token = hashed(self.project.token(name))
        return self.store.do(self.desk.answer(token, given, self.now))[0]

    def undo(self, name: str, key: str = "u") -> dict[str, Any]:
        token = hashed(self.project.token(name))
        return self.desk.state(self.store.do(self.desk.undo(token, key, self.now)))

    def report(self, name: str, code: str = "broken", key: str = "r") -> Saved:
        given = Report(self.lease(name), key, code, "読めない")
        token = hashed(self.project.token(name))
        return self.store.do(self.desk.report(token, given, self.now))[0]

    def worker(self, name: str) -> Worker:
        row = self.store.ask(lambda link: by_name(link, name))
        assert row is not None
        return row

    def counts(self) -> list[tuple[int, int]]:
        sql = "SELECT done, leased FROM items WHERE kind = 'main' ORDER BY position"
        return [(int(a), int(b)) for a, b in self.store.ask(lambda link: link.rows(sql))]

    def exported(self, *parts: str) -> list[Judgement]:
        with self.store.read() as link:
            return list(judgements(link, self.project, parts or ("main",)))

    def change(self, change: Callable[..., None], name: str) -> None:
        self.store.do(lambda link: change(link, by_name(link, name), "because", "owner", self.now))


@pytest.fixture
def crowd(start: Callable[..., tuple[Project, Store]]) -> Callable[..., Crowd]:
    """Workers at a project on either database."""
    return lambda **how: Crowd(*start(**how))
