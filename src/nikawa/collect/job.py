"""An annotation project from start to end: make it, serve it, hand out links, look at it, take judgements in and out."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from nikawa.collect.form import LANGUAGES
from nikawa.collect.links import make_links
from nikawa.collect.open import examples_of, opened, writers_beside
from nikawa.collect.overview import overview
from nikawa.collect.people import hash_password, set_person
from nikawa.collect.project import KINDS, Project, can_be_called, create_project
from nikawa.collect.settings import Assign, Language, Settings
from nikawa.collect.sheet import WORKERS, completed
from nikawa.collect.store import Store
from nikawa.collect.transfer import ImportReport, Out, backup, export, take
from nikawa.collect.workers import keep
from nikawa.collect.writers import WRITERS, is_pseudonym, read_writers, writer_of
from nikawa.datasets import load
from nikawa.errors import BadInput, unknown
from nikawa.io.records import read_examples, write_records
from nikawa.records import reference

__all__ = [
    "ImportReport",
    "Links",
    "New",
    "NewReport",
    "Out",
    "Serving",
    "backup",
    "demo",
    "export",
    "links",
    "new",
    "opened",
    "password",
    "serve",
    "status",
    "take",
]

OWNER = "owner"
ADDRESS = "address"
"""The key under which the store keeps where the server was last started."""


@dataclass(frozen=True)
class New:
    """How a project starts."""

    form: str = ""
    """Empty: what the task sheet asks for."""
    workers: int | None = None
    """Workers an item; None: as the task sheet says, else three."""
    language: str = ""
    """Empty: that of the task sheet, else of the texts."""
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The form's own settings."""
    database: str = ""


@dataclass(frozen=True)
class NewReport:
    """What was made; the password is shown once and kept nowhere."""

    project: str
    form: str
    items: int
    workers_per_item: int
    owner: str
    password: str
    language: str
    notes: tuple[str, ...] = ()
    """What the owner should know before work begins."""


def new(folder: Path, examples: str, how: New, *, data: Path | None = None) -> NewReport:
    """Make a project of the examples of a dataset, folder or file; an owner with a password is made too."""
    if how.language and how.language not in LANGUAGES:
        raise unknown("language", how.language, LANGUAGES)
    if how.workers is not None and how.workers < 1:
        raise BadInput("an item needs one worker at least", cure="say --workers-per-item 3")
    how, found = completed(how, examples, examples_of(examples, data))
    workers = how.workers or WORKERS
    settings = Settings(
        title=how.title or folder.name,
        form=how.form,
        language=cast(Language, how.language),
        assign=Assign(workers_per_item=workers),
        options=dict(how.options),
    )
    project = create_project(folder, settings, found, writers_beside(examples).values())
    chosen = secrets.token_urlsafe(12)
    try:
        count = _first_start(folder, chosen, how.database)
    except BaseException:
        shutil.rmtree(folder)  # a database that does not answer leaves no half of a project
        raise
    return NewReport(
        str(folder), how.form, count, workers, OWNER, chosen, how.language, _notes(project)
    )


def _notes(project: Project) -> tuple[str, ...]:
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


def _first_start(folder: Path, chosen: str, database: str) -> int:
    """Take the items in and make the owner; how many items there are."""
    with opened(folder, database) as (_, store):
        kept, now = hash_password(chosen), time.time()
        store.do(lambda link: set_person(link, OWNER, "owner", kept, now))
        return int(
            store.ask(lambda link: link.rows("SELECT count(*) FROM items WHERE kind = 'main'"))[0][
                0
            ]
        )


def status(folder: Path, database: str = "") -> dict[str, Any]:
    """How far a project is, its workers and what they reported; it may be served meanwhile."""
    with opened(folder, database) as (project, store):
        return {"project": str(folder), **store.ask(lambda link: overview(link, project))}


@dataclass(frozen=True)
class Links:
    """Links of workers, and the entrance for a platform where the project has one."""

    links: tuple[tuple[str, str], ...]
    join: str | None
    address: str = ""
    """What they begin with."""


def links(
    folder: Path, names: Sequence[str], address: str | None = None, database: str = ""
) -> Links:
    """Make links for workers; the same name gets the same link every time.

    They begin with `address`, else with that of project.toml, else with the one the server was last started at.
    """
    for name in names:
        if not can_be_called(name):
            raise BadInput(
                f"{name!r} cannot be a worker's name", cure="use 1 to 200 printable characters"
            )
    with opened(folder, database) as (project, store):
        base = (_address(project, store) if address is None else address).rstrip("/")
        made = (
            store.do(lambda link: make_links(link, project, list(names), "command", time.time()))
            if names
            else []
        )
        crowd = project.settings.crowd
        join = f"{base}/join/{project.join_key}?{crowd.parameter}=" if crowd.join else None
        return Links(tuple((name, f"{base}/w/{token}") for name, token in made), join, base)


def _address(project: Project, store: Store) -> str:
    row = store.ask(lambda link: link.one("SELECT value FROM meta WHERE key = ?", ADDRESS))
    return project.settings.address or (
        Serving().base(Serving.port) if row is None else str(row[0])
    )


def password(
    folder: Path, name: str, role: str, secret: str | None = None, database: str = ""
) -> str:
    """Add an owner or reviewer, or give them a new password, which is returned."""
    if not can_be_called(name):
        raise BadInput(f"{name!r} cannot log in", cure="use 1 to 200 printable characters")
    chosen = secret or secrets.token_urlsafe(12)
    kept, now = hash_password(chosen), time.time()
    with opened(folder, database) as (_, store):
        store.do(lambda link: set_person(link, name, role, kept, now))
    return chosen


@dataclass(frozen=True)
class Serving:
    """Where a server listens."""

    host: str = "127.0.0.1"
    port: int = 8000
    database: str = ""

    def base(self, port: int) -> str:
        """What addresses of its pages begin with; one that listens everywhere can be reached on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(folder: Path, how: Serving, started: Callable[[int], None] | None = None) -> None:
    """Serve a project until interrupted; `started` is told the port."""
    from nikawa.collect.analyses import ANALYSES
    from nikawa.collect.app import create_app, run
    from nikawa.collect.aside import beside

    analyses = {name: beside(analysis) for name, analysis in ANALYSES.items()}
    with opened(folder, how.database) as (project, store):

        def begun(port: int) -> None:
            store.do(lambda link: keep(link, ADDRESS, how.base(port)))
            if started is not None:
                started(port)

        run(create_app(project, store, analyses=analyses), how.host, how.port, started=begun)


def demo(folder: Path) -> NewReport:
    """A project on the embedded mini-benchmark, with control items and a pilot."""
    dataset = load("mini-ja")
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
    train = pairs["train"]
    labels = sorted({str(example.gold["label"]) for example in train})
    settings = Settings(
        title="Nikawa demo",
        form="choice",
        assign=Assign(workers_per_item=3),
        options={"labels": labels},
    )
    project = create_project(folder, settings, pairs["test"])
    for name, chosen in (("gold", train[3:13]), ("pilot", train[:3])):
        kept = [replace(example, gold={"label": example.gold["label"]}) for example in chosen]
        write_records(project.folder / KINDS[name], kept, overwrite=True)
    chosen_password = password(folder, OWNER, "owner")
    return NewReport(str(folder), "choice", len(pairs["test"]), 3, OWNER, chosen_password, "ja")
