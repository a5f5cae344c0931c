"""An annotation project from start to end, as the command line drives it: make it, serve it, hand out links, look at it."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from nikawa.collect.dashboard import overview
from nikawa.collect.items import open_synced
from nikawa.collect.project import KINDS, Project, create_project, is_person_name
from nikawa.collect.settings import Assign, Language, Settings
from nikawa.collect.sources import (
    DEFAULT_WORKERS,
    NewProject,
    complete_settings,
    read_source_writers,
    read_sources,
)
from nikawa.collect.store import get_value, set_value
from nikawa.collect.workers import count_items, make_links
from nikawa.collect.writers import WRITERS, is_pseudonym, read_writers, writer_of
from nikawa.datasets import benchmarks, load
from nikawa.errors import BadInput
from nikawa.io.records import read_examples, write_records
from nikawa.records import reference
from nikawa.serve.login import hash_password, set_person

OWNER = "owner"
ADDRESS = "address"
"""The key under which the store keeps where the server was last started."""


@dataclass(frozen=True)
class NewReport:
    """What was made; the password is shown once and kept nowhere."""

    project: str
    """The folder."""
    form: str
    items: int
    """Main items."""
    workers_per_item: int
    owner: str
    """The name the owner logs in with."""
    password: str
    """Of the owner."""
    language: str
    notes: tuple[str, ...] = ()
    """What the owner should know before work begins."""


def create(folder: Path, examples: str, new: NewProject, *, data: Path | None = None) -> NewReport:
    """Make a project of the examples of a dataset, folder or file; an owner with a password is made too.

    What `new` leaves open comes from a task sheet beside the examples, else from the texts. Raises `BadInput` where
    the folder exists or the form cannot show an example; then nothing is left behind.
    """
    new, sources = complete_settings(new, examples, read_sources(examples, data))
    workers = new.workers or DEFAULT_WORKERS
    settings = Settings(
        title=new.title or folder.name,
        form=new.form,
        language=cast(Language, new.language),
        assign=Assign(workers_per_item=workers),
        options=dict(new.options),
    )
    project = create_project(folder, settings, sources, read_source_writers(examples).values())
    password = secrets.token_urlsafe(12)
    try:
        with open_synced(folder, new.database) as (_, store):
            store.write(set_person, OWNER, "owner", hash_password(password), time.time())
            items = store.read(count_items, "main")
    except BaseException:
        shutil.rmtree(folder)  # a database that does not answer leaves no half of a project
        raise
    notes = _note_pseudonyms(project)
    return NewReport(str(folder), new.form, items, workers, OWNER, password, new.language, notes)


def _note_pseudonyms(project: Project) -> tuple[str, ...]:
    """A warning where texts have writers that nobody can be kept from judging, for want of their names."""
    known = read_writers(project.folder / WRITERS)
    examples = read_examples(project.folder / KINDS["main"])
    count = sum(is_pseudonym(writer_of(example, known)) for example in examples)
    if not count:
        return ()
    return (
        f"{count:,} texts tell their writers by pseudonyms: whoever wrote one may be given it to judge; put the file"
        " NAME.writers.jsonl that an export without --pseudonymise writes beside the examples, and make the project again",
    )


def create_demo(folder: Path) -> NewReport:
    """A project on the embedded Japanese dataset, with control items and a pilot."""
    embedded = [one for one in benchmarks().values() if not one.repository]
    dataset = load(next(one.name for one in embedded if one.language == "ja"))
    pairs = {
        split: [
            replace(
                example, id=reference(dataset.name, split, example.id), meta={}, tags=frozenset()
            )
            for example in examples
            if {"premise", "hypothesis"} <= example.inputs.keys() and "label" in example.gold
        ]
        for split, examples in dataset.splits.items()
    }
    train, test = pairs["train"], pairs["test"]
    labels = sorted({str(example.gold["label"]) for example in train})
    assign = Assign(workers_per_item=3)
    settings = Settings(
        title="Nikawa demo", form="choice", assign=assign, options={"labels": labels}
    )
    project = create_project(folder, settings, test)
    for kind, examples in (("gold", train[3:13]), ("pilot", train[:3])):
        known = [replace(example, gold={"label": example.gold["label"]}) for example in examples]
        write_records(project.folder / KINDS[kind], known, overwrite=True)
    password = set_password(folder, OWNER, "owner")
    return NewReport(
        str(folder), settings.form, len(test), assign.workers_per_item, OWNER, password, "ja"
    )


def set_password(
    folder: Path, name: str, role: str, secret: str | None = None, database: str = ""
) -> str:
    """Add an owner or reviewer, or give them a new password, which is returned.

    `role` is `owner` or `reviewer`; without a `secret` the password is random.
    """
    if not is_person_name(name):
        raise BadInput(f"{name!r} cannot log in", cure="use 1 to 200 printable characters")
    password = secret or secrets.token_urlsafe(12)
    password_hash = hash_password(password)
    with open_synced(folder, database) as (_, store):
        store.write(set_person, name, role, password_hash, time.time())
    return password


def read_status(folder: Path, database: str = "") -> dict[str, Any]:
    """How far a project is, its workers and what they reported; it may be served meanwhile."""
    with open_synced(folder, database) as (project, store):
        return {"project": str(folder), **store.read(overview, project)}


def backup(folder: Path, out: Path, *, overwrite: bool = False, database: str = "") -> None:
    """Copy the database to `out` while people work; only SQLite can be copied, PostgreSQL has its own tools."""
    with open_synced(folder, database) as (_, store):
        store.backup(out, overwrite=overwrite)


@dataclass(frozen=True)
class Links:
    """Links of workers, and the entrance for a platform where the project has one."""

    links: tuple[tuple[str, str], ...]
    """Name and whole link of each worker."""
    join: str | None
    """What a platform puts the worker id behind; None where the project lets nobody join."""
    address: str = ""
    """What they begin with."""


def create_links(
    folder: Path, names: Sequence[str], address: str | None = None, database: str = ""
) -> Links:
    """Make links for workers; the same name gets the same link every time.

    They begin with `address`, else with that of project.toml, else with the one the server was last started at.
    """
    for name in names:
        if not is_person_name(name):
            cure = "use 1 to 200 printable characters"
            raise BadInput(f"{name!r} cannot be a worker's name", cure=cure)
    with open_synced(folder, database) as (project, store):
        if address is None:
            started_at = store.read(get_value, ADDRESS) or ServeOptions().base(ServeOptions.port)
            address = project.settings.address or started_at
        base, links = address.rstrip("/"), []
        if names:
            links = store.write(make_links, project, names, "command", time.time())
        crowd = project.settings.crowd
        join = f"{base}/join/{project.join_key}?{crowd.parameter}=" if crowd.join else None
        return Links(tuple((name, f"{base}/w/{token}") for name, token in links), join, base)


@dataclass(frozen=True)
class ServeOptions:
    """Where a server listens, and where its data is."""

    host: str = "127.0.0.1"
    """0.0.0.0 listens on all interfaces."""
    port: int = 8000
    """0: any that is free."""
    database: str = ""
    """A PostgreSQL address; empty: the file in the folder of the project."""

    def base(self, port: int) -> str:
        """What addresses of its pages begin with; one that listens everywhere can be reached on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    folder: Path, options: ServeOptions, on_start: Callable[[int], None] | None = None
) -> None:
    """Serve a project until interrupted; `on_start` gets the port."""
    from nikawa.collect.analyses import ANALYSES, in_process
    from nikawa.collect.app import create_app
    from nikawa.serve.server import run_server

    analyses = {name: in_process(analysis) for name, analysis in ANALYSES.items()}
    with open_synced(folder, options.database) as (project, store):

        def remember_address(port: int) -> None:
            store.write(set_value, ADDRESS, options.base(port))
            if on_start is not None:
                on_start(port)

        app = create_app(project, store, analyses=analyses)
        run_server(app, options.host, options.port, on_start=remember_address)
